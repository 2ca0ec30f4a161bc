"""What the audit and the beliefs say of all items together, and how many more answers it takes."""

import bisect
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from dford.arrays import Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import opinions, posteriors
from dford.estimates import Estimate, share
from dford.pool.audit import Audit
from dford.pool.items import Items
from dford.pool.reliability import alike

# Counted as one more item that is so many levels off, or this share of the scale if that is more, and one that is
# right: however many were found to be right, the next one may not be. With five levels, sixty right ones show that
# items are at most 0.08 levels off.
_FAR, _FAR_OF_ALL = 1.6, 0.4
# What items are expected to be off is taken to be right give or take this share of it, if they turn out to be further
# off, and this one if they are less so: whoever stops as soon as little is expected would stop when a few checked items
# happen to be right. With 1.0 for both, some pools expected 0.1 and were half a level off and more; with 1.0 for the
# first, 1.5 times the true error was expected where three answers in ten were wrong.
_TRUSTED_MORE, _TRUSTED_LESS = 0.5, 0.25
_NEAR = 0.5
# An audited item takes two answers if nobody is wrong, and six if one answer in ten is wrong.
_MANY, _WRONG = 10, 40.0
_FUTURES = 8
_SAMPLE = 1000  # items of a larger pool
_MOST = 100  # answers per item


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
        known = _Known.of(items, audit)
        off, doubt, n = known.off, known.doubt, len(known.off)
        return cls(
            known.error(n),
            _with_settled(share(int((off == 0).sum()), n, known.n_all), doubt),
            Estimate(1.0, 1.0, 1.0)
            if known.most <= 1.0
            else _with_settled(share(int((off <= 1).sum()), n, known.n_all), doubt),
            n, int((off > 0).sum()), known.answers,
        )  # fmt: skip


class _Known(NamedTuple):
    """What is believed of the items in doubt, and what the audit found, in the order in which items were drawn."""

    n_all: int
    """How many there are, with those that were judged and settled or removed since."""
    doubt: float
    """The share of all items that are in doubt; the others are settled, and right."""
    most: float
    mean: float
    """How far off those in doubt are believed to be on average."""
    believed: Floats
    """How far off the judged items are believed to be."""
    off: Ints
    """How far off they are."""
    answers: int

    @classmethod
    def of(cls, items: Items, audit: Audit) -> "_Known":
        levels, expected = items.placements()
        population = np.flatnonzero(~items.is_out)
        in_doubt = population[items.bounds[population, 0] < items.bounds[population, 1]]
        mean = float(expected[in_doubt].mean()) if len(in_doubt) else 0.0
        some, found, _, is_gone = audit.judged()
        levels[some[is_gone]], expected[some[is_gone]] = items.unsettled_placements(some[is_gone])
        return cls(
            len(in_doubt) + int(is_gone.sum()), len(in_doubt) / max(len(population), 1), float(items.n_levels - 1),
            mean, expected[some], np.abs(found - levels[some]), audit.n_answers(some),
        )  # fmt: skip

    def error(self, first: int) -> Estimate:
        """How far off all items are on average, by so many of the judged ones."""
        found = _corrected(self.mean, self.n_all, self.believed[:first], self.off[:first], self.most)
        return Estimate(*(self.doubt * figure for figure in found))

    def as_if(self, n: int, error: float) -> Estimate:
        """The same, if so many were judged and off by this much on average, as was believed of all."""
        error /= self.doubt or 1.0
        off = (np.arange(n) < round(error * n)).astype(np.int64)
        return self._replace(mean=error, believed=np.full(n, error), off=off).error(n)


