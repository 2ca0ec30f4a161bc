"""Settling levels and undoing it, as events of the log. Jobs for the writer."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.projects.projects import Project, place_of
from dford.service.refusal import Refusal
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.database import Database
from dford.service.store.schema import heads, pool, settlements


class Settlement(NamedTuple):
    """A settled level or range of levels, and when it was settled; levels count from 1."""

    item: int
    lowest: int
    highest: int
    sequence: int
    person: str
    at: float


def settle(connection: Connection, project: int, item: int, lowest: int, highest: int, person: str) -> Settlement:
    """Settle the level of an item, or the lowest and highest it can have. Repeating it changes nothing."""
    before = _in_force(connection, project, item)
    if before is not None and (before.lowest, before.highest) == (lowest, highest):
        return before
    settle_many(connection, project, {item: (lowest, highest)}, person)
    found = _in_force(connection, project, item)
    assert found is not None
    return found


def settle_many(
    connection: Connection, project: int, known: Mapping[int, tuple[int | None, int | None]], person: str
) -> None:
    """Settle the lowest and highest levels of items, in this order; None for both undoes the settling."""
    if not known:
        return
    head: int = connection.execute(_HEAD, {"project_": project, "count": len(known)}).scalar_one()
    now, first = time.time(), head - len(known) + 1
    rows = [(project, first + i, item, *bounds, person, now) for i, (item, bounds) in enumerate(known.items())]
    columns = ("project", "sequence", "item", "lowest", "highest", "person", "at")
    insert_rows(connection, settlements, columns, rows)
    connection.execute(_MARK, {"project_": project, "first": first})


def unsettle(connection: Connection, project: int, item: int, person: str) -> None:
    """Undo the settling of an item, if there was one."""
    if _in_force(connection, project, item) is not None:
        settle_many(connection, project, {item: (None, None)}, person)


def refuse_settled(connection: Connection, project: int, item: int) -> None:
    """Refuse a question about an item whose level is settled."""
    one = _THERE.where(HAS_ONE_LEVEL)
    if connection.scalar(one, {"project_": project, "item": item}) is not None:
        sentence = f"the level of item {item} is settled, so there is nothing to ask about it; undo the settling first"
        raise Refusal(409, "settled", sentence, "item")


def in_force(database: Database, project: Project, until: int = 2**31 - 1) -> dict[int, Settlement]:
    """What is settled, by item, in the order in which it was; or what was, when the log was at `until`."""
    found: dict[int, Settlement] = {}
    with database.reading() as connection:
        for row in connection.execute(_ALL, {"project_": project.id, "until": until}):
            found.pop(row.item, None)
            if row.lowest is not None:  # otherwise it was undone
                found[row.item] = Settlement(*row)
    return found


def places_of(project: Project, lowest: str, highest: str) -> tuple[int, int]:
    """The places of two levels on the scale, from 1; refused if they cannot be settled."""
    low, high = place_of(project, lowest, "lowest"), place_of(project, highest, "highest")
    if low > high:
        raise _not_a_level(f"the lowest level {lowest!r} is above the highest {highest!r}; swap them", "lowest")
    if (low, high) == (1, len(project.levels)):
        raise _not_a_level(f"{lowest!r} to {highest!r} is the whole scale, which settles nothing; narrow it", "lowest")
    return low, high


def _not_a_level(sentence: str, field: str) -> Refusal:
    return Refusal(422, "not-a-level", sentence, field)


def _in_force(connection: Connection, project: int, item: int) -> Settlement | None:
    place = {"project_": project, "item": item}
    if connection.scalar(_THERE, place) is None:
        raise Refusal(404, "no-item", f"there is no item {item} in this project", "item")
    row = connection.execute(_ONE, place).first()
    return None if row is None else Settlement(*row)


# whether an item of the pool is settled at one level
HAS_ONE_LEVEL = sa.exists().where(
    settlements.c.project == pool.c.project,
    settlements.c.sequence == pool.c.settled,
    settlements.c.lowest == settlements.c.highest,
)
_project: Any = sa.bindparam("project_")
_HEAD = (
    heads.update()
    .where(heads.c.project == _project)
    .values(sequence=heads.c.sequence + sa.bindparam("count"))
    .returning(heads.c.sequence)
)
_MARK = (
    pool.update()
    .where(
        pool.c.project == settlements.c.project,
        pool.c.item == settlements.c.item,
        settlements.c.project == _project,
        settlements.c.sequence >= sa.bindparam("first"),
    )
    .values(settled=sa.case((settlements.c.lowest.is_not(None), settlements.c.sequence)))
)
_THERE = sa.select(pool.c.item).where(pool.c.project == _project, pool.c.item == sa.bindparam("item"))
_settled = sa.select(*(settlements.c[name] for name in Settlement._fields)).where(settlements.c.project == _project)
_ALL = _settled.where(settlements.c.sequence <= sa.bindparam("until")).order_by(settlements.c.sequence)
_ONE = _settled.join(
    pool, (pool.c.project == settlements.c.project) & (pool.c.settled == settlements.c.sequence)
).where(pool.c.item == sa.bindparam("item"))
