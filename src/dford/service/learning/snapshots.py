"""Snapshots: states of a learner, kept so that not all is learned again. The log can always make them again."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.store.database import Database
from dford.service.store.schema import retractions, snapshots


class Snapshot(NamedTuple):
    """All answers up to `sequence`, but those that a retraction up to `as_of` takes back."""

    sequence: int
    as_of: int
    model: bytes
    placements: bytes | None
    versions: str


@cache
def versions() -> str:
    """Of what makes the numbers: another version may make others, in their last bits."""
    return json.dumps({name: version(name) for name in ("dford", "numba", "numpy", "scikit-learn")})


def keep(connection: Connection, project: int, new: Snapshot) -> None:
    """Keep a state, and let go of those that are of little use. A job for the writer."""
    own = snapshots.c.project == project
    connection.execute(snapshots.delete().where(own, snapshots.c.sequence == new.sequence))
    connection.execute(snapshots.insert(), {"project": project, **new._asdict()})
    # Nothing can be folded from those that hold what was taken back. They may still answer for a while, until there is
    # one as far on.
    connection.execute(snapshots.delete().where(own, snapshots.c.sequence <= new.sequence, _outdated(2**31 - 1)))
    valid = sa.select(snapshots.c.sequence).where(own, ~_outdated(2**31 - 1))
    there = connection.scalars(valid.order_by(snapshots.c.sequence.desc())).all()
    few = snapshots_to_keep(there)
    if gone := set(there) - set(few):
        connection.execute(snapshots.delete().where(own, snapshots.c.sequence.in_(gone)))


def snapshots_to_keep(sequences: Sequence[int]) -> list[int]:
    """Of the numbers of snapshots, newest first, those to keep: few, and close where they are near the newest.

    To take an answer back, what came since the last snapshot before it is learned again. One is let go where the next
    older one, or the beginning, is at most twice as far back as the next newer one: so this is at most twice what came
    since the answer, or what is between two snapshots more. Distances only grow, so what was so once stays so.
    """
    kept: list[int] = list(sequences[:1])
    for sequence, older in zip(sequences[1:], [*sequences[2:], 0], strict=False):
        if sequences[0] - older > 2 * (sequences[0] - kept[-1]):
            kept.append(sequence)
    return kept


def latest(database: Database, project: int, head: int, valid: bool = True) -> Snapshot | None:
    """The latest from which the state at `head` can be folded; or of all, those too that hold what was taken back."""
    found = sa.select(snapshots).where(snapshots.c.project == project, snapshots.c.as_of <= head)
    if valid:
        found = found.where(~_outdated(head))
    with database.reading() as connection:
        row = connection.execute(found.order_by(snapshots.c.sequence.desc()).limit(1)).first()
    return None if row is None else _snapshot(row)


def each(database: Database, project: int) -> Iterator[Snapshot]:
    """All of a project, one at a time: together they may be large."""
    with database.reading() as connection:
        own = sa.select(snapshots.c.sequence).where(snapshots.c.project == project)
        sequences = connection.scalars(own.order_by(snapshots.c.sequence)).all()
    for sequence in sequences:
        one = sa.select(snapshots).where(snapshots.c.project == project, snapshots.c.sequence == sequence)
        with database.reading() as connection:
            row = connection.execute(one).first()
        if row is not None:
            yield _snapshot(row)


def _outdated(head: int) -> Any:
    return sa.exists().where(
        retractions.c.project == snapshots.c.project,
        retractions.c.sequence > snapshots.c.as_of,
        retractions.c.sequence <= head,
        retractions.c.answer <= snapshots.c.sequence,
    )


def _snapshot(row: Any) -> Snapshot:
    placements = None if row.placements is None else bytes(row.placements)
    return Snapshot(row.sequence, row.as_of, bytes(row.model), placements, row.versions)
