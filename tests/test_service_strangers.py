"""What strangers, broken connections and wrong keys can do to the service: nothing."""

import json
import logging
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from dford.service.core import Service
from dford.service.http import guard
from dford.service.projects import keys
from dford.service.projects.keys import LOCAL, Keys
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store.database import Database
from loading import connect, is_complete, request
from serving import COLUMNS, LEVELS, ROWS, ok, problem, question_for, requests, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def address(client: Any) -> str:
    return str(client.base_url).rstrip("/")


def until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < patience, "it never happened"
        time.sleep(0.01)


def locked(client: Any) -> dict[str, str]:
    """The first key of a server; from then on every request needs one."""
    return {"Authorization": f"Bearer {ok(client.post('/keys', json={'role': 'admin', 'name': 'root'}))['key']}"}


def test_a_failed_lookup_of_keys_is_not_an_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(str(file)).prepare()
    with database.writing() as connection:
        keys.create(connection, None, "admin", "root")
    found = Keys(database)

    def broken() -> Any:
        raise Refusal(503, "not-read", "the database could not be read")

    with monkeypatch.context() as patch:
        patch.setattr(database, "reading", broken)
        for _ in range(3):
            assert found.known(None) is None
            with pytest.raises(Refusal, match="could not be read"):
                found.holder(None)
    with pytest.raises(Refusal, match="no valid key"):
        found.holder(None)
    database.close()


def test_a_server_that_cannot_look_up_keys_lets_nobody_in(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file) as client:
        root = locked(client)
    with serving(file) as client:
        reading = client.service.database.reading

        def broken() -> Any:
            raise Refusal(503, "not-read", "the database could not be read")

        monkeypatch.setattr(client.service.database, "reading", broken)
        for path in ("/keys", "/projects"):
            for headers in ({}, root):
                assert problem(client.get(path, headers=headers)) == (503, "not-read")
        made = client.post("/keys", json={"role": "admin", "name": "thief"})
        assert problem(made) == (503, "not-read")
        monkeypatch.setattr(client.service.database, "reading", reading)
        assert [one["name"] for one in ok(client.get("/keys", headers=root))] == ["root"]


