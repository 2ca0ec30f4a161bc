"""Which cells an experiment has, and how large they are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dford.datasets._data_folder import Folder
from dford.datasets.registry import check_name
from dford.experiments.reproduction.cells import Cell
from dford.experiments.reproduction.paper import (
    DATASETS,
    EXPLORATIONS,
    LABEL_SAMPLING,
    REGULARIZATIONS,
    SETTINGS,
    WINDOWS,
)
from dford.experiments.reproduction.rows import source


class Size(NamedTuple):
    """Runs and rounds of each experiment."""

    grid: tuple[int, int]
    truncation: tuple[int, int]
    curves: tuple[int, int]
    label_sampling: tuple[int, int]
    regret: tuple[int, int]


SIZES = {
    "quick": Size((2, 10_000), (2, 30_000), (3, 30_000), (3, 10_000), (3, 30_000)),
    "middle": Size((5, 100_000), (5, 100_000), (10, 300_000), (10, 10_000), (10, 100_000)),
    # the paper's own runs and rounds, where it gives them
    "full": Size((5, 300_000), (5, 300_000), (10, 3_000_000), (10, 10_000), (10, 300_000)),
}


class Plan(NamedTuple):
    """What to run, and what cannot be run."""

    cells: list[Cell]
    missing: dict[str, str]
    """Datasets that were left out, and why."""


def plan(
    experiments: Sequence[str],
    datasets: Sequence[str] | None = None,
    size: str = "quick",
    seed: int = 0,
    data: Folder = None,
    demonstrate_lambda: bool = False,
) -> Plan:
    """The cells of these experiments.

    Parameters
    ----------
    experiments : sequence of str
        Some of figure-1, grid, truncation, curves, label-sampling and regret; figure-1 is a formula and has no cells.
    datasets : sequence of str, optional
        Their names, all of which must be there; by default all of the paper's whose files are there.
    size : {"quick", "middle", "full"}
        How many runs and rounds; "full" is the paper's.
    seed : int
        The same seed gives the same results.
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    demonstrate_lambda : bool
        Whether the grid plays all six values of λ, which give the same figures.
    """
    for name in datasets or ():
        check_name(name, SETTINGS)
    sources, missing = {}, {}
    for name in datasets or DATASETS:
        try:
            sources[name] = source(name, data)
        except FileNotFoundError as error:
            if datasets:
                raise
            missing[name] = str(error)
    cells = []
    for experiment in experiments:
        if experiment not in EXPERIMENTS:
            raise ValueError(f"there is no experiment {experiment!r}; choose from {', '.join(EXPERIMENTS)}")
        if experiment == "figure-1":
            continue
        runs, rounds = getattr(SIZES[size], experiment.replace("-", "_"))
        lambdas = REGULARIZATIONS if demonstrate_lambda else None
        for name, known in sources.items():
            for learner, parameters in EXPERIMENTS[experiment](name, lambdas):
                every = {"label-sampling": 1_000, "truncation": rounds // 30}.get(experiment, 0)
                pairs = tuple(sorted(parameters.items()))
                cells += [
                    Cell(experiment, name, known, learner, pairs, rounds, run, seed, every) for run in range(runs)
                ]
    return Plan(cells, missing)


Variants = Iterator[tuple[str, dict[str, Any]]]


def _grid(name: str, lambdas: Sequence[float] | None) -> Variants:
    for regularization in lambdas or [SETTINGS[name].regularization]:
        for exploration in EXPLORATIONS:
            yield "DFORD", _dford(name) | {"exploration": exploration, "regularization": regularization}


def _truncation(name: str, _: Any) -> Variants:
    if SETTINGS[name].degree:
        for window in (*WINDOWS, None):
            yield "DFORD", _dford(name) | {"window": window}


def _curves(name: str, _: Any) -> Variants:
    yield "DFORD", _dford(name)
    # The paper clips only in DFORD. Kernels need no truncation here, and it only hurts: see the truncation experiment.
    for baseline in ("PRank", "PRIL"):
        yield baseline, SETTINGS[name].kernel


def _label_sampling(name: str, _: Any) -> Variants:
    if name in LABEL_SAMPLING:
        for exploration in LABEL_SAMPLING[name]:
            yield "DFORD", _dford(name) | {"exploration": exploration}


def _regret(name: str, _: Any) -> Variants:
    yield "DFORD", _dford(name) | {"clip": None}  # the theorem is about the unclipped learner


def _dford(name: str) -> dict[str, Any]:
    settings = SETTINGS[name]
    chosen = {"regularization": settings.regularization, "exploration": settings.exploration, "clip": settings.clip}
    return settings.kernel | chosen


EXPERIMENTS: dict[str, Callable[[str, Sequence[float] | None], Variants]] = {
    "figure-1": lambda _, __: iter(()),
    "grid": _grid,
    "truncation": _truncation,
    "curves": _curves,
    "label-sampling": _label_sampling,
    "regret": _regret,
}
