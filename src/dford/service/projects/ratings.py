"""Whole ratings that nobody was asked for: applied once, in one sequence with answers. Jobs for the writer.

A rating is an answer to a question that was asked by nobody. So the log has a question for it, about a level drawn at
random, by which learners learn one bit from it like from any answer. Its number is that of the answer, negative, so
that ratings do not change what others are asked.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from dford.engine import counter
from dford.engine.beliefs.opinions import RATED, YES
from dford.pool.agreement import halve
from dford.service.projects import answering
from dford.service.projects.answering import give_turns
from dford.service.projects.keys import name_problem
from dford.service.projects.projects import Project, place_of
from dford.service.refusal import Refusal
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.schema import HAS_RATING, answers, heads, questions, retractions

_PAGE = 1000
_ASKED = (
    "project", "number", "item", "level", "prediction", "propensity", "expires", "person", "at", "program",
)  # fmt: skip
_TOLD = ("project", "sequence", "question", "higher", "person", "at", "rating")


class SentRating(NamedTuple):
    """The level that somebody gives an item, by its place on the scale, from 1."""

    item: int
    level: int
    person: str


class RatingToCheck(NamedTuple):
    """A rating as it was given, with the names of the level and the person."""

    item: int
    level: str
    person: str | None


def checked(
    project: Project, given: Sequence[RatingToCheck], person: str, anybodys: bool, field: str
) -> list[SentRating]:
    """The ratings by this person or, if allowed, by those they name; refused if one cannot be."""
    found = []
    for i, one in enumerate(given):
        name = one.person or person
        if name != person and not anybodys:
            sentence = f"only an admin can give ratings for another person, such as {name[:64]!r}; leave person out"
            raise Refusal(403, "not-yours", sentence, f"{field}.{i}.person")
        if name != person and (problem := name_problem(name)):
            raise Refusal(422, "invalid", problem, f"{field}.{i}.person")
        found.append(SentRating(one.item, place_of(project, one.level, f"{field}.{i}.level"), name))
    return found


def rate(
    connection: Connection, project: Project, sent: Sequence[SentRating], placed: Mapping[int, int], program: bool
) -> dict[str, object]:
    """Record ratings, and return their numbers; the same level by the same person counts once for an item.

    `placed` are the levels at which the items are placed, as far as they are known.
    """
    now, own = time.time(), heads.c.project == project.id
    connection.execute(heads.update().where(own).values(sequence=heads.c.sequence))  # other servers wait from here on
    _check_items(connection, project, sent)
    known, n_levels = _known(connection, project, sent), len(project.levels)
    head: int = connection.execute(sa.select(heads.c.sequence).where(own)).scalar_one()
    new = {one: head + n for n, one in enumerate(dict.fromkeys(one for one in sent if one not in known), 1)}
    numbers = np.array([*new.values()], np.int64)
    draws = counter.uniforms(counter.stream(project.seed, "ratings"), numbers)
    rated = np.array([one.level - 1 for one in new], np.int64)
    cuts, said = halve(rated, np.full(len(rated), RATED), draws, n_levels)
    asked, told = [], []
    for (one, sequence), cut, answer in zip(new.items(), cuts.tolist(), said.tolist(), strict=True):
        prediction = placed.get(one.item, (n_levels + 1) // 2)
        asked.append(
            (project.id, -sequence, one.item, cut + 1, prediction, 1.0 / (n_levels - 1), now, one.person, now, program)
        )
        told.append((project.id, sequence, -sequence, answer == YES, one.person, now, one.level))
    insert_rows(connection, questions, _ASKED, asked)
    insert_rows(connection, answers, _TOLD, told)
    connection.execute(heads.update().where(own).values(sequence=head + len(new)))
    give_turns(connection, project.id, (one.item for one in new))
    found = known | new
    return {"count": len(new), "known": len(sent) - len(new), "ratings": [found[one] for one in sent]}


def retract(connection: Connection, project: int, number: int, person: str, anybodys: bool) -> int:
    """Take back a rating, one's own or anybody's, once; returns the sequence number of the retraction."""
    own = answers.c.project == project, answers.c.sequence == number, HAS_RATING
    row = connection.execute(sa.select(answers.c.person, answers.c.question).where(*own)).first()
    if row is None:
        raise Refusal(404, "no-rating", f"there is no rating {number} in this project", "number")
    if row.person != person and not anybodys:
        sentence = f"rating {number} was given by another person; use that person's key or an admin's"
        raise Refusal(403, "not-yours", sentence, "number")
    return answering.retract(connection, project, row.question, person, anybodys=True)


def _check_items(connection: Connection, project: Project, sent: Sequence[SentRating]) -> None:
    last = connection.execute(sa.select(heads.c.item).where(heads.c.project == project.id)).scalar_one()
    for i, one in enumerate(sent):
        if not 1 <= one.item <= last:
            raise Refusal(404, "no-item", f"there is no item {one.item} in this project", f"ratings.{i}.item")


def _known(connection: Connection, project: Project, sent: Sequence[SentRating]) -> dict[SentRating, int]:
    """Which of these are there already, and not taken back, with the numbers of their answers."""
    told = (
        sa.select(questions.c.item, answers.c.rating, answers.c.person, answers.c.sequence)
        .join_from(
            answers,
            questions,
            (questions.c.project == answers.c.project) & (questions.c.number == answers.c.question),
        )
        .join(
            retractions,
            (retractions.c.project == answers.c.project) & (retractions.c.question == answers.c.question),
            isouter=True,
        )
        .where(answers.c.project == project.id, HAS_RATING, retractions.c.sequence.is_(None))
        .order_by(answers.c.sequence.desc())
    )
    wanted, people = set(sent), sorted({one.person for one in sent})
    found = dict[SentRating, int]()
    for begin in range(0, len(people), _PAGE):
        rows = connection.execute(told.where(answers.c.person.in_(people[begin : begin + _PAGE])))
        found |= {one: row.sequence for row in rows if (one := SentRating(row.item, row.rating, row.person)) in wanted}
    return found
