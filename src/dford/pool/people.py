"""Error rate and strictness of each person, from answers about the same items."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine.beliefs import people as engine
from dford.engine.beliefs import posteriors
from dford.engine.elementary import logs
from dford.estimates import Estimate, interval
from dford.log import FeedbackLog
from dford.pool.agreement import (
    KINDS,
    WEIGHTS,
    AnswerColumns,
    Voice,
    agree,
    is_shared,
    kinds_of,
    known_or_shared,
    number_voices,
    people_of,
    speaks,
)

_FINE_ERRORS = (np.arange(60) + 0.5) / 120
_FINE_STRICT = np.concatenate([np.linspace(0.1, 2.0, 20), [2.5, 3.0, 4.0, 6.0]])
_CLEAR = 0.9  # the probability of yes or no, by others' answers, at which a question is clear
_FINE = kinds_of(_FINE_ERRORS, _FINE_STRICT, sure=False)  # so that the intervals also cover those who are often wrong


class Person(NamedTuple):
    """What is known about one person. Intervals are 95% intervals."""

    name: str
    answers: int
    error_rate: Estimate
    """How often an answer of theirs is wrong."""
    strictness: Estimate
    """How many levels their thresholds are above everybody's; beyond two levels, the interval is only a rough guide."""
    judged: int
    """How many answers these two figures are based on."""
    agreement: Estimate | None
    """How often they agree with the others where their answers leave little doubt; None if they never do.

    Items are asked about again where something does not fit, so this is less than how often they are right.
    """
    gold: Estimate | None
    """How often they are right about items whose level was already known; None if there were none."""


class Basis(NamedTuple):
    """Answers that show how reliable people are, and what is known about their items besides.

    They must have been asked without knowing more about an item than that: a question at the very level that features
    suggest is answered yes as often as no, which would look like flipping a coin.
    """

    told: AnswerColumns
    prior: Floats


def read_people(voices: Sequence[Voice], told: AnswerColumns, known: Ints, basis: Basis) -> list[Person]:
    """The figures of all people. `known` is the level that was already known when a question was asked, or -1."""
    counts, says = np.bincount(told.person, minlength=len(voices)), speaks(voices, told.person)
    told, known = told.where(says), known[says]
    judged = basis.told.where(speaks(voices, basis.told.person))
    levels = agree(judged, basis.prior, voices).others
    chances, n_levels = _FINE.chances(basis.prior.shape[1]), basis.prior.shape[1]
    yes, is_gold = _others_say(voices, told, n_levels), known >= 0
    is_clear = np.abs(yes - 0.5) >= _CLEAR - 0.5
    like, right = ((said == told.higher).astype(np.float64) for said in (yes > 0.5, known > told.cut))
    found = []
    for name in dict.fromkeys(voice.name for voice in voices):
        is_own = np.array([voice.name == name for voice in voices])
        all_own, own = is_own[told.person], is_own[judged.person]
        count = int(own.sum())
        likely, wrong, variance = engine.read_person(levels[own], judged.cut[own], judged.higher[own], chances)
        weights = _FINE.weights * np.exp(likely - likely.max())
        found.append(
            Person(
                name,
                int(counts[is_own].sum()),
                _error_rate(wrong / count if count else _FINE.error, variance / max(count, 1) ** 2, weights),
                _strictness(weights, n_levels - 1.0),
                count,
                _share(like[all_own & is_clear]),
                _share(right[all_own & is_gold]),
            )
        )
    return found


def _others_say(voices: Sequence[Voice], told: AnswerColumns, n_levels: int) -> Floats:
    """How likely a yes is, only from what others answered about the item, taking each of them for a typical person."""
    chances = engine.mix(WEIGHTS[:1], KINDS.chances(n_levels))[0]
    likely = logs(np.stack([1.0 - chances, chances]).ravel()).reshape(2, -1)
    offsets = np.arange(n_levels) - told.cut[:, None] + n_levels - 1
    said = likely[told.higher.astype(np.int64)[:, None], offsets]
    pairs = np.unique(told.item * len(voices) + people_of(voices)[told.person], return_inverse=True)[1]
    others = np.zeros(said.shape)
    for k in range(n_levels):
        others[:, k] = np.bincount(told.item, said[:, k])[told.item] - np.bincount(pairs, said[:, k])[pairs]
    whole = np.tile(np.array([0, n_levels - 1], np.int16), (len(others), 1))
    beliefs = posteriors.beliefs(np.arange(len(others)), np.full(others.shape, 1.0 / n_levels), others, whole)
    yes: Floats = np.where(np.arange(n_levels) > told.cut[:, None], beliefs, 0.0).sum(axis=1)
    return np.where(is_shared(told, voices), yes, 0.5)


def _error_rate(rates: Floats, variances: Floats, weights: Floats) -> Estimate:
    """By what kind of person it may be, and by how sure each kind's rate is."""
    mean, low, high = _quantiles(rates, weights)
    reach = float(_FINE_ERRORS[0])  # each rate stands for those within this distance
    never, that_often = (weights[np.abs(rates - rate) <= 2 * reach].sum() for rate in (0.0, high))
    guesses = 0.5 if high + 3 * reach >= 0.5 else 0.0  # the last of the rates stands for guessing, too
    doubt = 1.96 * 1.96 * float((variances * weights).sum() / weights.sum())
    below, above = (math.sqrt((mean - end) * (mean - end) + doubt) + reach for end in (low, high))
    return Estimate(mean, 0.0 if never >= that_often else max(mean - below, 0.0), max(min(mean + above, 1.0), guesses))


