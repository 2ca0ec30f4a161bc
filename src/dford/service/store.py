"""The database: opening it, and reading what is in it."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, OperationalError

from dford.service import tables
from dford.service.columns import from_json
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.tables import answers, columns, heads, items, projects, questions, retractions, snapshots
from dford.service.writer import Writer

_PAGE = 1000  # answers read at a time


class Round(NamedTuple):
    """One answer of the log, with the question as it was asked; levels are counted from 1."""

    sequence: int
    number: int
    x: NDArray[np.float64]
    level: int
    prediction: int
    propensity: float
    higher: bool


class Store:
    """The log of all projects. `writer` changes it; everything else here reads."""

    def __init__(self, url: str, queue_length: int = 1000) -> None:
        self.url = make_url(url if "://" in url else f"sqlite:///{Path(url).expanduser().absolute()}")
        self._writing, self._reading = _engine(self.url, "BEGIN IMMEDIATE"), _engine(self.url, "BEGIN")
        try:
            with self._writing.begin() as connection:
                tables.migrate(connection)
                connection.execute(_WRITE_NOTHING)
        except BaseException:
            self._dispose()
            raise
        self.writer = Writer(self._writing, queue_length)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment (SQLite), or what is committed (PostgreSQL)."""
        try:
            with self._reading.begin() as connection:
                yield connection
        except (OperationalError, InterfaceError) as error:
            sentence = f"the database could not be read ({' '.join(str(error.orig).split())}); try again in a moment"
            raise Refusal(503, "not-read", sentence, retry_after=5) from error

    def close(self) -> None:
        """Finish what was submitted, and close every file."""
        self.writer.close()
        self._dispose()

    def _dispose(self) -> None:
        self._writing.dispose()
        self._reading.dispose()

    def projects(self) -> list[Project]:
        with self.reading() as connection:
            return [_project(row) for row in connection.execute(_PROJECTS.order_by(projects.c.id))]

    def project(self, name: str) -> Project:
        with self.reading() as connection:
            row = connection.execute(_PROJECTS.where(projects.c.name == name)).first()
        if row is None:
            raise Refusal(404, "no-project", f"there is no project {name[:64]!r}", "project")
        return _project(row)

    def project_name(self, project: int) -> str:
        with self.reading() as connection:
            return str(connection.scalar(sa.select(projects.c.name).where(projects.c.id == project)))

    def head(self, project: int) -> int:
        """The sequence number of the last answer or retraction."""
        with self.reading() as connection:
            return int(connection.scalar(_HEAD, {"project": project}) or 0)

    def rounds(self, project: int, after: int, head: int) -> Iterator[Round]:
        """The answers with numbers in (after, head] that no retraction up to head takes back, in order."""
        while True:
            with self.reading() as connection:
                place = {"project": project, "after": after, "head": head}
                page = connection.execute(_ROUNDS, place).all()
            for row in page:
                x = np.frombuffer(row.own if row.own is not None else row.pooled).copy()  # compiled code wants its own
                yield Round(row.sequence, row.question, x, row.level, row.prediction, row.propensity, row.higher)
            if len(page) < _PAGE:
                return
            after = page[-1].sequence

    def news(self, project: int, after: int) -> tuple[int, bool]:
        """The head, and whether a retraction since `after` takes back an answer up to there."""
        with self.reading() as connection:
            row = connection.execute(_NEWS, {"project": project, "after": after}).one()
        return row.sequence, row.taken_back

    def taken_back(self, project: int, after: int, head: int) -> bool:
        """Whether a retraction in (after, head] takes back an answer up to `after`."""
        with self.reading() as connection:
            return bool(connection.scalar(_TAKEN_BACK, {"project": project, "after": after, "head": head}))

    def snapshot(self, project: int, head: int) -> tuple[int, bytes] | None:
        """The latest snapshot from which the state at `head` can be folded."""
        with self.reading() as connection:
            row = connection.execute(_SNAPSHOT, {"project": project, "head": head}).first()
        return None if row is None else (row.sequence, row.model)

    def snapshots(self, project: int) -> list[tuple[int, bytes]]:
        own = snapshots.c.project == project
        with self.reading() as connection:
            rows = connection.execute(sa.select(snapshots).where(own).order_by(snapshots.c.sequence))
            return [(row.sequence, row.model) for row in rows]

    def integrity(self) -> str:
        """What the database says of its own file: ok, if all is well."""
        if self.url.get_backend_name() != "sqlite":
            return "ok"
        with self.reading() as connection:
            return str(connection.exec_driver_sql("PRAGMA integrity_check").scalar())

    def backup(self, file: Path) -> None:
        """Copy a SQLite database to a new file, as of one moment, while others write."""
        if self.url.get_backend_name() != "sqlite":
            raise ValueError("a PostgreSQL database is backed up by pg_dump")
        if file.exists():
            raise ValueError(f"{file} is there already; name a new file")
        draft = file.with_name(f".{file.name}.draft")
        with self._reading.connect() as connection, closing(sqlite3.connect(draft)) as copy:
            connection.connection.dbapi_connection.backup(copy)  # type: ignore[union-attr]
        os.replace(draft, file)


