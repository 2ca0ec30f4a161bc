"""Where cells are played: in this process, in others, or on a cluster. What one cell does takes no other down."""

import os
import signal
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from dford.datasets._files import Folder
from dford.experiments.cells import Cell, Columns, play


class Outcome(NamedTuple):
    """What a worker sends back."""

    cell: Cell
    trace: Columns | None
    reason: str = ""


Outcomes = Generator[Outcome, None, None]


def outcomes(cells: list[Cell], data: Folder, jobs: int, backend: str) -> Outcomes:
    """Play cells and yield what came of each, in the order in which they end."""
    if backend == "loky" and jobs == 1:
        yield from (attempt(cell, data) for cell in cells)
    elif cells:
        try:
            yield from BACKENDS[backend](cells, data, jobs)
        except ModuleNotFoundError as error:
            remedy = {"ray": 'pip install "dford[ray]"'}.get(backend, f"pip install {error.name}")
            raise ValueError(f"backend {backend} needs {error.name}: run {remedy}") from error


def attempt(cell: Cell, data: Folder) -> Outcome:
    """Play a cell in a worker; what it raises becomes the reason that it failed."""
    try:
        return Outcome(cell, play(cell, data))
    except Exception as error:
        return Outcome(cell, None, f"{type(error).__name__}: {error}")


def _loky(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """Processes of this machine, by joblib.

    When one is killed, joblib gives up all. So what had begun is set aside, the rest goes on in new processes, and
    then those set aside are tried one by one: the one that kills its worker is found, and only it has failed.
    """
    jobs = jobs if jobs < 0 else max(jobs, 2)  # one job would be this process, which no cell may kill
    aside: list[Cell] = []
    while cells:
        begun: dict[Cell, None] = {}
        try:
            with closing(_joblib(cells, data, jobs, "loky", begun)) as ended:
                for outcome in ended:
                    del begun[outcome.cell]
                    cells = [cell for cell in cells if cell != outcome.cell]
                    yield outcome
        except RuntimeError:  # joblib's words for a worker that died
            if not begun:
                raise
            aside += begun
            cells = [cell for cell in cells if cell not in begun]
    for cell in aside:
        try:
            yield from _joblib([cell], data, jobs, "loky", {})
        except RuntimeError as error:
            yield Outcome(cell, None, f"its worker died ({type(error).__name__})")


def _joblib(cells: Iterable[Cell], data: Folder, jobs: int, backend: str, begun: dict[Cell, None]) -> Outcomes:
    import joblib

    def tasks() -> Iterator[object]:
        for cell in cells:
            begun[cell] = None
            yield joblib.delayed(attempt)(cell, data)

    try:
        with joblib.parallel_config(backend=backend, n_jobs=jobs):
            pool = joblib.Parallel(return_as="generator_unordered", batch_size=1)
            with _without_interrupts():  # the workers start here
                ended = pool(tasks())
            yield from ended
    except BaseException:
        if backend == "loky":  # leave no process behind, nor wait for any
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
        raise


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that start in here never hear of Ctrl-C.

    A terminal sends it to all processes of a command. One is enough to end the others, quietly.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _dask(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """The cluster of DASK_SCHEDULER_ADDRESS, or of the client there is; else one of this machine."""
    from distributed import Client, get_client

    try:
        get_client()
    except ValueError:
        Client(os.environ.get("DASK_SCHEDULER_ADDRESS"))
    yield from _joblib(cells, data, jobs, "dask", {})


def _ray(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """The cluster of RAY_ADDRESS, or the one connected to; else this machine.

    Without joblib: through it Ray gives nothing back before all is done, and a dead node ends everything. As tasks,
    what a dead node was at is played again elsewhere.
    """
    import ray

    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="ERROR")
    remote, left = ray.remote(attempt), iter(cells)
    playing: dict[Any, Cell] = {}
    try:
        while True:
            while (jobs < 0 or len(playing) < jobs) and (cell := next(left, None)):
                playing[remote.remote(cell, data)] = cell
            if not playing:
                return
            for task in ray.wait(list(playing))[0]:
                cell = playing.pop(task)
                try:
                    outcome = ray.get(task)
                except ray.exceptions.RayError as error:
                    outcome = Outcome(cell, None, f"its worker died ({type(error).__name__})")
                yield outcome
    finally:
        for task in playing:
            ray.cancel(task, force=True)


BACKENDS = {"loky": _loky, "dask": _dask, "ray": _ray}
