"""Questions: each asked once, however often it is sent, about an item that nobody else has."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.pool.answers import AUDIT
from dford.service.projects import rules, settling
from dford.service.projects.columns import PackedRow
from dford.service.projects.projects import Project
from dford.service.projects.rules import Rules
from dford.service.refusal import Refusal, busy, key_reused
from dford.service.store.database import Database
from dford.service.store.schema import answers, heads, items, leases, pool, questions, settlements, skips

PROGRAM_KEY = "--answer/"  # the key of a program's question, followed by its number among all questions for the program
_TURN = 5.0  # seconds to wait while others are being asked
_SKIPS_LAST = 100  # questions until a skipped item is asked about like any other
_SPARE = 8  # free items looked up beyond the claimed ones
_SKEW = 300.0  # seconds that the clocks of two servers may differ


def holds(now: Any, which: Any = leases.c) -> tuple[Any, Any]:
    """The conditions of a lease that holds: not one that begins later, as a clock wrote it that ran ahead."""
    return which.expires > now, which.at <= now + _SKEW


_now: Any = sa.bindparam("now", type_=sa.Double)
# Statements are built once: building one takes longer than running it.
_project: Any = sa.bindparam("project_")
_EXPIRE = leases.delete().where(leases.c.project == _project, ~sa.and_(*holds(_now)))
_NUMBER = (
    heads.update().where(heads.c.project == _project).values(question=heads.c.question + 1).returning(heads.c.question)
)
_ADD_QUESTION, _ADD_LEASE = questions.insert(), leases.insert()
_ASKED = sa.select(questions).where(
    questions.c.project == _project,
    questions.c.person == sa.bindparam("person"),
    questions.c.key == sa.bindparam("key"),
)


class QuestionRequest(NamedTuple):
    """What to ask about: features sent along, an item by number, or whatever comes next."""

    person: str
    key: str | None = None
    """The same person and key get the same question."""
    sent: tuple[str, PackedRow] | None = None
    item: int | None = None
    is_program: bool = False
    """A program never gets the same question twice, and no audit questions: people should judge it."""


class QuestionLimits(NamedTuple):
    lease_seconds: float
    open_questions: int
    open_per_person: int


class Subject(NamedTuple):
    """What a question is about."""

    item: int | None
    turns: int | None
    """How often the item was answered or skipped before."""
    shown: str
    x: PackedRow
    known: int | None = None
    """The last answer that the choice of the item took into account; None if it does not depend on answers."""


class Wording(NamedTuple):
    """What is asked about the subject. Levels count from 1."""

    level: int
    prediction: int
    propensity: float
    purpose: int = 0
    checks: int | None = None
    """The number of the question that this one repeats."""


Word = Callable[[int], Wording]
"""The wording of a question, given its number."""


class AskedQuestion(NamedTuple):
    """A question that was asked just now."""

    number: int
    subject: Subject
    wording: Wording
    expires: float


class NothingFreeError(Exception):
    """There is nothing to ask about, except items whose last answer is not learned yet if some are `unlearned`."""

    def __init__(self, unlearned: bool) -> None:
        super().__init__()
        self.unlearned = unlearned


class Claims:
    """Items that someone is about to be asked about, in this process, so that others get another one."""

    def __init__(self) -> None:
        self._claimed: dict[int, set[int]] = {}
        self._choosing: dict[int, threading.Lock] = {}
        self._drawn: dict[int, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def subject(self, database: Database, project: int, request: QuestionRequest) -> Iterator[Subject]:
        """What to ask about, claimed while the context lasts."""
        if request.sent is not None:
            yield Subject(None, None, *request.sent)
            return
        claimed = self._claimed.setdefault(project, set())
        while (subject := self._claim(database, project, request.item, claimed)) is None:
            pass  # others were quicker
        try:
            yield subject
        finally:
            assert subject.item is not None
            claimed.discard(subject.item)

    @contextmanager
    def chosen(
        self,
        database: Database,
        project: int,
        wanted: int | None,
        known: int,
        choose: Callable[[int, dict[int, bool], Rules], tuple[int, Wording] | None],
    ) -> Iterator[tuple[Subject, Wording]]:
        """The item that `choose` picks, claimed while the context lasts.

        `choose` gets a number for its draws, new in this process, the items assigned to someone, with whether the
        question audits, and the rules. Items answered or settled since `known` count as assigned, as `choose` knows
        nothing of it; items that were skipped recently do as long as there are others.
        """
        claimed, turn = self._claimed.setdefault(project, set()), self._choosing.setdefault(project, threading.Lock())
        if not turn.acquire(timeout=_TURN):
            raise busy("another question is still being chosen; try again in a moment")
        try:
            here = {"project": project, "now": time.time()}
            with database.reading() as connection:
                rows = connection.execute(_TAKEN, here | {"known": known, "long": _SKIPS_LAST}).all()
                current = rules.read(connection, project)
                if wanted is not None:
                    _check_item(connection, here, wanted, claimed)
            last = max((value for why, value in rows if why == _LAST), default=0)
            skipped, unlearned, placed, audited = (
                {value for why, value in rows if why == kind} for kind in (_SKIPPED, _UNLEARNED, _PLACED, _AUDITED)
            )
            number = self._drawn[project] = max(last, self._drawn.get(project, 0)) + 1
            taken = dict.fromkeys(claimed | unlearned | placed, False) | dict.fromkeys(audited, True)
            # no connection is held here: a choice may take longer than a database is given
            found = choose(number, dict.fromkeys(skipped, False) | taken, current) or choose(number, taken, current)
            if found is None or wanted in unlearned:
                raise NothingFreeError(bool(unlearned))
            item, wording = found
            claimed.add(item)
        finally:
            turn.release()
        try:
            with database.reading() as connection:
                row = connection.execute(_ITEM, here | {"item": item}).one()
            yield Subject(item, row.turns, row.shown, row.x, known), wording
        finally:
            claimed.discard(item)

    def _claim(self, database: Database, project: int, wanted: int | None, claimed: set[int]) -> Subject | None:
        here = {"project": project, "now": time.time()}
        with database.reading() as connection:
            if wanted is not None:
                _check_item(connection, here, wanted, claimed)
                free = [wanted]
            else:
                free = list(connection.scalars(_FREE, here | {"most": len(claimed) + _SPARE}))
            with self._lock:
                item = next((number for number in free if number not in claimed), None)
                if item is not None:
                    claimed.add(item)
            if item is None and free:
                return None
            if item is None:
                raise nothing_to_ask()
            row = connection.execute(_ITEM, {"project": project, "item": item}).one()
        return Subject(item, row.turns, row.shown, row.x)


def nothing_to_ask() -> Refusal:
    sentence = "all items are settled or assigned to other people right now, or there are none; add items or wait"
    return Refusal(404, "nothing-to-ask", sentence)


def ask(
    connection: Connection,
    project: Project,
    request: QuestionRequest,
    subject: Subject,
    word: Word,
    limits: QuestionLimits,
) -> AskedQuestion | int | None:
    """Ask, with the wording for the number that the question gets; a job for the writer.

    Returns only the number if the same key was asked before; None if someone else was asked about the item in the
    meantime.
    """
    now = time.time()
    expires = now + limits.lease_seconds
    if (before := asked_before(connection, project.id, request)) is not None:
        return before
    here = {"project_": project.id}
    item = subject.item
    about = {"project": project.id, "now": now, "person": request.person, "item": item, "after": subject.known}
    waiting, own, same, expired, changed = connection.execute(_MAY_ASK, about).one()
    if expired:
        connection.execute(_EXPIRE, here | {"now": now})
    if waiting >= limits.open_questions or own >= limits.open_per_person:
        sentence = f"{waiting} questions are open, {own} of them yours; answer or skip some"
        raise Refusal(429, "too-many-open", sentence, retry_after=1)
    if same or changed:
        return None
    number: int = connection.execute(_NUMBER, here).scalar_one()
    wording, sent = word(number), item is None
    connection.execute(
        _ADD_QUESTION,
        {
            "project": project.id,
            "number": number,
            "item": item,
            "shown": subject.shown if sent else None,
            "x": subject.x if sent else None,
            **wording._asdict(),
            "expires": expires,
            "key": request.key,
            "program": request.is_program,
            "wanted": request.item is not None,
            "person": request.person,
            "at": now,
        },
    )
    lease = {"project": project.id, "question": number, "item": item, "expires": expires, "person": request.person}
    connection.execute(_ADD_LEASE, lease | {"at": now})
    return AskedQuestion(number, subject, wording, expires)


def asked_before(connection: Connection, project: int, request: QuestionRequest) -> int | None:
    """The number of the question that this person and key got before; refused if they asked for another one."""
    if request.key is None:
        return None
    row = connection.execute(_ASKED, {"project_": project, "person": request.person, "key": request.key}).first()
    if row is None:
        return None
    is_wanted = request.item is not None
    if (
        row.shown != (None if request.sent is None else request.sent[0])
        or (is_wanted and request.item != row.item)
        or row.wanted not in {None, is_wanted}
        or row.program != request.is_program
    ):
        raise key_reused()
    return int(row.number)


def release(connection: Connection, project: int, numbers: list[int], person: str) -> int:
    """Release a person's open questions, so that others can get their items; returns how many. A job for the writer."""
    own = (leases.c.project == project, leases.c.person == person, leases.c.question.in_(numbers))
    return int(connection.execute(leases.delete().where(*own)).rowcount)


