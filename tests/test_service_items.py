"""The service's items, projects and files: what comes in is checked, and what goes out is what was learned."""

import json
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dford import DFORD
from dford.columns import SPELLED_ALIKE
from dford.service.projects import asking
from serving import LEVELS, ROWS, above, answer_some, learned, ok, problem, requests, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_missing_numbers_are_the_mean_and_unknown_categories_are_none(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        answer_some(client, project, 30)
        learned(client, project)
        rows: list[dict[str, Any]] = [
            {"colour": "red"},
            {"size": None, "colour": "red"},
            {"size": "", "colour": "red"},
            {"size": 3.0, "colour": "red"},
            {"size": 3.0, "colour": "green"},
            {"size": 3.0},
        ]
        scores = [p["score"] for p in ok(client.post(f"{project}/predictions", json={"rows": rows}))["predictions"]]
        assert len(set(scores[:4])) == 1
        assert scores[4] == scores[5] != scores[3]


def test_the_reply_says_what_is_missing_for_the_first_time(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        added = ok(client.post(f"{project}/items", json={"items": [{"size": None, "colour": "red"}, {"size": 2.0}]}))
        assert [sentence for sentence in added["columns"] if "is missing in" in sentence] == [
            f"{name} is missing in 1 of 2 rows, but was in none when the columns were fitted; {instead} used instead"
            for name, instead in (("size", "its mean, 3, is"), ("colour", "zeros are"))
        ]


def test_a_csv_file_is_previewed_then_stored_as_previewed(file: Path) -> None:
    text = 'size,kind,note\n1.5,a,"one, with a comma"\n,b,two\n2.5,a,three\n4,b,four\n'
    csv = {"content": text, "headers": {"Content-Type": "text/csv"}}
    with serving(file) as client:
        ok(client.post("/projects", json={"name": "sheet", "levels": LEVELS}))
        preview = ok(client.post("/projects/sheet/preview.csv", **csv))
        assert [column["kind"] for column in preview["columns"]] == ["number", "category", "text"]
        assert preview["columns"][0]["mean"] == pytest.approx(8 / 3)
        assert preview["rows"][0]["note"] == "one, with a comma"
        assert ok(client.get("/projects/sheet"))["columns"] is None
        assert ok(client.post("/projects/sheet/items.csv", **csv)) == {
            "first": 1,
            "count": 4,
            "columns": [
                "size: a number; missing values are learned from, too",
                "kind: one of 2 categories",
                "note: text, learned from through its words and their parts",
            ],
        }
        assert ok(client.get("/projects/sheet"))["columns"] == preview["columns"]
        assert ok(client.get("/projects/sheet/items", params={"after": 1}))[0]["shown"]["note"] == "two"
        changed = {"columns": [{"name": "size", "kind": "number"}]}
        assert problem(client.put("/projects/sheet/columns", json=changed)) == (409, "columns-set")
        with closing(sqlite3.connect(file)) as database, database:  # as earlier versions stored them
            database.execute("update columns set columns = replace(columns, ?, '')", [SPELLED_ALIKE])
        ok(client.put("/projects/sheet/columns", json={"columns": preview["columns"]}))
        for path in ("preview.csv", "items.csv"):
            other = client.post(f"/projects/sheet/{path}", **{**csv, "content": "size,weight\n1,2\n"})
            assert problem(other) == (422, "unknown-column")


def test_many_categories_are_read_the_same_whether_they_are_previewed_or_stored(file: Path) -> None:
    rows = [{"size": n % 7, "zip": f"{n % 30:05}"} for n in range(60)]
    with serving(file) as client:
        ok(client.post("/projects", json={"name": "sheet", "levels": LEVELS}))
        ok(client.post("/projects/sheet/items", json={"items": rows}))
        columns = ok(client.get("/projects/sheet"))["columns"]
        assert columns[1]["categories"] == []
        assert ok(client.put("/projects/sheet/columns", json={"columns": columns}))["columns"] == columns


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a,b\n", "not-csv"),
        ("a,b\n1\n", "not-csv"),
        ("a,a\n1,2\n", "not-csv"),
        (b"a\n\xff\n", "not-text"),
        ("id\n" + "\n".join(map(str, range(20))) + "\n", "bad-columns"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_stored(file: Path, text: Any, code: str) -> None:
    with serving(file) as client:
        ok(client.post("/projects", json={"name": "sheet", "levels": LEVELS}))
        headers = {"Content-Type": "text/csv"}
        assert problem(client.post("/projects/sheet/items.csv", content=text, headers=headers)) == (422, code)
        assert ok(client.get("/projects/sheet/state"))["items"] == 0
        assert ok(client.get("/projects/sheet"))["columns"] is None


def test_one_bad_item_stores_none_of_them(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        response = client.post(f"{project}/items", json={"items": [ROWS[0], {"size": "many"}]})
        assert problem(response) == (422, "not-a-number")
        assert response.json()["field"] == "items.1.size"
        assert response.json()["sentence"] == "column 'size' takes a number; got 'many'"
        assert ok(client.get(f"{project}/state"))["items"] == 30


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"levels": ["one"]}, "levels"),
        ({"levels": ["one", "one"]}, "levels"),
        ({"name": "Rain!"}, "name"),
        ({"learner": "PRank"}, "learner"),
        ({"parameters": {"kernel": "sigmoid"}}, "parameters"),
        ({"parameters": {"random_state": 3}}, "parameters"),
        ({"parameters": {"window": 10**9}}, "parameters"),
        ({"parameters": {"policy": {"policy": "Guess"}}}, "parameters"),
        ({"parameters": {"policy": {"policy": "Nearby", "exploration": 2}}}, "parameters"),
        ({"columns": [{"name": "note", "kind": "shown"}]}, "columns"),
        ({"columns": [{"name": "note", "kind": "text"}], "learner": "DirectionalBoosting"}, "columns"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_invalid_project_is_refused(file: Path, change: dict[str, Any], field: str) -> None:
    with serving(file) as client:
        response = client.post("/projects", json={"name": "rain", "levels": LEVELS, "learner": "DFORD", **change})
        assert problem(response)[0] == 422
        assert response.json()["field"] == field
        assert ok(client.get("/projects")) == []


@pytest.mark.parametrize(
    "described",
    [
        {"kind": "shown", "missing": True},
        {"kind": "shown", "size": 3},
        {"kind": "text", "missing": True},
        {"kind": "text", "size": 3},
        {"kind": "category", "other": True},
        {"kind": "words", "missing": True},
        {"kind": "date", "mean": 4_000_000},
    ],
)
def test_a_column_that_no_item_could_be_read_by_is_refused(file: Path, described: dict[str, Any]) -> None:
    columns = [{"name": "size", "kind": "number"}, {"name": "odd", **described}]
    with serving(file) as client:
        response = client.post("/projects", json={"name": "rain", "levels": LEVELS, "columns": columns})
        assert problem(response) == (422, "bad-columns")
        assert response.json()["sentence"].startswith("column 'odd' of kind")
        ok(client.post("/projects", json={"name": "rain", "levels": LEVELS}))
        assert problem(client.put("/projects/rain/columns", json={"columns": columns})) == (422, "bad-columns")


def test_the_policy_is_what_the_project_says(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client, parameters={"policy": {"policy": "Uniform"}})
        assert {question["propensity"] for question in answer_some(client, project, 5)} == {1 / 3}


def test_the_exported_levels_are_the_predictions_and_what_the_answers_leave(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client, learner="NewtonLogit", choice="turns")
        asked = answer_some(client, project, 30)
        learned(client, project)
        predicted = ok(client.post(f"{project}/predictions", json={"items": list(range(1, 31))}))["predictions"]
        lines = client.get(f"{project}/levels.csv").text.splitlines()
    names = lines[0].split(",")
    assert names == [
        "item",
        "size",
        "colour",
        "note",
        "level",
        *(f"P({level})" for level in LEVELS),
        "lowest",
        "highest",
        "answers",
        "settled_by",
    ]
    for line, one, question in zip(lines[1:], predicted, asked, strict=True):
        row = dict(zip(names, line.split(","), strict=True))
        assert row["level"] == one["level"]
        assert [float(row[f"P({level})"]) for level in LEVELS] == list(one["probabilities"].values())
        place = LEVELS.index(question["level"])
        told = LEVELS[place + 1 :] if above(question) else LEVELS[: place + 1]
        assert [row["lowest"], row["highest"], row["answers"]] == [told[0], told[-1], "1"]


def test_the_log_comes_back_from_parquet_and_csv_the_same(file: Path, tmp_path: Path) -> None:
    from dford import FeedbackLog

    with serving(file) as client:
        project = set_up(client)
        answer_some(client, project, 12)
        for suffix in ("csv", "parquet"):
            (tmp_path / f"log.{suffix}").write_bytes(client.get(f"{project}/log.{suffix}").content)
        state = learned(client, project)
    logs = [FeedbackLog.read(tmp_path / f"log.{suffix}", LEVELS) for suffix in ("csv", "parquet")]
    assert (logs[0].X == logs[1].X).all()
    assert logs[0].level.tolist() == logs[1].level.tolist()
    model = DFORD(levels=LEVELS, random_state=5)
    for n, (x, level, prediction, propensity, higher) in enumerate(logs[1]):
        asked = model.question(x, n)._replace(level=level, prediction=prediction, propensity=propensity)
        model.learn(asked, higher)
    assert model.thresholds_.tolist() == state["thresholds"]


def test_metrics_count_what_happened(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        answer_some(client, project, 3)
        learned(client, project)
        path = "/projects/{project}/questions/{number}/answer"
        assert requests(client, "POST", path, 200) == 3
        text = client.get("/metrics").text
    assert f'dford_request_seconds_bucket{{le="+Inf",method="POST",path="{path}"}} 3.0\n' in text
    seconds = re.search(rf'dford_request_seconds_sum{{method="POST",path="{re.escape(path)}"}} (\S+)', text)
    assert seconds
    assert 0 < float(seconds[1]) < 30
    assert 'dford_learned_sequence{project="rain"} 3.0\n' in text
    assert "dford_commits_total 8.0\n" in text  # the project, its items, three questions, three answers


def test_each_application_counts_only_its_own(file: Path, tmp_path: Path) -> None:
    with serving(file) as client, serving(tmp_path / "other.db") as other:
        assert client.get("/health").status_code == 200
        assert requests(client, "GET", "/health", 200) == 1
        assert requests(other, "GET", "/health", 200) == 0


def test_hostile_text_is_only_text(file: Path) -> None:
    text = '<script>alert("\u202eabc\u202c 🙂")</script>' + "x" * 100_000 + "\x00"
    with serving(file) as client:
        project = set_up(client)
        ok(client.post(f"{project}/items", json={"items": [{"note": text}]}))
        response = client.get(f"{project}/items", params={"after": 30})
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert json.loads(response.text)[0]["shown"]["note"] == text


def test_many_open_questions_do_not_hold_up_the_next_one(file: Path) -> None:
    """SQLite counts its steps: ten times as many open questions take at most a little more than ten times."""
    project, now = 1, time.time()

    def steps_with(opened: int) -> int:
        with sqlite3.connect(file) as connection:
            connection.execute("DELETE FROM leases")
            leased = [(project, n, n, now + 300) for n in range(1, opened + 1)]
            connection.executemany("INSERT INTO leases (project, question, item, expires) VALUES (?, ?, ?, ?)", leased)
        count = [0]
        with database.reading() as reading:
            raw: Any = reading.connection.driver_connection
            raw.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 100)
            free = reading.scalars(asking._FREE, {"project": project, "now": now, "most": 8}).all()
            raw.set_progress_handler(None, 0)
        assert free == list(range(opened + 1, opened + 9))
        return count[0]

    with serving(file) as client:
        set_up(client)
        ok(client.post("/projects/rain/items", json={"items": ROWS * 40}))
        database = client.service.database
        few, many = steps_with(100), steps_with(1000)
        assert many < 15 * few + 10


def test_few_items_with_long_texts_are_shown_by_another_process(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file) as client:
        project, workers = set_up(client), client.service.workers
        sent, run = list[str](), workers.run

        def spied(number: int, function: Any, address: str, view: Any, *given: Any) -> Any:
            sent.append(view.__name__)
            return run(number, function, address, view, *given)

        monkeypatch.setattr(workers, "run", spied)
        learned(client, project)
        assert client.get(f"{project}/levels.csv").text.count("\n") == 31
        assert sent == []
        ok(client.post(f"{project}/items", json={"items": [{"note": "é" * 400_000}] * 3}))
        learned(client, project)
        assert client.get(f"{project}/levels.csv").text.count("é" * 400_000) == 3
        assert ok(client.get(f"{project}/levels"))["items"] == 33
        assert sent == ["levels_file", "overview"]


def test_a_list_of_items_ends_before_a_million_characters_but_not_before_its_first(file: Path) -> None:
    notes = ["a", "b" * 400_000, "c" * 400_000, "d" * 400_000, "e" * 1_500_000, "f" * 1_500_000, "g"]
    with serving(file) as client:
        project = set_up(client)
        ok(client.post(f"{project}/items", json={"items": [{"note": note} for note in notes]}))
        pages, after = list[list[str]](), 30
        while page := ok(client.get(f"{project}/items", params={"after": after, "limit": 1000})):
            pages.append([one["shown"]["note"][0] for one in page])
            after = page[-1]["number"]
        assert pages == [["a", "b", "c"], ["d"], ["e"], ["f"], ["g"]]
        assert len(ok(client.get(f"{project}/items?limit=1000"))) == 33
        assert len(ok(client.get(f"{project}/items?limit=2&after=30"))) == 2
