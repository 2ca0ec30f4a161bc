"""The items of a project are placed: their own answers count, and the next question is the one that tells most."""

import csv
import io
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from dford import NewtonLogit, Pool
from dford.service.learning import next_question
from dford.service.learning.fold import Fold
from dford.service.learning.learned import Learned
from dford.service.learning.verify import verify
from dford.service.projects.answering import SentAnswer, record
from dford.service.projects.asking import QuestionLimits, QuestionRequest, Subject, Wording, ask
from dford.service.store import schema
from serving import LEVELS, learned, ok, problem, question_for, replayed, serving
from test_program import wait_until

COLUMNS = [{"name": "size", "kind": "number", "mean": 0.0}, {"name": "weight", "kind": "number", "mean": 0.0}]


def things(n: int, seed: int = 0) -> tuple[list[dict[str, float]], list[int]]:
    """Items, and the places of their right levels, from 0: a line nearly separates them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    right = np.searchsorted([-1.0, 0.0, 1.0], X[:, 0] + 0.4 * random.normal(size=n))
    return [{"size": float(a), "weight": float(b)} for a, b in X], right.tolist()


def new_project(client: Any, rows: list[dict[str, float]], learner: str = "NewtonLogit", **more: Any) -> str:
    body = {"name": "things", "levels": LEVELS, "columns": COLUMNS, "learner": learner, "seed": 5, **more}
    assert client.post("/projects", json=body).status_code == 201
    ok(client.post("/projects/things/items", json={"items": rows}))
    return "/projects/things"


def answer(client: Any, project: str, right: list[int], n: int, wrong: float = 0.0) -> list[dict[str, Any]]:
    random, asked = np.random.default_rng(0), []
    for _ in range(n):
        question = question_for(client, project)
        higher = (right[question["item"] - 1] > LEVELS.index(question["level"])) != (random.random() < wrong)
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": bool(higher)}))
        asked.append(question)
    return asked


def levels(client: Any, project: str) -> list[dict[str, str]]:
    response = client.get(f"{project}/levels.csv")
    assert response.status_code == 200, response.text
    return list(csv.DictReader(io.StringIO(response.text)))


def off(rows: list[dict[str, str]], right: list[int]) -> float:
    return float(np.mean([abs(LEVELS.index(row["level"]) - y) for row, y in zip(rows, right, strict=True)]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_answers_of_programs_are_counted_however_they_ask(file: Path) -> None:
    rows, _ = things(20)
    with serving(file) as client:
        project = new_project(client, rows)
        for n in range(8):
            question = question_for(client, project, json={"program": n < 6})
            ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        learned(client, project)
        assert ok(client.get(f"{project}/levels"))["programs"] == 0.75


def test_nothing_is_asked_again_because_its_answer_is_not_learned_yet(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, right = things(3)
    prepare, may_learn = Learned.prepare, threading.Event()

    def once_allowed(model: Learned, count: int) -> int:
        assert may_learn.wait(600)
        return prepare(model, count)

    with serving(file) as client:
        project = new_project(client, rows)
        learned(client, project)
        monkeypatch.setattr(Learned, "prepare", once_allowed)
        monkeypatch.setattr(next_question, "_LEARNING", 0.05)
        try:
            asked = answer(client, project, right, 3)
            refused = [client.post(f"{project}/questions", json=body) for body in ({}, {"item": 2})]
        finally:
            may_learn.set()
        assert sorted(question["item"] for question in asked) == [1, 2, 3]
        assert [problem(response) for response in refused] == [(503, "busy")] * 2
        learned(client, project)
        asked.append(question_for(client, project))
        assert len({(question["item"], question["level"]) for question in asked}) == 4


def test_an_answer_that_arrives_while_others_are_learned_is_learned_without_a_further_request(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = things(5)
    advance, late = Fold._advance, list[int]()

    def with_a_late_answer(fold: Fold) -> int:
        head = advance(fold)
        if late:  # after the head was read, and before it is known to have been reached
            question = late.pop()
            service.write(fold.project, lambda c: record(c, fold.project.id, [SentAnswer(question, True, "local")]))
            fold.follow(fold.head()[0])
        return head

    with serving(file) as client:
        service, project = client.service, new_project(client, rows)
        first, second = (question_for(client, project)["number"] for _ in range(2))
        learned(client, project)
        (fold,) = service.folds()
        monkeypatch.setattr(Fold, "_advance", with_a_late_answer)
        late.append(second)
        ok(client.post(f"{project}/questions/{first}/answer", json={"higher": True}))
        wait_until(lambda: not late and not fold._running)
        assert fold.sequence == 2


def test_an_item_answered_by_way_of_another_server_meanwhile_is_not_asked_about(file: Path) -> None:
    with serving(file) as client:
        project = new_project(client, things(1)[0])
        question = question_for(client, project)
        learned(client, project)
        (fold,), service = client.service.folds(), client.service
        known = Subject(1, 0, "{}", b"", known=fold.sequence)
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        job = partial(
            ask, project=fold.project, request=QuestionRequest("local"), word=lambda _: Wording(1, 1, 1.0),
            limits=QuestionLimits(10.0, 10, 10),
        )  # fmt: skip
        assert service.write(fold.project, partial(job, subject=known)) is None
        assert service.write(fold.project, partial(job, subject=known._replace(known=1))) is not None


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_project_moves_with_its_items_answers_people_and_times(file: Path, suffix: str) -> None:
    rows, right = things(40)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 60)
        log = client.get(f"{project}/log.{suffix}").content
        body = {"levels": LEVELS, "columns": COLUMNS, "learner": "NewtonLogit", "seed": 5}
        for name, some in (("same", rows), ("fewer", rows[:10]), ("others", rows[1:] + rows[:1])):
            ok(client.post("/projects", json={"name": name, **body}))
            ok(client.post(f"/projects/{name}/items", json={"items": some}))
        added = {name: ok(client.post(f"/projects/{name}/log.{suffix}", content=log)) for name in ("same", "fewer")}
        others = ok(client.post(f"/projects/others/log.{suffix}", content=log))
        assert (added["same"]["count"], added["same"]["about_items"]) == (60, 60)
        asked = [int(row["answers"]) for row in levels(client, project)]
        assert added["fewer"]["about_items"] == sum(asked[:10])
        assert others == {"count": 60, "known": 0, "about_items": 0, "sequence": 60}, (
            "different items under the same numbers"
        )
        own = ("item", "lowest", "highest", "answers")
        before, after = (
            [[row[name] for name in own] for row in levels(client, p)] for p in (project, "/projects/same")
        )
        assert after == before
        here, there = (
            list(csv.DictReader(io.StringIO(client.get(f"{p}/log.csv").text))) for p in (project, "/projects/same")
        )
        assert {row.pop("purpose") for row in here} > {"place"}
        assert {row.pop("purpose") for row in there} == {"place"}, "what comes from elsewhere audits nothing here"
        assert here == there, "people and times, too"
        assert {row["person"] for row in here} == {"local"}
        answer(client, "/projects/same", right, 5)


def test_items_that_came_after_the_last_answer_are_not_a_fault(file: Path) -> None:
    rows, right = things(20)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 5)
        learned(client, project)
    with serving(file) as client:  # the last snapshot knows none of these
        ok(client.post("/projects/things/items", json={"items": rows[:3]}))
        found = verify(client.service.database, client.service.project("things"))
        assert (found.snapshots, found.faults, found.remarks) == (1, [], [])


@pytest.mark.parametrize(
    ("header", "row", "sentence"),
    [
        ("item,time", "1,2026-11-16", "the file has item and time but not person"),
        ("person", "Ann", "the file has person but not item and time"),
        ("item,item,person,time", "1,1,Ann,2026-11-16", "the column 'item' twice"),
        ("item,person,time", "-1,Ann,2026-11-16", "an item must be a whole number, 0 or more; got -1"),
        ("item,person,time", "1.5,Ann,2026-11-16", "an item must be a whole number, 0 or more; got 1.5"),
        ("item,person,time", "1,Ann,1700000000", "a time in a file must be a date"),
        ("item,person,time", f"1,{'A' * 201},2026-11-16", "name must have 1 to 200 printable characters"),
    ],
)
def test_a_log_that_says_less_or_more_than_it_should_is_refused(
    file: Path, header: str, row: str, sentence: str
) -> None:
    with serving(file) as client:
        project = new_project(client, things(3)[0])
        text = f"level,prediction,propensity,higher,{header},size,weight\n{LEVELS[0]},{LEVELS[0]},0.5,True,{row},0,0\n"
        response = client.post(f"{project}/log.csv", content=text)
        assert (response.status_code, response.json()["code"]) == (422, "bad-log")
        assert sentence in response.json()["sentence"]
        assert learned(client, project)["answers"] == 0


def test_answers_about_no_item_teach_where_items_stand(file: Path) -> None:
    rows, right = things(60)
    others, levels_of_others = things(500, seed=1)
    lines = ["level,prediction,propensity,higher,size,weight"]
    for n, (row, level) in enumerate(zip(others, levels_of_others, strict=True)):
        cut = n % 3
        lines.append(f"{LEVELS[cut]},{LEVELS[cut]},0.5,{level > cut},{row['size']!r},{row['weight']!r}")
    with serving(file) as client:
        project = new_project(client, rows)
        assert off(levels(client, project), right) > 0.6, "nothing is known yet"
        told = ok(client.post(f"{project}/log.csv", content="\n".join(lines), headers={"Content-Type": "text/csv"}))
        assert (told["count"], told["about_items"]) == (500, 0)
        digest = learned(client, project)["digest"]
        assert off(levels(client, project), right) < 0.45
    with serving(file) as client:
        assert off(levels(client, project), right) < 0.45, "also after a restart"
    assert replayed(file, "things") == digest


def test_items_stand_where_their_own_answers_put_them(file: Path) -> None:
    rows, right = things(60)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 150)
        found = levels(client, project)
        alone = ok(client.post(f"{project}/predictions", json={"rows": rows}))["predictions"]
        assert off(found, right) < off(alone, right), "against the learner alone, with the same features"
        assert off(found, right) < 0.1, "bisection takes 120 answers to reach 0; here the error rate is learned too"
        assert sum(int(row["answers"]) for row in found) == 150
        predicted = ok(client.post(f"{project}/predictions", json={"items": [1, 2, 3]}))["predictions"]
        assert [one["level"] for one in predicted] == [row["level"] for row in found[:3]]
        for row, one in zip(found, predicted, strict=False):
            assert [float(row[f"P({level})"]) for level in LEVELS] == list(one["probabilities"].values())
        shown = ok(client.get(f"{project}/levels"))
        assert shown["expected_error"] < 0.15
        assert 0 < shown["error_rate"] < 0.2


def test_the_service_asks_and_places_as_the_library_does(file: Path) -> None:
    rows, right = things(40)
    pool = Pool(np.array([list(row.values()) for row in rows]), LEVELS, learner=NewtonLogit(), random_state=5)
    pool.ask()  # the service counts its questions from 1
    with serving(file) as client:
        project = new_project(client, rows)
        pool.drop(next(iter(pool._asked)))
        for _ in range(100):
            mine, theirs = pool.ask(), question_for(client, project)
            assert (mine.item + 1, mine.level, mine.placement) == (
                theirs["item"],
                theirs["level"],
                theirs["prediction"],
            )
            assert mine.propensity == theirs["propensity"]
            higher = bool(right[mine.item] > LEVELS.index(mine.level))
            pool.tell(mine, higher)
            ok(client.post(f"{project}/questions/{theirs['number']}/answer", json={"higher": higher}))
            learned(client, project)
        found = levels(client, project)
    pool.release()  # what people see counts the audit's answers too
    assert [row["level"] for row in found] == pool.levels_.tolist()
    assert [[float(row[f"P({level})"]) for level in LEVELS] for row in found] == pool.probabilities_.tolist()


@pytest.mark.parametrize("learner", ["NewtonLogit", "Auto"])
def test_a_replay_has_the_same_bits_through_items_added_retractions_and_restarts(file: Path, learner: str) -> None:
    rows, right = things(50)
    with serving(file, snapshot_every=20) as client:
        project = new_project(client, rows[:30], learner)
        asked = answer(client, project, right, 70, wrong=0.1)
        ok(client.post(f"{project}/items", json={"items": rows[30:40]}))
        ok(client.post(f"{project}/items", json={"items": rows[40:]}))
        ok(client.post(f"{project}/questions/{asked[3]['number']}/retract"))
        answer(client, project, right, 40)
        ok(client.post(f"{project}/questions/{asked[60]['number']}/retract"))
        state = learned(client, project)
    assert replayed(file, "things") == state["digest"]
    with serving(file) as client:
        assert learned(client, project)["digest"] == state["digest"]
        assert len(levels(client, project)) == 50


def test_new_items_are_asked_about_before_the_next_answer(file: Path) -> None:
    rows, _ = things(3)
    with serving(file) as client:
        project = new_project(client, rows[:1])
        assert question_for(client, project)["item"] == 1
        assert problem(client.post(f"{project}/questions")) == (404, "nothing-to-ask")
        ok(client.post(f"{project}/items", json={"items": rows[1:]}))
        assert {question_for(client, project)["item"] for _ in range(2)} == {2, 3}
        assert problem(client.post(f"{project}/questions", json={"item": 2})) == (409, "item-taken")


def test_a_skipped_item_comes_after_others(file: Path) -> None:
    rows, right = things(30)
    with serving(file) as client:
        project = new_project(client, rows)
        skipped = question_for(client, project)
        ok(client.post(f"{project}/questions/{skipped['number']}/skip"))
        assert skipped["item"] not in {one["item"] for one in answer(client, project, right, 60)}
        assert question_for(client, project, json={"item": skipped["item"]})["item"] == skipped["item"]


def test_people_who_ask_at_once_are_asked_about_different_items(file: Path) -> None:
    rows, _ = things(40)
    with serving(file) as client:
        project, asked = new_project(client, rows), list[int]()

        def ask() -> None:
            asked.extend(question_for(client, project)["item"] for _ in range(5))

        people = [threading.Thread(target=ask) for _ in range(8)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        assert sorted(asked) == list(range(1, 41))


def test_audits_and_repeated_questions_are_in_the_log(file: Path) -> None:
    rows, right = things(50)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 300, wrong=0.1)
        with client.service.database.reading() as connection:
            asked = connection.execute(sa.select(schema.questions).order_by(schema.questions.c.number)).all()
        shown = ok(client.get(f"{project}/levels"))
    by_number = {row.number: row for row in asked}
    repeated = [row for row in asked if row.purpose == 1]
    assert repeated
    assert all(by_number[row.checks].item == row.item for row in repeated)
    assert {row.checks for row in asked if row.purpose != 1} == {None}
    assert sum(row.purpose == 2 for row in asked) > 5
    checked = shown["audit"]["checked"]
    assert 0 < checked <= len({row.item for row in asked if row.purpose == 2})
    assert shown["audit"]["error"]["value"] == shown["expected_error"]
    with serving(file) as client:
        log = csv.DictReader(io.StringIO(client.get(f"{project}/log.csv").text))
    assert [row["purpose"] for row in log] == [("place", "check", "audit")[row.purpose] for row in asked]


def test_how_many_answers_remain_is_reported(file: Path) -> None:
    rows, right = things(50)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 50)
        learned(client, project)
        far, near = (ok(client.get(f"{project}/remaining?target={target}")) for target in (0.05, 0.3))
        assert far["answers"]["value"] > near["answers"]["value"]
        assert far["expected_error"] == near["expected_error"]
        assert ok(client.get(f"{project}/remaining?target=3"))["answers"]["value"] == 0
        assert client.get(f"{project}/remaining?target=-1").status_code == 422


def test_without_probabilities_items_take_turns_which_can_also_be_chosen(file: Path) -> None:
    rows, right = things(4)
    with serving(file) as client:
        body = {"name": "plain", "levels": LEVELS, "columns": COLUMNS, "learner": "DFORD"}
        assert problem(client.post("/projects", json={**body, "choice": "pool"})) == (422, "bad-learner")
        twice = client.post("/projects", json={**body, "levels": ["calm", "calm"]})
        assert (problem(twice), twice.json()["field"]) == ((422, "invalid"), "levels")
        assert client.post("/projects", json=body).json()["choice"] == "turns"
        ok(client.post("/projects/plain/items", json={"items": rows}))
        shown = ok(client.get("/projects/plain/levels"))
        assert (shown["expected_error"], shown["audit"], shown["error_rate"]) == (None, None, None)
        assert problem(client.get("/projects/plain/remaining")) == (409, "no-placements")
        project = new_project(client, rows, choice="turns")
        assert [one["item"] for one in answer(client, project, right, 8)] == [1, 2, 3, 4, 1, 2, 3, 4]
        assert ok(client.get(f"{project}/levels"))["expected_error"] is not None


def test_what_was_just_answered_is_not_asked_again_while_the_learner_is_behind(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, right = things(12)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 1)
        learned(client, project)
        go_on, prepare = threading.Event(), Learned.prepare

        def later(model: Learned, n: int) -> int:
            assert go_on.wait(600)
            return prepare(model, n)

        monkeypatch.setattr(Learned, "prepare", later)
        try:
            asked = [one["item"] for one in answer(client, project, right, 10)]
        finally:
            go_on.set()
        assert len(set(asked)) == 10
        assert learned(client, project)["answers"] == 11
