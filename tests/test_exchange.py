"""Export and import of a project, by command and by HTTP, to the bit; and the backup of a database."""

import io
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyarrow import parquet

from dford.cli import main
from dford.service.learning import log_reader
from dford.service.projects.projects import all_projects
from dford.service.store.database import Database
from serving import LEVELS, ROWS, answer_some, learned, ok, problem, question_for, replayed, serving, set_up

CSV, BINARY = {"Content-Type": "text/csv"}, {"Content-Type": "application/octet-stream"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def told(database: Database) -> list[Any]:
    (project,) = all_projects(database)
    pages = log_reader.pages(database, project, 0, log_reader.head_of(database, project.id))
    return [one for page in pages for one in zip(page.number, page.higher, page.X.tolist(), strict=True)]


def run(*arguments: object) -> int:
    return main([str(word) for word in arguments])


@pytest.mark.parametrize(
    ("learner", "suffix"),
    [
        ("Auto", "csv"),
        ("DFORD", "parquet"),
        ("DirectionalBoosting", "csv"),
        ("NewtonLogit", "parquet"),
        ("PRIL", "csv"),
    ],
)
def test_an_exported_log_imported_elsewhere_gives_the_same_learner_to_the_bit(
    file: Path, tmp_path: Path, suffix: str, learner: str
) -> None:
    log = tmp_path / f"answers.{suffix}"
    with serving(file) as client:
        answer_some(client, set_up(client, learner=learner), 25)
        learned(client, "/projects/rain")
        assert run("export", "rain", log, "--database", file) == 0, "while a server runs on the database"
        set_up(client, "copy", learner=learner)
        assert run("import", "copy", log, "--database", file) == 0
        state = learned(client, "/projects/copy")
        rain, copy = (
            client.service.fold(client.service.project(name)).packed(id)[0].model for name in ("rain", "copy")
        )
        assert rain == copy
        done = [ok(client.get(f"/projects/{name}/state"))["items_done"] for name in ("rain", "copy")]
        assert done[0] == done[1] > 0, "the items are the same, so the answers count for them"
    assert replayed(file, "copy") == state["digest"]


@pytest.mark.parametrize("learner", ["Auto", "DFORD", "NewtonLogit"])
def test_after_skips_and_retractions_the_copy_has_learned_the_same(file: Path, tmp_path: Path, learner: str) -> None:
    """Its questions have other numbers, so the next ones may differ; what was learned does not."""
    log = tmp_path / "answers.parquet"
    with serving(file) as client:
        project = set_up(client, learner=learner)
        number = answer_some(client, project, 10)[3]["number"]
        ok(client.post(f"{project}/questions/{number}/retract"))
        waiting = [f"{project}/questions/{ok(client.post(f'{project}/questions'))['number']}" for _ in range(4)]
        ok(client.post(f"{waiting.pop()}/skip"))
        for address in reversed(waiting):
            ok(client.post(f"{address}/answer", json={"higher": True}))
        answer_some(client, project, 10)
        before = learned(client, project)
        assert run("export", "rain", log, "--database", file) == 0
        copy = set_up(client, "copy", learner=learner)
        assert run("import", "copy", log, "--database", file) == 0
        after = learned(client, copy)
        for what in ("answers", "thresholds", "mae", "curve"):
            assert after[what] == before[what]
        assert after["answers"] == 22
        rows = {"rows": ROWS}
        predicted = [ok(client.post(f"{name}/predictions", json=rows))["predictions"] for name in (project, copy)]
        assert predicted[0] == predicted[1]


def test_the_levels_are_exported_once_all_is_learned(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "levels.csv"
    with serving(file, snapshot_every=1000) as client:
        project = set_up(client)
        answer_some(client, project, 40)
        learned(client, project)
        assert run("export", "rain", out, "--what", "levels", "--database", file) == 0
        assert out.read_bytes() == client.get(f"{project}/levels.csv").content


def test_the_command_imports_more_than_one_call_allows(file: Path, tmp_path: Path) -> None:
    with serving(file, items_per_call=30) as client:
        project = set_up(client)
        answer_some(client, project, 40)
        for suffix, headers in (("csv", CSV), ("parquet", BINARY)):
            log = client.get(f"{project}/log.{suffix}").content
            assert problem(client.post(f"{project}/log.{suffix}", content=log, headers=headers)) == (422, "too-many")
            (tmp_path / f"log.{suffix}").write_bytes(log)
            assert run("import", "rain", tmp_path / f"log.{suffix}", "--database", file, "--new") == 0
        assert learned(client, project)["answers"] == 160  # doubled twice


def chances(client: Any, project: str) -> list[Any]:
    learned(client, project)
    items = {"items": list(range(1, len(ROWS) + 1))}
    return [one["probabilities"] for one in ok(client.post(f"{project}/predictions", json=items))["predictions"]]


@pytest.mark.parametrize(("suffix", "headers"), [("csv", CSV), ("parquet", BINARY)])
def test_importing_what_a_project_has_changes_nothing(
    file: Path, tmp_path: Path, suffix: str, headers: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / f"log.{suffix}"
    with serving(file) as client:
        rain = set_up(client, learner="NewtonLogit")
        numbers = [question["number"] for question in answer_some(client, rain, 12)]
        log.write_bytes(client.get(f"{rain}/log.{suffix}").content)
        before = chances(client, rain)
        ok(client.post(f"{rain}/questions/{numbers[3]}/retract"))
        taken_back = chances(client, rain)
        assert run("import", "rain", log, "--database", file) == 0
        assert "12 answers: 0 new, 12 already there; 0 of the new ones are" in capsys.readouterr().out
        told = ok(client.post(f"{rain}/log.{suffix}", content=log.read_bytes(), headers=headers))
        assert (told["count"], told["known"]) == (0, 12)
        assert chances(client, rain) == taken_back != before, "an answer that was taken back stays so"
        assert client.get(f"{rain}/log.{suffix}").content != log.read_bytes()
        told = ok(client.post(f"{rain}/log.{suffix}?new=true", content=log.read_bytes(), headers=headers))
        assert (told["count"], told["known"]) == (12, 0)
        assert learned(client, rain)["answers"] == 23
    assert replayed(file, "rain")


def test_answers_that_travel_between_projects_and_servers_count_once(file: Path, tmp_path: Path) -> None:
    """There and back, in parts, and by way of a copy of the database in which people went on."""
    copied = tmp_path / "copied.db"
    with serving(file) as client:
        answer_some(client, set_up(client), 10)
    shutil.copy(file, copied)
    logs = []
    for place, more in ((file, 3), (copied, 4)):
        with serving(place) as client:
            answer_some(client, "/projects/rain", more)
            logs.append(client.get("/projects/rain/log.csv").content)
    with serving(file) as client:
        told = ok(client.post("/projects/rain/log.csv", content=logs[1], headers=CSV))
        assert (told["count"], told["known"]) == (4, 10), "the answers of the copy have its question numbers, and count"
        answer_some(client, set_up(client, "other"), 2)
        whole = client.get("/projects/rain/log.csv").content
        lines = whole.splitlines(keepends=True)
        half = b"".join([lines[0], *lines[9:3:-1]])  # in any order
        counts = [
            ok(client.post(f"/projects/{name}/log.csv", content=log, headers=CSV))["count"]
            for name, log in (("other", half), ("other", whole), ("other", half), ("rain", logs[0]))
        ]
        assert counts == [6, 11, 0, 0]
        back = client.get("/projects/other/log.csv").content
        assert ok(client.post("/projects/rain/log.csv", content=back, headers=CSV))["count"] == 2
        there = client.get("/projects/rain/log.csv").content
        assert ok(client.post("/projects/other/log.csv", content=there, headers=CSV))["count"] == 0
        assert [learned(client, f"/projects/{name}")["answers"] for name in ("rain", "other")] == [19, 19]


ONE = "mild,calm,0.5,True,{},1,0\n"
HEADER = "level,prediction,propensity,higher,{}size,colour=blue,colour=red\n"


def test_a_log_without_ids_counts_once_and_its_equal_rows_each(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        log = HEADER.format("") + ONE.format(1) * 3
        counts = [
            ok(client.post("/projects/rain/log.csv", content=text.encode(), headers=CSV))["count"]
            for text in (log, log, log + ONE.format(2), HEADER.format("") + ONE.format(2) + ONE.format(1))
        ]
        assert counts == [3, 0, 1, 2], "another file may look alike, and is another one"
        ids = [row.split(",")[-4] for row in client.get("/projects/rain/log.csv").text.splitlines()[1:]]
        assert len(set(ids)) == 6


@pytest.mark.parametrize(("suffix", "headers"), [("csv", CSV), ("parquet", BINARY)])
def test_a_projects_own_log_counts_once_without_its_ids_too(file: Path, suffix: str, headers: dict[str, str]) -> None:
    def imported(frame: pd.DataFrame) -> tuple[int, int]:
        out = io.BytesIO()
        getattr(frame, f"to_{suffix}")(out, index=False)
        told = ok(client.post(f"{rain}/log.{suffix}", content=out.getvalue(), headers=headers))
        return told["count"], told["known"]

    with serving(file) as client:
        rain = set_up(client, learner="NewtonLogit")
        numbers = [question["number"] for question in answer_some(client, rain, 12)]
        other = question_for(client, rain, json={"features": {"size": 1.0, "colour": "red", "note": ""}})["number"]
        ok(client.post(f"{rain}/questions/{other}/answer", json={"higher": True}))
        whole = getattr(pd, f"read_{suffix}")(io.BytesIO(client.get(f"{rain}/log.{suffix}").content))
        ok(client.post(f"{rain}/questions/{numbers[3]}/retract"))
        frame = whole.drop(columns="id")
        assert imported(frame) == imported(frame) == (0, 13), "also the one that was taken back since"
        assert imported(frame.assign(id=[None, "mine", *whole.id[2:]])) == (1, 12), "an id of its own is another answer"
        assert imported(frame.assign(higher=~frame.higher)) == (13, 0)
        assert learned(client, rain)["answers"] == 26


@pytest.mark.parametrize(("suffix", "headers"), [("csv", CSV), ("parquet", BINARY)])
@pytest.mark.parametrize("has_items", [True, False])
def test_answers_count_once_also_by_way_of_a_project_that_got_them_without_ids(
    file: Path, suffix: str, headers: dict[str, str], has_items: bool
) -> None:
    """There and back, whole and in parts, with ratings, and with answers that say the same."""

    def exported(name: str) -> pd.DataFrame:
        read = getattr(pd, f"read_{suffix}")
        frame: pd.DataFrame = read(io.BytesIO(client.get(f"/projects/{name}/log.{suffix}").content))
        return frame

    def imported(name: str, frame: pd.DataFrame) -> tuple[int, int]:
        out = io.BytesIO()
        getattr(frame, f"to_{suffix}")(out, index=False)
        told = ok(client.post(f"/projects/{name}/log.{suffix}", content=out.getvalue(), headers=headers))
        return told["count"], told["known"]

    with serving(file) as client:
        a = set_up(client, "a", learner="NewtonLogit")
        answer_some(client, a, 6)
        number = question_for(client, a)["number"]
        ok(client.post(f"{a}/questions/{number}/answer", json={"rating": "mild"}))
        number = question_for(client, a)["number"]
        ok(client.post(f"{a}/questions/{number}/answer", json={"higher": True, "confidence": 0.75}))
        ok(client.post(f"{a}/ratings", json={"ratings": [{"item": 9, "level": "calm"}, {"item": 8, "level": "mild"}]}))
        if not has_items:  # answers about features
            frame = exported("a").assign(item=pd.array([None] * 10, "Int64"), id=[f"mine-{n}" for n in range(10)])
            a = set_up(client, "bare", learner="NewtonLogit")
            assert imported("bare", frame) == (10, 0)
        own = a.rpartition("/")[2]
        log = exported(own)
        equal = log.iloc[[0, 0]].assign(id=["one", "two"])
        assert imported(own, equal) == (2, 0)
        log = exported(own)
        set_up(client, "d", learner="NewtonLogit")
        assert imported("d", log.drop(columns="id").iloc[:-1]) == (11, 0)
        assert imported("d", log.drop(columns="id")) == (1, 11), "of answers that say the same, each counts"
        back = exported("d")
        assert imported(own, back) == imported(own, back.drop(columns="id")) == (0, 12)
        assert imported("d", log) == imported("d", log.iloc[::-1]) == (0, 12)
        for part in (log.iloc[:7], log.iloc[7:]):
            assert imported("d", part) == (0, len(part))
        assert imported("d", log.iloc[:1].assign(id="other")) == (0, 1), "d knows no id of its own for it"
        assert imported(own, log.iloc[:1].assign(id="other")) == (1, 0)
        assert learned(client, a)["answers"] == 13
        assert learned(client, "/projects/d")["answers"] == 12


def test_answers_under_ids_of_their_own_are_all_kept_in_whatever_parts_they_come(file: Path) -> None:
    """Imported without people and times, they say the same, and were given at the same moment."""
    with serving(file) as client:
        for name in ("one", "two"):
            set_up(client, name)
        log = HEADER.format("") + ONE.format(1) * 6
        assert ok(client.post("/projects/one/log.csv", content=log.encode(), headers=CSV))["count"] == 6
        lines = client.get("/projects/one/log.csv").content.splitlines(keepends=True)
        for part, count in ((lines[1:3], 2), (lines[3:], 4), (lines[1:], 0)):
            content = b"".join([lines[0], *part])
            assert ok(client.post("/projects/two/log.csv", content=content, headers=CSV))["count"] == count


def test_an_id_that_stands_for_two_answers_is_refused(file: Path) -> None:
    with serving(file) as client:
        set_up(client)
        logs = [HEADER.format("id,") + f"mild,calm,0.5,{higher},7,1,1,0\n" for higher in (True, True, False)]
        first, again, other = (client.post("/projects/rain/log.csv", content=log.encode(), headers=CSV) for log in logs)
        assert (ok(first)["count"], ok(again)["count"]) == (1, 0)
        assert problem(other) == (422, "bad-log")
        assert "row 1 of the log: the project has another answer with the id '7'" in other.json()["sentence"]


@pytest.mark.parametrize("where", ["rain", "copy"])
def test_an_answer_that_says_something_else_under_its_id_is_refused(file: Path, where: str) -> None:
    """In the project where it was given, and in one that imported it."""
    with serving(file) as client:
        rain = set_up(client, learner="NewtonLogit")
        answer_some(client, rain, 4)
        sure, rated = question_for(client, rain), question_for(client, rain)
        given, another = ("mild", "severe") if rated["level"] == "calm" else ("calm", rated["level"])
        ok(client.post(f"{rain}/questions/{sure['number']}/answer", json={"higher": True, "confidence": 0.75}))
        ok(client.post(f"{rain}/questions/{rated['number']}/answer", json={"rating": given}))
        set_up(client, "copy", learner="NewtonLogit")
        log = pd.read_csv(io.BytesIO(client.get(f"{rain}/log.csv").content))

        def imported(frame: pd.DataFrame) -> Any:
            content = frame.to_csv(index=False).encode()
            return client.post(f"/projects/{where}/log.csv", content=content, headers=CSV)

        ok(imported(log))
        for column, row, value in [
            ("item", 0, 29),
            ("item", 1, 10**6),
            ("person", 2, "zed"),
            ("confidence", 4, 0.875),
            ("rating", 5, another),
            ("higher", 3, not log.higher[3]),
        ]:
            other = log.copy()
            changed: Any = [value if number == row else one for number, one in enumerate(log[column])]
            other[column] = changed
            answer = imported(other)
            assert problem(answer) == (422, "bad-log"), column
            assert f"row {row + 1} of the log: the project has another" in answer.json()["sentence"]
        for lacking in (["confidence"], ["rating"], ["item", "person", "time", "confidence", "rating"]):
            assert ok(imported(log.drop(columns=lacking)))["count"] == 0
        assert learned(client, f"/projects/{where}")["answers"] == 6


def test_what_an_import_filled_in_is_no_difference(file: Path) -> None:
    """Without items, people and times an answer keeps its id, and gets who imported it and when."""
    bare = ["item", "person", "time"]
    with serving(file) as client:
        rain = set_up(client)
        answer_some(client, rain, 5)
        log = pd.read_csv(io.BytesIO(client.get(f"{rain}/log.csv").content)).assign(person="ann")
        counts = list[int]()
        for name in ("a", "b"):
            set_up(client, name)
        for name, frame in [("a", log), ("b", log.drop(columns=bare)), ("b", log), ("a", None), ("b", None)]:
            if frame is None:
                content = client.get(f"/projects/{'b' if name == 'a' else 'a'}/log.csv").content
            else:
                content = frame.to_csv(index=False).encode()
            counts.append(ok(client.post(f"/projects/{name}/log.csv", content=content, headers=CSV))["count"])
        assert counts == [5, 5, 0, 0, 0]


def test_a_file_that_two_servers_import_at_once_is_added_once(file: Path) -> None:
    log = (HEADER.format("id,") + "".join(f"mild,calm,0.5,True,{n},1,1,0\n" for n in range(200))).encode()
    with serving(file) as first, serving(file) as second:
        set_up(first)
        counts = list[int]()

        def add(client: Any) -> None:
            counts.append(ok(client.post("/projects/rain/log.csv", content=log, headers=CSV))["count"])

        threads = [threading.Thread(target=add, args=[client]) for client in (first, second, first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(counts) == [0, 0, 0, 200]
        assert learned(first, "/projects/rain")["answers"] == 200


def test_names_that_a_file_would_have_twice_are_kept_apart(file: Path) -> None:
    """A column may have the name of a log's own, and a level may be called NA."""
    columns = [{"name": name, "kind": "number"} for name in ("propensity", "level", "item", "propensity'")]
    rows = [{"propensity": i, "level": i % 3, "item": -i, "propensity'": 0.5} for i in range(20)]
    body = {"levels": ["NA", "null"], "columns": columns, "learner": "DFORD", "seed": 1}
    with serving(file) as client:
        for name in ("one", "two"):
            ok(client.post("/projects", json={"name": name, **body}))
        ok(client.post("/projects/one/items", json={"items": rows}))
        for i in range(8):
            number = ok(client.post("/projects/one/questions"))["number"]
            ok(client.post(f"/projects/one/questions/{number}/answer", json={"higher": i % 2 == 0}))
        state = learned(client, "/projects/one")
        log = client.get("/projects/one/log.csv").content
        assert ok(client.post("/projects/two/log.csv", content=log, headers=CSV))["count"] == 8
        assert learned(client, "/projects/two")["digest"] == state["digest"]
        header = client.get("/projects/one/levels.csv").text.splitlines()[0].split(",")
        assert len(set(header)) == len(header)
        assert header[:4] == ["item", "propensity", "level'", "item'"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("exchange") / "log.db", items_per_call=1000) as client:
        project = set_up(client)
        answer_some(client, project, 20)
        client.log = client.get(f"{project}/log.parquet").content
        yield client


def counted(client: Any) -> int:
    return int(ok(client.get("/projects/rain/state"))["answers"])


@settings(max_examples=100)
@given(content=st.binary(max_size=200), place=st.integers(0, 2**20), how=st.integers(0, 3))
def test_bad_bytes_get_the_usual_error_and_change_nothing(server: Any, content: bytes, place: int, how: int) -> None:
    good: bytes = server.log
    place %= len(good)
    bad = [
        content,
        b"PAR1" + content + b"PAR1",
        good[:place] + content + good[place + len(content) :],
        good[:place],
    ][how]
    before = counted(server)
    response = server.post("/projects/rain/log.parquet", content=bad, headers=BINARY)
    if response.status_code != 201:  # a changed byte may still make a log
        assert problem(response)[0] == 422
        assert counted(server) == before


def frame(**change: Any) -> pd.DataFrame:
    rows = 5
    plain = {
        "level": ["mild"] * rows,
        "prediction": ["calm"] * rows,
        "propensity": [0.5] * rows,
        "higher": [True] * rows,
        "size": [1.0] * rows,
        "colour=blue": [0] * rows,
        "colour=red": [1.0] * rows,
    }
    return pd.DataFrame({name: column for name, column in (plain | change).items() if column is not None})


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ({"size": None}, "the file has no column 'size'"),
        ({"level": [1, 2, 3, 1, 2]}, "'level' has the type int64"),
        ({"level": ["mild"] * 4 + ["wild"]}, "'wild' is not a level"),
        ({"level": ["mild"] * 4 + [None]}, "is not a level"),
        ({"higher": [1, 0, 1, 0, 1]}, "'higher' has the type int64"),
        ({"higher": [True] * 4 + [None]}, "higher must be True or False"),
        ({"propensity": [0.5] * 4 + [0.0]}, "a propensity must be a probability greater than 0"),
        ({"propensity": [0.5] * 4 + [None]}, "a propensity must be a probability greater than 0"),
        ({"size": [1.0] * 4 + [None]}, "numbers that are missing, infinite"),
        ({"size": [np.inf] * 5}, "numbers that are missing, infinite"),
        ({"size": ["1"] * 5}, "'size' has the type"),
        ({"size": [[1.0]] * 5}, "'size' has the type"),
    ],
)
def test_a_parquet_log_is_checked_like_a_csv_log(server: Any, change: dict[str, Any], about: str) -> None:
    before = counted(server)
    for made, status in ((frame(**change), 422), (frame(), 201)):
        content = io.BytesIO()
        made.to_parquet(content)
        response = server.post("/projects/rain/log.parquet", content=content.getvalue(), headers=BINARY)
        assert response.status_code == status, response.text
        if status == 422:
            assert problem(response) == (422, "bad-log")
            assert about in response.json()["sentence"]
            assert counted(server) == before


@pytest.mark.parametrize(
    ("content", "code", "about"),
    [
        (b"", "bad-log", "the file is empty; a log begins with the names of its columns"),
        (b"\x89PNG\r\n\x1a\n\xff", "not-text", "the file is not UTF-8 text; save it as UTF-8"),
        (b"abc\n", "bad-log", "the file has no column 'level'"),
        (b"level,prediction,propensity,higher,size,colour=blue,colour=red\n", "bad-log", "but no answers"),
        (
            b"level,prediction,propensity,higher,size,colour=blue,colour=red\nmild,calm,1.5,True,1,0,1\n",
            "bad-log",
            "row 1 of the log: a propensity must be a probability greater than 0 and at most 1; got 1.5",
        ),
    ],
)
def test_a_file_that_is_no_log_gets_a_sentence_about_it(server: Any, content: bytes, code: str, about: str) -> None:
    response = server.post("/projects/rain/log.csv", content=content, headers=CSV)
    assert problem(response) == (422, code)
    assert about in response.json()["sentence"]


def test_a_parquet_log_with_texts_that_are_not_utf8_is_refused(file: Path) -> None:
    with serving(file) as client:
        ok(client.post("/projects", json={"name": "texts", "levels": LEVELS}))
        ok(client.post("/projects/texts/items", json={"items": [{"note": f"it is the note {n}"} for n in range(9)]}))
        number = question_for(client, "/projects/texts")["number"]
        ok(client.post(f"/projects/texts/questions/{number}/answer", json={"higher": True}))
        log = parquet.read_table(io.BytesIO(client.get("/projects/texts/log.parquet").content))
        odd = pa.array([b"\xff"], pa.binary()).view(pa.string())
        broken = io.BytesIO()
        parquet.write_table(log.set_column(len(log.schema) - 1, log.schema.names[-1], odd), broken)
        response = client.post("/projects/texts/log.parquet", content=broken.getvalue(), headers=BINARY)
        assert problem(response) == (422, "bad-log")
        assert "cannot be read" in response.json()["sentence"]


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of projects without answers, and one without columns."""
    path = tmp_path_factory.mktemp("unanswered") / "log.db"
    with serving(path) as client:
        set_up(client)
        ok(client.post("/projects", json={"name": "bare", "levels": LEVELS}))
    kept = Database(str(path))
    kept.backup(path.with_name("copy.db"))
    kept.close()
    return path.with_name("copy.db")


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["export", "snow", "log.csv"], "there is no project 'snow'"),
        (["export", "rain", "log.txt"], ".csv or .parquet"),
        (["export", "rain", "levels.parquet", "--what", "levels"], "ends in .csv"),
        (["export", "rain", "log.csv", "--what", "all"], "--what"),
        (["export", "rain", "log.csv"], "no answers"),
        (["export", "rain", "nowhere/levels.csv", "--what", "levels"], "nowhere"),
        (["export", "bare", "levels.csv", "--what", "levels"], "no columns yet"),
        (["import", "snow", "good.csv"], "there is no project 'snow'"),
        (["import", "rain", "nowhere.csv"], "no log nowhere.csv"),
        (["import", "rain", "FILE.db"], ".csv or .parquet"),
        (["import", "rain", "bad.csv"], "bad.csv: the file has no column"),
        (["import", "rain", "bad.parquet"], "not Parquet"),
        (["backup", "FILE.db"], "already exists"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str],
    about: str,
    unanswered: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(unanswered, "FILE.db")
    for name in ("good.csv", "bad.csv", "bad.parquet"):
        Path(name).write_text("level,higher\nmild,True\n")
    before = {path.name for path in tmp_path.iterdir()}
    assert main([*arguments, "--database", "FILE.db"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert about in output.err
    # SQLite's own files are there as long as the database is open
    assert {path.name for path in tmp_path.iterdir()} - {"FILE.db-shm", "FILE.db-wal"} == before


def test_a_backup_while_people_answer_is_served_and_verified(file: Path, tmp_path: Path) -> None:
    """Each copy is from one moment: it has the answers of the log up to there, and the state that they give."""
    stop = threading.Event()
    with serving(file, snapshot_every=5) as client:
        project = set_up(client)

        def work(person: int) -> None:
            chance = random.Random(person)
            while not stop.is_set():
                number = question_for(client, project)["number"]
                higher = {"higher": chance.random() < 0.5}
                ok(client.post(f"{project}/questions/{number}/answer", json=higher))

        people = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for person in people:
            person.start()
        try:
            for n in range(5):
                head = counted(client)
                while counted(client) < head + 10:
                    pass
                assert run("backup", tmp_path / f"copy{n}.db", "--database", file) == 0
        finally:
            stop.set()
            for person in people:
                person.join()
        whole = told(client.service.database)
    for n in range(5):
        copy = tmp_path / f"copy{n}.db"
        assert run("verify", "--database", copy) == 0
        kept = Database(str(copy))
        head = log_reader.head_of(kept, 1)
        assert told(kept) == whole[:head]
        kept.close()
        with serving(copy) as client:
            state = learned(client, project)
            assert state["answers"] == head
            answer_some(client, project, 1)
        assert head >= 10 * (n + 1)
