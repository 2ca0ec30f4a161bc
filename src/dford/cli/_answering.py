"""A program that answers what `dford label` asks: its run, its progress, and what is known about it at the end."""

import asyncio
import shlex
import shutil
import signal
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dford.cli._serving import learned
from dford.cli._shared import refuse, say

if TYPE_CHECKING:
    from dford.pool.people import Person
    from dford.service.core import Service
    from dford.service.program_run import ProgramRun, Progress
    from dford.service.projects.projects import Project

_OFTEN, _SELDOM = 1.0, 10.0  # seconds between two progress lines: on a terminal, and elsewhere
_NAMED = 3  # kinds of failures listed
_VAGUE = 0.25  # a wider interval of an error rate says too little, as on the page
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_SIGNALS = (NotImplementedError, RuntimeError, ValueError)  # on Windows, and outside the main thread


class Answering(NamedTuple):
    """A program, and how it should answer."""

    command: list[str]
    person: str
    budget: int
    seconds: float
    """For one answer."""
    copies: int
    until: float | None
    """The expected error at which it stops before the budget is used up."""
    page: str
    """The command with which people can answer too."""


def read_answering(
    command: str, person: str, budget: int | None, seconds: float, copies: int, until: float | None, page: str
) -> Answering:
    """The program as typed; refused if it could not be asked anything."""
    from dford.service.projects.keys import LOCAL, name_problem

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"--answer {command!r} is not a command: {str(error).lower()}") from None
    if not words:
        raise ValueError('--answer needs a command, such as "python judge.py"')
    if budget is None:
        raise ValueError("--answer needs --budget, the number of questions the program may be asked")
    name = person or program_name(words)
    if problem := name_problem(name):
        raise ValueError(f"--as: {problem}")
    if name == LOCAL.name:
        raise ValueError(f"--as {name} is the name of people who answer on the page without a key; choose another name")
    return Answering(words, name, budget, seconds, copies, until, page)


def program_name(words: list[str]) -> str:
    """The name of a program: that of its script or module, or else of the command itself."""
    for before, word in pairwise(words):
        if before == "-m" or Path(word).is_file():
            return Path(word).stem
    return Path(words[0]).stem


class Ending(NamedTuple):
    """How a run ended: the exit status and, if it is not 0, why, with the last lines of the program's stderr."""

    status: int = 0
    sentence: str = ""
    last_words: str = ""

    def say(self) -> int:
        """Print it on stderr and return the status."""
        if self.sentence:
            sys.stdout.flush()
            refuse(self.sentence)
        if self.last_words:
            say(f"The last lines of its stderr:\n{self.last_words}", file=sys.stderr)
        return self.status


def answer(service: "Service", project: "Project", how: Answering) -> Ending:
    """Let the program answer, and print the result."""
    from dford.service.program_run import BrokenProgramError, ProgramRun, is_person

    if is_person(service.database, project, how.person):
        raise ValueError(f"--as {how.person} is the name of a person who was asked before; choose another name")
    begin = time.monotonic()
    run = ProgramRun(service, project, how.person, how.budget, how.until)
    before = run.progress()
    if before.asked >= how.budget:
        print(
            f"{how.person} has already been asked {before.asked:,} questions, so its budget is used up; raise --budget"
        )
        _report(service, project, how)
        return Ending()
    earlier = f", {before.asked:,} of them already asked" if before.asked else ""
    print(f"{how.person} answers up to {how.budget:,} questions{earlier}; press Ctrl-C to stop", flush=True)
    if how.until is not None and run.is_start():
        print(
            f"--until {how.until:g} counts once people have given 25 answers on the page: a program alone only informs",
            flush=True,
        )
    ending = Ending()
    try:
        if asyncio.run(_go(service, project, run, how)):
            ending = _INTERRUPTED
    except KeyboardInterrupt:
        ending = _INTERRUPTED
    except BrokenProgramError as broken:
        ending = Ending(1, f"{how.person} was stopped {broken}; its answers so far are kept", broken.last_words)
    done = run.progress()
    _say(done, time.monotonic() - begin)
    if run.ran_dry and done.asked < how.budget:
        print(f"There is nothing left to ask {how.person} now: it has answered all it can, or others have the rest")
    if run.has_enough:
        print(f"The levels are expected to be at most {how.until:g} off, so {how.person} is asked nothing more")
    _report(service, project, how)
    if not ending.status and done.failures and not done.answers:
        ending = Ending(1, f"{how.person} did not answer a single question")
    return ending


