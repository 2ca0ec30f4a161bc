"""Predictions of a project's learner, as sent over HTTP."""

import json
import math
from collections.abc import Sequence
from typing import Any

from dford.learners import LiveLearner, Rows
from dford.service.learning.learned import Placed
from dford.service.projects.columns import PackedRow
from dford.service.projects.items import features
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.views.worker_views import loaded


def predictions(model: LiveLearner, levels: list[str], X: Rows, placed: Placed | None = None) -> list[dict[str, Any]]:
    """For each row its level, the probabilities of all levels if the learner has them, and its score.

    The first rows are those of the items in `placed`, whose own answers count.
    """
    shares = model.predict_proba(X).tolist() if hasattr(model, "predict_proba") else [None] * X.shape[0]
    found, scores = model.predict(X).tolist(), model.predict_projection(X).tolist()
    if placed is not None:
        found[: len(placed.levels)] = [levels[place] for place in placed.levels]
        shares[: len(placed.levels)] = placed.beliefs.tolist()
    return [
        {
            "level": level,
            "probabilities": None if share is None else dict(zip(levels, share, strict=True)),
            "score": score if math.isfinite(score) else None,
        }
        for level, share, score in zip(found, shares, scores, strict=True)
    ]


def thresholds(model: LiveLearner) -> list[float] | None:
    cuts = getattr(model, "thresholds_", None)  # trees have none
    return None if cuts is None else cuts.tolist()


def response(
    database: Database, project: Project, packed: bytes, sequence: int, stale: bool,
    numbers: Sequence[int], rows: Sequence[PackedRow], placed: Placed | None,
) -> bytes:  # fmt: skip
    """The whole body, for items by number, then rows, as bytes, so that the server need not encode it."""
    return body(loaded(packed), sequence, stale, project, [*features(database, project, numbers), *rows], placed)


def body(
    model: LiveLearner, sequence: int, stale: bool, project: Project, rows: Sequence[PackedRow],
    placed: Placed | None,
) -> bytes:  # fmt: skip
    found = {
        "sequence": sequence,
        "stale": stale,
        "thresholds": thresholds(model),
        "predictions": predictions(model, project.levels, project.rows(rows), placed),
    }
    return json.dumps(found, allow_nan=False).encode()
