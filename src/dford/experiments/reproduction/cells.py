"""A cell: one learner, on one dataset, in one run. The smallest piece of an experiment, determined by its fields."""

import ast
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np

from dford.datasets._data_folder import Folder
from dford.experiments.reproduction.paper import SETTINGS
from dford.experiments.reproduction.rows import n_levels, rows, source
from dford.learners import CLASSES, OrdinalLearner

Columns = dict[str, list[float | None]]
"""A trace as plain numbers, None for NaN."""


@dataclass(frozen=True)
class Cell:
    """Everything that determines one result, except the code."""

    experiment: str
    dataset: str
    source: str
    """A checksum of the dataset's files."""
    learner: str
    parameters: tuple[tuple[str, Any], ...]
    rounds: int
    run: int
    seed: int
    every: int = 0
    """Rounds between checkpoints; 0 for ten per decade."""

    @cached_property
    def key(self) -> str:
        """A name for the result: another cell, or other code, has another name."""
        words = json.dumps([asdict(self), code_version()], sort_keys=True)
        return hashlib.sha256(words.encode()).hexdigest()[:24]

    def __getitem__(self, parameter: str) -> Any:
        return dict(self.parameters).get(parameter)

    def __str__(self) -> str:
        words = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.experiment}: {self.learner}({words}) on {self.dataset}, run {self.run}"

    @property
    def cost(self) -> float:
        """Roughly how long it takes, in rounds on bank."""
        return self.rounds * SETTINGS[self.dataset].weight


@cache
def code_version() -> str:
    """A checksum of the code that results depend on, and of the versions of the libraries below it."""
    digest = hashlib.sha256(f"{np.__version__} {numba.__version__}".encode())
    for file in code_files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def code_files() -> list[Path]:
    """The modules of dford that this one imports, directly or not: what cells use, and nothing that only shows them.

    Packages that are only on the way to a module are left out: their modules import each other by name.
    """
    package, waiting = Path(__file__).parents[2], [Path(__file__)]
    found: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package.name:
                    home = package.parent.joinpath(*(node.module or "").split("."))
                    modules = [home / f"{alias.name}.py" for alias in node.names]
                    packages = [home / alias.name / "__init__.py" for alias in node.names]
                    inside = [file for file in modules + packages if file.is_file()]
                    itself = [] if home == package else [home.with_suffix(".py"), home / "__init__.py"]
                    waiting += inside if len(inside) == len(node.names) else [*inside, *filter(Path.is_file, itself)]
    return sorted(found)


def play(cell: Cell, data: Folder = None) -> Columns:
    """Run a cell; the same bits every time, wherever it runs."""
    if source(cell.dataset, data) != cell.source:
        raise ValueError(f"the files of {cell.dataset} have changed since the experiment was planned")
    compile_for(cell)
    # a stream apart: questions must not depend on how many numbers the rows took
    seed = np.random.RandomState([cell.seed, cell.run, 1]).randint(2**31)
    learner = _learner(cell, seed)
    for X, y in rows(cell.dataset, cell.rounds, cell.run, cell.seed, data):
        learner.partial_fit(X, y)
    trace = learner.trace_._asdict()
    return {name: [None if np.isnan(value) else value for value in column.tolist()] for name, column in trace.items()}


def compile_for(cell: Cell) -> None:
    """Compile what the cell needs, unless this process or an earlier one did.

    Processes that write numba's cache at the same time have crashed (its issues 4807 and 10128), so on one machine they
    compile one after another, and all but the first only read.
    """
    _compile(cell.learner, tuple((name, value) for name, value in cell.parameters if name in ("kernel", "window")))


@cache
def _compile(learner: str, form: tuple[tuple[str, Any], ...]) -> None:
    with _alone():
        CLASSES[learner](**dict(form), random_state=0).fit(np.eye(2), [1, 2])


@contextmanager
def _alone() -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows has no such simple lock
        yield
        return
    with (Path(tempfile.gettempdir()) / f"dford-{os.getuid()}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _learner(cell: Cell, seed: int) -> OrdinalLearner:
    checkpoints = range(cell.every, cell.rounds + 1, cell.every) if cell.every else None
    levels = range(1, n_levels(cell.dataset) + 1)
    return CLASSES[cell.learner](**dict(cell.parameters), levels=levels, checkpoints=checkpoints, random_state=seed)
