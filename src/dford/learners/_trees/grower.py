"""Growing trees, a slice of work at a time."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford.arrays import Floats, Ints
from dford.engine import binning, boosting, splits
from dford.engine.elementary import logs
from dford.learners._trees.forest import Trees, codes, no_trees

_MOST_CATEGORIES = 254  # per column; rarer ones count as missing
_COLUMNS = 16  # binned at a time
_POOL = 2**25  # about this many bytes of histograms are kept; what does not fit is summed again


class Growth(NamedTuple):
    """How trees are grown, in the terms of scikit-learn's histogram boosting."""

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    min_samples_leaf: int = 20
    # keeps the leaves of short logs from certainty
    l2_regularization: float = 1.0
    categorical: tuple[int, ...] = ()


class Grower:
    """Trees for (row, level asked) -> higher, falling with the level.

    `read(first, out)` fills the rows of `out` with the columns from number `first` on. With `origin`, the rows to learn
    from are these rows of the columns.

    If all n answers are the same there are no trees, and the odds of a different one are 1 to n + 1.
    """

    def __init__(
        self,
        growth: Growth,
        n_columns: int,
        read: Callable[[int, Floats], None],
        level: Ints,
        higher: NDArray[np.bool_],
        origin: Ints | None = None,
    ) -> None:
        self._growth, self._n_columns, self._read, self._origin = growth, n_columns, read, origin
        self._level, self._higher = level, np.ascontiguousarray(higher, dtype=np.bool_)
        n, yes = len(higher), int(higher.sum())
        self.done = yes in (0, n)
        self._base = logs(np.array([(yes + self.done) / (n - yes + self.done)]))
        self._categories: list[Floats] = []
        self._next_column = self._binning_work = 0
        self._bins = _Bins(n, n_columns + 1, growth.min_samples_leaf)
        self._growing: boosting.Growing | None = None

    @property
    def work(self) -> int:
        """How much work is done, in nanoseconds or so."""
        return self._binning_work + (0 if self._growing is None else int(self._growing.places[boosting.WORK]))

    def advance(self, work: int) -> None:
        """Continue for about this much work, or to the end."""
        until = self.work + work
        while not self.done and self.work < until:
            if self._next_column <= self._n_columns:
                self._bin_some()
            elif self._growing is None:
                self._begin_growing()
            else:
                self._growing = boosting.with_room(self._growing, self._limits)
                boosting.advance(self._binned, self._limits, self._growing, until - self.work)
                self.done = bool(self._growing.places[boosting.TREE] == self._limits.trees)

    def finish(self) -> Trees:
        """Continue to the end, and return what was grown."""
        self.advance(2**62)
        forest = no_trees()._replace(base=self._base)
        if self._growing is None:
            return forest
        places, growing = self._growing.places, self._growing
        n = places[boosting.WRITTEN]
        return forest._replace(
            numbers=growing.numbers[:n].copy(),
            links=growing.links[:n].copy(),
            sets=growing.sets[: places[boosting.SETS]].copy(),
            roots=growing.roots[: places[boosting.ROOTS]].copy(),
            categories=np.concatenate([forest.categories, *self._categories]),
        )

    def _bin_some(self) -> None:
        first = self._next_column
        self._next_column = min(first + _COLUMNS, self._n_columns + 1)
        numbers = np.arange(first, min(self._next_column, self._n_columns))
        n_rows = len(self._level) if self._origin is None else int(self._origin.max()) + 1
        values = np.empty((len(numbers), n_rows))
        self._read(first, values)
        categorical = np.isin(numbers, self._growth.categorical)
        for j in np.flatnonzero(categorical):
            known = _categories(values[j])
            self._categories.append(np.column_stack([np.full(len(known), float(numbers[j])), known]))
            values[j] = codes(values[j], known)
        if self._origin is not None:
            values = np.take(values, self._origin, axis=1)  # an index would give the other memory order
        if self._next_column > self._n_columns:  # the level is the last column
            values = np.concatenate([values, self._level[None].astype(np.float64)])
            categorical = np.append(categorical, False)
        self._bins.add(first, values, categorical)
        self._binning_work += len(values) * _binning_work(values.shape[1])

    def _begin_growing(self) -> None:
        growth, n = self._growth, len(self._higher)
        self._binned = self._bins.finish(self._higher)
        self._limits = splits.limits_for(
            n, growth.max_iter, growth.max_leaf_nodes, growth.min_samples_leaf, growth.learning_rate,
            growth.l2_regularization, self._n_columns,
        )  # fmt: skip
        self._growing = boosting.begin(self._binned, self._limits, self._base[0], _POOL)


