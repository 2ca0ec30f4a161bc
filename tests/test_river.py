"""River's own checks, and what a stream of dicts must be able to do."""

from typing import Any

import numpy as np
import pytest

river = pytest.importorskip("river", reason="River is not installed")

from river import checks, datasets, preprocessing  # noqa: E402

from dford import DFORD, PRIL, Auto, DirectionalBoosting, NewtonLogit, PRank  # noqa: E402
from dford.datasets import make_synthetic  # noqa: E402
from dford.river import Ordinal  # noqa: E402

LEARNERS = [
    DFORD(random_state=0),
    PRank(),
    PRIL(),
    DFORD(kernel="poly", window=30, clip=5.0, random_state=0),
    PRank(kernel="rbf", window=30),
    NewtonLogit(random_state=0),
    NewtonLogit(features="fourier", n_components=9, random_state=0),
    DirectionalBoosting(max_iter=10, random_state=0),
    Auto(random_state=0),
]


# River's checks have unordered labels
@pytest.mark.filterwarnings("ignore:the levels were sorted by name")
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_river_checks(learner: Any) -> None:
    checks.check_estimator(Ordinal(learner))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_stream_of_dicts_learns_the_same_as_an_array(learner: Any) -> None:
    X, y = make_synthetic(400, random_state=0)
    learner = type(learner)(**{**learner.get_params(), "levels": [1, 2, 3, 4, 5]})
    stream: Any = Ordinal(learner)
    array = type(learner)(**learner.get_params()).partial_fit(X, y)
    for row, label in zip(X, y, strict=True):
        stream.learn_one({"a": row[0], "b": row[1]}, int(label))
    if hasattr(array, "thresholds_"):
        np.testing.assert_allclose(stream._model.thresholds_, array.thresholds_, rtol=1e-12)
    predicted = [stream.predict_one({"b": b, "a": a}) for a, b in X]
    assert np.mean(predicted == array.predict(X)) > 0.99  # sums may differ in the last bit


@pytest.mark.parametrize(
    "learner", [PRank(), PRank(kernel="poly", degree=3), PRank(kernel="rbf"), PRank(window=9)], ids=repr
)
def test_features_that_appear_later_were_zero_before(learner: Any) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 6)), random.integers(1, 4, size=60)
    for n in range(60):
        X[n, 1 + n // 10 :] = 0  # a new feature every ten rows
    stream: Any = Ordinal(type(learner)(**{**learner.get_params(), "levels": [1, 2, 3]}))
    for row, label in zip(X, y, strict=True):
        stream.learn_one({f"x{j}": value for j, value in enumerate(row) if value}, int(label))
    array = type(learner)(**{**learner.get_params(), "levels": [1, 2, 3]}).fit(X, y)
    np.testing.assert_allclose(stream._model.thresholds_, array.thresholds_, rtol=1e-9)
    probe = random.normal(size=(20, 6))
    rows = [stream._model._form.scores(np.pad(p, (0, stream._model.n_features_in_ - 6))[None])[0] for p in probe]
    np.testing.assert_allclose(rows, array._form.scores(probe), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("learner", [DirectionalBoosting(max_iter=5), Auto()], ids=repr)
def test_a_log_grows_with_its_features_and_levels(learner: Any) -> None:
    random = np.random.default_rng(0)
    stream: Any = Ordinal(type(learner)(**{**learner.get_params(), "random_state": 0}))
    for n in range(700):
        x = {"a": random.uniform(), "b": random.uniform()} | ({"c": random.uniform()} if n > 300 else {})
        level = 1 + (x["a"] > 0.5) + (n > 400 and x["c"] > 0.5)  # a new feature first, then a new level on top
        stream.learn_one(x, int(level))
    assert stream._model.classes_.tolist() == [1, 2, 3]
    assert stream._model.rounds_ == stream._model._form.schedule.count == 699  # the first level is alone
    rows = [{"a": a, "b": 0.5, "c": c} for a in (0.2, 0.8) for c in (0.2, 0.8)]
    assert [stream.predict_one(x) for x in rows][::3] == [1, 3]


def test_levels_that_appear_later_take_their_place_in_order() -> None:
    stream: Any = Ordinal(PRank())
    assert stream.predict_one({"x": 1.0}) is None
    stream.learn_one({"x": 1.0}, "c")
    assert stream.predict_one({"x": 1.0}) == "c"
    with pytest.warns(UserWarning, match="the levels were sorted by name, a < c; for another order pass") as told:
        stream.learn_one({"x": -2.0}, "a")
    assert told[0].filename == __file__
    for _ in range(20):
        stream.learn_one({"x": 2.0}, "c")
        stream.learn_one({"x": -2.0}, "a")
    before = {x: stream.predict_one({"x": x}) for x in np.linspace(-3, 3, 13)}
    stream._model._grow(type(stream._model._scale)(["a", "b", "c"]), stream._model.n_features_in_)
    assert {x: stream.predict_one({"x": x}) for x in before} == before  # "b" is empty at first
    for _ in range(300):
        for x, y in ((2.0, "c"), (0.3, "b"), (-2.0, "a"), (5.0, "d"), (-6.0, "A")):
            stream.learn_one({"x": x, "one": 1.0}, y)
    assert stream._model.classes_.tolist() == ["A", "a", "b", "c", "d"]
    assert [stream.predict_one({"x": x, "one": 1.0}) for x in (-6, -2, 2, 5)] == ["A", "a", "c", "d"]


def test_levels_that_were_named_keep_their_order_and_no_other_is_added() -> None:
    stream: Any = Ordinal(DFORD(levels=["poor", "fair", "good"], random_state=0))
    stream.learn_one({"x": 1.0}, "good")
    assert stream._model.classes_.tolist() == ["poor", "fair", "good"]
    with pytest.raises(ValueError, match="'excellent' is not a level"):
        stream.learn_one({"x": 1.0}, "excellent")


@pytest.mark.parametrize("known", [[1], [1, 2]])
def test_levels_without_an_order_are_refused_and_leave_no_trace(known: list[int]) -> None:
    stream = Ordinal(DFORD(random_state=0))
    for level in known:
        stream.learn_one({"a": 1.0}, level)
    with pytest.raises(ValueError, match=r"levels of several types, such as 1 and 'high', cannot be sorted; give the"):
        stream.learn_one({"a": 2.0}, "high")
    stream.learn_one({"a": 2.0}, 3)
    assert stream.predict_one({"a": 2.0}) in {*known, 3}


def test_a_refused_row_leaves_no_trace() -> None:
    stream: Any = Ordinal(DFORD(levels=[1, 2], random_state=0))
    stream.learn_one({"x": 1.0}, 2)
    state = stream._model._form.state.copy()
    for bad in ({"x": np.nan}, {"x": 1e300}, {"new": np.inf}):
        with pytest.raises(ValueError, match="NaN|infinity|too large"):
            stream.learn_one(bad, 1)
    assert (stream._model._form.state == state).all()
    assert list(stream._columns) == ["x"]


def test_it_works_in_a_river_pipeline() -> None:
    model = preprocessing.StandardScaler() | Ordinal(PRank())
    right = 0
    for x, y in datasets.Phishing().take(500):
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 400
