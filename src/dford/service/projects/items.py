"""The items of a pool: adding them, all or none, and reading them."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.projects.columns import PackedRow
from dford.service.projects.projects import Project
from dford.service.refusal import Refusal
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.database import Database
from dford.service.store.schema import heads, items, pool

Ready = tuple[str, PackedRow]
"""What is shown of an item, as JSON, and its features."""
PAGE = 1000


def add(connection: Connection, project: int, ready: Sequence[Ready]) -> int:
    """Add items; returns the number of the first."""
    head, sequence = connection.execute(
        heads.update()
        .where(heads.c.project == project)
        .values(item=heads.c.item + len(ready))
        .returning(heads.c.item, heads.c.sequence)
    ).one()
    first = head - len(ready) + 1
    numbers = range(first, head + 1)
    rows = [(project, number, shown, x, sequence) for number, (shown, x) in zip(numbers, ready, strict=True)]
    insert_rows(connection, items, ("project", "number", "shown", "x", "sequence"), rows)
    insert_rows(connection, pool, ("project", "item", "turns"), [(project, number, 0) for number in numbers])
    return int(first)


def pages(database: Database, project: int) -> Iterator[Sequence[Any]]:
    """All items, as rows of number, shown and x, a page at a time."""
    after, rows = 0, sa.select(items.c.number, items.c.shown, items.c.x).where(items.c.project == project)
    while True:
        with database.reading() as connection:
            page = connection.execute(rows.where(items.c.number > after).order_by(items.c.number).limit(PAGE)).all()
        if not page:
            return
        yield page
        after = page[-1].number


def count_within(database: Database, project: int, after: int, most: int, characters: int) -> int:
    """How many of the next items, at most so many, show no more than so many characters in all."""
    rows = sa.select(sa.func.length(items.c.shown)).where(items.c.project == project, items.c.number > after)
    count = total = 0
    with database.reading() as connection:
        # SQLite reads a text to measure it, one at a time as they are asked for here, and no further
        for length in connection.scalars(rows.order_by(items.c.number).limit(most)):
            total += length
            if total > characters:
                break
            count += 1
    return count


def features(database: Database, project: Project, numbers: Sequence[int]) -> list[PackedRow]:
    """The features of items by number."""
    found = find(database, project.id, numbers)
    if missing := [number for number, x in zip(numbers, found, strict=True) if x is None]:
        raise Refusal(404, "no-item", f"there is no item {min(missing)} in this project", "items")
    return [x for x in found if x is not None]


def find(database: Database, project: int, numbers: Sequence[int]) -> list[bytes | None]:
    """The features of items by number, as bytes, or None if there is no such item."""
    found: dict[int, bytes] = {}
    with database.reading() as connection:
        for begin in range(0, len(numbers), PAGE):
            some = [number for number in numbers[begin : begin + PAGE] if number < 2**31]
            rows = sa.select(items.c.number, items.c.x).where(items.c.project == project, items.c.number.in_(some))
            found |= {row.number: row.x for row in connection.execute(rows)}
    return [found.get(number) for number in numbers]
