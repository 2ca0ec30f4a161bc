"""What the audit says of all items: how many are at their right level, and how far off they are on average."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from dford.arrays import Floats, Ints
from dford.estimates import Estimate, share
from dford.pool.audit import Audit
from dford.pool.items import Items

# Counted as one more item that is so many levels off, and one that is right: however many were found to be right, the
# next one may not be. With 1.6, sixty right ones show that items are at most 0.08 levels off.
_FAR = 1.6
_TRUSTED = 1.0  # what an item is expected to be off is taken to be right give or take this share of it


class Verdict(NamedTuple):
    """What the audit says of all items but removed ones; settled ones are right. Intervals are 95% intervals."""

    error: Estimate
    """How far off the placements are on average: what is expected, corrected by the audit."""
    right: Estimate
    """The share that is at the right level."""
    within_one: Estimate
    """The share that is at most one level off."""
    checked: int
    """How many items the audit judged."""
    wrong: int
    """How many of them are not at the right level."""
    answers: int
    """How many answers that took."""

    @classmethod
    def of(cls, items: Items, audit: Audit) -> "Verdict":
        levels, expected = items.placements()
        population = np.flatnonzero(~items.is_out)
        in_doubt = population[items.bounds[population, 0] < items.bounds[population, 1]]
        some, found = audit.judged()
        off = np.abs(found - levels[some])
        n, doubt = len(some), len(in_doubt) / max(len(population), 1)
        error = _corrected(expected[in_doubt], expected[some], off, float(items.n_levels - 1))
        return cls(
            Estimate(*(doubt * figure for figure in error)),
            _with_settled(share(int((off == 0).sum()), n, len(in_doubt)), doubt),
            _with_settled(share(int((off <= 1).sum()), n, len(in_doubt)), doubt),
            n, int((off > 0).sum()), audit.n_answers(some),
        )  # fmt: skip


def mean(items: Items, audit: Audit, values: Floats, groups: Sequence[Ints]) -> Estimate:
    """The mean value of the levels of some items, or how much larger it is for the first group than for the second.

    It is what is believed of all of them, corrected by those that were drawn at random and judged.
    """
    some, found = audit.judged()
    value, variance, freedom = 0.0, 0.0, 0.0
    for sign, group in zip((1.0, -1.0), groups, strict=False):
        believed = items.beliefs(group) @ values
        n_doubt = int(np.count_nonzero(items.bounds[group, 0] < items.bounds[group, 1]))
        is_drawn = np.isin(some, group)
        terms = values[found[is_drawn]] - items.beliefs(some[is_drawn]) @ values
        share, n = n_doubt / len(group), len(terms)
        step = float(np.abs(np.diff(values)).mean())
        own = np.append(terms, [-step, step])  # the next ones may be a level off, either way
        left = 1.0 - n / max(n_doubt, 1)
        value += sign * (float(believed.mean()) + share * float(terms.mean() if n else 0.0))
        part = share * share * left * float(own.var(ddof=1)) / len(own)
        variance, freedom = variance + part, freedom + part * part / (len(own) - 1)
    widest = float(values.max() - values.min())
    half = float(stdtrit(variance * variance / freedom, 0.975)) * math.sqrt(variance) if freedom else 0.0
    ends = (-widest, widest) if len(groups) > 1 else (float(values.min()), float(values.max()))
    return Estimate(*(min(max(figure, ends[0]), ends[1]) for figure in (value, value - half, value + half)))


def _with_settled(found: Estimate, doubt: float) -> Estimate:
    """A share of the items in doubt as one of all: the rest is right."""
    return Estimate(*(1.0 - doubt + doubt * figure if doubt else 1.0 for figure in found))


def _corrected(expected: Floats, drawn: Floats, off: Ints, most: float) -> Estimate:
    """The mean error of all items, of which some were drawn at random and found to be off by this much.

    It is what is expected, plus by how much more than expected the drawn ones are off (prediction-powered inference:
    Angelopoulos and others 2023). The value moves from what is expected as far as there is evidence; the interval
    trusts the audit alone.
    """
    if not len(expected):
        return Estimate(0.0, 0.0, 0.0)
    mean, n = float(expected.mean()), len(off)
    if not n:
        return Estimate(mean, 0.0, most)
    terms = np.append(off - drawn, [-mean, min(_FAR, most) - mean])
    left = 1.0 - n / len(expected)  # drawn without replacement: if all were drawn, the error is known
    variance = left * float(terms.var(ddof=1)) / len(terms)
    half = float(stdtrit(len(terms) - 1, 0.975)) * math.sqrt(variance)
    sampled = float(np.mean(off - drawn))
    middle = mean + sampled + left * (float(terms.mean()) - sampled)
    trust = (_TRUSTED * mean) ** 2
    value = mean + trust / max(trust + variance, 1e-300) * sampled
    low, high = max(middle - half, 0.0), min(middle + half, most)
    return Estimate(min(max(value, low), high), low, max(high, low))
