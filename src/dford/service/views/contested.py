"""Items with contradictory answers, and settled items."""

import json
from typing import Any

import numpy as np
import sqlalchemy as sa

from dford.pool.agreement import decides
from dford.pool.judged import contradictions
from dford.pool.placements import Placements
from dford.service.projects import settling
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.store.schema import answers, items, questions
from dford.service.views.answered import about_items
from dford.service.views.levels import short

_LISTED = 10
_LEAST = float(np.log(2.0))  # contradictions that weigh less could be guesses, and contest nothing


def contested(database: Database, project: Project, still: Placements, sequence: int, stale: bool) -> dict[str, Any]:
    """The items whose answers contradict each other most, weighted by who gave them, and the last settlements."""
    known = still.items
    told = still.answers.told(decides(still.voices, still.answers["person"]))  # programs contest nothing
    how_much = contradictions(told, still.reliability, len(known))
    how_much[(known.bounds[:, 0] == known.bounds[:, 1]) | (how_much < _LEAST)] = 0.0
    most = np.argsort(-how_much, kind="stable")[:_LISTED]
    found = (most[how_much[most] > 0] + 1).tolist()
    settled = list(settling.in_force(database, project).values())[: -_LISTED - 1 : -1]
    shown = _shown(database, project, [*found, *(one.item for one in settled)])
    said = _told(database, project, found)
    places = np.array(found, dtype=np.int64) - 1
    levels, beliefs = known.placements()[0][places], known.beliefs(places)
    return {
        "sequence": sequence,
        "stale": stale,
        "contested": [
            {
                "item": item,
                "shown": shown[item],
                "level": project.levels[levels[i]],
                "probabilities": dict(zip(project.levels, beliefs[i].tolist(), strict=True)),
                "answers": said[item],
            }
            for i, item in enumerate(found)
        ],
        "settled": [{**settled_out(project, one), "shown": shown[one.item]} for one in settled],
    }


def settled_out(project: Project, one: settling.Settlement) -> dict[str, Any]:
    """A settlement, with the names of its levels."""
    return {
        **one._asdict(),
        "lowest": project.levels[one.lowest - 1],
        "highest": project.levels[one.highest - 1],
    }


def _shown(database: Database, project: Project, numbers: list[int]) -> dict[int, dict[str, Any]]:
    rows = sa.select(items.c.number, items.c.shown).where(items.c.project == project.id, items.c.number.in_(numbers))
    with database.reading() as connection:
        found = {row.number: json.loads(row.shown) for row in connection.execute(rows)}
    return {number: {name: short(value) for name, value in shown.items()} for number, shown in found.items()}


def _told(database: Database, project: Project, numbers: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The answers about items, in order, without those taken back."""
    columns = (
        questions.c.item, questions.c.number, questions.c.level, answers.c.higher, answers.c.rating, answers.c.person,
        answers.c.at,
    )  # fmt: skip
    rows = about_items(project, *columns).where(questions.c.item.in_(numbers))
    found: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    with database.reading() as connection:
        for item, number, level, higher, rating, person, at in connection.execute(rows):
            said = {
                "question": number if number > 0 else None,
                "person": person,
                "level": project.levels[level - 1],
                "higher": higher,
                "rating": None if rating is None else project.levels[rating - 1],
                "at": at,
            }
            found[item].append(said)
    return found
