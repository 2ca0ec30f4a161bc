"""A project's learner: the fold of its answers, in memory, as close behind the log as possible."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dford.learners import Proposal
from dford.service.learning import learned, log_reader, snapshots, states
from dford.service.learning.keeping import Keeping
from dford.service.learning.learned import Learned
from dford.service.learning.log_reader import Arrivals, News, Settlements
from dford.service.learning.snapshots import Snapshot
from dford.service.learning.states import State
from dford.service.projects.columns import PackedRow
from dford.service.projects.projects import Project
from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.writer import Writer

T = TypeVar("T")
_PATIENCE = 0.05  # seconds that a question or a prediction waits for earlier answers to be learned
_HELD = 0.02  # about how many seconds a prediction waits for learning
_POLITE = 50  # how often learning lets others look at the model first, for a fifth of a millisecond each
_AT_ONCE = 200  # settlements that a prediction waits for, at most
_LOG = logging.getLogger(__name__)


class Packed(NamedTuple):
    """The learner of a state as bytes, and which answers it has learned."""

    sequence: int
    """All up to this number,"""
    as_of: int
    """except those that retractions up to this number take back."""
    model: bytes
    stale: bool
    """Whether one of them has been taken back since."""


class Fold:
    """The state in use, and what is needed to bring it to the log's head.

    Learning happens in the background, after the commit. Predictions and questions use the latest state, once there is
    one that has learned everything up to where the log was at the start. To take an answer back, another state is built
    without it; until that has caught up, the old one stays in use and learns what is new, but it is `stale`. An answer
    that is taken back in the meantime waits for its turn: however many follow, each is gone after two replacements.
    """

    def __init__(
        self, database: Database, writer: Writer, project: Project, workers: Executor, snapshot_every: int
    ) -> None:
        self.project = project
        self._database, self._workers = database, workers
        self.keeping = Keeping(writer, project, snapshot_every)
        self._state: State | None = None  # the one in use
        self._apart: State | None = None  # the one that will replace it
        self._goal = 0  # the head that this one must reach first
        self._closing = False
        self._pace = _HELD
        self._packed: tuple[State, Packed] | None = None
        self._lock = threading.Lock()  # for the model in use: held for a moment at a time
        self._looking, self._counting = 0, threading.Lock()  # how many hold it, or wait for it, to look
        self._moved = threading.Condition()
        self._wanted, self._items, self._running = 0, 0, False
        self.failure: BaseException | None = None

    @property
    def sequence(self) -> int:
        """The sequence number up to which the state in use has learned."""
        return self._state.sequence if self._state is not None else 0

    @property
    def is_replaced(self) -> bool:
        """Whether another state is being made, without an answer that was retracted."""
        return self._state is not None and self._apart is not None

    def progress(self) -> str:
        """The progress, in words."""
        state = self._apart if self._apart is not None else self._state
        return f"{0 if state is None else state.sequence:,} of {max(self._goal, self._wanted):,} answers learned"

    def catching_up(self) -> Refusal:
        what = "learning again without what was taken back" if self.is_replaced else "catching up"
        what = f"{what}: {self.progress()}" if max(self._goal, self._wanted) else "getting ready"
        return Refusal(
            503, "catching-up", f"project {self.project.name} is {what}; try again in a moment", retry_after=1
        )

    def follow(self, head: int, items: int = 0) -> None:
        """Soon learn what is new up to `head`, and know this many items."""
        with self._moved:
            self._wanted, self._items = max(self._wanted, head), max(self._items, items)
            if self._running or self._closing or self._is_final(self._wanted, self._items):
                return
            self._running = True
        self._workers.submit(self._catch_up)

    def _has(self, head: int, items: int) -> bool:
        state = self._state
        if state is None or state.sequence < head:
            return False
        return state.model.placements is None or state.model.n_items >= items

    def _is_final(self, head: int, items: int) -> bool:
        """Whether it also holds nothing that was taken back up to `head`."""
        return self._has(head, items) and self._state is not None and self._state.as_of >= head

    def wait(self, head: int, seconds: float, items: int = 0, may_be_stale: bool = False) -> bool:
        """Wait, not for long, until everything up to `head` is learned, nothing taken back is, and items are known.

        It may take a minute to unlearn an answer: a state that `may_be_stale` is not waited for so long.
        """
        self.follow(head, items)
        has = self._has if may_be_stale else self._is_final
        with self._moved:
            return self._moved.wait_for(lambda: has(head, items), seconds)

    def ready(self, seconds: float) -> "Fold":
        """Wait for a state to use, or refuse for now."""
        if self._state is None:
            self.follow(0)
            with self._moved:
                self._moved.wait_for(lambda: self._state is not None or not self._running, seconds)
            if self._state is None:
                if isinstance(self.failure, Refusal):
                    raise self.failure
                raise self.catching_up()
        return self

    def propose(self, packed: PackedRow) -> Proposal:
        x = self.project.rows([packed])[:1]
        return self.look(lambda model, _: model.learner.propose(x))

    def look(self, at: Callable[[Learned, int], T]) -> T:
        """What `at` returns for the latest state and its sequence number. It must be quick: learning waits for it."""
        with self._counting:
            self._looking += 1
        try:
            with self._lock:
                assert self._state is not None, "not ready"
                return at(self._state.model, self._state.sequence)
        finally:
            with self._counting:
                self._looking -= 1

    def packed(self, also: Callable[[Learned], T]) -> tuple[Packed, T]:
        """The latest state, as bytes, and what `also` returns for it, which must be quick."""

        def copy(model: Learned, _: int) -> tuple[State, Packed, Callable[[], bytes] | None, T]:
            state, known = self._state, self._packed
            assert state is not None
            new = Packed(state.sequence, state.as_of, b"", stale=False)
            if known is not None and known[0] is state and known[1].sequence == new.sequence:
                return state, new._replace(model=known[1].model), None, also(model)
            return state, new, model.learner.packing(log=False), also(model)

        state, packed, finish, found = self.look(copy)
        if finish is not None:
            packed = packed._replace(model=finish())
            self._packed = state, packed
        return packed._replace(stale=self._has_retracted(packed.sequence, packed.as_of)), found

    def digest(self) -> tuple[int, str]:
        """The sequence number of the latest state, and the digest of everything it holds."""
        while True:
            sequence, model, finish = self.look(
                lambda model, now: (now, model, model.packing() if model.is_finished() else None)
            )
            if finish is not None:
                return sequence, learned.digest(*finish())
            model.finish()

    def near(self) -> "Fold":
        """Follow the log to where it is now, waiting at most a moment."""
        head, items = self.head()
        self.wait(head, _PATIENCE, items, may_be_stale=True)
        return self

    def head(self) -> tuple[int, int]:
        """The last sequence number of the log, and how many items there are."""
        return log_reader.heads_of(self._database, self.project.id)

    def is_stale(self) -> bool:
        """Whether the state in use holds an answer that the log has taken back by now."""
        state = self._state
        return state is not None and self._has_retracted(state.sequence, state.as_of)

    def _has_retracted(self, sequence: int, as_of: int) -> bool:
        return log_reader.news(self._database, self.project.id, sequence, as_of).retracted

    def close(self) -> None:
        """Stop learning, and save what was learned, so that the next start need not repeat it."""
        self._closing = True
        state = self._state
        if state is not None and not self.is_replaced and self.keeping.is_new(state) and state.model.is_finished():
            self.keeping.keep(partial(self._snapshot, state), wait=False)

    def _catch_up(self) -> None:
        before = -1
        try:
            while True:
                head = self._advance()
                with self._moved:
                    self._moved.notify_all()
                    # more may be wanted by now than the head that was read; if it stays there, the log has no more
                    goal, before = self._wanted if head > before else min(self._wanted, head), head
                    done = self._apart is None and self._is_final(goal, self._items)
                    if done or self._closing:
                        self._running = False
                        return
        except BaseException as error:  # the next call tries again
            with self._moved:
                self._running, self.failure = False, error
                self._moved.notify_all()
            if not self._closing:
                _LOG.exception("project %s could not learn", self.project.name)

    def _advance(self) -> int:
        """Bring the states closer to the head, and return the head."""
        database, project = self._database, self.project.id
        if self._state is None and self._apart is None:
            head = log_reader.head_of(database, project)
            self._begin(states.first(database, self.project, head), head)
        for state in (self._state, self._apart):
            if state is not None:
                news = log_reader.news(database, project, state.sequence, state.as_of)
                self._learn(state, news)
        if self._apart is not None and self._apart.sequence >= max(self._goal, self.sequence):
            with self._lock:
                self._state, self._apart = self._apart, None
        if self._apart is None and news.retracted:
            self._begin(states.without_retracted(database, self.project, news.head), news.head)
        self.failure = None
        return news.head

    def _begin(self, state: State, goal: int) -> None:
        self._apart, self._goal = state, goal
        self.keeping.begin(state.sequence)

    def _learn(self, state: State, news: News) -> None:
        """Learn a page of answers. A state that holds what was taken back keeps its old `as_of`, which shows it."""
        answers, head, retracted = state is self._state, news.head, news.retracted
        most = log_reader.MANY if self._state is None else log_reader.PAGE
        as_of = state.as_of if retracted else head
        page = next(log_reader.pages(self._database, self.project, state.sequence, as_of, head, most), None)
        until = head if page is None or len(page.level) < most else int(page.sequence[-1])
        settled = log_reader.NOTHING_SETTLED
        if news.settled:
            settled = log_reader.settled(self._database, self.project, state.sequence, until)
        arrivals = state.arrivals(self._database, self.project, news.items, head)
        if page is None:
            state.as_of = as_of
            self._reach(state, head, arrivals, settled)
            return
        state.recall(self._database, self.project)
        count, begin = len(page.level), 0
        try:
            while begin < count and not self._closing:
                end = begin + (min(count - begin, max(1, int(_HELD / self._pace))) if answers else count)
                if answers:  # wait before taking the lock, not while holding it
                    until = self._prepare(state, page.sequence[begin:end], settled)
                    end = begin + int(np.searchsorted(page.sequence[begin:], until, side="right"))
                    if end == begin:
                        self._settle(state, until, arrivals, settled)
                        continue
                moment = time.perf_counter()
                with self._held(state):
                    state.model.learn(page, slice(begin, end), arrivals, settled)
                    state.sequence, state.as_of = int(page.sequence[end - 1]), as_of
                self._pace = max((time.perf_counter() - moment) / (end - begin), 1e-6)
                begin = end
        except BaseException:  # it may be half learned, so it no longer matches the log
            with self._lock:
                if answers:
                    self._state = None
                else:
                    self._apart = None
            raise
        if begin == count < most:
            self._reach(state, head, arrivals, settled)
        if not retracted and self.keeping.is_due(state, head):
            self.keeping.keep(partial(self._snapshot, state))

    def _reach(self, state: State, head: int, arrivals: Arrivals, settled: Settlements) -> None:
        """Go from the last answer to the head; in between there are only retractions and settlements."""
        while len(further := settled.sequence[settled.sequence > state.sequence]):
            self._settle(state, self._prepare(state, further[:_AT_ONCE], settled), arrivals, settled)
        self._settle(state, head, arrivals, settled)
        with self._held(state):
            state.model.admit(arrivals, arrivals.before(head + 1))

    def _prepare(self, state: State, sequence: NDArray[np.int64], settled: Settlements) -> int:
        """Up to which of these events the state can go without waiting, if settlements before them count, too."""
        earlier = settled.sequence[(settled.sequence > state.sequence) & (settled.sequence < sequence[-1])]
        events = np.union1d(sequence, earlier)
        return int(events[state.model.prepare(len(events)) - 1])

    def _settle(self, state: State, until: int, arrivals: Arrivals, settled: Settlements) -> None:
        """Apply what was settled up to this number, if there are no answers before it."""
        with self._held(state):
            state.model.settle(settled, until + 1, arrivals)
            state.sequence = max(state.sequence, until)

    @contextmanager
    def _held(self, state: State) -> Iterator[None]:
        """Hold the lock, if others may look at the model. Those already waiting go first."""
        if state is not self._state:
            yield
            return
        for _ in range(_POLITE):
            if self._looking == 0:
                break
            time.sleep(0.0002)
        with self._lock:
            yield

    def _snapshot(self, state: State) -> Snapshot:
        state.model.finish()
        with self._held(state):
            sequence, as_of, finish = state.sequence, state.as_of, state.model.packing()
        return Snapshot(sequence, as_of, *finish(), snapshots.versions())
