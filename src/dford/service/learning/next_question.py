"""The next question: about an item that nobody else has, at the level that the learner proposes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dford.pool.choice import AtHand
from dford.pool.placements import ProposedQuestion
from dford.scale import Scale
from dford.service.learning.fold import Fold
from dford.service.projects import asking, projects
from dford.service.projects.asking import (
    AskedQuestion,
    Claims,
    NothingFreeError,
    QuestionLimits,
    QuestionRequest,
    Subject,
    Wording,
)
from dford.service.projects.projects import Project
from dford.service.projects.rules import Rules
from dford.service.refusal import busy
from dford.service.store.database import Database
from dford.service.store.writer import Writer

_LEARNING = 5.0  # seconds to wait until the last answers are learned, if there is nothing else to ask about
_TRIES = 10  # attempts to find an item that another server has not just assigned


class NextQuestion:
    def __init__(self, database: Database, writer: Writer, limits: QuestionLimits) -> None:
        self._database, self._writer, self._limits, self._claims = database, writer, limits, Claims()

    def ask(self, fold: Fold, project: Project, request: QuestionRequest) -> AskedQuestion | int:
        """A new question, or the number of the one that the same key got before."""
        if request.key is not None:
            with self._database.reading() as connection:
                before = asking.asked_before(connection, project.id, request)
            if before is not None:
                return before
        fold.near()
        by_pool = project.choice == "pool" and request.sent is None
        for attempt in range(_TRIES):
            # the learner proposes here, not in the transaction, where everyone else would wait for it
            try:
                with (self._by_pool if by_pool else self._by_turns)(fold, project, request) as (subject, word):
                    job = partial(asking.ask, project=project, request=request, subject=subject, word=word)
                    asked = self._writer.do(project.id, partial(job, limits=self._limits))
            except NothingFreeError as error:
                head, items = fold.head()
                if not fold.wait(head, _LEARNING, items, may_be_stale=True):
                    raise busy("the last answers are still being learned; try again in a moment") from None
                if attempt and not error.unlearned:
                    raise asking.nothing_to_ask() from None
                continue
            if asked is not None:
                return asked
        raise busy("others kept taking the next item first; try again in a moment")

    def _target(self, project: Project) -> float:
        """The project's target now: `dford label` may have changed it."""
        return (projects.find(self._database, project.name) or project).target

    @contextmanager
    def _by_turns(
        self, fold: Fold, project: Project, request: QuestionRequest
    ) -> Iterator[tuple[Subject, asking.Word]]:
        with self._claims.subject(self._database, project.id, request) as subject:
            proposal, scale = fold.propose(subject.x), Scale(project.levels)

            def word(number: int) -> Wording:
                question = proposal.question(number)
                level, prediction = scale.number(question.level), scale.number(question.prediction)
                return Wording(level, prediction, float(question.propensity))

            yield subject, word

    @contextmanager
    def _by_pool(self, fold: Fold, project: Project, request: QuestionRequest) -> Iterator[tuple[Subject, asking.Word]]:
        def choose(number: int, assigned: dict[int, bool], rules: Rules) -> tuple[int, Wording] | None:
            may_audit = not request.is_program and rules.may_audit(request.person)
            program = request.is_program  # which informs, and people decide
            at_hand = AtHand(request.person, may_audit=may_audit, is_program=program, informs=program)
            target = self._target(project) if rules.certify else project.target
            found = fold.look(lambda model, _: model.propose(number, assigned, at_hand, rules, target, request.item))
            return None if found is None else (found.item + 1, wording_of(found))

        with self._claims.chosen(self._database, project.id, request.item, fold.sequence, choose) as (subject, wording):
            yield subject, lambda _: wording


def wording_of(found: ProposedQuestion) -> Wording:
    checks = None if found.checks < 0 else found.checks
    return Wording(found.cut + 1, found.placement + 1, found.propensity, found.purpose, checks)
