"""Trees: grown as a plain program grows them, to the bit, and as good as others'."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import naive_trees
from dford.datasets import make_synthetic
from dford.engine import binning
from dford.learners._trees import grower
from dford.learners._trees.forest import Trees
from dford.learners._trees.grower import Grower, Growth, grow, work_of

KINDS = ["numbers", "ties", "counts", "waves", "categories", "constant"]


def column(random: np.random.Generator, kind: str, n: int) -> Any:
    if kind == "numbers":
        return random.normal(size=n)
    if kind == "ties":
        return random.integers(0, 5, size=n) / 3
    if kind == "counts":  # sparse, and some of it too rare to split
        return (random.random(n) < random.choice([0.02, 0.15])) * random.integers(1, 4, size=n)
    if kind == "waves":  # a value of its own between others
        return np.where(random.random(n) < 0.7, 0.0, random.normal(size=n))
    if kind == "categories":
        return random.integers(0, 12, size=n)
    return np.full(n, 2.0)


@st.composite
def logs(draw: st.DrawFn) -> tuple[Any, Any, Any, set[int]]:
    """Rows of all kinds of columns, levels asked, answers, and which columns are categories."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=7))
    n, n_levels = draw(st.integers(25, 160)), draw(st.integers(2, 5))
    Z = np.column_stack([column(random, kind, n) for kind in kinds]).astype(float)
    for j in draw(st.sets(st.integers(0, len(kinds) - 1))):
        Z[random.random(n) < 0.25, j] = np.nan
    if draw(st.booleans()):
        Z = np.column_stack([Z, Z[:, 0]])  # equal gains: the first column wins
        kinds.append(kinds[0])
    level = random.integers(1, n_levels, size=n) if n_levels > 2 else np.ones(n, dtype=int)
    score = np.nan_to_num(Z) @ random.normal(size=len(kinds)) + random.normal(size=n)
    higher = (score - score.mean()) / score.std() + n_levels / 2 > level
    higher[:2] = True, False
    return Z, level, higher, {j for j, kind in enumerate(kinds) if kind == "categories"}


@settings(max_examples=30)
@given(logs(), st.integers(1, 24), st.integers(2, 12), st.sampled_from([0.0, 0.3, 1.0]))
def test_trees_are_those_of_a_plain_program_to_the_bit(log: Any, least: int, leaves: int, l2: float) -> None:
    Z, level, higher, categorical = log
    agree(Z, level, higher, categorical, least, leaves, l2)


@pytest.mark.parametrize("usual", [0.0, np.nan])
def test_columns_of_mostly_one_value_have_few_bins(usual: float) -> None:
    random = np.random.default_rng(0)
    Z = random.normal(size=(1200, 2))
    Z[random.random(1200) < 0.8, 0] = usual
    level = random.integers(1, 4, size=1200)
    agree(Z, level, np.nan_to_num(Z).sum(axis=1) + 2.0 > level, set(), 5, 8, 1.0)
    edges = [naive_trees.edges(column, binning.bins_for(1200, 3)) for column in Z.T.tolist()]
    assert len(edges[0]) < 64 < len(edges[1])


def agree(Z: Any, level: Any, higher: Any, categorical: set[int], least: int, leaves: int, l2: float) -> None:
    trees = grow(Growth(3, 0.1, leaves, least, l2, tuple(sorted(categorical))), Z, level, higher)
    codes = Z.copy()
    for j in categorical:
        known = ~np.isnan(Z[:, j])
        codes[known, j] = np.searchsorted(np.unique(Z[known, j]), Z[known, j])
    limit = binning.bins_for(*codes.shape)
    numbers, links, sets, logits = naive_trees.grow(codes, level, higher, 3, 0.1, least, leaves, l2, limit, categorical)
    assert trees.numbers.tolist() == numbers
    assert trees.links.tolist() == links
    assert [np.flatnonzero(np.unpackbits(own, bitorder="little")).tolist() for own in trees.sets] == sets
    n_levels = int(level.max()) + 1
    assert trees.logits(Z, n_levels)[np.arange(len(Z)), level - 1].tolist() == logits.tolist()


def same(one: Trees, other: Trees) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Trees._fields)


