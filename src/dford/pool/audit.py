"""The audit: items drawn at random get separate answers, which judge the placements."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import posteriors
from dford.pool.items import Items

# The probability of a level at which the audit of an item is complete: more if that is not its placement, as one of
# many right ones that is taken for wrong would contradict a true figure.
_SURE, _SURE_IT_IS_WRONG = 0.98, 0.998
# Or after so many answers: people may disagree about it for good. Its level is then the likeliest, which if anything
# makes placements look worse than they are.
_MOST = 12
_RIGHT = 0.9  # a placement is believed to be right no more than this before its audit: so both borders are asked about
_AT_ONCE = 100  # items being audited, at most


class Judged(NamedTuple):
    """Items that the audit has judged."""

    items: Ints
    levels: Ints
    """Their levels, according to the audit."""
    placed: Ints
    """Where they were placed when they were first asked about."""
    is_gone: Bools
    """Whether they were settled or removed since."""


class Audit:
    """Items in a random order, except settled ones, and what answers to audit questions say of them.

    The answers are kept from the items until they are released, so the placements they judge do not depend on them.
    Placements are judged by what those who are asked say, so their opinions are what is right here, apart from slips.

    An audit starts from its item's placement, which is believed to be right as often as those of the items judged so
    far were, and else too low as likely as too high. So where placements are right, two answers are mostly enough:
    about the borders of the level. What is complete stays complete.
    """

    def __init__(self, pool: Items, seed: int) -> None:
        self._pool, self._seed = pool, seed
        self.clear()

    def clear(self) -> None:
        self.right, self._complete = 0.5, set[int]()
        self._forget()

    def _forget(self) -> None:
        self.known = Items(self._pool.n_levels, counter.stream(self._seed, "audit"))
        self.items: list[int] = []
        self._placements: list[int] = []
        self._places: dict[int, int] = {}  # of the items in `known`
        self._given_up = set[int]()  # items that someone who was to settle them knows nothing about
        self.look()

    def look(self) -> None:
        """Take note that the pool's items have changed."""
        draws = counter.uniforms(counter.stream(self._seed, "audited items"), np.arange(len(self._pool)))
        self._order, self._next = np.argsort(draws, kind="stable"), 0
        self._rank = np.empty(len(draws), np.int64)
        self._rank[self._order] = np.arange(len(draws))

    def places(self, items: Ints) -> Ints:
        """The places of these items among the audited ones."""
        return np.array([self._places[item] for item in items.tolist()], dtype=np.int64)

    def believe(self, evidence: Floats) -> None:
        """Replace the evidence for the audited items, and see how many placements were right."""
        self.known.evidence = evidence
        judged = self.judged()
        n_right = np.count_nonzero(judged.levels == judged.placed)
        self.right = min((1.0 + n_right) / (2.0 + len(judged.items)), _RIGHT)
        for place, placement in enumerate(self._placements):
            self.known.prior[place] = self._prior(placement)
        self.known.look(np.arange(len(self.known)))
        self._note(range(len(self.items)))

    def pick(self, auditing: Collection[int]) -> tuple[int, int] | None:
        """The item and the cut to ask about. None if all are judged, or while the next one is open for another purpose.

        Items that an open question already audits are skipped.
        """
        for place in range(max(len(self.items) - _AT_ONCE, 0), len(self.items)):
            item = self.items[place]
            is_free = not self._pool.is_open[item] and self._pool.is_in_doubt(item)
            if is_free and item not in self._complete and item not in self._given_up:
                return item, self.known.best_cut(place)
        for item in self._order[self._first_new() :].tolist():
            if self._is_new(item) and item not in auditing:
                # not another one instead: the items that nobody is being asked about are not a random sample
                below = self.belief(item).cumsum()[:-1]
                return None if self._pool.is_open[item] else (item, int(np.abs(below - 0.5).argmin()))
        return None

    def belief(self, item: int) -> Floats:
        if item in self._places:
            return self.known.belief(self._places[item])
        low, high = self._pool.bounds[item]
        belief = self._prior(int(posteriors.place_one(self._pool.belief(item))))
        belief[:low] = belief[high + 1 :] = 0.0
        found: Floats = belief / belief.sum()
        return found

    def answer(self, item: int, placement: int, logs: Floats) -> None:
        """Count an answer; the first one makes the item an audited one, placed there when it was asked about."""
        self._answer(item, placement, logs)
        self._note([self._places[item]])

    def recall(self, answers: Iterable[tuple[int, int, Floats | None]]) -> None:
        """Count all answers again, with what is known to be complete; without logarithms, an item is given up."""
        self._forget()
        for item, placement, logs in answers:
            if logs is None:
                self.give_up(item)
            else:
                self._answer(item, placement, logs)
        self._note(range(len(self.items)))

    def settle(self, item: int) -> None:
        """Take note that this item was settled, or that this was undone."""
        if self._pool.is_in_doubt(item):
            self._next = 0  # it may have been passed over
        if item in self._places:
            self.known.settle(self._places[item], *self._pool.bounds[item])
            self._note([self._places[item]])

    def give_up(self, item: int) -> None:
        """Ask no more about this item. The audit then judges the items that can be settled."""
        self._given_up.add(item)

    def judged(self) -> "Judged":
        """What is judged, in the order in which it was drawn.

        It is a random sample of all items: those before which some are still to be drawn, as they were added since,
        do not belong to it yet; an open question is not waited for, as its answer may never come. Items that were
        settled or removed since do belong to it, as if they were not: whoever repairs what the audit finds has not
        repaired the others.
        """
        last, rank = self._first_new(), self._rank
        while last < len(self._order) and not self._waits(int(self._order[last])):
            last += 1
        items, placed = np.array(self.items, np.int64), np.array(self._placements, np.int64)
        is_gone = np.array([not self._pool.is_in_doubt(item) for item in self.items], np.bool_)
        is_complete = np.array([item in self._complete for item in self.items], np.bool_)
        places = np.flatnonzero((is_complete | is_gone) & (rank[items] < last))
        return Judged(items[places], self.known.beliefs(places).argmax(axis=1), placed[places], is_gone[places])

    def _first_new(self) -> int:
        """The place in the order of the first item that is still to be drawn."""
        while self._next < len(self._order) and not self._is_new(int(self._order[self._next])):
            self._next += 1
        return self._next

    def n_answers(self, items: Ints) -> int:
        """How many answers there are about these audited items."""
        return int(self.known.counts[self.places(items)].sum())

    def complete(self) -> Ints:
        """The items whose audit is complete."""
        return np.array(sorted(self._complete), np.int64)

    def set_complete(self, items: Ints, right: float) -> None:
        """Before `recall`: the items whose audit is complete, and how often placements were right."""
        self._complete, self.right = set(items.tolist()), right

    def _answer(self, item: int, placement: int, logs: Floats) -> None:
        if item not in self._places:
            self._places[item] = len(self.items)
            self.items.append(item)
            self._placements.append(placement)
            self.known.add(1)
            self.known.set_prior(self._places[item], self._prior(placement))
            self.known.settle(self._places[item], *self._pool.bounds[item])
        place = self._places[item]
        self.known.answer(place, self.known.evidence[place] + logs)

    def _note(self, places: Iterable[int]) -> None:
        """Take note of what is complete now."""
        for place in places:
            belief = self.known.belief(place)
            sure = _SURE if belief.argmax() == self._placements[place] else _SURE_IT_IS_WRONG
            if self.known.counts[place] >= _MOST or belief.max() >= sure:
                self._complete.add(self.items[place])

    def _prior(self, placement: int) -> Floats:
        prior = np.zeros(self._pool.n_levels)
        prior[placement] = self.right
        sides = [side for side in (prior[:placement], prior[placement + 1 :]) if len(side)]
        for side in sides:
            side[:] = (1.0 - self.right) / len(sides) / len(side)
        return prior

    def _waits(self, item: int) -> bool:
        return self._is_new(item) and not self._pool.is_open[item]

    def _is_new(self, item: int) -> bool:
        return item not in self._places and item not in self._given_up and self._pool.is_in_doubt(item)