def _check_item(connection: Connection, here: dict[str, Any], wanted: int, claimed: set[int]) -> None:
    if not 1 <= wanted <= (connection.scalar(_ITEMS, here) or 0):
        raise Refusal(404, "no-item", f"there is no item {wanted} in this project", "item")
    settling.refuse_settled(connection, here["project"], wanted)
    if wanted in claimed or connection.scalar(_WANTED, here | {"item": wanted}) is None:
        raise item_taken(wanted)


def item_taken(item: int) -> Refusal:
    sentence = f"item {item} already has an open question, someone else's or one of yours; ask about another one"
    return Refusal(409, "item-taken", sentence, "item")


# The sum keeps SQLite from using the index on expiry, with which it would scan all leases for each item.
_leased = sa.exists().where(
    leases.c.project == pool.c.project, leases.c.item == pool.c.item, leases.c.expires + 0.0 > _now, holds(_now)[1]
)
_free = sa.select(pool.c.item).where(pool.c.project == sa.bindparam("project"), ~_leased, ~settling.HAS_ONE_LEVEL)
# the first among those asked about least often, straight from the index
_FREE = _free.order_by(pool.c.turns, pool.c.item).limit(sa.bindparam("most"))
_WANTED = _free.where(pool.c.item == sa.bindparam("item"))
_ITEMS = sa.select(heads.c.item).where(heads.c.project == sa.bindparam("project"))
_ITEM = (
    sa.select(items.c.shown, items.c.x, pool.c.turns)
    .join(pool, (pool.c.project == items.c.project) & (pool.c.item == items.c.number))
    .where(items.c.project == sa.bindparam("project"), items.c.number == sa.bindparam("item"))
)
_asked = (questions.c.project == leases.c.project) & (questions.c.number == leases.c.question)
_open = leases.c.project == sa.bindparam("project"), *holds(_now)


