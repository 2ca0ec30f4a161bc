"""What may be written besides rounds: projects, items, logs, snapshots. Jobs for the writer."""

import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from dford.log import FeedbackLog
from dford.service.columns import ColumnOf, to_json
from dford.service.refusal import Refusal
from dford.service.tables import answers, columns, heads, items, pool, projects, questions, retractions, snapshots


def create_project(
    connection: Connection, name: str, levels: list[str], learner: str, parameters: dict[str, Any], seed: int | None
) -> int:
    """Returns its number."""
    if connection.scalar(sa.select(projects.c.id).where(projects.c.name == name)) is not None:
        raise Refusal(409, "project-exists", f"there is a project {name!r} already", "name")
    created = connection.execute(
        projects.insert().values(
            name=name,
            levels=json.dumps(levels),
            learner=learner,
            parameters=json.dumps(parameters),
            seed=secrets.randbits(32) if seed is None else seed,
            at=time.time(),
        )
    )
    assert created.inserted_primary_key is not None
    number = int(created.inserted_primary_key[0])
    connection.execute(heads.insert().values(project=number, item=0, question=0, sequence=0))
    return number


def set_columns(connection: Connection, project: int, chosen: Sequence[ColumnOf]) -> None:
    before = connection.scalar(sa.select(columns.c.columns).where(columns.c.project == project))
    if before is None:
        connection.execute(columns.insert().values(project=project, columns=to_json(chosen)))
    elif before != to_json(chosen):
        raise Refusal(409, "columns-set", "the columns of this project are set, and do not change", "columns")


def add_items(connection: Connection, project: int, rows: Sequence[tuple[str, NDArray[np.float64]]]) -> int:
    """Add (what is shown, features); returns the number of the first."""
    head: int = connection.execute(
        heads.update().where(heads.c.project == project).values(item=heads.c.item + len(rows)).returning(heads.c.item)
    ).scalar_one()
    first = head - len(rows) + 1
    numbered = list(enumerate(rows, first))
    connection.execute(
        items.insert(),
        [{"project": project, "number": n, "shown": shown, "x": x.tobytes()} for n, (shown, x) in numbered],
    )
    connection.execute(pool.insert(), [{"project": project, "item": n, "turns": 0} for n, _ in numbered])
    return first


def add_log(connection: Connection, project: int, log: FeedbackLog, person: str) -> int:
    """Add the rounds of another log, as they were asked and answered there; returns the last sequence number."""
    now, own = time.time(), heads.c.project == project
    head = connection.execute(
        heads.update()
        .where(own)
        .values(question=heads.c.question + len(log), sequence=heads.c.sequence + len(log))
        .returning(heads.c.question, heads.c.sequence)
    ).one()
    number, sequence = head.question - len(log), head.sequence - len(log)
    who, place = {"project": project, "person": person, "at": now}, log.scale.index
    asked, told = [], []
    for n, (x, level, prediction, propensity, higher) in enumerate(log, 1):
        how = {"level": place[level], "prediction": place[prediction], "propensity": propensity, "expires": now}
        asked.append({**who, "number": number + n, "x": x.tobytes(), **how})
        told.append({**who, "sequence": sequence + n, "question": number + n, "higher": higher})
    connection.execute(questions.insert(), asked)
    connection.execute(answers.insert(), told)
    return int(head.sequence)


def keep_snapshot(connection: Connection, project: int, sequence: int, model: bytes) -> None:
    """Keep a state, and let go of those that are of little use: the log can always make them again."""
    own = snapshots.c.project == project
    connection.execute(snapshots.delete().where(own, snapshots.c.sequence == sequence))
    connection.execute(snapshots.insert(), {"project": project, "sequence": sequence, "model": model})
    outdated = sa.exists().where(
        retractions.c.project == project,
        retractions.c.sequence > snapshots.c.sequence,
        retractions.c.answer <= snapshots.c.sequence,
    )
    connection.execute(snapshots.delete().where(own, outdated))  # nothing can be folded from these any more
    there = connection.scalars(sa.select(snapshots.c.sequence).where(own).order_by(snapshots.c.sequence.desc())).all()
    few = spaced(there)
    if len(few) < len(there):
        connection.execute(snapshots.delete().where(own, snapshots.c.sequence.not_in(few)))


def spaced(sequences: Sequence[int]) -> list[int]:
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
