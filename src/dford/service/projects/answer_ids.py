"""The ids of a project's answers, in its exported logs and wherever these are imported."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.answer_ids import id_of
from dford.feedback import Question
from dford.log import FeedbackLog
from dford.log_columns import About
from dford.service.projects.projects import Project
from dford.service.store.schema import answers, questions

_PAGE = 1000


class Told(NamedTuple):
    """What was asked and answered; levels count from 1."""

    level: int
    prediction: int
    propensity: float
    higher: bool
    item: int | None
    person: str
    at: float
    confidence: float | None
    rating: int | None
    program: bool
    is_own: bool
    """Whether it was given here. The file of an imported answer may not have said everything about it."""


def id_of_answer(project: Project, answer: Any) -> str:
    """The id of a row of the table of answers: the one it came with, or else one that finds it in its own project.

    In two copies of a database, the answers to one question can differ. So the id says more than the number.
    """
    if answer.id is not None:
        return str(answer.id)
    rating = () if answer.rating is None else (answer.rating,)
    said = id_of(b"", bool(answer.higher), answer.person, answer.at, *rating)
    number = answer.question if answer.question > 0 else f"r{answer.sequence}"
    return f"{project.key}-{number}-{said[:8]}"


def ids_by_content(levels: Sequence[str], rounds: Iterable[tuple[Any, int, int, float, bool, About]]) -> set[str]:
    """The ids that rounds get in a log that has none, with their features as rows; levels count from 1."""
    log = FeedbackLog(levels)
    for x, level, prediction, propensity, higher, about in rounds:
        log.append(Question("", x, levels[level - 1], levels[prediction - 1], propensity, 0), higher, **about._asdict())
    return set(log.id)


def known(connection: Connection, project: Project, ids: Sequence[str]) -> dict[str, Told]:
    """What the project's answers with these ids say, including those that were taken back."""
    parts = (f"{id}--".split("-")[:2] for id in ids)
    own = [int(number.replace("r", "-")) for key, number in parts if _is_own(project, key, number)]
    found = dict[str, Told]()
    for wanted in (*_in_pages(answers.c.id, ids), *_in_pages(answers.c.question, own)):
        for row in connection.execute(told(project, questions.c.item, questions.c.program).where(wanted)):
            facts = [getattr(row, name) for name in Told._fields[:-1]]
            found[id_of_answer(project, row)] = Told._make([*facts, row.id is None])
    return found


def told(project: Project, *columns: Any) -> Any:
    """The project's answers, including those that were taken back, with these columns of their questions."""
    is_about = sa.and_(questions.c.project == answers.c.project, questions.c.number == answers.c.question)
    found = sa.select(answers, questions.c.level, questions.c.prediction, questions.c.propensity, *columns)
    return found.join_from(answers, questions, is_about).where(answers.c.project == project.id)


def _is_own(project: Project, key: str, number: str) -> bool:
    return key == project.key and number.removeprefix("r").isdecimal() and len(number) < 10


def _in_pages(column: Any, values: Sequence[Any]) -> Iterator[Any]:
    return (column.in_(values[begin : begin + _PAGE]) for begin in range(0, len(values), _PAGE))