class Certification(NamedTuple):
    """Whether the audit shows that placements are at most so far off on average, and what is missing.

    Whoever looks at an interval after every answer, and stops once it is low enough, stops by luck now and then. So
    this looks only after so many items that they would show it if all were right, and after every half as many again.
    What was shown is no longer so if the interval by all judged items ends higher.
    """

    is_shown: bool
    near: float
    """How far off placements are expected to be, at most, when nothing but checks is left to do: half the target, as
    thousands of checks would have to show it of placements that are just near enough."""
    audits: float
    """The share of the questions that are to check: all then, and half before, once the target is expected to be
    reached. For people who differ for good may never place items nearer than that."""
    least: float
    """About how many more answers the check takes if all placements are right."""
    most: float
    """And if they are as far off as is expected by then."""

    def remaining(self, forecast: "Forecast") -> Estimate:
        """About how many more answers it takes to show it: first until it is time to check, then the check."""
        if self.is_shown:
            return Estimate(0.0, 0.0, 0.0)
        value, low, high = forecast.remaining(self.near)
        return Estimate(value + (self.least + self.most) / 2, low + self.least, high + self.most)

    @classmethod
    def of(cls, items: Items, audit: Audit, target: float, rate: float) -> "Certification":
        known, near = _Known.of(items, audit), target * _NEAR
        n_all, checked, value = known.n_all, len(known.off), known.error(len(known.off)).value

        def show(n: int, error: float) -> bool:
            return known.as_if(n, error).high <= target

        looks = [bisect.bisect_left(range(n_all), True, key=lambda n: show(n, 0.0))]
        while looks[-1] < n_all:
            looks.append(min(looks[-1] + looks[-1] // 2 + 1, n_all))
        last = max((look for look in looks if look <= checked), default=-1)
        is_shown = last >= 0 and max(known.error(last).high, known.error(checked).high) <= target
        each = known.answers / checked if checked >= _MANY else 2.0 + _WRONG * rate
        least, most = (
            each * (next((look for look in looks if look > last and show(look, error)), n_all) - checked)
            for error in (0.0, min(value, near))
        )
        audits = 0.0 if is_shown or value > target else 0.5 if value > near else 1.0
        return cls(is_shown, near, audits, least, most)


def expected_error(items: Items, audit: Audit) -> float:
    """How far off they are expected to be on average: the value of a verdict's error."""
    known = _Known.of(items, audit)
    return known.error(len(known.off)).value


def mean(items: Items, audit: Audit, values: Floats, groups: Sequence[Ints]) -> Estimate:
    """The mean value of the levels of some items, or how much larger it is for the first group than for the second.

    It is what is believed of all of them, corrected by those that were drawn at random and judged.
    """
    some, found, _, is_gone = audit.judged()
    before = np.where(is_gone, items.unsettled(some) @ values, items.beliefs(some) @ values)
    value, variance, freedom = 0.0, 0.0, 0.0
    for sign, group in zip((1.0, -1.0), groups, strict=False):
        believed = items.beliefs(group) @ values
        n_doubt = int(np.count_nonzero(items.bounds[group, 0] < items.bounds[group, 1]))
        is_drawn = np.isin(some, group)
        terms = (values[found] - before)[is_drawn]
        share, n = n_doubt / len(group), len(terms)
        step = float(np.abs(np.diff(values)).mean())
        own = np.append(terms, [-step, step])  # the next ones may be a level off, either way
        left = 1.0 - n / max(n_doubt + int(is_gone[is_drawn].sum()), 1)
        value += sign * (float(believed.mean()) + share * float(terms.mean() if n else 0.0))
        part = share * share * left * float(own.var(ddof=1)) / len(own)
        variance, freedom = variance + part, freedom + part * part / (len(own) - 1)
    widest = float(values.max() - values.min())
    half = float(stdtrit(variance * variance / freedom, 0.975)) * math.sqrt(variance) if freedom else 0.0
    ends = (-widest, widest) if len(groups) > 1 else (float(values.min()), float(values.max()))
    return Estimate(*(min(max(figure, ends[0]), ends[1]) for figure in (value, value - half, value + half)))


class Forecast:
    """What is known about some items now, to draw futures from. In these, no answer teaches about another item.

    Only a share of the answers is meant to place items; the others judge placements and people. If the audit says that
    items are further off than is believed of them, so they will be then.
    """

    def __init__(self, items: Items, rate: float, share: float, expected: float, seed: int) -> None:
        kept = np.flatnonzero(~items.is_out)
        draws = counter.uniforms(counter.stream(seed, "forecast items"), kept)
        some = kept[np.argsort(draws, kind="stable")[:_SAMPLE]]
        logs = alike(rate, items.n_levels).weights()[0]
        evidence = opinions.of_levels(items.evidence[some], items.n_levels)
        self._known = items.prior[some], evidence, items.bounds[some], logs, rate
        self._seed, self._scale = seed, len(kept) / max(len(some), 1) / share
        self._believed = min(1.0, items.expected_error() / max(expected, 1e-300))

    def remaining(self, target: float) -> Estimate:
        """How many answers it takes to bring the expected error to the target: the mean, the lowest and the highest."""
        count = len(self._known[0])
        if not count:
            return Estimate(0.0, 0.0, 0.0)
        found = [
            posteriors.answers_needed(*self._known, seed, target * self._believed, _MOST * count) * self._scale
            for seed in (counter.stream(self._seed, f"future {future}") for future in range(_FUTURES))
        ]
        return Estimate(float(np.mean(found)), min(found), max(found))


def _with_settled(found: Estimate, doubt: float) -> Estimate:
    """A share of the items in doubt as one of all: the rest is right."""
    return Estimate(*(1.0 - doubt + doubt * figure if doubt else 1.0 for figure in found))


def _corrected(mean: float, n_all: int, drawn: Floats, off: Ints, most: float) -> Estimate:
    """The mean error of all items, expected to be this, of which some were drawn and found to be off by this much.

    It is what is expected, plus by how much more than expected the drawn ones are off (prediction-powered inference:
    Angelopoulos and others 2023). The value moves from what is expected as far as there is evidence; the interval
    trusts the audit alone.
    """
    n = len(off)
    if not n_all:
        return Estimate(0.0, 0.0, 0.0)
    if not n:
        return Estimate(mean, 0.0, most)
    terms = np.append(off - drawn, [-mean, max(_FAR, _FAR_OF_ALL * most) - mean])
    left = 1.0 - n / n_all  # drawn without replacement: if all were drawn, the error is known
    variance = left * float(terms.var(ddof=1)) / len(terms)
    half = float(stdtrit(len(terms) - 1, 0.975)) * math.sqrt(variance)
    sampled = float(np.mean(off - drawn))
    middle = mean + sampled + left * (float(terms.mean()) - sampled)
    trust = ((_TRUSTED_MORE if sampled > 0.0 else _TRUSTED_LESS) * mean) ** 2
    value = mean + trust / max(trust + variance, 1e-300) * sampled
    low, high = max(middle - half, 0.0), min(middle + half, most)
    return Estimate(min(max(value, low), high), low, max(high, low))
