"""Files out and in: the log, the levels of all items."""

import csv
import io
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from dford.feedback import Question
from dford.log import FeedbackLog, read_csv
from dford.service import jobs, reports
from dford.service.core import Service
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.tables import answers, items, questions, retractions

_PAGE = 5000


def read_log(service: Service, project: Project) -> FeedbackLog:
    """The answers that count, in order."""
    log, names = FeedbackLog(project.levels), project.levels
    for one in service.store.rounds(project.id, 0, service.store.head(project.id)):
        asked = Question("", one.x, names[one.level - 1], names[one.prediction - 1], one.propensity, one.number)
        log.append(asked, bool(one.higher))
    return log


def log_file(service: Service, project: Project, suffix: str) -> bytes:
    service.fold(project)  # which refuses a project without columns
    log = read_log(service, project)
    if not len(log):
        raise Refusal(409, "no-answers", "there are no answers to export yet", "project")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log{suffix}"
        log.write(path, feature_names(project))
        return path.read_bytes()


def feature_names(project: Project) -> list[str]:
    return [name for column in project.columns if column.kind != "text" for name in column.features()]


def import_log(service: Service, project: Project, content: bytes, person: str) -> tuple[int, int]:
    """Add another log's rounds; its columns must be the features of this project, by name."""
    service.fold(project)
    try:
        frame = read_csv(io.BytesIO(content), dtype={"level": str, "prediction": str})
        names = feature_names(project)
        log = FeedbackLog.from_frame(frame[["level", "prediction", "propensity", "higher", *names]], project.levels)
    except KeyError as error:
        raise Refusal(422, "bad-log", f"a log of this project has other columns: {error.args[0]}", "body") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise Refusal(422, "bad-log", " ".join(str(error).split()), "body") from None
    service.limit(len(log), "body")
    if not (np.abs(log.X) <= 1e40).all():
        raise Refusal(422, "bad-log", "a log must have finite numbers alone", "body")
    sequence = service.write(project, lambda connection: jobs.add_log(connection, project.id, log, person))
    service.follow(project, sequence)
    return len(log), sequence


def levels_file(service: Service, project: Project) -> bytes:
    """A line an item: its number, what was shown, its level, the probabilities, and what its answers leave."""
    fold, known = service.fold(project), _intervals(service, project)
    shown = [column.name for column in project.columns]
    text = io.StringIO(newline="")
    out = csv.writer(text)
    shares = [f"P({level})" for level in project.levels]
    out.writerow(["item", *shown, "level", *shares, "lowest", "highest"])
    after = 0
    while rows := _page(service, project, after):
        predicted = reports.predictions(fold, [np.frombuffer(row.x) for row in rows])
        for row, one in zip(rows, predicted.predictions, strict=True):
            values = json.loads(row.shown)
            low, high = known.get(row.number, (1, len(project.levels)))
            # answers may contradict each other: then nothing is known
            interval = [project.levels[low - 1], project.levels[high - 1]] if low <= high else ["", ""]
            chances = one.probabilities or {}
            out.writerow(
                [row.number, *(values.get(name) for name in shown), one.level]
                + [chances.get(level, "") for level in project.levels]
                + interval
            )
        after = rows[-1].number
    return text.getvalue().encode()


def _page(service: Service, project: Project, after: int) -> Sequence[Any]:
    rows = sa.select(items.c.number, items.c.shown, items.c.x).where(
        items.c.project == project.id, items.c.number > after
    )
    with service.store.reading() as connection:
        return connection.execute(rows.order_by(items.c.number).limit(_PAGE)).all()


def _intervals(service: Service, project: Project) -> dict[int, tuple[int, int]]:
    """[lowest, highest] of every item that was answered."""
    told = (
        sa.select(questions.c.item, questions.c.level, answers.c.higher)
        .join(answers, (answers.c.project == questions.c.project) & (answers.c.question == questions.c.number))
        .join(
            retractions,
            (retractions.c.project == answers.c.project) & (retractions.c.question == answers.c.question),
            isouter=True,
        )
        .where(questions.c.project == project.id, questions.c.item.is_not(None), retractions.c.sequence.is_(None))
    )
    known: dict[int, tuple[int, int]] = {}
    with service.store.reading() as connection:
        for item, level, higher in connection.execute(told):
            low, high = known.get(item, (1, len(project.levels)))
            known[item] = (max(low, level + 1), high) if higher else (low, min(high, level))
    return known
