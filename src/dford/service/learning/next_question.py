"""The next question: about an item that nobody else has, at the level that the learner proposes."""

from functools import partial

from dford.service.learning.fold import Fold
from dford.service.projects import asking
from dford.service.projects.asking import AskedQuestion, Claims, Limits, QuestionRequest
from dford.service.projects.projects import Project
from dford.service.refusal import busy
from dford.service.store.database import Database
from dford.service.store.writer import Writer

_TRIES = 10  # to be asked about an item that another server has not just given away


class NextQuestion:
    def __init__(self, database: Database, writer: Writer, limits: Limits) -> None:
        self._database, self._writer, self._limits, self._claims = database, writer, limits, Claims()

    def ask(self, fold: Fold, project: Project, request: QuestionRequest) -> AskedQuestion | int:
        """A new question, or the number of the one that was asked by the same key before."""
        if request.key is not None:
            with self._database.reading() as connection:
                before = asking.asked_before(connection, project.id, request)
            if before is not None:
                return before
        fold.near()
        for _ in range(_TRIES):
            with self._claims.subject(self._database, project.id, request) as subject:
                # the learner is asked here, and not in the transaction, where all others would wait for it
                proposal = fold.propose(subject.x.copy())
                job = partial(asking.ask, project=project, request=request, subject=subject, proposal=proposal)
                asked = self._writer.do(project.id, partial(job, limits=self._limits))
            if asked is not None:
                return asked
        raise busy("another server was quicker each time; try again in a moment")
