"""Levels and people, found together from answers about the same items."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import people as engine
from dford.engine.beliefs.opinions import RATED, YES
from dford.log_columns import is_guess

_ROUNDS = 8  # of messages back and forth
_SHARING, _STILL = 20, 1e-3  # the most iterations for the shares of the levels, and the change at which they stop
_ERRORS = np.array([0.005, 0.03, 0.07, 0.13, 0.22, 0.33, 0.48])
_STRICT = np.array([0.2, 0.45, 0.7, 1.0, 1.5, 2.5, 4.0])
_HALVES = counter.stream(0, "ratings as answers")
_SPREAD = 0.2  # levels by which people are stricter or milder than others


class Kinds(NamedTuple):
    """Kinds of people. Each kind's thresholds are `strictness` levels above everybody's, and some answers are flipped.

    An item may be anywhere within its level. So someone stricter by a quarter of a level says no to a quarter of the
    items just above a cut.
    """

    error: Floats
    strictness: Floats
    weights: Floats
    """How likely each kind is for someone about whom nothing is known."""

    def chances(self, n_levels: int) -> Floats:
        """How likely each kind is to say yes, by how far the level is above the cut: see `engine.beliefs.people`."""
        above = np.arange(1 - n_levels, n_levels) - self.strictness[:, None]
        error = self.error[:, None]
        found: Floats = error + (1.0 - 2.0 * error) * np.clip(above, 0.0, 1.0)
        return found


def kinds_of(errors: Floats, strict: Floats, sure: bool) -> Kinds:
    """Wrong answers are assumed to be rare, even more so if `sure`, and few people to be strict or mild."""
    both = np.concatenate([-strict[::-1], [0.0], strict])
    error, strictness = (grid.ravel() for grid in np.meshgrid(errors, both, indexing="ij"))
    near = 1.0 / (1.0 + (strictness / _SPREAD) * (strictness / _SPREAD) / 8.0)
    near = near * near  # nearly a normal distribution, with longer tails
    weights = _rare(error, sure) * near * near
    return Kinds(error, strictness, weights / weights.sum())


def _rare(error: Floats, sure: bool) -> Floats:
    # no powers or exponentials, whose bits differ between machines
    rare = (1.0 - error) * (1.0 - error)
    rare = rare * rare
    return rare * rare if sure else rare


def _and_guessing(kinds: Kinds) -> Kinds:
    """With one more kind, the last, that answers by flipping a coin. Nobody is of this kind unless they say so."""
    return Kinds(*(np.append(column, last) for column, last in zip(kinds, (0.5, 0.0, 0.0), strict=True)))


KINDS = _and_guessing(kinds_of(_ERRORS, _STRICT, sure=True))
GUESS = 4  # eighths


def _sure(eighths: int) -> Floats:
    """How likely each kind is for someone who says their answer is right with this probability, in eighths.

    It counts like sixteen answers of which so many are right, for someone who is not assumed to be wrong rarely.
    """
    if eighths == GUESS:
        return np.append(np.zeros(len(KINDS.error) - 1), 1.0)
    weights = KINDS.weights if eighths == 0 else KINDS.weights / _rare(KINDS.error, sure=True)
    for i in range(16 if eighths else 0):
        weights = weights * (1.0 - KINDS.error if i < 2 * eighths else KINDS.error)
    found: Floats = weights / weights.sum()
    return found


WEIGHTS = np.stack([_sure(eighths) for eighths in range(9)])


class Voice(NamedTuple):
    """A person being this sure of an answer. How much that is worth is judged by others' answers, too."""

    name: str
    eighths: int = 0
    """The probability they give that their answer is right, in eighths, or 0 if they give none."""
    informs: bool = False
    """Whether what they say is something to learn from, and does not decide: that of programs."""

    @classmethod
    def of(cls, name: str, confidence: float, informs: bool = False) -> "Voice":
        """The voice for a confidence from 0.5 to 1, or NaN."""
        if np.isnan(confidence):
            return cls(name, informs=informs)
        return cls(name, GUESS if is_guess(confidence) else max(round(8 * confidence), GUESS + 1), informs)

    @property
    def is_guess(self) -> bool:
        """Whether these answers are guesses, which say nothing."""
        return self.eighths == GUESS

    @property
    def decides(self) -> bool:
        """Whether these answers say what is right."""
        return not (self.is_guess or self.informs)


def number_voices(names: Iterable[str | None], confidences: Iterable[float]) -> tuple[list[Voice], Ints]:
    """The voices of answers, in alphabetical order, and the number of each answer's voice."""
    said = [Voice.of(name or "", sure) for name, sure in zip(names, confidences, strict=True)]
    voices = sorted(set(said))
    number = {voice: i for i, voice in enumerate(voices)}
    return voices, np.array([number[voice] for voice in said], dtype=np.int64)


