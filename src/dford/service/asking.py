"""Questions: each asked once, whatever is sent how often, about an item that nobody else has. Jobs for the writer."""

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
from dford.service.tables import heads, items, leases, pool, questions

Asker = Callable[[NDArray[np.float64], int], Question]

# Statements are made once: making one takes longer than running it.
_project: Any = sa.bindparam("project_")
_OPEN = sa.select(sa.func.count()).select_from(leases).where(leases.c.project == _project)
_EXPIRE = leases.delete().where(leases.c.project == _project, leases.c.expires <= sa.bindparam("now"))
_NUMBER = (
    heads.update().where(heads.c.project == _project).values(question=heads.c.question + 1).returning(heads.c.question)
)
_ADD_QUESTION, _ADD_LEASE = questions.insert(), leases.insert()
_ASKED = sa.select(questions.c.number, questions.c.item, questions.c.shown).where(
    questions.c.project == _project,
    questions.c.person == sa.bindparam("person"),
    questions.c.key == sa.bindparam("key"),
)


class Asked(NamedTuple):
    """A question that was asked just now."""

    number: int
    item: int | None
    shown: str
    question: Question
    expires: float


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
) -> Asked | int:
    """Ask about the next item of the pool, or the one wanted, or features sent along.

    Returns the number alone of a question that was asked before, by the same key.
    """
    now = time.time()
    expires = now + lease_seconds
    if key is not None and (before := _asked_before(connection, project.id, person, key, sent, wanted)) is not None:
        return before
    here = {"project_": project.id}
    connection.execute(_EXPIRE, here | {"now": now})
    if (connection.scalar(_OPEN, here) or 0) >= most_open:
        raise Refusal(
            429, "too-many-open", f"{most_open} questions are open already; answer or skip some", retry_after=1
        )
    item, shown, x = _free_item(connection, project.id, wanted) if sent is None else (None, *sent)
    number: int = connection.execute(_NUMBER, here).scalar_one()
    question, scale = asker(x, number), Scale(project.levels)
    connection.execute(
        _ADD_QUESTION,
        {
            "project": project.id,
            "number": number,
            "item": item,
            "shown": None if sent is None else shown,
            "x": None if sent is None else x.tobytes(),
            "level": scale.number(question.level),
            "prediction": scale.number(question.prediction),
            "propensity": float(question.propensity),
            "expires": expires,
            "key": key,
            "person": person,
            "at": now,
        },
    )
    lease = {"project": project.id, "question": number, "item": item, "expires": expires}
    connection.execute(_ADD_LEASE, lease)
    return Asked(number, item, shown, question, expires)


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


def _free_item(connection: Connection, project: int, wanted: int | None) -> tuple[int, str, NDArray[np.float64]]:
    """The item wanted, or the first among those asked least, that nobody has before him. The index gives it at once:
    only the leased ones are passed over."""
    here = {"project": project}
    if wanted is not None:
        row = connection.execute(_WANTED, here | {"item": wanted}).first()
        if row is None and (connection.scalar(_ITEMS, here) or 0) < wanted:
            raise Refusal(404, "no-item", f"there is no item {wanted} in this project", "item")
        if row is None:
            raise Refusal(409, "item-taken", f"item {wanted} is before somebody; ask about another one", "item")
    else:
        row = connection.execute(_FREE, here).first()
        if row is None:
            raise Refusal(404, "nothing-to-ask", "every item is before somebody, or there is none; add items or wait")
    return row.number, row.shown, np.frombuffer(row.x)


_free = (
    sa.select(items.c.number, items.c.shown, items.c.x)
    .join(pool, (pool.c.project == items.c.project) & (pool.c.item == items.c.number))
    .where(
        pool.c.project == sa.bindparam("project"),
        # leases that have expired are gone by then
        ~sa.exists().where(leases.c.project == pool.c.project, leases.c.item == pool.c.item),
    )
    .limit(1)
)
_FREE = _free.order_by(pool.c.turns, pool.c.item)
_ITEMS = sa.select(heads.c.item).where(heads.c.project == sa.bindparam("project"))
_WANTED = _free.where(pool.c.item == sa.bindparam("item"))
