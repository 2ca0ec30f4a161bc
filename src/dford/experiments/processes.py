"""Work in other processes of this machine, which Ctrl-C in a terminal does not reach: this one ends them, quietly.

Each is in its own process group from the start. (The pools of other libraries start theirs in the terminal's group, and
a process that is interrupted while it starts prints a long traceback.)
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple, TypeVar

T = TypeVar("T")
_SERVE = "from dford.experiments.processes import serve; serve()"


class WorkerDiedError(RuntimeError):
    """The worker that did the work is gone: it was killed or exited."""


class Done(NamedTuple):
    """The outcome of one input: a value, or what was raised."""

    place: int
    value: Any = None
    error: BaseException | None = None


def in_processes(function: Callable[[T], Any], inputs: Sequence[T], jobs: int) -> Generator[Done, None, None]:
    """Call the function with each input, `jobs` at a time (-1: one per core), and yield each outcome as it arrives."""
    jobs = jobs if jobs > 0 else os.cpu_count() or 1
    waiting: queue.SimpleQueue[tuple[int, T]] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Done] = queue.SimpleQueue()
    for pair in enumerate(inputs):
        waiting.put(pair)
    workers = [_Worker(function, waiting, ended) for _ in range(min(jobs, len(inputs)))]
    try:
        for _ in inputs:
            yield ended.get()
    finally:
        for worker in workers:
            worker.end()
        for worker in workers:
            worker.join()


class _Worker(threading.Thread):
    """A thread that waits for a process, and starts another if it dies."""

    def __init__(self, function: Callable[[T], Any], waiting: Any, ended: Any) -> None:
        super().__init__(daemon=True)
        self._function, self._waiting, self._ended = function, waiting, ended
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._stopped = threading.Lock(), False
        self.start()

    def run(self) -> None:
        with suppress(queue.Empty):
            while not self._stopped:
                place, given = self._waiting.get_nowait()
                self._ended.put(self._play(place, given))
        self.end()

    def end(self) -> None:
        with self._lock:
            self._stopped = True
            self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _play(self, place: int, given: Any) -> Done:
        try:
            with self._lock:
                if self._stopped:
                    return Done(place, error=WorkerDiedError("stopped"))
                process = self._process = self._process or _start()
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump((self._function, given), process.stdin)
            process.stdin.flush()
            value, error = pickle.load(process.stdout)
            return Done(place, value, error)
        except (EOFError, BrokenPipeError, ValueError, pickle.UnpicklingError) as error:
            with self._lock:
                self._kill()
            return Done(place, error=WorkerDiedError(f"its process died ({type(error).__name__})"))


def _start() -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )
    assert process.stdin is not None
    pickle.dump(sys.path, process.stdin)
    process.stdin.flush()
    return process


def serve() -> None:
    """The loop of such a process: calls come in, outcomes go out. It ends when the other side is gone."""
    calls: IO[bytes] = sys.stdin.buffer
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what calls print must not mix with outcomes
    # the other side may end at any moment, even before the first call or in the middle of one
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
        sys.path = pickle.load(calls)
        while True:
            function, given = pickle.load(calls)
            pickle.dump(attempt(function, given), outcomes)
            outcomes.flush()


def attempt(function: Callable[[T], Any], given: T) -> tuple[Any, Exception | None]:
    """What the function returns, or the error it raises."""
    try:
        return function(given), None
    except Exception as error:
        return None, error
