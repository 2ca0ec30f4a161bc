"""Questions with their answers, as rows of the database."""

from typing import Any

import sqlalchemy as sa

from dford.service.projects.projects import Project
from dford.service.store.schema import answers, questions, retractions


def same_question(table: sa.Table) -> Any:
    return (table.c.project == questions.c.project) & (table.c.question == questions.c.number)


def about_items(project: Project, *columns: Any, as_of: int | None = None) -> sa.Select[Any]:
    """Columns of questions about items and of their answers, in the order of the log.

    Those taken back are left out or, if `as_of` is given, those that a retraction up to this number takes back.
    """
    taken_back = same_question(retractions)
    if as_of is not None:
        taken_back &= retractions.c.sequence <= as_of
    return (
        sa.select(*columns)
        .select_from(questions)
        .join(answers, same_question(answers))
        .join(retractions, taken_back, isouter=True)
        .where(questions.c.project == project.id, questions.c.item.is_not(None), retractions.c.sequence.is_(None))
        .order_by(answers.c.sequence)
    )
