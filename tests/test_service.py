"""The service: every answer once, and a state that the log can make again."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dford import DFORD
from serving import LEVELS, ROWS, learned, ok, problem, replayed, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def above(question: dict[str, Any]) -> bool:
    return bool(question["shown"]["size"] / 2 > LEVELS.index(question["level"]))


def answer_some(client: Any, project: str, count: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(count):
        question = ok(client.post(f"{project}/questions"))
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": above(question)}))
        asked.append(question)
    return asked


def test_the_service_asks_and_learns_as_the_library_does_to_the_bit(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        asked = answer_some(client, project, 40)
        state = learned(client, project)
    model = DFORD(levels=LEVELS, random_state=5)
    for question in asked:
        shown = question["shown"]
        x = [shown["size"], shown["colour"] == "blue", shown["colour"] == "red"]
        mine = model.question(x, question["number"])
        assert (mine.level, mine.prediction, mine.propensity) == tuple(
            question[name] for name in ("level", "prediction", "propensity")
        )
        model.learn(mine, above(question))
    assert state["thresholds"] == model.thresholds_.tolist()
    assert state["mae"] == model.running_mae_._asdict()
    assert state["answers"] == state["curve"][-1]["answers"] == 40
    assert state["digest"] == replayed(file)


@pytest.mark.parametrize("learner", ["Auto", "DFORD", "DirectionalBoosting", "NewtonLogit", "PRIL"])
def test_every_live_learner_is_served_and_replayed(file: Path, learner: str) -> None:
    with serving(file, snapshot_every=7) as client:
        project = set_up(client, learner=learner)
        answer_some(client, project, 20)
        state = learned(client, project)
        assert (state["mae"] is None) == (learner == "PRIL")  # it never asks about some levels
        predicted = ok(client.post(f"{project}/predictions", json={"items": [1, 2], "rows": [ROWS[0]]}))["predictions"]
        assert predicted[0] == predicted[2]
        if learner in {"Auto", "DirectionalBoosting", "NewtonLogit"}:
            assert sum(predicted[0]["probabilities"].values()) == pytest.approx(1.0)
    assert state["digest"] == replayed(file)
    with serving(file) as client:  # from the snapshot
        assert learned(client, project)["digest"] == state["digest"]


def test_the_same_answer_again_gets_the_first_response_and_the_other_409(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        number = ok(client.post(f"{project}/questions"))["number"]
        answer = f"{project}/questions/{number}/answer"
        first = client.post(answer, json={"higher": True})
        again = client.post(answer, json={"higher": True})
        assert first.status_code == 200
        assert first.content == again.content
        assert problem(client.post(answer, json={"higher": False})) == (409, "answered-otherwise")
        assert learned(client, project)["answers"] == 1
    with serving(file) as client:
        assert client.post(answer, json={"higher": True}).content == first.content


def test_the_short_way_of_a_plain_answer_is_the_documented_one(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        numbers = [ok(client.post(f"{project}/questions"))["number"] for _ in range(3)]
        ok(client.post(f"{project}/questions/{numbers[1]}/skip"))
        for number in (*numbers, 99):
            for higher in ("true", "true", "false"):
                responses = [
                    client.post(
                        f"{project}/questions/{number}/answer",
                        content=text,
                        headers={"Content-Type": "application/json"},
                    )
                    for text in (f'{{"higher":{higher}}}', f'{{ "higher" : {higher} }}')  # the second is not plain
                ]
                assert responses[0].status_code == responses[1].status_code
                assert responses[0].content == responses[1].content
        assert learned(client, project)["answers"] == 2


def test_the_same_idempotency_key_gets_the_same_question(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        ask = {"url": f"{project}/questions", "headers": {"Idempotency-Key": "one"}}
        first = ok(client.post(**ask))
        assert ok(client.post(**ask)) == first
        assert ok(client.post(f"{project}/questions"))["item"] != first["item"]
        assert problem(client.post(**ask, json={"features": ROWS[3]})) == (409, "key-reused")
        assert ok(client.get(f"{project}/state"))["questions"] == 2


def test_two_people_never_have_the_same_item_before_them(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        given: list[int] = []

        def ask() -> None:
            for _ in range(3):
                given.append(ok(client.post(f"{project}/questions"))["item"])

        people = [threading.Thread(target=ask) for _ in range(10)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        assert sorted(given) == list(range(1, 31))
        assert problem(client.post(f"{project}/questions")) == (404, "nothing-to-ask")


def test_a_lease_expires_and_a_late_answer_still_counts(file: Path) -> None:
    with serving(file, lease_seconds=0.05) as client:
        project = set_up(client)
        late = ok(client.post(f"{project}/questions"))
        time.sleep(0.06)
        again = ok(client.post(f"{project}/questions"))
        assert again["item"] == late["item"]
        for question in (late, again):
            ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        assert learned(client, project)["answers"] == 2
    assert replayed(file)


def test_an_item_is_asked_again_only_when_all_others_were(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        items = [question["item"] for question in answer_some(client, project, 60)]
        assert items == [*range(1, 31), *range(1, 31)]


def test_a_skipped_question_takes_no_answer_and_its_item_waits(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        question = ok(client.post(f"{project}/questions"))
        address = f"{project}/questions/{question['number']}"
        assert ok(client.post(f"{address}/skip")) == ok(client.post(f"{address}/skip"))
        assert problem(client.post(f"{address}/answer", json={"higher": True})) == (409, "skipped")
        assert ok(client.get(address))["fate"] == "skipped"
        assert ok(client.post(f"{project}/questions"))["item"] != question["item"]
        answered = answer_some(client, project, 1)[0]
        assert problem(client.post(f"{project}/questions/{answered['number']}/skip")) == (409, "answered")


@pytest.mark.parametrize("snapshot_every", [5, 1000])
def test_a_retracted_answer_was_never_learned(file: Path, tmp_path: Path, snapshot_every: int) -> None:
    with serving(file, snapshot_every=snapshot_every) as client:
        project = set_up(client)
        asked = answer_some(client, project, 20)
        before = learned(client, project)
        address = f"{project}/questions/{asked[12]['number']}"
        first = client.post(f"{address}/retract")
        assert first.content == client.post(f"{address}/retract").content
        after = learned(client, project)
        assert (after["answers"], after["retractions"]) == (19, 1)
        assert after["digest"] != before["digest"] == before["digest"]
        assert problem(client.post(f"{address}/answer", json={"higher": True})) == (409, "retracted")
        assert ok(client.post(f"{project}/questions"))["item"] == asked[12]["item"]
        log = client.get(f"{project}/log.csv").content
    assert after["digest"] == replayed(file)
    with serving(tmp_path / "other.db") as client:  # the same log without it, elsewhere
        set_up(client)
        assert ok(client.post(f"{project}/log.csv", content=log, headers={"Content-Type": "text/csv"}))["count"] == 19
        assert learned(client, project)["thresholds"] == after["thresholds"]


def test_features_sent_along_are_asked_about_and_learned(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        question = ok(client.post(f"{project}/questions", json={"features": {"size": 2.0, "colour": "red"}}))
        assert (question["item"], question["shown"]) == (None, {"size": 2.0, "colour": "red"})
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        assert learned(client, project)["answers"] == 1
        for features, code in [({"weight": 1}, "unknown-column"), ({"size": "large"}, "not-a-number")]:
            assert problem(client.post(f"{project}/questions", json={"features": features})) == (422, code)
    assert replayed(file)


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
        assert ok(client.post("/projects/sheet/items.csv", **csv)) == {"first": 1, "count": 4}
        assert ok(client.get("/projects/sheet"))["columns"] == preview["columns"]
        assert ok(client.get("/projects/sheet/items", params={"after": 1}))[0]["shown"]["note"] == "two"
        changed = {"columns": [{"name": "size", "kind": "number"}]}
        assert problem(client.put("/projects/sheet/columns", json=changed)) == (409, "columns-set")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a,b\n", "not-csv"),
        ("a,b\n1\n", "not-csv"),
        ("a,a\n1,2\n", "not-csv"),
        (b"a\n\xff\n", "not-text"),
        ("note\nx\ny\nz\n", "bad-columns"),
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
        assert ok(client.get(f"{project}/state"))["items"] == 30


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"levels": ["one"]}, "levels"),
        ({"levels": ["one", "one"]}, "parameters"),
        ({"name": "Rain!"}, "name"),
        ({"learner": "PRank"}, "learner"),
        ({"parameters": {"kernel": "sigmoid"}}, "parameters"),
        ({"parameters": {"random_state": 3}}, "parameters"),
        ({"parameters": {"window": 10**9}}, "parameters"),
        ({"parameters": {"policy": {"policy": "Guess"}}}, "parameters"),
        ({"parameters": {"policy": {"policy": "Nearby", "exploration": 2}}}, "parameters"),
        ({"columns": [{"name": "note", "kind": "text"}]}, "columns"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_project_that_cannot_be_is_refused(file: Path, change: dict[str, Any], field: str) -> None:
    with serving(file) as client:
        response = client.post("/projects", json={"name": "rain", "levels": LEVELS, "learner": "DFORD", **change})
        assert problem(response)[0] == 422
        assert response.json()["field"] == field
        assert ok(client.get("/projects")) == []


def test_a_policy_is_what_the_project_says(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client, parameters={"policy": {"policy": "Uniform"}})
        assert {question["propensity"] for question in answer_some(client, project, 5)} == {1 / 3}


def test_the_exported_levels_are_the_predictions_and_what_the_answers_leave(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client, learner="NewtonLogit")
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
    ]
    for line, one, question in zip(lines[1:], predicted, asked, strict=True):
        row = dict(zip(names, line.split(","), strict=True))
        assert row["level"] == one["level"]
        assert [float(row[f"P({level})"]) for level in LEVELS] == list(one["probabilities"].values())
        place = LEVELS.index(question["level"])
        told = LEVELS[place + 1 :] if above(question) else LEVELS[: place + 1]
        assert [row["lowest"], row["highest"]] == [told[0], told[-1]]


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
        asked = model.question(x, n)._replace(
            level=LEVELS[level - 1], prediction=LEVELS[prediction - 1], propensity=propensity
        )
        model.learn(asked, higher)
    assert model.thresholds_.tolist() == state["thresholds"]


def test_metrics_count_what_happened(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        answer_some(client, project, 3)
        learned(client, project)
        text = client.get("/metrics").text
    path = "/projects/{project}/questions/{number}/answer"
    assert f'dford_requests_total{{method="POST",path="{path}",status="200"}} 3\n' in text
    assert 'dford_learned_sequence{project="rain"} 3\n' in text
    assert "dford_commits_total 8\n" in text  # the project, its items, three questions, three answers


def test_hostile_text_is_only_text(file: Path) -> None:
    text = '<script>alert("\u202eabc\u202c 🙂")</script>' + "x" * 100_000 + "\x00"
    with serving(file) as client:
        project = set_up(client)
        ok(client.post(f"{project}/items", json={"items": [{"note": text}]}))
        response = client.get(f"{project}/items", params={"after": 30})
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert json.loads(response.text)[0]["shown"]["note"] == text
