"""How the items of a pool are predicted, all of them: too much to do again for everybody who watches."""

import json
import threading
import time
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dford.learners import LiveLearner
from dford.scale import Scale
from dford.service import models
from dford.service.core import Service
from dford.service.projects import Project
from dford.service.tables import items

_PAGE = 1000  # items predicted at a time, so that no answer waits for long
_UNSURE = 10
_LONGEST = 200  # characters of an item's text
_REST = 10  # seconds of rest for a second of work


class _Seen(NamedTuple):
    levels: models.Levels
    at: float
    took: float


class Overviews:
    """The latest overview of each project, made again when there is something new, and not too often."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()

    def levels(self, project: Project) -> models.Levels:
        seen = self._seen.get(project.name)
        if seen is not None and time.monotonic() < seen.at + _REST * seen.took:
            return seen.levels
        with self._lock:
            again = self._seen.get(project.name)
            if again is not None and again is not seen:  # somebody else made it meanwhile
                return again.levels
            begin = time.monotonic()
            levels = _make(self._service, project)
            self._seen[project.name] = _Seen(levels, time.monotonic(), time.monotonic() - begin)
            return levels


def _make(service: Service, project: Project) -> models.Levels:
    counts = np.zeros(len(project.levels), np.int64)
    if not project.columns:
        return models.Levels(sequence=0, items=0, counts=dict.fromkeys(project.levels, 0), unsure=[])
    fold, scale, after, found = service.fold(project), Scale(project.levels), 0, list[models.Unsure]()
    rows = sa.select(items.c.number, items.c.shown, items.c.x).where(items.c.project == project.id)
    while True:
        with service.store.reading() as connection:
            part = rows.where(items.c.number > after).order_by(items.c.number).limit(_PAGE)
            page = connection.execute(part).all()
        if not page:
            break
        after, X = page[-1].number, np.array([np.frombuffer(row.x) for row in page])
        numbers, shares, sureness = fold.look(lambda model, _, X=X: _judge(model, scale, X))  # type: ignore[misc]
        counts += np.bincount(numbers, minlength=len(counts))
        for i in np.argsort(sureness, kind="stable")[:_UNSURE].tolist():
            chances = None if shares is None else dict(zip(project.levels, shares[i].tolist(), strict=True))
            found.append(
                models.Unsure(
                    item=page[i].number,
                    shown={name: _short(value) for name, value in json.loads(page[i].shown).items()},
                    level=project.levels[numbers[i]],
                    probabilities=chances,
                    sureness=float(sureness[i]),
                )
            )
        found = sorted(found, key=lambda one: one.sureness)[:_UNSURE]
    return models.Levels(
        sequence=fold.sequence,
        items=int(counts.sum()),
        counts=dict(zip(project.levels, counts.tolist(), strict=True)),
        unsure=found,
    )


def _short(value: Any) -> Any:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


def _judge(
    model: LiveLearner, scale: Scale, X: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64]]:
    """The places of the levels, from 0; the probabilities, where there are any; and how sure each is."""
    numbers = scale.encode(model.predict(X)) - 1
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X))
        return numbers, shares, shares[np.arange(len(X)), numbers]
    distances = np.abs(model.predict_projection(X)[:, None] - model.thresholds_)
    return numbers, None, np.nan_to_num(distances.min(axis=1))
