"""Questions of a project, put to a program as to a person: within a budget, and none twice, even after a kill."""

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from dford.service.core import Service
from dford.service.learning import log_reader
from dford.service.learning.learned import Learned
from dford.service.program import Program, ProgramFailure
from dford.service.projects.answering import SentAnswer, skip
from dford.service.projects.asking import PROGRAM_KEY, AskedQuestion, QuestionRequest, release
from dford.service.projects.projects import Project
from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.schema import leases, questions

T = TypeVar("T")
_FAILURES = 5  # in a row, after which the program counts as broken
_REST = 0.2  # seconds before trying again after a temporary refusal
_PATIENT = 60.0  # seconds to keep trying
_LEARNING = 10.0  # seconds to wait for the learner before judging what it knows


class Progress(NamedTuple):
    """The progress of a run."""

    asked: int
    """Questions put to the program so far, including earlier runs: what the budget counts."""
    budget: int
    answers: int
    failures: Counter[str]
    """The questions of this run without an answer, by what went wrong."""
    seconds_left: float | None
    """About how many seconds the rest of the budget takes, at the pace so far."""


class BrokenProgramError(Exception):
    """The program failed too often in a row."""

    def __init__(self, sentence: str, last_words: str) -> None:
        super().__init__(sentence)
        self.last_words = last_words


class ProgramRun:
    """Questions for one program, which answers as a person.

    Each place in the budget is a question with its own key. As a key is never asked twice, the budget holds even if the
    run is killed, and for two runs at once. A question is in the database before the program sees it, and its answer
    before the next one is asked.
    """

    def __init__(
        self, service: Service, project: Project, person: str, budget: int, until: float | None = None
    ) -> None:
        self._service, self._project, self._person, self._budget = service, project, person, budget
        self._until = until
        before = self._before()
        self._places = deque(n for n in range(1, budget + 1) if n not in before)
        self._earlier, self._failures, self._in_a_row = len(before), Counter[str](), 0
        # questions by number; sets, as several threads add to them
        self._asked, self._open, self._answered = set[int](), set[int](), set[int]()
        self._closed = asyncio.Event()  # set and replaced whenever a question is closed
        self._began = time.monotonic()
        self.ran_dry = False
        """Whether it ended because others have all items, or no answer could tell anything."""
        self.has_enough = False
        """Whether it ended because the levels are expected to be as close as was asked for."""

    def progress(self) -> Progress:
        answers, asked = len(self._answered), self._earlier + len(self._asked)
        done = answers + self._failures.total()
        seconds = len(self._places) * (time.monotonic() - self._began) / done if done else None
        return Progress(asked, self._budget, answers, self._failures.copy(), seconds)

    async def go(self, programs: Sequence[Program]) -> None:
        """Ask until there are enough answers, the budget is spent or nothing is left to ask.

        Each copy gets one question at a time.
        """
        if await asyncio.to_thread(self._is_enough):
            return
        self._began = time.monotonic()
        async with _closing(programs):
            for program in programs:  # one that cannot be started costs no question
                await program.start()
            copies = [asyncio.create_task(self._work(program)) for program in programs]
            try:
                for done in (await asyncio.wait(copies, return_when=asyncio.FIRST_EXCEPTION))[0]:
                    done.result()
            finally:
                for copy in copies:
                    copy.cancel()
                await asyncio.gather(*copies, return_exceptions=True)
                self._release(self._open)

    def expected_error(self, seconds: float = 0.0) -> float | None:
        """How far off the levels are expected to be, after waiting this long for the learner to catch up.

        None if it is unknown, as it is until people have answered.
        """
        return self._look(
            lambda model: None if model.placements is None or model.is_start() else model.placements.expected_error(),
            seconds,
        )

    def is_start(self) -> bool:
        """Whether people have answered too little for anybody to know how far off the levels are."""
        return self._look(Learned.is_start, _LEARNING) or False

    def _look(self, at: Callable[[Learned], T], seconds: float) -> T | None:
        with suppress(Refusal):  # it is catching up
            fold = self._service.fold(self._project)
            head, items = fold.head()
            fold.wait(head, seconds, items)
            return fold.look(lambda model, _: at(model))
        return None

    def _is_enough(self) -> bool:
        if self._until is not None and not self.has_enough:
            expected = self.expected_error(_LEARNING)
            self.has_enough = expected is not None and expected <= self._until
        return self.has_enough

    async def _work(self, program: Program) -> None:
        while self._places and not await asyncio.to_thread(self._is_enough):
            asked = await self._next()
            if asked is None:
                return
            await self._put(program, asked)
            self._open.discard(asked.number)
            self._closed.set()
            self._closed = asyncio.Event()

    async def _next(self) -> AskedQuestion | None:
        """The next question; None if there is none, and no open question of ours whose answer could change that."""
        while self._places:
            place = self._places.popleft()
            closed = self._closed
            try:
                asked = await self._patiently(partial(self._ask, place))
            except BaseException as error:
                self._places.appendleft(place)
                if not isinstance(error, Refusal) or error.code != "nothing-to-ask":
                    raise
                if not self._open:
                    self.ran_dry = True
                    return None
                await closed.wait()
            else:
                if asked is not None:
                    return asked
                self._earlier += 1  # another run with the same name has this place
        return None

    def _ask(self, place: int) -> AskedQuestion | None:
        """The question at this place in the budget; None if it was already asked."""
        request = QuestionRequest(self._person, f"{PROGRAM_KEY}{place}", is_program=True)
        asked = self._service.ask(self._project, request)
        if not isinstance(asked, AskedQuestion):
            return None
        self._open.add(asked.number)
        self._asked.add(asked.number)
        return asked

    async def _put(self, program: Program, asked: AskedQuestion) -> None:
        level, number = asked.wording.level, asked.number
        try:
            if level == len(self._project.levels):  # asked about by the paper's policies, though nothing is above it
                higher, confidence = False, None
            else:
                higher, confidence = await program.ask(number, self._line(asked))
        except ProgramFailure as failure:
            close = partial(skip, project=self._project.id, number=number, person=self._person, anybodys=False)
            await self._patiently(partial(self._service.write, self._project, close))
            self._failures[str(failure)] += 1
            self._in_a_row += 1
            if self._in_a_row == _FAILURES:
                sentence = f"after failing {_FAILURES} times in a row (the last time: {failure})"
                raise BrokenProgramError(sentence, program.last_words) from None
        else:
            await self._patiently(partial(self._tell, SentAnswer(number, higher, self._person, confidence=confidence)))
            self._in_a_row = 0

    def _tell(self, answer: SentAnswer) -> None:
        told = self._service.tell_many(self._project, [answer])[0]
        if isinstance(told, Refusal):
            raise told
        self._answered.add(answer.number)

    def _line(self, asked: AskedQuestion) -> dict[str, Any]:
        level = self._project.levels[asked.wording.level - 1]
        return {
            "id": asked.number,
            "item": self._with_paths(json.loads(asked.subject.shown)),
            "question": f"Is it above {level}?",
            "level": level,
            "levels": self._project.levels,
        }

    def _with_paths(self, shown: dict[str, Any]) -> dict[str, Any]:
        """The item, with the full paths of the images it names."""
        images = self._service.image_source(self._project, is_everywhere=True)
        for column in self._project.columns:
            name = shown.get(column.name)
            if column.kind == "image" and isinstance(name, str) and name:
                shown[column.name] = str(images.path(name) or name)
        return shown

    async def _patiently(self, job: Callable[[], T]) -> T:
        """Do it in a thread, to its end even if this is cancelled, and again after a temporary refusal."""
        until = time.monotonic() + _PATIENT
        while True:
            work = asyncio.create_task(asyncio.to_thread(job))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])
                raise
            except Refusal as refusal:
                if refusal.retry_after is None or time.monotonic() > until:
                    raise
            await asyncio.sleep(_REST)

    def _before(self) -> set[int]:
        """The places in the budget that are taken. Questions left open by a killed run are released for others."""
        own = (questions.c.project == self._project.id, questions.c.person == self._person)
        taken = sa.select(questions.c.number, questions.c.key).where(*own, questions.c.key.startswith(PROGRAM_KEY))
        with self._service.database.reading() as connection:
            rows = connection.execute(taken).all()
            held = connection.scalars(
                sa.select(leases.c.question).where(
                    leases.c.project == self._project.id, leases.c.person == self._person
                )
            ).all()
        self._release({row.number for row in rows} & set(held))
        return {int(row.key.removeprefix(PROGRAM_KEY)) for row in rows if row.key.removeprefix(PROGRAM_KEY).isdecimal()}

    def _release(self, numbers: set[int]) -> None:
        if numbers:
            job = partial(release, project=self._project.id, numbers=sorted(numbers), person=self._person)
            self._service.write(self._project, job)


