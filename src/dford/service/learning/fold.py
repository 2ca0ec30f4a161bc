"""A project's learner: the fold of its answers, in memory, as close behind the log as possible."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from dford.learners import Proposal
from dford.service.learning import learned, log_reader, snapshots, states
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
_KEPT = 2.0  # the most seconds of learning that a kill undoes while catching up
_AT_ONCE = 200  # settlements that a prediction waits for, at most
_LOG = logging.getLogger(__name__)


class Packed(NamedTuple):
    """The learner of a state as bytes."""

    sequence: int
    model: bytes
    stale: bool


class Fold:
    """The state in use, and what is needed to bring it to the log's head.

    Learning happens in the background, after the commit. Predictions and questions use the latest state, once there is
    one that has learned everything up to where the log was at the start. To take an answer back, another state is built
    without it; until that has caught up, the old one stays in use, and is `stale`.
    """

    def __init__(
        self, database: Database, writer: Writer, project: Project, workers: Executor, snapshot_every: int
    ) -> None:
        self.project = project
        self._database, self._writer, self._workers, self._every = database, writer, workers, snapshot_every
        self._state: State | None = None  # the one in use
        self._apart: State | None = None  # the one that will replace it
        self._goal = 0  # the head that a state must reach before it is used
        self._closing = False
        self._kept, self._kept_at, self._pace = 0, 0.0, _HELD
        self._packed: tuple[State, Packed] | None = None
        self._lock = threading.Lock()  # for the model in use: held for a moment at a time
        self._looking, self._counting = 0, threading.Lock()  # how many hold it, or wait for it, to look
        self._moved = threading.Condition()
        self._wanted, self._items, self._running = 0, 0, False
        self.failure: BaseException | None = None
        self.unkept = 0
        """Snapshots that could not be written."""

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
        far = max((state.sequence for state in (self._state, self._apart) if state is not None), default=0)
        return f"{far:,} of {max(self._goal, self._wanted):,} answers learned"

    def catching_up(self) -> Refusal:
        what = f"catching up: {self.progress()}" if max(self._goal, self._wanted) else "getting ready"
        return Refusal(
            503, "catching-up", f"project {self.project.name} is {what}; try again in a moment", retry_after=1
        )

    def follow(self, head: int, items: int = 0) -> None:
        """Soon learn what is new up to `head`, and know this many items."""
        with self._moved:
            self._wanted, self._items = max(self._wanted, head), max(self._items, items)
            if self._running or self._closing or self._has(self._wanted, self._items):
                return
            self._running = True
        self._workers.submit(self._catch_up)

    def _has(self, head: int, items: int) -> bool:
        state = self._state
        if state is None or state.sequence < head:
            return False
        return state.model.placements is None or state.model.n_items >= items

    def wait(self, head: int, seconds: float, items: int = 0) -> bool:
        """Wait, not for long, until everything up to `head` is learned, nothing taken back is, and items are known."""
        self.follow(head, items)
        with self._moved:
            return self._moved.wait_for(lambda: self._has(head, items) and not self.is_replaced, seconds)

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

    def packed(self) -> Packed:
        """The latest state, as bytes."""
        before = self._packed
        if before is None or before[0] is not self._state or before[1].sequence != self.sequence:
            state, sequence, finish = self.look(lambda model, now: (self._state, now, model.learner.packing(log=False)))
            assert state is not None
            before = self._packed = state, Packed(sequence, finish(), stale=False)
        return before[1]._replace(stale=self._holds_retracted(before[0]))

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
        self.wait(head, _PATIENCE, items)
        return self

    def head(self) -> tuple[int, int]:
        """The last sequence number of the log, and how many items there are."""
        return log_reader.heads_of(self._database, self.project.id)

    def is_stale(self) -> bool:
        """Whether the state in use holds an answer that the log has taken back by now."""
        return self._state is not None and self._holds_retracted(self._state)

    def _holds_retracted(self, state: State) -> bool:
        return log_reader.news(self._database, self.project.id, state.sequence, state.as_of).retracted

    def close(self) -> None:
        """Stop learning, and save what was learned, so that the next start need not repeat it."""
        self._closing = True
        state = self._state
        if state is not None and not self.is_replaced and self.sequence > self._kept and state.model.is_finished():
            self._keep(state, wait=False)

    def _catch_up(self) -> None:
        before = -1
        try:
            while True:
                head = self._advance()
                with self._moved:
                    self._moved.notify_all()
                    # more may be wanted by now than the head that was read; if it stays there, the log has no more
                    goal, before = self._wanted if head > before else min(self._wanted, head), head
                    done = self._apart is None and self._has(goal, self._items)
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
        """Bring a state closer to the head, and return the head."""
        database, project = self._database, self.project.id
        if self._state is None and self._apart is None:
            self._goal = log_reader.head_of(database, project)
            self._begin(states.first(database, self.project, self._goal))
        state = self._apart if self._apart is not None else self._state
        assert state is not None
        news = log_reader.news(database, project, state.sequence, state.as_of)
        head, retracted = news.head, news.retracted
        if retracted and (self._state is not None or state.sequence >= self._goal):
            if self._state is None:  # use this one while another is built without what was taken back
                self._answer_by(state)
            self._begin(states.without_retracted(database, self.project, head))
            return head
        self._learn(state, news)
        if state is self._apart and not retracted and state.sequence >= (head if self._state else self._goal):
            self._answer_by(state)
            self._apart = None
        self.failure = None
        return head

    def _begin(self, state: State) -> None:
        self._apart, self._kept, self._kept_at = state, state.sequence, time.monotonic()

    def _answer_by(self, state: State) -> None:
        with self._lock:
            self._state = state

    def _learn(self, state: State, news: News) -> None:
        """Learn a page of answers. A state that holds what was taken back keeps its old `as_of`, which shows it."""
        answers, head, retracted = state is self._state, news.head, news.retracted
        most = log_reader.PAGE if answers else log_reader.MANY
        page = next(log_reader.pages(self._database, self.project, state.sequence, head, most=most), None)
        as_of = state.as_of if retracted else head
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
                    end = begin + state.model.prepare(end - begin)
                moment = time.perf_counter()
                with self._held(state):
                    state.model.learn(page, slice(begin, end), arrivals, settled)
                    state.sequence, state.as_of = int(page.sequence[end - 1]), as_of
                self._pace = max((time.perf_counter() - moment) / (end - begin), 1e-6)
                begin = end
        except BaseException:  # it may be half learned, so it no longer matches the log
            with self._lock:
                self._state = self._apart = None
            raise
        if begin == count < most:
            self._reach(state, head, arrivals, settled)
        self._keep_now_and_then(state, head, retracted)

    def _reach(self, state: State, head: int, arrivals: Arrivals, settled: Settlements) -> None:
        """Go from the last answer to the head; in between there are only retractions and settlements."""
        for number in [*settled.sequence[_AT_ONCE::_AT_ONCE].tolist(), head + 1]:
            with self._held(state):
                state.model.settle(settled, number, arrivals)
                state.sequence = max(state.sequence, number - 1)
        with self._held(state):
            state.model.admit(arrivals, arrivals.before(head + 1))

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

    def _keep_now_and_then(self, state: State, head: int, retracted: bool) -> None:
        since = state.sequence - self._kept
        is_behind = head - state.sequence > log_reader.PAGE
        is_late = is_behind and time.monotonic() - self._kept_at > _KEPT
        if not retracted and since > 0 and (is_late or since >= max(self._every, state.sequence // 20)):
            self._keep(state)

    def _keep(self, state: State, wait: bool = True) -> None:
        state.model.finish()
        with self._held(state):
            sequence, as_of, finish = state.sequence, state.as_of, state.model.packing()
        new = Snapshot(sequence, as_of, *finish(), snapshots.versions())
        try:
            work = self._writer.submit(self.project.id, partial(snapshots.keep, project=self.project.id, new=new))
            if wait:
                work.result()
            self._kept = sequence
        except Refusal as refusal:  # nothing is lost, as the log has it all
            self.unkept += 1
            _LOG.warning("a snapshot of project %s at %d was not kept: %s", self.project.name, sequence, refusal)
        self._kept_at = time.monotonic()
