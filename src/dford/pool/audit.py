"""The audit: items drawn at random are settled by answers of their own, which judge the placements of today."""

import numpy as np

from dford.engine import counter
from dford.engine._compiled import Floats, Ints
from dford.estimates import Estimate, interval
from dford.pool.items import Items

_SETTLED = 0.98  # of certainty
_AT_ONCE = 100  # items that are being settled, at most


class Audit:
    """Items in a random order, but for those that are decided. Of each, all levels are as likely before its answers.

    The answers are kept from the items until they are released, so they know nothing of the placements that they judge.
    """

    def __init__(self, n_levels: int, rate: float, seed: int) -> None:
        self._n_levels, self._seed = n_levels, seed
        self._order, self._next = np.empty(0, np.int64), 0
        self.clear(rate)

    def clear(self, rate: float) -> None:
        self.known = Items(self._n_levels, rate, self._seed)
        self.items: list[int] = []
        self._places: dict[int, int] = {}  # of the items among those that are known

    def look_at(self, pool: Items) -> None:
        """The pool has other items than before."""
        draws = counter.uniforms(self._seed, np.arange(len(pool)))
        self._order, self._next = np.argsort(draws, kind="stable"), 0

    def believe(self, rate: float) -> None:
        self.known.believe(self.known.prior, rate)

    def pick(self, pool: Items) -> tuple[int, int] | None:
        """The item to ask about, and the cut. None where all are judged, and while one is asked about by others."""
        for place in range(max(len(self.items) - _AT_ONCE, 0), len(self.items)):
            item = self.items[place]
            if not pool.is_open[item] and pool.is_in_doubt(item) and not self._is_settled(place):
                return item, self.known.best_cut(place)
        while self._next < len(self._order):
            item = int(self._order[self._next])
            if pool.is_open[item]:  # not another one instead: those that are not asked about are no random ones
                return None
            self._next += 1
            if item not in self._places and pool.is_in_doubt(item):
                self.take(item)
                return item, self.known.best_cut(self._places[item])
        return None

    def take(self, item: int) -> None:
        """Have this item audited."""
        self._places[item] = len(self.items)
        self.items.append(item)
        self.known.add(1)

    def belief(self, item: int) -> Floats:
        return self.known.belief(self._places[item])

    def answer(self, item: int, cut: int, higher: bool) -> None:
        self.known.answer(self._places[item], cut, higher)

    def judge(self, levels: Ints, pool: Items) -> Estimate:
        """How far these levels are from the right ones, on the mean."""
        most = self._n_levels - 1
        places = np.array([p for i, p in self._places.items() if self._is_settled(p) and pool.is_in_doubt(i)], np.int64)
        if not len(places):
            return Estimate(float("nan"), 0.0, float(most))
        settled = self.known.beliefs(places).argmax(axis=1)
        terms = np.abs(settled - levels[np.array(self.items)[places]]).astype(float)
        return interval(terms, reach=(0.0, float(most)), possible=(0.0, float(most)))

    def _is_settled(self, place: int) -> bool:
        return bool(self.known.belief(place).max() >= _SETTLED)