def questions(n: int, d: int = 6, seed: int = 0) -> tuple[Any, Any, Any]:
    """Many columns, mostly zeros, a few of numbers; levels asked and answers."""
    random = np.random.default_rng(seed)
    Z = random.poisson(0.1, size=(n, d)).astype(float)
    Z[:, : d // 2] = random.normal(size=(n, d // 2))
    level = random.integers(1, 5, size=n)
    return Z, level, 2.5 + Z[:, 0] + Z[:, -1] - Z[:, -2] + random.normal(size=n) > level


def test_a_slice_at_a_time_gives_the_same_trees() -> None:
    Z, level, higher = questions(500, 300)
    whole = grow(Growth(8), Z, level, higher)
    grower = Grower(Growth(8), 300, lambda first, out: binning.take(Z, first, 0, out), level, higher)
    steps = []
    while not grower.done:
        before = grower.work
        grower.advance(10_000)
        steps.append(grower.work - before)
    assert same(grower.finish(), whole)
    assert len(steps) > 100
    assert max(steps) < 1_000_000  # one more block of columns, or the gradients of all rows, and no more


def test_histograms_that_do_not_fit_are_summed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, level, higher = questions(500, 20)
    whole = grow(Growth(8, min_samples_leaf=5), Z, level, higher)
    monkeypatch.setattr(grower, "_POOL", 0)
    assert same(grow(Growth(8, min_samples_leaf=5), Z, level, higher), whole)


def test_the_order_of_rows_changes_nothing() -> None:
    Z, level, higher = questions(500, 12)
    mixed = np.random.default_rng(1).permutation(500)
    assert same(grow(Growth(8), Z[mixed], level[mixed], higher[mixed]), grow(Growth(8), Z, level, higher))


def test_trees_are_as_good_as_those_of_scikit_learn() -> None:
    errors, rows = [], 1500
    for seed in range(3):
        X, y = make_synthetic(rows + 2000, random_state=seed)
        level = np.random.default_rng(seed).integers(1, 5, size=rows)
        trees = grow(Growth(), X[:rows], level, y[:rows] > level)
        with threadpool_limits(1):  # its threads wait for each other longer than they work
            other = HistGradientBoostingClassifier(
                l2_regularization=1.0, monotonic_cst=[0, 0, -1], early_stopping=False, random_state=0
            ).fit(np.column_stack([X[:rows], level]), y[:rows] > level)
        rest, right = X[rows:], y[rows:]
        theirs = [other.decision_function(np.column_stack([rest, np.full(2000, i)])) > 0 for i in range(1, 5)]
        ours = trees.logits(rest, 5).T > 0
        errors.append([np.abs(1 + np.sum(above, axis=0) - right).mean() for above in (ours, theirs)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 1.03 * theirs


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_no_row_is_likelier_above_a_higher_level(seed: int) -> None:
    Z, level, higher = questions(300, seed=seed)
    assert (np.diff(grow(Growth(20), Z, level, higher).logits(Z, 5), axis=1) <= 0).all()


def test_the_number_of_leaves_may_be_unlimited() -> None:
    Z, level, higher = questions(400)
    trees = grow(Growth(2, max_leaf_nodes=None, min_samples_leaf=1, l2_regularization=0.0), Z, level, higher)
    assert (trees.links[:, 0] < 0).sum() > 100


def test_if_nothing_can_be_split_only_the_share_of_answers_counts() -> None:
    Z, level, higher = np.ones((60, 3)), np.ones(60, dtype=int), np.arange(60) % 3 == 0
    trees = grow(Growth(), Z, level, higher)
    assert not trees.roots.size
    assert trees.logits(Z, 2)[0, 0] == pytest.approx(-np.log(2))


def test_of_more_categories_than_trees_can_tell_apart_the_rarest_count_as_missing() -> None:
    random = np.random.default_rng(0)
    Z = random.integers(0, 400, size=(5000, 1)).astype(float)
    Z[:3000] %= 50
    trees = grow(Growth(max_iter=3, categorical=(0,)), Z, np.ones(5000, dtype=int), Z[:, 0] % 2 == 0)
    assert len(trees.categories) == 254
    assert set(range(50)) <= set(trees.categories[:, 1])


@pytest.mark.parametrize(("n", "d"), [(200, 10), (200, 300), (2000, 10), (3000, 100)])
def test_the_work_is_known_before_it_is_done(n: int, d: int) -> None:
    """Enough that no answer waits for more than its share, but not so much that trees come late for nothing."""
    random = np.random.default_rng(0)
    Z, level = random.normal(size=(n, d)), random.integers(1, 5, size=n)
    grower = Grower(Growth(20), d, lambda first, out: binning.take(Z, first, 0, out), level, Z[:, 0] + 2.5 > level)
    grower.finish()
    assert 0.2 * work_of(Growth(20), n, d) < grower.work < work_of(Growth(20), n, d)
