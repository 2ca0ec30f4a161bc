"""Whom to ask what: among all available people, the question whose answer is expected to tell most for its cost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dford.arrays import Bools, Ints
from dford.engine.beliefs import opinions
from dford.engine.beliefs.opinions import NO, RATED, YES
from dford.pool.agreement import Voice, voices_of
from dford.pool.answers import AUDIT, Answers
from dford.pool.items import Items
from dford.pool.reliability import Groups, Reliability

_LOOKED_AT = 50  # items per person


class AtHand(NamedTuple):
    """Someone who can be asked now."""

    name: str
    items: Ints | None = None
    """The items they can answer about, if not all."""
    cost: float = 1.0
    """The cost of an answer, relative to others'."""
    may_audit: bool = True
    is_program: bool = False
    """A program gives the same answer again, so it is never asked twice."""
    informs: bool = False
    """What they say is something to learn from, and does not decide."""

    @property
    def is_restricted(self) -> bool:
        """Whether they may run out of questions to answer."""
        return self.items is not None or self.is_program or self.informs


class Choice(NamedTuple):
    """What to ask, and whom: their place among those available."""

    item: int
    cut: int
    who: int
    cuts: Ints
    """All cuts that they may be asked about for this item."""


def choose(
    items: Items, answers: Answers, reliability: Reliability, voices: Sequence[Voice], at_hand: Sequence[AtHand]
) -> Choice | None:
    """Nobody is asked what they have answered. Each person is assumed to be as sure as they most often were."""
    counts = np.bincount(answers["person"], minlength=len(voices))
    own = [voices_of(voices, one.name) for one in at_hand]
    heard = [[v for v in some if not voices[v].is_guess] for some in own]
    usual = np.array([max(some, key=lambda v: counts[v], default=-1) for some in heard])
    looked_at = [_look(items, answers, one.items, some) for one, some in zip(at_hand, own, strict=True)]
    item, is_answered = (np.concatenate(columns) for columns in zip(*looked_at, strict=True))
    who = np.repeat(np.arange(len(at_hand)), [len(few) for few, _ in looked_at])
    rows, costs = reliability.rows(usual)[who], np.array([one.cost for one in at_hand])[who]
    rates, strictness = reliability.rates, reliability.strictness
    said, before = _said_before(items, answers, reliability, own, voices, item, who)
    pair, cut = opinions.most_telling(
        items.prior[item], items.evidence[item], items.bounds[item], before, said.starts, said.cuts, said.said,
        rates[reliability.rows(said.voices)], strictness[rows], rates[rows], reliability.spread,
        *reliability.positions(), costs, is_answered,
    )  # fmt: skip
    return None if pair < 0 else Choice(int(item[pair]), int(cut), int(who[pair]), np.flatnonzero(~is_answered[pair]))


def choose_opinion(
    items: Items, answers: Answers, voices: Sequence[Voice], at_hand: Sequence[AtHand]
) -> tuple[int, int, str] | None:
    """The item, the cut and the name of somebody who informs, about whose opinion this tells most.

    First come items that they have said nothing about, of these the ones most in doubt. The levels that their answers
    leave are halved by what else is known about the item.
    """
    best, found = 0.0, None
    for one in at_hand:
        low, high = _left(items, answers, voices_of(voices, one.name))
        some = np.arange(len(items)) if one.items is None else one.items
        some = some[low[some] < high[some]]
        is_new = (low[some] == 0) & (high[some] == items.n_levels - 1)
        few = _best_few(items, some[is_new], some[~is_new])
        belief, levels = 0.5 * items.beliefs(few) + 0.5 / items.n_levels, np.arange(items.n_levels)
        belief[(levels < low[few, None]) | (levels > high[few, None])] = 0.0
        above = 1.0 - (belief.cumsum(axis=1) / belief.sum(axis=1, keepdims=True))[:, :-1]
        evenness = above * (1.0 - above) / one.cost
        if len(few) and evenness.max() > best:
            pair, cut = divmod(int(evenness.argmax()), items.n_levels - 1)
            best, found = float(evenness.max()), (int(few[pair]), cut, one.name)
    return found


