"""A log of answers, and trees grown on it as it grows."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.engine._compiled import Floats, Ints
from dford.learners._trees import Growth, Trees, grow, no_trees


class Orchard:
    """The log of answers, and the trees grown on it, again and again as it grows.

    Trees are grown on the first 200 answers, 250, 312, ..., a quarter more each time, and are in effect from a
    fiftieth later on: which answer that is depends on their number alone. So the work may be done in the background or
    at the last moment, and the bits are the same. All the growing together costs five times the last.
    """

    FIRST = 200

    def __init__(self, growth: Growth, n_columns: int, n_levels: int) -> None:
        self.growth, self.n_levels = growth, n_levels
        self.trees = no_trees()
        self.grown_on = 0
        self.count = 0
        self._rows = np.empty((64, n_columns))
        self._answers = np.empty((64, 2), np.int64)  # the level asked, and whether higher; or 0, and the label
        self._work: _Work | None = None

    @property
    def rows(self) -> Floats:
        return self._rows[: self.count]

    @property
    def answers(self) -> Ints:
        return self._answers[: self.count]

    def room(self) -> int:
        """How many answers may be added before the trees in effect may change."""
        return next(effect for _, effect in schedule() if effect > self.count) - self.count

    def add(self, Z: Floats, answers: Ints, live: bool) -> None:
        """Add answers, no more than there is room for; where live, growing begins at once, in the background."""
        before, self.count = self.count, self.count + len(Z)
        if self.count > len(self._rows):
            size = 2 * self.count
            self._rows = np.resize(self._rows, (size, self._rows.shape[1]))
            self._answers = np.resize(self._answers, (size, 2))
        self._rows[before : self.count], self._answers[before : self.count] = Z, answers
        start, effect = next((s, e) for s, e in schedule() if e > before)
        if self.count == effect and start > self.grown_on:
            work, self._work = self._work, None
            self._take(work.result() if work is not None and work.on == start else self._grow(start), start)
        elif live and self.count == start:
            self._work = _Work(self, start)

    def prepare(self) -> None:
        """Grow what the next answer puts into effect; nothing else changes, so that others may read meanwhile."""
        start, effect = next((s, e) for s, e in schedule() if e > self.count)
        if self.count + 1 == effect and start > self.grown_on:
            if self._work is None or self._work.on != start:
                self._work = _Work(self, start)
            self._work.join()

    def grow_now(self) -> None:
        """Trees of all answers so far, in effect at once."""
        self._take(self._grow(self.count), self.count)

    def _take(self, grown: Trees, on: int) -> None:
        self.trees, self.grown_on = grown, on

    def _grow(self, on: int) -> Trees:
        Z, (level, told) = self._rows[:on], self._answers[:on].T
        labels = level == 0
        if labels.any():  # a label answers every question
            cuts = np.arange(1, self.n_levels)
            all_told = (told[labels, None] > cuts).ravel()
            Z = np.concatenate([Z[~labels], np.repeat(Z[labels], len(cuts), axis=0)])
            level = np.concatenate([level[~labels], np.tile(cuts, labels.sum())])
            told = np.concatenate([told[~labels], all_told])
        return grow(self.growth, Z, level, told.astype(bool))

    def adopt(self, other: "Orchard", theirs: Sequence[int], mine: Sequence[int], numbers: Ints) -> None:
        """Take over another's log: its columns `theirs` are `mine`, new ones were 0; level i is now numbers[i - 1]."""
        Z = np.zeros((other.count, self._rows.shape[1]))
        Z[:, mine] = other.rows[:, theirs]
        answers = other.answers.copy()
        labels = answers[:, 0] == 0
        answers[labels, 1] = numbers[answers[labels, 1] - 1]
        answers[~labels, 0] = numbers[answers[~labels, 0] - 1]
        self._rows, self._answers, self.count = Z, answers, other.count
        if other.grown_on:
            self._take(self._grow(other.grown_on), other.grown_on)

    def arrays(self) -> dict[str, NDArray[Any]]:
        forest = {f"trees_{name}": array for name, array in self.trees._asdict().items()}
        log = {"log_rows": self.rows.copy(), "log_answers": self.answers.copy(), "grown_on": np.array([self.grown_on])}
        return forest | log

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        rows, answers, on = arrays["log_rows"], arrays["log_answers"], arrays["grown_on"]
        grown = Trees(*(arrays[f"trees_{name}"] for name in Trees._fields))
        grown.check(self._rows.shape[1])
        if rows.ndim != 2 or rows.shape[1] != self._rows.shape[1] or answers.shape != (len(rows), 2) or on.size != 1:
            raise ValueError(
                f"a log of shapes {rows.shape} and {answers.shape} does not fit {self._rows.shape[1]} columns"
            )
        self._rows, self._answers, self.count = rows, answers, len(rows)
        self._take(grown, int(on[0]))

    def __getstate__(self) -> dict[str, Any]:
        # work under way is done again, when its time has come
        return {**self.__dict__, "_work": None}


def schedule() -> Iterator[tuple[int, int]]:
    """(answers to grow on, answers from which it is in effect), without end."""
    start = Orchard.FIRST
    while True:
        yield start, start + max(start // 50, 1)
        start = start * 5 // 4


class _Work(threading.Thread):
    """Growing in the background."""

    def __init__(self, orchard: Orchard, on: int) -> None:
        super().__init__(name="dford-growing")
        self.on, self._orchard = on, orchard
        self._grown: Trees | None = None
        self.start()

    def run(self) -> None:
        with suppress(Exception):  # it will fail again where someone waits for it
            self._grown = self._orchard._grow(self.on)

    def result(self) -> Trees:
        self.join()
        return self._grown if self._grown is not None else self._orchard._grow(self.on)
