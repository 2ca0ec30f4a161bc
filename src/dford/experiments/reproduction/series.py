"""Results of many runs as means with their spread."""

from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.experiments.reproduction.cells import Cell, Columns
from dford.experiments.reproduction.results import Results

COLUMNS = ("mae", "mae_asked", "crossings", "regret", "bound")


class Series(NamedTuple):
    """All runs of one learner with one set of parameters on one dataset."""

    dataset: str
    learner: str
    parameters: dict[str, Any]
    round: Ints
    """The checkpoints."""
    runs: dict[str, Floats]
    """For each column of the trace, one row per run."""

    def mean(self, column: str = "mae") -> Floats:
        """The mean over the runs, at each checkpoint."""
        mean: Floats = self.runs[column].mean(axis=0)
        return mean

    def spread(self, column: str = "mae") -> Floats:
        """The standard deviation over the runs, at each checkpoint."""
        spread: Floats = self.runs[column].std(axis=0, ddof=1 if len(self.runs[column]) > 1 else 0)
        return spread

    @property
    def end(self) -> float:
        """The running MAE after the last round."""
        return float(self.mean()[-1])


def series(results: Results, experiment: str) -> list[Series]:
    """The series of an experiment, in the order of the plan. Runs that failed are left out."""
    groups: dict[tuple[str, str, tuple[Any, ...]], list[tuple[Cell, Columns]]] = {}
    for cell, trace in results.traces.items():
        if cell.experiment == experiment:
            groups.setdefault((cell.dataset, cell.learner, cell.parameters), []).append((cell, trace))
    return [
        Series(
            dataset,
            learner,
            dict(parameters),
            np.array(members[0][1]["round"]),
            {name: np.array([trace[name] for _, trace in members], dtype=float) for name in COLUMNS},
        )
        for (dataset, learner, parameters), members in groups.items()
    ]
