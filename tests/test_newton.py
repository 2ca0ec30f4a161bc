"""NewtonLogit: right, ordered on every path, calibrated, and better than what throws answers away."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_newton
import streams
from dford import DFORD, Auto, Boundary, DirectionalBoosting, NewtonLogit, Uniform
from dford.datasets import make_synthetic
from dford.learners._forms.newton import NewtonForm

kinds = st.sampled_from(["linear", "poly", "fourier"])


def make(K: int, kind: str, covariance: str, d: int, **parameters: Any) -> tuple[NewtonLogit, naive_newton.NewtonLogit]:
    model = NewtonLogit(features=kind, covariance=covariance, n_components=7, levels=range(1, K + 1), **parameters)
    form = model._new_form(d, K)
    assert isinstance(form, NewtonForm)
    slow = naive_newton.NewtonLogit(K, d, kind, covariance == "full", np.diag(form.matrix()).copy())
    if kind == "fourier":
        slow.maps = form.maps
    return model, slow


def agree(model: NewtonLogit, slow: naive_newton.NewtonLogit, X: Any) -> None:
    np.testing.assert_allclose(model.thresholds_, slow.thresholds, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict_projection(X), [slow.f(x) for x in X], rtol=1e-4, atol=1e-5)
    form = model._form
    assert isinstance(form, NewtonForm)
    np.testing.assert_allclose(form.matrix(), slow.covariance, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=streams.N_STREAMS)
@given(streams.streams(max_rounds=25), kinds, st.sampled_from(["full", "diagonal"]), streams.seeds)
def test_it_decides_like_the_slow_one_on_answers(stream: Any, kind: str, covariance: str, seed: int) -> None:
    X, y, K = stream
    policy = Boundary(0.4)
    model, slow = make(K, kind, covariance, X.shape[1], policy=policy, random_state=seed)
    for n, x in enumerate(X):
        question = model.ask(x)
        try:
            prediction = slow.predict(x)
        except naive.Tie:
            return
        assert question.prediction == prediction
        assert question.propensity == policy.probabilities(prediction, K)[question.level - 1]
        higher = bool(y[n] > question.level)
        model.tell(question, higher)
        slow.bit(x, question.level, higher)
        slow.see(x)
    agree(model, slow, X)


@pytest.mark.slow
@settings(max_examples=streams.N_STREAMS)
@given(streams.streams(max_rounds=25), kinds, st.sampled_from(["full", "diagonal"]), streams.seeds)
def test_it_decides_like_the_slow_one_on_intervals(stream: Any, kind: str, covariance: str, seed: int) -> None:
    X, y, K = stream
    ends = np.random.default_rng(seed).integers(1, K + 1, size=(2, len(X)))
    intervals = np.stack([np.minimum(y, ends[0]), np.maximum(y, ends[1])], axis=1)
    model, slow = make(K, kind, covariance, X.shape[1])
    for n, x in enumerate(X):
        try:
            prediction = slow.predict(x)
        except naive.Tie:
            return
        if n:
            assert model.predict(x[None])[0] == prediction
        model.partial_fit(x[None], intervals[n : n + 1])
        slow.interval(x, *intervals[n])
        slow.see(x)
    agree(model, slow, X)


@pytest.mark.parametrize("where", [0, 7, 15, 16, 31, 32, 50])
def test_a_value_far_out_counts_as_it_does_for_the_slow_one(where: int) -> None:
    random = np.random.default_rng(where)
    X, level = random.normal(5.0, 2.0, size=(60, 3)), random.integers(1, 4, 60)
    X[where, 0], X[(where + 3) % 60, 1] = -999.0, 1e6
    X[:, 2] = X[:, 2] > 8  # rarely 1
    model, slow = make(4, "linear", "full", 3, random_state=0)
    for x, asked in zip(X, level.tolist(), strict=True):
        higher = bool(x[0] > asked)
        question = model.ask(x)
        model.drop(question).learn(question._replace(x=x, level=asked), higher)
        slow.bit(x, asked, higher)
        slow.see(x)
    agree(model, slow, X[:20])


@pytest.mark.parametrize("value", [-999.0, 1e12])
@pytest.mark.parametrize("where", [[0], [5], [20], [300], [599], [40, 90, 200, 201, 450]], ids=str)
def test_a_value_far_out_does_not_make_all_others_look_alike(where: list[int], value: float) -> None:
    X = np.random.default_rng(0).normal(size=(3000, 3))
    f = X @ [1.0, -1.0, 0.5]
    y = 1 + np.digitize(f, np.quantile(f, [0.2, 0.4, 0.6, 0.8]))
    clean = -NewtonLogit(random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    X[where, 0] = value
    error = -NewtonLogit(random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert error < clean + 0.1  # it would be 0.7 more if they counted in full


@pytest.mark.parametrize("seed", range(5))
def test_values_far_out_do_next_to_no_harm_in_one_row_in_a_thousand(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(5000, 3))
    f = X @ [1.0, -1.0, 0.5]
    y = 1 + np.digitize(f, np.quantile(f, [0.2, 0.4, 0.6, 0.8]))
    clean = -NewtonLogit(random_state=0).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    X[random.choice(3000, 3, replace=False), 0] = -999.0
    assert -NewtonLogit(random_state=0).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) < clean + 0.05


@pytest.mark.parametrize("feedback", ["direction", "label"])
@settings(max_examples=30)
@given(streams.streams(max_rounds=60))
def test_thresholds_are_in_order_and_probabilities_fall_on_every_path(feedback: str, stream: Any) -> None:
    X, y, K = stream
    model = NewtonLogit(feedback=feedback, levels=range(1, K + 1), random_state=0)
    for n in range(len(X)):
        model.partial_fit(X[n : n + 1], y[n : n + 1])
        assert (np.diff(model.thresholds_) >= 0).all()
        assert model.crossings_ == 0
    p = model.predict_proba(X)
    assert p.shape == (len(X), K)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_the_prediction_is_the_median_level() -> None:
    X, y = make_synthetic(3000, random_state=0)
    model = NewtonLogit(features="poly", random_state=0).fit(X, y)
    median = 1 + (np.cumsum(model.predict_proba(X), axis=1) < 0.5).sum(axis=1)
    assert (median == model.predict(X)).mean() > 0.999


def test_one_bit_is_worth_nearly_a_label_and_far_more_than_dford_gets_from_it() -> None:
    X, y = make_synthetic(10_000, random_state=0)
    bit, label = (
        NewtonLogit(features="poly", feedback=kind, random_state=0).fit(X, y).trace_.mae[-1]
        for kind in ("direction", "label")
    )
    assert bit < 1.05 * label
    assert bit < 0.5 * DFORD(kernel="poly", random_state=0).fit(X, y).trace_.mae[-1]


def test_probabilities_are_calibrated() -> None:
    """Levels drawn from a cumulative logit: of what is given probability p, about a share p happens."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40_000, 3)) * [1.0, 50.0, 0.01] + [5.0, -300.0, 0.0]
    f = X @ [1.0, 0.02, -80.0]
    y = 1 + (f[:, None] + random.logistic(size=(40_000, 1)) > np.array([-3.0, -1.0, 0.5])).sum(axis=1)
    model = NewtonLogit(random_state=0).fit(X[:20_000], y[:20_000])
    p = model.predict_proba(X[20_000:])
    happened = y[20_000:, None] == np.arange(1, 5)
    bins = np.digitize(p, np.linspace(0, 1, 11)[1:-1])
    for b in range(10):
        said, came = p[bins == b], happened[bins == b]
        if said.size > 500:
            assert came.mean() == pytest.approx(said.mean(), abs=0.04)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_raw_features_of_any_scale_teach_the_same(scale: float, shift: float) -> None:
    X, y = make_synthetic(2000, random_state=0)
    one = NewtonLogit(features="poly", random_state=0).fit(X, y)
    other = NewtonLogit(features="poly", random_state=0).fit(X * [scale, 1.0] + [shift * scale, 0.0], y)
    assert other.trace_.mae[-1] == pytest.approx(one.trace_.mae[-1], rel=0.02)


