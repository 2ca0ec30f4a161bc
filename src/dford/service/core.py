"""The service without HTTP: a façade to its rooms."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from dford.service.learning import rounds
from dford.service.learning.fold import Fold
from dford.service.projects import answering, asking, items, projects
from dford.service.projects.answering import Answered, Told
from dford.service.projects.asking import Asked, Claims, Limits, Wish
from dford.service.projects.columns import ColumnOf, check, encode
from dford.service.projects.imports import add_log
from dford.service.projects.items import Ready
from dford.service.projects.keys import Keys
from dford.service.projects.projects import Project
from dford.service.projects.uploads import Bounds, ReadyRound
from dford.service.refusal import Refusal, busy
from dford.service.settings import Settings
from dford.service.store.database import Database
from dford.service.store.repeats import Request, once
from dford.service.store.writer import Writer
from dford.service.views import beside
from dford.service.views.levels import Overviews
from dford.service.views.people import People
from dford.service.worker import Worker

T = TypeVar("T")
_PATIENCE = 0.05  # seconds that a question waits for the answers before it to be learned
_TRIES = 10  # to be asked about an item that another server has not just given away
SMALL = 500  # rows that are worked on here, and not in the process beside the server
_SMALL_BODY = 100_000  # bytes


class Service:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        half = settings.request_seconds / 2  # to wait for the writer, and then for the database
        self.database = Database(settings.database, half).prepare()
        self.writer = Writer(self.database, settings.queue_length, half)
        self.worker = Worker(settings.work_seconds)
        self.keys, self.people, self.overviews = Keys(self.database), People(self.database), Overviews()
        self._patience = half
        self._threads = ThreadPoolExecutor(4, "dford-fold")
        self._claims = Claims()
        self._projects: dict[str, Project] = {}
        self._folds: dict[str, Fold] = {}
        self._lock = threading.Lock()

    def close(self, seconds: float | None = None) -> None:
        """Finish what was submitted, if it can be done in time; growing that is under way is left, and done again."""
        for fold in self._folds.values():
            fold.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.worker.close()
        self.writer.close(seconds)
        self.database.close()

    # projects

    def known(self, name: str) -> Project | None:
        """A project that need not be looked up: its columns are set, and nothing of it changes then."""
        return self._projects.get(name)

    def find(self, name: str) -> Project | None:
        project = self.known(name) or projects.find(self.database, name)
        if project is not None and project.columns:
            self._projects[name] = project
        return project

    def project(self, name: str) -> Project:
        project = self.find(name)
        if project is None:
            raise projects.no_project(name)
        return project

    def set_columns(self, project: Project, columns: Sequence[ColumnOf]) -> Project:
        check(columns, self.settings.features_per_item)
        self.write(project, partial(projects.set_columns, project=project.id, chosen=columns))
        return self.project(project.name)

    def with_columns(self, project: Project) -> None:
        """Refuse what only a project with columns can do."""
        if not project.columns:
            raise Refusal(409, "no-columns", "the project has no columns yet; set them, or add items", "columns")

    def bounds(self) -> Bounds:
        return Bounds(self.settings.items_per_call, self.settings.features_per_item)

    def add_items(self, project: Project, read: tuple[list[ColumnOf], list[Ready]], request: Request | None) -> Any:
        """Add items to the pool; the first ones also say how columns are read."""
        columns, ready = read

        def add(connection: Connection) -> dict[str, int]:
            projects.set_columns(connection, project.id, columns)
            return {"first": items.add(connection, project.id, ready), "count": len(ready)}

        return self.add(project, add, request)

    def add_log(self, project: Project, log: list[ReadyRound], person: str, request: Request | None = None) -> Any:
        """Add another log's rounds."""

        def add(connection: Connection) -> dict[str, int]:
            return {"count": len(log), "sequence": add_log(connection, project.id, log, person)}

        added = self.add(project, add, request)
        self.follow(project, added["sequence"])
        return added

    def encoded(self, project: Project, rows: Sequence[Mapping[str, Any]], field: str) -> list[NDArray[np.float64]]:
        return [encode(project.columns, row, f"{field}.{i}") for i, row in enumerate(rows)]

    # rounds

    async def tell(self, project: Project, told: Told) -> Answered:
        """Record an answer; it is on disk when this returns, and learned soon after."""
        answered: Answered = await self.writer.share(project.id, answering.answer, told)
        self.follow(project, answered.sequence)
        return answered

    def tell_many(self, project: Project, told: Sequence[Told]) -> list[Answered | Refusal]:
        """Record answers, in one commit, and say of each what became of it."""
        outcomes = self.write(project, partial(answering.answer, project=project.id, told=told))
        taken = [one.sequence for one in outcomes if isinstance(one, Answered)]
        if taken:
            self.follow(project, max(taken))
        return outcomes

    def ask(self, project: Project, wish: Wish) -> Asked | int:
        """A new question, or the number of the one that was asked by the same key before."""
        fold = self.fold(project)
        if wish.key is not None:
            with self.database.reading() as connection:
                before = asking.asked_before(connection, project.id, wish)
            if before is not None:
                return before
        fold.wait(rounds.head_of(self.database, project.id), _PATIENCE)
        limits = Limits(self.settings.lease_seconds, self.settings.open_questions, self.settings.open_per_person)
        for _ in range(_TRIES):
            with self._claims.subject(self.database, project.id, wish) as subject:
                # the learner is asked here, and not in the transaction, where all others would wait for it
                proposal = fold.propose(subject.x.copy())
                asked = self.write(
                    project,
                    partial(asking.ask, project=project, wish=wish, subject=subject, proposal=proposal, limits=limits),
                )
            if asked is not None:
                return asked
        raise busy("another server was quicker each time; try again in a moment")

    # learning

    def fold(self, project: Project) -> Fold:
        """The project's learner, once it has caught up."""
        self.with_columns(project)
        with self._lock:
            if project.name not in self._folds:
                self._folds[project.name] = Fold(
                    self.database, self.writer, project, self._threads, self.settings.snapshot_every
                )
            fold = self._folds[project.name]
        return fold.ready(self._patience)

    def folds(self) -> list[Fold]:
        return list(self._folds.values())

    def follow(self, project: Project, sequence: int) -> None:
        """Have the project's learner, if it is loaded, learn what is new."""
        fold = self._folds.get(project.name)
        if fold is not None:
            fold.follow(sequence)

    def final(self, project: Project) -> Fold:
        """The project's learner, once it has learned all answers up to now: files are of nothing less."""
        fold, head = self.fold(project), rounds.head_of(self.database, project.id)
        if not fold.wait(head, self._patience):
            sentence = f"project {project.name} is catching up: {fold.progress()}; try again in a moment"
            raise Refusal(503, "catching-up", sentence, retry_after=1)
        return fold

    # work

    def write(self, project: Project | None, job: Callable[[Connection], T]) -> T:
        return self.writer.do(None if project is None else project.id, job)

    def add(self, project: Project | None, job: Callable[[Connection], Any], request: Request | None) -> Any:
        """Do a job that adds something: once, where the request has a key."""
        return self.write(project, partial(once, request=request, job=job))

    def parse(self, body: bytes, function: Callable[..., T], *given: Any) -> T:
        """What a function makes of a body; of a large one, in the process beside the server."""
        return function(*given) if len(body) <= _SMALL_BODY else self.worker.run(function, *given)

    def view(self, size: int, function: Callable[..., T], project: Project, *given: Any) -> T:
        """What a function shows of the database and a project; a large thing, in the process beside the server."""
        if size <= SMALL:
            return function(self.database, project, *given)
        address = self.database.url.render_as_string(hide_password=False)
        shown: T = self.worker.run(beside.view, address, function, project, *given)
        return shown
