"""The trace: what a run looked like at its checkpoints."""

import math
from typing import NamedTuple

import numpy as np

from dford.engine import rounds
from dford.engine._compiled import Floats, Ints
from dford.estimates import sequence

# ten a decade: 1, 2, 3, 4, 5, 6, 8, 10, 13, ...
DEFAULT_CHECKPOINTS: Ints = np.unique(np.round(10.0 ** (np.arange(0, 151) / 10))).astype(np.int64)


class Trace(NamedTuple):
    """Columns of equal length, one entry a checkpoint; `pandas.DataFrame(trace._asdict())` is the table.

    Errors and regret are over the rounds whose label was known, and NaN where there was none.
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
    """`mae` without labels: what the answers alone show of it, in [0, K - 1]. NaN where some level is never asked."""
    low: Floats
    """With 95% confidence, at all rounds at once, the mean error over the rounds answered is not below this,"""
    high: Floats
    """nor above this."""


def make_trace(table: Floats, n_levels: int, regularization: float, exploration: float | None, largest: float) -> Trace:
    """`largest` is 1 / the smallest probability with which a cut is asked: infinite where one never is."""
    columns = table.T
    done, labelled = columns[rounds.ROUNDS], columns[rounds.LABELLED]
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.where(labelled > 0, labelled, np.nan)
        bound = np.full(len(table), np.nan)
        if exploration is not None:
            scale = 16 * n_levels**2 * math.log(n_levels) / regularization
            bound = scale * (columns[rounds.RADIUS] + 1) * np.log(done + 1) / exploration
        return Trace(
            done.astype(np.int64),
            columns[rounds.ERROR] / known,
            columns[rounds.ASKED_ERROR] / known,
            columns[rounds.CROSSINGS] / done,
            columns[rounds.LOSS] / regularization + 0 * known,
            bound,
            *free_figures(table, largest, n_levels),
        )


def free_figures(table: Floats, largest: float, n_levels: int) -> tuple[Floats, ...]:
    """(estimate, low, high) of each record, none of which leaves what is possible."""
    judged = table[:, rounds.JUDGED]
    figures = np.full((3, len(table)), np.nan)
    some = judged > 0
    if math.isfinite(largest) and some.any():
        error, spread, heaviest = table[some][:, [rounds.FREE_ERROR, rounds.FREE_SPREAD, rounds.HEAVIEST]].T
        # answers to another's questions may weigh more than those to one's own
        figures[:, some] = sequence(judged[some], error, spread, np.maximum(largest, heaviest), most=n_levels - 1.0)
    return tuple(figures)
