"""One thread that writes, and one commit for everyone who waits."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from dford.service.refusal import Refusal, busy, shutting_down
from dford.service.store.database import Database, is_down, told_to_others
from dford.service.store.schema import heads

T = TypeVar("T")
_GROUP = 256  # jobs in one commit, so that none waits for more than this many others


class Work(Generic[T]):
    """A job on its way to the writer. (A Future of the standard library would take longer than an answer.)

    A job is a function of a connection. It refuses before it writes, and may be run more than once. A shared job does
    the same thing for all waiting entries in one call: it takes a connection, the project and the entries, and returns
    an outcome for each.
    """

    __slots__ = ("_done", "_outcome", "_waits", "entry", "job", "project", "shared", "then")

    def __init__(self, project: int | None, job: Callable[..., Any], entry: Any = None, shared: bool = False) -> None:
        self.project, self.job, self.entry, self.shared = project, job, entry, shared
        self.then: Callable[[], Any] | None = None  # called once it is done, in the thread that did it
        self._waits = [True]  # popped once, by the writer or by a caller that gives up
        self._done = threading.Lock()  # held until it is done
        self._done.acquire()
        self._outcome: Any = None

    def begin(self) -> bool:
        """Whether it is the caller's to finish."""
        try:
            return self._waits.pop()
        except IndexError:
            return False

    def give_up(self, seconds: float) -> None:
        """Cancel it unless it has started."""
        if self.begin():
            self.finish(busy(f"the write did not start within {seconds:g} s and was cancelled; try again"))

    def finish(self, outcome: T | Exception) -> None:
        self._outcome = outcome
        self._done.release()
        if self.then is not None:
            self.then()

    def result(self, seconds: float = -1) -> T:
        """What it returned or raised, once that is known."""
        if not self._done.acquire(timeout=seconds):
            raise TimeoutError
        self._done.release()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        outcome: T = self._outcome
        return outcome


class Writer:
    """All waiting jobs go into one transaction, and every outcome is delivered after its commit: what was
    acknowledged is on disk, and so is what a refusal was based on.

    A job starts within `seconds` or never; the database has its own limit for the rest.
    """

    def __init__(self, database: Database, length: int, seconds: float) -> None:
        self._database, self._length, self._seconds = database, length, seconds
        self._writing = 0
        self._queue: queue.SimpleQueue[Work[Any] | None] = queue.SimpleQueue()
        self._closed = threading.Lock()  # held once closing has begun
        self._delivery = _Delivery()
        self.commits = 0
        self._thread = threading.Thread(target=self._run, name="dford-writer", daemon=True)
        self._thread.start()

    def submit(self, project: int | None, job: Callable[[Connection], T]) -> Work[T]:
        """Queue the job, to be done with the project's numbers locked."""
        return self._put(Work(project, job))

    def do(self, project: int | None, job: Callable[[Connection], T]) -> T:
        """Do the job, and wait for it."""
        work = self.submit(project, job)
        try:
            return work.result(self._seconds)
        except TimeoutError:
            work.give_up(self._seconds)
            return work.result()  # from the commit, if it has started

    async def share(self, project: int, job: Callable[..., list[T | Refusal]], entry: Any) -> T:
        """Await the outcome of one entry of a shared job."""
        loop = asyncio.get_running_loop()
        work: Work[T] = Work(project, job, entry, shared=True)
        waiter = loop.create_future()
        timer = loop.call_later(self._seconds, work.give_up, self._seconds)
        work.then = partial(self._delivery.deliver, loop, waiter)
        try:
            self._put(work)
            await waiter
        finally:
            timer.cancel()
        return work.result()

    def waiting(self) -> int:
        """How many are queued or being written."""
        return self._queue.qsize() + self._writing

    def close(self, seconds: float | None = None) -> None:
        """Finish what was submitted, if there is time."""
        if self._closed.acquire(blocking=False):
            self._queue.put(None)
        self._thread.join(seconds)

    def _put(self, work: Work[T]) -> Work[T]:
        if self._closed.locked():
            raise shutting_down()
        if self._queue.qsize() >= self._length:
            raise busy(f"{self._length} writes are already waiting; try again in a moment")
        self._queue.put(work)
        return work

    def _run(self) -> None:
        last = False
        while not last:
            self._writing = 0
            group = [self._queue.get()]
            while len(group) < _GROUP and not self._queue.empty():
                group.append(self._queue.get())
            self._writing = len(group)
            last = None in group
            while last and not self._queue.empty():  # submitted just before closing began
                group.append(self._queue.get())
            ready = [work for work in group if work is not None and work.begin()]
            if ready:
                self._write(ready)

    def _write(self, group: list[Work[Any]], tries: int = 2) -> None:
        try:
            outcomes = self._commit(group)
        except Exception as error:
            if len(group) > 1 and not is_down(error):
                for work in group:  # one failed and took the others with it, so do each by itself
                    self._write([work])
                return
            if isinstance(error, IntegrityError) and tries > 1:  # another server was first: now it can be seen
                self._write(group, tries - 1)
                return
            outcomes = [_unwritten(error)] * len(group)
        for work, outcome in zip(group, outcomes, strict=True):
            work.finish(outcome)

    def _commit(self, group: list[Work[Any]]) -> list[Any]:
        outcomes: list[Any] = [None] * len(group)
        shared: dict[tuple[int | None, Callable[..., Any]], list[int]] = {}
        for place, work in enumerate(group):
            if work.shared:
                shared.setdefault((work.project, work.job), []).append(place)
        with self._database.writing() as connection:
            if connection.dialect.name != "sqlite":  # which has one writer anyway
                projects = sorted({work.project for work in group if work.project is not None})
                rows = sa.select(heads.c.project).where(heads.c.project.in_(projects)).order_by(heads.c.project)
                connection.execute(rows.with_for_update())
            for (project, job), places in shared.items():  # nobody has seen an outcome yet, so any order will do
                given = job(connection, project, [group[place].entry for place in places])
                for place, outcome in zip(places, given, strict=True):
                    outcomes[place] = outcome
            for place, work in enumerate(group):
                if not work.shared:
                    try:
                        outcomes[place] = work.job(connection)
                    except Refusal as refusal:
                        outcomes[place] = refusal
        self.commits += 1
        return outcomes


class _Delivery:
    """Wakes those who await outcomes of one commit together, as waking an event loop from another thread is slow."""

    def __init__(self) -> None:
        self._ready: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        self._lock = threading.Lock()

    def deliver(self, loop: asyncio.AbstractEventLoop, waiter: "asyncio.Future[None]") -> None:
        """Called in any thread."""
        with self._lock:
            is_first = loop not in self._ready
            self._ready.setdefault(loop, []).append(waiter)
        if is_first:
            with suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            waiters = self._ready.pop(loop)
        for waiter in waiters:
            if not waiter.done():  # otherwise the request is gone
                waiter.set_result(None)


def _unwritten(error: Exception) -> Exception:
    if isinstance(error, DataError) or (not is_down(error) and not isinstance(error, DBAPIError)):
        return error  # a defect, which no other try would mend
    why = told_to_others(error)
    sentence = f"the database could not be written ({why}), so nothing was done; try again in a moment"
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        # the connection may have broken between the commit and its confirmation
        sentence = f"the database did not confirm the write ({why}); send the same request again"
    return Refusal(503, "not-written", sentence, retry_after=5)