@pytest.mark.parametrize("kind", ["poly", "fourier"])
def test_forgetting_follows_a_scale_that_reverses_and_costs_little_where_it_does_not(kind: str) -> None:
    X, y = make_synthetic(8000, random_state=0)
    turned = np.concatenate([y[:4000], 6 - y[4000:]])

    def last_quarter(labels: Any, forget: float) -> float:
        model = NewtonLogit(features=kind, n_components=100, forget=forget, checkpoints=[6000], random_state=0)
        trace = model.fit(X, labels).trace_
        return float(4 * trace.mae[-1] - 3 * trace.mae[-2])

    assert last_quarter(turned, 0.02) < 0.6 * last_quarter(turned, 0.0)
    assert last_quarter(y, 0.02) < 1.1 * last_quarter(y, 0.0)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("extra", ["constant", "duplicate"])
def test_what_no_answer_is_about_is_not_forgotten_and_the_rest_still_follows(covariance: str, extra: str) -> None:
    """A direction in which no row ever differs would grow forever if all were forgotten alike."""
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = 1 + np.digitize(X[:, 0] + 0.3 * random.normal(size=len(X)), [-1, 0, 1])
    X = np.column_stack([X, X[:, 0] if extra == "duplicate" else np.ones(len(X))])
    model = NewtonLogit(covariance=covariance, forget=0.1, levels=[1, 2, 3, 4], checkpoints=[15_000], random_state=0)
    trace = model.fit(X, np.concatenate([y[:10_000], 5 - y[10_000:]])).trace_
    form = model._form
    assert isinstance(form, NewtonForm)
    assert np.linalg.eigvalsh(form.matrix()).min() > -1e-9
    assert np.linalg.eigvalsh(form.matrix()).max() < 10  # no direction is much less known than at the start
    last = 4 * trace.mae[-1] - 3 * trace.mae[-2]
    assert last < 0.3  # a reversed scale that was not followed would be off by 2


