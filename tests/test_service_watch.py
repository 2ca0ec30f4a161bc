"""What people watch: the curve, the thresholds over time, the items at each level; and asking about one item."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dford.service.projects import items
from dford.service.views import levels as views
from serving import LEVELS, ROWS, answer_some, learned, ok, problem, question_for, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_one_item_can_be_asked_about_by_number_while_it_is_free(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file) as client:
        project = set_up(client)
        asked = question_for(client, project, json={"item": 7}, headers={"Idempotency-Key": "k"})
        assert asked["item"] == 7
        assert problem(client.post(f"{project}/questions", json={"item": 7})) == (409, "item-taken")
        assert problem(client.post(f"{project}/questions", json={"item": 31})) == (404, "no-item")
        assert problem(client.post(f"{project}/questions", json={"item": 7, "features": {}})) == (422, "invalid")
        again = question_for(client, project, json={"item": 7}, headers={"Idempotency-Key": "k"})
        assert again["number"] == asked["number"]
        other = client.post(f"{project}/questions", json={"item": 8}, headers={"Idempotency-Key": "k"})
        assert problem(other) == (409, "key-reused")
        assert ok(client.get(f"{project}/state"))["questions"] == 1
        # retracted, or its lease over, it is free again
        ok(client.post(f"{project}/questions/{asked['number']}/answer", json={"higher": True}))
        ok(client.post(f"{project}/questions/{asked['number']}/retract"))
        assert question_for(client, project, json={"item": 7})["item"] == 7
        later = time.time() + 301
        monkeypatch.setattr("dford.service.projects.asking.time.time", lambda: later)
        assert question_for(client, project, json={"item": 7})["item"] == 7


@pytest.mark.parametrize("learner", ["Auto", "DFORD", "DirectionalBoosting"])
def test_the_thresholds_over_time_end_with_the_current_ones(file: Path, learner: str) -> None:
    with serving(file) as client:
        project = set_up(client, learner=learner)
        assert ok(client.get(f"{project}/state"))["history"] == []
        answer_some(client, project, 15)
        state = learned(client, project)
        predicted = ok(client.post(f"{project}/predictions", json={"items": [1]}))
        assert predicted["thresholds"] == state["thresholds"]
        if learner == "DirectionalBoosting":  # trees have none
            assert state["thresholds"] is None
            assert state["history"] == []
        else:
            counts = [point["answers"] for point in state["history"]]
            assert counts == [1, 2, 3, 4, 5, 6, 8, 10, 13, 15]
            assert state["history"][-1]["thresholds"] == state["thresholds"]
            assert counts == [point["answers"] for point in state["curve"]]


@pytest.mark.parametrize("learner", ["NewtonLogit", "DFORD"])
def test_the_levels_of_the_pool_are_the_predictions_of_all_items(
    file: Path, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "PAGE", 7)  # thirty items are five pages
    monkeypatch.setattr(views, "_REST", 0)
    with serving(file) as client:
        project = set_up(client, learner=learner)
        answer_some(client, project, 20)
        learned(client, project)
        found = ok(client.get(f"{project}/levels"))
        body = {"items": list(range(1, 31))}
        predicted = ok(client.post(f"{project}/predictions", json=body))
        levels = [one["level"] for one in predicted["predictions"]]
        assert found["counts"] == {level: levels.count(level) for level in LEVELS}
        assert (found["items"], found["sequence"]) == (30, 20)
        if learner == "NewtonLogit":
            sure = [one["probabilities"][one["level"]] for one in predicted["predictions"]]
        else:
            sure = [min(abs(one["score"] - cut) for cut in predicted["thresholds"]) for one in predicted["predictions"]]
        unsure = [one["item"] for one in found["unsure"]]
        assert [one["sureness"] for one in found["unsure"]] == pytest.approx(sorted(sure)[:10])
        assert [sure[item - 1] for item in unsure] == pytest.approx(sorted(sure)[:10])
        assert found["unsure"][0]["shown"] == ROWS[unsure[0] - 1]
        answer_some(client, project, 1)
        learned(client, project)
        assert ok(client.get(f"{project}/levels"))["sequence"] == 21


def test_the_levels_are_not_recomputed_for_everybody_who_looks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], views.overview

    def counted(*arguments: Any) -> Any:
        made.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(views, "overview", counted)
    monkeypatch.setattr(views, "_REST", 1e9)
    with serving(file) as client:
        project = set_up(client)
        ok(client.post("/projects", json={"name": "empty", "levels": LEVELS}))
        looks = [ok(client.get(f"{project}/levels")) for _ in range(5)]
        assert len(made) == 1
        assert looks == looks[:1] * 5
        nothing = ok(client.get("/projects/empty/levels"))
        assert (nothing["items"], nothing["unsure"]) == (0, [])


def test_overviews_may_be_looked_at_and_forgotten_from_many_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_MOST_SEEN", 20)
    monkeypatch.setattr(views, "_REST", 0)
    overviews, looks = views.Overviews(), 1500

    def look(thread: int) -> int:
        return sum(
            overviews.latest(name, lambda name=name: {"name": name})["name"] == name  # type: ignore[misc]
            for name in (f"{thread % 2}/{n % 37}" for n in range(looks))
        )

    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(look, range(8))) == [looks] * 8
    finally:
        sys.setswitchinterval(often)
    assert len(overviews._every) == 20


def test_while_one_overview_is_computed_others_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    overviews, begun, go_on = views.Overviews(), threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        begun.set()
        assert go_on.wait(600)
        return {"made": "once"}

    monkeypatch.setattr(views, "_MOST_SEEN", 1)
    with ThreadPoolExecutor(1) as threads:
        computing = threads.submit(overviews.latest, "slow", slow)
        assert begun.wait(600)
        assert overviews.latest("quick", lambda: {"made": "now"}) == {"made": "now"}  # forgets the slow one
        go_on.set()
        assert computing.result() == {"made": "once"}


def test_long_text_is_cut_where_it_is_listed(file: Path) -> None:
    with serving(file) as client:
        project = set_up(client)
        ok(client.post(f"{project}/items", json={"items": [{"size": 1, "note": "x" * 100_000}]}))
        shown = [one["shown"]["note"] for one in ok(client.get(f"{project}/levels"))["unsure"]]
        assert max(len(text) for text in shown) <= 201
        assert len(ok(client.get(f"{project}/items", params={"after": 30}))[0]["shown"]["note"]) == 100_000


def test_a_file_is_previewed_before_there_is_a_project(file: Path) -> None:
    with serving(file) as client:
        csv = {"content": "size,note\n1,one\n2,two\n3,three\n", "headers": {"Content-Type": "text/csv"}}
        seen = ok(client.post("/preview.csv", **csv))
        assert [(column["name"], column["kind"]) for column in seen["columns"]] == [
            ("size", "number"),
            ("note", "text"),
        ]
        assert seen["count"] == 3
        assert ok(client.get("/projects")) == []
        assert np.isclose(seen["columns"][0]["mean"], 2)
