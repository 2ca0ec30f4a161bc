"""The rounds of another log, added to a project, all or none."""

import time
from collections.abc import Sequence

from sqlalchemy import Connection

from dford.service.projects.uploads import ReadyRound
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.schema import answers, heads, questions


def add_log(connection: Connection, project: int, log: Sequence[ReadyRound], person: str) -> int:
    """Add rounds as they were asked and answered there; returns the last sequence number. A job for the writer."""
    now, own = time.time(), heads.c.project == project
    head = connection.execute(
        heads.update()
        .where(own)
        .values(question=heads.c.question + len(log), sequence=heads.c.sequence + len(log))
        .returning(heads.c.question, heads.c.sequence)
    ).one()
    number, sequence = head.question - len(log), head.sequence - len(log)
    asked, told = [], []
    for n, (x, level, prediction, propensity, higher) in enumerate(log, 1):
        asked.append((project, number + n, x, level, prediction, propensity, now, person, now))
        told.append((project, sequence + n, number + n, higher, person, now))
    columns = ("project", "number", "x", "level", "prediction", "propensity", "expires", "person", "at")
    insert_rows(connection, questions, columns, asked)
    insert_rows(connection, answers, ("project", "sequence", "question", "higher", "person", "at"), told)
    return int(head.sequence)