BAD = ["one level never", "always no", "constant", "duplicated", "huge", "flipped"]


@pytest.mark.parametrize("kind", ["linear", "poly", "fourier", "trees", "auto"])
@pytest.mark.parametrize("trouble", BAD)
def test_bad_streams_leave_a_finite_ordered_state_and_sensible_predictions(kind: str, trouble: str) -> None:
    random = np.random.default_rng(0)
    X, y = make_synthetic(1500, random_state=0)
    if trouble == "one level never":
        keep = y != 3
        X, y = X[keep], y[keep]
    elif trouble == "constant":
        X = np.column_stack([X, np.full(len(X), 7.0)])
    elif trouble == "duplicated":
        X = np.column_stack([X, X])
    elif trouble == "huge":
        X = np.column_stack([X, 1e6 * random.normal(size=len(X))])
    common: dict[str, Any] = {"levels": range(1, 6), "policy": Uniform(), "random_state": 0}
    model: Any = Auto(**common)
    if kind == "trees":
        model = DirectionalBoosting(max_iter=20, **common)
    elif kind != "auto":
        model = NewtonLogit(features=kind, n_components=50, **common)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        higher = bool(label > question.level)
        if trouble == "always no":
            higher = False
        elif trouble == "flipped":
            higher ^= random.random() < 0.3
        model.tell(question, higher)
    for name, array in model._form.arrays().items():
        assert np.isfinite(array).all() or name == "trees_numbers"  # a split may send all but missing values left
    above = 1 - np.cumsum(model.predict_proba(X), axis=1)
    assert (np.diff(above, axis=1) <= 1e-12).all()
    if kind != "trees":
        assert (np.diff(model.thresholds_) >= 0).all()
    error = np.abs(model.predict(X) - y).mean()
    constant = min(np.abs(y - level).mean() for level in range(1, 6))
    if trouble == "always no":
        assert (model.predict(X) == 1).all()
    elif kind != "linear":  # no line fits this stream
        assert error < 0.6 * constant


def test_it_takes_answers_intervals_and_labels_in_one_stream() -> None:
    X, y = make_synthetic(3000, random_state=0)
    model = NewtonLogit(features="poly", levels=range(1, 6), random_state=0)
    for n in range(0, 3000, 3):
        question = model.ask(X[n])
        model.tell(question, bool(y[n] > question.level))
        model.partial_fit(X[n + 1 : n + 2], np.array([[max(y[n + 1] - 1, 1), min(y[n + 1] + 1, 5)]]))
        model.partial_fit(X[n + 2 : n + 3], [[y[n + 2], y[n + 2]]])
    assert model.rounds_ == 3000
    assert -model.score(X, y) < 0.3


@pytest.mark.parametrize("kind", ["linear", "poly", "fourier"])
def test_rows_that_cannot_be_learned_from_leave_it_as_it_was(kind: str) -> None:
    X, y = make_synthetic(50, random_state=0)
    model = NewtonLogit(features=kind, n_components=9, levels=range(1, 6), random_state=0).fit(X, y)
    before = {name: array.tobytes() for name, array in model._form.arrays().items()}
    for bad in (np.nan, np.inf, 1e300, 1e160):
        rows = X.copy()
        rows[30, 1] = bad
        for call in (lambda rows=rows: model.partial_fit(rows, y), lambda rows=rows: model.ask(rows[30])):
            with pytest.raises(ValueError, match="NaN|infinity|too large"):
                call()
        assert {name: array.tobytes() for name, array in model._form.arrays().items()} == before


@pytest.mark.parametrize("kind", ["linear", "poly", "fourier"])
@pytest.mark.parametrize("size", [1e49, 1e-160, 1e-300, 5e-324])
def test_large_and_tiny_rows_leave_a_finite_state(kind: str, size: float) -> None:
    X, y = make_synthetic(200, random_state=0)
    model = NewtonLogit(features=kind, n_components=9, levels=range(1, 6), random_state=0).fit(X, y)
    model.partial_fit(X * size, y)
    assert all(np.isfinite(array).all() for array in model._form.arrays().values())
    assert np.isfinite(model.predict_proba(X * size)).all()
