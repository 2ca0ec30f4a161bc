"""How people answer: their figures, only for admins, and nobody waits while they are computed."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dford import Client
from dford.estimates import Estimate
from dford.pool.people import Person
from dford.pool.placements import Placements
from dford.service.views import figures
from dford.service.views import levels as overviews
from serving import LEVELS, learned, ok, problem, question_for, serving, set_up
from test_service_pool import new_project, things

WRONG = {"ann": 0.0, "ben": 0.05, "dan": 0.45}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def locked(client: Any) -> str:
    """An admin's key, which the client sends from now on."""
    key: str = ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"]
    client.headers.update(bearer(key))
    return key


def invited(client: Any, project: str, names: Any) -> dict[str, dict[str, str]]:
    keys = {name: client.post(f"{project}/keys", json={"role": "answer", "name": name}) for name in names}
    return {name: bearer(ok(made)["key"]) for name, made in keys.items()}


def tell(client: Any, project: str, headers: dict[str, str], says: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    question: dict[str, Any] = question_for(client, project, headers=headers)
    body = {"higher": says(question)}
    ok(client.post(f"{project}/questions/{question['number']}/answer", json=body, headers=headers))
    return question


def answered(client: Any, project: str, right: list[int], n: int) -> dict[str, dict[str, str]]:
    """So many answers, by people one of whom guesses."""
    keys, random = invited(client, project, WRONG), np.random.default_rng(0)
    for i in range(n):
        name = list(WRONG)[i % 3]
        tell(
            client,
            project,
            keys[name],
            lambda one, name=name: bool(  # type: ignore[misc]
                (right[one["item"] - 1] > LEVELS.index(one["level"])) != (random.random() < WRONG[name])
            ),
        )
    return keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_an_admin_reads_how_people_answer_and_nobody_else_does(file: Path) -> None:
    rows, right = things(60)
    with serving(file) as client:
        root = locked(client)
        project = new_project(client, rows)
        keys = answered(client, project, right, 150)
        state = learned(client, project)
        found = ok(client.get(f"{project}/people"))
        assert (found["sequence"], found["stale"]) == (state["sequence"], False)
        people = {one["name"]: one for one in found["people"]}
        assert {name: one["answers"] for name, one in people.items()} == dict.fromkeys(WRONG, 50)
        known = client.service.fold(client.service.project("things")).look(lambda model, _: model.placements)
        for name, one in known.read_people().items():
            assert people[name]["judged"] == one.judged
            for figure in ("error_rate", "strictness", "agreement"):
                assert people[name][figure] == getattr(one, figure)._asdict()
        assert people["ann"]["flag"] is people["ben"]["flag"] is people["ann"]["gold"] is None
        assert 0 < people["ann"]["seconds_per_answer"] < 60
        assert people["ann"]["latest"] <= people["ben"]["latest"] <= people["dan"]["latest"]
        with Client(str(client.base_url), "things", root) as own:
            assert own.people() == people
        for headers in keys.values():
            assert problem(client.get(f"{project}/people", headers=headers)) == (403, "not-allowed")


def test_people_with_one_answer_or_none_have_figures_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "_REST", 0)
    rows, _ = things(10)
    with serving(file) as client:
        project = new_project(client, rows)
        assert ok(client.get(f"{project}/people")) == {"sequence": 0, "stale": False, "people": []}
        question = tell(client, project, {}, lambda one: True)
        learned(client, project)
        (one,) = ok(client.get(f"{project}/people"))["people"]
        assert (one["answers"], one["judged"], one["seconds_per_answer"]) == (1, 0, None)
        ok(client.post(f"{project}/questions/{question['number']}/retract"))
        set_up(client, "plain", "DFORD")
        assert problem(client.get("/projects/plain/people")) == (409, "no-placements")
        ok(client.post("/projects", json={"name": "empty", "levels": LEVELS}))
        assert problem(client.get("/projects/empty/people")) == (409, "no-columns")


def test_while_people_are_judged_others_ask_and_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = things(20)
    begun, go_on, find = threading.Event(), threading.Event(), Placements.read_people
    made = list[int]()

    def slowly(placements: Placements) -> Any:
        made.append(len(placements.answers))
        begun.set()
        assert go_on.wait(600)
        return find(placements)

    monkeypatch.setattr(Placements, "read_people", slowly)
    monkeypatch.setattr(overviews, "_REST", 1e9)
    with serving(file) as client:
        project, replies = new_project(client, rows), list[Any]()
        tell(client, project, {}, lambda one: True)
        learned(client, project)
        looking = [
            threading.Thread(target=lambda: replies.append(ok(client.get(f"{project}/people")))) for _ in range(3)
        ]
        for one in looking:
            one.start()
        assert begun.wait(600)
        for _ in range(10):
            tell(client, project, {}, lambda one: False)
        assert learned(client, project)["answers"] == 11
        assert not replies
        go_on.set()
        for one in looking:
            one.join()
        assert made == [1], "once for all who look, and for the state when it began"
        assert [reply["people"][0]["answers"] for reply in replies] == [1, 1, 1]
        assert ok(client.get(f"{project}/people")) == replies[0], "and not again at once"


@pytest.mark.parametrize(("low", "flag"), [(0.0, None), (0.3, "wrong")])
def test_nobody_is_flagged_for_disagreeing(low: float, flag: str | None) -> None:
    """Items are asked about again where something does not fit, so careful people disagree there, too."""
    seldom = Estimate(0.5, 0.4, 0.6)
    person = Person("ann", 200, Estimate(0.35, low, 0.4), Estimate(0.0, -1.0, 1.0), 5, seldom, None)
    assert figures._figures(person, [])["flag"] == flag
