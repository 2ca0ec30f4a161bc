"""Columns as bins: what boosting sees of rows.

A bin is a range of values; missing values (NaN) have a separate bin, after the last. A column with most rows in one bin
is kept as a list of the other rows, so that counts of words cost only what they store. The other columns are packed
four to a word, so that a pass over the rows reads each word once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine._compiled import inlined, released

MOST_BINS = 255  # with the one for missing values, they fit in a byte
SAMPLE = 10_000  # rows that a column's cuts are computed from
SPARSE_COLUMNS = 256  # in one list: its entries are two bytes
RARE = 4  # a column is sparse if at most one row in this many is outside its usual bin
FEW_BINS = 64  # of a column that is sparse in the sample: few rows share them, and more would cost more than the rows

# What is kept for a column.
NUMBER = 0
FIRST = 1  # its first bin among those of all columns
BINS = 2  # without the one for missing values
MISSING = 3  # whether there are any
USUAL = 4  # the bin that a sparse column leaves out; -1 for a dense one
CATEGORICAL = 5
LISTED_AT = 6  # where the list of its rows outside that bin begins, and where it ends
LISTED_TO = 7
FIELDS = 8

# What is counted along the way.
DENSE = 0  # columns in words
SPARSE = 1  # columns in lists
ENTRIES = 2  # of all lists
LIST_BINS = 3  # of the columns in the current list
COUNTERS = 4


@released
def take(block: Floats, first: int, begin: int, out: Floats) -> None:
    """Copy the columns of a block of rows, from `first` on, into the rows of `out`, from its column `begin` on."""
    for r in range(len(block)):
        for j in range(len(out)):
            out[j, begin + r] = block[r, first + j]


@released
def take_sparse(data: Floats, indices: NDArray[Any], indptr: NDArray[Any], first: int, begin: int, out: Floats) -> None:
    """The same for a block in CSR form."""
    for r in range(indptr.size - 1):
        for j in range(len(out)):
            out[j, begin + r] = 0.0
        for e in range(indptr[r], indptr[r + 1]):
            if first <= indices[e] < first + len(out):
                out[indices[e] - first, begin + r] = data[e]


@inlined
def _distinct(sample: Floats, j: int, values: Floats, counts: Ints) -> tuple[int, int]:
    """Fill in the distinct numbers of a sorted row and their counts; returns how many, and of how many. NaN is last."""
    n = total = 0
    while total < sample.shape[1] and sample[j, total] == sample[j, total]:
        if n > 0 and values[n - 1] == sample[j, total]:
            counts[n - 1] += 1
        else:
            values[n], counts[n] = sample[j, total], 1
            n += 1
        total += 1
    return n, total


@inlined
def _most_bins(counts: Ints, n: int, total: int, size: int, limit: int) -> int:
    """How many bins a column of numbers may have, given how often each of its values is in a sample of this size."""
    usual = size - total  # the missing ones, or those of the commonest value
    for i in range(n):
        usual = max(usual, counts[i])
    return min(limit, FEW_BINS) if (size - usual) * RARE <= size else limit


@inlined
def _between(low: float, high: float) -> float:
    """Halfway, but below `high`."""
    middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


@inlined
def _cut(distinct: Floats, counts: Ints, n: int, total: int, limit: int, edges: Floats) -> int:
    """Fill in the upper edges of all bins except the last; returns how many bins.

    One bin per value, if that is not too many. Otherwise, values that would fill a bin alone get one, and the others
    share the rest, with about equally many rows each.
    """
    if n <= limit:
        for i in range(n - 1):
            edges[i] = _between(distinct[i], distinct[i + 1])
        return max(n, 1)
    heavy, rest = 0, total
    for i in range(n):
        if counts[i] * limit >= total:
            heavy += 1
            rest -= counts[i]
    bins = inside = 0
    for i in range(n - 1):
        inside += counts[i]
        alone, next_alone = counts[i] * limit >= total, counts[i + 1] * limit >= total
        full = inside * (limit - heavy) >= rest
        half_full = 2 * inside * (limit - heavy) >= rest
        if bins < limit - 1 and (alone or full or (next_alone and half_full)):
            edges[bins] = _between(distinct[i], distinct[i + 1])
            bins += 1
            inside = 0
    return bins + 1


@inlined
def _bin_of(value: float, edges: Floats, bins: int) -> int:
    low, high = 0, bins - 1
    while low < high:
        middle = (low + high) >> 1
        if value <= edges[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@released
def bin_columns(
    values: Floats, sample: Floats, number: int, categorical: NDArray[np.bool_], limit: int, least: int,
    columns: Ints, edges: Floats, counters: Ints, words: NDArray[np.uint32],
    rows: NDArray[np.int32], entries: NDArray[np.uint16], distinct: Floats, counts: Ints, found: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Bin columns `number`, `number` + 1, ..., which are the rows of `values`, using a sorted sample of each.

    Dense ones are listed from the front of `columns`, sparse ones from its end. A column with fewer than `least` rows
    outside its usual bin can never be split, and is left out.
    """
    n_rows = values.shape[1]
    for j in range(len(values)):
        own = edges[number + j]
        n, total = _distinct(sample, j, distinct, counts)
        most = MOST_BINS if categorical[j] else _most_bins(counts, n, total, sample.shape[1], limit)
        bins = _cut(distinct, counts, n, total, most, own)
        counts[: bins + 1] = 0
        zero = _bin_of(0.0, own, bins)
        for r in range(n_rows):
            value = values[j, r]
            if value == 0.0:
                b = zero
            elif value == value:
                b = _bin_of(value, own, bins)
            else:
                b = bins
            found[r] = b
            counts[b] += 1
        usual = 0
        for b in range(1, bins + 1):
            if counts[b] > counts[usual]:
                usual = b
        unusual = n_rows - counts[usual]
        if unusual < least:
            continue
        missing = counts[bins] > 0
        if unusual * RARE > n_rows:
            k = counters[DENSE]
            counters[DENSE] += 1
            shift = np.uint32(8 * (k & 3))
            for r in range(n_rows):
                word = np.uint32(found[r]) << shift
                words[k >> 2, r] = word if k & 3 == 0 else words[k >> 2, r] | word
            usual = -1
        else:
            counters[SPARSE] += 1
            k = len(columns) - counters[SPARSE]
            e = counters[ENTRIES]
            for r in range(n_rows):
                if found[r] != usual:
                    rows[e], entries[e] = r, counters[LIST_BINS] + found[r]
                    e += 1
            columns[k, LISTED_AT], columns[k, LISTED_TO] = counters[ENTRIES], e
            counters[ENTRIES] = e
            counters[LIST_BINS] += bins + missing
        columns[k, NUMBER], columns[k, BINS], columns[k, MISSING] = number + j, bins, missing
        columns[k, USUAL], columns[k, CATEGORICAL] = usual, categorical[j]


@released
def by_rows(
    rows: NDArray[np.int32], entries: NDArray[np.uint16], first: int, last: int, starts: Ints, out: NDArray[np.uint16]
) -> None:
    """Turn entries `first` to `last` from column order into row order: row r has out[starts[r] : starts[r + 1]]."""
    starts[:] = 0
    for e in range(first, last):
        starts[rows[e] + 1] += 1
    starts[0] = first
    for r in range(1, starts.size):
        starts[r] += starts[r - 1]
    for e in range(first, last):
        out[starts[rows[e]]] = entries[e]
        starts[rows[e]] += 1
    for r in range(starts.size - 1, 0, -1):
        starts[r] = starts[r - 1]
    starts[0] = first


def bins_for(n_rows: int, n_columns: int) -> int:
    """How many bins a column may have: fewer if rows are few, or columns so many that bins cost more than rows."""
    return max(min(MOST_BINS, n_rows // 8, 2**15 // n_columns), 32)
