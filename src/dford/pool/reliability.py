"""How likely an answer is, by who gives it and how sure they say they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import people as engine
from dford.engine.elementary import logs
from dford.pool.agreement import KINDS, WEIGHTS, AnswerColumns, Voice, agree

_MOST = 0.499  # so that a guess never counts for the opposite answer
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
