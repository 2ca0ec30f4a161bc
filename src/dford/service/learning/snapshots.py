"""Snapshots: saved states of a learner, so that not everything is learned again. The log can always rebuild them."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.store.database import Database
from dford.service.store.schema import retractions, snapshots

_PARTS = ("engine", "learners", "columns", "pool", "service/learning")  # of dford, that make a state


class Snapshot(NamedTuple):
    """All answers up to `sequence`, except those that a retraction up to `as_of` takes back."""

    sequence: int
    as_of: int
    model: bytes
    placements: bytes | None
    versions: str


@cache
def versions() -> str:
    """The versions of what computes the numbers: with others, their last bits may differ."""
    libraries = {name: version(name) for name in ("dford", "numba", "numpy", "scikit-learn")}
    return json.dumps({**libraries, "code": code_version(Path(__file__).parents[2])})


def code_version(package: Path) -> str:
    """A checksum of the modules that states depend on: they may change within one version of dford."""
    digest = sha256()
    for folder in (package / part for part in _PARTS):
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def keep(connection: Connection, project: int, new: Snapshot) -> None:
    """Save a state, and delete those that are of little use. A job for the writer."""
    own = snapshots.c.project == project
    connection.execute(snapshots.delete().where(own, snapshots.c.sequence == new.sequence))
    connection.execute(snapshots.insert(), {"project": project, **new._asdict()})
    # Nothing can be folded from those that hold what was taken back. They may still be used for a while, until there is
    # one that is as far along.
    connection.execute(snapshots.delete().where(own, snapshots.c.sequence <= new.sequence, _outdated(2**31 - 1)))
    valid = sa.select(snapshots.c.sequence).where(own, ~_outdated(2**31 - 1))
    there = connection.scalars(valid.order_by(snapshots.c.sequence.desc())).all()
    few = snapshots_to_keep(there)
    if gone := set(there) - set(few):
        connection.execute(snapshots.delete().where(own, snapshots.c.sequence.in_(gone)))


def snapshots_to_keep(sequences: Sequence[int]) -> list[int]:
    """Which of these snapshots to keep, newest first: few, and closer together the newer they are.

    To take an answer back, everything since the last snapshot before it is learned again. A snapshot is deleted if the
    next older one, or the beginning, is at most twice as far back as the next newer one: so this is at most twice what
    came since the answer, or the distance between two snapshots more. Distances only grow, so what holds keeps holding.
    """
    kept: list[int] = list(sequences[:1])
    for sequence, older in zip(sequences[1:], [*sequences[2:], 0], strict=False):
        if sequences[0] - older > 2 * (sequences[0] - kept[-1]):
            kept.append(sequence)
    return kept


def latest(database: Database, project: int, head: int, valid: bool = True) -> Snapshot | None:
    """The latest from which the state at `head` can be folded or, if not `valid`, even one with retracted answers."""
    found = sa.select(snapshots).where(snapshots.c.project == project, snapshots.c.as_of <= head)
    if valid:
        found = found.where(~_outdated(head))
    with database.reading() as connection:
        row = connection.execute(found.order_by(snapshots.c.sequence.desc()).limit(1)).first()
    return None if row is None else _snapshot(row)


def each(database: Database, project: int) -> Iterator[Snapshot]:
    """All snapshots of a project, one at a time, as together they may be large."""
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
