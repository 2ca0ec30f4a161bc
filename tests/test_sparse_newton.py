"""NewtonLogit on sparse rows: right, one stream of bits, and no costlier or more forgetful than its rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dford
import naive
import naive_newton
import streams
from dford import Boundary, NewtonLogit
from dford.learners._forms.sparse_newton import SparseNewtonForm

few = settings(max_examples=20)


def bits(model: Any) -> dict[str, bytes]:
    assert isinstance(model._form, SparseNewtonForm)
    return {name: array.tobytes() for name, array in model._form.arrays().items()}


def sample(n: int = 300, d: int = 30) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = sparse.random(n, d, 0.2, "csr", rng=random, data_rvs=random.standard_normal)
    return X, 1 + np.digitize(X @ random.normal(size=d), [-1.0, 0.0, 1.0])


def slow_one(K: int, d: int) -> naive_newton.NewtonLogit:
    form = NewtonLogit()._new_form(d, K, is_sparse=True)
    assert isinstance(form, SparseNewtonForm)
    return naive_newton.NewtonLogit(K, d, "sparse", False, form.covariance)


def agree(model: NewtonLogit, slow: naive_newton.NewtonLogit, X: Any) -> None:
    form = model._form
    assert isinstance(form, SparseNewtonForm)
    np.testing.assert_allclose(model.thresholds_, slow.thresholds, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict_projection(X), [slow.f(x) for x in X.toarray()], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(form.covariance, np.diag(slow.covariance), rtol=1e-4, atol=1e-6)
    spread = [slow.phi(x) @ slow.covariance[slow.K - 1 :, slow.K - 1 :] @ slow.phi(x) for x in X.toarray()]
    np.testing.assert_allclose(form.variances(X), spread, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=streams.N_STREAMS)
@given(streams.streams(max_rounds=25), streams.seeds)
def test_it_decides_like_the_slow_one_on_answers(stream: Any, seed: int) -> None:
    X, y, K = stream
    rows, policy = sparse.csr_matrix(X), Boundary(0.4)
    model = NewtonLogit(levels=range(1, K + 1), policy=policy, random_state=seed)
    slow = slow_one(K, X.shape[1])
    for n, x in enumerate(X):
        question = model.ask(rows[n])
        try:
            prediction = slow.predict(x)
        except naive.Tie:
            return
        assert question.prediction == prediction
        higher = bool(y[n] > question.level)
        model.tell(question, higher)
        slow.bit(x, question.level, higher)
        slow.see(x)
    agree(model, slow, rows)


@pytest.mark.slow
@settings(max_examples=streams.N_STREAMS)
@given(streams.streams(max_rounds=25), streams.seeds)
def test_it_decides_like_the_slow_one_on_intervals(stream: Any, seed: int) -> None:
    X, y, K = stream
    rows = sparse.csr_matrix(X)
    ends = np.random.default_rng(seed).integers(1, K + 1, size=(2, len(X)))
    intervals = np.stack([np.minimum(y, ends[0]), np.maximum(y, ends[1])], axis=1)
    model, slow = NewtonLogit(levels=range(1, K + 1)), slow_one(K, X.shape[1])
    for n, x in enumerate(X):
        try:
            prediction = slow.predict(x)
        except naive.Tie:
            return
        if n:
            assert model.predict(rows[n : n + 1])[0] == prediction
        model.partial_fit(rows[n : n + 1], intervals[n : n + 1])
        slow.interval(x, *intervals[n])
        slow.see(x)
    agree(model, slow, rows)


@pytest.mark.slow
@settings(max_examples=streams.N_STREAMS)
@given(streams.streams(max_rounds=25), streams.seeds, st.sampled_from([0.5, 4.0, np.inf]))
def test_many_answers_and_one_by_one_are_learned_as_the_slow_one_does(stream: Any, seed: int, longest: float) -> None:
    X, y, K = stream
    rows, asked = sparse.csr_matrix(X), np.random.default_rng(seed).integers(1, K, len(X))
    forms = [SparseNewtonForm(0.0, X.shape[1], longest) for _ in range(2)]
    for form in forms:
        form.start(K)
    slow = naive_newton.NewtonLogit(K, X.shape[1], "sparse", False, forms[0].covariance.copy(), longest)
    scores, cuts = forms[0].learn_many(rows, asked, y > asked)
    for n, x in enumerate(X):
        np.testing.assert_allclose(cuts[n], slow.thresholds, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scores[n], slow.f(x), rtol=1e-4, atol=1e-5)
        assert forms[1].score_one(rows[n]) == scores[n]
        forms[1].learn_scored(rows[n], scores[n], int(asked[n]), bool(y[n] > asked[n]))
        slow.bit(x, int(asked[n]), bool(y[n] > asked[n]))
        slow.see(x)
    np.testing.assert_allclose(cuts[-1], slow.thresholds, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(forms[0].covariance, np.diag(slow.covariance), rtol=1e-4, atol=1e-6)
    assert {n: a.tobytes() for n, a in forms[0].arrays().items()} == {
        n: a.tobytes() for n, a in forms[1].arrays().items()
    }


@few
@given(streams.streams(), streams.seeds, st.sampled_from([0.0, 0.05]), st.floats(0, 1))
def test_a_batch_live_rounds_a_file_and_dense_rows_later_give_the_same_bits(
    tmp_path_factory: pytest.TempPathFactory, stream: Any, seed: int, forget: float, cut: float
) -> None:
    X, y, K = stream
    rows = sparse.csr_matrix(X)
    chosen: dict[str, Any] = {"levels": list(range(1, K + 1)), "forget": forget, "random_state": seed}
    batch, live = NewtonLogit(**chosen).fit(rows, y), NewtonLogit(**chosen)
    for n in range(len(X)):
        question = live.ask(rows[n] if n % 2 == 0 else X[n])
        live.tell(question, bool(y[n] > question.level))
    assert (live.thresholds_ == batch.thresholds_).all()
    assert bits(live)["covariance"] == bits(batch)["covariance"]
    middle = 1 + int(cut * (len(X) - 1))
    path = tmp_path_factory.mktemp("models") / "model"
    NewtonLogit(**chosen).fit(rows[:middle], y[:middle]).save(path)
    resumed: Any = dford.load(path)
    if middle < len(X):
        resumed.partial_fit(X[middle:], y[middle:])
    assert bits(resumed) == bits(batch)
    assert (resumed.predict_proba(X) == batch.predict_proba(rows)).all()


def test_open_questions_of_both_kinds_survive_a_restart(tmp_path: Path) -> None:
    X, y = sample()
    model: Any = NewtonLogit(levels=[1, 2, 3, 4], random_state=0)
    asked = [model.ask(X[n] if n % 2 == 0 else X[n].toarray()[0]) for n in range(20)]
    model.save(tmp_path / "model")
    loaded: Any = dford.load(tmp_path / "model")
    for question in asked:
        for one in (model, loaded):
            one.tell(one.open_questions_[question.id], bool(y[question.round] > question.level))
    assert bits(model) == bits(loaded)


def test_a_stored_zero_and_the_order_of_entries_change_nothing() -> None:
    X, y = sample()
    filled = X.toarray()
    filled[filled == 0] = 7.0
    stored = sparse.csr_matrix(filled)
    stored.data[stored.data == 7.0] = 0.0
    turned = X.copy()
    for r in range(X.shape[0]):
        part = slice(X.indptr[r], X.indptr[r + 1])
        turned.data[part], turned.indices[part] = X.data[part][::-1], X.indices[part][::-1]
    turned.has_sorted_indices = False
    for forget in (0.0, 0.05):
        one = NewtonLogit(forget=forget, random_state=0).fit(X, y)
        for rows in (stored, turned):
            assert bits(NewtonLogit(forget=forget, random_state=0).fit(rows, y)) == bits(one)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_a_feature_does_not_matter(scale: float) -> None:
    X, y = sample(2000)
    other = X @ sparse.diags([scale, *np.ones(X.shape[1] - 1)])
    one, two = (NewtonLogit(random_state=0).fit(rows, y) for rows in (X, other.tocsr()))
    np.testing.assert_allclose(one.thresholds_, two.thresholds_, rtol=1e-6)
    assert -one.score(X, y) < 0.5 * np.abs(y - np.median(y)).mean()


def test_forgetting_forever_stays_finite_and_leaves_alone_what_is_not_seen() -> None:
    X, y = sample(20_000)
    X = sparse.hstack([X, sparse.csr_matrix(np.arange(20_000)[:, None] < 50)], "csr")
    model = NewtonLogit(forget=0.1, random_state=0).fit(X[:50], y[:50])
    form = model._form
    assert isinstance(form, SparseNewtonForm)
    rare = form.covariance[-1]
    model.partial_fit(X[50:], y[50:])
    assert form.covariance[-1] == rare
    assert np.isfinite(form.state).all()
    assert (form.covariance <= NewtonLogit()._new_form(31, 4, is_sparse=True).covariance).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [1e49, 1e-160, 1e-300, 5e-324])
def test_large_and_tiny_rows_leave_a_finite_state(size: float) -> None:
    X, y = sample()
    model = NewtonLogit(random_state=0).fit(X, y).partial_fit(X * size, y)
    assert all(np.isfinite(array).all() for array in model._form.arrays().values())
    assert np.isfinite(model.predict_proba(X * size)).all()
    assert (np.diff(model.thresholds_) >= 0).all()


def test_river_dicts_are_sparse_rows_and_new_features_and_levels_are_added() -> None:
    pytest.importorskip("river", reason="River is not installed")
    from dford.river import Ordinal

    X, y = sample()
    model = NewtonLogit(covariance="diagonal", levels=[1, 2, 3, 4], random_state=0)
    array, stream, growing = model.fit(X, y), Ordinal(model), Ordinal(NewtonLogit(covariance="diagonal"))
    wide = sparse.hstack([X, X * 2.0, X, X, X], "csr")  # 150 features, past the room made at first
    for n in range(X.shape[0]):
        row = dict(zip(X[n].indices.tolist(), X[n].data.tolist(), strict=True))
        stream.learn_one(row, int(y[n]))
        growing.learn_one(row if n < 100 else dict(enumerate(wide[n].toarray()[0])), int(y[n]) if n > 50 else n % 2)
    assert isinstance(stream._model._form, SparseNewtonForm)  # type: ignore[union-attr]
    np.testing.assert_allclose(stream._model.thresholds_, array.thresholds_, rtol=1e-9)  # type: ignore[union-attr]
    grown: Any = growing._model
    assert grown.n_features_in_ >= 150
    assert grown.classes_.tolist() == [0, 1, 2, 3, 4]
    assert (np.diff(grown.thresholds_) >= 0).all()
    assert np.isfinite(grown._form.covariance).all()


def test_what_all_rows_share_changes_little() -> None:
    """Like the words of a template: one direction in many features, which a diagonal takes for many."""
    X, y = sample(600)
    shared = sparse.hstack([X, np.ones((600, 60))], "csr")
    plain, templated = (NewtonLogit(covariance="diagonal", random_state=0).fit(rows, y) for rows in (X, shared))
    assert np.abs(plain.predict(X) - templated.predict(shared)).mean() < 0.1
    # and while it learns: no block of answers is predicted much worse because of it
    errors = [np.diff(one.trace_.mae * one.trace_.round) / np.diff(one.trace_.round) for one in (plain, templated)]
    assert (errors[1] - errors[0])[-5:].max() < 0.2


def test_numbers_that_all_rows_have_are_learned_from() -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((600, 3))
    y = 1 + np.digitize(X @ [1.0, -2.0, 0.5], [-1.0, 0.0, 1.0])
    model = NewtonLogit(covariance="diagonal", random_state=0).fit(sparse.csr_matrix(X), y)
    assert np.abs(model.predict(sparse.csr_matrix(X)) - y).mean() < 0.3
