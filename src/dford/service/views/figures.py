"""What is known about the people who answer, as sent over HTTP."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa

from dford.estimates import Estimate
from dford.pool.people import Person
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.store.schema import answers

_OFTEN_WRONG = 0.2
_LATELY = 100  # answers per person


def figures(
    database: Database, project: Project, found: Mapping[str, Person], sequence: int, stale: bool
) -> dict[str, Any]:  # fmt: skip
    """Everybody, those with the most answers first."""
    times = _times(database, project)
    people = sorted(found.values(), key=lambda person: (-person.answers, person.name))
    return {
        "sequence": sequence,
        "stale": stale,
        "people": [_figures(person, times.get(person.name, [])) for person in people],
    }


def _figures(person: Person, times: list[float]) -> dict[str, Any]:
    return {
        "name": person.name,
        "answers": person.answers,
        "seconds_per_answer": float(np.median(np.diff(times))) if len(times) > 1 else None,
        "latest": times[-1] if times else None,
        "judged": person.judged,
        "error_rate": person.error_rate._asdict(),
        "strictness": person.strictness._asdict(),
        "agreement": _estimate(person.agreement),
        "gold": _estimate(person.gold),
        "flag": "wrong" if person.error_rate.low > _OFTEN_WRONG else None,
    }


def _estimate(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else found._asdict()


def _times(database: Database, project: Project) -> dict[str, list[float]]:
    """When each person gave their latest answers, in order."""
    found: dict[str, list[float]] = {}
    with database.reading() as connection:
        for person, at in connection.execute(_TIMES, {"project": project.id, "most": _LATELY}):
            found.setdefault(person, []).append(at)
    return {person: sorted(times) for person, times in found.items()}


_numbered = (
    sa.select(
        answers.c.person,
        answers.c.at,
        sa.func.row_number().over(partition_by=answers.c.person, order_by=answers.c.sequence.desc()).label("place"),
    )
    .where(answers.c.project == sa.bindparam("project"))
    .subquery()
)
_TIMES = sa.select(_numbered.c.person, _numbered.c.at).where(_numbered.c.place <= sa.bindparam("most"))
