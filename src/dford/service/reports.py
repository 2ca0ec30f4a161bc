"""What a project looks like now: its state, its predictions, its items and questions."""

import hashlib
import json
import math
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dford.learners import LiveLearner
from dford.service import models
from dford.service.asking import Asked
from dford.service.core import Service
from dford.service.fold import Fold
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.tables import answers, heads, items, leases, pool, questions, retractions, skips


def predictions(fold: Fold, rows: Sequence[NDArray[np.float64]]) -> models.Predictions:
    def look(model: LiveLearner, sequence: int) -> models.Predictions:
        X, names = np.array(rows), fold.project.levels
        levels = model.predict(X).tolist()
        shares = model.predict_proba(X).tolist() if hasattr(model, "predict_proba") else [None] * len(rows)
        scores = model.predict_projection(X).tolist()
        return models.Predictions(
            sequence=sequence,
            thresholds=_thresholds(model),
            predictions=[
                models.Prediction(
                    level=level,
                    probabilities=None if share is None else dict(zip(names, share, strict=True)),
                    score=score if math.isfinite(score) else None,
                )
                for level, share, score in zip(levels, shares, scores, strict=True)
            ],
        )

    return fold.look(look)


def _thresholds(model: LiveLearner) -> list[float] | None:
    cuts = getattr(model, "thresholds_", None)  # trees have none
    return None if cuts is None else cuts.tolist()


def state(service: Service, project: Project, with_digest: bool) -> models.State:
    counts = _counts(service, project)
    if not project.columns:
        return models.State(**counts, learned=0, thresholds=None, mae=None, curve=[], history=[], digest=None)
    fold = service.fold(project)
    fold.follow(counts["sequence"])

    def look(model: LiveLearner, sequence: int) -> tuple[Any, ...]:
        content = model.to_bytes() if with_digest else b""
        return sequence, _thresholds(model), model.trace_, model.thresholds_trace_, model.rounds_, content

    learned, thresholds, trace, cuts, rounds, content = fold.look(look)
    figures = zip(trace.round.tolist(), trace.estimate, trace.low, trace.high, strict=True)
    curve = [
        models.Point(answers=n, value=value, low=low, high=high)
        for n, value, low, high in figures
        if math.isfinite(value)
    ]
    history = [
        models.Cuts(answers=n, thresholds=row.tolist())
        for n, row in zip(trace.round.tolist(), cuts, strict=True)
        if np.isfinite(row).all()
    ]
    return models.State(
        **counts,
        learned=learned,
        thresholds=thresholds,
        mae=models.Estimate(**curve[-1].model_dump(exclude={"answers"})) if curve and rounds else None,
        curve=curve,
        history=history,
        digest=hashlib.sha256(content).hexdigest() if with_digest else None,
    )


def _counts(service: Service, project: Project) -> dict[str, Any]:
    own = {table: table.c.project == project.id for table in (heads, leases, pool, retractions)}
    with service.store.reading() as connection:
        head = connection.execute(sa.select(heads).where(own[heads])).one()

        def count(table: sa.Table, *where: Any) -> int:
            return connection.scalar(sa.select(sa.func.count()).select_from(table).where(own[table], *where)) or 0

        taken_back = count(retractions)
        counts = {
            "items": head.item,
            "items_done": count(pool, pool.c.turns > 0),
            "questions": head.question,
            "open": count(leases, leases.c.expires > time.time()),
            "answers": head.sequence - taken_back - taken_back,
            "retractions": taken_back,
            "sequence": head.sequence,
        }
    return counts | {"people": service.people.counts(project.id, head.sequence)}


def _same_question(table: sa.Table) -> Any:
    return (table.c.project == questions.c.project) & (table.c.question == questions.c.number)


_ASKED = (
    sa.select(
        questions,
        items.c.shown.label("pooled"),
        answers.c.sequence,
        skips.c.question.label("skip"),
        retractions.c.sequence.label("retraction"),
    )
    .join(items, (items.c.project == questions.c.project) & (items.c.number == questions.c.item), isouter=True)
    .join(answers, _same_question(answers), isouter=True)
    .join(skips, _same_question(skips), isouter=True)
    .join(retractions, _same_question(retractions), isouter=True)
    .where(questions.c.project == sa.bindparam("project"), questions.c.number == sa.bindparam("number"))
)


def question(service: Service, project: Project, number: int) -> models.QuestionOut:
    with service.store.reading() as connection:
        row = connection.execute(_ASKED, {"project": project.id, "number": number}).first()
    if row is None:
        raise Refusal(404, "no-question", f"there is no question {number} in this project", "question")
    shown = row.pooled if row.item is not None else row.shown
    return models.QuestionOut(
        number=number,
        item=row.item,
        shown=json.loads(shown) if shown is not None else {},
        level=project.levels[row.level - 1],
        prediction=project.levels[row.prediction - 1],
        propensity=row.propensity,
        expires=row.expires,
        fate=_fate(row),
    )


def asked(project: Project, new: Asked) -> models.QuestionOut:
    """As `question`, of one that was asked just now."""
    return models.QuestionOut(
        number=new.number,
        item=new.item,
        shown=json.loads(new.shown),
        level=str(new.question.level),
        prediction=str(new.question.prediction),
        propensity=float(new.question.propensity),
        expires=new.expires,
        fate="open",
    )


def _fate(row: Any) -> Literal["open", "answered", "skipped", "retracted"]:
    if row.retraction is not None:
        return "retracted"
    if row.sequence is not None:
        return "answered"
    return "open" if row.skip is None else "skipped"


def some_items(service: Service, project: Project, after: int, limit: int) -> list[models.ItemOut]:
    rows = (
        sa.select(items.c.number, items.c.shown, pool.c.turns)
        .join(pool, (pool.c.project == items.c.project) & (pool.c.item == items.c.number))
        .where(items.c.project == project.id, items.c.number > after)
        .order_by(items.c.number)
        .limit(limit)
    )
    with service.store.reading() as connection:
        found = connection.execute(rows).all()
    return [models.ItemOut(number=row.number, shown=json.loads(row.shown), turns=row.turns) for row in found]
