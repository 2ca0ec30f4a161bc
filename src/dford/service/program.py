"""A program that answers: one line of JSON to its input for each question, and one back from its output."""

import asyncio
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from dford.service import process_tree

_LONGEST = 100_000  # bytes of an answer
_TAIL, _TAIL_LINES = 4_000, 5  # bytes and lines kept of its stderr
_GRACE = 1.0  # seconds for output after a program has ended; and for it to end by itself
_PAUSE = 0.2  # seconds after the first answer in which nothing more may be printed
_REST = 0.01  # seconds until processes that were told to end are looked for again
_LAST = 5.0  # seconds to wait until it is gone: one that even the system cannot end is left
_TOO_MUCH = "it printed more than one line for a question"


class ProgramFailure(Exception):  # noqa: N818
    """Why a question was not answered, in a few words."""


class Said(NamedTuple):
    """An answer."""

    higher: bool
    confidence: float | None = None


class Program:
    """One copy of a program. It runs from its first question, and is restarted after a failure."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds = command, seconds
        self._process: _Process | None = None
        self.last_words = ""
        """The last lines of stderr at the last failure."""

    async def start(self) -> None:
        """Start it, in a separate session, so that Ctrl-C is ours to handle, and its children end with it."""
        mark = secrets.token_hex()
        try:
            _, self._process = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Process(mark),
                *self._command,
                start_new_session=True,
                # unbuffered, so that Python programs need not flush
                env=os.environ | {"PYTHONUNBUFFERED": "1", process_tree.VARIABLE: mark},
            )
        except OSError as error:
            raise ValueError(f"cannot start {self._command[0]!r}: {error.strerror or error}") from None

    async def ask(self, number: int, question: dict[str, Any]) -> Said:
        """Its answer. Any failure ends the program, so that a late answer is never taken for the next one."""
        if self._process is None or self._process.is_over():
            await self.close()
            await self.start()
        process = cast(_Process, self._process)
        try:
            async with asyncio.timeout(self._seconds):
                line = await process.exchange(json.dumps(question).encode() + b"\n")
            said = read_answer(line, number)
            await process.check_once()
            return said
        except TimeoutError:
            await self._fail(process)
            raise ProgramFailure(f"no answer within {self._seconds:g} s") from None
        except ProgramFailure:
            await self._fail(process)
            raise

    async def _fail(self, process: "_Process") -> None:
        self.last_words = await process.last_words()
        await self.close(at_once=True)

    async def close(self, at_once: bool = False) -> None:
        """End it and its children; closing its input lets it end by itself first."""
        process, self._process = self._process, None
        if process is not None:
            await process.close(0.0 if at_once else _GRACE)


class _Process(asyncio.SubprocessProtocol):
    """A process, and what it prints."""

    def __init__(self, mark: str) -> None:
        self._mark, self._loop = mark, asyncio.get_running_loop()
        self._said, self._errors = bytearray(), bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._exited, self._lost, self._heard, self._spoke = (self._loop.create_future() for _ in range(4))
        self._mute = self._is_checked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._errors += data
            del self._errors[:-_TAIL]
            return
        self._said += data
        if not self._is_asked() and not self._spoke.done():
            self._spoke.set_result(None)
        if len(self._said) > _LONGEST:
            self._pipe(1).pause_reading()
            self._give(ProgramFailure(f"the answer was longer than {_LONGEST:,} bytes"))
        elif (end := self._said.find(b"\n")) >= 0:
            line, more = bytes(self._said[:end]), self._said[end + 1 :]
            if self._is_asked() and not more:
                self._said.clear()
            self._give(ProgramFailure(_TOO_MUCH) if more else line)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        if fd == 1:
            self._mute = True
            self._over()
        elif fd == 2:
            self._heard.set_result(None)

    def process_exited(self) -> None:
        self._exited.set_result(None)
        self._over()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost.set_result(None)

    def is_over(self) -> bool:
        return self._mute or self._exited.done()

    async def exchange(self, line: bytes) -> bytes:
        """Send a line and return the reply."""
        if self._said:
            raise ProgramFailure(f"it printed {_shown(self._said)} without being asked")
        self._answer = self._loop.create_future()
        try:
            self._pipe(0).write(line)
            return await self._answer
        finally:
            self._answer = None

    async def check_once(self) -> None:
        """After the first answer, see whether more follows: such a program would lose every other question."""
        if not self._is_checked:
            await asyncio.wait([self._exited, self._spoke], timeout=_PAUSE, return_when=asyncio.FIRST_COMPLETED)
            if self._said:
                raise ProgramFailure(_TOO_MUCH)
            self._is_checked = True

    async def last_words(self) -> str:
        """The last lines of its stderr, read to the end if it has ended by itself."""
        if self._exited.done():
            await asyncio.wait([self._heard], timeout=_GRACE)
        lines = self._errors.decode(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])

    async def close(self, patience: float) -> None:
        leader, noted = self._transport.get_pid(), frozenset[process_tree.Process]()
        if patience and not self._exited.done():
            noted = frozenset(process_tree.find(leader, self._mark))  # children may lose their parent now
            self._pipe(0).close()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._exited), patience)
        if hasattr(os, "killpg"):
            until = self._loop.time() + _LAST
            while process_tree.kill(leader, self._mark, noted) and self._loop.time() < until:
                await asyncio.sleep(_REST)
            # wait for the exit before the transport does, or one of the two finds no process and complains on stderr
            await asyncio.wait([self._exited], timeout=_LAST)
        self._transport.close()
        await asyncio.wait([self._lost], timeout=_LAST)

    def _pipe(self, fd: int) -> Any:
        return self._transport.get_pipe_transport(fd)

    def _give(self, outcome: bytes | ProgramFailure) -> None:
        if self._answer is not None and not self._answer.done():
            if isinstance(outcome, bytes):
                self._answer.set_result(outcome)
            else:
                self._answer.set_exception(outcome)

    def _is_asked(self) -> bool:
        return self._answer is not None and not self._answer.done()

    def _over(self) -> None:
        """Give up on an answer once all earlier output is read; a child may keep the output open."""
        if self._mute and self._exited.done():
            self._give(self._end())
        else:
            self._loop.call_later(_GRACE, lambda: self._give(self._end()))

    def _end(self) -> ProgramFailure:
        status = self._transport.get_returncode()
        if status is None:
            return ProgramFailure("it closed its output")
        return ProgramFailure(f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}")


def read_answer(line: bytes, number: int) -> Said:
    """The answer in a line, which must name its question: a line that comes late is never taken for another answer."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise ProgramFailure(f"{_shown(line)} is not JSON") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("higher"), bool):
        raise ProgramFailure(f'{_shown(line)} does not say "higher": true or false')
    said = answer.get("id")
    if said is None:
        raise ProgramFailure(f'{_shown(line)} does not repeat the "id" of its question')
    if said != number or said is True:  # which equals 1
        raise ProgramFailure(f"{_shown(line)} has another id than the question, which is {number}")
    sure = answer.get("confidence")
    if sure is not None and (type(sure) not in {int, float} or not 0.5 <= sure <= 1):
        raise ProgramFailure(f"{_shown(line)} has a confidence that is not between 0.5 and 1")
    return Said(answer["higher"], None if sure is None else float(sure))


def _shown(said: bytes | bytearray) -> str:
    text = said[:200].decode(errors="replace")
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
