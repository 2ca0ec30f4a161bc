"""A number becomes a level 1..K. Every rule keeps the order: a larger number never gets a lower level."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDING = 4 * np.finfo(np.float64).eps
"""How far sums and multiples of decimal numbers may be off, relative to their size."""


def at_cuts(values: ArrayLike, cuts: ArrayLike) -> NDArray[np.int64]:
    """The level is one plus the number of cuts below the value; a value on a cut stays below it.

    >>> at_cuts([1, 7, 8, 9, 10, 12, 13, 29], cuts=[7, 9, 12])  # the paper's levels of abalone
    array([1, 1, 2, 2, 3, 3, 4, 4])
    """
    values, cuts = _column(values, "values"), _column(cuts, "cuts")
    if not (np.diff(cuts) > 0).all():
        raise ValueError(f"cuts must be increasing; got {cuts.tolist()}")
    return _above(values, cuts)


def in_steps(values: ArrayLike, step: float, *, start: float = 0.0, n_levels: int) -> NDArray[np.int64]:
    """Level k is the k-th interval of width `step` above `start`, its upper end included.

    Values below the first interval belong to level 1, values above the last to level `n_levels`.

    >>> in_steps([7.0, 10.0, 10.1, 54.992], step=5, start=5, n_levels=10)  # those of parkinsons
    array([ 1,  1,  2, 10])
    """
    if not (step > 0 and np.isfinite(step) and np.isfinite(start)):
        raise ValueError(f"step must be a number greater than 0, and start a number; got {step!r} and {start!r}")
    _check_levels(n_levels)
    widths = step * np.arange(1, n_levels)
    # 3 * 0.15 is less than 0.45, which is the end of a step all the same
    return _above(_column(values, "values"), start + widths + ROUNDING * (abs(start) + widths))


def equal_frequency(values: ArrayLike, n_levels: int, *, ties: Literal["value", "rank"] = "value") -> NDArray[np.int64]:
    """Levels with equally many values, as far as `ties` allows.

    Parameters
    ----------
    values : array of numbers
    n_levels : int
    ties : {"value", "rank"}
        "value": equal values always share a level. The cuts are the quantiles 1/K, 2/K, ..., so the more ties there
        are, the more levels differ in size; if a level would stay empty, there is an error.
        "rank": levels differ in size by at most one. Ties are broken by row order, earlier rows lower, so equal
        values may get different levels.

    Examples
    --------
    >>> equal_frequency([5, 1, 3, 2, 4, 6], 3)
    array([3, 1, 2, 1, 2, 3])
    >>> equal_frequency([0, 0, 0, 0, 1, 2], 3, ties="rank")
    array([1, 1, 2, 2, 3, 3])
    >>> equal_frequency([0, 0, 0, 0, 1, 2], 3)
    Traceback (most recent call last):
    ValueError: if equal values stay together, only 2 of 3 levels have any (4 of 6 are 0); use ties="rank" ...
    """
    values = _column(values, "values")
    _check_levels(n_levels)
    if len(values) < n_levels:
        raise ValueError(f"{n_levels} levels need at least as many values; got {len(values)}")
    if ties == "rank":
        levels = np.empty(len(values), dtype=np.int64)
        levels[np.argsort(values, kind="stable")] = 1 + np.arange(len(values)) * n_levels // len(values)
        return levels
    if ties != "value":
        raise ValueError(f'ties must be "value" or "rank"; got {ties!r}')
    # Cutting at the lower neighbour of a quantile is the same, and no rounding can move a value past it.
    levels = _above(values, np.sort(values)[np.arange(1, n_levels) * (len(values) - 1) // n_levels])
    if (filled := len(np.unique(levels))) < n_levels:
        distinct, counts = np.unique(values, return_counts=True)
        most = counts.argmax()
        raise ValueError(
            f"if equal values stay together, only {filled} of {n_levels} levels have any ({counts[most]} of "
            f'{len(values)} are {distinct[most]:g}); use ties="rank" or fewer levels'
        )
    return levels


def _above(values: NDArray[np.float64], cuts: NDArray[np.floating]) -> NDArray[np.int64]:
    return 1 + np.searchsorted(cuts, values, side="left")


def _column(values: ArrayLike, name: str) -> NDArray[np.float64]:
    column: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError(
            f"{name} must be one column of finite numbers; got the shape {column.shape}, or NaN or infinity"
        )
    return column


def _check_levels(n_levels: Any) -> None:
    if not isinstance(n_levels, (int, np.integer)) or n_levels < 2:
        raise ValueError(f"n_levels must be a whole number, 2 or more; got {n_levels!r}")
