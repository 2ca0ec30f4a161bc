"""The audit: items drawn at random get separate answers, which judge the current placements."""

from collections.abc import Collection

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import counter
from dford.estimates import Estimate, interval
from dford.pool.items import Items

_SURE = 0.98  # the probability of a level at which the audit of an item is complete
_LEAST = 8  # complete items needed for a figure: the interval is made for few terms, but not for fewer
_AT_ONCE = 100  # items being audited, at most


class Audit:
    """Items in a random order, except settled ones. For each, all levels are equally likely before its answers.

    The answers are kept from the items until they are released, so the placements they judge do not depend on them.
    Placements are judged by what those who are asked say, so their opinions are what is right here, apart from slips.
    """

    def __init__(self, pool: Items, seed: int) -> None:
        self._pool, self._seed = pool, seed
        self.clear()

    def clear(self) -> None:
        self.known = Items(self._pool.n_levels, counter.stream(self._seed, "audit"))
        self.items: list[int] = []
        self._places: dict[int, int] = {}  # of the items in `known`
        self._complete: list[bool] = []
        self._given_up = set[int]()  # items that someone who was to settle them knows nothing about
        self.look()

    def look(self) -> None:
        """Take note that the pool's items have changed."""
        draws = counter.uniforms(counter.stream(self._seed, "audited items"), np.arange(len(self._pool)))
        self._order, self._next = np.argsort(draws, kind="stable"), 0

    def places(self, items: Ints) -> Ints:
        """The places of these items among the audited ones."""
        return np.array([self._places[item] for item in items.tolist()], dtype=np.int64)

    def believe(self, evidence: Floats) -> None:
        """Replace the evidence for the audited items."""
        self.known.evidence = evidence
        self.known.look(np.arange(len(self.known)))
        self._complete = [self._is_complete(place) for place in range(len(self.items))]

    def pick(self, auditing: Collection[int]) -> tuple[int, int] | None:
        """The item and the cut to ask about. None if all are judged, or while the next one is open for another purpose.

        Items that an open question already audits are skipped.
        """
        for place in range(max(len(self.items) - _AT_ONCE, 0), len(self.items)):
            item = self.items[place]
            is_free = not self._pool.is_open[item] and self._pool.is_in_doubt(item)
            if is_free and not self._complete[place] and item not in self._given_up:
                return item, self.known.best_cut(place)
        while self._next < len(self._order) and not self._is_new(int(self._order[self._next])):
            self._next += 1
        for item in self._order[self._next :].tolist():
            if self._is_new(item) and item not in auditing:
                # not another one instead: the items that nobody is being asked about are not a random sample
                return None if self._pool.is_open[item] else (item, int(self._pool.bounds[item].sum() - 1) // 2)
        return None

    def belief(self, item: int) -> Floats:
        if item in self._places:
            return self.known.belief(self._places[item])
        low, high = self._pool.bounds[item]
        belief = np.zeros(self._pool.n_levels)
        belief[low : high + 1] = 1.0 / (1 + high - low)
        return belief

    def answer(self, item: int, logs: Floats) -> None:
        """Count an answer; the first one makes the item an audited one."""
        if item not in self._places:
            self._places[item] = len(self.items)
            self.items.append(item)
            self._complete.append(False)
            self.known.add(1)
            self.settle(item)
        place = self._places[item]
        self.known.answer(place, self.known.evidence[place] + logs)
        self._complete[place] = self._is_complete(place)

    def settle(self, item: int) -> None:
        """Take note that this item was settled, or that this was undone."""
        if self._pool.is_in_doubt(item):
            self._next = 0  # it may have been passed over
        if item in self._places:
            place = self._places[item]
            self.known.settle(place, *self._pool.bounds[item])
            self._complete[place] = self._is_complete(place)

    def give_up(self, item: int) -> None:
        """Ask no more about this item. The audit then judges the items that can be settled."""
        self._given_up.add(item)

    def judge(self, levels: Ints) -> Estimate:
        """How far these levels are from the right ones, on average."""
        most = float(self._pool.n_levels - 1)
        judges = (self._complete[place] and self._pool.is_in_doubt(item) for place, item in enumerate(self.items))
        places = np.flatnonzero(np.fromiter(judges, np.bool_, len(self.items)))
        if len(places) < _LEAST:
            return Estimate(float("nan"), 0.0, most)
        right = self.known.beliefs(places).argmax(axis=1)
        terms = np.abs(right - levels[np.array(self.items)[places]]).astype(float)
        return interval(terms, reach=(0.0, most), possible=(0.0, most))

    def _is_new(self, item: int) -> bool:
        return item not in self._places and item not in self._given_up and self._pool.is_in_doubt(item)

    def _is_complete(self, place: int) -> bool:
        return bool(self.known.belief(place).max() >= _SURE)
