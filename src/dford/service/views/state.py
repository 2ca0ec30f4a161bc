"""What a project looks like now: its counts, its error, its items and questions."""

import json
import math
import time
from typing import Any

import numpy as np
import sqlalchemy as sa

from dford.service.learning.fold import Fold
from dford.service.learning.learned import Learned
from dford.service.projects.answering import not_yours
from dford.service.projects.asking import AskedQuestion, holds
from dford.service.projects.items import count_within
from dford.service.projects.projects import Project
from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.schema import answers, heads, items, leases, pool, questions, retractions, settlements, skips
from dford.service.views.answered import same_question
from dford.service.views.people import AnswerCounts
from dford.service.views.predictions import thresholds
from dford.service.views.worker_views import SMALL, SMALL_TEXT


def counts(database: Database, project: Project, people: AnswerCounts) -> dict[str, Any]:
    own = {table: table.c.project == project.id for table in (heads, leases, pool, retractions, settlements)}
    with database.reading() as connection:
        head = connection.execute(sa.select(heads).where(own[heads])).one()

        def count(table: sa.Table, *where: Any) -> int:
            return connection.scalar(sa.select(sa.func.count()).select_from(table).where(own[table], *where)) or 0

        retracted = count(retractions)
        found = {
            "items": head.item,
            "items_done": count(pool, pool.c.turns > 0),
            "questions": head.question,
            "open": count(leases, *holds(time.time())),
            "answers": head.sequence - retracted - retracted - count(settlements),
            "retractions": retracted,
            "sequence": head.sequence,
        }
    return found | {"people": people.counts(project.id, head.sequence)}


def count_items(database: Database, project: Project) -> int:
    with database.reading() as connection:
        return connection.scalar(sa.select(heads.c.item).where(heads.c.project == project.id)) or 0


def has_large_items(database: Database, project: Project) -> bool:
    """Whether there are so many items, or they show so much, that others would wait if they were all worked on here."""
    count = count_items(database, project)
    return count > SMALL or count_within(database, project.id, 0, count, SMALL_TEXT) < count


NOTHING_LEARNED: dict[str, Any] = {
    "learned": 0, "stale": False, "thresholds": None, "mae": None, "curve": [], "history": [], "digest": None,
}  # fmt: skip


def learned(fold: Fold, with_digest: bool) -> dict[str, Any]:
    """What the learner shows about itself."""

    def look(now: Learned, sequence: int) -> tuple[Any, ...]:
        model = now.learner
        return sequence, thresholds(model), model.trace_, model.thresholds_trace_, model.rounds_

    if with_digest:
        fold.near()
    stale = fold.is_stale()  # first, because the state may be replaced at any moment
    sequence, cuts_now, trace, cuts, rounds = fold.look(look)
    figures = zip(trace.round.tolist(), trace.estimate, trace.low, trace.high, strict=True)
    curve = [
        {"answers": n, "value": float(value), "low": float(low), "high": float(high)}
        for n, value, low, high in figures
        if math.isfinite(value)
    ]
    history = [
        {"answers": n, "thresholds": row.tolist()}
        for n, row in zip(trace.round.tolist(), cuts, strict=True)
        if np.isfinite(row).all()
    ]
    mae = {key: value for key, value in curve[-1].items() if key != "answers"} if curve and rounds else None
    if with_digest:
        sequence, digest = fold.digest()
    return {
        "learned": sequence,
        "stale": stale,
        "thresholds": cuts_now,
        "mae": mae,
        "curve": curve,
        "history": history,
        "digest": digest if with_digest else None,
    }


_ASKED = (
    sa.select(
        questions,
        items.c.shown.label("pooled"),
        pool.c.turns,
        answers.c.sequence,
        skips.c.question.label("skip"),
        retractions.c.sequence.label("retraction"),
    )
    .join(items, (items.c.project == questions.c.project) & (items.c.number == questions.c.item), isouter=True)
    .join(pool, (pool.c.project == questions.c.project) & (pool.c.item == questions.c.item), isouter=True)
    .join(answers, same_question(answers), isouter=True)
    .join(skips, same_question(skips), isouter=True)
    .join(retractions, same_question(retractions), isouter=True)
    .where(questions.c.project == sa.bindparam("project"), questions.c.number == sa.bindparam("number"))
)


def question(database: Database, project: Project, number: int, person: str, anybodys: bool) -> dict[str, Any]:
    """One's own question, or anybody's, and what happened to it."""
    with database.reading() as connection:
        row = connection.execute(_ASKED, {"project": project.id, "number": number}).first()
    if row is None:
        raise Refusal(404, "no-question", f"there is no question {number} in this project", "question")
    if not anybodys and row.person != person:
        raise not_yours(number, "asked of")
    shown = row.pooled if row.item is not None else row.shown
    return {
        "number": number,
        "item": row.item,
        "turns": row.turns,
        "shown": json.loads(shown) if shown is not None else {},
        "level": project.levels[row.level - 1],
        "prediction": project.levels[row.prediction - 1],
        "propensity": row.propensity,
        "expires": row.expires,
        "fate": _fate(row),
    }


def asked(project: Project, new: AskedQuestion) -> dict[str, Any]:
    """Like `question`, for one that was asked just now."""
    return {
        "number": new.number,
        "item": new.subject.item,
        "turns": new.subject.turns,
        "shown": json.loads(new.subject.shown),
        "level": project.levels[new.wording.level - 1],
        "prediction": project.levels[new.wording.prediction - 1],
        "propensity": new.wording.propensity,
        "expires": new.expires,
        "fate": "open",
    }


def _fate(row: Any) -> str:
    if row.retraction is not None:
        return "retracted"
    if row.sequence is not None:
        return "answered"
    return "open" if row.skip is None else "skipped"


def image_name(database: Database, project: Project, number: int, column: str) -> str:
    """The name that an item has in an image column."""
    if not any(one.name == column and one.kind == "image" for one in project.columns):
        raise Refusal(404, "no-image", f"there is no column of images called {column[:64]!r} in this project", "column")
    rows = sa.select(items.c.shown).where(items.c.project == project.id, items.c.number == number)
    with database.reading() as connection:
        shown = connection.scalar(rows)
    if shown is None:
        raise Refusal(404, "no-item", f"there is no item {number} in this project", "number")
    return str(json.loads(shown).get(column) or "")


def some_items(database: Database, project: Project, after: int, limit: int) -> str:
    """Items as JSON, as many as show a million characters, but at least one.

    What they show is stored as JSON, and reading and writing megabytes of it again takes long.
    """
    count = count_within(database, project.id, after, limit, SMALL_TEXT)
    rows = (
        sa.select(items.c.number, items.c.shown, pool.c.turns)
        .join(pool, (pool.c.project == items.c.project) & (pool.c.item == items.c.number))
        .where(items.c.project == project.id, items.c.number > after)
        .order_by(items.c.number)
        .limit(max(count, 1))
    )
    with database.reading() as connection:
        found = connection.execute(rows).all()
    texts = (f'{{"number":{row.number},"shown":{row.shown},"turns":{row.turns}}}' for row in found)
    return f"[{','.join(texts)}]"
