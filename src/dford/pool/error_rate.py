"""How often answers are wrong, if they are all from one person: from those that can be compared with others."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import posteriors
from dford.pool.agreement import AnswerColumns
from dford.pool.answers import AUDIT, GOLD, RELEASED

_BEFORE = 8.0  # without any evidence, an error rate of 0.1 is expected
_IMPOSSIBLE = 1e6  # answers against a level that an item cannot have


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def checked_error_rate(given: Any) -> float | None:
    """The error rate as a number; None if it is to be learned."""
    if given is None:
        return None
    if not is_number(given) or not 0 <= given < 0.5:
        raise ValueError(f"error_rate must be a share below 0.5, or None to learn it; got {given!r}")
    return float(given)


class RateEvidence(NamedTuple):
    """What shows how often answers are wrong, whatever the learners believe."""

    repeats: int = 0
    """Questions that were asked again."""
    differing: int = 0
    """Those of them that were answered differently."""
    against: Floats = np.empty((0, 2))
    """For items that were asked about until their answers agreed, how many of these are wrong under each level."""
    counts: Ints = np.empty(0, np.int64)
    """How many answers these are."""

    def rate(self, given: float | None = None) -> float:
        """The error rate: as given, or else as expected."""
        return float(posteriors.expected_rate(*self, _BEFORE)) if given is None else float(given)


def rate_evidence(
    repeats: Sequence[int], told: AnswerColumns, purpose: Ints, bounds: Any, n_levels: int
) -> RateEvidence:
    """The evidence in repeated questions, audited items, and gold items, whose level was known beforehand.

    Audited items are drawn at random. What was settled about one since is ignored, because that may have been done only
    because its answers disagree.
    """
    used = np.flatnonzero(np.isin(purpose, (AUDIT, RELEASED, GOLD)))
    items, places = np.unique(2 * told.item[used] + (purpose[used] == GOLD), return_inverse=True)
    above = np.arange(1 - n_levels, n_levels) > 0
    wrong = np.array([[above, ~above]], dtype=float)  # in place of logarithms, so that answers are counted
    alike = np.zeros(len(used), np.int64)
    against = posteriors.gather(places, alike, told.cut[used], told.higher[used], wrong, len(items))
    levels, (low, high) = np.arange(n_levels), bounds[items // 2].T[:, :, None]
    against[(items[:, None] % 2 == 1) & ((levels < low) | (levels > high))] = _IMPOSSIBLE
    return RateEvidence(repeats[0], repeats[1], against, np.bincount(places, minlength=len(items)))
