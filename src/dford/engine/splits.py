"""Where to split a node of a tree: the best threshold of a column, or the best set of its categories.

Sums are whole numbers: a gradient is rounded once, to a multiple of a power of two as small as the sums allow, and
nothing is rounded after that. So sums depend neither on the order of the rows, nor on what was added and subtracted,
nor on the machine. There are two for every bin: one of the gradients, and one of the hessians (in its lower bits) and
the rows (in its upper bits).
"""

from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine._compiled import inlined, place

LEAST_HESSIAN = 1e-3  # of a child
CATEGORY_ROWS = 10  # rows a category must have in a node to be told apart, and by which its gradient is smoothed


class Limits(NamedTuple):
    """How trees are grown, and how sums are kept."""

    trees: int
    leaves: int
    least: int  # rows of a leaf
    learning_rate: float
    l2: float
    falling: int  # the number of the column in which trees decrease
    gradient: float  # the unit of gradients, and of hessians
    hessian: float
    shift: int  # from this bit on, rows are counted


def limits_for(
    n_rows: int, trees: int, leaves: int | None, least: int, learning_rate: float, l2: float, falling: int
) -> Limits:
    """Limits with the smallest units at which no sum over `n_rows` overflows."""
    bits, most = n_rows.bit_length(), max(n_rows // least, 1)
    return Limits(
        trees,
        most if leaves is None else min(leaves, most),
        least,
        learning_rate,
        l2,
        falling,
        2.0 ** -min(61 - bits, 52),
        2.0 ** -(64 - 2 * bits),  # a hessian is at most 1/4
        62 - bits,
    )


@inlined
def hessian(limits: Limits, w: int) -> float:
    return float(w & ((np.int64(1) << limits.shift) - 1)) * limits.hessian


@inlined
def best_value(limits: Limits, g: float, h: float, low: float, high: float) -> float:
    """Newton's step to the lowest loss, within bounds."""
    return min(max(-g / (h + limits.l2), low), high)


@inlined
def saved(limits: Limits, g: float, h: float, value: float) -> float:
    """Twice the loss that a value saves, to second order."""
    return -value * (2.0 * g + (h + limits.l2) * value)


@inlined
def _best(
    limits: Limits, n: int, g: int, w: int, own: float, low: float, high: float, falling: bool, sums: Ints,
    gains: Floats,
) -> int:  # fmt: skip
    """The first of the best of n splits, whose left sums are in `sums`, or -1 if none gains anything.

    Without branches, so that it is vectorised: positive numbers have the same order as their bits.
    """
    all_g, all_h = g * limits.gradient, hessian(limits, w)
    least = np.int64(limits.least) << limits.shift
    bits = gains.view(np.int64)
    for i in range(n):
        left_g, left_h = sums[0, i] * limits.gradient, hessian(limits, sums[1, i])
        right_g, right_h = all_g - left_g, all_h - left_h
        left = best_value(limits, left_g, left_h, low, high)
        right = best_value(limits, right_g, right_h, low, high)
        gain = saved(limits, left_g, left_h, left) + saved(limits, right_g, right_h, right) - own
        enough = (sums[1, i] >= least) & (w - sums[1, i] >= least)
        steep = (left_h >= LEAST_HESSIAN) & (right_h >= LEAST_HESSIAN)
        gains[i] = gain if enough & steep & ((not falling) | (left >= right)) else -1.0
    most = np.int64(0)
    for i in range(n):
        most = max(most, bits[i])
    for i in range(n):
        if bits[i] == most and most > 0:
            return i
    return -1


@inlined
def best_split(
    limits: Limits, pool: Ints, slot: int, first: int, bins: int, missing: bool, categorical: bool,
    g: int, w: int, own: float, low: float, high: float, falling: bool, sums: Ints, gains: Floats, ranked: Ints,
) -> tuple[float, int, bool, Any, Any]:  # fmt: skip
    """For the bins from `first` on: what two children save beyond the `own` of the node, the last bin of the left one,
    whether missing values go there too, and its sums.

    Missing values are tried on the right and then on the left; if there are none, they go with most rows.

    Categories are ranked by gradient over hessian, and `ranked` up to the returned one goes left. They are taken from
    either end: of all ways to divide them, one of these is the best (Fisher 1958). Missing values count as a category,
    and rare categories go right.
    """
    missing_g = missing_w = np.int64(0)
    if missing:
        missing_g, missing_w = pool[slot, 2 * (first + bins)], pool[slot, 2 * (first + bins) + 1]
    n = 0
    for b in range((bins + 1 if missing else bins) if categorical else 0):
        some_g, some_w = pool[slot, 2 * (first + b)], pool[slot, 2 * (first + b) + 1]
        if some_w >> limits.shift >= CATEGORY_ROWS:
            key, i = some_g * limits.gradient / (hessian(limits, some_w) + CATEGORY_ROWS), n
            while i > 0 and gains[i - 1] > key:
                gains[i], ranked[i] = gains[i - 1], ranked[i - 1]
                i -= 1
            gains[i], ranked[i] = key, b
            n += 1
    gain, at, best_turn, best_g, best_w = 0.0, -1, 0, np.int64(0), np.int64(0)
    for turn in range(2 if categorical or missing_w > 0 else 1):
        left_g, left_w = np.int64(0), np.int64(0)
        if categorical:
            tried = (n + 1) // 2 if n > 1 else 0
        else:
            tried = bins if missing_w > 0 and turn == 0 else bins - 1
            left_g, left_w = turn * missing_g, turn * missing_w
        for i in range(tried):
            b = i
            if categorical:
                b = ranked[n - 1 - i if turn == 1 else i]
            k = place(2 * (first + b))
            left_g += pool[slot, k]
            left_w += pool[slot, k + place(1)]
            sums[0, i], sums[1, i] = left_g, left_w
        i = _best(limits, tried, g, w, own, low, high, falling, sums, gains)
        if i >= 0 and gains[i] > gain:
            gain, at, best_turn, best_g, best_w = gains[i], i, turn, sums[0, i], sums[1, i]
    missing_left = best_turn == 1
    if missing_w == 0:
        missing_left = bool(2 * (best_w >> limits.shift) > w >> limits.shift)
    elif categorical:
        missing_left = False
        for i in range(at + 1):
            missing_left = missing_left or ranked[n - 1 - i if best_turn == 1 else i] == bins
    if categorical and best_turn == 1:
        for i in range(n // 2):
            ranked[i], ranked[n - 1 - i] = ranked[n - 1 - i], ranked[i]
    return gain, at, missing_left, best_g, best_w