def people_of(voices: Sequence[Voice]) -> Ints:
    """Whose voice each is, given as the number of that person's first voice."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(voice.name, n) for n, voice in enumerate(voices)], dtype=np.int64)


def speaks(voices: Sequence[Voice], people: Ints) -> Bools:
    """Which answers say something, by the numbers of their voices."""
    found: Bools = np.array([not voice.is_guess for voice in voices], np.bool_)[people]
    return found


def decides(voices: Sequence[Voice], people: Ints) -> Bools:
    """Which answers say what is right."""
    found: Bools = np.array([voice.decides for voice in voices], np.bool_)[people]
    return found


def voices_of(voices: Sequence[Voice], person: str) -> list[int]:
    """The numbers of all voices of a person."""
    return [number for number, voice in enumerate(voices) if voice.name == person]


class AnswerColumns(NamedTuple):
    """Answers of people about items. Items, people (or voices), cuts and levels count from 0."""

    item: Ints
    person: Ints
    cut: Ints
    """The cut that was asked about or, of a rating, the level."""
    said: Ints
    """NO, YES or RATED."""

    @property
    def higher(self) -> Bools:
        """Which answers are yes."""
        found: Bools = self.said == YES
        return found

    def halved(self, n_levels: int) -> "AnswerColumns":
        """Each rating as the yes or no that it gives to a question about a cut drawn for its item."""
        if not (self.said == RATED).any():
            return self
        cut, said = halve(self.cut, self.said, counter.uniforms(_HALVES, self.item), n_levels)
        return self._replace(cut=cut, said=said)

    def where(self, which: Any) -> "AnswerColumns":
        """A selection of the answers."""
        return AnswerColumns(self.item[which], self.person[which], self.cut[which], self.said[which])


def halve(cut: Ints, said: Ints, draws: Floats, n_levels: int) -> tuple[Ints, Ints]:
    """Ratings as answers about cuts drawn by these numbers from 0 to 1: one bit each, like any other answer."""
    is_rated, drawn = said == RATED, (draws * (n_levels - 1)).astype(np.int64)
    return np.where(is_rated, drawn, cut), np.where(is_rated, cut > drawn, said)


class Agreed(NamedTuple):
    """What answers say about items and people together."""

    beliefs: Floats
    """How likely each level is, for every item."""
    kinds: Floats
    """How likely each of `KINDS` is, for every person."""
    others: Floats
    """How likely each level is for the item of each answer, leaving out what the same person said about it."""


def agree(told: AnswerColumns, prior: Floats, voices: Sequence[Voice]) -> Agreed:
    """Find levels and voices together; other threads can run meanwhile."""
    n_levels, weights = prior.shape[1], WEIGHTS[[voice.eighths for voice in voices]]
    found = Agreed(np.empty(prior.shape), np.empty(weights.shape), np.empty((len(told.item), n_levels)))
    messages, work = np.empty(found.others.shape), np.empty((2, weights.shape[1]))
    together, prior = _together(told, voices), np.ascontiguousarray(prior)
    yes = KINDS.chances(n_levels).T
    says = np.ascontiguousarray(np.stack([1.0 - yes, yes]))
    engine.agree(
        told.item, told.person, told.cut, told.higher, together, prior, says, weights, _ROUNDS, *found, messages, work
    )
    return found


def _together(told: AnswerColumns, voices: Sequence[Voice]) -> Ints:
    """From each answer to the next one by the same person about the item, in a circle, if others answered about it."""
    alone, person = np.arange(len(told.item)), people_of(voices)[told.person]
    order = np.lexsort((person, told.item))
    keys = np.stack([told.item, person])[:, order]
    starts = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)])
    following = alone + 1
    following[np.append(starts[1:], len(order))[: len(starts)] - 1] = starts
    found = alone.copy()
    found[order] = order[following]
    return np.where(is_shared(told, voices), found, alone)


def is_shared(told: AnswerColumns, voices: Sequence[Voice]) -> Bools:
    """Which answers are about items that someone else answered about too."""
    pairs = np.unique(np.stack([told.item, people_of(voices)[told.person]], axis=1), axis=0)
    people = np.bincount(pairs[:, 0], minlength=1 + int(told.item.max(initial=-1)))
    found: Bools = people[told.item] > 1
    return found


def known_or_shared(
    told: AnswerColumns, voices: Sequence[Voice], n_items: int, n_levels: int, known: Mapping[int, int]
) -> Floats:
    """Priors of items: the shares of the levels according to these answers, or the level itself where it is known.

    They are iterated to convergence: shares that are too even would make everybody look strict or mild.
    """
    shares, is_known = np.full(n_levels, 1.0 / n_levels), np.isin(np.arange(n_items), list(known))
    for _ in range(_SHARING):
        prior = np.tile(shares, (n_items, 1))
        for item, level in known.items():
            prior[item] = np.arange(n_levels) == level
        counts = 0.5 + agree(told, prior, voices).beliefs[~is_known].sum(axis=0)
        before, shares = shares, counts / counts.sum()
        if np.abs(shares - before).max() < _STILL:
            break
    return prior
