"""Boosted trees over a log of answers, as plain arrays, evaluated by the engine."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine import trees
from dford.engine.elementary import logs


class Trees(NamedTuple):
    """A grown forest. Without trees and base, all levels are equally likely."""

    numbers: Floats
    links: Ints
    sets: NDArray[np.uint8]
    roots: Ints
    base: Floats  # one number
    categories: Floats  # rows of (column, value): a value's code is its place among those of its column

    def logits(self, Z: Floats, n_levels: int) -> Floats:
        """The log-odds that each row is above levels 1..K-1."""
        if not self.roots.size and not self.base[0]:
            return np.tile(logs(np.arange(n_levels - 1, 0, -1) / np.arange(1, n_levels)), (len(Z), 1))
        Z = np.ascontiguousarray(self.encode(Z))
        return trees.logits(self.numbers, self.links, self.sets, self.roots, self.base[0], Z, n_levels)

    def encode(self, Z: Floats) -> Floats:
        """Categories as codes; unknown ones as missing."""
        if not self.categories.size:
            return Z
        Z = Z.copy()
        for column in np.unique(self.categories[:, 0]).astype(int):
            Z[:, column] = codes(Z[:, column], self.categories[self.categories[:, 0] == column, 1])
        return Z

    def check(self, n_columns: int) -> None:
        """Check the links, which may come from a file: compiled code trusts them."""
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
            )
        if not fits:
            raise ValueError("the trees have invalid links")


def codes(values: Floats, known: Floats) -> Floats:
    """The places of values among the known ones; NaN for unknown values."""
    place = np.minimum(np.searchsorted(known, values), max(len(known) - 1, 0))
    return np.where(known[place] == values, place, np.nan) if len(known) else np.full(len(values), np.nan)


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
