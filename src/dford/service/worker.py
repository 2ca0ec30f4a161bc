"""Separate processes for slow work: if it takes long or dies, the server carries on."""

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dford.service.refusal import Refusal, busy

T = TypeVar("T")
_NICENESS = 5  # the server comes first
_SMALL = 100_000  # up to this many bytes are worked on here, not in the process
_MEMORY = 4 * 2**30  # bytes it may use beyond what it starts with
_NO_ROOM = Refusal(
    503, "too-much", "this needed more memory than is available, or its process was killed; send less at a time"
)


class Workers:
    """Two workers for all projects, of which a project has one at a time: so one alone holds up no other."""

    def __init__(self, seconds: float, imports: Sequence[str] = ()) -> None:
        self._seconds, self._every = seconds, [Worker(seconds, imports) for _ in range(2)]
        self._turns: dict[int | None, threading.Lock] = {}
        self._free = queue.LifoQueue[Worker]()  # the last one is the first again: the other starts only if it must
        for worker in self._every:
            self._free.put(worker)

    def run(self, project: int | None, function: Callable[..., T], *given: Any) -> T:
        """Return what the function returns, or raise what it raises."""
        turn = self._turns.setdefault(project, threading.Lock())
        if not turn.acquire(timeout=self._seconds):
            raise _crowded()
        try:
            worker = self._free.get(timeout=self._seconds)
            try:
                return worker.run(function, *given)
            finally:
                self._free.put(worker)
        except queue.Empty:
            raise _crowded() from None
        finally:
            turn.release()

    def run_if_large(self, size: int, project: int | None, function: Callable[..., T], *given: Any) -> T:
        """The same, but in this process if there is little to do."""
        return function(*given) if size <= _SMALL else self.run(project, function, *given)

    def close(self) -> None:
        for worker in self._every:
            worker.close()


def _crowded() -> Refusal:
    return busy("too many large requests are waiting; try again in a moment")


class Worker:
    """Runs functions, one at a time, in the order in which they come.

    A function and its arguments are pickled, so they must be importable by name. `imports` names the modules that most
    functions need.
    """

    def __init__(self, seconds: float, imports: Sequence[str] = ()) -> None:
        self._seconds, self._imports = seconds, list(imports)
        self._turn = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Connection | None = None

    def run(self, function: Callable[..., T], *given: Any) -> T:
        """Return what the function returns, or raise what it raises."""
        if not self._turn.acquire(timeout=self._seconds):
            raise _crowded()
        limit = None
        try:
            line, process = self._started()
            limit = _Limit(self._seconds, process.kill)  # also while it does not read, or has sent only a part
            try:
                line.send((function, given))
                raised, outcome = line.recv()
            finally:
                if limit.passed():
                    self._end()
        except (EOFError, ConnectionError):
            self._end()
            if limit is None or not limit.passed():
                raise _NO_ROOM from None
            sentence = f"this took longer than {self._seconds:g} s and was stopped; send less at a time"
            raise Refusal(503, "too-much", sentence) from None
        finally:
            self._turn.release()
        if isinstance(outcome, MemoryError):
            raise _NO_ROOM
        if raised:
            raise outcome
        result: T = outcome
        return result

    def close(self) -> None:
        self._end()

    def _started(self) -> tuple[Connection, multiprocessing.process.BaseProcess]:
        if self._process is None or not self._process.is_alive() or self._line is None:
            self._end()
            context = _context(self._imports)
            self._line, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), name="dford-worker", daemon=True)
            self._process.start()
            theirs.close()
        return self._line, self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._line is not None:
            self._line.close()
        self._process = self._line = None


class _Limit:
    """Calls a function after some seconds, unless asked before whether they have passed."""

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self._has_passed = False
        self._function = function
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def _pass(self) -> None:
        self._has_passed = True
        self._function()

    def passed(self) -> bool:
        self._timer.cancel()
        self._timer.join()
        return self._has_passed


def _context(imports: list[str]) -> Any:
    """How processes start: if the system can fork, from one that has the imports and runs nothing else.

    A fork of the server itself would copy locks that its threads hold.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(imports)
    return context


def _serve(line: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal: the server decides when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _be_modest()
    with suppress(EOFError, BrokenPipeError):
        while True:
            function, given = line.recv()
            try:
                outcome = False, function(*given)
            except Exception as error:
                outcome = True, error
            line.send(outcome)


def _be_modest() -> None:
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as pages:
            now = int(pages.read().split()[0]) * resource.getpagesize()
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = now + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
