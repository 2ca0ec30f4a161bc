"""The service: every answer once, and a state that the log can reproduce."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dford import DFORD
from serving import LEVELS, ROWS, above, answer_some, learned, ok, problem, question_for, replayed, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_the_service_asks_and_learns_as_the_library_does_to_the_bit(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        asked = []
        for _ in range(40):
            asked += answer_some(client, project, 1)
            state = learned(client, project)  # so that the next question is asked by what all answers taught
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
        if learner in {"Auto", "DirectionalBoosting", "NewtonLogit"}:
            assert all(sum(one["probabilities"].values()) == pytest.approx(1.0) for one in predicted)
        else:
            assert predicted[0] == predicted[2], "its own answers count where there are probabilities"
    assert state["digest"] == replayed(file)
    with serving(file) as client:  # from the snapshot
        assert learned(client, project)["digest"] == state["digest"]


def test_the_same_answer_again_gets_the_first_response_and_the_opposite_409(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        number = question_for(client, project)["number"]
        answer = f"{project}/questions/{number}/answer"
        first = client.post(answer, json={"higher": True})
        again = client.post(answer, json={"higher": True})
        assert first.status_code == 200
        assert first.content == again.content
        assert problem(client.post(answer, json={"higher": False})) == (409, "answered-otherwise")
        assert learned(client, project)["answers"] == 1
    with serving(file) as client:
        assert client.post(answer, json={"higher": True}).content == first.content


def test_many_answers_at_once_get_what_each_would_have_got_alone(file: Path, tmp_path: Path) -> None:
    bits = [True, False, True, True, False]
    digests = []
    for kept, together in ((file, True), (tmp_path / "other.db", False)):
        with serving(kept) as client:
            project = set_up(client)
            numbers = [question_for(client, project)["number"] for _ in bits]
            pairs = [*zip(numbers, bits, strict=True), (numbers[0], True), (numbers[1], True), (99, True)]
            body = [{"question": number, "higher": higher} for number, higher in pairs]
            if together:
                for _ in range(2):  # sent again, done once
                    outcomes = ok(client.post(f"{project}/answers", json={"answers": body}))["outcomes"]
                    got = [(one["status"], (one["answer"] or one["problem"])) for one in outcomes]
                    assert [status for status, _ in got] == [200] * 6 + [409, 404]
                    assert [one["sequence"] for _, one in got[:6]] == [1, 2, 3, 4, 5, 1]
                    assert [one["code"] for _, one in got[6:]] == ["answered-otherwise", "no-question"]
                assert problem(client.post(f"{project}/answers", json={"answers": []})) == (422, "invalid")
            else:
                for (number, higher), (status, said) in zip(pairs, got, strict=True):
                    response = client.post(f"{project}/questions/{number}/answer", json={"higher": higher})
                    assert response.status_code == status
                    assert {**response.json(), "at": None} == {**said, "at": None} or status != 200
                    assert response.json() == said or status == 200
            digests.append(learned(client, project)["digest"])
    assert digests[0] == digests[1] == replayed(file)


def test_the_fast_path_of_a_plain_answer_replies_like_the_documented_one(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        numbers = [question_for(client, project)["number"] for _ in range(3)]
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
        assert question_for(client, project)["item"] != first["item"]
        assert problem(client.post(**ask, json={"features": ROWS[3]})) == (409, "key-reused")
        assert ok(client.get(f"{project}/state"))["questions"] == 2


@pytest.mark.parametrize("first", [{}, {"item": 1}, {"program": True}, {"item": 1, "program": True}])
def test_an_idempotency_key_is_for_one_request_for_a_question(file: Path, first: dict[str, Any]) -> None:
    with serving(file) as client:
        project, key = set_up(client), {"Idempotency-Key": "one"}
        asked = question_for(client, project, json=first, headers=key)
        for again in ({}, {"item": asked["item"]}, {"program": True}, {"item": asked["item"], "program": True}):
            response = client.post(f"{project}/questions", json=again, headers=key)
            if again == first:
                assert ok(response) == asked
            else:
                assert problem(response) == (409, "key-reused"), again


def test_two_people_are_never_asked_about_the_same_item(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        given: list[int] = []

        def ask() -> None:
            for _ in range(3):
                given.append(question_for(client, project)["item"])

        people = [threading.Thread(target=ask) for _ in range(10)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        assert sorted(given) == list(range(1, 31))
        assert problem(client.post(f"{project}/questions")) == (404, "nothing-to-ask")


def test_a_lease_expires_and_a_late_answer_still_counts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file) as client:
        project = set_up(client)
        late = question_for(client, project)
        later = time.time() + 301
        monkeypatch.setattr("dford.service.projects.asking.time.time", lambda: later)
        again = question_for(client, project)
        assert again["item"] == late["item"]
        for question in (late, again):
            ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        assert learned(client, project)["answers"] == 2
    assert replayed(file)


@pytest.mark.parametrize("learner", ["DFORD", "NewtonLogit"])  # whose items take turns, and whose pool chooses
def test_a_lease_of_a_clock_that_ran_ahead_holds_no_item(
    file: Path, monkeypatch: pytest.MonkeyPatch, learner: str
) -> None:
    with serving(file, open_per_person=30) as client:
        project = set_up(client, learner=learner)
        ahead = time.time() + 365 * 24 * 3600
        with monkeypatch.context() as patch:
            patch.setattr("dford.service.projects.asking.time.time", lambda: ahead)
            early = [question_for(client, project) for _ in range(30)]
            assert problem(client.post(f"{project}/questions"))[0] in {404, 429}
        assert ok(client.get(f"{project}/state"))["open"] == 0
        item = early[7]["item"]
        assert question_for(client, project, json={"item": item})["item"] == item
        assert question_for(client, project)["item"] != item
        assert ok(client.get(f"{project}/state"))["open"] == 2
        ok(client.post(f"{project}/questions/{early[0]['number']}/answer", json={"higher": True}))


def test_an_item_is_asked_about_again_only_after_all_others(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        items = [question["item"] for question in answer_some(client, project, 60)]
        assert items == [*range(1, 31), *range(1, 31)]


def test_a_skipped_question_takes_no_answer_and_its_item_waits(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        question = question_for(client, project)
        address = f"{project}/questions/{question['number']}"
        assert ok(client.post(f"{address}/skip")) == ok(client.post(f"{address}/skip"))
        assert problem(client.post(f"{address}/answer", json={"higher": True})) == (409, "skipped")
        assert ok(client.get(address))["fate"] == "skipped"
        assert question_for(client, project)["item"] != question["item"]
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
        assert after["digest"] != before["digest"]
        assert problem(client.post(f"{address}/answer", json={"higher": True})) == (409, "retracted")
        assert question_for(client, project)["item"] == asked[12]["item"]
        log = client.get(f"{project}/log.csv").content
    assert after["digest"] == replayed(file)
    with serving(tmp_path / "other.db") as client:  # the same log without it, elsewhere
        set_up(client)
        assert ok(client.post(f"{project}/log.csv", content=log, headers={"Content-Type": "text/csv"}))["count"] == 19
        assert learned(client, project)["thresholds"] == after["thresholds"]


def test_features_sent_along_are_asked_about_and_learned(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        question = question_for(client, project, json={"features": {"size": 2.0, "colour": "red"}})
        assert (question["item"], question["shown"]) == (None, {"size": 2.0, "colour": "red"})
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": True}))
        assert learned(client, project)["answers"] == 1
        question_for(client, project, json={"features": {"size": None, "colour": "red"}})
        for features, code in [
            ({"weight": 1}, "unknown-column"),
            ({"size": "large"}, "not-a-number"),
            ({"size": 2.0}, "no-column"),
        ]:
            assert problem(client.post(f"{project}/questions", json={"features": features})) == (422, code)
            assert problem(client.post(f"{project}/predictions", json={"rows": [features]})) == (422, code)
    assert replayed(file)
