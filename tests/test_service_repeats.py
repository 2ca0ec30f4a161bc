"""Requests that add something, sent again after a lost response: done once."""

import io
import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from dford.service.projects import uploads
from dford.service.refusal import Refusal
from serving import COLUMNS, LEVELS, ROWS, above, answer_some, ok, problem, question_for, serving, set_up

CSV = "size,colour,note\n" + "".join(f"{i},red,new {i}\n" for i in range(7))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def key(name: str = "k") -> dict[str, str]:
    return {"Idempotency-Key": name}


def sends(log: bytes) -> dict[str, Callable[[Any, dict[str, str]], httpx.Response]]:
    """Every request that adds something."""
    new = {"name": "snow", "levels": LEVELS, "columns": COLUMNS, "seed": 1}
    return {
        "project": lambda client, headers: client.post("/projects", json=new, headers=headers),
        "items": lambda client, headers: client.post("/projects/rain/items", json={"items": ROWS}, headers=headers),
        "items.csv": lambda client, headers: client.post("/projects/rain/items.csv", content=CSV, headers=headers),
        "question": lambda client, headers: client.post("/projects/rain/questions", headers=headers),
        "log.csv": lambda client, headers: client.post("/projects/rain/log.csv?new=true", content=log, headers=headers),
    }


def size(client: Any) -> Any:
    state = ok(client.get("/projects/rain/state"))
    return [state[name] for name in ("items", "questions", "sequence")], len(ok(client.get("/projects")))


