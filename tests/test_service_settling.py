"""Levels that somebody knows: events of the log, which hold whatever the answers say."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dford import Client, NewtonLogit, Pool
from dford.service.learning import fold, log_reader
from dford.service.learning.verify import verify
from dford.service.projects import asking
from dford.service.projects.asking import QuestionLimits, QuestionRequest, Subject, Wording
from dford.service.store import schema
from dford.service.views import levels as overviews
from serving import LEVELS, learned, ok, problem, question_for, replayed, serving, set_up
from test_service_people import answered, invited, locked, tell
from test_service_pool import answer, levels, new_project, things


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def settle(client: Any, project: str, item: int, level: str, highest: str | None = None) -> dict[str, Any]:
    body = {"level": level} if highest is None else {"lowest": level, "highest": highest}
    found: dict[str, Any] = ok(client.put(f"{project}/settled/{item}", json=body))
    return found


def test_a_settled_level_holds_whatever_the_answers_say_until_it_is_retracted(file: Path) -> None:
    rows, right = things(30)
    with serving(file) as client:
        project = new_project(client, rows)
        answer(client, project, right, 60)
        before = levels(client, project)
        other = LEVELS[3 - LEVELS.index(before[6]["level"])]
        said = settle(client, project, 7, other)
        assert (said["item"], said["lowest"], said["highest"], said["sequence"]) == (7, other, other, 61)
        assert settle(client, project, 7, other) == said, "the same again changes nothing"
        row = levels(client, project)[6]
        assert (row["level"], row["lowest"], row["highest"], row["settled_by"]) == (other, other, other, said["person"])
        assert float(row[f"P({other})"]) == 1.0
        assert ok(client.get(f"{project}/levels"))["settled"] == 1
        assert learned(client, project)["answers"] == 60, "it is not an answer"
        assert problem(client.post(f"{project}/questions", json={"item": 7})) == (409, "settled")
        assert 7 not in {one["item"] for one in answer(client, project, right, 60)}
        between = settle(client, project, 7, LEVELS[1], LEVELS[2])
        row = levels(client, project)[6]
        assert (row["lowest"], row["highest"]) == (LEVELS[1], LEVELS[2]) == (between["lowest"], between["highest"])
        asked = question_for(client, project, json={"item": 7})
        assert asked["level"] == LEVELS[1], "no other is open"
        for _ in range(2):
            assert client.delete(f"{project}/settled/7").status_code == 204
        state = learned(client, project)
        assert (state["sequence"], state["answers"]) == (123, 120)
        row = levels(client, project)[6]
        assert (row["level"], row["settled_by"]) == (before[6]["level"], "")


def test_what_is_settled_takes_effect_as_in_the_library_and_a_replay_has_the_same_bits(file: Path) -> None:
    rows, right = things(40)
    pool = Pool([list(row.values()) for row in rows], LEVELS, learner=NewtonLogit(), random_state=5)
    pool.drop(pool.ask())  # the service counts its questions from 1
    with serving(file, snapshot_every=20) as client:
        project = new_project(client, rows)
        for n in range(80):
            if n % 10 == 5:
                item, (low, high) = n // 2, ((1, 1), (1, 2), (0, 0), (0, 3))[n // 10 % 4]
                if (low, high) == (0, 3):
                    pool.settle(item, LEVELS[2])
                    ok(client.put(f"{project}/settled/{item + 1}", json={"level": LEVELS[2]}))
                    assert client.delete(f"{project}/settled/{item + 1}").status_code == 204
                else:
                    settle(client, project, item + 1, LEVELS[low], LEVELS[high])
                pool.settle(item, LEVELS[low], LEVELS[high])
                learned(client, project)
            mine, theirs = pool.ask(), question_for(client, project)
            assert (mine.item + 1, mine.level, mine.propensity) == (
                theirs["item"],
                theirs["level"],
                theirs["propensity"],
            )
            higher = bool(right[mine.item] > LEVELS.index(mine.level))
            pool.tell(mine, higher)
            ok(client.post(f"{project}/questions/{theirs['number']}/answer", json={"higher": higher}))
            learned(client, project)
        found, state = levels(client, project), learned(client, project)
    pool.release()
    assert [row["level"] for row in found] == pool.levels_.tolist()
    assert [[float(row[f"P({level})"]) for level in LEVELS] for row in found] == pool.probabilities_.tolist()
    assert replayed(file, "things") == state["digest"]


@pytest.mark.parametrize("learner", ["NewtonLogit", "Auto"])
def test_a_replay_has_the_same_bits_through_levels_settled_retractions_and_restarts(file: Path, learner: str) -> None:
    rows, right = things(50)
    with serving(file, snapshot_every=10) as client:
        project = new_project(client, rows[:30], learner)
        settle(client, project, 3, LEVELS[0])
        asked = answer(client, project, right, 40, wrong=0.1)
        ok(client.post(f"{project}/items", json={"items": rows[30:]}))
        settle(client, project, 45, LEVELS[1], LEVELS[2])
        settle(client, project, 4, LEVELS[3])
        ok(client.post(f"{project}/questions/{asked[3]['number']}/retract"))
        assert client.delete(f"{project}/settled/3").status_code == 204
        answer(client, project, right, 40)
        settle(client, project, 45, LEVELS[2])
        state = learned(client, project)
        service = client.service
        found = verify(service.database, service.project("things"))
        assert (found.faults, found.remarks, found.digest) == ([], [], state["digest"])
        assert found.snapshots > 1
    with serving(file) as client:
        assert learned(client, project)["digest"] == state["digest"]
        rows_ = levels(client, project)
        assert [rows_[i]["settled_by"] != "" for i in (2, 3, 44)] == [False, True, True]
    with serving(file) as client:  # and none of the snapshots is needed
        client.service.write(None, lambda connection: connection.execute(schema.snapshots.delete()))
    assert replayed(file, "things") == state["digest"]


@pytest.mark.parametrize(
    ("body", "code", "sentence"),
    [
        ({"level": "stormy"}, "not-a-level", "there is no level 'stormy'; the scale is calm, mild, strong, severe"),
        ({"lowest": "mild", "highest": "x"}, "not-a-level", "there is no level 'x'"),
        ({"lowest": "strong", "highest": "mild"}, "not-a-level", "'strong' is above the highest 'mild'; swap them"),
        ({"lowest": "calm", "highest": "severe"}, "not-a-level", "the whole scale, which settles nothing"),
        ({"lowest": "calm"}, "invalid", "send either level, or both lowest and highest"),
        ({"level": "calm", "highest": "mild"}, "invalid", "send either level, or both lowest and highest"),
        ({}, "invalid", "send either level, or both lowest and highest"),
    ],
)
def test_what_cannot_be_settled_is_refused_in_one_sentence(file: Path, body: Any, code: str, sentence: str) -> None:
    with serving(file) as client:
        project = new_project(client, things(3)[0])
        response = client.put(f"{project}/settled/1", json=body)
        assert problem(response) == (422, code)
        if code == "not-a-level":
            assert response.json()["field"] == ("highest" if "x" in body.values() else next(iter(body)))
        assert sentence in response.json()["sentence"]
        assert problem(client.put(f"{project}/settled/4", json={"level": "mild"})) == (404, "no-item")
        assert problem(client.delete(f"{project}/settled/4")) == (404, "no-item")
        assert learned(client, project)["sequence"] == 0
        set_up(client, "plain", "DFORD")
        assert problem(client.put("/projects/plain/settled/1", json={"level": "mild"})) == (409, "no-placements")


def test_the_most_contested_items_come_first_with_who_said_what(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "_REST", 0)
    rows, right = things(30)
    with serving(file) as client:
        root = locked(client)
        project = new_project(client, rows)
        answered(client, project, right, 120)
        keys = invited(client, project, ["eve"])
        for name, higher in (("ann", True), ("eve", False)):
            own = keys.get(name) or invited(client, project, [name])[name]
            for level in range(40):  # enough for both to be asked about the lowest cut
                asked = question_for(client, project, json={"item": 9}, headers=own)
                ok(client.post(f"{project}/questions/{asked['number']}/answer", json={"higher": higher}, headers=own))
                if level > 4:
                    break
        learned(client, project)
        found = ok(client.get(f"{project}/contested"))
        assert found["contested"][0]["item"] == 9
        assert found["contested"][0]["shown"] == rows[8]
        said = {(one["person"], one["higher"]) for one in found["contested"][0]["answers"]}
        assert {("ann", True), ("eve", False)} <= said
        assert found["settled"] == []
        file_ = levels(client, project)
        for one in found["contested"]:
            assert one["level"] == file_[one["item"] - 1]["level"], "the audit's answers count here as there"
        settle(client, project, 9, LEVELS[1])
        learned(client, project)
        again = ok(client.get(f"{project}/contested"))
        assert 9 not in {one["item"] for one in again["contested"]}
        assert [(one["item"], one["highest"], one["person"]) for one in again["settled"]] == [(9, LEVELS[1], "root")]
        with Client(str(client.base_url), "things", root) as admin:
            admin.unsettle(9)
            assert admin.settle(9, "calm", "mild") == learned(client, project)["sequence"]


def test_what_was_answered_before_an_item_was_settled_says_nothing_about_people(file: Path) -> None:
    """Contested items are settled because somebody erred there, and would make people look worse than they are."""
    rows, right = things(30)
    with serving(file) as client:
        locked(client)
        project = new_project(client, rows)
        answered(client, project, right, 150)
        for item, level in enumerate(right, 1):
            settle(client, project, item, LEVELS[level])
        learned(client, project)
        people = {one["name"]: one for one in ok(client.get(f"{project}/people"))["people"]}
        assert [people[name]["gold"] for name in ("ann", "dan")] == [None, None]
        assert people["ann"]["judged"] < people["ann"]["answers"] == 50
        assert problem(client.post(f"{project}/questions")) == (404, "nothing-to-ask"), "all are settled"


def test_many_levels_settled_at_once_are_learned_a_few_at_a_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "_AT_ONCE", 7)
    rows, right = things(50)
    known = [{**row, "truth": LEVELS[y]} for row, y in zip(rows, right, strict=True)]
    with serving(file, snapshot_every=10) as client:
        project = new_project(client, rows[:5], gold_column="truth")
        answer(client, project, right, 15)
        ok(client.post(f"{project}/items", json={"items": known}))
        state = learned(client, project)
        assert (state["answers"], state["sequence"]) == (15, 65)
        assert [row["level"] for row in levels(client, project)[5:]] == [LEVELS[y] for y in right]
        answer(client, project, right, 5)
        state = learned(client, project)
    assert replayed(file, "things") == state["digest"]


def test_what_is_no_longer_settled_is_asked_about_once_that_is_learned(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(file) as client:
        project = new_project(client, things(3)[0])
        settle(client, project, 2, LEVELS[0])
        learned(client, project)
        go_on, read = threading.Event(), log_reader.settled

        def later(*given: Any) -> Any:
            assert go_on.wait(600)
            return read(*given)

        monkeypatch.setattr(log_reader, "settled", later)
        try:
            assert client.delete(f"{project}/settled/2").status_code == 204
            response = client.post(f"{project}/questions", json={"item": 2})
        finally:
            go_on.set()
        assert problem(response) == (503, "busy")
        assert "no longer settled, and the server is still learning" in response.json()["sentence"]
        learned(client, project)
        assert question_for(client, project, json={"item": 2})["item"] == 2


def test_with_turns_settled_items_are_not_asked_about(file: Path) -> None:
    rows, right = things(4)
    with serving(file) as client:
        project = new_project(client, rows, choice="turns")
        settle(client, project, 2, LEVELS[0])
        assert [one["item"] for one in answer(client, project, right, 6)] == [1, 3, 4, 1, 3, 4]
        assert client.delete(f"{project}/settled/2").status_code == 204
        assert tell(client, project, {}, lambda one: True)["item"] == 2


def test_who_settled_what_and_when_is_in_the_log(file: Path) -> None:
    with serving(file) as client:
        locked(client)
        project = new_project(client, things(3)[0])
        settle(client, project, 2, LEVELS[0])
        assert client.delete(f"{project}/settled/2").status_code == 204
        with client.service.database.reading() as connection:
            rows = connection.execute(sa.select(schema.settlements).order_by(schema.settlements.c.sequence)).all()
    assert [(row.sequence, row.item, row.lowest, row.highest, row.person) for row in rows] == [
        (1, 2, 1, 1, "root"),
        (2, 2, None, None, "root"),
    ]
    assert 0 < rows[0].at <= rows[1].at


def test_what_is_settled_before_a_page_of_answers_about_no_item_is_not_lost(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "MANY", 5)
    rows, _ = things(10)
    log = "level,prediction,propensity,higher,size,weight\n" + "mild,mild,0.5,true,1,1\n" * 10
    with serving(file) as client:
        project = new_project(client, rows)
        settle(client, project, 3, "severe")
        ok(client.post(f"{project}/log.csv", content=log, headers={"Content-Type": "text/csv"}))
        digest = learned(client, project)["digest"]
        assert levels(client, project)[2]["level"] == "severe"
    assert replayed(file, "things") == digest


def test_an_item_that_was_just_settled_is_not_asked_about_while_others_are_learned(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = things(6)
    with serving(file) as client:
        project = new_project(client, rows)
        learned(client, project)
        service = client.service
        monkeypatch.setattr(service.fold(service.project("things")), "follow", lambda *_: None)  # it learns nothing now
        for item in range(1, 6):
            settle(client, project, item, "mild")
        asked = question_for(client, project)
        assert asked["item"] == 6
        request, word = QuestionRequest("anna"), Wording(1, 1, 0.5)
        subject = Subject(2, 0, "", b"", 0)
        job = partial(asking.ask, project=service.project("things"), request=request, subject=subject)
        limits = QuestionLimits(60, 100, 100)
        assert service.write(service.project("things"), partial(job, word=lambda _: word, limits=limits)) is None


def test_a_snapshot_of_what_is_settled_before_any_answer_is_verified(file: Path) -> None:
    rows, right = things(6)
    with serving(file, snapshot_every=1) as client:
        project = new_project(client, rows)
        learned(client, project)
        settle(client, project, 1, "calm")
        learned(client, project)
    with serving(file) as client:
        answer(client, project, right, 1)
        digest = learned(client, project)["digest"]
    assert replayed(file, "things") == digest
