"""Whether a pool's figures are true: tables of docs/pool.md, by `make calibration`.

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

from dford import NewtonLogit, Pool

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


AUDITED, ITEMS, TARGET = 40, 200, 0.2  # pools of each kind, their items, and what is to be certified
PEOPLE = ("ann", "ben", "cat")


class Kind(NamedTuple):
    """Pools whose audits are looked at."""

    shares: tuple[float, ...]
    columns: str = "useful"
    wrong: float = 0.0
    spread: float = 0.0
    """How much three people differ in their opinions about an item, whose levels are as wide as 1; 0 for one person."""


KINDS = {
    "two levels": Kind((0.6, 0.4)),
    "four levels": Kind((0.25,) * 4),
    "twenty levels": Kind((0.05,) * 20),
    "70 / 20 / 7 / 3": Kind((0.70, 0.20, 0.07, 0.03)),
    "useless columns": Kind((0.25,) * 4, "useless"),
    "a learner that cannot learn": Kind((0.25,) * 4, "curved"),
    "10% wrong": Kind((0.25,) * 4, wrong=0.1),
    "20% wrong": Kind((0.25,) * 4, wrong=0.2),
    "three people who differ": Kind((0.25,) * 4, spread=0.4),
}


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
    score = np.sin(4.0 * score) if columns == "curved" else score
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


def opinions(kind: Kind, seed: int) -> tuple[Any, Any, Any]:
    """The features, what each person thinks of each item, and what is right: the median of that."""
    X, y = world(kind.shares, kind.columns, ITEMS, 2000 + seed)
    random = np.random.default_rng(seed)
    where = (y + random.random(ITEMS))[:, None] + kind.spread * random.normal(size=(ITEMS, len(PEOPLE)))
    own = np.clip(np.floor(where), 0, len(kind.shares) - 1)
    return X, own, np.median(own, axis=1)


def play(pool: Pool, own: Any, kind: Kind, seed: int, until: float | None = None) -> Iterator[int]:
    """Answer questions; yields how many were answered."""
    random, count = np.random.default_rng(seed), 0
    while count < 8 * ITEMS:
        who = int(random.integers(len(PEOPLE)))
        person = PEOPLE[who] if kind.spread else None
        question = pool.ask(person=person, until=until)
        if question is None:
            return
        pool.tell(question, bool((own[question.item, who] > question.level) != (random.random() < kind.wrong)), person)
        yield (count := count + 1)


def audit(name: str, seed: int) -> tuple[list[float], ...]:
    """Whether the intervals held at fixed times; and at the stop, how far off the levels were, and the answers."""
    kind, held = KINDS[name], list[float]()
    X, own, right = opinions(kind, seed)
    levels, learner = range(len(kind.shares)), NewtonLogit()
    pool = Pool(X, levels, learner=learner, audit=0.2, random_state=seed)
    for count in islice(play(pool, own, kind, seed), 3 * ITEMS):
        if count % ITEMS == 0:
            off = np.abs(pool.levels_ - right)
            true = float(off.mean()), float((off == 0).mean()), float((off <= 1).mean())
            figures = pool.audited_error_, pool.audited_right_, pool.audited_within_one_
            held += [float(one.low - 1e-9 <= fact <= one.high + 1e-9) for one, fact in zip(figures, true, strict=True)]
    pool = Pool(X, levels, learner=learner, random_state=seed)
    count = sum(1 for _ in play(pool, own, kind, seed, TARGET))
    return held, [float(np.abs(pool.levels_ - right).mean()), count / ITEMS, float(pool.is_certified(TARGET))]


def certified(run: Any) -> Iterator[str]:
    yield "| | intervals that hold | shown to be at most 0.2 off | are further off | true error | answers per item |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in KINDS:
        found = list(run(audit, [(name, seed) for seed in range(AUDITED)]))
        held, ends = (np.array([one[part] for one in found]) for part in (0, 1))
        shown = ends[ends[:, 2] > 0]
        holds = " / ".join(f"{held[:, figure::3].mean():.2f}" for figure in range(3))
        false = int((shown[:, 0] > TARGET).sum())
        yield (
            f"| {name} | {holds} | {len(shown)} of {len(ends)} | {false} | {shown[:, 0].mean():.2f} | "
            f"{shown[:, 1].mean():.1f} |"
        )


TABLES = {"lopsided": lopsided, "mistaken": mistaken, "certified": certified}


def main() -> None:
    with ProcessPoolExecutor(os.cpu_count(), initializer=warnings.simplefilter, initargs=("ignore",)) as processes:

        def run(work: Any, kinds: list[Any]) -> Any:
            return processes.map(work, *zip(*kinds, strict=True))

        for line in TABLES[sys.argv[1]](run):
            print(line, flush=True)


if __name__ == "__main__":
    main()