def programs(database: Database, project: Project) -> set[str]:
    """The names under which programs have answered."""
    own = sa.select(questions.c.person).where(questions.c.project == project.id, questions.c.program)
    with database.reading() as connection:
        return set(connection.scalars(own.distinct()))


def same_answers(database: Database, project: Project, person: str) -> dict[str, tuple[int, int]]:
    """Of the questions that both a person and others answered, by level: how many most of them answered alike."""
    own, theirs = dict[tuple[int, int], bool](), Counter[tuple[int, int]]()
    for page in log_reader.pages(database, project, 0, log_reader.head_of(database, project.id), most=log_reader.MANY):
        columns = (column.tolist() for column in (page.item, page.level, page.higher))
        for who, item, level, higher in zip(page.person, *columns, strict=True):
            if item and who == person:
                own[item, level] = higher
            elif item:
                theirs[item, level] += 1 if higher else -1
    found = dict[str, tuple[int, int]]()
    for (item, level), most in sorted(theirs.items(), key=lambda one: one[0][1]):
        if most and (item, level) in own:
            name = project.levels[level - 1]
            same, count = found.get(name, (0, 0))
            found[name] = same + (own[item, level] == (most > 0)), count + 1
    return found


def is_person(database: Database, project: Project, name: str) -> bool:
    """Whether somebody with this name was asked as a person."""
    own = (questions.c.project == project.id, questions.c.person == name, ~questions.c.program)
    with database.reading() as connection:
        return connection.execute(sa.select(questions.c.number).where(*own).limit(1)).first() is not None


@asynccontextmanager
async def _closing(programs: Sequence[Program]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await asyncio.gather(*(program.close() for program in programs))
