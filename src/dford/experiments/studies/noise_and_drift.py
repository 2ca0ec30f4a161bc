"""Wrong answers, and a scale that turns around."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from dford.arrays import Ints
from dford.experiments.own_learner import is_own, new_own
from dford.experiments.studies.records import Record, Table, Task
from dford.experiments.studies.running_error import Data, title
from dford.learners import Auto, NewtonLogit, Rows

FLIPS = (0.0, 0.1, 0.3)
FORGETS = {"newton": 0.0, "newton-forget": 0.02}
WINDOWS = 40


def flip_tasks(data: Data, learners: Sequence[str], rounds: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the table of wrong answers."""
    return [
        (play_flipped, (dataset, learner, given.X, given.y, flip, rounds, run, seed, given.dense))
        for run in range(runs)
        for dataset, given in data.items()
        for learner in learners
        for flip in FLIPS
    ]


def play_flipped(
    dataset: str, learner: str, X: Rows, y: Ints, flip: float, rounds: int, run: int, seed: int,
    dense: int | None = None,
) -> list[Record]:  # fmt: skip
    """One pass in which every answer is wrong with probability `flip`; the recorded error is the true one."""
    random = np.random.RandomState([seed, run])
    order = random.permutation(len(y))[:rounds]
    common: dict[str, Any] = {"levels": np.unique(y).tolist(), "random_state": random.randint(2**31)}
    features: dict[str, Any] = {"features": "poly"} if dataset.endswith("-poly") else {}
    if is_own(learner):
        model: Any = new_own(learner, **common)
    else:
        model = Auto(dense=dense, **common) if learner == "auto" else NewtonLogit(**common, **features)
    wrong, error = random.uniform(size=len(order)) < flip, 0
    for place, lie in zip(order, wrong, strict=True):
        question = model.ask(X[place])
        error += abs(int(question.prediction) - int(y[place]))
        model.tell(question, bool((y[place] > question.level) != lie))
    return [{"dataset": dataset, "learner": learner, "flip": flip, "run": run + 1, "mae": error / len(order)}]


def flip_tables(records: Sequence[Record]) -> list[Table]:
    datasets, learners = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "learner"))
    rows = [
        [
            d,
            *(
                f"{fmean(r['mae'] for r in records if (r['dataset'], r['learner'], r['flip']) == (d, k, flip)):.3f}"
                for k in learners
                for flip in FLIPS
            ),
        ]
        for d in datasets
    ]
    runs = max(record["run"] for record in records)
    header = ["dataset", *(f"{title(k)}, {flip:.0%} wrong" for k in learners for flip in FLIPS)]
    return [Table(f"Running MAE in levels where answers are wrong at random, mean of {runs} shuffles", header, rows)]


def drift_tasks(data: Data, learners: Sequence[str], rounds: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the table of drift."""
    return [
        (drift, (dataset, learner, given.X, given.y, rounds, run, seed))
        for run in range(runs)
        for dataset, given in data.items()
        for learner in learners
    ]


def drift(dataset: str, learner: str, X: Rows, y: Ints, rounds: int, run: int, seed: int) -> list[Record]:
    """One pass in which the scale turns round half-way: from then on, what was the highest level is the lowest."""
    random = np.random.RandomState([seed, run])
    order = random.permutation(len(y))[:rounds]
    n, levels = len(order), np.unique(y)
    turned = np.where(np.arange(n) < n // 2, y[order], levels[0] + levels[-1] - y[order])
    model = NewtonLogit(
        features="poly" if dataset.endswith("-poly") else "linear",
        forget=FORGETS[learner],
        checkpoints=np.unique(np.linspace(0, n, WINDOWS + 1).astype(int)[1:]).tolist(),
        random_state=random.randint(2**31),
    )
    trace = model.partial_fit(X[order], turned, classes=levels.tolist()).trace_
    answers = np.diff(trace.round, prepend=0)
    errors = np.diff(trace.round * trace.mae, prepend=0.0) / answers
    names = {"dataset": dataset, "learner": learner, "run": run + 1}
    return [names | {"answers": int(n), "mae": float(e)} for n, e in zip(trace.round, errors, strict=True)]


def drift_tables(records: Sequence[Record]) -> list[Table]:
    """The mean error in each quarter of the pass."""
    datasets, learners = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "learner"))
    rows = []
    for d in datasets:
        end = max(r["answers"] for r in records if r["dataset"] == d)
        for k in learners:
            own = [r for r in records if (r["dataset"], r["learner"]) == (d, k)]
            quarters = [[r["mae"] for r in own if q * end < 4 * r["answers"] <= (q + 1) * end] for q in range(4)]
            rows.append([d, f"{FORGETS[k]:g}", *(f"{fmean(quarter):.3f}" for quarter in quarters)])
    quarters_named = ["first quarter", "second", "third, turned round", "fourth"]
    title = "MAE of NewtonLogit by quarter of the pass; the scale turns round half-way"
    return [Table(title, ["dataset", "forget", *quarters_named], rows)]
