"""Reading the log of a project: answers with their questions, in order."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from scipy import sparse

from dford.learners import Rows
from dford.log_columns import LEAST_SURE, is_guess
from dford.pool.answers import GOLD
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.store.schema import answers, heads, items, questions, retractions, settlements

PAGE = 1000
MANY = 8000  # answers per page if nobody waits for the model that learns them


class Rounds(NamedTuple):
    """Answers in order, with the questions as they were asked; levels count from 1."""

    sequence: NDArray[np.int64]
    number: NDArray[np.int64]
    """Of the question; negative if nobody asked it."""
    X: Rows
    level: NDArray[np.int64]
    prediction: NDArray[np.int64]
    propensity: NDArray[np.float64]
    higher: NDArray[np.bool_]
    item: NDArray[np.int64]
    """0 if the question was about features sent with it."""
    purpose: NDArray[np.int64]
    checks: NDArray[np.int64]
    """The question that this one repeats, or -1."""
    person: Sequence[str]
    confidence: NDArray[np.float64]
    """How sure they were, from 0.5 to 1; NaN if they did not say."""
    informs: NDArray[np.bool_]
    """Whether what they say is something to learn from, and does not decide: a program was asked."""
    rating: NDArray[np.int64]
    """The level that was given, or 0 if the answer is yes or no."""

    @property
    def teaches(self) -> NDArray[np.bool_]:
        """Which of them the learner learns from: all except those that judge people, and guesses."""
        found: NDArray[np.bool_] = (self.purpose != GOLD) & ~is_guess(self.confidence)
        return found


class Arrivals(NamedTuple):
    """Items with numbers above `after`, in order, and the last answer or retraction before each arrived."""

    after: int
    sequence: NDArray[np.int64]
    X: Rows

    def before(self, sequence: int) -> int:
        """The number of the last item that arrived before the answer or retraction with this number."""
        return self.after + int(np.searchsorted(self.sequence, sequence))


def arrivals(database: Database, project: Project, after: int, until: int) -> Arrivals:
    """The items with numbers above `after` that arrived before the log passed `until`."""
    sequences, parts = list[int](), list[Rows]()  # a page at a time, as all rows would take as much memory again
    with database.reading() as connection:
        while True:
            place = {"project": project.id, "after": after + len(sequences), "until": until, "most": MANY}
            page = connection.execute(_ARRIVALS, place).all()
            sequences += [row.sequence for row in page]
            parts.append(project.rows([row.x for row in page]))
            if len(page) < MANY:
                break
    X = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    return Arrivals(after, np.array(sequences, dtype=np.int64), X)


class Settlements(NamedTuple):
    """What was settled, in order; levels count from 0, and the range of all levels settles nothing."""

    sequence: NDArray[np.int64]
    item: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def between(self, after: int, before: int) -> range:
        """The places of those with numbers above `after` and below `before`."""
        first, last = (np.searchsorted(self.sequence, number).tolist() for number in (after + 1, before))
        return range(first, last)


NOTHING_SETTLED = Settlements(*np.empty((4, 0), np.int64))


def settled(database: Database, project: Project, after: int, until: int) -> Settlements:
    """What was settled, or undone, with numbers in (after, until]."""
    with database.reading() as connection:
        rows = connection.execute(_SETTLED, {"project": project.id, "after": after, "until": until}).all()
    columns = np.array([(row[0], row[1], row[2] or 1, row[3] or len(project.levels)) for row in rows], dtype=np.int64)
    sequence, item, lowest, highest = columns.reshape(-1, 4).T
    return Settlements(sequence, item, lowest - 1, highest - 1)


def head_of(database: Database, project: int) -> int:
    """The sequence number of the last answer, retraction or settlement."""
    with database.reading() as connection:
        return int(connection.scalar(_HEAD, {"project": project}) or 0)


def count(database: Database, project: int, until: int, as_of: int) -> int:
    """How many answers up to `until` teach and are not taken back by a retraction up to `as_of`."""
    with database.reading() as connection:
        return int(connection.scalar(_COUNT, {"project": project, "after": 0, "until": until, "as_of": as_of}) or 0)


def pages(
    database: Database, project: Project, after: int, as_of: int, until: int | None = None, most: int = PAGE
) -> Iterator[Rounds]:
    """The answers in (after, until] that no retraction up to `as_of` takes back, `most` at a time.

    By default, `until` is `as_of`.
    """
    until = as_of if until is None else until
    while True:
        with database.reading() as connection:
            place = {"project": project.id, "after": after, "until": until, "as_of": as_of, "most": most}
            rows = connection.execute(_ROUNDS, place).all()
        if rows:
            yield _rounds(project, rows)
            after = rows[-1].sequence
        if len(rows) < most:
            return


def heads_of(database: Database, project: int) -> tuple[int, int]:
    """The sequence number of the last answer, retraction or settlement, and the number of the last item."""
    with database.reading() as connection:
        row = connection.execute(_HEADS, {"project": project}).one()
    return row.sequence, row.item


class News(NamedTuple):
    """How far the log is."""

    head: int
    retracted: bool
    """Whether a new retraction takes back an answer."""
    items: int
    """The number of the last item."""
    settled: bool
    """Whether something was settled, or undone, since."""


def news(database: Database, project: int, sequence: int, as_of: int) -> News:
    """The news for a state up to `sequence` that knows of retractions up to `as_of`."""
    with database.reading() as connection:
        row = connection.execute(_NEWS, {"project": project, "sequence_": sequence, "as_of": as_of}).one()
    return News(row.sequence, row.retracted, row.item, row.settled)


def _rounds(project: Project, rows: Any) -> Rounds:
    columns = dict(zip(_ROUNDS.selected_columns.keys(), zip(*rows, strict=True), strict=True))
    x = [mine if mine is not None else theirs for mine, theirs in zip(columns["own"], columns["pooled"], strict=True)]
    return Rounds(
        np.array(columns["sequence"]),
        np.array(columns["question"]),
        project.rows(x),
        np.array(columns["level"]),
        np.array(columns["prediction"]),
        np.array(columns["propensity"]),
        np.array(columns["higher"], dtype=bool),
        np.array([number or 0 for number in columns["item"]]),
        np.array(columns["purpose"]),
        np.array([-1 if number is None else number for number in columns["checks"]]),
        columns["person"],
        np.array(columns["confidence"], dtype=np.float64),
        np.array(columns["program"], dtype=bool),
        np.array([level or 0 for level in columns["rating"]]),
    )


_HEADS = sa.select(heads.c.sequence, heads.c.item).where(heads.c.project == sa.bindparam("project"))
_ARRIVALS = (
    sa.select(items.c.sequence, items.c.x)
    .where(
        items.c.project == sa.bindparam("project"),
        items.c.number > sa.bindparam("after"),
        items.c.sequence <= sa.bindparam("until"),
    )
    .order_by(items.c.number)
    .limit(sa.bindparam("most"))
)
_SETTLED = (
    sa.select(settlements.c.sequence, settlements.c.item, settlements.c.lowest, settlements.c.highest)
    .where(
        settlements.c.project == sa.bindparam("project"),
        settlements.c.sequence > sa.bindparam("after"),
        settlements.c.sequence <= sa.bindparam("until"),
    )
    .order_by(settlements.c.sequence)
)
_HEAD = sa.select(heads.c.sequence).where(heads.c.project == sa.bindparam("project"))
_retracted = sa.exists().where(
    retractions.c.project == answers.c.project,
    retractions.c.question == answers.c.question,
    retractions.c.sequence <= sa.bindparam("as_of"),
)
_counts = (
    answers.c.project == sa.bindparam("project"),
    answers.c.sequence > sa.bindparam("after"),
    answers.c.sequence <= sa.bindparam("until"),
    ~_retracted,
)
_asked = (questions.c.project == answers.c.project) & (questions.c.number == answers.c.question)
_taught = sa.select(sa.func.count()).select_from(answers).join(questions, _asked)
_COUNT = _taught.where(*_counts, questions.c.purpose != GOLD, sa.func.coalesce(answers.c.confidence, 1.0) >= LEAST_SURE)
_ROUNDS = (
    sa.select(
        answers.c.sequence,
        answers.c.question,
        answers.c.higher,
        questions.c.level,
        questions.c.prediction,
        questions.c.propensity,
        questions.c.item,
        questions.c.purpose,
        questions.c.checks,
        answers.c.person,
        answers.c.confidence,
        answers.c.rating,
        questions.c.program,
        questions.c.x.label("own"),
        items.c.x.label("pooled"),
    )
    .join(questions, _asked)
    .join(items, (items.c.project == questions.c.project) & (items.c.number == questions.c.item), isouter=True)
    .where(*_counts)
    .order_by(answers.c.sequence)
    .limit(sa.bindparam("most"))
)
_NEWS = sa.select(
    heads.c.sequence,
    heads.c.item,
    sa.exists()
    .where(
        retractions.c.project == heads.c.project,
        retractions.c.sequence > sa.bindparam("as_of"),
        retractions.c.answer <= sa.bindparam("sequence_"),
    )
    .label("retracted"),
    sa.exists()
    .where(settlements.c.project == heads.c.project, settlements.c.sequence > sa.bindparam("sequence_"))
    .label("settled"),
).where(heads.c.project == sa.bindparam("project"))
