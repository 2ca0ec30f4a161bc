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
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Outcome = tuple[Any, BaseException | None]
"""A value, or what was raised."""
_SERVE = "from dford.experiments.processes import serve; serve()"


_NOT_PICKLABLE = (
    "{what} cannot be passed between processes ({why}); use one process, or only classes and functions that can be "
    "imported by name"
)


class NotPicklableError(ValueError):
    """Something cannot be passed between processes."""


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
                try:
                    outcome = self._play(given)
                except Exception as error:  # whoever waits for the outcome must get one
                    outcome = None, error
                self._ended.put(Done(place, *outcome))
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

    def _play(self, given: Any) -> Outcome:
        call = _packed((self._function, given), "what a task gets")
        try:
            with self._lock:
                if self._stopped:
                    return None, WorkerDiedError("stopped")
                process = self._process = self._process or _start()
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(call, process.stdin)
            process.stdin.flush()
            outcome = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, ValueError, pickle.UnpicklingError):
            with self._lock:
                self._kill()
            return None, WorkerDiedError("its process died, or was killed, perhaps for lack of memory")
        found: Outcome = _unpacked(outcome, "what a task returned")
        return found


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
    calls, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what calls read must not be the next call,
    os.dup2(2, 1)  # and what they print must not mix with outcomes
    # the other side may end at any moment, even before the first call or in the middle of one
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
        sys.path = pickle.load(calls)
        while True:
            pickle.dump(_called(pickle.load(calls)), outcomes)
            outcomes.flush()


def _called(call: bytes) -> bytes:
    """The outcome of a call; both are pickled apart from the stream, which stays in step if they cannot be."""
    try:
        function, given = _unpacked(call, "what a task gets")
        return _packed(attempt_elsewhere(function, given), "what a task returned")
    except Exception as error:
        return pickle.dumps((None, error))


def _packed(content: Any, what: str) -> bytes:
    try:
        return pickle.dumps(content)
    except Exception as error:  # it runs the code of whatever is in there
        raise NotPicklableError(_NOT_PICKLABLE.format(what=what, why=_in_words(error))) from None


def _unpacked(content: bytes, what: str) -> Any:
    try:
        return pickle.loads(content)
    except Exception as error:
        raise NotPicklableError(_NOT_PICKLABLE.format(what=what, why=_in_words(error))) from None


def attempt(function: Callable[[T], Any], given: T) -> Outcome:
    """What the function returns, or the error it raises."""
    try:
        return function(given), None
    except Exception as error:
        return None, error


def attempt_elsewhere(function: Callable[[T], Any], given: T) -> Outcome:
    """The same in another process: an error that would not arrive there is replaced by one that says the same."""
    value, error = attempt(function, given)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # as of a class that takes more than its message, or has a lock
        return None, RuntimeError(_in_words(error))
    return value, error


def _in_words(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"