# SQLite begins to write a read-only file without a word, and says so at the first row, or at none
_WRITE_NOTHING = tables.schema_version.update().where(sa.false()).values(version=0)
_PROJECTS = sa.select(projects, columns.c.columns).join(columns, columns.c.project == projects.c.id, isouter=True)
_HEAD = sa.select(heads.c.sequence).where(heads.c.project == sa.bindparam("project"))
_retracted = sa.exists().where(
    retractions.c.project == answers.c.project,
    retractions.c.question == answers.c.question,
    retractions.c.sequence <= sa.bindparam("head"),
)
_ROUNDS = (
    sa.select(
        answers.c.sequence,
        answers.c.question,
        answers.c.higher,
        questions.c.level,
        questions.c.prediction,
        questions.c.propensity,
        questions.c.x.label("own"),
        items.c.x.label("pooled"),
    )
    .join(questions, (questions.c.project == answers.c.project) & (questions.c.number == answers.c.question))
    .join(items, (items.c.project == questions.c.project) & (items.c.number == questions.c.item), isouter=True)
    .where(
        answers.c.project == sa.bindparam("project"),
        answers.c.sequence > sa.bindparam("after"),
        answers.c.sequence <= sa.bindparam("head"),
        ~_retracted,
    )
    .order_by(answers.c.sequence)
    .limit(_PAGE)
)
_TAKEN_BACK = sa.select(
    sa.exists().where(
        retractions.c.project == sa.bindparam("project"),
        retractions.c.sequence > sa.bindparam("after"),
        retractions.c.sequence <= sa.bindparam("head"),
        retractions.c.answer <= sa.bindparam("after"),
    )
)
_NEWS = sa.select(
    heads.c.sequence,
    sa.exists()
    .where(
        retractions.c.project == heads.c.project,
        retractions.c.sequence > sa.bindparam("after"),
        retractions.c.answer <= sa.bindparam("after"),
    )
    .label("taken_back"),
).where(heads.c.project == sa.bindparam("project"))
_SNAPSHOT = (
    sa.select(snapshots.c.sequence, snapshots.c.model)
    .where(
        snapshots.c.project == sa.bindparam("project"),
        snapshots.c.sequence <= sa.bindparam("head"),
        ~sa.exists().where(
            retractions.c.project == snapshots.c.project,
            retractions.c.sequence > snapshots.c.sequence,
            retractions.c.sequence <= sa.bindparam("head"),
            retractions.c.answer <= snapshots.c.sequence,
        ),
    )
    .order_by(snapshots.c.sequence.desc())
    .limit(1)
)


def _project(row: Any) -> Project:
    columns = [] if row.columns is None else from_json(row.columns)
    return Project(row.id, row.name, json.loads(row.levels), row.learner, json.loads(row.parameters), row.seed, columns)


def _engine(url: sa.URL, begin: str) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True)
    if url.database in {None, "", ":memory:"}:
        raise ValueError("the log must outlive the process: give the database a file")
    engine = sa.create_engine(url, connect_args={"timeout": 10})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