def _items_after(column: sa.Column[int], after: Any, *what: Any) -> Any:
    """The items of the questions in a table whose number in this column is above `after`."""
    table = column.table
    return (
        sa.select(*what, questions.c.item)
        .join(table, (table.c.project == questions.c.project) & (table.c.question == questions.c.number))
        .where(table.c.project == sa.bindparam("project"), column > after, questions.c.item.is_not(None))
    )


def _settled_since(after: Any) -> tuple[Any, ...]:
    return settlements.c.project == sa.bindparam("project"), settlements.c.sequence > after


# One statement, because on PostgreSQL each takes as long as the choice itself: the last question, the items assigned to
# someone, for another purpose than an audit or for one, those skipped recently, and those answered or settled since.
_LAST, _PLACED, _AUDITED, _SKIPPED, _UNLEARNED = range(5)
_last = sa.select(heads.c.question).where(heads.c.project == sa.bindparam("project"))
_TAKEN = sa.union_all(
    sa.select(sa.literal(_LAST), heads.c.question).where(heads.c.project == sa.bindparam("project")),
    sa.select(sa.case((questions.c.purpose == AUDIT, _AUDITED), else_=_PLACED), leases.c.item)
    .join(questions, _asked)
    .where(*_open, leases.c.item.is_not(None)),
    _items_after(skips.c.question, _last.scalar_subquery() - sa.bindparam("long"), sa.literal(_SKIPPED)),
    _items_after(answers.c.sequence, sa.bindparam("known"), sa.literal(_UNLEARNED)),
    sa.select(sa.literal(_UNLEARNED), settlements.c.item).where(*_settled_since(sa.bindparam("known"))),
)


def _how_many(which: Any) -> Any:
    return sa.func.coalesce(sa.func.sum(sa.case((which, 1), else_=0)), 0)


_any: Any = leases.alias()
# How many questions are open, how many of them are this person's or about the item, whether some have expired, and
# whether the item was answered or settled since `after`.
_MAY_ASK = sa.select(
    sa.func.count(),
    _how_many(leases.c.person == sa.bindparam("person")),
    _how_many(leases.c.item == sa.bindparam("item")),
    sa.exists().where(_any.c.project == sa.bindparam("project"), ~sa.and_(*holds(_now, _any.c))),
    _items_after(answers.c.sequence, sa.bindparam("after")).where(questions.c.item == sa.bindparam("item")).exists()
    | sa.exists().where(*_settled_since(sa.bindparam("after")), settlements.c.item == sa.bindparam("item")),
).where(*_open)
