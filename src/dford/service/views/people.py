"""How many answers each person gave."""

import threading
from collections import Counter

import sqlalchemy as sa

from dford.service.store.database import Database
from dford.service.store.schema import answers

_NEW = (
    sa.select(answers.c.person, sa.func.count().label("n"))
    .where(
        answers.c.project == sa.bindparam("project"),
        answers.c.sequence > sa.bindparam("after"),
        answers.c.sequence <= sa.bindparam("head"),
    )
    .group_by(answers.c.person)
)


class AnswerCounts:
    """Counts that continue from the last time, as the log is only ever added to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[int, tuple[int, Counter[str]]] = {}
        self._lock = threading.Lock()

    def counts(self, project: int, head: int) -> dict[str, int]:
        """The answers of each person, at least up to `head`, including those taken back."""
        with self._lock:
            after, counts = self._counted.get(project, (0, Counter()))
            if head > after:
                with self._database.reading() as connection:
                    new = connection.execute(_NEW, {"project": project, "after": after, "head": head}).all()
                counts = counts + Counter({row.person: row.n for row in new})
                self._counted[project] = head, counts
            return dict(counts)
