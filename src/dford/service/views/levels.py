"""The levels of all items of a project: too much work to repeat for everyone who watches."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dford.learners import LiveLearner
from dford.scale import Scale
from dford.service.learning.learned import Placed, Standing
from dford.service.projects import items, settling
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.store.schema import questions
from dford.service.views.answered import about_items
from dford.service.views.worker_views import loaded

_UNSURE = 10
_LONGEST = 200  # characters of an item's text
_MOST_SEEN = 1000
_REST = 10  # seconds of rest for a second of work


class _Seen(NamedTuple):
    shown: dict[str, Any]
    at: float
    took: float


class _Overview:
    def __init__(self) -> None:
        self.seen: _Seen | None = None
        self.computing = threading.Lock()


class Overviews:
    """The latest results of slow work, by name: computed again when someone looks, but not too often.

    Only so many are kept, because anyone may ask for any number of targets: those that someone looked at last.
    """

    def __init__(self) -> None:
        self._every: dict[str, _Overview] = {}
        self._lock = threading.Lock()

    def latest(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        overview = self._find(name)
        before = overview.seen
        if before is not None and time.monotonic() < before.at + _REST * before.took:
            return before.shown
        with overview.computing:
            if overview.seen is not None and overview.seen is not before:  # someone else has just computed it
                return overview.seen.shown
            begin = time.monotonic()
            shown = make()
            overview.seen = _Seen(shown, time.monotonic(), time.monotonic() - begin)
            return shown

    def _find(self, name: str) -> _Overview:
        with self._lock:
            found = self._every.pop(name, None) or _Overview()
            self._every[name] = found  # now the last one
            if len(self._every) > _MOST_SEEN:
                del self._every[next(iter(self._every))]
            return found


def overview(
    database: Database, project: Project, packed: bytes, sequence: int, stale: bool, standing: Standing | None
) -> dict[str, Any]:  # fmt: skip
    """The number of items at each level, and the least certain items."""
    model = loaded(packed)
    counts, found, scale = np.zeros(len(project.levels), np.int64), list[dict[str, Any]](), Scale(project.levels)
    for page in items.pages(database, project.id):
        X = project.rows([row.x for row in page])
        placed = None if standing is None else standing.placed.between(page[0].number, page[-1].number)
        numbers, shares, sureness = _judge(model, scale, X, placed)
        counts += np.bincount(numbers, minlength=len(counts))
        for i in np.argsort(sureness, kind="stable")[:_UNSURE].tolist():
            found.append(
                {
                    "item": page[i].number,
                    "shown": {name: short(value) for name, value in json.loads(page[i].shown).items()},
                    "level": project.levels[numbers[i]],
                    "probabilities": None
                    if shares is None
                    else dict(zip(project.levels, shares[i].tolist(), strict=True)),
                    "sureness": float(sureness[i]),
                }
            )
        found = sorted(found, key=lambda one: one["sureness"])[:_UNSURE]
    return {
        "sequence": sequence,
        "stale": stale,
        "items": int(counts.sum()),
        "counts": dict(zip(project.levels, counts.tolist(), strict=True)),
        "unsure": found,
        "settled": len(settling.in_force(database, project)),
        "programs": share_of_programs(database, project),
        **_figures(standing),
    }


def unchecked(database: Database, project: Project, is_audited: bool) -> float:
    """The share of the answers that programs gave, while people have not audited enough to check them."""
    return 0.0 if is_audited else share_of_programs(database, project)


def share_of_programs(database: Database, project: Project) -> float:
    """The share of the answers about items that programs gave."""
    is_theirs = sa.case((questions.c.program, 1.0), else_=0.0)
    with database.reading() as connection:
        return float(connection.scalar(about_items(project, sa.func.avg(is_theirs)).order_by(None)) or 0.0)


def nothing(project: Project) -> dict[str, Any]:
    """The overview of a project without items."""
    counts = dict.fromkeys(project.levels, 0)
    return {
        "sequence": 0,
        "stale": False,
        "items": 0,
        "counts": counts,
        "unsure": [],
        "settled": 0,
        "programs": 0.0,
    } | _figures(None)


def _figures(standing: Standing | None) -> dict[str, Any]:
    """How far from the right levels the items may be."""
    if standing is None or not len(standing.placed.levels):
        return dict.fromkeys(("expected_error", "audit", "error_rate"))
    verdict = standing.verdict
    judged = {"checked": verdict.checked, "wrong": verdict.wrong} | {
        name: figure._asdict() for name, figure in zip(("error", "right", "within_one"), verdict[:3], strict=True)
    }
    return {
        "expected_error": verdict.error.value,
        "audit": judged if verdict.checked else None,
        "error_rate": standing.error_rate,
    }


def short(value: Any) -> Any:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


def _judge(
    model: LiveLearner, scale: Scale, X: NDArray[np.float64], placed: Placed | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64]]:
    """The places of the levels, from 0; the probabilities, if there are any; and how sure each level is."""
    numbers = scale.encode(model.predict(X)) - 1
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X))
        if placed is not None:
            numbers[: len(placed.levels)], shares[: len(placed.levels)] = placed
        return numbers, shares, shares[np.arange(len(numbers)), numbers]
    distances = np.abs(model.predict_projection(X)[:, None] - model.thresholds_)
    return numbers, None, np.nan_to_num(distances.min(axis=1))
