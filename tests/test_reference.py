"""Every compiled path against the naive reference, decision for decision."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

import naive
import streams
from dford import DFORD, PRIL, Boundary, PRank, Triangular, Uniform
from dford.learners._forms import windows

pytestmark = pytest.mark.slow
many = settings(max_examples=streams.N_STREAMS)


def agree(model: Any, slow: naive.Learner, X: NDArray[np.float64]) -> None:
    """Same parameters up to rounding, which grows with the size of the numbers."""
    scale = 1e-3 + max(slow.sizes)
    np.testing.assert_allclose(model.thresholds_, slow.thresholds, rtol=1e-6, atol=1e-9 * scale)
    scores = np.array([slow.f(x) for x in X])
    # a window's sum is kept by adding and subtracting, so its rounding is that of the largest sum it has been
    np.testing.assert_allclose(
        model.predict_projection(X), scores, rtol=1e-6, atol=1e-7 * (scale + np.abs(scores).max())
    )


def play_live(
    model: Any, slow: naive.Learner, X: Any, y: NDArray[np.int64], K: int, seed: int, probabilities: Any, dford: bool
) -> None:
    dense = X.toarray() if sparse.issparse(X) else X
    for n, x in enumerate(dense):
        try:
            prediction, level, propensity = slow.ask(x, naive.uniform(seed, n), probabilities)
        except naive.Tie:
            return
        question = model.ask(X[n])
        assert (question.prediction, question.level) == (prediction, level)
        assert question.propensity == pytest.approx(propensity, rel=1e-12)
        higher = bool(y[n] > level)
        try:
            if dford:
                slow.tell_dford(x, level, propensity, higher)
            else:
                slow.learn_interval(x, *((level + 1, K) if higher else (1, level)))
        except naive.Tie:
            return
        model.tell(question, higher)
    agree(model, slow, dense)


def triangular(exploration: float) -> Callable[[int, int], list[float]]:
    return lambda p, K: naive.triangular(p, K, exploration)


@many
@given(streams.streams(), streams.kernels, streams.settings(), st.sampled_from([0.0, 0.2, 0.7, 1.0]))
def test_dford_decides_as_in_the_paper(stream: Any, kernel: Any, chosen: dict[str, Any], exploration: float) -> None:
    X, y, K = stream
    model = DFORD(exploration=exploration, levels=range(1, K + 1), **kernel[1], **chosen)
    slow = streams.reference(K, kernel[0], chosen)
    play_live(model, slow, X, y, K, chosen["random_state"], triangular(exploration), dford=True)


@many
@given(streams.streams(), streams.settings())
def test_dford_decides_as_in_the_paper_on_sparse_rows(stream: Any, chosen: dict[str, Any]) -> None:
    X, y, K = stream
    chosen |= {"window": None}
    model = DFORD(exploration=0.5, levels=range(1, K + 1), **chosen)
    slow = streams.reference(K, naive.linear, chosen)
    rows = sparse.csr_matrix(X)
    play_live(model, slow, rows, y, K, chosen["random_state"], triangular(0.5), dford=True)


@many
@given(streams.streams(max_rounds=25), streams.settings(), st.sampled_from([0.3, 1.0]))
def test_dford_decides_as_in_the_paper_with_a_kernel_that_is_a_function(
    stream: Any, chosen: dict[str, Any], gamma: float
) -> None:
    X, y, K = stream

    def laplacian(A: Any, B: Any) -> Any:
        return np.exp(-gamma * np.abs(A[:, None] - B[None]).sum(axis=2))

    def plain(x: naive.Row, z: naive.Row) -> float:
        return float(np.exp(-gamma * sum(abs(a - b) for a, b in zip(x, z, strict=True))))

    model = DFORD(exploration=0.5, kernel=laplacian, levels=range(1, K + 1), **chosen)
    slow = streams.reference(K, plain, chosen)
    play_live(model, slow, X, y, K, chosen["random_state"], triangular(0.5), dford=True)


@many
@given(streams.streams(), streams.settings())
def test_dford_decides_as_in_the_paper_where_a_polynomial_is_evaluated_directly(
    stream: Any, chosen: dict[str, Any]
) -> None:
    X, y, K = stream
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "MOST_MONOMIALS", 0)
        model = DFORD(exploration=0.5, kernel="poly", degree=2, levels=range(1, K + 1), **chosen)
        slow = streams.reference(K, naive.poly(2, 1.0, 1.0), chosen)
        play_live(model, slow, X, y, K, chosen["random_state"], triangular(0.5), dford=True)
        assert isinstance(model._form, windows.Direct)


@many
@given(
    streams.streams(),
    streams.kernels,
    streams.settings(),
    st.sampled_from([Triangular(0.3), Uniform(), Boundary(0.2), Boundary(1.0)]),
)
def test_dford_decides_as_in_the_paper_with_any_policy(
    stream: Any, kernel: Any, chosen: dict[str, Any], policy: Any
) -> None:
    X, y, K = stream
    model = DFORD(policy=policy, levels=range(1, K + 1), **kernel[1], **chosen)
    slow = streams.reference(K, kernel[0], chosen)
    play_live(model, slow, X, y, K, chosen["random_state"], policy.probabilities, dford=True)


@many
@given(streams.streams(), streams.kernels, streams.settings())
def test_pril_decides_as_in_the_paper_on_directions(stream: Any, kernel: Any, chosen: dict[str, Any]) -> None:
    X, y, K = stream
    model = PRIL(levels=range(1, K + 1), **kernel[1], **chosen)
    slow = streams.reference(K, kernel[0], chosen)
    play_live(model, slow, X, y, K, 0, lambda p, K: [float(i == p) for i in range(1, K + 1)], dford=False)


@many
@given(streams.streams(), streams.kernels, streams.settings(), streams.seeds, st.booleans())
def test_prank_and_pril_decide_as_in_the_paper_on_labels_and_intervals(
    stream: Any, kernel: Any, chosen: dict[str, Any], seed: int, as_sparse: bool
) -> None:
    X, y, K = stream
    as_sparse = as_sparse and kernel[1]["kernel"] == "linear" and chosen["window"] is None
    ends = np.random.default_rng(seed).integers(1, K + 1, size=(2, len(X)))
    intervals = np.stack([np.minimum(y, ends[0]), np.maximum(y, ends[1])], axis=1)
    labels = np.stack([y, y], axis=1)
    for learner, given_, targets in ((PRank, y, labels), (PRIL, intervals, intervals)):
        model = learner(levels=range(1, K + 1), **kernel[1], **chosen)
        slow = streams.reference(K, kernel[0], chosen)
        try:
            for n, x in enumerate(X):
                prediction = slow.predict(x)
                row = sparse.csr_matrix(x[None]) if as_sparse else x[None]
                if n:
                    assert model.predict(row)[0] == prediction
                slow.learn_interval(x, *targets[n])
                model.partial_fit(row, given_[n : n + 1])
        except naive.Tie:
            continue
        agree(model, slow, X)


@many
@given(streams.streams(max_rounds=25), streams.kernels, streams.settings())
def test_the_trace_is_that_of_the_paper(stream: Any, kernel: Any, chosen: dict[str, Any]) -> None:
    X, y, K = stream
    slow = streams.reference(K, kernel[0], chosen)
    error = asked_error = crossings = loss = 0.0
    try:
        for n, (x, label) in enumerate(zip(X, y, strict=True)):
            prediction, level, propensity = slow.ask(x, naive.uniform(chosen["random_state"], n), triangular(0.4))
            loss += slow.loss(x, label, label)
            error += abs(prediction - label)
            asked_error += abs(level - label)
            pairs = zip(slow.thresholds, slow.thresholds[1:], strict=False)
            crossings += sum(a - b > 1e-12 * max(slow.sizes) for a, b in pairs)
            slow.tell_dford(x, level, propensity, bool(label > level))
    except naive.Tie:
        return
    model = DFORD(exploration=0.4, levels=range(1, K + 1), **kernel[1], **chosen).fit(X, y)
    trace = model.trace_
    assert trace.round[-1] == len(X)
    assert trace.mae[-1] == pytest.approx(error / len(X))
    assert trace.mae_asked[-1] == pytest.approx(asked_error / len(X))
    assert trace.regret[-1] == pytest.approx(loss, rel=1e-6, abs=1e-7)
    assert trace.crossings[-1] == pytest.approx(crossings / len(X))
