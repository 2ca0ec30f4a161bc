"""Adding the rounds of another log to a project, all or none."""

import time
from collections.abc import Sequence

from sqlalchemy import Connection

from dford.service.projects import items
from dford.service.projects.answering import give_turns
from dford.service.projects.projects import Project
from dford.service.projects.uploads import ReadyRound
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.database import Database
from dford.service.store.schema import answers, heads, questions


def with_own_items(database: Database, project: Project, log: Sequence[ReadyRound]) -> list[ReadyRound]:
    """The rounds; those about an item that is different or missing here count as being about no item."""
    wanted = sorted({one.about.item for one in log if one.about.item is not None})
    known = dict(zip(wanted, items.find(database, project.id, wanted), strict=True))
    unknown = [one.about.item is None or known[one.about.item] != one.x for one in log]
    return [
        one._replace(about=one.about._replace(item=None)) if is_unknown else one
        for one, is_unknown in zip(log, unknown, strict=True)
    ]


def add_log(connection: Connection, project: int, log: Sequence[ReadyRound], person: str) -> int:
    """Add rounds as they were asked and answered there; returns the last sequence number. A job for the writer.

    If a round does not say who answered, it is `person`; if it does not say when, it is now.
    """
    now, own = time.time(), heads.c.project == project
    head = connection.execute(
        heads.update()
        .where(own)
        .values(question=heads.c.question + len(log), sequence=heads.c.sequence + len(log))
        .returning(heads.c.question, heads.c.sequence)
    ).one()
    number, sequence = head.question - len(log), head.sequence - len(log)
    asked, told = [], []
    for n, (x, level, prediction, propensity, higher, about) in enumerate(log, 1):
        who, at = about.person or person, now if about.time is None else about.time
        asked.append(
            (project, number + n, about.item, None if about.item else x, level, prediction, propensity, at, who, at)
        )
        told.append((project, sequence + n, number + n, higher, who, at, about.confidence))
    columns = ("project", "number", "item", "x", "level", "prediction", "propensity", "expires", "person", "at")
    insert_rows(connection, questions, columns, asked)
    insert_rows(connection, answers, ("project", "sequence", "question", "higher", "person", "at", "confidence"), told)
    give_turns(connection, project, (one.about.item for one in log))
    return int(head.sequence)
