"""The results of cells: finished ones are kept, failed ones reported, and an interrupted run can continue."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dford.datasets._data_folder import Folder, data_folder
from dford.experiments.fan_out import BACKENDS, fan_out
from dford.experiments.reproduction.cells import Cell, Columns, code_version, compile_for, play
from dford.files import atomic_write


class Results(NamedTuple):
    """The results of a plan."""

    traces: dict[Cell, Columns]
    failures: dict[Cell, str]
    """The cells that raised or whose worker died, with the reason."""


def run_cells(
    cells: Sequence[Cell],
    folder: str | os.PathLike[str],
    *,
    data: Folder = None,
    jobs: int = 1,
    backend: str = "processes",
    on_progress: Callable[[Cell], None] = lambda cell: None,
) -> Results:
    """Run cells, and keep the result of each in its own file in `folder`.

    A cell whose file exists is not run again, so a second call continues where the first one stopped. The files do
    not depend on jobs or backend.

    Parameters
    ----------
    cells : sequence of Cell
        See `plan`.
    folder : path
        The folder for the files of finished cells.
    data : path, optional
        The folder of the datasets; on a cluster, one that every node has.
    jobs : int
        The number of processes; -1 for one per core, or the whole cluster.
    backend : {"processes", "ray", "dask"}
        Processes on this machine, or a cluster: see the page on reproduction.
    on_progress : callable, optional
        Called with every cell that is done, failed or not.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    folder, data = Path(folder), data_folder(data).absolute()  # a worker may have another working directory
    folder.mkdir(parents=True, exist_ok=True)
    found = {cell: _read(cell, folder) for cell in cells}
    traces: dict[Cell, Columns] = {cell: trace for cell, trace in found.items() if trace is not None}
    failures: dict[Cell, str] = {}
    for cell in traces:
        on_progress(cell)
    # the longest first, so that no long one runs alone at the end
    todo = sorted((cell for cell in cells if cell not in traces), key=lambda cell: -cell.cost)
    for cell in todo:
        compile_for(cell)  # once here, before many processes would
    for done in fan_out(partial(_trace, data=data), todo, jobs, backend):
        cell, trace = todo[done.place], done.value
        if isinstance(trace, dict):
            _write(cell, trace, folder)
            traces[cell] = trace
        else:
            failures[cell] = trace or str(done.error)
        on_progress(cell)
    # in the order of the plan, whatever finished first
    return Results({cell: traces[cell] for cell in cells if cell in traces}, failures)


def _trace(cell: Cell, data: Folder) -> Columns | str:
    """What a worker sends back: the trace, or why there is none, as text, because not every error can be pickled."""
    try:
        return play(cell, data)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _read(cell: Cell, folder: Path) -> Columns | None:
    try:
        kept = json.loads((folder / f"{cell.key}.json").read_text())
        trace: Columns = kept["trace"]
        return trace
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # a damaged one is run again
        return None


def _write(cell: Cell, trace: Columns, folder: Path) -> None:
    with atomic_write(folder / f"{cell.key}.json") as draft:
        draft.write_text(json.dumps({"cell": asdict(cell), "code": code_version(), "trace": trace}))
