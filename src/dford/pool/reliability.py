"""How likely an answer is, by who gives it and how sure they say they are: see `engine.beliefs.opinions`."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine.beliefs import opinions, posteriors, priors
from dford.engine.elementary import logs, sigmoid
from dford.pool.agreement import AnswerColumns, Voice, people_of

_MOST = 0.499  # so that a guess never counts for the opposite answer
_BEFORE = 8.0  # without any evidence, an error rate of 0.1 is expected
# The rate that is used is above the right one with this probability. Too many errors assumed cost next to nothing; too
# few make levels look more certain than they are, and with few answers nobody can tell.
_CAUTION = 0.8
_LEAST_RATE, _LEAST_SHARE = 1e-300, 1e-6
_PLACES = 60  # in all, if there are enough levels; a level has at most five
_RATES = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.42, 0.49])
# Spreads are compared with the positions of items, whose standard deviation is 1.8. Before people have answered about
# the same items, nothing tells a spread from 0, and to believe in 0 would be to expect a third of the true error.
_SPREADS = np.array([0.03, 0.06, 0.11, 0.2, 0.3, 0.4, 0.55, 0.8, 1.05, 1.4, 1.9])
_USUAL_SPREAD, _PRECISION = 0.35, 2.0
# Then it is as likely that they do not differ at all, and only slip: in nats, once so many items say so.
_THE_SAME, _SHARED = 6.0, 100
_STRICT = np.array([0.25, 0.5, 0.8, 1.2, 1.8, 2.6, 4.0, 6.0])
_BOTH = np.concatenate([-_STRICT[::-1], [0.0], _STRICT])
# Hardly anybody is believed to be strict or mild without a hundred answers that say so: what is right is the median of
# what people think, strict ones included, and to correct each by a guess moves levels away from it.
_NEARLY_NONE = 0.05
_SURE = 16.0  # answers that the rate of slips of somebody starts with who says how sure they are
_ANSWERS = 2.0, 8.0, 32.0, 128.0  # answers that anybody's rate may start with: the more, the more people are alike
_ITEMS = 4000  # that rate and spread are found from, at most
# A cautious rate is about twice a likely one. By it, ratings of rare levels would be taken for slips, the levels so
# for rarer still, and so on.
_LIKELY = 0.5
_EVEN = 0.1  # of the shares, so that no level vanishes


class Reliability(NamedTuple):
    """How people answer. The first row is for someone about whom nothing is known; voice v has row v + 1, or that."""

    shares: Floats
    """Those of the levels, which say where their borders are."""
    spread: float
    """How much opinions about an item differ; 0 if one person's opinion is what is right."""
    strictness: Floats
    """How far below an item's position a person's opinion of it is, by row."""
    rates: Floats
    """How often an answer is a slip, by row."""

    @property
    def fine(self) -> int:
        """How many places a level has: one if opinions are where items stand."""
        return 1 if self.spread == 0.0 else max(1, min(5, _PLACES // len(self.shares)))

    @property
    def is_alike(self) -> bool:
        """Whether all answers are equally likely to be wrong."""
        return len(self.rates) == 1

    def without_spread(self) -> "Reliability":
        """The same if a person's opinion is what is right, and nobody strict."""
        return self._replace(spread=0.0, strictness=np.zeros(len(self.rates)))

    def positions(self) -> tuple[Floats, Floats]:
        """Where borders and places are."""
        found: tuple[Floats, Floats] = opinions.positions(self.shares, self.fine)
        return found

    def rows(self, people: Ints) -> Ints:
        found: Ints = np.where(people + 1 < len(self.rates), people + 1, 0)
        return found

    def evidence(self, told: AnswerColumns, voices: Sequence[Voice], n_items: int, rated: float = 1.0) -> Floats:
        """What answers say about items, as logarithms, by place; slips in ratings are so many times as frequent."""
        groups = Groups.of(told, voices, are_one=self.spread > 0.0)
        rows = self.rows(groups.voices)
        rates = np.where(groups.said == opinions.RATED, rated, 1.0) * self.rates[rows]
        found: Floats = opinions.evidence(
            groups.starts, groups.items, self.strictness[rows[groups.starts[:-1]]], groups.cuts, groups.said,
            rates, self.spread, *self.positions(), n_items,
        )  # fmt: skip
        return found

    def of(self, voices: Ints, cuts: Ints, said: Ints) -> Floats:
        """The same of some answers of one person about one item."""
        rows, whole = self.rows(voices), np.array([0, len(voices)])
        found: Floats = opinions.evidence(
            whole, np.zeros(1, np.int64), self.strictness[rows[:1]], cuts, said, self.rates[rows], self.spread,
            *self.positions(), 1,
        )[0]  # fmt: skip
        return found

    def slips(self, people: Ints) -> float:
        """How often the answers of these people are slips on average; without people, a typical person's."""
        return float(self.rates[self.rows(people)].mean()) if len(people) else float(self.rates[0])

    def rate(self, people: Ints) -> float:
        """How often they are wrong, be it a slip or another opinion, about random cuts."""
        sure = self.sureness()
        return 0.5 - 0.5 * float(sure[self.rows(people)].mean() if len(people) else sure[0])

    def sureness(self) -> Floats:
        """How much likelier a yes is if it is right than if it is wrong, by row: 1 - 2e for slips at a rate e."""
        if self.spread == 0.0:
            return 1.0 - 2.0 * self.rates
        found = opinions.sureness(self.shares, self.strictness, self.rates, self.spread, *self.positions())
        return np.maximum(found, 1.0 - 2.0 * _MOST)

    def extended(self, voices: Sequence[Voice], rate: float | None = None) -> "Reliability":
        """With voices added since, about which nothing is known except how sure they say they are.

        If the error rate of all answers is given, a probability counts for as much as it says.
        """
        first = len(self.rates) - 1
        new = [0 if voice.informs else voice.eighths for voice in voices[first:]]
        found = self
        if new and (first > 0 or any(new) or are_several(voices)):
            rates = [self.rates[0] if not eighths else least_rate(eighths, rate) for eighths in new]
            found = self._replace(
                rates=np.append(self.rates, rates), strictness=np.append(self.strictness, np.zeros(len(new)))
            )
        if rate is None and found.spread == 0.0 and are_several(voices):
            return found._replace(spread=_USUAL_SPREAD)
        return found

    def of_first(self, voices: Sequence[Voice]) -> "Reliability":
        """Without voices that came after these."""
        n = len(voices) + 1
        spread = self.spread if are_several(voices) else 0.0
        return self._replace(spread=spread, strictness=self.strictness[:n], rates=self.rates[:n])

    def weights(self) -> Floats:
        """How much likelier each row is to give the opposite answer where it is wrong, as `posteriors.gather` takes it.

        Of someone who guesses, it is nothing.
        """
        n_levels = len(self.shares)
        above = np.arange(1 - n_levels, n_levels) > 0
        odds = logs(np.maximum(self.rates, _LEAST_RATE)) - logs(1.0 - self.rates)
        return np.stack([odds[:, None] * above, odds[:, None] * ~above], axis=1)


class Groups(NamedTuple):
    """Answers in the order of their items, those of one person about an item together: see `opinions`."""

    starts: Ints
    items: Ints
    people: Ints
    voices: Ints
    cuts: Ints
    said: Ints

    @classmethod
    def of(cls, told: AnswerColumns, voices: Sequence[Voice], are_one: bool = True) -> "Groups":
        """Unless a person's answers about an item are one, each is a group of its own."""
        person = people_of(voices)[told.person] if len(told.person) else told.person
        order = np.lexsort((person, told.item)) if are_one else np.argsort(told.item, kind="stable")
        item, person = told.item[order], person[order]
        first = np.append(True, (item[1:] != item[:-1]) | (person[1:] != person[:-1]) | (not are_one))[: len(item)]
        starts = np.flatnonzero(first)
        said = told.said[order].astype(np.int64)
        return cls(
            np.append(starts, len(item)), item[starts], person[starts], told.person[order], told.cut[order], said
        )

    def thinned(self, most: int) -> "Groups":
        """Those about items there are several answers about, evenly spread, if there are more than so many."""
        answers = np.bincount(self.items, np.diff(self.starts))
        items = np.flatnonzero(answers > 1)
        kept = np.isin(self.items, items[:: 1 + len(items) // most])
        sizes = np.diff(self.starts)
        which = np.repeat(kept, sizes)
        starts = np.concatenate([[0], sizes[kept].cumsum()])
        columns = (column[which] for column in (self.voices, self.cuts, self.said))
        return Groups(starts, self.items[kept], self.people[kept], *columns)


def alike(rate: float, n_levels: int) -> Reliability:
    """The same error rate for all people, whose opinions are the same."""
    return Reliability(np.full(n_levels, 1.0 / n_levels), 0.0, np.zeros(1), np.array([rate]))


def are_several(voices: Sequence[Voice]) -> bool:
    """Whether more than one person has said something that decides."""
    names = (voice.name for voice in voices if voice.decides)
    first = next(names, "")
    return any(name != first for name in names)


def least_rate(eighths: int, rate: float | None) -> float:
    """How often someone this sure is wrong by their own account, but not less often than the given rate."""
    return min(max(rate or 0.0, 1.0 - eighths / 8), _MOST)


class _Case(NamedTuple):
    """What reliability is found from: answers about items, and what is known about these besides."""

    told: AnswerColumns
    prior: Floats
    bounds: Any
    voices: Sequence[Voice]
    answered: Ints
    """The items there are answers about."""
    each: float
    """How many people there are about each of these, on average."""

    @classmethod
    def of(cls, told: AnswerColumns, prior: Floats, bounds: Any, voices: Sequence[Voice]) -> "_Case":
        answered = np.unique(told.item)
        prior = np.maximum(prior, _LEAST_SHARE)  # items whose level is known may leave out one of the scale's
        pairs = np.unique(told.item * (1 + len(voices)) + people_of(voices)[told.person]).size if len(answered) else 0
        return cls(told, prior, bounds, voices, answered, pairs / max(len(answered), 1))

    def shares(self, found: Reliability) -> Floats:
        """The shares of the levels if opinions were what is right, so that nothing but slips has to be undone.

        To undo a spread level by level would be to learn a share for each from answers that hardly tell them apart.
        """
        some, n_levels = self.bounds[self.answered], self.prior.shape[1]
        before = np.ascontiguousarray(self.prior[self.answered])
        if not len(before):
            return found.shares
        flat = found.without_spread().evidence(self.told, self.voices, len(self.prior), _LIKELY)[self.answered]
        now: Floats = bounded(before * priors.tilt(before, flat, some), some).mean(axis=0)
        found_shares: Floats = (1.0 - _EVEN) * now / now.sum() + _EVEN / n_levels
        return found_shares

    def with_shares(self, found: Reliability, shares: Floats) -> tuple[Floats, Reliability]:
        """The priors of the items, and how people are, if these are the shares of the levels by opinions.

        Opinions are spread more widely than items, the more so the fewer there are about each.
        """
        wider = math.sqrt(1.0 + found.spread * found.spread / max(self.each, 1.0))
        below = np.clip(shares.cumsum()[:-1], _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        borders = [sigmoid(wider * odds) for odds in logs(below / (1.0 - below)).tolist()]
        own = np.maximum(np.diff(np.array([0.0, *borders, 1.0])), _LEAST_SHARE)
        own /= own.sum()
        usual = self.prior[self.answered].mean(axis=0) if len(self.answered) else own
        return bounded(self.prior * (own / usual), self.bounds), found._replace(shares=own)


def by_people(told: AnswerColumns, prior: Floats, bounds: Any, voices: Sequence[Voice]) -> Reliability:
    """A rate of slips and a strictness for each voice, and the spread of opinions, from answers about these items.

    The priors must not rest on the items' own answers. At first all people are taken to be alike; then each is compared
    with what all others say about the same items, starting from that.
    """
    n_levels, several = prior.shape[1], are_several(voices)
    case = _Case.of(told, prior, bounds, voices)
    groups = Groups.of(told, voices, are_one=several)
    spreads = _SPREADS if several else np.zeros(1)
    found, few = alike(usual_rate(n_levels), n_levels).extended(voices), groups.thinned(_ITEMS)
    least = np.array([0.0 if not voice.eighths else least_rate(voice.eighths, None) for voice in voices])
    for _ in range(2):
        likely = _if_alike(few, least, case, found, spreads, len(_RATES))
        rate, spread = opinions.rate_and_spread(_RATES, spreads, likely, _CAUTION)
        found = _of_all(found, rate, spread if several else 0.0, voices)
    for _ in range(2):
        now, found = case.with_shares(found, case.shares(found))
        found = _each(found, groups, found.evidence(told, voices, len(prior)), now, voices)
        if several:  # now that it is known who slips
            likely = _if_alike(few, found.rates[1:], case, found, spreads, 1)
            found = found._replace(spread=opinions.rate_and_spread(_RATES[:1], spreads, likely, 1.0)[1])
    return case.with_shares(found, case.shares(found))[1]


def with_shares(found: Reliability, told: AnswerColumns, bounds: Any, voices: Sequence[Voice]) -> Reliability:
    """With the shares of the levels that these answers show."""
    even = np.full((len(bounds), len(found.shares)), 1.0 / len(found.shares))
    case = _Case.of(told, even, bounds, voices)
    return case.with_shares(found, case.shares(found))[1]


def _if_alike(
    groups: Groups, least: Floats, case: _Case, found: Reliability, spreads: Floats, n_rates: int
) -> Floats:  # fmt: skip
    """How likely the answers are by rate, of the first few, and spread, and these before them, as logarithms.

    Borders are where they must be for the opinions to have the same shares, whatever their spread.
    """
    shares, likely = case.shares(found), np.empty((n_rates, len(spreads)))
    for s, spread in enumerate(spreads.tolist()):
        now, tried = case.with_shares(found._replace(spread=spread), shares)
        likely[:, s] = opinions.if_alike(
            groups.starts, groups.items, groups.cuts, groups.said, least[groups.voices], now, _RATES[:n_rates],
            spreads[s : s + 1], *tried.positions(),
        )[:, 0]  # fmt: skip
    likely += (_BEFORE * logs(1.0 - _RATES) + logs(np.gradient(_RATES)))[:n_rates, None]
    if len(spreads) > 1:
        deviations = logs(spreads) - logs(np.array([_USUAL_SPREAD]))
        likely -= 0.5 * _PRECISION * deviations * deviations
        shared = int((np.unique(groups.items, return_counts=True)[1] > 1).sum())
        likely[:, 0] += _THE_SAME * shared / (shared + _SHARED)
    return likely


def _of_all(found: Reliability, rate: float, spread: float, voices: Sequence[Voice]) -> Reliability:
    own = [rate if not voice.eighths else max(rate, least_rate(voice.eighths, None)) for voice in voices]
    return found._replace(rates=np.array([rate, *own])[: len(found.rates)], spread=spread)


def _each(found: Reliability, groups: Groups, known: Floats, prior: Floats, voices: Sequence[Voice]) -> Reliability:
    """With a rate and a strictness for each voice."""
    if found.is_alike:
        return found
    several = found.spread > 0.0
    borders, places = found.positions()
    rows, rates, strictness = found.rows(groups.voices), found.rates.copy(), found.strictness.copy()
    near = 1.0 / (1.0 + (_BOTH / _NEARLY_NONE) * (_BOTH / _NEARLY_NONE) / 8.0)
    tries = _BOTH if several else np.zeros(1)
    strict_before = (4.0 * logs(near) + logs(np.gradient(_BOTH))) if several else np.zeros(1)
    people, order = people_of(voices), np.argsort(groups.people, kind="stable")
    if (prior == prior[:1]).all():  # then a rating of an item that nobody else spoke about says nothing of who gave it
        alone = np.bincount(groups.items)[groups.items] == 1
        order = order[~(alone & (groups.said[groups.starts[:-1]] == opinions.RATED))[order]]
    ends = np.searchsorted(groups.people[order], np.arange(len(voices) + 1))
    by_strictness, by_rate = opinions.of_people(
        order, ends, people, groups.voices, groups.starts, groups.items, groups.cuts, groups.said, found.rates[rows],
        prior, known, 0.0, found.spread, borders, places, tries, _RATES,
    )  # fmt: skip
    is_guess, eighths = (np.array([getattr(voice, name) for voice in voices]) for name in ("is_guess", "eighths"))
    heard = np.flatnonzero(~is_guess & (ends[people + 1] > ends[people]))
    usual = _usual_rates(found.rates[0], by_rate[heard[eighths[heard] == 0]])
    for voice in heard.tolist():
        strictness[voice + 1] = opinions.expected(tries, by_strictness[voice] + strict_before)
        sure = int(eighths[voice])
        before = _rates_before(least_rate(sure, None), _SURE) if sure else usual
        rates[voice + 1] = opinions.expected(_RATES, by_rate[voice] + before)
    return found._replace(rates=rates, strictness=strictness)


def _rates_before(rate: float, answers: float) -> Floats:
    """How likely each rate is, as logarithms, if so many answers have shown this rate."""
    found: Floats = answers * (rate * logs(_RATES) + (1.0 - rate) * logs(1.0 - _RATES)) + logs(np.gradient(_RATES))
    return found - opinions.total(found)


def _usual_rates(rate: float, by_rates: Floats) -> Floats:
    """How likely each rate is for anybody: people are as much alike as their answers say."""
    tried = [_rates_before(rate, answers) for answers in _ANSWERS]
    if not len(by_rates):
        return tried[0]
    likely = [opinions.sum_of_totals(before, by_rates) for before in tried]
    return tried[int(np.argmax(likely))]


def bounded(prior: Floats, bounds: Any) -> Floats:
    """Priors of items, with nothing outside the settled range."""
    levels = np.arange(prior.shape[1])
    kept = np.where((levels >= bounds[:, :1]) & (levels <= bounds[:, 1:]), prior, 0.0)
    found: Floats = kept / kept.sum(axis=1, keepdims=True)
    return found


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
    asked, rated = told.where(told.said != opinions.RATED), told.where(told.said == opinions.RATED)
    against = posteriors.gather(asked.item, nobody[: len(asked.item)], asked.cut, asked.higher, wrong, len(prior))
    misrated = np.zeros(against.shape)
    np.add.at(misrated, rated.item, 1.0 - np.eye(n_levels)[rated.cut])
    elsewhere = misrated * float(logs(np.array([n_levels - 1.0]))[0])  # a yes can be wrong in one way, a rating in many
    counts = np.bincount(told.item, minlength=len(prior))
    prior = np.ascontiguousarray(prior)
    return float(priors.cautious_rate(prior, against + misrated, elsewhere, counts, _BEFORE, _CAUTION))


def usual_rate(n_levels: int) -> float:
    """The same before any answer."""
    nobody = np.empty(0, np.int64)
    return cautious_rate(AnswerColumns(nobody, nobody, nobody, nobody), np.empty((0, n_levels)))
