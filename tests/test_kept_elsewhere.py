"""Questions kept outside the learner: the same draws, the same state, to the bit."""

from typing import Any

import numpy as np
import pytest

from dford import DFORD, PRIL, Auto, DirectionalBoosting, NewtonLogit, learners
from dford.engine import rounds
from dford.learners._tree_schedule import _Work

LEVELS = ["poor", "fair", "good", "great"]
MAKERS = [
    lambda: DFORD(levels=LEVELS, random_state=3),
    lambda: DFORD(levels=LEVELS, kernel="rbf", window=20, random_state=3),
    lambda: PRIL(levels=LEVELS),
    lambda: NewtonLogit(levels=LEVELS, features="fourier", random_state=3),
    lambda: DirectionalBoosting(levels=LEVELS, max_iter=5, random_state=3),
    lambda: Auto(levels=LEVELS, random_state=3),
]


@pytest.fixture(params=MAKERS, ids=lambda make: repr(make()).split("(")[0])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return request.param(), request.param()


def test_numbered_questions_and_learn_are_ask_and_tell_to_the_bit(pair: tuple[Any, Any]) -> None:
    asking, keeping = pair
    keeping.random_state = asking.random_state = 3
    for n, x in enumerate(np.random.default_rng(0).normal(size=(260, 2))):  # trees are in effect from 204 on
        asked, kept = asking.ask(x), keeping.question(x, n)
        assert asked == kept
        higher = bool(x[0] * 2 + 2 > LEVELS.index(asked.level) + 1)
        asking.tell(asked, higher)
        keeping.learn(kept, higher)
    for figures in (asking._form.state, *asking._records):
        figures[rounds.ASKED] = 0  # how many were asked, and which were settled, is the keeper's to know
    asking._fates.clear()
    assert keeping.to_bytes() == asking.to_bytes()


def test_bytes_are_the_whole_model(pair: tuple[Any, Any]) -> None:
    model, _ = pair
    for n, x in enumerate(np.random.default_rng(0).normal(size=(30, 2))):
        model.learn(model.question(x, n), bool(x[0] > 0))
    again: Any = learners.loads(model.to_bytes(), "a snapshot")
    assert again.to_bytes() == model.to_bytes()
    x = np.array([0.3, 0.1])
    assert again.question(x, 30) == model.question(x, 30)


def test_after_prepare_no_answer_waits_for_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    model = DirectionalBoosting(levels=LEVELS, max_iter=5, random_state=0)
    reach, due = _Work.reach, []

    def watched(self: Any, work: int | None) -> None:
        due.append(self.done or (work is not None and self._grower.work >= work))
        reach(self, work)

    for n, x in enumerate(np.random.default_rng(0).normal(size=(260, 2))):
        if n == 201:
            model = learners.loads(model.to_bytes(), "a snapshot")  # work under way is lost
        model.prepare()
        with monkeypatch.context() as watching:
            watching.setattr(_Work, "reach", watched)
            model.learn(model.question(x, n), bool(x[0] > 0))
    assert len(due) == 4 + 5  # of the trees on 200 answers and of those on 250
    assert all(due)
