"""Whether a pool's expected error is true: tables of docs/pool.md, `lopsided` and `mistaken`, by `make calibration`.

Four columns tell something of the level, or nothing; the true levels are known here alone.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from dford import Pool

SHARES = {
    "70 / 20 / 7 / 3": (0.70, 0.20, 0.07, 0.03),
    "90 / 5 / 3 / 2": (0.90, 0.05, 0.03, 0.02),
    "50 / 0 / 0 / 50": (0.5, 0.0, 0.0, 0.5),
    "25 / 25 / 25 / 25": (0.25, 0.25, 0.25, 0.25),
}
COLUMNS = ("useful", "useless")
SIZES = (80, 150, 300)
WRONG = (0.0, 0.1, 0.2, 0.3)
POOLS = 10  # of each kind
UNTIL, CLAIM = 0.1, 0.9
TIMES = (1, 2, 3, 4)  # answers per item


class Found(NamedTuple):
    """A pool at one time."""

    answers: float
    """Per item."""
    true: float
    expected: float
    held: float
    """The share of items whose level is in the smallest set of levels with a probability of 0.9."""


def world(shares: tuple[float, ...], columns: str, n: int, seed: int) -> tuple[Any, Any]:
    random = np.random.RandomState(seed)
    X = random.randn(n, 4)
    score = random.randn(n) if columns == "useless" else X @ [1.0, -1.0, 0.5, 0.0] / 1.5 + 0.5 * random.randn(n)
    ranks = np.argsort(np.argsort(score))
    return X, np.searchsorted(np.round(np.cumsum(shares) * n), ranks, side="right")


def look(pool: Pool, y: Any) -> Found:
    chances = pool.probabilities_
    own = chances[np.arange(len(y)), y]
    likelier = np.where(chances > own[:, None], chances, 0.0).sum(axis=1)
    true = float(np.abs(pool.levels_ - y).mean())
    return Found(len(pool.log_) / len(y), true, float(pool.expected_error_), float((likelier < CLAIM).mean()))


def answered(shares: tuple[float, ...], columns: str, n: int, seed: int, wrong: float) -> Iterator[tuple[Pool, Any]]:
    """A pool, after every answer."""
    X, y = world(shares, columns, n, 1000 + seed)
    pool, random = Pool(X, range(len(shares)), random_state=seed), np.random.default_rng(seed)
    while (question := pool.ask()) is not None:
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)))
        yield pool, y


def at_stop(shares: str, columns: str, n: int, seed: int) -> Found:
    for pool, y in answered(SHARES[shares], columns, n, seed, 0.0):
        if pool.expected_error_ <= UNTIL:
            return look(pool, y)
    raise RuntimeError("it ended without ever being sure")


def at_times(wrong: float, shares: str, columns: str, n: int, seed: int) -> list[Found]:
    pools = islice(answered(SHARES[shares], columns, n, seed, wrong), TIMES[-1] * n)
    return [look(pool, y) for count, (pool, y) in enumerate(pools, 1) if count % n == 0]


def lopsided(run: Any) -> Iterator[str]:
    yield "| shares of the levels | columns | " + " | ".join(f"{n} items" for n in SIZES) + " |"
    yield "| --- | --- |" + " ---: |" * len(SIZES)
    for shares, columns in product(SHARES, COLUMNS):
        cells = []
        for n in SIZES:
            found = list(run(at_stop, [(shares, columns, n, seed) for seed in range(POOLS)]))
            true = [one.true for one in found]
            cells.append(f"{np.mean(true):.2f}, {max(true):.2f} ({np.mean([one.answers for one in found]):.1f})")
        yield f"| {shares} | {columns} | " + " | ".join(cells) + " |"


def mistaken(run: Any) -> Iterator[str]:
    yield "| wrong | items | true error | expected | less than half expected | sets that hold |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for n, wrong in product((80, 300), WRONG):
        kinds = product((wrong,), ("25 / 25 / 25 / 25", "70 / 20 / 7 / 3"), COLUMNS, (n,), range(POOLS))
        found = np.array(list(run(at_times, list(kinds))))  # pools, times, figures
        true, expected, held = (found[:, :, figure] for figure in (1, 2, 3))
        cells = [true.mean(axis=0), expected.mean(axis=0), (expected < true / 2).mean(axis=0), held.mean(axis=0)]
        text = (" / ".join(f"{one:.2f}" for one in cell) for cell in cells)
        yield f"| {wrong:.0%} | {n} | " + " | ".join(text) + " |"


TABLES = {"lopsided": lopsided, "mistaken": mistaken}


def main() -> None:
    with ProcessPoolExecutor(os.cpu_count(), initializer=warnings.simplefilter, initargs=("ignore",)) as processes:

        def run(work: Any, kinds: list[Any]) -> Any:
            return processes.map(work, *zip(*kinds, strict=True))

        for line in TABLES[sys.argv[1]](run):
            print(line, flush=True)


if __name__ == "__main__":
    main()
