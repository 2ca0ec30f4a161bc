"""How many people have answered about each item. Programs are not people."""

import numpy as np

from dford.arrays import Ints
from dford.pool.agreement import people_of, voices_of
from dford.pool.answers import GOLD
from dford.pool.placements import Placements

_PEOPLE = 2**31  # more than there can be


class Coverage:
    """Continues from the last look, as answers are only ever added."""

    def __init__(self) -> None:
        self._seen = 0
        self._pairs = np.empty(0, np.int64)  # of item and person, each as one number, in order
        self._people = np.empty(0, np.int64)

    def lacking(self, placements: Placements, n: int, person: str) -> Ints:
        """The items that fewer than n people have answered about, and this person has not."""
        self._look(placements)
        is_lacking = self._people < n
        for voice in voices_of(placements.voices, person)[:1]:
            is_lacking[self._pairs[self._pairs % _PEOPLE == voice] // _PEOPLE] = False
        return np.flatnonzero(is_lacking)

    def _look(self, placements: Placements) -> None:
        answers, more = placements.answers, len(placements.items) - len(self._people)
        item, who, purpose = (answers[name][self._seen :].astype(np.int64) for name in ("item", "person", "purpose"))
        self._seen = len(answers)
        informs = np.array([voice.informs for voice in placements.voices], np.bool_)
        counts = (purpose != GOLD) & ~informs[who]
        told = np.unique(_PEOPLE * item[counts] + people_of(placements.voices)[who[counts]])
        new = told[~np.isin(told, self._pairs, assume_unique=True)]
        self._pairs = np.insert(self._pairs, np.searchsorted(self._pairs, new), new)
        self._people = np.concatenate([self._people, np.zeros(more, np.int64)])
        self._people += np.bincount(new // _PEOPLE, minlength=len(self._people))
