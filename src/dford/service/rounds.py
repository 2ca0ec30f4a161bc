"""Questions, answers, skips, retractions: each happens once, whatever is sent how often. Jobs for the writer."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from dford.feedback import Question
from dford.scale import Scale
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.tables import answers, heads, items, leases, pool, questions, retractions, skips

Asker = Callable[[NDArray[np.float64], int], Question]

# Statements are made once: making one takes longer than running it.
_project: Any = sa.bindparam("project_")
_now: Any = sa.bindparam("now")
_OPEN = sa.select(sa.func.count()).select_from(leases).where(leases.c.project == _project, leases.c.expires > _now)
_EXPIRE = leases.delete().where(leases.c.project == _project, leases.c.expires <= _now)
_END_LEASE = leases.delete().where(leases.c.project == _project, leases.c.question == sa.bindparam("question_"))
_head = heads.update().where(heads.c.project == _project)
_NUMBER = _head.values(question=heads.c.question + 1).returning(heads.c.question)
_SEQUENCE = _head.values(sequence=heads.c.sequence + 1).returning(heads.c.sequence)
_turns = pool.update().where(pool.c.project == _project, pool.c.item == sa.bindparam("item_"))
_TURN = _turns.values(turns=pool.c.turns + sa.bindparam("by"))
_ADD_QUESTION, _ADD_LEASE, _ADD_ANSWER = questions.insert(), leases.insert(), answers.insert()
_ASKED = sa.select(questions.c.number, questions.c.item, questions.c.shown).where(
    questions.c.project == _project,
    questions.c.person == sa.bindparam("person"),
    questions.c.key == sa.bindparam("key"),
)


class Answered(NamedTuple):
    """What is said of an answer, the first time and every time after."""

    question: int
    higher: bool
    sequence: int
    at: float


def ask(
    connection: Connection,
    project: Project,
    asker: Asker,
    person: str,
    key: str | None,
    sent: tuple[str, NDArray[np.float64]] | None,
    wanted: int | None,
    lease_seconds: float,
    most_open: int,
) -> int:
    """Ask about the next item of the pool, or the one wanted, or features sent along; returns the question's number."""
    now = time.time()
    if key is not None and (before := _asked_before(connection, project.id, person, key, sent, wanted)) is not None:
        return before
    here = {"project_": project.id, "now": now}
    if (connection.scalar(_OPEN, here) or 0) >= most_open:
        raise Refusal(
            429, "too-many-open", f"{most_open} questions are open already; answer or skip some", retry_after=1
        )
    item, x = _free_item(connection, project.id, now, wanted) if sent is None else (None, sent[1])
    connection.execute(_EXPIRE, here)
    number: int = connection.execute(_NUMBER, here).scalar_one()
    question, scale = asker(x, number), Scale(project.levels)
    connection.execute(
        _ADD_QUESTION,
        {
            "project": project.id,
            "number": number,
            "item": item,
            "shown": None if sent is None else sent[0],
            "x": None if sent is None else x.tobytes(),
            "level": scale.number(question.level),
            "prediction": scale.number(question.prediction),
            "propensity": float(question.propensity),
            "expires": now + lease_seconds,
            "key": key,
            "person": person,
            "at": now,
        },
    )
    lease = {"project": project.id, "question": number, "item": item, "expires": now + lease_seconds}
    connection.execute(_ADD_LEASE, lease)
    return number


def _asked_before(
    connection: Connection,
    project: int,
    person: str,
    key: str,
    sent: tuple[str, NDArray[np.float64]] | None,
    wanted: int | None,
) -> int | None:
    row = connection.execute(_ASKED, {"project_": project, "person": person, "key": key}).first()
    if row is None:
        return None
    if row.shown != (None if sent is None else sent[0]) or wanted not in {None, row.item}:
        sentence = "this idempotency key came with another request before; take a new one"
        raise Refusal(409, "key-reused", sentence, "Idempotency-Key")
    return int(row.number)


def _free_item(connection: Connection, project: int, now: float, wanted: int | None) -> tuple[int, NDArray[np.float64]]:
    """The item wanted, or the first among those asked least, that nobody has before him. The index gives it at once:
    only the leased ones, which are few, are passed over."""
    here = {"project": project, "now": now}
    if wanted is not None:
        row = connection.execute(_WANTED, here | {"item": wanted}).first()
        if row is None and (connection.scalar(_ITEMS, {"project": project}) or 0) < wanted:
            raise Refusal(404, "no-item", f"there is no item {wanted} in this project", "item")
        if row is None:
            raise Refusal(409, "item-taken", f"item {wanted} is before somebody; ask about another one", "item")
        return row.number, np.frombuffer(row.x)
    row = connection.execute(_FREE, here).first()
    if row is None:
        raise Refusal(404, "nothing-to-ask", "every item is before somebody, or there is none; add items or wait")
    return row.number, np.frombuffer(row.x)


