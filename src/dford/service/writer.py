"""One thread that writes, and one commit for all who wait."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from dford.service.refusal import Refusal, busy
from dford.service.tables import heads

T = TypeVar("T")
_GROUP = 256  # jobs in one commit, so that none waits for more than so many others


class _Work(NamedTuple):
    project: int | None
    job: Callable[[Connection], Any]
    future: "Future[Any]"


class Writer:
    """A job is a function of a connection. It refuses before it writes, and may be run more than once.

    All jobs that wait go into one transaction, and every outcome is delivered after its commit: what was acknowledged
    is on disk, and so is what a refusal was based on.
    """

    def __init__(self, engine: Engine, length: int) -> None:
        self._engine = engine
        self._queue: queue.Queue[_Work | None] = queue.Queue(length)
        self._closed = threading.Lock()  # held once closing has begun
        self.commits = 0
        self._thread = threading.Thread(target=self._run, name="dford-writer", daemon=True)
        self._thread.start()

    def submit(self, project: int | None, job: Callable[[Connection], T]) -> "Future[T]":
        """Have the job done, with the project's numbers locked."""
        work = _Work(project, job, Future())
        if self._closed.locked():
            raise busy("the server is closing; try again in a moment")
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            raise busy(f"{self._queue.maxsize} writes wait already; try again in a moment") from None
        return work.future

    def do(self, project: int | None, job: Callable[[Connection], T], seconds: float) -> T:
        """Wait for the job; one that has not begun in time is never done."""
        future = self.submit(project, job)
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.cancel():
                raise busy(f"the write did not begin within {seconds:g} s, and was not done; try again") from None
            return future.result()  # it is being committed

    def waiting(self) -> int:
        return self._queue.qsize()

    def close(self) -> None:
        """Finish what was submitted."""
        if self._closed.acquire(blocking=False):
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group = [self._queue.get()]
            while len(group) < _GROUP and not self._queue.empty():
                group.append(self._queue.get())
            last = None in group
            while last and not self._queue.empty():  # came in while closing began
                group.append(self._queue.get())
            ready = [work for work in group if work is not None and work.future.set_running_or_notify_cancel()]
            if ready:
                self._write(ready)

    def _write(self, group: list[_Work]) -> None:
        try:
            outcomes = self._commit(group)
        except Exception as error:
            if len(group) == 1:
                group[0].future.set_exception(_unwritten(error))
                return
            for work in group:  # one of them failed, and took the others with it: each by itself, then
                self._write([work])
            return
        for work, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Refusal):
                work.future.set_exception(outcome)
            else:
                work.future.set_result(outcome)

    def _commit(self, group: list[_Work]) -> list[Any]:
        outcomes: list[Any] = []
        with self._engine.begin() as connection:
            if connection.dialect.name != "sqlite":  # which has one writer anyway
                projects = sorted({work.project for work in group if work.project is not None})
                rows = sa.select(heads.c.project).where(heads.c.project.in_(projects)).order_by(heads.c.project)
                connection.execute(rows.with_for_update())
            for work in group:
                try:
                    outcomes.append(work.job(connection))
                except Refusal as refusal:
                    outcomes.append(refusal)
        self.commits += 1
        return outcomes


def _unwritten(error: Exception) -> Exception:
    if isinstance(error, DBAPIError):
        return Refusal(
            503, "not-written", f"the database could not be written ({error.orig}), and nothing was done", retry_after=5
        )
    return error