_INTERRUPTED = Ending(130, "stopped; the answers are kept, and the same command continues from here")


async def _go(service: "Service", project: "Project", run: "ProgramRun", how: Answering) -> bool:
    """Run it; return whether it was interrupted. However it ends, no copy of the program keeps running."""
    from dford.service.program import Program

    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()
    with suppress(*_NO_SIGNALS):  # where there are none, Ctrl-C cancels this task
        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupted.set)
    copies = [Program(how.command, how.seconds) for _ in range(how.copies)]
    work = (run.go(copies), _show(run), interrupted.wait())
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(*_NO_SIGNALS):
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
        if sys.stdout.isatty():
            print("\r\x1b[K", end="")
    for task in tasks:
        if not task.cancelled():
            task.result()
    return interrupted.is_set()


async def _show(run: "ProgramRun") -> None:
    """Print the progress from time to time."""
    is_terminal = sys.stdout.isatty()
    while True:
        await asyncio.sleep(_OFTEN if is_terminal else _SELDOM)
        line = progress_line(run.progress(), await asyncio.to_thread(run.expected_error))
        if is_terminal:
            print(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K", end="", flush=True)
        else:
            print(line, flush=True)


def progress_line(now: "Progress", expected: float | None) -> str:
    """The progress of a run, on one line."""
    parts = [
        f"{now.asked:,} of {now.budget:,} questions",
        f"{now.answers:,} answers",
        f"{now.failures.total():,} failed",
    ]
    if expected is not None:
        parts.append(f"expected error {expected:.2f}")
    if now.seconds_left is not None:
        minutes, seconds = divmod(round(now.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)


def _say(done: "Progress", seconds: float) -> None:
    answers = "1 answer" if done.answers == 1 else f"{done.answers:,} answers"
    print(f"{answers} in {seconds:,.0f} s; {done.asked:,} of {done.budget:,} questions in the budget asked")
    if count := done.failures.total():
        some = "; ".join(f"{reason} ({n:,})" for reason, n in done.failures.most_common(_NAMED))
        more = "; and others" if len(done.failures) > _NAMED else ""
        say(f"{count:,} questions failed and were dropped: {some}{more}")


def _report(service: "Service", project: "Project", how: Answering) -> None:
    """Print what is known about the program, and how people can check it."""
    from dford.service.program_run import programs, same_answers

    learned(service, project)
    people = service.fold(project).look(
        lambda model, _: {} if model.placements is None else model.placements.read_people()
    )
    if how.person in people:
        judges = programs(service.database, project)
        others = sum(one.answers for name, one in people.items() if name not in judges)
        same = same_answers(service.database, project, how.person)
        for line in describe(people[how.person], others, same, how.page):
            say(line)


def describe(one: "Person", others: int, same: dict[str, tuple[int, int]], page: str) -> list[str]:
    """How often a program is wrong and how strict it is, as far as that is known."""
    wrong, strict, agrees = one.error_rate, one.strictness, one.agreement
    if not others and not one.judged:
        return [
            f"It is unknown how often {one.name} is wrong: no person has answered yet. A program alone only informs.",
            f"To check it, answer some questions yourself: {page}. Audit questions go only to people, and judge it.",
        ]
    if wrong.high - wrong.low > _VAGUE:
        lines = [f"Too early to tell how often {one.name} is wrong: {one.judged:,} of its answers can be judged."]
    else:
        kind, low, high = "stricter", strict.low, strict.high
        if strict.value < 0:
            kind, low, high = "more lenient", -high, -low
        lines = [
            f"{one.judged:,} of its {one.answers:,} answers can be judged. According to these, {one.name} is wrong "
            f"{wrong.value:.0%} of the time (95%: {wrong.low:.0%} to {wrong.high:.0%}), and {abs(strict.value):.2f} "
            f"levels {kind} than {'the others' if others else 'it should be'} (95%: {low:+.2f} to {high:+.2f})."
        ]
    if agrees is not None:
        lines.append(
            f"Where the others leave little doubt, it agrees with them {agrees.value:.0%} of the time "
            f"(95%: {agrees.low:.0%} to {agrees.high:.0%})."
        )
    if same:
        says, of = (sum(column) for column in zip(*same.values(), strict=True))
        levels = ", ".join(f"{level} {n:,} of {count:,}" for level, (n, count) in same.items())
        lines.append(
            f"Of the {of:,} questions that others answered too, it answered {says:,} like most of them ({levels})."
        )
    return [*lines, f"More answers from people make this more certain: {page}"]
