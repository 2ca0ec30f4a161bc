"""Programs that answer: a function gets questions, several at once, within a budget, and none twice after a crash."""

import json
import math
import operator
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from dford.pool.questions import ItemQuestion, split_answer

Answer = Callable[[int, Any], bool | float]


class Progress(NamedTuple):
    """The progress of a run."""

    calls: int
    budget: int
    answers: int
    failed: int
    """Questions that no call answered."""
    problem: str
    """What went wrong in the last call that failed."""
    seconds_left: float
    """About how many seconds the rest of the budget takes, at the pace so far."""


class Outcome(NamedTuple):
    """The outcome of one question."""

    higher: bool | float | None
    """As `tell` takes it; None if no call answered it."""
    calls: int


class _Asked(NamedTuple):
    item: int
    level: str
    person: str | None


class Journal:
    """The outcome of each question, on disk before it counts."""

    def __init__(self, file: Any = None) -> None:
        self._file, self._known = file, dict[str, tuple[_Asked, Outcome]]()
        self._pools = set[str]()  # of the questions that were read

    def read(self) -> None:
        end = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break  # cut off by a crash, so it never counted
            try:
                one = json.loads(line)
                outcome = Outcome(one["higher"], operator.index(one["calls"]))
                if outcome.calls < 1:
                    raise ValueError("calls")
                if outcome.higher is not None:
                    split_answer(outcome.higher)
                asked = _Asked(one["item"], one["level"], one["person"])
                self._known[str(one["question"])] = asked, outcome
                self._pools.add(_pool_of(str(one["question"])))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                raise ValueError(f"line {number} of the journal is not an answer of a run; name a new file") from None
            end += len(line)
        self._file.truncate(end)
        self._file.seek(end)

    def find(self, question: ItemQuestion) -> Outcome | None:
        """The earlier outcome of a question, if there is one."""
        if self._file is None:
            return None
        now = _Asked(question.item, str(question.level), question.person)
        asked, outcome = self._known.get(question.id, (now, None))
        if not self._pools <= {_pool_of(question.id)} or asked != now:
            raise ValueError(
                "the journal belongs to another run; continue with the same items, random_state, person and number of "
                "threads, or name a new file"
            )
        return outcome

    def add(self, question: ItemQuestion, outcome: Outcome) -> None:
        if self._file is None or question.id in self._known:
            return
        asked = _Asked(question.item, str(question.level), question.person)
        self._known[question.id] = asked, outcome
        line = {"question": question.id, **asked._asdict(), **outcome._asdict()}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _pool_of(question: str) -> str:
    """The part of a question's id that is the same for all of its pool."""
    return question.partition("-")[0]


@contextmanager
def open_journal(path: str | os.PathLike[str] | None) -> Iterator[Journal]:
    """The journal at this path, if there is one."""
    if path is None:
        yield Journal()
        return
    with open(path, "a+b") as file:
        file.seek(0)
        journal = Journal(file)
        journal.read()
        yield journal


class Run:
    """Questions for one program. Answers count in the order of their questions, however long each takes.

    So the same answers from the program, with the same number of threads, give the same bits.
    """

    def __init__(self, pool: Any, answer: Answer, person: str, budget: int, retries: int, until: float | None) -> None:
        self._pool, self._answer, self._person = pool, answer, person
        self._budget, self._retries, self._calls, self._lock = budget, retries, 0, threading.Lock()
        self._problem, self._until = "", until

    def go(self, threads: int, journal: Journal) -> Iterator[Progress]:
        """Ask until the budget is spent, or nothing is left to ask."""
        begun, answers, given_up = time.monotonic(), 0, list[ItemQuestion]()
        waiting: deque[tuple[ItemQuestion, Future[Outcome]]] = deque()
        workers = ThreadPoolExecutor(threads, "dford-run")
        try:
            while True:
                while len(waiting) < threads and self._spend():
                    found = self._pool.ask(1, person=self._person, until=self._until)
                    if not found:  # perhaps only until another one is answered
                        self._spend(-1)
                        break
                    question = found[0]
                    waiting.append((question, Future()))  # so that it is closed if the journal is another pool's
                    waiting[-1] = question, self._submit(workers, question, journal.find(question))
                if not waiting:
                    return
                question, coming = waiting[0]
                outcome = coming.result()
                journal.add(question, outcome)
                if outcome.higher is None:
                    given_up.append(question)  # closed only at the end, so that it is not asked again at once
                else:
                    self._pool.tell(question, outcome.higher, self._person)
                    answers += 1
                waiting.popleft()
                left = (self._budget - self._calls) * (time.monotonic() - begun) / max(answers + len(given_up), 1)
                yield Progress(self._calls, self._budget, answers, len(given_up), self._problem, left)
        finally:
            for _, coming in waiting:
                coming.cancel()
            left_open = {question.id for question in self._pool._asked}  # an interrupt may come before or after `tell`
            for question in (*given_up, *(question for question, _ in waiting)):
                if question.id in left_open:
                    self._pool.drop(question)
            workers.shutdown(wait=False, cancel_futures=True)

    def _submit(self, workers: ThreadPoolExecutor, question: ItemQuestion, before: Outcome | None) -> Future[Outcome]:
        if before is None:
            return workers.submit(self._call, question)
        with self._lock:
            self._calls += before.calls - 1  # these calls were made, whatever the budget is now
        done: Future[Outcome] = Future()
        done.set_result(before)
        return done

    def _spend(self, calls: int = 1) -> bool:
        """Spend this many calls; returns False if the budget does not allow them."""
        with self._lock:
            if self._calls + calls > self._budget:
                return False
            self._calls += calls
            return True

    def _call(self, question: ItemQuestion) -> Outcome:
        for attempt in range(1, self._retries + 2):
            try:
                said = self._answer(question.item, question.level)
                higher, confidence = split_answer(said)
                return Outcome(higher if math.isnan(confidence) else float(said), attempt)
            except Exception as error:
                self._problem = f"{type(error).__name__}: {error}"
            if attempt > self._retries or not self._spend():
                break
        return Outcome(None, attempt)
