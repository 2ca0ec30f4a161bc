"""The studies by name."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from dford.datasets.registry import check_name
from dford.experiments import compare, split, trouble
from dford.experiments._work import Record, Table, Task


class Study(NamedTuple):
    """What to do, and what to make of it."""

    learners: Sequence[str]
    """All that may take part."""
    usual: Sequence[str]
    """Those that do where none is named."""
    datasets: Sequence[str]
    """Those that are taken where none is named."""
    runs: int
    tasks: Callable[[compare.Data, Sequence[str], int, int, int], list[Task]]
    """From data, learners, rounds, runs and seed."""
    tables: Callable[[Sequence[Record]], list[Table]]


_FEW = ("abalone", "california", "synthetic-poly")
STUDIES = {
    "pass": Study(
        tuple(compare.LEARNERS),
        compare.DEFAULT_LEARNERS,
        compare.DATASETS,
        10,
        compare.pass_tasks,
        compare.pass_tables,
    ),
    "split": Study(
        tuple(split.MODELS),
        [name for name in split.MODELS if name != "NNOP"],  # alone, it takes as long as all the others
        [name for name in compare.DATASETS if name != "synthetic-poly"],
        3,
        split.split_tasks,
        split.split_tables,
    ),
    "flips": Study(("newton", "auto"), ("newton", "auto"), _FEW, 3, trouble.flip_tasks, trouble.flip_tables),
    "drift": Study(
        tuple(trouble.FORGETS),
        tuple(trouble.FORGETS),
        ("synthetic-poly",),
        10,
        trouble.drift_tasks,
        trouble.drift_tables,
    ),
    "reliability": Study(
        split.OWN,
        ("newton", "auto"),
        ("california", "computer", "synthetic"),
        3,
        split.reliability_tasks,
        split.reliability_tables,
    ),
}


def pick(names: str, known: Collection[str], what: str) -> list[str]:
    """The names in a list with commas; ValueError where one is not known."""
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        check_name(name, known, what)
    return list(dict.fromkeys(chosen))
