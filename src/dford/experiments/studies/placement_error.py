"""A pool of items placed: how far off the placements are, by answers an item, beside ways that know less."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from dford.experiments.studies.records import Record, Table, Task
from dford.experiments.studies.running_error import Data, Labels, Rows
from dford.learners import Auto
from dford.pool import Pool

WAYS = {"pool": "Pool", "bisection": "answers alone", "learner": "Auto alone"}
ITEMS = 2000
SHARES = (0.5, 1.0, 2.0, 3.0, 4.0)
WRONG = (0.0, 0.1)


def tasks(data: Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    """Everything there is to do for the tables."""
    return [
        (place, (dataset, way, X, y, items, wrong, run, seed))
        for run in range(runs)
        for dataset, (X, y) in data.items()
        for wrong in WRONG
        for way in ways
    ]


def place(dataset: str, way: str, X: Rows, y: Labels, items: int, wrong: float, run: int, seed: int) -> list[Record]:
    """Place some rows of a shuffle, with answers of which a share is wrong."""
    random = np.random.RandomState([seed, run])
    some = random.permutation(len(y))[: min(items, ITEMS)]
    levels, own_seed, noise = np.unique(y).tolist(), random.randint(2**31), np.random.default_rng([seed, run])

    def told(item: int, level: Any) -> bool:
        return bool((y[some[item]] > level) != (noise.random() < wrong))

    names = {"dataset": dataset, "way": way, "wrong": wrong, "run": run + 1}
    figures = _WAYS[way](X[some], levels, own_seed, told, [round(share * len(some)) for share in SHARES])
    return [
        names | {"answers": share, "mae": float(np.abs(placed - y[some]).mean()), "expected": expected}
        for share, (placed, expected) in zip(SHARES, figures, strict=True)
    ]


Told = Callable[[int, Any], bool]
Figures = Iterator[tuple[Any, float]]


def _by_pool(X: Rows, levels: list[Any], seed: int, told: Told, stops: Sequence[int]) -> Figures:
    pool, n = Pool(X, levels, random_state=seed), 0
    for stop in stops:
        while n < stop and (question := pool.ask()) is not None:
            pool.tell(question, told(question.item, question.level))
            n += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the audit contradicts it: the table has the error beside it
            expected = pool.expected_error_
        yield pool.levels_, expected


def _by_answers_alone(X: Rows, levels: list[Any], seed: int, told: Told, stops: Sequence[int]) -> Figures:
    """The same without features: bisection from the shares of the levels."""
    return _by_pool(np.empty((len(X), 0)), levels, seed, told, stops)


def _by_learner(X: Rows, levels: list[Any], seed: int, told: Told, stops: Sequence[int]) -> Figures:
    """The learner asks about item after item, and then says of each what it would of a stranger with its features."""
    model, n = Auto(levels=levels, random_state=seed), 0
    for stop in stops:
        while n < stop:
            question = model.ask(X[n % len(X)])
            model.tell(question, told(n % len(X), question.level))
            n += 1
        yield model.predict(X), float("nan")


_WAYS: dict[str, Callable[..., Figures]] = {
    "pool": _by_pool,
    "bisection": _by_answers_alone,
    "learner": _by_learner,
}


def tables(records: Sequence[Record]) -> list[Table]:
    """A table a share of wrong answers: the errors, and the one that the pool expects."""
    datasets, ways = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "way"))
    runs = max(record["run"] for record in records)
    found = []
    for wrong in dict.fromkeys(record["wrong"] for record in records):
        rows = []
        for dataset in datasets:
            own = [r for r in records if (r["dataset"], r["wrong"]) == (dataset, wrong)]
            cells = [_cells([r for r in own if r["way"] == way], "mae") for way in ways]
            if "pool" in ways:
                cells.insert(1 + ways.index("pool"), _cells([r for r in own if r["way"] == "pool"], "expected"))
            rows.append([dataset, *cells])
        header = ["dataset", *(WAYS[way] for way in ways)]
        if "pool" in ways:
            header.insert(2 + ways.index("pool"), "Pool expects")
        shares = " / ".join(f"{share:g}" for share in SHARES)
        mean = f"mean of {runs} runs" if runs > 1 else "one run"
        title = f"Levels off after {shares} answers an item, {wrong:.0%} of them wrong, {mean}"
        found.append(Table(title, header, rows))
    return found


def _cells(records: Sequence[Record], figure: str) -> str:
    means = [fmean(r[figure] for r in records if r["answers"] == share) for share in SHARES]
    return " / ".join(f"{mean:.3f}".removeprefix("0") for mean in means)
