"""Bodies: refused before they arrive if they are too large or not allowed, read where nobody waits, and bounded."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from dford.service.http import bodies
from dford.service.http.app import make_app
from dford.service.http.connections import Connections
from dford.service.http.incoming import SMALL, BodyMemory
from dford.service.http.needs import RouteNeeds
from dford.service.projects import keys
from dford.service.projects.keys import Holder
from dford.service.refusal import Refusal
from loading import connect, is_complete
from serving import LEVELS, ROWS, ok, problem, question_for, serving, set_up

ROLES = ["predict", "answer", "admin"]
VALUES = {"project": "rain", "number": "1", "item": "1", "column": "photo", "key": "abc", "name": "main.js"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """A server with a project, and a key of each role in `client.keys`."""
    with serving(tmp_path / "log.db", request_seconds=600) as client:
        set_up(client)
        made = [("root", None, "admin"), *((role, 1, role) for role in ROLES)]
        client.keys = {name: new_key(client, name, project, role) for name, project, role in made}
        client.service.keys.forget()
        yield client


def new_key(client: Any, name: str, project: int | None, role: str) -> dict[str, str]:
    key = client.service.write(None, lambda connection: keys.create(connection, project, role, name))[1]
    return {"Authorization": f"Bearer {key}"}


def until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < patience, "it never happened"
        time.sleep(0.01)


def head(method: str, path: str, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode()


def reply(line: socket.socket) -> tuple[int, dict[str, Any]]:
    got = b""
    while not is_complete(got):
        got += (part := line.recv(65536))
        assert part, "the server hung up"
    return int(got.split()[1]), json.loads(got.partition(b"\r\n\r\n")[2])


def operations(client: Any) -> list[tuple[str, str, dict[str, Any]]]:
    document = client.get("/openapi.json").json()
    return [
        (method.upper(), path, one)
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    ]  # fmt: skip


def role_of(operation: dict[str, Any]) -> str | None:
    return next((role for way in operation.get("security", ()) for role in way["key"]), None)


def test_a_body_that_is_too_large_is_refused_before_it_arrives(server: Any) -> None:
    """Nothing of it is sent here, or one byte too many and never the end."""
    for method, path, most in (
        ("POST", "/projects/rain/questions/1/answer", 4_096),
        ("POST", "/projects/rain/release", SMALL),
        ("POST", "/projects/rain/keys", SMALL),
        ("POST", "/keys", SMALL),
        ("PUT", "/projects/rain/settled/1", SMALL),
        ("GET", "/projects/rain/state", SMALL),
        ("POST", "/projects/rain/questions", 1_000_000),
        ("PUT", "/projects/rain/settings", 1_000_000),
        ("POST", "/projects/rain/items", 10_000_000),
        ("POST", "/nowhere", SMALL),
    ):
        headers = {**server.keys["root"], "Content-Type": "application/json"}
        with connect(str(server.base_url).rstrip("/")) as line:
            line.sendall(head(method, path, headers | {"Content-Length": str(most + 1)}))
            status, body = reply(line)
            assert (status, body["code"]) == (413, "too-large"), path
            assert f"{most:,} bytes" in body["sentence"]
        with connect(str(server.base_url).rstrip("/")) as line:
            chunk = f"{most + 1:x}\r\n".encode() + b" " * (most + 1) + b"\r\n"
            line.sendall(head(method, path, headers | {"Transfer-Encoding": "chunked"}) + chunk)
            assert reply(line)[0] == 413, path


@pytest.mark.parametrize("path", ["/", "/health", "/docs", "/openapi.json", "/page/main.js"])
def test_what_needs_no_key_takes_no_large_body(server: Any, path: str) -> None:
    with connect(str(server.base_url).rstrip("/")) as line:
        line.sendall(head("POST", path, {"Content-Length": str(SMALL + 1)}))
        assert reply(line)[0] == 413


def test_every_operation_refuses_each_lower_role_before_the_body_arrives(server: Any) -> None:
    checked = 0
    for method, path, operation in operations(server):
        needed = role_of(operation)
        if needed is None:
            assert path in {"/health", "/me"}
            continue
        server_wide = "{project}" not in path
        refused = ROLES if server_wide else ROLES[: ROLES.index(needed)]  # keys of the project
        for role in refused:
            with connect(str(server.base_url).rstrip("/")) as line:
                headers = server.keys[role] | {"Content-Length": "9"}
                line.sendall(head(method, path.format(**VALUES), headers))
                status, body = reply(line)
                assert (status, body["code"]) == (403, "not-allowed"), (method, path, role)
                assert f"the role {needed} for {'all projects' if server_wide else 'this project'}" in body["sentence"]
                checked += 1
    assert checked > 40


def test_what_a_route_needs_is_what_the_document_says(server: Any) -> None:
    app = make_app(server.service, "test", Connections(1, 1.0, 1.0))
    needs = RouteNeeds(app.router.routes, 10_000_000)
    told = {(method, path): operation for method, path, operation in operations(server)}
    for route in app.router.routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        method = next(iter(route.methods or ()))
        need = needs({"type": "http", "method": method, "path": route.path.format(**VALUES), "headers": []})
        operation = told[method, route.path]
        assert need.role == role_of(operation), route.path
        in_the_loop = route.body_field is not None or "requestBody" not in operation
        assert need.most <= SMALL if in_the_loop else need.most > SMALL, route.path


def test_a_refused_request_gets_its_reply_while_it_still_sends(server: Any) -> None:
    """All of it can be sent: a proxy that is cut off loses the reply."""
    for path in ("/projects/rain/questions/1/answer", "/projects/rain/items"):
        response = server.post(path, content=b" " * 3_000_000, headers=server.keys["predict"])
        assert problem(response) == (403, "not-allowed")
        assert response.headers["Connection"] == "close"
    assert problem(server.get("/projects", headers=server.keys["admin"])) == (403, "not-allowed")
    assert "Connection" not in server.get("/projects", headers=server.keys["admin"]).headers, "it has no body"


def test_a_large_body_is_not_parsed_by_the_process_that_serves(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def only_small(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*given: Any) -> Any:
            assert max(len(one) for one in given if isinstance(one, bytes)) <= 100_000, "parsed here"
            return function(*given)

        return run

    for name in ("parsed", "json_items", "to_ask", "to_predict"):
        monkeypatch.setattr(bodies, name, only_small(getattr(bodies, name)))
    many = [f"person {n}" for n in range(1000)]
    text, headers = "x" * 200_000, server.keys["root"]
    shown = [{"name": f"note {n}" + "x" * 150, "kind": "shown"} for n in range(1000)]
    one = {"name": "size", "kind": "number"}
    question = question_for(server, "/projects/rain", headers=headers)["number"]
    for method, path, body, status in (
        ("POST", "/projects", {"name": "snow", "levels": LEVELS, "columns": [one, *shown]}, 201),
        ("PUT", "/projects/rain/columns", {"columns": [one, *shown]}, 409),
        ("PUT", "/projects/rain/settings", {"auditors": [name + "x" * 150 for name in many]}, 422),  # no pool
        ("POST", "/projects/rain/items", {"items": [{"note": text}]}, 201),
        ("POST", "/projects/rain/questions", {"features": {"size": 1.0, "colour": "red", "note": text}}, 200),
        ("POST", "/projects/rain/predictions", {"rows": [{"size": 1.0, "colour": "red", "note": text}]}, 200),
        ("POST", "/projects/rain/answers", {"answers": [{"question": question, "higher": True}] * 9_000}, 200),
    ):
        response = server.request(method, path, json=body, headers=headers)
        assert response.status_code == status, (path, response.text[:500])
        response = server.request(method, path, content=b"[" * 500_000, headers=headers)
        assert problem(response) == (422, "invalid"), path


def test_thousands_of_mistakes_are_not_listed(server: Any) -> None:
    mistakes: dict[str, list[int]] = {f"c{n}": [] for n in range(5_000)}
    for path, body, said in (
        ("/projects/rain/questions", {"features": mistakes}, "features.c0 must be a string, a number"),
        ("/projects/rain/questions", mistakes, "the body has 5,000 mistakes; compare it with the HTTP reference"),
        ("/projects/rain/answers", {"answers": [{}] * 5_000}, "answers.0.question is missing"),
    ):
        response = server.post(path, json=body, headers=server.keys["root"])
        assert problem(response) == (422, "invalid")
        assert response.json()["sentence"].startswith(said)


def test_bodies_take_a_bounded_part_of_the_memory() -> None:
    memory = BodyMemory(largest=100)
    anna, ben = (Holder(name, "admin", None) for name in ("anna", "ben"))
    for _ in range(5):
        memory.take(anna, 100)
    with pytest.raises(Refusal, match="too many large requests") as refusal:
        memory.take(anna, 1)
    assert (refusal.value.status, refusal.value.retry_after) == (503, 1)
    memory.take(ben, 250)
    with pytest.raises(Refusal, match="too many large requests"):
        memory.take(ben, 1)
    memory.free(anna, 100)
    memory.take(ben, 50)
    for person, size in ((anna, 400), (ben, 300)):
        memory.free(person, size)
    assert memory.total() == 0


def test_all_keys_of_a_project_together_leave_room_for_the_others() -> None:
    memory = BodyMemory(largest=100)

    def taken(project: int | None, names: str) -> int:
        before = memory.total()
        for name in names:
            with suppress(Refusal):
                for _ in range(20):
                    memory.take(Holder(name, "answer", project), 50)
        return memory.total() - before

    assert [taken(1, "a"), taken(1, "bcdef"), taken(2, "a"), taken(None, "a")] == [250, 250, 250, 100]


def test_many_large_bodies_at_once_are_refused_for_now_and_others_are_served(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", body_bytes=100_000, request_seconds=600) as client, ExitStack() as lines:
        project = set_up(client)
        anna, ben, root = (new_key(client, name, None, "admin") for name in ("anna", "ben", "root"))
        client.service.keys.forget()
        memory = client.app.state.body_memory
        sent = 0

        def send(person: dict[str, str]) -> None:
            """All of a large body, except for its last byte."""
            nonlocal sent
            line = lines.enter_context(connect(str(client.base_url).rstrip("/")))
            line.sendall(head("POST", f"{project}/items", {**person, "Content-Length": "100000"}) + b" " * 99_999)
            sent += 99_999
            until(lambda: memory.total() == sent)

        for person, count in ((anna, 5), (ben, 2)):
            for _ in range(count):
                send(person)
        for person in (anna, ben):
            response = client.post(f"{project}/items", content=b" " * 99_999, headers=person)
            assert problem(response) == (503, "busy")
            assert response.headers["Retry-After"] == "1"
        large = {"items": [{"size": 1.0, "colour": "red", "note": "x" * 90_000}]}
        ok(client.post(f"{project}/items", json=large, headers=root))
        assert ok(client.post(f"{project}/items", json={"items": ROWS[:1]}, headers=anna))["count"] == 1
        number = question_for(client, project, headers=anna)["number"]
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}, headers=anna))
        lines.close()
        until(lambda: memory.total() == 0)
        ok(client.post(f"{project}/items", json=large, headers=root))
        until(lambda: memory.total() == 0)


def test_a_request_that_gave_up_waiting_keeps_no_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Two at a time, and here those two never end: the third is refused, and nothing of it waits on."""
    with serving(tmp_path / "log.db", request_seconds=2.0, work_seconds=2.0) as client:
        project = set_up(client)
        held, ends, begun = threading.Event(), [], []

        def hold(*_: Any, **__: Any) -> Any:
            begun.append(1)
            held.wait(600)
            raise Refusal(503, "busy", "over")

        monkeypatch.setattr(client.service, "parse", hold)

        def send() -> None:
            ends.append(problem(client.post(f"{project}/items", json={"items": ROWS[:1]})))

        people = [threading.Thread(target=send) for _ in range(3)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        held.set()
        assert ends == [(503, "busy")] * 3
        assert len(begun) == 2
        monkeypatch.undo()
        until(lambda: client.post(f"{project}/items", json={"items": ROWS[:1]}).status_code == 201)
        assert len(begun) == 2, "the third was cancelled, and not begun after all"
