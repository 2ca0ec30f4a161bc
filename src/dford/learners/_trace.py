"""The trace: the figures of a run at its checkpoints."""

import math
from typing import NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import elementary, rounds
from dford.estimates import sequence

# ten per decade: 1, 2, 3, 4, 5, 6, 8, 10, 13, ...
DEFAULT_CHECKPOINTS: Ints = np.unique(np.round(10.0 ** (np.arange(0, 151) / 10))).astype(np.int64)


class Trace(NamedTuple):
    """Columns of equal length, one entry per checkpoint; `pandas.DataFrame(trace._asdict())` makes a table.

    Errors and regret are over the rounds whose label was known, and NaN if there were none.
    """

    round: Ints
    """Answers learned from so far."""
    mae: Floats
    """Mean |prediction - label| so far: the loss the paper reports."""
    mae_asked: Floats
    """Mean |level asked - label| so far."""
    crossings: Floats
    """Mean number of thresholds above their upper neighbour so far, in the raw thresholds."""
    regret: Floats
    """Cumulative regularised loss. The best fixed parameters are 0 and lose 0, so this is the regret."""
    bound: Floats
    """The bound of the paper's Theorem 2 (linear) or 3 (kernel) on the expected regret; NaN where none is proved."""
    estimate: Floats
    """`mae` without labels: estimated from the answers alone, in [0, K - 1]. NaN if some level is never asked about."""
    low: Floats
    """With 95% confidence, at all rounds at once, the mean error over the rounds answered is not below this,"""
    high: Floats
    """nor above this."""


def make_trace(table: Floats, n_levels: int, regularization: float, exploration: float | None, bound: float) -> Trace:
    """`bound` is the most that an answer could weigh so far, as in the state; NaN if some cut is never asked about."""
    columns = table.T
    done, labelled = columns[rounds.ROUNDS], columns[rounds.LABELLED]
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.where(labelled > 0, labelled, np.nan)
        theorem = np.full(len(table), np.nan)
        if exploration is not None:
            scale = 16 * n_levels**2 * elementary.logs(np.array([float(n_levels)]))[0] / regularization
            theorem = scale * (columns[rounds.RADIUS] + 1) * elementary.logs(done + 1) / exploration
        return Trace(
            done.astype(np.int64),
            columns[rounds.ERROR] / known,
            columns[rounds.ASKED_ERROR] / known,
            columns[rounds.CROSSINGS] / done,
            columns[rounds.LOSS] / regularization + 0 * known,
            theorem,
            *free_figures(table, bound, n_levels),
        )


def free_figures(table: Floats, bound: float, n_levels: int) -> tuple[Floats, ...]:
    """(estimate, low, high) of each record, all within the possible range.

    The interval is proved for terms whose bound is known in advance. If an answer weighed more than the known bound, or
    none was known, the interval is the whole range.
    """
    figures, most = np.full((3, len(table)), np.nan), n_levels - 1.0
    some = table[:, rounds.JUDGED] > 0
    if not math.isnan(bound) and some.any():
        names = (rounds.JUDGED, rounds.FREE_ERROR, rounds.FREE_SPREAD, rounds.HEAVIEST, rounds.BOUND)
        judged, error, spread, heaviest, known = table[some][:, names].T
        # if a later policy raised the bound, the whole run is judged by the raised bound
        known = np.where(known > 0, np.maximum(known, bound), 0.0)
        value, low, high = sequence(judged, error, spread, np.maximum(known, 1.0), most=most)
        proved = (known > 0) & (heaviest <= known)
        figures[:, some] = value, np.where(proved, low, 0.0), np.where(proved, high, most)
    return tuple(figures)
