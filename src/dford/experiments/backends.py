"""Where cells are played: in this process, in others, or on a cluster. What one cell does takes no other down."""

import os
from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from dford.datasets._files import Folder
from dford.experiments import processes
from dford.experiments.cells import Cell, Columns, play


class Outcome(NamedTuple):
    """What a worker sends back."""

    cell: Cell
    trace: Columns | None
    reason: str = ""


Outcomes = Generator[Outcome, None, None]


def outcomes(cells: list[Cell], data: Folder, jobs: int, backend: str) -> Outcomes:
    """Play cells and yield what came of each, in the order in which they end."""
    if backend == "processes" and jobs == 1:
        yield from (attempt(cell, data) for cell in cells)
    elif cells:
        try:
            yield from BACKENDS[backend](cells, data, jobs)
        except ModuleNotFoundError as error:
            raise ValueError(f'backend {backend} needs {error.name}: run pip install "dford[{backend}]"') from error


def attempt(cell: Cell, data: Folder) -> Outcome:
    """Play a cell in a worker; what it raises becomes the reason that it failed."""
    try:
        return Outcome(cell, play(cell, data))
    except Exception as error:
        return Outcome(cell, None, f"{type(error).__name__}: {error}")


def _processes(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """Other processes of this machine, so that no cell can kill this one."""
    with closing(processes.results(partial(attempt, data=data), cells, jobs)) as ended:
        for done in ended:
            yield done.value or Outcome(cells[done.place], None, str(done.error))


def _dask(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """The cluster of DASK_SCHEDULER_ADDRESS, or of the client there is; else one of this machine."""
    from distributed import Client, as_completed, get_client

    try:
        client = get_client()
    except ValueError:
        client = Client(os.environ.get("DASK_SCHEDULER_ADDRESS"))
    playing = {client.submit(attempt, cell, data, pure=False): cell for cell in cells}
    try:
        for task in as_completed(playing):
            failed = task.exception()
            reason = f"its worker died ({type(failed).__name__})"
            yield task.result() if failed is None else Outcome(playing[task], None, reason)
    finally:
        client.cancel(list(playing))


def _ray(cells: list[Cell], data: Folder, jobs: int) -> Outcomes:
    """The cluster of RAY_ADDRESS, or the one connected to; else this machine.

    As tasks, what a dead node was at is played again elsewhere.
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


BACKENDS = {"processes": _processes, "dask": _dask, "ray": _ray}
