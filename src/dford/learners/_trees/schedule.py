"""When trees are grown on the log of answers, and from which answer they are used."""

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.learners._forms.form import writable
from dford.learners._trees.answer_log import AnswerLog
from dford.learners._trees.forest import Trees, no_trees
from dford.learners._trees.grower import Grower, Growth, warm_up, work_of

FIRST = 200
_SHARE = 20_000_000  # the most work that an answer waits for: 20 ms on a slow core
_SLICE = 2_000_000


class TreeSchedule:
    """The log of answers, and the trees grown on it, again and again as it grows.

    Trees are grown on the first 200 answers, 250, 312, ..., a quarter more each time. They take effect a fiftieth
    later, or later still if there is so much work that each answer in between would wait too long for its share. Only
    the numbers of answers, columns and leaves decide this. So the work may be done in the background or all at once, on
    a fast machine or a slow one, and the bits are the same. Growing all trees costs about five times as much as growing
    the last ones.
    """

    def __init__(self, growth: Growth, n_columns: int, n_levels: int, n_own: int = 0) -> None:
        self.growth, self.n_levels = growth, n_levels
        self.log = AnswerLog(n_columns, n_own)
        self.trees = no_trees()
        self.grown_on = 0
        self._stage = (0, 0)
        self._work: _Work | None = None

    @property
    def count(self) -> int:
        return self.log.count

    def stages(self) -> Iterator[tuple[int, int]]:
        """(answers to grow on, answers at which the trees take effect), endlessly."""
        start = FIRST
        while True:
            effect = start + max(start // 50, 1, -(-self._work_on(start) // _SHARE))
            yield start, effect
            start = max(start * 5 // 4, effect)

    def stage(self) -> tuple[int, int]:
        """The stage of the next trees to take effect."""
        if self._stage[1] <= self.count:
            self._stage = next(stage for stage in self.stages() if stage[1] > self.count)
        return self._stage

    def room(self) -> int:
        """How many answers may be added at once."""
        start, effect = self.stage()
        return (start if self.count < start else effect) - self.count

    def prepare(self, n: int = 1, live: bool = True) -> None:
        """Do what adding the next n answers would have to wait for; nothing else changes.

        If live, trees grow in the background, and this only waits until their share of the work is done.
        """
        self.log.require_all()
        start, effect = self.stage()
        if self.count < start or start <= self.grown_on or (not live and self.count + n < effect):
            return
        work = self._begin(start, live)
        try:
            if self.count + n < effect:
                work.reach((self.count + n - start) * self._work_on(start) // (effect - start))
            else:
                work.reach(None)
        except BaseException:
            self._work = None  # the next call tries again
            raise

    def add(self, Z: Floats, answers: Ints, live: bool = False) -> None:
        """Add answers: as many as were prepared for, and no more than `room`.

        If an interrupt comes before they count, adding them again does what is left.
        """
        start, effect = self.stage()
        if self.count + len(Z) == effect and start > self.grown_on:
            assert self._work is not None
            self.trees, self.grown_on, self._work = self._work.trees(), start, None
        self.log.append(Z, answers)
        if live and self.count == start > self.grown_on:
            self._begin(start, live)
        elif live and self.count == 1:
            warm_up()  # or the first trees would wait for the compiler

    def grower(self, on: int, log: AnswerLog | None = None) -> Grower:
        """A grower of trees on the first `on` answers."""
        log = self.log if log is None else log
        level, told = log.answers[:on].T
        labels, origin = level == 0, None
        if labels.any():  # a label answers every question
            cuts = np.arange(1, self.n_levels)
            known, asked = np.flatnonzero(labels), np.flatnonzero(~labels)
            origin = np.concatenate([asked, np.repeat(known, len(cuts))])
            all_told = (told[known, None] > cuts).ravel()
            level = np.concatenate([level[asked], np.tile(cuts, len(known))])
            told = np.concatenate([told[asked], all_told])
        return Grower(self.growth, log.n_columns, log.reader(), level, told > 0, origin)

    def grow_now(self) -> None:
        """Grow trees on all answers so far, in effect at once."""
        self.trees, self.grown_on, self._work = self.grower(self.count).finish(), self.count, None

    def adopt(self, other: "TreeSchedule", theirs: Sequence[int], mine: Sequence[int], numbers: Ints) -> None:
        """Take over another log: its columns `theirs` become `mine`, new ones were 0; level i is now numbers[i - 1]."""
        Z = np.zeros((other.count, self.log.n_columns))
        Z[:, mine] = other.log.rows[:, theirs]
        answers = other.log.answers.copy()
        labels = answers[:, 0] == 0
        answers[labels, 1] = numbers[answers[labels, 1] - 1]
        answers[~labels, 0] = numbers[answers[~labels, 0] - 1]
        self.log.append(Z, answers)
        if other.grown_on:
            self.trees, self.grown_on = self.grower(other.grown_on).finish(), other.grown_on

    def arrays(self) -> dict[str, NDArray[Any]]:
        forest = {f"trees_{name}": array for name, array in self.trees._asdict().items()}
        return forest | self.log.own_arrays() | {"grown_on": np.array([self.grown_on])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.trees, on = Trees(*(arrays[f"trees_{name}"] for name in Trees._fields)), arrays["grown_on"]
        self.trees.check(self.log.n_columns)
        self.log.restore(arrays)
        if on.shape != (1,) or not 0 <= on[0] <= self.count:
            raise ValueError(f"trees cannot have grown on {on} of {self.count} answers")
        self.grown_on = int(on[0])

    def _work_on(self, start: int) -> int:
        return work_of(self.growth, start, self.log.n_columns)

    def _begin(self, start: int, alone: bool) -> "_Work":
        if self._work is None or self._work.on != start:
            self._work = _Work(self, self.grower(start), start)
        work = self._work
        if alone:
            try:
                work.go_on_alone()
            except BaseException:
                work.wanted, self._work = False, None  # nobody can tell whether an interrupted start did
                raise
        return work

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(writable(state))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_work": None}  # work in progress is done again when it is needed


class TreesAhead:
    """The next n answers of a schedule, known before they are used, so that growing on them can start early.

    Until the end, the schedule itself only changes by the trees that take effect.
    """

    def __init__(self, schedule: TreeSchedule, n: int) -> None:
        self._schedule, self._log = schedule, schedule.log.copy()
        last = schedule.count + n
        stages = takewhile(lambda stage: stage[0] <= last, schedule.stages())
        self.stages = [stage for stage in stages if stage[1] > schedule.count and stage[0] > schedule.grown_on]
        self._works = {} if schedule._work is None else {schedule._work.on: schedule._work}
        self._pool = ThreadPoolExecutor(os.cpu_count(), "dford-growing")
        self._begin()

    def append(self, Z: Floats, answers: Ints) -> None:
        """Add some of them, at most up to the start of the next stage."""
        self._log.append(Z, answers)
        self._begin()

    def is_grown(self, count: int) -> bool:
        """Whether the trees that take effect up to `count` are ready."""
        return all(effect > count or self._works[start].done for start, effect in self.stages)

    def take_effect(self, count: int) -> None:
        """After this many answers, wait for the trees that take effect there, if any do."""
        if self.stages and self.stages[0][1] == count:
            start, _ = self.stages[0]
            self._works[start].reach(None)
            self._schedule.trees, self._schedule.grown_on = self._works[start].trees(), start
            self.stages.pop(0)
            del self._works[start]

    def finish(self) -> None:
        """All answers are used: hand over the log and unfinished work."""
        self._schedule.log, self._schedule._work = self._log, None
        for work in self._works.values():
            self._schedule._work = work  # the last one, which is not in effect yet

    def close(self) -> None:
        for work in self._works.values():
            work.wanted = work is self._schedule._work
        self._pool.shutdown(wait=False)

    def _begin(self) -> None:
        for start, _ in self.stages:
            if start <= self._log.count and start not in self._works:
                self._works[start] = _Work(self._schedule, self._schedule.grower(start, self._log), start)
                self._works[start].go_on_alone(self._pool)


class _Work:
    """Trees being grown: in the background, or by the caller that waits for them."""

    def __init__(self, owner: TreeSchedule, grower: Grower, on: int) -> None:
        self.on, self.wanted = on, True
        self._owner, self._grower = weakref.ref(owner), grower
        self._moved = threading.Condition()
        self._alone = False
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._grower.done or self._error is not None

    def go_on_alone(self, pool: ThreadPoolExecutor | None = None) -> None:
        if not self._alone:
            self._alone = True
            if pool is None:
                threading.Thread(target=self._run, name="dford-growing").start()
            else:
                pool.submit(self._run)

    def reach(self, work: int | None) -> None:
        """Wait until this much work is done, or all of it."""
        if not self._alone:
            self._grower.advance(2**62 if work is None else work - self._grower.work)
            return
        with self._moved:
            self._moved.wait_for(lambda: self.done or (work is not None and self._grower.work >= work))
        if self._error is not None:
            raise self._error

    def trees(self) -> Trees:
        return self._grower.finish()

    def _run(self) -> None:
        while not self.done:
            try:
                # stop if the model is gone or the program is ending: neither should wait for trees
                if not self.wanted or self._owner() is None or not threading.main_thread().is_alive():
                    raise InterruptedError("these trees are no longer needed")
                self._grower.advance(_SLICE)
            except BaseException as error:
                self._error = error
            with self._moved:
                self._moved.notify_all()
