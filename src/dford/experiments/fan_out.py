"""One function, many inputs: in this process, in others, or on a cluster. A call that fails does not affect others."""

import os
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from dford.experiments.processes import Done, WorkerDiedError, attempt, attempt_elsewhere, in_processes

T = TypeVar("T")


def fan_out(
    function: Callable[[T], Any], inputs: Sequence[T], jobs: int, backend: str = "processes"
) -> Generator[Done, None, None]:
    """Call the function with each input, `jobs` at a time (-1: all there are), and yield each outcome as it arrives.

    The function and its inputs are pickled, so they must be importable by name.
    """
    if backend == "processes" and jobs == 1:
        yield from (Done(place, *attempt(function, given)) for place, given in enumerate(inputs))
    elif inputs:
        try:
            yield from BACKENDS[backend](function, inputs, jobs)
        except ModuleNotFoundError as error:
            raise ValueError(f'backend {backend} needs {error.name}: run pip install "dford[{backend}]"') from error


def _dask(function: Callable[[T], Any], inputs: Sequence[T], jobs: int) -> Generator[Done, None, None]:
    """On the cluster of DASK_SCHEDULER_ADDRESS or of an existing client, or else a local one."""
    from distributed import Client, as_completed, get_client

    try:
        client = get_client()
    except ValueError:
        client = Client(os.environ.get("DASK_SCHEDULER_ADDRESS"))
    waiting, tasks = list(enumerate(inputs))[::-1], as_completed()
    running: dict[Any, int] = {}

    def submit() -> None:
        while waiting and (jobs < 0 or len(running) < jobs):
            place, given = waiting.pop()
            task = client.submit(attempt_elsewhere, function, given, pure=False)
            running[task] = place
            tasks.add(task)

    try:
        submit()
        for task in tasks:
            place, failed = running.pop(task), task.exception()
            submit()
            yield Done(place, *(_died(failed) if failed else task.result()))
    finally:
        client.cancel(list(running))


def _ray(function: Callable[[T], Any], inputs: Sequence[T], jobs: int) -> Generator[Done, None, None]:
    """On the cluster of RAY_ADDRESS or the one already connected to, or else on this machine.

    Ray runs the tasks of a dead node again elsewhere.
    """
    import ray

    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="ERROR")
    remote, waiting = ray.remote(attempt_elsewhere), list(enumerate(inputs))[::-1]
    running: dict[Any, int] = {}
    try:
        while waiting or running:
            while waiting and (jobs < 0 or len(running) < jobs):
                place, given = waiting.pop()
                running[remote.remote(function, given)] = place
            for task in ray.wait(list(running))[0]:
                place = running.pop(task)
                try:
                    outcome = ray.get(task)
                except ray.exceptions.RayError as error:
                    outcome = _died(error)
                yield Done(place, *outcome)
    finally:
        for task in running:
            ray.cancel(task, force=True)


def _died(reason: BaseException) -> tuple[None, WorkerDiedError]:
    return None, WorkerDiedError(f"its worker died ({type(reason).__name__})")


BACKENDS = {"processes": in_processes, "dask": _dask, "ray": _ray}
