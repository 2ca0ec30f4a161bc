"""The table of docs/people.md on language models as judges: their ratings as columns, or as what programs say.

python benchmarks/judges.py FOLDER [RUNS], where FOLDER has the file judges.csv of the LLMJudge challenge: a query, a
passage, the level that a trained person gave the pair, and the levels that models gave it.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from dford import Pool

LEVELS, PAIRS = [0, 1, 2, 3], 2000
SHARES = (0.0, 0.25, 0.5, 1.0, 1.5)  # right answers of a person per pair
JUDGES = {"none": 0, "one": 1, "five": 5, "the five most alike": 5, "twenty": 20}
WAYS = ("columns", "programs")


def place(folder: Path, judges: str, way: str, has_query: bool, run: int) -> list[tuple[float, float]]:
    """How far off the levels are, and are expected to be, after each share of answers."""
    table = pd.read_csv(folder / "judges.csv")
    table = table.iloc[np.random.RandomState(run).permutation(len(table))[:PAIRS]].reset_index(drop=True)
    right, random = table["level"].to_numpy(), np.random.RandomState([run, 1])
    said = table.filter(like="judge").clip(0, 3)
    names = random.permutation(said.columns).tolist()
    if "alike" in judges:
        names = said.corr().sum().sort_values(ascending=False).index.tolist()
    said = said[names[: JUDGES[judges]]]
    X = said if way == "columns" else said[[]]
    if has_query:
        X = X.assign(query="query " + table["query"].astype(str))
    is_empty = not X.shape[1]
    programs = list(said) if way == "programs" else []
    pool = Pool(np.empty((PAIRS, 0)) if is_empty else X, LEVELS, programs=programs, random_state=run)
    for name in programs:
        pool.rate({"item": range(PAIRS), "level": said[name].tolist(), "person": [name] * PAIRS})
    found, n = [], 0
    for share in SHARES:
        for _ in range(n, round(share * PAIRS)):
            question = pool.ask()
            pool.tell(question, bool(right[question.item] > question.level))
        n = round(share * PAIRS)
        found.append((float(np.abs(pool.levels_ - right).mean()), pool._placements.expected_error()))
    return found


def rows(folder: Path, runs: int) -> Iterator[list[str]]:
    """The rows of the table."""
    cells = [one for one in product(JUDGES, WAYS, (False, True)) if one[0] != "none" or one[1] == "columns"]
    with ProcessPoolExecutor(2) as processes:
        tasks = [[processes.submit(place, folder, *cell, run) for run in range(runs)] for cell in cells]
        for (judges, way, has_query), waiting in zip(cells, tasks, strict=True):
            found: list[Any] = [task.result() for task in waiting]
            off, expected = (
                " / ".join(f"{fmean(one[k][figure] for one in found):.3f}" for k in range(len(SHARES)))
                for figure in (0, 1)
            )
            yield [judges, "" if judges == "none" else way, "yes" if has_query else "", off, expected]


def main() -> None:
    folder, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    after = " / ".join(f"{share:g}" for share in SHARES)
    print(f"**Levels off after {after} right answers per pair; {PAIRS:,} pairs, {runs} run{'s' * (runs > 1)}**\n")
    print("| judges | as | with the query | off | expected |\n| --- | --- | --- | ---: | ---: |")
    for row in rows(folder, runs):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
