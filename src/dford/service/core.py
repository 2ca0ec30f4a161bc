"""The service without HTTP: a façade for its packages."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from dford.answer_ids import id_of
from dford.columns import Column, Columns
from dford.service.learning.fold import Fold
from dford.service.learning.folds import Folds
from dford.service.learning.log_reader import head_of
from dford.service.learning.next_question import NextQuestion
from dford.service.projects import answering, image_uploads, imports, items, projects, ratings, rules, settling
from dford.service.projects.answering import RecordedAnswer, SentAnswer
from dford.service.projects.asking import AskedQuestion, QuestionLimits, QuestionRequest
from dford.service.projects.columns import check_columns
from dford.service.projects.image_pieces import in_pieces
from dford.service.projects.image_source import ImageSource
from dford.service.projects.keys import Keys
from dford.service.projects.projects import Project, require_columns
from dford.service.projects.ratings import SentRating
from dford.service.projects.rules import GoldColumn, Rules
from dford.service.projects.settling import Settlement
from dford.service.projects.uploads import Bounds, ReadyItems, ReadyRound, image_column, image_items
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store.database import Database
from dford.service.store.idempotency import Request, once
from dford.service.store.writer import Writer
from dford.service.views import state, worker_views
from dford.service.views.levels import Overviews
from dford.service.views.people import AnswerCounts
from dford.service.worker import Workers

T = TypeVar("T")
_NO_IMAGES = ImageSource()


class Service:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        half = settings.request_seconds / 2  # half to wait for the writer, half for the database
        self.database = Database(settings.database, half).prepare()
        self.writer = Writer(self.database, settings.queue_length, half)
        self.workers = Workers(settings.work_seconds, [__name__])
        self.keys, self.people, self.overviews = Keys(self.database), AnswerCounts(self.database), Overviews()
        self._folds = Folds(self.database, self.writer, settings.snapshot_every, half)
        limits = QuestionLimits(settings.lease_seconds, settings.open_questions, settings.open_per_person)
        self._next_question = NextQuestion(self.database, self.writer, limits)
        self._projects: dict[str, Project] = {}
        # if the database is a file, uploads are kept beside it
        self._uploads = f"{self.database.url.database}-images" if self.database.is_sqlite else ""
        image_uploads.recover(self.database, self._uploads)

    def close(self, seconds: float | None = None) -> None:
        """Finish what was submitted, if there is time. Trees that are still growing are left, and grown again later."""
        with ExitStack() as parts:  # the last one first, and each of them even if another fails
            parts.callback(self.database.close)
            parts.callback(self.writer.close, seconds)
            parts.callback(self.workers.close)
            parts.callback(self._folds.close)

    # projects

    def known(self, name: str) -> Project | None:
        """A project that need not be looked up: its columns are set, so it does not change any more."""
        return self._projects.get(name)

    def find(self, name: str) -> Project | None:
        return self.known(name) or self.look_up(name)

    def look_up(self, name: str) -> Project | None:
        project = projects.find(self.database, name)
        if project is not None and project.columns:
            self._projects[name] = project
        return project

    def project(self, name: str) -> Project:
        project = self.find(name)
        if project is None:
            raise projects.no_project(name)
        return project

    def set_columns(self, project: Project, columns: Sequence[Column]) -> Project:
        check_columns(columns, self.settings.features_per_item, len(project.levels))
        projects.check_learner(project.new_learner(), columns)
        self.write(project, partial(projects.set_columns, project=project.id, chosen=columns))
        return self.project(project.name)

    def with_columns(self, project: Project) -> None:
        """Refuse what only a project with columns can do."""
        require_columns(project)

    def rules(self, project: Project) -> Rules:
        with self.database.reading() as connection:
            return rules.read(connection, project.id)

    def change_rules(self, project: Project, changes: Mapping[str, Any]) -> Rules:
        return self.write(project, partial(rules.change, project=project.id, choice=project.choice, changes=changes))

    def image_source(self, project: Project | None, is_everywhere: bool) -> ImageSource:
        """The images that somebody may name in a project, or in a new one: of its part of the folder, and its uploads.

        If it has no part, admins of all projects may name any image of the folder, and others none.
        """
        part = None if project is None else project.files
        uploads = str(Path(self._uploads, str(project.id))) if self._uploads and project is not None else self._uploads
        return ImageSource(
            self.settings.files, part or ("." if is_everywhere else None), uploads, self.settings.encoder
        )

    def read_image(self, project: Project, number: int, column: str) -> tuple[bytes, str]:
        """The image that an item names, and its media type. Whoever added the item was allowed to name it."""
        name = state.image_name(self.database, project, number, column)
        return self.image_source(project, is_everywhere=True).read(name)

    def bounds(self, project: Project | None = None, images: ImageSource = _NO_IMAGES) -> Bounds:
        """What one call may contain; for a project, with its column of known levels."""
        column = None if project is None else self.rules(project).gold_column
        gold = None if project is None or column is None else GoldColumn(column, project.levels)
        levels = () if project is None else project.scale_of_ratings()
        return Bounds(self.settings.items_per_call, self.settings.features_per_item, images, gold, levels=levels)

    def add_items(self, project: Project, ready: ReadyItems, person: str, request: Request | None) -> Any:
        """Add items to the pool, and settle the known levels; the first items also determine how columns are read."""
        if not project.columns:
            projects.check_learner(project.new_learner(), ready.columns)
        said = [one.sentence for one in Columns.of(ready.columns).describe()] + ready.notes

        def add(connection: Connection) -> dict[str, Any]:
            projects.set_columns(connection, project.id, ready.columns)
            first = items.add(connection, project.id, ready.items)
            known = {first + row: (place, place) for row, place in ready.known.items()}
            settling.settle_many(connection, project.id, known, person)
            return {"first": first, "count": len(ready.items), "columns": said}

        added = self.add(project, add, request)
        if ready.known:
            self.follow(project, head_of(self.database, project.id))
        return added

    def add_images(
        self, project: Project, content: bytes, name: str, bounds: Bounds, person: str, request: Request | None
    ) -> Any:
        """Add an uploaded image as an item, or those of an archive, all or none."""
        if project.columns:
            image_column(project.columns)
        with image_uploads.Upload(bounds.images.uploads) as upload:
            with self.workers.budget(project.id) as budget:
                kept, seen = upload.unpack(budget.run, content, name, bounds.images)
                ready = in_pieces(budget.run, image_items, project.columns, kept, bounds, seen=seen)
            added = self.add_items(project, ready, person, request)
            upload.keep()
        return added

    def add_log(
        self,
        project: Project,
        log: list[ReadyRound],
        person: str,
        request: Request | None = None,
        are_new: bool = False,
    ) -> Any:
        """Add the rounds of another log that are not here yet; those about items that are the same here count for them.

        With `are_new`, all of them are others than those that are here.
        """
        log = imports.with_own_items(self.database, project, log)
        if are_new:
            token = secrets.token_bytes()
            log = [one._replace(id=id_of(token, one.id)) for one in log]
        else:
            log = imports.with_known_ids(self.database, project, log)
        added = self.add(project, partial(imports.add_log, project=project, log=log, person=person), request)
        self.follow(project, added["sequence"])
        return added

    # rounds

    async def tell(self, project: Project, answer: SentAnswer) -> RecordedAnswer:
        """Record an answer; it is on disk when this returns, and learned soon after."""
        answered: RecordedAnswer = await self.writer.share(project.id, answering.record, answer)
        self.follow(project, answered.sequence)
        return answered

    def tell_many(self, project: Project, answers: Sequence[SentAnswer]) -> list[RecordedAnswer | Refusal]:
        """Record answers, in one commit, and return the outcome of each."""
        outcomes = self.write(project, partial(answering.record, project=project.id, sent=answers))
        taken = [one.sequence for one in outcomes if isinstance(one, RecordedAnswer)]
        if taken:
            self.follow(project, max(taken))
        return outcomes

    def ask(self, project: Project, request: QuestionRequest) -> AskedQuestion | int:
        """A new question, or the number of the one that the same key got before."""
        return self._next_question.ask(self.fold(project), project, request)

    def rate(
        self, project: Project, sent: Sequence[SentRating], program: bool, request: Request | None = None
    ) -> dict[str, Any]:
        """Record ratings that nobody asked for, each once."""
        projects.require_placements(project)
        numbers = sorted({one.item for one in sent})
        placed = self.fold(project).near().look(lambda model, _: model.placed_among(numbers))
        job = partial(ratings.rate, project=project, sent=sent, placed=placed, program=program)
        found: dict[str, Any] = self.add(project, job, request)
        self.follow(project, max(found["ratings"]))
        return found

    def unrate(self, project: Project, number: int, person: str, anybodys: bool) -> int:
        """Take back a rating that nobody asked for."""
        job = partial(ratings.retract, project=project.id, number=number, person=person, anybodys=anybodys)
        sequence = self.write(project, job)
        self.follow(project, sequence)
        return sequence

    def settle(self, project: Project, item: int, lowest: str, highest: str, person: str) -> Settlement:
        """Settle the level of an item, or the lowest and highest it can have."""
        projects.require_placements(project)
        low, high = settling.places_of(project, lowest, highest)
        job = partial(settling.settle, project=project.id, item=item, lowest=low, highest=high, person=person)
        settled = self.write(project, job)
        self.follow(project, settled.sequence)
        return settled

    def unsettle(self, project: Project, item: int, person: str) -> None:
        """Undo the settling of an item."""
        self.write(project, partial(settling.unsettle, project=project.id, item=item, person=person))
        self.follow(project, head_of(self.database, project.id))

    # learning

    def fold(self, project: Project) -> Fold:
        """The project's learner, once it has caught up."""
        return self._folds.current(project)

    def folds(self) -> list[Fold]:
        return self._folds.loaded()

    def follow(self, project: Project, sequence: int) -> None:
        """Let the project's learner, if it is loaded, learn what is new."""
        self._folds.follow(project, sequence)

    def final(self, project: Project) -> Fold:
        """The project's learner, once it has learned all answers up to now, and none that was taken back."""
        return self._folds.final(project)

    def latest(self, project: Project) -> Fold:
        """The project's learner, with all answers up to now if it does not take long, perhaps with one taken back."""
        return self._folds.latest(project)

    # work

    def write(self, project: Project | None, job: Callable[[Connection], T]) -> T:
        return self.writer.do(None if project is None else project.id, job)

    def add(self, project: Project | None, job: Callable[[Connection], Any], request: Request | None) -> Any:
        """Do a job that adds something; only once if the request has a key."""
        return self.write(project, partial(once, request=request, job=job))

    def read(self, project: Project | None, body: bytes, function: Callable[..., T], *given: Any) -> T:
        """What a function returns that reads a body; a large one goes to a worker process."""
        return self.workers.run_if_large(len(body), project and project.id, function, *given)

    def parse(
        self,
        project: Project | None,
        body: bytes,
        function: Callable[..., T],
        *given: Any,
        bounds: Bounds,
        has_rows: bool = True,
    ) -> T:
        """What a function makes of a project's columns and a body of rows; without columns, it finds them.

        A large body goes to a worker process, and so do rows that can name images: they may come from anyone, so this
        process never decodes them.
        """
        columns, number = ([], None) if project is None else (project.columns, project.id)
        names_images = any(column.kind == "image" for column in columns) or (not columns and bounds.images.may_have())
        with self.workers.budget(number) as budget:
            run = budget.run if has_rows and names_images else partial(budget.run_if_large, len(body))
            result: T = in_pieces(run, function, columns, *given, bounds)
        return result

    def view(self, is_large: bool, function: Callable[..., T], project: Project, *given: Any) -> T:
        """What a function shows of the database and a project; a large view goes to a worker process."""
        return worker_views.run(self.workers, self.database, is_large, function, project, *given)