class _Bins:
    """The columns being binned."""

    def __init__(self, n_rows: int, n_columns: int, least: int) -> None:
        self._n_rows, self._least = n_rows, least
        self._limit = binning.bins_for(n_rows, n_columns)
        self._columns = np.empty((n_columns, binning.FIELDS), np.int64)
        self._edges = np.empty((n_columns, binning.MOST_BINS))
        self._words = np.empty(((n_columns + 3) // 4, n_rows), np.uint32)
        self._counters = np.zeros(binning.COUNTERS, np.int64)
        self._rows, self._entries = np.empty(0, np.int32), np.empty(0, np.uint16)
        sampled = min(n_rows, binning.SAMPLE)
        self._scratch = np.empty(sampled), np.empty(max(sampled, 256), np.int64), np.empty(n_rows, np.uint8)
        self._lists = [(0, 0)]  # where each ends: columns, entries

    def add(self, number: int, values: Floats, categorical: NDArray[np.bool_]) -> None:
        """Bin these columns, the first of which has this number."""
        counters = self._counters
        if counters[binning.SPARSE] + len(values) > self._lists[-1][0] + binning.SPARSE_COLUMNS:
            self._end_list()
        most = int(counters[binning.ENTRIES]) + len(values) * (self._n_rows // binning.RARE)
        if most > len(self._rows):
            self._rows, self._entries = np.resize(self._rows, 2 * most), np.resize(self._entries, 2 * most)
        sample = np.sort(values[:, :: 1 + (self._n_rows - 1) // binning.SAMPLE])
        binning.bin_columns(
            values, sample, number, categorical, self._limit, self._least, self._columns, self._edges, counters,
            self._words, self._rows, self._entries, *self._scratch,
        )  # fmt: skip

    def finish(self, higher: NDArray[np.bool_]) -> boosting.Binned:
        self._end_list()
        dense, listed = (int(self._counters[which]) for which in (binning.DENSE, binning.SPARSE))
        columns = np.concatenate([self._columns[:dense], self._columns[len(self._columns) - listed :][::-1]])
        widths = columns[:, binning.BINS] + columns[:, binning.MISSING]
        columns[:, binning.FIRST] = np.cumsum(widths) - widths
        blocks = [(k, min(k + 4, dense), k // 4, 1) for k in range(0, dense, 4)]
        starts = np.empty((len(self._lists) - 1, self._n_rows + 1), np.int64)
        by_rows = np.empty(self._counters[binning.ENTRIES], np.uint16)
        for i, ((begin, first), (end, last)) in enumerate(pairwise(self._lists)):
            blocks.append((dense + begin, dense + end, i, 0))
            binning.by_rows(self._rows, self._entries, first, last, starts[i], by_rows)
        return boosting.Binned(
            columns, np.array(blocks, dtype=np.int64).reshape(-1, 4), self._words, starts, by_rows, self._rows,
            self._entries, self._edges, higher,
        )  # fmt: skip

    def _end_list(self) -> None:
        end = int(self._counters[binning.SPARSE]), int(self._counters[binning.ENTRIES])
        if end > self._lists[-1]:
            self._lists.append(end)
            self._counters[binning.LIST_BINS] = 0


def work_of(growth: Growth, n_rows: int, n_columns: int) -> int:
    """The most work it takes to grow trees on this many rows, in nanoseconds or so on a slow core.

    That is, if trees are about as deep as with even splits.
    """
    columns, bins = n_columns + 1, binning.bins_for(n_rows, n_columns + 1)
    leaves = max(min(growth.max_leaf_nodes or n_rows, n_rows // growth.min_samples_leaf), 2)
    depth = leaves.bit_length()
    scanned = leaves + min(leaves, n_rows // (2 * growth.min_samples_leaf))  # nodes; the others are too small
    # at every depth all rows are partitioned, and half of them summed
    rows = n_rows * (30 + 8 * depth + 1.8 * columns * (1 + depth / 2))
    return int(growth.max_iter * (rows + columns * bins * (8 * leaves + 7 * scanned)) + columns * _binning_work(n_rows))


def _binning_work(n_rows: int) -> int:
    return 30 * n_rows + 60 * min(n_rows, binning.SAMPLE)


@cache
def warm_up() -> None:
    """Compile everything."""
    Z = np.zeros((64, 2))
    Z[:8, 0], Z[:, 1] = 1.0, np.arange(64)
    rows = sparse.csr_matrix(Z)
    binning.take_sparse(rows.data, rows.indices, rows.indptr, 0, 0, np.empty((2, 64)))
    grow(Growth(1, min_samples_leaf=8), Z, np.ones(64, np.int64), Z[:, 1] % 3 > 0)


def grow(growth: Growth, Z: Floats, level: Ints, higher: NDArray[np.bool_]) -> Trees:
    """Grow trees all at once, on the rows of Z."""
    Z = np.ascontiguousarray(Z)
    return Grower(growth, Z.shape[1], lambda first, out: binning.take(Z, first, 0, out), level, higher).finish()


def _categories(values: Floats) -> Floats:
    """The categories that are told apart, in order."""
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return np.sort(found[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]])