def test_the_key_of_a_programs_question_is_refused_over_http(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        before = size(client)
        assert problem(client.post(f"{project}/questions", headers=key("--answer/1"))) == (422, "invalid")
        assert size(client) == before
        question_for(client, project, headers=key("--answer"))


def test_thousands_of_answers_sent_again_hold_up_nobody(file: Path) -> None:
    """Each was once looked up on its own, while everybody else's answers waited."""
    with serving(file) as client:
        project = set_up(client)
        answers = [{"question": one["number"], "higher": above(one)} for one in answer_some(client, project, 3)]
        first = ok(client.post(f"{project}/answers", json={"answers": answers}))["outcomes"]
        counts, engine = [], client.service.database._write_engine
        for times in (1, 1000):
            ran: list[Any] = []

            def note(*given: Any, ran: list[Any] = ran) -> None:
                ran.append(given)

            sa.event.listen(engine, "before_cursor_execute", note)
            again = ok(client.post(f"{project}/answers", json={"answers": answers * times}))["outcomes"]
            sa.event.remove(engine, "before_cursor_execute", note)
            assert again == first * times
            counts.append(len(ran))
        assert 0 < counts[1] <= counts[0] + 3, "but for what the server may write besides"


@pytest.mark.parametrize("what", ["project", "items", "items.csv", "question", "log.csv"])
def test_what_is_sent_again_with_its_key_is_done_once(file: Path, what: str) -> None:
    with serving(file) as client:
        project = set_up(client)
        answer_some(client, project, 3)
        log = client.get(f"{project}/log.csv").content
        send = sends(log)[what]
        first = ok(send(client, key()))
        after = size(client)
        assert [ok(send(client, key())) for _ in range(2)] == [first] * 2
        assert size(client) == after
    with serving(file) as client:  # also by another server
        assert ok(send(client, key())) == first
        assert size(client) == after
        if what != "project":
            assert ok(send(client, key("another"))) != first
            assert size(client) != after
            assert ok(send(client, {})) != first, "without a key it is done again"


def test_a_key_with_another_request_is_refused(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        ok(client.post("/projects/rain/items", json={"items": ROWS[:1]}, headers=key()))
        for path, body in (("/projects/rain/items", ROWS[:2]), ("/projects/rain/items.csv", ROWS[:1])):
            response = client.post(path, json={"items": body}, headers=key())
            assert problem(response) in {(409, "key-reused"), (422, "not-csv")}
        assert ok(client.get("/projects/rain/state"))["items"] == len(ROWS) + 1


def test_what_was_refused_may_be_sent_again_with_its_key(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        wrong = {"items": [{"size": "large"}]}
        assert problem(client.post("/projects/rain/items", json=wrong, headers=key()))[0] == 422
        ok(client.post("/projects/rain/items", json={"items": ROWS[:1]}, headers=key()))


def test_a_key_made_again_is_the_same_one_with_another_secret(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        root = {"Authorization": f"Bearer {ok(client.post('/keys', json={'role': 'admin', 'name': 'root'}))['key']}"}
        new = {"json": {"role": "answer", "name": "anna"}, "headers": root | key()}
        first, second = (ok(client.post("/projects/rain/keys", **new)) for _ in range(2))
        assert first["id"] == second["id"]
        assert [one["name"] for one in ok(client.get("/projects/rain/keys", headers=root))] == ["anna"]
        answers = [
            client.get("/projects/rain/state", headers={"Authorization": f"Bearer {one['key']}"}).status_code
            for one in (first, second)
        ]
        assert answers == [401, 200]
        assert client.delete(f"/projects/rain/keys/{first['id']}", headers=root).status_code == 204
        assert problem(client.post("/projects/rain/keys", **new)) == (404, "no-such-key"), "it would open nothing"


def test_two_people_may_use_the_same_key(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        root = {"Authorization": f"Bearer {ok(client.post('/keys', json={'role': 'admin', 'name': 'root'}))['key']}"}
        other = ok(client.post("/keys", json={"role": "admin", "name": "other"}, headers=root))["key"]
        for headers in (root, {"Authorization": f"Bearer {other}"}):
            ok(client.post("/projects/rain/items", json={"items": ROWS}, headers=headers | key()))
        assert ok(client.get("/projects/rain/state", headers=root))["items"] == 3 * len(ROWS)


def test_people_of_one_name_in_two_projects_may_use_the_same_key(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        set_up(client, "snow")
        root = {"Authorization": f"Bearer {ok(client.post('/keys', json={'role': 'admin', 'name': 'root'}))['key']}"}
        for name in ("rain", "snow"):
            new = {"json": {"role": "admin", "name": "anna"}, "headers": root}
            anna = {"Authorization": f"Bearer {ok(client.post(f'/projects/{name}/keys', **new))['key']}"}
            for _ in range(2):
                added = client.post(f"/projects/{name}/items", json={"items": ROWS}, headers=anna | key())
                assert ok(added)["first"] == len(ROWS) + 1


def test_a_key_with_another_query_is_refused(file: Path) -> None:
    with serving(file) as client:
        path, new = f"{set_up(client)}/items", {"json": {"items": ROWS[:1]}, "headers": key()}
        first = ok(client.post(f"{path}?name=a", **new))
        assert ok(client.post(f"{path}?name=a", **new)) == first
        for other in ("?name=b", "", "?name=a&name=a"):
            assert problem(client.post(path + other, **new)) == (409, "key-reused")


def test_what_an_earlier_version_did_is_not_done_again(file: Path) -> None:
    """Its table of requests did not say in which project."""
    new = {"json": {"items": ROWS[:1]}, "headers": key()}
    with serving(file) as client:
        set_up(client)
        set_up(client, "snow")
        first = ok(client.post("/projects/rain/items", **new))
        question_for(client, "/projects/rain")
    with closing(sqlite3.connect(file)) as database:
        columns = "person TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, response TEXT NOT NULL, at DOUBLE"
        database.executescript(f"""
            ALTER TABLE requests RENAME TO later;
            CREATE TABLE requests ({columns}, PRIMARY KEY (person, key));
            INSERT INTO requests SELECT person, key, digest, response, at FROM later;
            DROP TABLE later;
            ALTER TABLE leases DROP COLUMN at;
            ALTER TABLE projects DROP COLUMN files;
            ALTER TABLE questions DROP COLUMN wanted;
            DROP INDEX answers_by_id;
            ALTER TABLE answers DROP COLUMN id;
            DROP INDEX answers_with_ratings;
            ALTER TABLE answers DROP COLUMN rating;
            ALTER TABLE rules DROP COLUMN ratings;
            ALTER TABLE rules DROP COLUMN certify;
            UPDATE schema_version SET version = 8;
        """)
    with serving(file) as client:
        assert ok(client.post("/projects/rain/items", **new)) == first
        assert ok(client.get("/projects/rain/state"))["open"] == 1
        ok(client.post("/projects/snow/items", **new))
        assert ok(client.get("/projects/snow/state"))["items"] == len(ROWS) + 1


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def bomb(what: str) -> tuple[str, bytes]:
    """A small file that would become large."""
    import numpy as np
    import pyarrow as pa

    many = 3_000_000
    right = {"propensity": np.full(1, 0.5), "higher": [True], "size": [1.0], "colour=blue": [1.0], "colour=red": [0.0]}
    if what == "rows":
        zeros = pa.array(np.zeros(many))
        mild = pa.DictionaryArray.from_arrays(np.zeros(many, np.int8), ["mild"]).cast(pa.string())
        answers = {**dict.fromkeys(right, zeros), "higher": pa.array(np.zeros(many, bool))}
        return ".parquet", parquet({"level": mild, "prediction": mild, **answers})
    if what == "a name":
        level = {"level": ["x" * 50_000_000], "prediction": ["mild"]}
        return ".parquet", parquet({**level, **right}, compression="zstd")
    if what == "columns":
        return ".parquet", parquet({f"c{i}": [1] for i in range(20_000)})
    if what == "columns of text":
        return ".csv", b"," * 9_000_000
    return ".csv", b"level,prediction,propensity,higher,size,colour=blue,colour=red\n" + b",,,,,,\n" * 10**6


_POOLS: list[Any] = []  # what was allocated through a pool needs it to the end


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("rows", "too-many"),
        ("a name", "bad-log"),
        ("columns", "bad-log"),
        ("columns of text", "bad-log"),
        ("rows of text", "too-many"),
    ],
)
def test_a_small_file_that_would_become_large_is_refused_before_it_does(file: Path, what: str, kind: str) -> None:
    import pyarrow as pa

    suffix, content = bomb(what)
    with serving(file) as client:
        project = set_up(client)
        assert len(content) < client.service.settings.body_bytes
        response = client.post(f"{project}/log{suffix}", content=content)
        assert problem(response) == (422, kind)
        assert ok(client.get(f"{project}/state"))["sequence"] == 0
        usual = pa.default_memory_pool()
        counted = pa.proxy_memory_pool(usual)
        _POOLS.append(counted)
        pa.set_memory_pool(counted)
        try:
            with pytest.raises(Refusal):  # as the worker of the request does it, where its memory can be seen
                uploads.uploaded_log(client.service.project("rain"), content, suffix, client.service.bounds())
        finally:
            pa.set_memory_pool(usual)
        assert counted.max_memory() < 10_000_000


@pytest.mark.parametrize(
    "content",
    [b"," * 9_000_000, b"a,b\n" + b"1,2\n" * 2_000_000, b'a\n"' + b"x" * 9_000_000, b"a,b\n1\n"],
    ids=["columns", "rows", "an open quote", "a row"],
)
@pytest.mark.parametrize("path", ["items.csv", "preview.csv"])
def test_a_csv_file_with_too_much_in_it_is_refused(file: Path, content: bytes, path: str) -> None:
    with serving(file) as client:
        project = set_up(client)
        assert problem(client.post(f"{project}/{path}", content=content)) in {(422, "not-csv"), (422, "too-many")}
        assert ok(client.get(f"{project}/state"))["items"] == len(ROWS)


def test_work_that_takes_too_long_or_too_much_is_given_up_and_the_next_is_done(file: Path) -> None:
    from dford.service.refusal import Refusal
    from dford.service.worker import Worker

    worker = Worker(seconds=60.0)
    try:
        assert worker.run(json.loads, "[1, 2]") == [1, 2]
        with pytest.raises(ValueError, match="Expecting value"):
            worker.run(json.loads, "nothing")
        with pytest.raises(Refusal, match="more memory than is available"):
            worker.run(bytes, 10**11)
        worker._seconds = 0.5
        import time

        with pytest.raises(Refusal, match="took longer than 0.5 s"):
            worker.run(time.sleep, 60)
        worker._seconds = 60.0
        assert worker.run(json.loads, "[3]") == [3]
        assert worker._process is not None
        os.kill(worker._process.pid or 0, signal.SIGSTOP)  # so it does not even read what it is given
        worker._seconds = 0.5
        with pytest.raises(Refusal, match="took longer than 0.5 s"):
            worker.run(len, bytes(10_000_000))
        worker._seconds = 60.0
        assert worker.run(len, bytes(10_000_000)) == 10_000_000
    finally:
        worker.close()
