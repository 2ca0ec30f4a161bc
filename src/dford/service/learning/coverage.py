"""How many people have answered about each item."""

import numpy as np

from dford.engine._compiled import Ints
from dford.pool.answers import GOLD
from dford.pool.placements import Placements


class Coverage:
    """Goes on from the last look: answers are only ever added to."""

    def __init__(self) -> None:
        self._seen = 0
        self._by_person: dict[str, set[int]] = {}
        self._people = np.empty(0, np.int64)

    def lacking(self, placements: Placements, n: int, person: str) -> Ints:
        """The items that fewer than n people have answered about, and not this one."""
        answers, missing = placements.answers, len(placements.items) - len(self._people)
        self._people = np.concatenate([self._people, np.zeros(missing, np.int64)])
        new = range(self._seen, len(answers))
        for i in new:
            if answers["purpose"][i] != GOLD:
                self._add(int(answers["item"][i]), placements.people[int(answers["person"][i])])
        self._seen = len(answers)
        few = self._people < n
        few[list(self._by_person.get(person, ()))] = False
        return np.flatnonzero(few)

    def _add(self, item: int, person: str) -> None:
        own = self._by_person.setdefault(person, set())
        if item not in own:
            own.add(item)
            self._people[item] += 1
