"""Questions kept outside the learner: the same draws, the same state, to the bit."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dford import DFORD, PRIL, Auto, DirectionalBoosting, NewtonLogit, learners
from dford.engine import rounds
from dford.feedback import Question
from dford.learners._trees.grower import Grower
from dford.learners._trees.schedule import _Work

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


def test_numbered_questions_and_learn_equal_ask_and_tell_to_the_bit(pair: tuple[Any, Any]) -> None:
    asking, keeping = pair
    keeping.random_state = asking.random_state = 3
    for n, x in enumerate(np.random.default_rng(0).normal(size=(260, 2))):  # trees are in effect from 204 on
        asked, kept = asking.ask(x), keeping.question(x, n)
        assert asked == kept
        higher = bool(x[0] * 2 + 2 > LEVELS.index(asked.level) + 1)
        asking.tell(asked, higher)
        keeping.learn(kept, higher)
    for figures in (asking._form.state, *asking._records):
        figures[rounds.ASKED] = 0  # how many were asked, and which were settled, is for the keeper to know
    del asking._closed[:]
    assert keeping.to_bytes() == asking.to_bytes()


def page(n: int, seed: int = 0) -> dict[str, Any]:
    """Rounds as a store keeps them: somebody else's questions and old predictions."""
    random = np.random.default_rng(seed)
    X, level = random.normal(size=(n, 3)), random.integers(1, 4, size=n)
    return {
        "X": X,
        "level": np.array(LEVELS)[level - 1],
        "prediction": np.array(LEVELS)[random.integers(0, 4, size=n)],
        "propensity": random.uniform(0.1, 1.0, size=n),
        "higher": X[:, 0] + 0.3 * random.normal(size=n) + 2 > level,
    }


def part(rounds: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    return {name: column[begin:end] for name, column in rounds.items()}


@pytest.mark.parametrize(
    "ends", [[700], [1, 199, 202, 257, 700], [*range(7, 700, 49), 700]], ids=["all", "some", "many"]
)
def test_many_answers_at_once_equal_one_after_the_other_to_the_bit(pair: tuple[Any, Any], ends: list[int]) -> None:
    """With trees that are grown before, in and after a page, checkpoints, and the prediction before each answer."""
    one, many = pair
    rounds = page(700)
    one._begin_live(rounds["X"][0])
    for x, level, prediction, propensity, higher in zip(*rounds.values(), strict=True):
        one.learn(Question("", x, level, prediction, propensity, 0), bool(higher))
    for begin, end in pairwise([0, *ends]):
        assert many.learn_many(**part(rounds, begin, end)) is many
    many.seed_, many._key = one.seed_, one._key  # a learner without a random_state has drawn its own
    assert many.to_bytes() == one.to_bytes()


def test_a_page_with_anything_wrong_in_it_changes_nothing(pair: tuple[Any, Any]) -> None:
    model, _ = pair
    model.learn_many(**page(30))
    before, good = model.to_bytes(), page(30, seed=1)
    for column, bad in (
        ("level", "bad"),
        ("prediction", "bad"),
        ("propensity", 0.0),
        ("propensity", 1.1),
        ("propensity", 1e-320),
        ("X", np.inf),
    ):
        wrong = good[column].copy()
        wrong[17] = bad
        with pytest.raises(ValueError, match=r"not a level|probability|infinity"):
            model.learn_many(**good | {column: wrong})
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.learn_many(**good | {"level": good["level"][:7]})
    with pytest.raises(ValueError, match="one column"):
        model.learn_many(**good | {"propensity": good["propensity"][:, None]})
    with pytest.raises(TypeError, match="True or False"):
        model.learn_many(**good | {"higher": good["propensity"]})
    assert model.to_bytes() == before
    assert model.learn_many(**part(good, 0, 0)).to_bytes() == before


@pytest.mark.parametrize("at", ["judge", "grow"])
@pytest.mark.parametrize("learner", [Auto, DirectionalBoosting])
def test_a_page_that_is_interrupted_is_not_learned(learner: Any, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = learner(levels=LEVELS, random_state=0).learn_many(**page(230))
    before, rounds = model.to_bytes(), page(300, seed=1)
    whole = learners.loads(before, "the model before").learn_many(**rounds)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as breaking:
        if at == "grow":
            breaking.setattr(Grower, "advance", interrupt)
        else:
            judge, seen = type(model._form).judge, []

            def sometimes(*arguments: Any) -> Any:
                seen.append(judge(*arguments))
                return interrupt() if len(seen) == 3 else seen[-1]

            breaking.setattr(type(model._form), "judge", sometimes)
        with pytest.raises(KeyboardInterrupt):
            model.learn_many(**rounds)
    assert model.to_bytes() == before
    assert model.learn_many(**rounds).to_bytes() == whole.to_bytes()


def test_bytes_are_the_whole_model(pair: tuple[Any, Any]) -> None:
    model, _ = pair
    for n, x in enumerate(np.random.default_rng(0).normal(size=(30, 2))):
        model.learn(model.question(x, n), bool(x[0] > 0))
    again: Any = learners.loads(model.to_bytes(), "a snapshot")
    assert again.to_bytes() == model.to_bytes()
    x = np.array([0.3, 0.1])
    assert again.question(x, 30) == model.question(x, 30)


@pytest.mark.parametrize("learner", [Auto, DirectionalBoosting])
def test_a_model_packed_without_its_answers_predicts_and_learns_on_once_it_has_them(learner: Any) -> None:
    known, later = page(240), page(200, seed=1)
    model = learner(levels=LEVELS, random_state=0).learn_many(**known)
    without = model.packing(log=False)()
    again: Any = learners.loads(without, "a snapshot")
    assert again.missing_ == 240
    assert again.packing(log=False)() == without
    assert np.array_equal(again.predict_proba(later["X"]), model.predict_proba(later["X"]))
    for few in (5, 100):
        with pytest.raises(ValueError, match="240 answers of this model are stored elsewhere"):
            again.learn_many(**part(later, 0, few))
    assert again.packing(log=False)() == without
    for begin, end in pairwise([0, 1, 100, 240]):
        again.recall(**{name: known[name][begin:end] for name in ("X", "level", "higher")})
        assert again.missing_ == 240 - end
    with pytest.raises(ValueError, match="but 0 are missing"):
        again.recall(known["X"][:1], known["level"][:1], known["higher"][:1])
    assert again.to_bytes() == model.to_bytes()
    assert again.learn_many(**later).to_bytes() == model.learn_many(**later).to_bytes()


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