def test_a_request_that_did_not_arrive_completely_does_nothing(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        bodies = {f"{project}/questions": '{"item": 3}', f"{project}/items": json.dumps({"items": ROWS})}
        before = ok(client.get(f"{project}/state"))
        for path, body in bodies.items():
            whole = request("POST", path, body)
            for cut in (len(whole) - 1, len(whole) - len(body), len(whole) - len(body) + 1):
                with connect(address(client)) as line:
                    line.sendall(whole[:cut])
        until(lambda: requests(client, "POST", "", 0) == 6)
        assert ok(client.get(f"{project}/state")) == before


def test_without_a_valid_key_no_body_is_read(file: Path) -> None:
    """The refusal comes while the client still sends."""
    with serving(file) as client:
        set_up(client)
        root = locked(client)
        for path in ("/projects/rain/items", "/projects/snow/items", "/nowhere"):
            with connect(address(client)) as line:
                line.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000\r\n\r\n".encode())
                got = b""
                while not is_complete(got):
                    got += line.recv(65536)
                assert got.startswith(b"HTTP/1.1 401")
                assert b"connection: close" in got.lower()
        assert ok(client.get("/projects", headers=root))


def test_two_authorization_headers_are_refused(file: Path) -> None:
    with serving(file) as client:
        root = locked(client)["Authorization"]
        for both in ([root, "Bearer x"], ["Bearer x", root], [root, root]):
            response = client.get("/projects", headers=[("Authorization", one) for one in both])
            assert problem(response) == (401, "no-key")


def test_wrong_keys_are_logged_and_answered_later_each_time(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(guard, "_pause", pause)
    with serving(file) as client, caplog.at_level(logging.WARNING, "dford"):
        root = locked(client)
        for n in range(9):
            assert problem(client.get("/projects", headers={"Authorization": f"Bearer {n}"})) == (401, "no-key")
        assert problem(client.get("/projects")) == (401, "no-key"), "no key is not a guess"
        assert ok(client.get("/projects", headers=root)) == []
    assert waited == sorted(waited)
    assert len(waited) == 9
    assert waited[-1] == guard._SLOWEST > 10 * waited[0]
    assert [record.getMessage() for record in caplog.records if "refused" in record.getMessage()] == [
        f"a key was refused: {n} in a row from 127.0.0.1" for n in (1, 2, 4, 8)
    ]


def test_nobody_can_tell_which_projects_exist(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        set_up(client, "snow")
        root = locked(client)
        key = ok(client.post("/projects/rain/keys", json={"role": "admin", "name": "anna"}, headers=root))["key"]
        anna = {"Authorization": f"Bearer {key}"}
        for path in (
            "",
            "/state",
            "/questions",
            "/keys",
            "/people",
            "/people/mine",
            "/contested",
            "/settings",
            "/nowhere",
        ):
            there, not_there = (client.get(f"/projects/{name}{path}", headers=anna) for name in ("snow", "hail"))
            assert there.status_code == not_there.status_code == 404
            assert there.json() | {"sentence": ""} == not_there.json() | {"sentence": ""}
            assert there.json()["sentence"].replace("snow", "hail") == not_there.json()["sentence"]


@pytest.mark.parametrize("path", ["/projects/%00", "/projects/a%00b/state", "/projects/rain/keys/%00", "/%00"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_a_nul_in_a_path_is_refused(file: Path, path: str, method: str) -> None:
    with serving(file) as client:
        set_up(client)
        assert client.request(method, path).status_code in {404, 405}


def test_half_a_request_is_not_waited_for_forever(file: Path) -> None:
    with serving(file, request_seconds=3.0, idle_seconds=4.0) as client, ExitStack() as lines:
        set_up(client)
        half = [lines.enter_context(connect(address(client))) for _ in range(50)]
        idle = [lines.enter_context(connect(address(client))) for _ in range(50)]
        for line in half:
            line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0")
        waiting = list(half)
        while waiting:  # a byte now and then does not help
            for line in list(waiting):
                try:
                    line.sendall(b".")
                except OSError:
                    waiting.remove(line)
            time.sleep(0.1)
        for line in (*half, *idle):
            line.settimeout(60)
            with suppress(ConnectionResetError):
                assert line.recv(1000) == b""
        assert ok(client.get("/health"))["status"] == "ok"


def test_idle_connections_shut_nobody_out(file: Path) -> None:
    with serving(file, connections_per_address=20) as client, ExitStack() as lines:
        project = set_up(client)
        for _ in range(200):
            lines.enter_context(connect(address(client)))
        for _ in range(3):
            assert ok(httpx.get(f"{address(client)}/health", timeout=600))["status"] == "ok"
        assert question_for(client, project)["number"] == 1


def test_a_client_that_does_not_read_does_not_hold_up_the_server(file: Path) -> None:
    with serving(file, request_seconds=5.0) as client:
        project = set_up(client)
        large = [{"size": 1.0, "note": "x" * 9_000} for _ in range(900)]
        ok(client.post(f"{project}/items", json={"items": large}))
        with connect(address(client)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.sendall(2 * request("GET", f"{project}/items?limit=1000"))  # the second waits for the first
            until(lambda: requests(client, "GET", "/projects/{project}/items", 200) == 2)
            assert ok(client.get("/health"))["status"] == "ok"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/state%0a", None, 404),
        ("/questions%0a", b"{}", 404),
        ("/questions/1/answer", b"[" * 4_000, 400),
        ("/questions/1/answer", b"[" * 200_000, 413),
        ("/questions", b'{"features": {"note": "\\ud800"}}', 422),
    ],
)
def test_odd_requests_are_refused_and_cause_no_defect(file: Path, path: str, body: bytes | None, status: int) -> None:
    with serving(file) as client:
        address_ = f"{set_up(client)}{path}"
        headers = {"Content-Type": "application/json"}
        response = client.get(address_) if body is None else client.post(address_, content=body, headers=headers)
        assert response.status_code == status, response.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        (
            "PUT",
            "/projects/mine/columns",
            {"columns": [{"name": "a", "kind": "category", "categories": ["\ud800", "b"]}]},
        ),
        ("POST", "/projects", {"name": "other", "levels": LEVELS, "parameters": {"\udfff": 1}}),
        ("POST", "/projects", {"name": "other", "levels": LEVELS, "learner": "\ud800"}),
        ("POST", "/projects/mine/items", {"items": [{"a": "\ud800"}]}),
        ("POST", "/projects/mine/questions", {"features": {"\ud800": 1}}),
        ("PUT", "/projects/mine/settings", {"auditors": ["\ud800"]}),
        ("POST", "/projects/mine/keys", {"role": "admin", "name": "\ud800"}),
    ],
)
def test_half_a_surrogate_pair_is_refused_wherever_it_is_and_nothing_stored(
    file: Path, method: str, path: str, body: dict[str, Any]
) -> None:
    with serving(file) as client:
        before = ok(client.post("/projects", json={"name": "mine", "levels": LEVELS, "columns": COLUMNS}))
        headers = {"Content-Type": "application/json"}
        for content in (
            json.dumps(body).encode(),
            json.dumps(body, ensure_ascii=False).encode(errors="surrogatepass"),
            json.dumps(body).encode("utf-16-le"),
        ):
            response = client.request(method, path, content=content, headers=headers)
            assert problem(response) in {(422, "invalid"), (400, "bad-json")}, content
        assert ok(client.get("/projects")) == [before]


def test_only_the_person_asked_or_an_admin_can_answer_or_skip(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        root = locked(client)
        people = {
            name: {"Authorization": f"Bearer {key}"}
            for name in ("anna", "ben")
            for key in [ok(client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root))["key"]]
        }
        first, second = (question_for(client, project, headers=people["anna"])["number"] for _ in range(2))
        answer = {"json": {"higher": True}}
        for path, more in ((f"{first}/answer", answer), (f"{first}/skip", {})):
            response = client.post(f"{project}/questions/{path}", headers=people["ben"], **more)
            assert problem(response) == (403, "not-yours")
        many = {"answers": [{"question": first, "higher": True}]}
        outcomes = ok(client.post(f"{project}/answers", json=many, headers=people["ben"]))["outcomes"]
        assert outcomes[0]["problem"]["code"] == "not-yours"
        release = {"questions": [first, second]}
        assert ok(client.post(f"{project}/release", json=release, headers=people["ben"])) == {"released": 0}
        ok(client.post(f"{project}/questions/{first}/answer", headers=people["anna"], **answer))
        ok(client.post(f"{project}/questions/{second}/answer", headers=root, **answer))
        # and nobody else learns what became of it
        for number in (first, second):
            for higher in (True, False):
                body = {"higher": higher}
                response = client.post(f"{project}/questions/{number}/answer", headers=people["ben"], json=body)
                assert problem(response) == (403, "not-yours")
            for path in (f"{number}/skip", f"{number}/retract"):
                assert problem(client.post(f"{project}/questions/{path}", headers=people["ben"])) == (403, "not-yours")
            assert problem(client.get(f"{project}/questions/{number}", headers=people["ben"])) == (403, "not-yours")
            ok(client.get(f"{project}/questions/{number}", headers=people["anna"]))


def test_one_person_cannot_take_all_items(file: Path) -> None:
    with serving(file, open_per_person=3, open_questions=5) as client:
        project = set_up(client)
        root = locked(client)
        keys_of = [
            {"Authorization": f"Bearer {key}"}
            for name in ("anna", "ben")
            for key in [ok(client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root))["key"]]
        ]
        for _ in range(3):
            question_for(client, project, headers=keys_of[0])
        assert problem(client.post(f"{project}/questions", headers=keys_of[0])) == (429, "too-many-open")
        for _ in range(2):
            question_for(client, project, headers=keys_of[1])
        assert problem(client.post(f"{project}/questions", headers=keys_of[1])) == (429, "too-many-open")


def test_a_released_item_is_free_at_once_and_its_answer_still_counts(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        first = question_for(client, project)
        assert ok(client.post(f"{project}/release", json={"questions": [first["number"], 77]})) == {"released": 1}
        again = question_for(client, project)
        assert again["item"] == first["item"]
        assert (first["turns"], again["turns"]) == (0, 0)
        ok(client.post(f"{project}/questions/{first['number']}/answer", json={"higher": True}))
        assert ok(client.get(f"{project}/state"))["answers"] == 1
        assert ok(client.get(f"{project}/questions/{again['number']}"))["turns"] == 1


def test_many_who_ask_at_once_get_different_items(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        asked: list[int] = []

        def ask() -> None:
            asked.append(ok(httpx.post(f"{address(client)}{project}/questions", timeout=600))["item"])

        people = [threading.Thread(target=ask) for _ in range(30)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        assert sorted(asked) == list(range(1, 31))


def test_a_locked_database_refuses_all_who_wait_at_once_and_recovers_afterwards(file: Path) -> None:
    with serving(file, request_seconds=5.0) as client:
        project = set_up(client)
        numbers = [question_for(client, project)["number"] for _ in range(20)]
        holding = sqlite3.connect(file, isolation_level=None, timeout=0)
        holding.execute("BEGIN IMMEDIATE")
        outcomes: list[tuple[int, str]] = []
        begin = time.monotonic()

        def tell(number: int) -> None:
            path = f"{address(client)}{project}/questions/{number}/answer"
            outcomes.append(problem(httpx.post(path, json={"higher": True}, timeout=600)))

        people = [threading.Thread(target=tell, args=(number,)) for number in numbers]
        for person in people:
            person.start()
        for person in people:
            person.join()
        took = time.monotonic() - begin
        assert {status for status, _ in outcomes} == {503}
        assert took < 30, "one waited for the lock, and not each in turn: that would be fifty seconds"
        assert ok(client.get("/health"))["status"] == "ok"
        assert ok(client.get(f"{project}/state"))["answers"] == 0
        holding.execute("ROLLBACK")
        holding.close()
        assert all(
            client.post(f"{project}/questions/{number}/answer", json={"higher": True}).status_code == 200
            for number in numbers
        )


def test_nobody_hears_where_the_database_is_and_the_log_has_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(file) as client:
        project = set_up(client)
        number = question_for(client, project)["number"]
        elsewhere = sa.create_engine("postgresql+psycopg://somebody:secret@127.0.0.1:1/nowhere")
        monkeypatch.setattr(client.service.database, "_write_engine", elsewhere)
        answer = {"json": {"higher": True}}
        responses = [
            client.post(f"{project}/questions/{number}/answer", **answer),
            client.put(f"{project}/settings", json={"own_figures": True}),
        ]
        monkeypatch.setattr(client.service.database, "_read_engine", elsewhere)
        responses += [client.get("/health"), client.get("/projects"), client.get(f"{project}/state")]
        for response in responses:
            assert problem(response)[1] in {"not-read", "not-written"}
            assert response.headers["Retry-After"]
            said = response.json()["sentence"]
            assert "it does not respond" in said
            assert not re.search(r"127\.0\.0\.1|port|somebody|secret|nowhere", said), said
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("dford")]
    assert len(logged) == len(responses)
    assert all("127.0.0.1" in line and "secret" not in line for line in logged)


def test_requests_without_a_key_are_local_only_until_there_is_one(file: Path) -> None:
    service = Service(Settings(database=str(file)))
    assert service.keys.holder(None) is LOCAL
    service.write(None, lambda connection: keys.create(connection, None, "admin", "root"))
    service.keys.forget()
    with pytest.raises(Refusal):
        service.keys.holder(None)
    service.close()


def test_a_malformed_request_is_refused_in_a_sentence_of_our_own(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        for path, body, field, sentence in [
            ("/projects", "", "body", "the body is missing; send it"),
            ("/projects", "[1]", "body", "the body must be a JSON object, sent as application/json; got a list"),
            ("/projects", '{"levels": ["a", "b"]}', "name", "name is missing; send it"),
            (
                "/projects",
                '{"name": "A b", "levels": ["a", "b"]}',
                "name",
                'name must be 1 to 64 lowercase letters, digits or hyphens, starting with a letter or digit; got "A b"',
            ),
            ("/projects", '{"name": "a", "levels": ["a"]}', "levels", "levels must be a list of 2 or more; got 1"),
            (
                "/projects",
                '{"name": "a", "levels": ["a", "b"], "choice": "x"}',
                "choice",
                "choice must be 'pool' or 'turns'; got \"x\"",
            ),
            (
                f"{project}/items",
                '{"items": [{"size": [1]}]}',
                "items.0.size",
                "items.0.size must be a string, a number, true, false or null; got a list",
            ),
            (
                f"{project}/questions",
                '{"itme": 1}',
                "itme",
                "itme is not a known field; leave it out, or check how it is spelled",
            ),
            (f"{project}/questions/1/answer", '{"higher": "yes"}', "higher", 'higher must be true or false; got "yes"'),
            (
                f"{project}/questions/x/answer",
                '{"higher": true}',
                "path.number",
                'path.number must be a whole number; got "x"',
            ),
        ]:
            reply = client.post(path, content=body, headers={"Content-Type": "application/json"}).json()
            assert reply == {"code": "invalid", "sentence": sentence, "field": field}
        for path in ("/projects", f"{project}/items"):  # by the framework, and by a route of its own
            reply = client.post(path, content='{"a', headers={"Content-Type": "application/json"}).json()
            assert reply["sentence"].startswith("the body is not valid JSON: ")
        assert client.get("/nowhere").json()["sentence"].startswith("there is nothing at this path")
        assert client.delete(project).json()["sentence"].startswith("this path does not take DELETE")
