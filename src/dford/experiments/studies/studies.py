"""The studies by name: what each runs, on what, and which tables it makes."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from dford.datasets.judges import JUDGES
from dford.datasets.rated_texts import TEXTS
from dford.datasets.raters import OFFENSIVE, RATERS
from dford.datasets.registry import check_name
from dford.experiments.studies import (
    cheap_judge,
    held_out,
    judges,
    noise_and_drift,
    placement_error,
    real_people,
    running_error,
    several_people,
)
from dford.experiments.studies.records import Record, Table, Task


class Study(NamedTuple):
    """A study: its tasks, and the tables made from their results."""

    learners: Sequence[str]
    """All that can take part."""
    usual: Sequence[str]
    """Those that take part by default."""
    datasets: Sequence[str]
    """Those used by default."""
    runs: int
    tasks: Callable[[running_error.Data, Sequence[str], int, int, int], list[Task]]
    """A function of data, learners, rounds, runs and seed."""
    tables: Callable[[Sequence[Record]], list[Table]]
    dense: Collection[str] = ()
    """Learners that cannot learn from texts."""
    takes_own: bool = False
    """Whether the user's own learners can take part."""
    takes_labels: bool = False
    """Whether datasets of labels by people, without features, can take part."""


def _people_tasks(data: running_error.Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    plain = {name: given for name, given in data.items() if given.labelled is None and given.raters is None}
    simulated = [way for way in ways if way in several_people.WAYS]
    return [
        *several_people.tasks(plain, simulated, items, runs, seed),
        *real_people.tasks(data, ways, items, runs, seed),
        *(cheap_judge.tasks(plain, items, runs, seed) if cheap_judge.JUDGE in ways else []),
    ]


def _people_tables(records: Sequence[Record]) -> list[Table]:
    return [table for study in (several_people, real_people, cheap_judge) for table in study.tables(records)]


_PEOPLE = tuple(dict.fromkeys([*several_people.WAYS, *real_people.WAYS, cheap_judge.JUDGE]))
_FEW = ("abalone", "california", "synthetic-poly")
STUDIES = {
    "pass": Study(
        tuple(running_error.TITLES),
        running_error.DEFAULT_LEARNERS,
        running_error.DATASETS,
        10,
        running_error.pass_tasks,
        running_error.pass_tables,
        ("boosting",),
        takes_own=True,
    ),
    "split": Study(
        tuple(held_out.MODELS),
        [name for name in held_out.MODELS if name != "NNOP"],  # it takes as long as all the others together
        [name for name in running_error.DATASETS if name != "synthetic-poly"],
        3,
        held_out.split_tasks,
        held_out.split_tables,
        held_out.DENSE,
        takes_own=True,
    ),
    "flips": Study(
        ("newton", "auto"),
        ("newton", "auto"),
        _FEW,
        3,
        noise_and_drift.flip_tasks,
        noise_and_drift.flip_tables,
        takes_own=True,
    ),
    "drift": Study(
        tuple(noise_and_drift.FORGETS),
        tuple(noise_and_drift.FORGETS),
        ("synthetic-poly",),
        10,
        noise_and_drift.drift_tasks,
        noise_and_drift.drift_tables,
    ),
    "reliability": Study(
        held_out.OWN,
        ("newton", "auto"),
        ("california", "computer", "synthetic"),
        3,
        held_out.reliability_tasks,
        held_out.reliability_tables,
        held_out.DENSE,
    ),
    "pool": Study(
        tuple(placement_error.WAYS),
        placement_error.DEFAULT_WAYS,
        [name for name in running_error.DATASETS if name != "synthetic-poly"],
        5,
        placement_error.tasks,
        placement_error.tables,
    ),
    "people": Study(
        _PEOPLE,
        _PEOPLE,
        [*(name for name in running_error.DATASETS if name != "synthetic-poly"), RATERS, OFFENSIVE, *TEXTS],
        3,
        _people_tasks,
        _people_tables,
        takes_labels=True,
    ),
    JUDGES: Study(judges.WAYS, judges.WAYS, [JUDGES], 5, judges.tasks, judges.tables),
}


def pick(names: str, known: Collection[str], what: str) -> list[str]:
    """The names in a comma-separated list; ValueError if one is unknown."""
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        check_name(name, known, what)
    return list(dict.fromkeys(chosen))
