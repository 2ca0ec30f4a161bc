"""From a file to the page: `dford label`."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dford.cli import label, main
from dford.service.core import Service
from dford.service.projects.items import features
from dford.service.projects.projects import all_projects
from dford.service.settings import Settings
from dford.service.table_project import TableProject, fill_project
from drawing import drawings
from forking import Command
from serving import LEVELS, caught_up, ok, problem, replayed, serving

SHEET = "size,colour,note\n" + "".join(f"{i % 7},{['red', 'blue'][i % 2]},=item {i}\n" for i in range(12))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    one = Service(Settings(database=str(tmp_path / "log.db")))
    yield one
    one.close()


class TestSheet:
    ROWS = tuple({"size": str(i), "note": f"item {i}"} for i in range(6))

    def test_a_project_is_filled_once_and_grows_at_its_end(self, service: Service) -> None:
        for rows, added in ((4, 4), (4, 0), (6, 2)):
            project, count = fill_project(service, TableProject("rain", self.ROWS[:rows], LEVELS))
            assert count == added
        assert project.rows(features(service.database, project, [6]))[0, 0] == 5.0
        assert (project.learner, project.levels) == ("Auto", LEVELS)
        assert fill_project(service, TableProject("rain", self.ROWS)) == (project, 0)
        turned = [dict(reversed(row.items())) for row in self.ROWS]
        assert fill_project(service, TableProject("rain", turned)) == (project, 0), "in another order they are the same"

    def test_a_target_may_change(self, service: Service) -> None:
        for said, target in ((None, 0.1), (0.3, 0.3), (None, 0.3), (0.2, 0.2)):
            assert fill_project(service, TableProject("rain", self.ROWS, LEVELS, target=said))[0].target == target
            service._projects.clear()  # what another process does

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"levels": ["a", "b"]}, "has the levels calm, mild, strong, severe; choose another one with --project"),
            ({"learner": "PRIL"}, "has the learner Auto; .*--project"),
            ({"rows": ROWS[:3]}, "has 4 items, but the file has 3 rows; .*--project"),
            ({"rows": ROWS[1:]}, "differs from row 1 of the file: its 'size' was '0', and is '1'; .*--project"),
            ({"rows": [{"note": "x"}] * 4}, "the columns were 'size', 'note', and are 'note'; .*--project"),
            ({"kinds": {"size": "text"}}, "reads the column 'size' as ratings; .*--project"),
            ({"kinds": {"sise": "text"}}, "has no column 'sise'"),
            ({"gold": "note"}, "has no column of known levels; .*--project"),
            ({"rows": (*ROWS[:4], {"size": "many", "note": ""})}, "row 5: column 'size' takes a number; got 'many'"),
        ],
    )
    def test_a_difference_is_reported_and_nothing_done(
        self, service: Service, change: dict[str, Any], match: str
    ) -> None:
        fill_project(service, TableProject("rain", self.ROWS[:4], LEVELS))
        with pytest.raises(ValueError, match=match):
            fill_project(service, TableProject("rain", self.ROWS[:4])._replace(**change))
        assert fill_project(service, TableProject("rain", self.ROWS[:4], LEVELS))[1] == 0

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"levels": []}, "give --levels"),
            ({"gold": "truth"}, "the file has no column 'truth' of known levels; its columns are size, note"),
            ({"gold": "note"}, "'item 0' in row 1 of the column 'note' of known levels is not one of calm, mild"),
            ({"levels": ["a", ""]}, 'levels.1 must be 1 or more characters long; got ""'),
            ({"levels": ["a", "a"]}, "distinct"),
            ({"name": "Rain!"}, 'name must be 1 to 64 lowercase letters.*; got "Rain!"'),
            ({"learner": "PRank"}, "'PRank' is not one of"),
            ({"kinds": {"sise": "text"}}, "there is no column 'sise'"),
            ({"kinds": {"note": "number"}}, "column 'note' should be numbers, but has 'item 0'"),
            ({"kinds": {"note": "shown", "size": "shown"}}, "there is nothing to learn from"),
        ],
    )
    def test_an_invalid_project_is_not_created(self, service: Service, change: dict[str, Any], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            fill_project(service, TableProject("rain", self.ROWS, LEVELS)._replace(**change))
        assert all_projects(service.database) == []

    def test_more_rows_than_a_call_allows_are_one_commit(self, tmp_path: Path) -> None:
        one = Service(Settings(database=str(tmp_path / "small.db"), items_per_call=2))
        before = one.writer.commits
        assert fill_project(one, TableProject("rain", self.ROWS, LEVELS))[1] == 6
        assert one.writer.commits == before + 1
        one.close()


def test_the_column_of_known_levels_is_named_by_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, file = list[TableProject](), tmp_path / "days.csv"
    file.write_text(SHEET)
    monkeypatch.setattr(label, "_label", lambda table, *_: tables.append(table))
    assert main(["label", str(file), "--levels", "blue,red", "--gold", "colour"]) == 0
    assert tables[0].gold == "colour"


def test_it_says_what_is_missing_for_the_first_time_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, rows = Settings(database=str(tmp_path / "log.db")), [{"size": str(i % 4), "note": "a"} for i in range(6)]
    label._filled(settings, TableProject("rain", rows, LEVELS))
    assert "missing" not in capsys.readouterr().out
    label._filled(settings, TableProject("rain", [*rows, {"size": "", "note": "b"}], LEVELS))
    assert "size is missing in 1 of 1 rows, but was in none when the columns were fitted" in capsys.readouterr().out
    known = [{**row, "truth": LEVELS[i % 3]} for i, row in enumerate(rows)]
    label._filled(settings, TableProject("hail", known, LEVELS, gold="truth"))
    assert "truth: known levels; to check people with them, set a share of gold questions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("stem", "name"), [("My Items (2)", "my-items-2"), ("Häuser", "hauser"), ("日本", "items"), ("x" * 99, "x" * 64)]
)
def test_a_project_is_named_after_its_file(stem: str, name: str) -> None:
    assert label._name(stem) == name


@contextmanager
def labelling(
    folder: Path, *more: str, items: str = "items.csv", **environment: str
) -> Iterator[tuple[Command, list[str]]]:
    """`dford label` on a small file, as a process, and what it says until the page is there."""
    (folder / "items.csv").write_text(SHEET)
    words = ["label", str(folder / items), "--levels", ",".join(LEVELS), "--learner", "newton"]
    words += ["--database", str(folder / "log.db"), *more]
    process = Command(words, ["NewtonLogit"], environment={"DFORD_PORT": "0"} | environment)
    lines: list[str] = []
    try:
        while not (lines and lines[-1].startswith("Answer at ")):
            lines.append(process.stdout.readline())
            assert lines[-1], "it ended too soon"
        yield process, lines
    finally:
        process.kill()
        process.wait()
        process.close()


def split(line: str) -> tuple[str, str]:
    """The server, and what follows."""
    found = re.fullmatch(r"Answer at (http://127\.0\.0\.1:\d+)/(#/\S+); press Ctrl-C to stop\n", line)
    assert found is not None, line
    return found[1], found[2]


def test_one_command_goes_from_the_file_to_the_page_and_back_to_a_file(tmp_path: Path) -> None:
    browser, out = tmp_path / "browser.sh", tmp_path / "levels.csv"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    with labelling(tmp_path, "--until", "0.3", "--out", str(out), BROWSER=f"{browser} %s") as (process, lines):
        assert lines[:4] == [
            "Project items: 12 items, 12 of them new\n",
            "  size: a number\n",
            "  colour: one of 2 categories\n",
            "  note: text, learned from through its words and their parts\n",
        ]
        server, page = split(lines[-1])
        assert page == "#/items/answer"
        with httpx.Client(base_url=server, timeout=600) as client:
            caught_up(client, "/projects/items")
            for _ in range(5):
                number = ok(client.post("/projects/items/questions"))["number"]
                ok(client.post(f"/projects/items/questions/{number}/answer", json={"higher": True}))
        while not (tmp_path / "opened").exists() or not (tmp_path / "opened").read_text():
            assert process.poll() is None
        assert (tmp_path / "opened").read_text() == f"{server}/{page}\n"
        process.send_signal(signal.SIGINT)
        said, levels = process.communicate(timeout=600)[0].splitlines()
        assert said.startswith("The levels are expected to be ")
        assert said.endswith(" more answers to reach 0.3")
        assert levels == f"Levels: {out}"
        assert process.returncode == 0
    rows = out.read_text().splitlines()
    assert len(rows) == 13
    assert rows[1].startswith("1,0,red,=item 0,"), "text is written as it was, even where a spreadsheet would calculate"
    replayed(tmp_path / "log.db", "items")

    with labelling(tmp_path, "--no-browser") as (process, lines):
        assert "12 items, 0 of them new" in lines[0]
        server, _ = split(lines[-1])
        with httpx.Client(base_url=server, timeout=600) as client:
            assert caught_up(client, "/projects/items")["answers"] == 5
        process.send_signal(signal.SIGTERM)
        assert (
            f"dford export items levels.csv --what levels --database {tmp_path}" in process.communicate(timeout=600)[0]
        )
        assert process.returncode == 0


def test_images_that_cannot_be_read_are_counted_and_named(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for n, content in enumerate(drawings(12)[0]):
        (photos / f"{n:02}.png").write_bytes(content[:200] if n < 7 else content)  # the first ones are all cut short
    sentence = "7 images could not be read (00.png, 01.png, 02.png, 03.png, 04.png, …); they count as missing\n"
    for _ in range(2):
        with labelling(tmp_path, "--no-browser", items="photos") as (_, lines):
            assert sentence in lines
    names = [*("00.png", "07.png"), "", *(f"{n:02}.png" for n in range(8, 12))]
    (photos / "items.csv").write_text(
        "size,photo,text\n" + "".join(f"{n},{one},it is thing {n}\n" for n, one in enumerate(names))
    )
    with labelling(tmp_path, "--no-browser", "--files", str(photos), items="photos/items.csv") as (_, lines):
        assert "1 image could not be read (00.png); it counts as missing\n" in lines, "an empty cell is no image"


def test_if_there_are_keys_the_page_gets_one_for_as_long_as_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Service(Settings(database=str(tmp_path / "log.db"))).close()
    assert main(["key", "root", "--database", str(tmp_path / "log.db")]) == 0
    capsys.readouterr()
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        with labelling(tmp_path, "--no-browser", DFORD_PORT=str(port)) as (process, lines):
            assert "address already in use" in lines[-2]
            server, page = split(lines[-1])
            assert f"serving on port {server.rpartition(':')[2]} instead\n" in lines[-2]
            place, _, key = page.partition("?key=")
            assert place == "#/items/answer"
            headers = {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=server, timeout=600) as client:
                assert problem(client.get("/projects/items/state")) == (401, "no-key")
                assert problem(client.get("/projects", headers=headers)) == (403, "not-allowed")
                caught_up(client, "/projects/items", headers=headers)
                number = ok(client.post("/projects/items/questions", headers=headers))["number"]
                address = f"/projects/items/questions/{number}/answer"
                ok(client.post(address, json={"higher": True}, headers=headers))
                people = ok(client.get("/projects/items/state", headers=headers))["people"]
                assert people == {"local": 1}, "the same person as without keys"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=600)
            assert process.returncode == 0
    with serving(tmp_path / "log.db") as client:
        assert problem(client.get("/projects/items/state", headers=headers)) == (401, "no-key")


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["label", "nowhere.csv", "--levels", "a,b"], "no file nowhere.csv"),
        (["label", "items.csv"], "--levels"),
        (["label", "items.csv", "--levels", "a,a"], "distinct"),
        (["label", "items.csv", "--levels", "a,,b"], "--levels: expected names with one comma between two of them"),
        (["label", "items.csv", "--levels", "a,b", "--learner", "newtn"], "'newtn' is not one of auto"),
        (["label", "items.csv", "--levels", "a,b", "--project", "My Items"], "My Items"),
        (["label", "items.csv", "--levels", "a,b", "--out", "nowhere/levels.csv"], "--out"),
        (["label", "items.csv", "--levels", "a,b", "--out", "./items.csv"], "items.csv holds the table"),
        (["label", "items.csv", "--levels", "a,b", "--out", "photo.jpg"], "a file that ends in .csv; got 'photo.jpg'"),
        (["label", "items.csv", "--levels", "a,b", "--out", "a.db", "--database", "a.db"], "what --database writes"),
        (["label", "items.csv", "--levels", "a,b", "--kind", "note=number"], "'note'"),
        (["label", "items.csv", "--levels", "a,b", "--kind", "wind=text"], "'wind'"),
        (["label", "items.csv", "--levels", "a,b", "--kind", "note=text", "--kind", "note=shown"], "named twice"),
        (["label", "empty.csv", "--levels", "a,b"], "a header line of distinct column names"),
        (["label", "binary.csv", "--levels", "a,b"], "not UTF-8 text"),
        (["label", "marks.csv", "--levels", "a,b"], "nothing to learn from: add a column"),
        (["label", "items.csv", "--levels", "a,b", "--database", "nowhere/log.db"], "the database cannot be opened"),
        (["label", "items.csv", "--levels", "a,b", "--database", "items.csv"], "file is not a database"),
        (["serve", "--database", "nosuch://x"], "the database cannot be opened"),
        (["verify", "--database", "items.csv"], "file is not a database"),
        (["serve", "--port", "70000"], "port must be between 0 and 65535"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str],
    about: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("DFORD_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(SHEET)
    Path("empty.csv").touch()
    Path("binary.csv").write_bytes(b"a\n\xff\n")
    Path("marks.csv").write_text("id\n" + "\n".join(map(str, range(20))) + "\n")
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"dford: [^\n]+\n", output.err)
    assert about in output.err
    assert Path("items.csv").read_text() == SHEET
    database = tmp_path / "data" / "dford" / "dford.db"
    if database.exists():
        one = Service(Settings(database=str(database)))
        assert all_projects(one.database) == []
        one.close()


@pytest.mark.parametrize("command", ["label FILE", "export rain FILE", "import rain FILE"])
def test_without_the_service_extra_the_command_says_how_to_get_it(command: str, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(SHEET)
    absent = "import sys; sys.modules['sqlalchemy'] = None; from dford.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [str(file) if word == "FILE" else word for word in command.split()]
    result = subprocess.run([sys.executable, "-c", absent, *words], capture_output=True, text=True, timeout=600)
    assert result.returncode == 2
    assert re.fullmatch(r'dford: [^\n]*sqlalchemy[^\n]*pip install "dford\[service\]"\n', result.stderr)