def _strictness(weights: Floats, most: float) -> Estimate:
    mean, low, high = _quantiles(_FINE.strictness, weights)
    reach, end = float(_FINE_STRICT[0]) / 2, float(_FINE_STRICT[-1])
    # at the end of the grid, it may be anything beyond
    low, high = -most if low <= -end else low - reach, most if high >= end else high + reach
    return Estimate(min(max(mean, -most), most), max(low, -most), min(high, most))


def _share(terms: Floats) -> Estimate | None:
    return interval(terms, reach=(0.0, 1.0), possible=(0.0, 1.0)) if len(terms) else None


def _quantiles(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """The mean, and where 95% of the weight is."""
    order = np.argsort(values, kind="stable")
    shares = weights[order].cumsum() / weights.sum()
    low, high = (values[order][min(int(np.searchsorted(shares, q)), len(order) - 1)] for q in (0.025, 0.975))
    return float((values * weights).sum() / weights.sum()), float(low), float(high)


class People(Mapping[str, Person]):
    """What a log says about the people who answered.

    A person's answers are compared with the others' answers about the same items, with known levels (`gold`), and,
    where nobody else answered and the same question was asked again, with each other. All of this is one likelihood of
    error rates, strictness and levels. Someone with few answers gets nearly the figures of a typical person.

    If the log has features, its questions may have been chosen with them, where the answer was in doubt. Then only
    answers about gold show how often people are wrong. A pool knows which of its questions were not chosen by features:
    see `Pool.people_`.

    Parameters
    ----------
    log : FeedbackLog
        With the item and the person of each answer; answers without a person count as one person's, named "". No
        answer may be there twice: a copy would look like a question asked again. With times, copies are refused.
    gold : mapping of item to level, optional
        Items whose level is known.

    Attributes
    ----------
    identified_by : dict
        How many answers show how often people are wrong: "agreement" (others answered about the item), "gold", and
        "repeats" (the same question asked again, where nobody else answered). It warns if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from dford import FeedbackLog, People, Question
    >>> log, random = FeedbackLog([1, 2, 3]), np.random.default_rng(0)
    >>> for item, level in enumerate(random.integers(1, 4, 100)):
    ...     for person, rate in [("ann", 0.0), ("ben", 0.05), ("cat", 0.4)]:
    ...         for asked in (1, 2):
    ...             higher = bool((level > asked) != (random.random() < rate))
    ...             log.append(Question("", [], asked, asked, 1.0, 0), higher, item=item, person=person)
    >>> people = People(log)
    >>> people["cat"].answers, people.flagged(0.2)
    (200, ['cat'])
    """

    def __init__(self, log: FeedbackLog, *, gold: Mapping[int, Any] | None = None) -> None:
        log.refuse_copies()
        asked = log.level_numbers - 1
        keep = np.array([item is not None for item in log.item], np.bool_) & (asked < len(log.scale) - 1)
        if not keep.any():
            raise ValueError("the log does not say which items its answers are about; add the column item")
        numbers, item = np.unique(log.item[keep].astype(np.int64), return_inverse=True)
        voices, person = number_voices(log.person[keep], log.confidence[keep])
        told = AnswerColumns(item.astype(np.int64), person, asked[keep], log.higher[keep].astype(np.int64))
        places = {int(number): place for place, number in enumerate(numbers)}
        right = {one: log.scale.number(level) - 1 for one, level in (gold or {}).items()}
        known = {places[one]: level for one, level in right.items() if one in places}
        if right and not known:
            raise ValueError(f"the log has no answers about the gold items, such as {next(iter(right))!r}")
        levels = np.full(len(numbers), -1)
        for place, level in known.items():
            levels[place] = level
        said = told.where(speaks(voices, told.person))
        prior = known_or_shared(said, voices, len(numbers), len(log.scale), known)
        on_gold = said.where(levels[said.item] >= 0)
        has_features = log.X.shape[1] > 0
        found = read_people(voices, told, levels[told.item], Basis(on_gold if has_features else told, prior))
        self._found = {one.name: one for one in found}
        shared = is_shared(said, voices)
        again = np.unique(np.stack(said.where(~shared)[:3], axis=1), axis=0, return_counts=True)[1]
        self.identified_by = {
            "agreement": 0 if has_features else int(shared.sum()),
            "gold": len(on_gold.item),
            "repeats": 0 if has_features else int(again.sum() - len(again)),
        }
        if not any(self.identified_by.values()):
            why = (
                "its questions may have been chosen by features, and no item's level is known"
                if has_features
                else "no two answered about the same item, no question was asked again, and no level is known"
            )
            warnings.warn(
                f"this log does not show how often people are wrong: {why}; the figures are those of a typical person",
                stacklevel=2,
            )

    def __getitem__(self, name: str) -> Person:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def flagged(self, above: float) -> list[str]:
        """The people who are clearly wrong more often than this: their whole interval is above it."""
        return [one.name for one in self._found.values() if one.error_rate.low > above]

    def to_frame(self) -> Any:
        """A pandas frame with one row per person."""
        import pandas as pd

        rows = []
        for one in self._found.values():
            row: dict[str, Any] = {"person": one.name, "answers": one.answers, "judged": one.judged}
            for name in ("error_rate", "strictness", "agreement", "gold"):
                value, low, high = getattr(one, name) or (np.nan, np.nan, np.nan)
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
        return pd.DataFrame(rows)
