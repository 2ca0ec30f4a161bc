"""Who may do what, and how much of it; settings, and the commands on a database."""

import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from dford.cli import main, serve
from dford.service.core import Service
from dford.service.http import guard
from dford.service.learning import verify
from dford.service.projects import keys
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store.writer import Writer
from serving import LEVELS, ROWS, learned, ok, problem, question_for, serving, set_up

ROOT = Path(__file__).parent.parent
CSV = {"Content-Type": "text/csv"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_each_role_may_do_its_part_and_no_more(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_SLOWEST", 0.0)
    with serving(file) as client:
        project = set_up(client, learner="NewtonLogit")
        set_up(client, "snow")
    assert main(["key", "root", "--database", str(file)]) == 0
    root = capsys.readouterr().out.strip()
    with serving(file) as client:
        made = {
            role: ok(client.post(f"{project}/keys", json={"role": role, "name": role}, headers=bearer(root)))["key"]
            for role in ("admin", "answer", "predict")
        }
        requests: list[tuple[str, str, Any, str]] = [
            ("GET", "/state", None, "predict"),
            ("POST", "/predictions", {"rows": [ROWS[0]]}, "predict"),
            ("POST", "/questions", None, "answer"),
            ("POST", "/questions/1/answer", {"higher": True}, "answer"),
            ("POST", "/questions/1/retract", None, "answer"),
            ("POST", "/items", {"items": ROWS[:1]}, "admin"),
            ("GET", "/levels.csv", None, "admin"),
            ("GET", "/keys", None, "admin"),
            ("GET", "/people", None, "admin"),
            ("GET", "/settings", None, "admin"),
            ("PUT", "/settings", {"own_figures": True}, "admin"),
            ("GET", "/people/mine", None, "answer"),
            ("GET", "/contested", None, "admin"),
            ("PUT", "/settled/3", {"level": "mild"}, "admin"),
            ("DELETE", "/settled/3", None, "admin"),
        ]
        order = ["predict", "answer", "admin"]
        for method, path, body, needed in requests:
            for role in order:
                allowed = order.index(role) >= order.index(needed)
                response = client.request(method, project + path, json=body, headers=bearer(made[role]))
                assert (response.status_code < 300) == allowed, (role, path, response.text)
                other = client.request(method, "/projects/snow" + path, json=body, headers=bearer(made[role]))
                assert problem(other) == (404, "no-project"), "as if it were not there"
            for headers in ({}, bearer("x"), bearer(root + "x"), {"Authorization": f"Basic {root}"}):
                assert problem(client.request(method, project + path, json=body, headers=headers)) == (401, "no-key")
        _, watcher = client.service.write(None, lambda connection: keys.create(connection, None, "predict", "watcher"))
        assert client.get("/metrics", headers=bearer(watcher)).status_code == 200
        assert problem(client.get("/projects", headers=bearer(watcher))) == (403, "not-allowed")
        for path in ("/projects", "/metrics"):
            assert problem(client.get(path, headers=bearer(made["admin"]))) == (403, "not-allowed")
            assert client.get(path, headers=bearer(root)).status_code == 200
        assert client.get("/health").status_code == 200


def test_a_key_is_stored_hashed_and_opens_nothing_once_revoked(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        admin = ok(client.post(f"{project}/keys", json={"role": "admin", "name": "boss"}, headers=root))
        headers = bearer(admin["key"])
        guest = ok(client.post(f"{project}/keys", json={"role": "answer", "name": "guest"}, headers=headers))
        assert client.get(f"{project}/state", headers=bearer(guest["key"])).status_code == 200
        assert client.delete(f"{project}/keys/{guest['id']}", headers=headers).status_code == 204
        assert problem(client.get(f"{project}/state", headers=bearer(guest["key"]))) == (401, "no-key")
        listed = ok(client.get(f"{project}/keys", headers=headers))
        assert [(key["name"], key["revoked"]) for key in listed] == [("boss", False), ("guest", True)]
        assert client.delete(f"{project}/keys/{admin['id']}", headers=headers).status_code == 204
        assert problem(client.get(f"{project}/state", headers=headers)) == (401, "no-key")
        (first,) = ok(client.get("/keys", headers=root))
        assert (first["name"], first["role"], first["revoked"]) == ("root", "admin", False)
        assert problem(client.delete(f"{project}/keys/{first['id']}", headers=root)) == (
            404,
            "no-such-key",
        )  # not its own
        assert client.delete(f"/keys/{first['id']}", headers=root).status_code == 204
        assert problem(client.get(f"{project}/state")) == (401, "no-key")  # no key left does not mean open again
    secret = admin["key"].split(".")[1].encode()
    assert not any(secret in path.read_bytes() for path in file.parent.iterdir())


def test_a_key_that_is_revoked_while_it_is_looked_up_opens_nothing_afterwards(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(file) as client:
        set_up(client)
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        made = ok(client.post("/projects/rain/keys", json={"role": "answer", "name": "anna"}, headers=root))
        known, reading = client.service.keys, client.service.database.reading

        @contextmanager
        def slow() -> Iterator[Any]:
            with reading() as connection:
                yield connection
            monkeypatch.undo()  # what was looked up is not used yet
            assert client.delete(f"/projects/rain/keys/{made['id']}", headers=root).status_code == 204

        monkeypatch.setattr(client.service.database, "reading", slow)
        assert known.holder(f"Bearer {made['key']}").name == "anna", "it was valid when it was looked up"
        assert known.known(f"Bearer {made['key']}") is None
        with pytest.raises(Refusal, match="no valid key"):
            known.holder(f"Bearer {made['key']}")


def test_the_first_key_must_leave_somebody_who_can_make_more(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        assert ok(client.get("/me")) == {"name": "local", "role": "admin", "project": None, "open": True}
        for path, role in [(f"{project}/keys", "admin"), (f"{project}/keys", "answer"), ("/keys", "answer")]:
            body = {"role": role, "name": "anna"}
            assert problem(client.post(path, json=body)) == (409, "first-key")
        for words in (["--role", "answer"], ["--project", "rain"]):
            assert main(["key", "anna", *words, "--database", str(file)]) == 2
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        guest = bearer(ok(client.post(f"{project}/keys", json={"role": "answer", "name": "anna"}, headers=root))["key"])
        assert ok(client.get("/me", headers=guest)) == {
            "name": "anna",
            "role": "answer",
            "project": "rain",
            "open": False,
        }
        assert problem(client.get("/me")) == (401, "no-key")
        for path in ("/keys", "/projects"):
            assert problem(client.get(path, headers=guest)) == (403, "not-allowed")


def test_answers_count_as_the_key_holders(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        key = ok(client.post("/keys", json={"role": "admin", "name": "anna"}))["key"]
        number = question_for(client, project, headers=bearer(key))["number"]
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}, headers=bearer(key)))
        assert ok(client.get(f"{project}/state", headers=bearer(key)))["people"] == {"anna": 1}


def test_an_answer_is_retracted_by_whoever_gave_it_or_an_admin(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        anna, ben = (
            bearer(ok(client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root))["key"])
            for name in ("anna", "ben")
        )
        numbers = []
        for _ in range(2):
            numbers.append(question_for(client, project, headers=anna)["number"])
            body = {"higher": True}
            ok(client.post(f"{project}/questions/{numbers[-1]}/answer", json=body, headers=anna))
        first, second = (f"{project}/questions/{number}/retract" for number in numbers)
        assert problem(client.post(first, headers=ben)) == (403, "not-yours")
        assert ok(client.get(f"{project}/state", headers=ben))["retractions"] == 0
        assert ok(client.post(first, headers=anna))["sequence"] == 3
        assert ok(client.post(second, headers=root))["sequence"] == 4


def test_without_a_key_it_listens_only_on_loopback(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--database", str(file), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "without a key" in capsys.readouterr().err


def test_without_a_key_no_other_sites_page_is_served(file: Path) -> None:
    with serving(file) as client:
        foreign = [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "[::"}]
        by_proxy = [{"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}, {"Via": "1.1 proxy"}]
        for headers in foreign + by_proxy:
            assert problem(client.get("/projects", headers=headers)) == (403, "foreign")
        own = str(client.base_url).rstrip("/")
        assert client.get("/projects", headers={"Origin": own}).status_code == 200


def test_over_a_limit_nothing_is_done(file: Path) -> None:
    with serving(file, body_bytes=20_000, items_per_call=30, features_per_item=5, open_questions=3) as client:
        project = set_up(client)
        before = ok(client.get(f"{project}/state"))
        large = {"items": [{"note": "x" * 20_000}]}
        assert problem(client.post(f"{project}/items", json=large)) == (413, "too-large")
        chunks = (b"x" * 1000 for _ in range(30))
        assert problem(client.post(f"{project}/items.csv", content=chunks, headers=CSV)) == (413, "too-large")
        assert problem(client.post(f"{project}/items", json={"items": ROWS + ROWS[:1]})) == (422, "too-many")
        assert problem(client.post(f"{project}/predictions", json={"rows": ROWS * 2})) == (422, "too-many")
        wide = [{"name": f"c{i}", "kind": "number"} for i in range(6)]
        body = {"name": "wide", "levels": LEVELS, "columns": wide}
        assert problem(client.post("/projects", json=body)) == (422, "bad-columns")
        assert ok(client.get(f"{project}/state")) == before
        for _ in range(3):
            question_for(client, project)
        response = client.post(f"{project}/questions")
        assert problem(response) == (429, "too-many-open")
        assert response.headers["Retry-After"]


def test_a_full_queue_and_a_slow_disk_are_a_clear_503_and_nothing_done(file: Path) -> None:
    Service(Settings(database=str(file))).close()  # the tables are made without haste
    service = Service(Settings(database=str(file), queue_length=2, request_seconds=0.02))
    gate, begun, done = threading.Event(), threading.Event(), []
    writer: Writer = service.writer

    def hold(_: Any) -> None:
        begun.set()
        gate.wait(600)

    try:
        writer.submit(None, hold)
        assert begun.wait(600)
        with pytest.raises(ValueError, match=r"did not start within 0.01 s and was cancelled"):
            writer.do(None, lambda _: done.append(1))
        writer.submit(None, lambda _: done.append(2))
        with pytest.raises(ValueError, match="2 writes are already waiting") as refused:
            writer.submit(None, lambda _: done.append(3))
        assert (refused.value.status, refused.value.retry_after) == (503, 1)  # type: ignore[attr-defined]
    finally:
        gate.set()
        service.close()
    assert done == [2]


def test_every_setting_is_documented_and_read_from_flag_environment_and_file(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    for one in fields(Settings):
        assert f"`{one.name}`" in text, one.name
    toml = tmp_path / "dford.toml"
    toml.write_text("port = 1\nlease_seconds = 2.5\nqueue_length = 3\n")
    read = Settings.read({"port": 9}, {"DFORD_QUEUE_LENGTH": "7", "DFORD_PORT": "8"}, toml)
    assert (read.port, read.queue_length, read.lease_seconds) == (9, 7, 2.5)
    for bad, match in [
        ("prot = 1", "not a setting"),
        ('port = "x"', "must be of type int"),
        ("queue_length = 0", "greater than 0"),
        ("lease_seconds = inf", "a finite number greater than 0; got inf"),
        ("body_bytes = inf", "must be of type int"),
        ("work_seconds = nan", "a finite number greater than 0; got nan"),
        ("port = 70000", "between 0 and 65535"),
        ("port", "cannot be read as TOML"),
        ('host = "\xff"', "cannot be read as TOML"),
    ]:
        toml.write_text(bad, encoding="latin-1")
        with pytest.raises(ValueError, match=match) as caught:
            Settings.read({}, {}, toml)
        assert str(caught.value).startswith(str(toml)), "the file is named"
    toml.write_text("port = 70000")
    assert Settings.read({"port": 9}, {}, toml).port == 9


def test_a_backup_made_while_running_is_complete(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    with serving(file) as client:
        project = set_up(client)
        number = question_for(client, project)["number"]
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
        assert main(["backup", str(copy), "--database", str(file)]) == 0
        assert main(["backup", str(copy), "--database", str(file)]) == 2
        ok(client.post(f"{project}/questions/{number}/retract"))
    with serving(copy) as client:
        assert ok(client.get(f"{project}/state"))["answers"] == 1
    assert main(["verify", "--database", str(copy)]) == 0
    assert re.search(r"rain +1 ", capsys.readouterr().out)


def test_a_backup_that_cannot_be_written_is_one_sentence_and_leaves_nothing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import resource

    with serving(file) as client:
        set_up(client)
    (tmp_path / "full").mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert main(["backup", str(tmp_path / "no/copy.db"), "--database", str(file)]) == 2
    assert f"there is no folder {tmp_path / 'no'}; create it first" in " ".join(capsys.readouterr().err.split())
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size // 2, limits[1]))
        assert main(["backup", str(tmp_path / "full" / "copy.db"), "--database", str(file)]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "copy.db could not be written" in capsys.readouterr().err
    assert list((tmp_path / "full").iterdir()) == []


def test_a_home_that_no_shell_has_put_in_is_found_by_every_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = Settings(database="~/log.db", files="~/images")
    assert (settings.database, settings.files) == (str(tmp_path / "log.db"), str(tmp_path / "images"))
    with serving("~/log.db") as client:
        set_up(client)
        source = client.service.image_source(client.service.project("rain"), is_everywhere=False)
        assert source.uploads == str(tmp_path / "log.db-images" / "1")
    for database in ("~/log.db", ""):
        monkeypatch.setenv("DFORD_DATABASE", "~/log.db")
        assert main(["verify", "--database", database]) == 0


@pytest.mark.parametrize(
    ("option", "name", "sentence"),
    [
        ("--files", "nothere", "there is no folder"),
        ("--files", "table.csv", "there is no folder"),
        ("--encoder", "nothere.onnx", "an encoder must be an ONNX model in one file"),
        ("--encoder", "table.csv", "is not an ONNX model in one file"),
    ],
)
def test_a_server_does_not_start_without_its_images(
    option: str,
    name: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if option == "--encoder":
        pytest.importorskip("onnxruntime")
    (tmp_path / "table.csv").write_text("size\n1\n")
    monkeypatch.setattr(serve, "run", lambda *_: pytest.fail("it started"))
    arguments = ["--database", str(tmp_path / "log.db"), "--port", "0"]
    assert main(["serve", option, str(tmp_path / name), *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "log.db").exists()


def test_verify_says_what_is_wrong(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(file) as client:
        project = set_up(client)
        for _ in range(2):
            number = question_for(client, project)["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM answers WHERE sequence = 1")
    database.close()
    assert main(["verify", "--database", str(file)]) == 1
    assert "rain: the sequence numbers have gaps" in capsys.readouterr().err
    assert main(["verify", "--database", str(file) + "x"]) == 2

    def fold(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(verify, "_fold", fold)
    assert main(["verify", "--database", str(file)]) == 1
    assert "rain: its log cannot be replayed (MemoryError: no room)" in " ".join(capsys.readouterr().err.split())


def test_verify_finds_what_was_lost_or_changed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    with serving(file) as client:
        project = set_up(client)
        for _ in range(2):
            number = question_for(client, project)["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
        learned(client, project)
    for n, (statements, status, sentence) in enumerate(
        [
            (
                "DELETE FROM answers WHERE sequence = 2; DELETE FROM snapshots",
                1,
                "rain: the last sequence number given is 2, but the log ends at 1",
            ),
            ("UPDATE heads SET sequence = 1", 1, "rain: the last sequence number given is 1, but the log ends at 2"),
            (
                "DELETE FROM items WHERE number = 30",
                1,
                "rain: the last item number given is 30, but the log ends at 29",
            ),
            ("DELETE FROM questions WHERE number = 1", 1, "rain: the question numbers have gaps"),
            ("DELETE FROM columns", 1, "rain: it has items or answers, but the table columns does not say how"),
            (
                "UPDATE items SET shown = 'x' WHERE number = 7",
                1,
                "rain: what is shown of number 7 in the table items is not JSON",
            ),
            ("DROP TABLE answers", 1, "rain: its log cannot be replayed"),
            ("UPDATE projects SET levels = ''", 1, "project rain: its row in the table projects cannot be read"),
            ("UPDATE columns SET columns = ''", 1, "project rain: its row in the table columns cannot be read"),
            ("UPDATE columns SET columns = '[{}]'", 1, "project rain: its row in the table columns cannot be read"),
            ("DELETE FROM schema_version WHERE version > 2", 2, "cannot be brought from version"),
            ("DROP TABLE schema_version", 2, "the database has no tables of dford"),
        ]
    ):
        copy = tmp_path / f"{n}.db"
        shutil.copy(file, copy)
        with closing(sqlite3.connect(copy)) as database:
            database.executescript(statements)
        assert main(["verify", "--database", str(copy)]) == status, statements
        assert sentence in " ".join(capsys.readouterr().err.split())


def test_verify_goes_on_after_a_project_whose_own_row_cannot_be_read(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(file) as client:
        for name in ("first", "second", "third"):
            number = question_for(client, project := set_up(client, name))["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE projects SET parameters = '{' WHERE name = 'second'")
        database.execute("DELETE FROM items WHERE number = 30 AND project = (SELECT max(id) FROM projects)")
    assert main(["verify", "--database", str(file)]) == 1
    shown = capsys.readouterr()
    faults = " ".join(shown.err.split())
    assert "second: it cannot be read (ValueError: project second: its row in the table projects" in faults
    assert "third: the last item number given is 30, but the log ends at 29" in faults
    assert "first:" not in faults
    assert all(name in shown.out for name in ("first", "second", "third"))


def test_no_command_makes_a_database_of_an_empty_file_or_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    for command in (["verify"], ["key", "anna"], ["backup", str(tmp_path / "copy.db")]):
        for name in (str(empty), f"sqlite:///{empty}"):
            assert main([*command, "--database", name]) == 2
            assert "empty.db is empty, so it is not a database" in capsys.readouterr().err
    assert empty.stat().st_size == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["verify"]) == 2
    assert "there is no database" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["empty.db"]
    assert main(["key", "anna"]) == 0, "the first key may come before the first start"
    place = next(one for one in tmp_path.rglob("*.db") if one != empty)
    assert main(["verify", "--database", f"sqlite:///{place}?timeout=5"]) == 0
    for missing in ("sqlite:///missing.db", "sqlite+pysqlite:///missing.db"):
        assert main(["verify", "--database", missing]) == 2
        assert "there is no database missing.db" in " ".join(capsys.readouterr().err.split())


def test_a_full_disk_is_one_sentence(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def create(*_: Any) -> Any:
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    Service(Settings(database=str(file))).close()
    monkeypatch.setattr(keys, "create", create)
    assert main(["key", "anna", "--database", str(file)]) == 2
    assert capsys.readouterr().err == "dford: the database cannot be used: database or disk is full\n"


NAMES = ["anna", "Ann Smith", "José", "李小龙", "o'neill, ben", "<b>", "x" * 200]
NO_NAMES = ["", " ", "an\nna", "an\0na", "x" * 201, " anna", "anna\u2003"]


def test_a_command_and_an_invitation_take_the_same_names(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(file) as client:
        project = set_up(client)
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        for name in NAMES:
            assert main(["key", name, "--role", "answer", "--database", str(file)]) == 0
            made = capsys.readouterr().out.strip()
            invited = ok(client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root))["key"]
            for key in (made, invited):
                assert ok(client.get("/me", headers=bearer(key)))["name"] == name
        for name in NO_NAMES:
            response = client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root)
            assert problem(response) == (422, "invalid")
            assert main(["key", name, "--database", str(file)]) == 2
            assert response.json()["sentence"] in capsys.readouterr().err, "the same rule, in the same words"


def test_a_log_of_a_person_with_any_name_is_imported_again(file: Path) -> None:
    with serving(file) as client:
        project, copy = set_up(client), set_up(client, "copy")
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        for name in NAMES:
            key = ok(client.post(f"{project}/keys", json={"role": "answer", "name": name}, headers=root))["key"]
            number = question_for(client, project, headers=bearer(key))["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}, headers=bearer(key)))
        log = client.get(f"{project}/log.csv", headers=root).content
        assert ok(client.post(f"{copy}/log.csv", content=log, headers=root | CSV))["count"] == len(NAMES)
        assert ok(client.get(f"{copy}/state", headers=root))["people"] == dict.fromkeys(NAMES, 1)
