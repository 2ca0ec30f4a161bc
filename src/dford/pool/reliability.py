"""How likely an answer is, by who gives it and how sure they say they are."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import people as engine
from dford.engine import posteriors, priors
from dford.engine.elementary import logs
from dford.pool.agreement import KINDS, WEIGHTS, AnswerColumns, Voice, agree

_MOST = 0.499  # so that a guess never counts for the opposite answer
_BEFORE = 8.0  # without any evidence, an error rate of 0.1 is expected
# The rate that is used is above the right one with this probability. Too many errors assumed cost next to nothing; too
# few make levels look more certain than they are, and with few answers nobody can tell.
_CAUTION = 0.8
_NEVER = -1e6  # stands for log 0, but finite, so that two such answers speak more against a level than one


class Reliability(NamedTuple):
    """How likely each answer is for everybody, by how far the right level is above the cut.

    The first row is for someone about whom nothing is known; voice v has row v + 1, unless all are alike.
    """

    logs: Floats
    """The logarithms, by row, answer, and level - cut + K - 1."""
    rates: Floats
    """How often an answer is wrong, by row, if all levels and cuts are equally likely; never more than by guessing."""

    def rows(self, people: Ints) -> Ints:
        found: Ints = np.where(people + 1 < len(self.rates), people + 1, 0)
        return found

    def of(self, person: int, cut: int, higher: bool) -> Floats:
        """The logarithms of how likely this answer is, by level."""
        n_levels, row = (self.logs.shape[2] + 1) // 2, person + 1 if person + 1 < len(self.rates) else 0
        return self.logs[row, int(higher), n_levels - 1 - cut : 2 * n_levels - 1 - cut]

    def rate(self, people: Ints) -> float:
        """How often the answers of these people are wrong on average; without people, a typical person's."""
        return float(self.rates[self.rows(people)].mean()) if len(people) else float(self.rates[0])

    def worth(self, people: Ints) -> Floats:
        """How much an answer of each tells, relative to the best person: 1 for the best, 0 for flipping a coin."""
        sure = 1.0 - 2.0 * self.rates
        best = sure[1:].max() if len(sure) > 1 else sure[0]
        found: Floats = (sure[self.rows(people)] / best) ** 2
        return found

    def extended(self, voices: Sequence[Voice], rate: float | None = None) -> "Reliability":
        """With voices added since, about which nothing is known except how sure they say they are.

        If the error rate of all answers is given, a probability counts for as much as it says.
        """
        first, n_levels = len(self.rates) - 1, (self.logs.shape[2] + 1) // 2
        new = [voice.eighths for voice in voices[first:]]
        if not new or (first == 0 and not any(new)):  # all are alike
            return self
        rows = [_saying(eighths, rate, n_levels) if eighths else self.row(0) for eighths in new]
        return Reliability(*(np.concatenate(columns) for columns in zip(self, *rows, strict=True)))

    def row(self, number: int) -> "Reliability":
        return Reliability(self.logs[number : number + 1], self.rates[number : number + 1])


def alike(rate: float, n_levels: int) -> Reliability:
    """The same error rate for all people, none of them strict."""
    right, wrong = logs(np.array([1.0 - rate, max(rate, 1e-300)]))
    wrong = wrong if rate > 0.0 else _NEVER
    above = np.arange(1 - n_levels, n_levels) > 0
    return Reliability(np.array([[np.where(above, wrong, right), np.where(above, right, wrong)]]), np.array([rate]))


def _saying(eighths: int, rate: float | None, n_levels: int) -> Reliability:
    """For someone this sure, about whom nothing else is known; nobody is surer than the given rate allows."""
    if rate is None:
        return _of_kinds(WEIGHTS, 2 * n_levels - 1).row(eighths)
    return alike(min(max(rate, 1.0 - eighths / 8), _MOST), n_levels)


def by_people(told: AnswerColumns, prior: Floats, voices: Sequence[Voice]) -> Reliability:
    """An error rate and a strictness for each voice, from these answers about items with these priors."""
    kinds = agree(told, prior, voices).kinds
    return _of_kinds(np.concatenate([WEIGHTS[:1], kinds]), 2 * prior.shape[1] - 1)


def _of_kinds(kinds: Floats, width: int) -> Reliability:
    yes = engine.mix(kinds, KINDS.chances((width + 1) // 2))
    found = logs(np.stack([1.0 - yes, yes], axis=1).ravel()).reshape(len(kinds), 2, -1)
    n_levels = (width + 1) // 2
    offsets = np.arange(n_levels)[:, None] - np.arange(n_levels - 1) + n_levels - 1  # for all levels and cuts
    wrong = np.where(offsets >= n_levels, 1.0 - yes[:, offsets], yes[:, offsets]).mean(axis=(1, 2))
    return Reliability(found, np.minimum(wrong, _MOST))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def checked_error_rate(given: Any) -> float | None:
    """The error rate as a number; None if it is to be learned."""
    if given is None:
        return None
    if not is_number(given) or not 0 <= given < 0.5:
        raise ValueError(f"error_rate must be a share below 0.5, or None to learn it; got {given!r}")
    return float(given)


def cautious_rate(told: AnswerColumns, prior: Floats) -> float:
    """A cautious error rate, by how well the answers about each item fit one level.

    The priors must not rest on the items' own answers, or every answer would seem right.
    """
    n_levels = prior.shape[1]
    above = np.arange(1 - n_levels, n_levels) > 0
    wrong = np.array([[above, ~above]], dtype=float)  # in place of logarithms, so that answers are counted
    nobody = np.zeros(len(told.item), np.int64)
    against = posteriors.gather(told.item, nobody, told.cut, told.higher, wrong, len(prior))
    counts = np.bincount(told.item, minlength=len(prior))
    return float(priors.cautious_rate(np.ascontiguousarray(prior), against, counts, _BEFORE, _CAUTION))


def usual_rate(n_levels: int) -> float:
    """The same before any answer."""
    nobody = np.empty(0, np.int64)
    return cautious_rate(AnswerColumns(nobody, nobody, nobody, nobody > 0), np.empty((0, n_levels)))
