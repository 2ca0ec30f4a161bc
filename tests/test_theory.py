"""What the paper proves, and what follows from its algorithm, established again."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

import naive
import streams
from dford import DFORD, PRIL, Boundary, Greedy, PRank, Triangular
from dford.datasets import make_synthetic
from dford.engine import rounds
from dford.learners._forms.windows import Direct, Explicit

some = settings(max_examples=60)


@pytest.mark.parametrize("n_levels", range(2, 51))
def test_exploration_is_a_distribution_with_the_papers_two_closed_forms(n_levels: int) -> None:
    K = n_levels
    for p in range(1, K + 1):
        heights = [1 + max(p, K - p) - abs(i - p) for i in range(1, K + 1)]
        general = K + K * max(p, K - p) - Fraction((p - 1) * p, 2) - Fraction((K - p) * (K - p + 1), 2)
        closed = (
            (2 * K + 1) * p - p**2 - Fraction(K * (K - 1), 2) if 2 * p >= K else Fraction(K * (K + 1), 2) - p * (p - 1)
        )
        assert sum(heights) == general == closed
        for exploration in (0.0, 0.3, 1.0):
            expected = [
                (1 - exploration) * (i == p) + exploration * h / float(closed) for i, h in enumerate(heights, start=1)
            ]
            np.testing.assert_allclose(Triangular(exploration).probabilities(p, K), expected, rtol=1e-14)


@some
@given(streams.streams(), st.integers(0, 2**32 - 1))
def test_theorem_1_holds_for_the_step_that_is_taken(stream: Any, seed: int) -> None:
    """Averaged over all answers a question could have had, DFORD's step is PRank's on the same label."""
    X, y, K = stream
    model = (
        DFORD(exploration=0.7, levels=range(1, K + 1), random_state=seed).fit(X[:-1], y[:-1]) if len(X) > 1 else None
    )
    if model is None:
        return
    x, label, before = X[-1], int(y[-1]), model._form.state.copy()
    question = model.ask(x)
    policy = Triangular(0.7).probabilities(question.prediction, K)
    mean = np.zeros(before.size)
    for asked in range(1, K + 1):
        model._form.state[:] = before
        model._form.tell(model._rule, x, question.prediction, asked, policy[asked - 1], label > asked)
        mean += policy[asked - 1] * (model._form.state - before)
    full = PRank(levels=range(1, K + 1)).fit(X[:-1], y[:-1])
    full._form.state[:] = before
    full.partial_fit(x[None], [label])
    step = full._form.state - before
    np.testing.assert_allclose(mean[rounds.CUTS :], step[rounds.CUTS :], rtol=1e-9, atol=1e-9 * np.abs(before).max())


@some
@given(streams.streams(), streams.kernels)
def test_lemma_2_the_score_is_a_plain_sum(stream: Any, kernel: Any) -> None:
    """Unclipped and untruncated, dense decay gives f = 1 / (lambda t) * sum of tau~ k(x, .)."""
    X, y, K = stream
    slow = naive.Learner(K, kernel[0], regularization=3.0)
    sums: list[tuple[float, Any]] = []
    for n, (x, label) in enumerate(zip(X, y, strict=True)):
        _, level, propensity = _ask(slow, x, naive.uniform(0, n), 0.5)
        f = slow.f(x)
        sign = 1 if label > level else -1
        if level < K and sign * (f - slow.thresholds[level - 1]) <= 0:
            sums.append((sign / propensity, x))
        _tell(slow, x, level, propensity, bool(label > level))
    expected = [math.fsum(c * kernel[0](z, x) for c, z in sums) / (3.0 * (slow.t - 1)) for x in X]
    scale = max(math.fsum(abs(c * kernel[0](z, x)) for c, z in sums) for x in X) + 1e-12
    np.testing.assert_allclose([slow.f(x) for x in X], expected, atol=1e-11 * scale)


def _ask(slow: naive.Learner, x: Any, u: float, exploration: float) -> tuple[int, int, float]:
    try:
        return slow.ask(x, u, lambda p, K: naive.triangular(p, K, exploration))
    except naive.Tie:  # either side of a tie will do: both sums follow the same choice
        return 1, 1, naive.triangular(1, slow.n_levels, exploration)[0]


def _tell(slow: naive.Learner, x: Any, level: int, propensity: float, higher: bool) -> None:
    z = (2 * higher - 1) / propensity
    f = slow.f(x)
    slow.step(x, [z if i == level and z * (f - th) <= 0 else 0.0 for i, th in enumerate(slow.thresholds, start=1)])


@some
@given(streams.streams(), streams.kernels, streams.settings(), st.sampled_from([DFORD, PRank, PRIL]))
def test_a_window_that_no_row_leaves_changes_nothing(
    stream: Any, kernel: Any, chosen: dict[str, Any], learner: Any
) -> None:
    X, y, K = stream
    chosen |= {"window": None, "levels": range(1, K + 1)}
    free = learner(**kernel[1], **chosen).fit(X, y)
    windowed = learner(**kernel[1], **chosen | {"window": len(X)}).fit(X, y)
    assert (free.thresholds_ == windowed.thresholds_).all()
    assert (free.predict_projection(X) == windowed.predict_projection(X)).all()


@some
@given(streams.streams(), streams.kernels, streams.settings(), st.floats(1e-3, 1e3))
def test_lambda_never_changes_a_prediction(stream: Any, kernel: Any, chosen: dict[str, Any], other: float) -> None:
    X, y, K = stream
    chosen |= {"levels": range(1, K + 1), "regularization": 1.0}
    one = DFORD(**kernel[1], **chosen).fit(X, y)
    two = DFORD(**kernel[1], **chosen | {"regularization": other}).fit(X, y)
    assert (one._form.state == two._form.state).all()
    assert (one.predict(X) == two.predict(X)).all()
    np.testing.assert_allclose(two.thresholds_ * other, one.thresholds_, rtol=1e-12)
    np.testing.assert_allclose(two.trace_.regret * other, one.trace_.regret, rtol=1e-12)


@given(streams.seeds, st.integers(2, 8), st.integers(1, 6))
def test_pril_under_directions_is_greedy_dford_once_an_answer_was_yes(seed: int, K: int, d: int) -> None:
    """Until then all thresholds are 0 and tie with the score; a "no" moves one of them for DFORD, all for PRIL."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(200, d)), random.integers(1, K + 1, size=200)
    y[0] = K
    greedy = DFORD(policy=Greedy(), levels=range(1, K + 1)).fit(X, y)
    pril = PRIL(levels=range(1, K + 1)).fit(X, y)
    assert (greedy._form.state == pril._form.state).all()
    y[0] = 1
    if K > 2:
        greedy, pril = greedy.fit(X[:1], y[:1]), pril.fit(X[:1], y[:1])
        assert (np.array([greedy.thresholds_, pril.thresholds_]) > 0).sum(axis=1).tolist() == [1, K - 1]


