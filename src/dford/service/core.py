"""The service without HTTP: the store, the folds of its projects, and the keys."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from dford.service import asking, jobs, rounds
from dford.service.columns import ColumnOf, check, encode, read_columns
from dford.service.fold import Fold
from dford.service.keys import Keys
from dford.service.people import People
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store import Store
from dford.service.tables import items
from dford.service.writer import Work

T = TypeVar("T")
_PATIENCE = 0.05  # seconds that a question waits for the answers before it to be learned


class Service:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.database, settings.queue_length)
        self.keys, self.people = Keys(self.store), People(self.store)
        self._workers = ThreadPoolExecutor(4, "dford-fold")
        self._projects: dict[str, Project] = {}
        self._folds: dict[str, Fold] = {}
        self._roused: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.TimerHandle, Callable[[], None]]]] = {}
        self._rousing = threading.Lock()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: Counter[str] = Counter()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Finish what was submitted; growing that is under way is left, and done again after the next start."""
        for fold in self._folds.values():
            fold.close()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    def project(self, name: str) -> Project:
        """A project by name. It is remembered once its columns are set: nothing of it changes then."""
        if name not in self._projects:
            project = self.store.project(name)
            if not project.columns:
                return project
            self._projects[name] = project
        return self._projects[name]

    def fold(self, project: Project) -> Fold:
        if not project.columns:
            raise Refusal(409, "no-columns", "the project has no columns yet; set them, or add items", "columns")
        with self._lock:
            if project.name not in self._folds:
                self._folds[project.name] = Fold(self.store, project, self._workers, self.settings.snapshot_every)
            fold = self._folds[project.name]
        fold.load(self.settings.request_seconds)
        return fold

    def folds(self) -> list[Fold]:
        return list(self._folds.values())

    def write(self, project: Project | None, job: Callable[[Connection], T]) -> T:
        return self.store.writer.do(None if project is None else project.id, job, self.settings.request_seconds)

    async def tell(self, project: Project, told: rounds.Told) -> rounds.Answered:
        """Record an answer; it is on disk when this returns, and learned soon after."""
        waiter = asyncio.get_running_loop().create_future()

        def wake(_: Any) -> None:
            if not waiter.done():  # or else the request is gone
                waiter.set_result(None)

        work = self.begin_telling(project, told, asyncio.get_running_loop(), wake)
        await waiter
        return self.told(project, work)

    def tell_many(self, project: Project, told: Sequence[rounds.Told]) -> list[rounds.Answered | Refusal]:
        """Record answers, in one commit, and say of each what became of it."""
        outcomes = self.write(project, partial(rounds.answer, project=project.id, told=told))
        taken = [one.sequence for one in outcomes if isinstance(one, rounds.Answered)]
        if taken:
            self.follow(project, max(taken))
        return outcomes

    def begin_telling(
        self,
        project: Project,
        told: rounds.Told,
        loop: asyncio.AbstractEventLoop,
        then: Callable[[Work[rounds.Answered]], None],
    ) -> Work[rounds.Answered]:
        """Have an answer recorded, without waiting; `then` is called in the loop, once it is, or is given up."""
        work: Work[rounds.Answered] = Work(project.id, rounds.answer, told, shared=True)
        seconds = self.settings.request_seconds
        timer = loop.call_later(seconds, work.give_up, seconds)
        work.then = partial(self._rouse, loop, timer, partial(then, work))
        try:
            return self.store.writer.put(work)
        except Refusal:
            timer.cancel()
            raise

    def told(self, project: Project, work: Work[rounds.Answered]) -> rounds.Answered:
        """What became of an answer; it is learned soon."""
        answered = work.result()
        self.follow(project, answered.sequence)
        return answered

    def _rouse(self, loop: asyncio.AbstractEventLoop, timer: asyncio.TimerHandle, then: Callable[[], None]) -> None:
        """Called in any thread. All who waited for one commit are called together: to rouse a loop is slow."""
        with self._rousing:
            roused = loop in self._roused
            self._roused.setdefault(loop, []).append((timer, then))
        if not roused:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(self._call_all, loop)

    def _call_all(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._rousing:
            waiting = self._roused.pop(loop)
        for timer, then in waiting:
            timer.cancel()
            then()

    def count(self, method: str, path: str, status: int, begin: float) -> None:
        """Count a request."""
        self.requests[method, path, status] += 1
        self.seconds[path] += time.perf_counter() - begin  # type: ignore[assignment]

    def follow(self, project: Project, sequence: int) -> None:
        """Have the project's learner, if it is loaded, learn what is new."""
        fold = self._folds.get(project.name)
        if fold is not None:
            fold.follow(sequence)

    def set_columns(self, project: Project, columns: Sequence[ColumnOf]) -> Project:
        check(columns, self.settings.features_per_item)
        self.write(project, partial(jobs.set_columns, project=project.id, chosen=columns))
        return self.project(project.name)

    def encoded(self, project: Project, rows: Sequence[Mapping[str, Any]], field: str) -> list[NDArray[np.float64]]:
        return [encode(project.columns, row, f"{field}.{i}") for i, row in enumerate(rows)]

    def add_items(self, project: Project, rows: Sequence[Mapping[str, Any]], field: str) -> int:
        """Add items to the pool; the first ones also say how columns are read. Returns the first number."""
        self.limit(len(rows), field)
        columns = project.columns or read_columns(rows)
        check(columns, self.settings.features_per_item)
        encoded = self.encoded(project._replace(columns=columns), rows, field)
        ready = [(json.dumps(row), x) for row, x in zip(rows, encoded, strict=True)]

        def add(connection: Connection) -> int:
            jobs.set_columns(connection, project.id, columns)
            return jobs.add_items(connection, project.id, ready)

        return self.write(project, add)

    def ask(
        self,
        project: Project,
        person: str,
        key: str | None = None,
        features: Mapping[str, Any] | None = None,
        item: int | None = None,
    ) -> asking.Asked | int:
        fold, sent = self.fold(project), None
        if features is not None:
            sent = json.dumps(features, sort_keys=True), encode(project.columns, features, "features")
        fold.wait(self.store.head(project.id), _PATIENCE)
        return self.write(
            project,
            partial(
                asking.ask,
                project=project,
                asker=fold.question,
                person=person,
                key=key,
                sent=sent,
                wanted=item,
                lease_seconds=self.settings.lease_seconds,
                most_open=self.settings.open_questions,
            ),
        )

    def features(self, project: Project, numbers: Sequence[int]) -> list[NDArray[np.float64]]:
        """The features of items of the pool."""
        own = (items.c.project == project.id, items.c.number.in_(numbers))
        with self.store.reading() as connection:
            found = {row.number: row.x for row in connection.execute(sa.select(items.c.number, items.c.x).where(*own))}
        if missing := set(numbers) - set(found):
            raise Refusal(404, "no-item", f"there is no item {min(missing)} in this project", "items")
        return [np.frombuffer(found[number]) for number in numbers]

    def limit(self, count: int, field: str) -> None:
        if not 1 <= count <= self.settings.items_per_call:
            sentence = f"{count} were sent; between 1 and {self.settings.items_per_call} can be, in one call"
            raise Refusal(422, "too-many", sentence, field)
