"""A program that is often wrong but cheap, compared with people who are rarely wrong but expensive.

The program always gives the same answer to the same question, so asking it again says nothing about its errors.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from dford.experiments.studies.records import Record, Table, Task
from dford.experiments.studies.running_error import Data, Dataset
from dford.experiments.studies.several_people import ITEMS, expected_error, of_runs, record
from dford.learners import Auto
from dford.pool import Pool

PART = JUDGE = "judge"
WRONG = {JUDGE: 0.15, "ann": 0.05, "ben": 0.05, "cat": 0.05, "dan": 0.05}
COSTS = {name: 0.01 if name == JUDGE else 1.0 for name in WRONG}
MIXES = {"people": "people alone", "judge": "the judge alone", "both": "the judge, and people"}
TARGET = 0.1
_MOST = {"people": 4.0, "judge": 6.0, "both": 10.0}  # answers per item, at most
_LOOKS = 20  # per answer per item


def tasks(data: Data, items: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks in which a program answers too."""
    return [
        (place, (dataset, mix, given, items, run, seed))
        for run in range(runs)
        for dataset, given in data.items()
        for mix in MIXES
    ]


def place(dataset: str, mix: str, given: Dataset, items: int, run: int, seed: int) -> list[Record]:
    """Place some rows of a shuffle until the error reaches the target; one record per look, with the cost so far."""
    random = np.random.RandomState([seed, run])
    some = random.permutation(len(given.y))[: min(items, ITEMS)]
    y, levels, n = given.y[some], np.unique(given.y).tolist(), len(some)
    costs = {name: cost for name, cost in COSTS.items() if mix == "both" or (name == JUDGE) == (mix == "judge")}
    pool = Pool(
        given.X[some],
        levels,
        learner=Auto(dense=given.dense),
        programs=[JUDGE],
        costs=costs,
        random_state=random.randint(2**31),
    )
    noise = np.random.default_rng([seed, run])
    slips = noise.random((n, len(levels))) < WRONG[JUDGE]

    def told(item: int, level: Any, person: str) -> bool:
        slip = slips[item, levels.index(level)] if person == JUDGE else noise.random() < WRONG[person]
        return bool((y[item] > level) != slip)

    found, each, answers, cost = list[Record](), max(n // _LOOKS, 1), 0, 0.0
    for _ in range(round(_MOST[mix] * _LOOKS)):
        for _ in range(each):
            if (question := pool.ask()) is None:
                break  # nothing is left to ask
            pool.tell(question, told(question.item, question.level, question.person))
            answers, cost = answers + 1, cost + COSTS[question.person]
        error = float(np.abs(pool.levels_ - y).mean())
        row = record(PART, dataset, mix, run, answers=answers / n, cost=cost / n, mae=error)
        found.append(row | {"expected": expected_error(pool)})
        if error <= TARGET or question is None:
            break
    return found


def tables(records: Sequence[Record]) -> list[Table]:
    """The cost until the error reaches the target, or the error at the end."""
    own = [r for r in records if r["part"] == PART]
    if not own:
        return []
    rows = []
    for dataset in dict.fromkeys(r["dataset"] for r in own):
        row, costs = [dataset], {}
        for mix in MIXES:
            costs[mix], shown = _reached([r for r in own if (r["dataset"], r["way"]) == (dataset, mix)])
            row.append(shown)
        saved = costs["people"] / costs["both"]
        rows.append([*row, f"{saved:.1f}" if 0 < saved < math.inf else ""])
    title = f"Cost per item until the levels are {TARGET:g} off: a person's answer, 5% of which are wrong, costs 1, "
    title += f"and the judge's, 15% wrong, 0.01; {of_runs(own)}"
    return [Table(title, ["dataset", *MIXES.values(), "times cheaper"], rows)]


def _reached(records: Sequence[Record]) -> tuple[float, str]:
    ends = {r["run"]: r for r in records}  # the last look of each run
    cost, error = (fmean(r[figure] for r in ends.values()) for figure in ("cost", "mae"))
    if all(r["mae"] <= TARGET for r in ends.values()):
        return cost, f"{cost:.2f}"
    return math.inf, f"over {cost:.2f} ({error:.2f} off)"