_free = (
    sa.select(items.c.number, items.c.x)
    .join(pool, (pool.c.project == items.c.project) & (pool.c.item == items.c.number))
    .where(
        pool.c.project == sa.bindparam("project"),
        ~sa.exists().where(
            leases.c.project == pool.c.project, leases.c.item == pool.c.item, leases.c.expires > sa.bindparam("now")
        ),
    )
    .limit(1)
)
_FREE = _free.order_by(pool.c.turns, pool.c.item)
_ITEMS = sa.select(heads.c.item).where(heads.c.project == sa.bindparam("project"))
_WANTED = _free.where(pool.c.item == sa.bindparam("item"))


def answer(connection: Connection, project: int, number: int, higher: bool, person: str) -> Answered:
    """Record the answer to a question, once."""
    row = _fate(connection, project, number)
    if row.retraction is not None:
        raise Refusal(409, "retracted", f"the answer to question {number} was taken back; ask again", "question")
    if row.sequence is not None:
        if row.higher != higher:
            sentence = (
                f"question {number} was answered higher={str(row.higher).lower()} before; the first answer stands"
            )
            raise Refusal(409, "answered-otherwise", sentence, "higher")
        return Answered(number, higher, row.sequence, row.at)
    if row.skip is not None:
        raise Refusal(409, "skipped", f"question {number} was skipped, so it takes no answer; ask again", "question")
    now, sequence = time.time(), _next(connection, project)
    connection.execute(
        _ADD_ANSWER,
        {"project": project, "sequence": sequence, "question": number, "higher": higher, "person": person, "at": now},
    )
    _settle(connection, project, number, row.item)
    return Answered(number, higher, sequence, now)


def skip(connection: Connection, project: int, number: int, person: str) -> None:
    """Close a question without an answer, once. Its item waits for its next turn."""
    row = _fate(connection, project, number)
    if row.sequence is not None:
        raise Refusal(
            409, "answered", f"question {number} was answered already; retract the answer instead", "question"
        )
    if row.skip is None:
        values = {"project": project, "question": number, "person": person, "at": time.time()}
        connection.execute(skips.insert(), values)
        _settle(connection, project, number, row.item)


def retract(connection: Connection, project: int, number: int, person: str) -> int:
    """Take an answer back, once; returns the sequence number of this. Its item is next again."""
    row = _fate(connection, project, number)
    if row.sequence is None:
        raise Refusal(409, "not-answered", f"question {number} has no answer to take back", "question")
    if row.retraction is not None:
        return int(row.retraction)
    sequence = _next(connection, project)
    connection.execute(
        retractions.insert(),
        {
            "project": project,
            "sequence": sequence,
            "question": number,
            "answer": row.sequence,
            "person": person,
            "at": time.time(),
        },
    )
    if row.item is not None:
        connection.execute(_TURN, {"project_": project, "item_": row.item, "by": -1})
    return sequence


_FATE = (
    sa.select(
        questions.c.item,
        answers.c.sequence,
        answers.c.higher,
        answers.c.at,
        skips.c.question.label("skip"),
        retractions.c.sequence.label("retraction"),
    )
    .join(
        answers, (answers.c.project == questions.c.project) & (answers.c.question == questions.c.number), isouter=True
    )
    .join(skips, (skips.c.project == questions.c.project) & (skips.c.question == questions.c.number), isouter=True)
    .join(
        retractions,
        (retractions.c.project == questions.c.project) & (retractions.c.question == questions.c.number),
        isouter=True,
    )
    .where(questions.c.project == sa.bindparam("project"), questions.c.number == sa.bindparam("number"))
)


def _fate(connection: Connection, project: int, number: int) -> Any:
    row = connection.execute(_FATE, {"project": project, "number": number}).first()
    if row is None:
        raise Refusal(404, "no-question", f"there is no question {number} in this project", "question")
    return row


def _next(connection: Connection, project: int) -> int:
    sequence: int = connection.execute(_SEQUENCE, {"project_": project}).scalar_one()
    return sequence


def _settle(connection: Connection, project: int, number: int, item: int | None) -> None:
    connection.execute(_END_LEASE, {"project_": project, "question_": number})
    if item is not None:
        connection.execute(_TURN, {"project_": project, "item_": item, "by": 1})