@given(streams.seeds)
def test_pril_under_directions_only_pushes_predictions_up(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(300, 3)), random.integers(1, 6, size=300)
    y[0] = 5
    model = PRIL(levels=range(1, 6))
    before = np.zeros(4)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        model.tell(question, bool(label > question.level))
        assert (model._form.cuts <= before).all()
        before = model._form.cuts.copy()


def adversary(n: int, K: int, d: int) -> tuple[Any, Any]:
    """The same row with the two extreme labels in turn, then its opposite: every step is a mistake."""
    x = np.ones(d) / math.sqrt(d)
    X = np.array([x if t % 4 < 2 else -x for t in range(n)])
    return X, np.where(np.arange(n) % 2 == 0, 1, K)


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "poly"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("exploration", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("regularization", [0.1, 4.0])
@pytest.mark.parametrize("stream", ["adversary", "random", "synthetic"])
def test_expected_regret_stays_below_theorems_2_and_3(
    kernel: dict[str, Any], exploration: float, regularization: float, stream: str
) -> None:
    n, K = 600, 5
    X, y = make_synthetic(n, random_state=1)
    if stream == "adversary":
        X, y = adversary(n, K, 3)
    elif stream == "random":
        y = np.random.default_rng(1).integers(1, K + 1, size=n)
    runs = [
        DFORD(
            exploration=exploration, regularization=regularization, levels=range(1, K + 1), random_state=s, **kernel
        ).fit(X, y).trace_
        for s in range(8)
    ]  # fmt: skip
    regret, bound = np.mean([run.regret for run in runs], axis=0), runs[0].bound
    later = runs[0].round >= 2  # at t = 1 the bound is that of ln 2, over a loss of 0
    assert (regret[later] < bound[later]).all()
    assert regret[-1] > 0


def test_the_bound_is_that_of_the_theorems() -> None:
    X, y = make_synthetic(100, random_state=0)
    trace = DFORD(exploration=0.4, regularization=2.0, random_state=0).fit(X, y).trace_
    R2, K, T = (X**2).sum(axis=1).max(), 5, 101
    assert trace.bound[-1] == pytest.approx(16 * K**2 * (R2 + 1) * math.log(K) * math.log(T) / (2.0 * 0.4))
    assert np.isnan(DFORD(policy=Boundary(0.2)).fit(X, y).trace_.bound).all()
    assert np.isnan(PRank().fit(X, y).trace_.bound).all()


def test_zero_loses_nothing_so_the_cumulative_loss_is_the_regret() -> None:
    slow = naive.Learner(5)
    assert all(slow.loss([1.0, 2.0], y, y) == 0 for y in range(1, 6))


@some
@given(streams.streams(), streams.kernels, streams.settings(), st.sampled_from([DFORD, PRank]))
def test_the_running_norm_is_that_of_the_gram_matrix(
    stream: Any, kernel: Any, chosen: dict[str, Any], learner: Any
) -> None:
    X, y, K = stream
    chosen |= {"window": chosen["window"] or 1000}
    model = learner(**kernel[1], **chosen, levels=range(1, K + 1)).fit(X, y)
    form = model._form
    assert isinstance(form, (Explicit, Direct))
    rows, terms, _ = form.live()
    rows = rows.T if form.by_column else rows
    pairs = list(zip(terms[0], rows, strict=True))
    gram = math.fsum(a * b * kernel[0](x, z) for a, x in pairs for b, z in pairs)
    # the sum may be far smaller than what was added and subtracted in it
    size = 1 + max(abs(c) for c in (*terms[0], 1)) ** 2 * max(kernel[0](x, x) for x in X) * len(X) ** 2
    assert form.state[rounds.NORM] == pytest.approx(gram, rel=1e-6, abs=1e-10 * size)


@given(st.integers(2, 9), streams.seeds, st.floats(-3, 3))
def test_ordered_prediction_is_the_min_rule_on_isotonic_thresholds(K: int, seed: int, f: float) -> None:
    cuts = np.random.default_rng(seed).normal(size=K - 1)
    projected = isotonic_regression(cuts)
    assert rounds.ordered_level_of(f, cuts, 0, K) == 1 + (projected < f).sum()
    assert all(a <= b for a, b in pairwise(projected))


def test_ordered_leaves_the_count_of_crossings_to_the_raw_thresholds() -> None:
    X, y = make_synthetic(2000, random_state=0)
    model = DFORD(ordered=True, random_state=0).fit(X, y)
    assert model.trace_.crossings[-1] > 0
    assert (np.diff(model.thresholds_) >= 0).all()
    numbers = 1 + (model.predict_projection(X)[:, None] > model.thresholds_).sum(axis=1)
    assert (model.predict(X) == numbers).mean() > 0.999  # except for scores within rounding of a threshold
