"""A project's learner: the fold of its answers, in memory, behind the log by as little as possible."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dford import learners
from dford.feedback import Question
from dford.learners import LiveLearner
from dford.service import jobs
from dford.service.projects import Project
from dford.service.refusal import Refusal, busy
from dford.service.store import Round, Store

T = TypeVar("T")
_STRIDE = 1000  # answers learned before the state has a number again
_LOG = logging.getLogger(__name__)


class Fold:
    """The state at sequence number `sequence`: all answers up to there that were not taken back up to there.

    Learning happens in the background, after the commit. Whoever predicts or asks meanwhile gets the latest state.
    """

    def __init__(self, store: Store, project: Project, workers: Executor, snapshot_every: int) -> None:
        self.project, self.sequence = project, 0
        self._store, self._workers, self._every = store, workers, snapshot_every
        self._model = new_model(project)
        self._loaded = self._closing = False
        self._torn = False  # whether the model has learned some of a stride, and not all
        self._kept = 0  # the sequence number of the last snapshot
        self._lock = threading.Lock()  # of the model: held for one answer, or one question, at a time
        self._moved = threading.Condition()
        self._wanted, self._running = 0, False
        self.failure: BaseException | None = None

    def follow(self, head: int) -> None:
        """Learn, soon, what is new up to `head`."""
        with self._moved:
            self._wanted = max(self._wanted, head)
            if self._running or self._closing or (self._loaded and self.sequence >= self._wanted):
                return
            self._running = True
        self._workers.submit(self._catch_up)

    def wait(self, head: int, seconds: float) -> bool:
        """Wait until everything up to `head` is learned, but not for long."""
        self.follow(head)
        with self._moved:
            return self._moved.wait_for(lambda: self._loaded and self.sequence >= head, seconds)

    def question(self, x: NDArray[np.float64], number: int) -> Question:
        return self.look(lambda model, _: model.question(x, number))

    def look(self, at: Callable[[LiveLearner, int], T]) -> T:
        """Something of the latest state, and of its sequence number."""
        with self._lock:
            return at(self._model, self.sequence)

    def load(self, seconds: float) -> None:
        """Have the latest snapshot, at least, or refuse for the moment."""
        if not self._loaded:
            self.follow(0)
            with self._moved:
                if not self._moved.wait_for(lambda: self._loaded or not self._running, seconds) or not self._loaded:
                    raise busy(f"project {self.project.name} is being loaded; try again in a moment")

    def close(self) -> None:
        """Stop learning, and keep what was learned, so that the next start has nothing to do again."""
        self._closing = True
        if self.sequence > self._kept:
            self._keep()

    def _catch_up(self) -> None:
        try:
            while True:
                self._learn_up_to(*self._store.news(self.project.id, self.sequence))
                with self._moved:
                    self._moved.notify_all()
                    if self.sequence >= self._wanted or self._closing:
                        self._running = False
                        return
        except BaseException as error:  # the next call tries again
            with self._moved:
                self._running, self.failure = False, error
                self._moved.notify_all()
            if not self._closing:
                _LOG.exception("project %s could not learn", self.project.name)

    def _learn_up_to(self, head: int, taken_back: bool) -> None:
        """Bring the state to `head`, or part of the way: it is always that of one sequence number, or `_torn`."""
        if not self._loaded:
            model, after = self._latest(head)
            with self._moved:
                self._model, self.sequence, self._loaded = model, after, True
                self._moved.notify_all()
        elif self._torn or taken_back:
            model, after = self._latest(head)  # a model apart: until it has caught up, the old one answers
        else:
            model, after = self._model, self.sequence
        if model is self._model:
            head = min(head, after + _STRIDE)
        for one in self._store.rounds(self.project.id, after, head):
            model.prepare()
            with self._lock:
                if self._closing:
                    return
                self._torn |= model is self._model
                learn(model, self.project, one)
        with self._lock:
            self._model, self.sequence, self.failure, self._torn = model, head, None, False
        # only here is the state what the log up to one number makes: on the way, answers that are taken back further on
        # were left out already
        if head - self._kept >= max(self._every, head // 20):
            self._keep()

    def _latest(self, head: int) -> tuple[LiveLearner, int]:
        kept = self._store.snapshot(self.project.id, head)
        if kept is None:
            return new_model(self.project), 0
        self._kept = kept[0]
        return cast(LiveLearner, learners.loads(kept[1], f"snapshot {kept[0]}")), kept[0]

    def _keep(self) -> None:
        with self._lock:
            if self._torn:
                return
            content, self._kept = self._model.to_bytes(), self.sequence
        job = partial(jobs.keep_snapshot, project=self.project.id, sequence=self._kept, model=content)
        with suppress(Refusal):  # a busy moment: the next one will do
            self._store.writer.submit(self.project.id, job)


def new_model(project: Project) -> LiveLearner:
    """The learner before any answer, ready to predict."""
    model = project.new_learner()
    model.question(np.zeros(sum(column.width() for column in project.columns)), 0)
    return model


def learn(model: LiveLearner, project: Project, one: Round) -> None:
    names = project.levels
    asked = Question("", one.x, names[one.level - 1], names[one.prediction - 1], one.propensity, one.number)
    model.learn(asked, bool(one.higher))
