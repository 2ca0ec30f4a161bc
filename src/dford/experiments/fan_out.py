"""Cells over processes or a cluster: finished ones are kept, failed ones told, and what stops can go on."""

import json
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from dford.datasets._files import Folder, data_folder
from dford.experiments.cells import Cell, Columns, code_version, compile_for, play

BACKENDS = ("loky", "ray", "dask")


class Results(NamedTuple):
    """What came of a plan."""

    traces: dict[Cell, Columns]
    failures: dict[Cell, str]
    """The reason, of cells that raised or whose worker died."""


class Outcome(NamedTuple):
    """What a worker sends back."""

    cell: Cell
    trace: Columns | None
    reason: str = ""


def run_cells(
    cells: Sequence[Cell],
    folder: str | os.PathLike[str],
    *,
    data: Folder = None,
    jobs: int = 1,
    backend: str = "loky",
    told: Callable[[Cell], None] = lambda cell: None,
) -> Results:
    """Run cells, and keep each in a file of its own in `folder`.

    A cell whose file is there is not run again, so a second call goes on where the first one stopped. The files do
    not depend on jobs or backend.

    Parameters
    ----------
    cells : sequence of Cell
        See `plan`.
    folder : path
        Where the files of finished cells are.
    data : path, optional
        The folder of the datasets; with a cluster, one that every node has.
    jobs : int
        Processes at once; -1 for one a core, or all that the cluster has.
    backend : {"loky", "ray", "dask"}
        Processes of this machine, or a cluster: see the page on reproduction.
    told : callable, optional
        Called with every cell that is done, failed or not.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    folder, data = Path(folder), data_folder(data).absolute()  # a worker may stand elsewhere
    folder.mkdir(parents=True, exist_ok=True)
    found = {cell: _read(cell, folder) for cell in cells}
    traces: dict[Cell, Columns] = {cell: trace for cell, trace in found.items() if trace is not None}
    failures: dict[Cell, str] = {}
    for cell in traces:
        told(cell)
    # the longest first, so that none is left alone at the end
    todo = sorted((cell for cell in cells if cell not in traces), key=lambda cell: -cell.cost)
    for cell in todo:
        compile_for(cell)  # here, once, before many processes would
    for outcome in _outcomes(todo, data, jobs, backend):
        if outcome.trace is None:
            failures[outcome.cell] = outcome.reason
        else:
            _write(outcome.cell, outcome.trace, folder)
            traces[outcome.cell] = outcome.trace
        told(outcome.cell)
    # in the order of the plan, whichever came first
    return Results({cell: traces[cell] for cell in cells if cell in traces}, failures)


def attempt(cell: Cell, data: Folder) -> Outcome:
    """Play a cell in a worker: what it raises is its own, and takes no other down."""
    try:
        return Outcome(cell, play(cell, data))
    except Exception as error:
        return Outcome(cell, None, f"{type(error).__name__}: {error}")


def _outcomes(cells: list[Cell], data: Folder, jobs: int, backend: str) -> Iterator[Outcome]:
    if backend == "loky" and jobs == 1:
        yield from (attempt(cell, data) for cell in cells)
        return
    alone: list[Cell] = []
    while cells:
        begun: dict[Cell, None] = {}
        try:
            with closing(_pool(cells, data, jobs, backend, begun)) as outcomes:
                for outcome in outcomes:
                    del begun[outcome.cell]
                    cells = [cell for cell in cells if cell != outcome.cell]
                    yield outcome
        except GeneratorExit:
            raise
        except Exception:
            # A worker died under a cell, and with it the pool. One of those begun may have killed it.
            if not begun:
                raise
            alone += begun
            cells = [cell for cell in cells if cell not in begun]
    for cell in alone:
        try:
            yield from _pool([cell], data, jobs, backend, {})
        except Exception as error:
            yield Outcome(cell, None, f"its worker died ({type(error).__name__})")


def _pool(
    cells: Iterable[Cell], data: Folder, jobs: int, backend: str, begun: dict[Cell, None]
) -> Generator[Outcome, None, None]:
    import joblib

    _connect(backend)

    def tasks() -> Iterator[object]:
        for cell in cells:
            begun[cell] = None
            yield joblib.delayed(attempt)(cell, data)

    # one job would be this process, which a cell must not be able to kill
    jobs = max(jobs, 2) if backend == "loky" and jobs > 0 else jobs
    try:
        with joblib.parallel_config(backend=backend, n_jobs=jobs):
            pool = joblib.Parallel(return_as="generator_unordered", batch_size=1)
            with _without_interrupts():  # the workers start here
                outcomes = pool(tasks())
            yield from outcomes
    except BaseException:
        if backend == "loky":
            _end_workers()
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


def _end_workers() -> None:
    """Leave no process behind, nor wait for any."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _connect(backend: str) -> None:
    try:
        if backend == "ray":
            import ray
            from ray.util.joblib import register_ray

            if not ray.is_initialized():
                ray.init(log_to_driver=False, logging_level="ERROR")  # the cluster of RAY_ADDRESS, else this machine
            register_ray()
        elif backend == "dask":
            from distributed import Client, get_client

            try:
                get_client()
            except ValueError:
                Client(os.environ.get("DASK_SCHEDULER_ADDRESS"))
    except ImportError as error:
        remedy = {"ray": 'pip install "dford[ray]"', "dask": "pip install distributed"}[backend]
        raise ValueError(f"backend {backend} needs {error.name}: run {remedy}") from None


def _read(cell: Cell, folder: Path) -> Columns | None:
    try:
        kept = json.loads((folder / f"{cell.key}.json").read_text())
        trace: Columns = kept["trace"]
        return trace
    except (FileNotFoundError, ValueError, KeyError):
        return None


def _write(cell: Cell, trace: Columns, folder: Path) -> None:
    """Whole or not at all."""
    path = folder / f"{cell.key}.json"
    unfinished = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        unfinished.write_text(json.dumps({"cell": asdict(cell), "code": code_version(), "trace": trace}))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
