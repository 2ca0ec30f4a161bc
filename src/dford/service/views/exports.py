"""Files for export: the log, and the levels of all items."""

import csv
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from dford.feedback import Question
from dford.log import FeedbackLog
from dford.log_columns import LEAST_SURE
from dford.pool.answers import GOLD, PURPOSES
from dford.service.learning import log_reader
from dford.service.learning.fold import Packed
from dford.service.learning.learned import Standing
from dford.service.projects import items, settling
from dford.service.projects.answer_ids import id_of_answer
from dford.service.projects.projects import Project
from dford.service.projects.uploads import apart, feature_names
from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.schema import answers, questions
from dford.service.views.answered import about_items
from dford.service.views.predictions import predictions
from dford.service.views.worker_views import loaded


def log_of(database: Database, project: Project) -> FeedbackLog:
    """The answers that count, in order, except those that judge people."""
    log, names = FeedbackLog(project.levels), project.levels
    for page in log_reader.pages(database, project, 0, log_reader.head_of(database, project.id)):
        who = _who_and_when(database, project, int(page.sequence[0]), int(page.sequence[-1]))
        columns = (column.tolist() for column in (*page[:2], *page[3:8]))
        for r, (sequence, number, level, prediction, propensity, higher, item) in enumerate(zip(*columns, strict=True)):
            if page.purpose[r] == GOLD:
                continue
            asked = Question("", page.X[r], names[level - 1], names[prediction - 1], float(propensity), int(number))
            person, at, id = who[sequence]
            sure = None if np.isnan(page.confidence[r]) else float(page.confidence[r])
            rating = names[page.rating[r] - 1] if page.rating[r] else None
            log.append(
                asked, bool(higher), item=int(item) or None, person=person, time=at, confidence=sure, rating=rating,
                program=bool(page.informs[r]), purpose=PURPOSES[page.purpose[r]] if item else None, id=id,
            )  # fmt: skip
    return log


def _who_and_when(database: Database, project: Project, first: int, last: int) -> dict[int, tuple[str, float, str]]:
    """The person, time and id of the answers with numbers from `first` to `last`."""
    rows = sa.select(answers).where(answers.c.project == project.id, answers.c.sequence.between(first, last))
    with database.reading() as connection:
        return {row.sequence: (row.person, row.at, id_of_answer(project, row)) for row in connection.execute(rows)}


def log_file(database: Database, project: Project, suffix: str) -> bytes:
    log = log_of(database, project)
    if not len(log):
        raise Refusal(409, "no-answers", "there are no answers to export yet", "project")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log{suffix}"
        log.write(path, feature_names(project))
        return path.read_bytes()


def levels_file(database: Database, project: Project, packed: Packed, standing: Standing | None) -> bytes:
    """One line per item: its number, what was shown, its level, the probabilities, and the range its answers leave.

    If the level is settled, the range is the settled one. What the learner has not learned is left out everywhere.
    """
    model = loaded(packed.model)
    settled = settling.in_force(database, project, packed.sequence)
    known, shown = _intervals(database, project, packed), [column.name for column in project.columns]
    text = io.StringIO(newline="")
    out = csv.writer(text)
    own = ["level", *(f"P({level})" for level in project.levels), "lowest", "highest", "answers", "settled_by"]
    out.writerow(["item", *apart(shown, ["item", *own]), *own])
    for page in items.pages(database, project.id):
        placed = None if standing is None else standing.placed.between(page[0].number, page[-1].number)
        predicted = predictions(model, project.levels, project.rows([row.x for row in page]), placed)
        for row, one in zip(page, predicted, strict=True):
            values = json.loads(row.shown)
            low, high, count = known.get(row.number, (1, len(project.levels), 0))
            if (said := settled.get(row.number)) is not None:
                low, high = said.lowest, said.highest
            # if answers contradict each other, they leave no range
            interval = [project.levels[low - 1], project.levels[high - 1]] if low <= high else ["", ""]
            chances = one["probabilities"] or {}
            out.writerow(
                [row.number, *(values.get(name) for name in shown), one["level"]]
                + [chances.get(level, "") for level in project.levels]
                + [*interval, count, "" if said is None else said.person]
            )
    return text.getvalue().encode()


def _intervals(database: Database, project: Project, packed: Packed) -> dict[int, tuple[int, int, int]]:
    """The lowest and highest possible level of every item with answers, and how many answers it has."""
    columns = questions.c.item, questions.c.level, answers.c.higher, answers.c.confidence, answers.c.rating
    told = about_items(project, *columns, as_of=packed.as_of)
    told = told.where(questions.c.purpose != GOLD, answers.c.sequence <= packed.sequence)
    known: dict[int, tuple[int, int, int]] = {}
    with database.reading() as connection:
        for item, level, higher, sure, rating in connection.execute(told):
            low, high, count = known.get(item, (1, len(project.levels), 0))
            if rating is not None:
                low, high = max(low, rating), min(high, rating)
            elif sure is None or sure >= LEAST_SURE:
                low, high = (max(low, level + 1), high) if higher else (low, min(high, level))
            known[item] = low, high, count + 1
    return known
