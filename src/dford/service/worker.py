"""Separate processes for slow work: if it takes long or dies, the server carries on."""

import itertools
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dford.service.refusal import Refusal, busy, shutting_down

T = TypeVar("T")
_NICENESS = 5  # the server comes first
SMALL = 100_000  # up to this many bytes are worked on here, not in the process
_TURN = 1.0  # seconds after which it is the next project's turn, once a piece of work is done
_MEMORY = 4 * 2**30  # bytes it may use beyond what it starts with
_NO_ROOM = Refusal(
    503, "too-much", "this needed more memory than is available, or its process was killed; send less at a time"
)


class Workers:
    """Two workers for all projects, which take turns: a project has one worker at a time, for a second of work.

    Whoever had no turn for longest is next. So nobody waits for more than one turn of another project, however much
    that project sends.
    """

    def __init__(self, seconds: float, imports: Sequence[str] = ()) -> None:
        self._seconds, self._every = seconds, [Worker(seconds, imports) for _ in range(2)]
        self._free = list(self._every)  # the last one is the first again: the other starts only if it must
        self._waiting: list[_Waiting] = []
        self._busy: set[int | None] = set()
        self._turns = itertools.count(1)
        self._last_turns: dict[int | None, int] = {}
        self._changed = threading.Condition()

    def run(self, project: int | None, function: Callable[..., T], *given: Any) -> T:
        """Return what the function returns, or raise what it raises."""
        with self.budget(project) as budget:
            return budget.run(function, *given)

    def run_if_large(self, size: int, project: int | None, function: Callable[..., T], *given: Any) -> T:
        """The same, but in this process if there is little to do."""
        return function(*given) if size <= SMALL else self.run(project, function, *given)

    def budget(self, project: int | None) -> "Budget":
        """The work of one request of a project, in as many pieces as it likes."""
        return Budget(self, project, self._seconds)

    @contextmanager
    def turn(self, project: int | None) -> Iterator["Worker"]:
        """A worker, once it is the project's turn."""
        waiting = _Waiting(project)
        with self._changed:
            self._waiting.append(waiting)
            is_next = self._changed.wait_for(lambda: self._next() is waiting, self._seconds)
            self._waiting.remove(waiting)
            if not is_next:
                raise _crowded()
            worker = self._free.pop()
            self._busy.add(project)
            self._last_turns[project] = next(self._turns)
            self._changed.notify_all()  # there may be another worker for whoever is next now
        try:
            yield worker
        finally:
            with self._changed:
                self._busy.remove(project)
                self._free.append(worker)
                self._changed.notify_all()

    def close(self) -> None:
        for worker in self._every:
            worker.close()

    def _next(self) -> "_Waiting | None":
        ready = [one for one in self._waiting if one.project not in self._busy] if self._free else []
        return min(ready, key=lambda one: self._last_turns.get(one.project, 0), default=None)


class _Waiting:
    """Somebody who waits for a worker; compared by identity."""

    def __init__(self, project: int | None) -> None:
        self.project = project


class Budget:
    """The seconds of work that one request may cause, in pieces. Others have their turn once one has lasted a second.

    So a request of short pieces waits once, and one of many pieces lets others go between them.
    """

    def __init__(self, workers: Workers, project: int | None, seconds: float) -> None:
        self._workers, self._project, self._left = workers, project, seconds
        self._turn, self._spent = ExitStack(), 0.0
        self._worker: Worker | None = None

    def __enter__(self) -> "Budget":
        return self

    def __exit__(self, *_: object) -> None:
        self._turn.close()

    def run(self, function: Callable[..., T], *given: Any, most: float = math.inf) -> T:
        """Return what the function returns, or raise what it raises. It has `most` seconds."""
        if self._worker is None or self._spent >= _TURN:
            self._worker = None
            self._turn.close()
            self._worker, self._spent = self._turn.enter_context(self._workers.turn(self._project)), 0.0
        begin = time.monotonic()
        try:
            return self._worker.run(function, *given, most=most, left=self._left)
        finally:
            took = time.monotonic() - begin
            self._left, self._spent = max(self._left - took, 0.0), self._spent + took

    def run_if_large(self, size: int, function: Callable[..., T], *given: Any, most: float = math.inf) -> T:
        """The same, but in this process if there is little to do."""
        return function(*given) if size <= SMALL else self.run(function, *given, most=most)


def _crowded() -> Refusal:
    return busy("too many large requests are waiting; try again in a moment")


def _too_long(seconds: float) -> Refusal:
    sentence = f"this took longer than {seconds:g} s and was stopped; send less at a time, or smaller images"
    return Refusal(503, "too-much", sentence)


class Worker:
    """Runs functions, one at a time, in the order in which they come.

    A function and its arguments are pickled, so they must be importable by name. `imports` names the modules that most
    functions need.
    """

    def __init__(self, seconds: float, imports: Sequence[str] = ()) -> None:
        self._seconds, self._imports = seconds, list(imports)
        self._turn = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None  # once it has started
        self._line: Connection | None = None
        self._closed = threading.Event()

    def run(self, function: Callable[..., T], *given: Any, most: float = math.inf, left: float = math.inf) -> T:
        """Return what the function returns, or raise what it raises.

        It has `most` seconds, or what is `left` of those that all pieces have together.
        """
        if not self._turn.acquire(timeout=self._seconds):
            raise _crowded()
        limit = None
        try:
            line, process = self._started()
            limit = _Limit(min(self._seconds, most, left), process.kill)  # also while it does not read, or sends a part
            try:
                line.send((function, given))
                raised, outcome = line.recv()
            finally:
                if limit.passed():
                    self._end()
        except (EOFError, ConnectionError):
            self._end()
            if self._closed.is_set():
                raise shutting_down() from None
            if limit is None or not limit.passed():
                raise _NO_ROOM from None
            raise _too_long(min(self._seconds, most)) from None
        finally:
            self._turn.release()
        if isinstance(outcome, MemoryError):
            raise _NO_ROOM
        if raised:
            raise outcome
        result: T = outcome
        return result

    def close(self) -> None:
        """End the process, also while it works. One that is being started ends once it has, and no other is started."""
        self._closed.set()  # first: whoever starts a process looks at it once there is one to see here
        process = self._process
        if process is not None:
            process.kill()
            process.join()

    def _started(self) -> tuple[Connection, multiprocessing.process.BaseProcess]:
        if self._closed.is_set():
            raise shutting_down()
        if self._process is None or not self._process.is_alive() or self._line is None:
            self._end()
            context = _context(self._imports)
            line, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs,), name="dford-worker", daemon=True)
            process.start()
            theirs.close()
            self._line, self._process = line, process
            if self._closed.is_set():
                self._end()
                raise shutting_down()
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
