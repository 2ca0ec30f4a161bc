"""Boosted trees over a log of answers: grown by scikit-learn, kept as plain arrays, evaluated by the engine."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.engine import elementary, trees
from dford.engine._compiled import Floats, Ints

_MOST_CATEGORIES = 254  # what histogram boosting can tell apart; rarer ones count as missing


class Growth(NamedTuple):
    """How trees are grown; the words are those of scikit-learn's histogram boosting."""

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    min_samples_leaf: int = 20
    # one unit keeps the leaves of short logs from certainty
    l2_regularization: float = 1.0
    categorical: tuple[int, ...] = ()


class Trees(NamedTuple):
    """A grown forest. One without trees and base is the scale itself: half of the levels are above the middle one."""

    numbers: Floats
    links: Ints
    sets: NDArray[np.uint8]
    roots: Ints
    base: Floats  # one number
    categories: Floats  # rows (column, value): a value's code is its place among those of its column

    def logits(self, Z: Floats, n_levels: int) -> Floats:
        """The log-odds that each row is above levels 1..K-1."""
        if not self.roots.size and not self.base[0]:
            return np.tile(elementary.logs(np.arange(n_levels - 1, 0, -1) / np.arange(1, n_levels)), (len(Z), 1))
        Z = np.ascontiguousarray(self.encode(Z))
        return trees.logits(self.numbers, self.links, self.sets, self.roots, self.base[0], Z, n_levels)

    def encode(self, Z: Floats) -> Floats:
        """Categories as codes; those not known as missing."""
        if not self.categories.size:
            return Z
        Z = Z.copy()
        for column in np.unique(self.categories[:, 0]).astype(int):
            known = self.categories[self.categories[:, 0] == column, 1]
            code = np.minimum(np.searchsorted(known, Z[:, column]), len(known) - 1)
            Z[:, column] = np.where(known[code] == Z[:, column], code, np.nan)
        return Z

    def check(self, n_columns: int) -> None:
        """Compiled code trusts these; they may come from a file."""
        n, m = len(self.numbers), len(self.sets)
        shapes = [array.shape for array in self]
        fits = shapes[:5] == [(n,), (n, 4), (m, 32), (len(self.roots),), (1,)] and shapes[5][1:] == (2,)
        if fits:
            feature, left, right, guide = self.links.T
            forward = (np.minimum(left, right) > np.arange(n)) & (np.maximum(left, right) < n)
            fits = bool(
                ((feature >= -1) & (feature <= n_columns)).all()
                and (forward | (feature < 0)).all()
                and ((guide >= 0) & (guide >> 1 <= m)).all()
                and ((self.roots >= 0) & (self.roots < n)).all()
                and ((self.categories[:, 0] >= 0) & (self.categories[:, 0] < n_columns)).all()
                and np.isfinite(self.base).all()
                and not np.isnan(self.numbers).any()
            )
        if not fits:
            raise ValueError("the trees have links or numbers that no forest could have")


def no_trees() -> Trees:
    nothing = np.empty(0)
    return Trees(
        nothing,
        np.empty((0, 4), np.int64),
        np.empty((0, 32), np.uint8),
        np.empty(0, np.int64),
        np.zeros(1),
        np.empty((0, 2)),
    )


def grow(growth: Growth, Z: Floats, level: Ints, higher: NDArray[np.bool_]) -> Trees:
    """Trees for (row, level asked) -> higher, falling with the level.

    None where all answers are the same: then another is believed to come once in as many, and one more.
    """
    if higher.all() or not higher.any():
        odds = elementary.logs(np.array([len(higher) + 1.0]))[0]
        return no_trees()._replace(base=np.array([odds if higher.all() else -odds]))
    from sklearn.ensemble import HistGradientBoostingClassifier  # half a second, which few imports need
    from threadpoolctl import threadpool_limits

    known = no_trees()._replace(categories=_categories(Z, growth.categorical))
    is_category = np.isin(np.arange(Z.shape[1] + 1), growth.categorical)
    model = HistGradientBoostingClassifier(
        max_iter=growth.max_iter,
        learning_rate=growth.learning_rate,
        max_leaf_nodes=growth.max_leaf_nodes,
        min_samples_leaf=growth.min_samples_leaf,
        l2_regularization=growth.l2_regularization,
        monotonic_cst=[0] * Z.shape[1] + [-1],
        categorical_features=is_category if is_category.any() else None,
        early_stopping=False,
        random_state=0,
    )
    # on logs of this size threads wait for each other longer than they work
    with threadpool_limits(1, "openmp"):
        model.fit(np.column_stack([known.encode(Z), level]), higher)
    # scikit-learn puts categorical columns first
    places = np.argsort(~is_category, kind="stable") if is_category.any() else np.arange(Z.shape[1] + 1)
    return _flatten(model, places, known.categories)


def _categories(Z: Floats, columns: tuple[int, ...]) -> Floats:
    rows: list[Floats] = []
    for column in columns:
        values, counts = np.unique(Z[:, column][~np.isnan(Z[:, column])], return_counts=True)
        kept = np.sort(values[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]])
        rows.append(np.column_stack([np.full(len(kept), float(column)), kept]))
    return np.concatenate(rows) if rows else np.empty((0, 2))


def _flatten(model: Any, places: Ints, categories: Floats) -> Trees:
    numbers, links, sets, roots = [], [], [], []
    n = m = 0
    for (tree,) in model._predictors:
        nodes = tree.nodes
        leaf = nodes["is_leaf"].astype(bool)
        numbers.append(np.where(leaf, nodes["value"], nodes["num_threshold"]))
        guide = nodes["missing_go_to_left"] + 2 * np.where(nodes["is_categorical"], nodes["bitset_idx"] + 1 + m, 0)
        columns = [places[nodes["feature_idx"]], nodes["left"] + n, nodes["right"] + n, guide]
        links.append(np.where(leaf[:, None], [-1, 0, 0, 0], np.stack(columns, axis=1).astype(np.int64)))
        sets.append(np.ascontiguousarray(tree.raw_left_cat_bitsets, dtype="<u4").view(np.uint8).reshape(-1, 32))
        roots.append(n)
        n, m = n + len(nodes), m + len(sets[-1])
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)[:1]
    return Trees(
        np.concatenate(numbers), np.concatenate(links), np.concatenate(sets), np.array(roots), base, categories
    )