def _left(items: Items, answers: Answers, own: Sequence[int]) -> tuple[Ints, Ints]:
    """The lowest and highest level of each item that these answers leave; where they contradict each other, none."""
    item, _, cut, said = answers.told(np.flatnonzero(_among(answers["person"], own)))
    low, high = np.zeros(len(items), np.int64), np.full(len(items), items.n_levels - 1)
    at_least, at_most = said != NO, said != YES
    np.maximum.at(low, item[at_least], cut[at_least] + (said[at_least] == YES))
    np.minimum.at(high, item[at_most], cut[at_most])
    return low, high


def _said_before(
    items: Items, answers: Answers, reliability: Reliability, own: Sequence[Sequence[int]], voices: Sequence[Voice],
    item: Ints, who: Ints,
) -> tuple[Groups, Ints]:  # fmt: skip
    """What the people of these pairs have said about the items of these, and which of it each pair goes with, or -1.

    It matters only if people have opinions of their own: a second answer is then about the same one.
    """
    own_items = np.empty(0, np.int64)
    if reliability.spread > 0.0:
        own_items = np.flatnonzero(_among(answers["item"], item) & (answers["purpose"] != AUDIT))
    told = answers.told(own_items)
    groups = Groups.of(told.where(~np.array([voices[one].is_guess for one in told.person.tolist()], np.bool_)), voices)
    number = {pair: place for place, pair in enumerate(zip(groups.items.tolist(), groups.people.tolist(), strict=True))}
    first = [min(some, default=-1) for some in own]
    pairs = zip(item.tolist(), who.tolist(), strict=True)
    return groups, np.array([number.get((one, first[person]), -1) for one, person in pairs], np.int64)


def _look(items: Items, answers: Answers, among: Ints | None, voices: Sequence[int]) -> tuple[Ints, Bools]:
    """Some items that are most in doubt, and which cuts of each this person need not be asked about.

    First come items whose best question the person has not answered, then others that they can still answer about.
    """
    own = _among(answers["person"], voices) & (answers["purpose"] != AUDIT)  # which says nothing of the placement
    item, _, cut, said_it = answers.told(np.flatnonzero(own))
    rated, asked = item[said_it == RATED], said_it != RATED
    item, cut = item[asked], cut[asked]
    order, place = np.zeros(len(items), np.int8), np.full(len(items), -1)
    order[item[items.best_cuts(item) == cut]] = 1
    pairs = np.sort(item * items.n_levels + cut)
    is_new = np.diff(pairs, prepend=-1) > 0
    said = np.bincount(pairs[is_new] // items.n_levels, minlength=len(items))
    order[said >= items.bounds[:, 1] - items.bounds[:, 0]] = 2
    order[rated] = 2
    some = np.arange(len(items)) if among is None else among
    few = _best_few(items, some[order[some] == 0], some[order[some] == 1])
    place[few] = np.arange(len(few))
    cuts, bounds = np.arange(items.n_levels - 1), items.bounds[few]
    is_answered = (cuts < bounds[:, :1]) | (cuts >= bounds[:, 1:])
    known = place[item] >= 0
    is_answered[place[item[known]], cut[known]] = True
    is_answered[place[rated[place[rated] >= 0]]] = True
    return few, is_answered


def _best_few(items: Items, first: Ints, then: Ints) -> Ints:
    """The items most in doubt among the first ones and, if these are too few, among others."""
    few = items.best_few(_LOOKED_AT, first)
    left = _LOOKED_AT - len(few)
    return np.concatenate([few, items.best_few(left, then)]) if left else few


def _among(values: Ints, some: Sequence[int] | Ints) -> Bools:
    """Which values are among some numbers; np.isin sorts them."""
    table = np.zeros(1 + max(int(values.max(initial=0)), int(np.max(some, initial=0))), np.bool_)
    table[np.asarray(some, np.int64)] = True
    found: Bools = table[values]
    return found
