"""A pool of items placed: how far off the placements are, by answers per item, compared with ways that know less.

The limit is what no way of asking can do without: the bits of the levels that the features leave unknown, each of which
takes one answer, or more if answers are wrong.

If people rated the items, they answer: each question goes to one of them, drawn at random, who says whether their
rating is above the cut. The right level is that of the median rating.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Ints
from dford.experiments.studies.records import Record, Table, Task, cells_of
from dford.experiments.studies.running_error import Data, Dataset
from dford.learners import Auto, DirectionalBoosting, NewtonLogit, Rows
from dford.pool import Pool
from dford.pool.placements import AUDIT_SHARE

WAYS = {
    "pool": "Pool",
    "unaudited": "Pool, no audit",
    "bisection": "answers alone",
    "learner": "Auto alone",
    "labels": "labels for as many bits",
}
DEFAULT_WAYS = tuple(way for way in WAYS if way != "unaudited")
LIMIT = "limit"
ITEMS = 2000
SHARES = (0.5, 1.0, 2.0, 3.0, 4.0)
WRONG = (0.0, 0.1)
PEOPLE = "people"
"""Stands in for the share of wrong answers if people who disagree answer."""
TARGET = 0.05
_LEARNED = 10_000  # rows that the limit is computed from, at most
_LOOKS = 20  # at a pool, per answer per item


def tasks(data: Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the tables. Where people answer, there are no labels to buy."""
    placing: list[Task] = [
        (place, (dataset, way, given, items, wrong, run, seed))
        for run in range(runs)
        for dataset, given in data.items()
        for wrong in (WRONG if given.raters is None else (PEOPLE,))
        for way in ways
        if given.raters is None or way != "labels"
    ]
    limited = [] if "pool" not in ways else [(name, given) for name, given in data.items() if given.raters is None]
    return placing + [(limit, (dataset, given.X, given.y, seed)) for dataset, given in limited]


def place(dataset: str, way: str, given: Dataset, items: int, wrong: float | str, run: int, seed: int) -> list[Record]:
    """Place some rows of a shuffle, with answers of which a share is wrong, or with people's answers."""
    random = np.random.RandomState([seed, run])
    X, y, dense, raters = given.X, given.y, given.dense, given.raters
    some = random.permutation(len(y))[: min(items, ITEMS)]
    levels, own_seed, noise = np.unique(y).tolist(), random.randint(2**31), np.random.default_rng([seed, run])

    def told(item: int, level: Any) -> bool:
        if raters is not None:
            return raters.say_above(some[item], level, noise)
        return bool((y[some[item]] > level) != (noise.random() < float(wrong)))

    often = [n / _LOOKS for n in range(1, int(_LOOKS * SHARES[-1]))] if way in _OFTEN else []
    looks = sorted({*SHARES, *often})
    stops = [round(share * len(some)) for share in looks]
    names = {"dataset": dataset, "way": way, "wrong": wrong, "run": run + 1}
    seen = _WAYS[way](Given(X[some], y[some], levels, own_seed, told, dense), stops)
    return [
        names | {"answers": share, "mae": float(np.abs(look.levels - y[some]).mean()), "expected": look.expected}
        for share, look in zip(looks, seen, strict=True)
    ]


def limit(dataset: str, X: Rows, y: Ints, seed: int) -> list[Record]:
    """The bits of a level that the features leave unknown: at most those that boosted trees leave, out of fold.

    The trees learn from the labels of all rows, up to `_LEARNED`, except the ones they predict. For texts, a logistic
    regression takes their place.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import cross_val_predict

    some = np.random.RandomState([seed, 0]).permutation(len(y))[:_LEARNED]
    trees = HistGradientBoostingClassifier(learning_rate=0.05, early_stopping=True, random_state=seed)
    model = LogisticRegression(max_iter=300) if sparse.issparse(X) else trees
    chances = cross_val_predict(model, X[some], y[some], cv=5, method="predict_proba")
    bits = log_loss(y[some], chances, labels=np.unique(y)) / math.log(2)
    counts = np.bincount(y[some])
    even = counts[counts > 0] / len(some)
    blind = float(-(even * np.log2(even)).sum())  # without features
    return [
        {"dataset": dataset, "way": LIMIT, "wrong": wrong, "run": 1}
        | {"answers": min(bits, blind) / (1 - _entropy(wrong)), "mae": 0.0, "expected": math.nan}
        for wrong in WRONG
    ]


def _entropy(share: float) -> float:
    """The entropy of a yes with this probability, in bits."""
    return -sum(p * math.log2(p) for p in (share, 1 - share) if p > 0)


Told = Callable[[int, Any], bool]


class Given(NamedTuple):
    """What to place, and whom to ask."""

    X: Rows
    y: Ints
    levels: list[Any]
    seed: int
    told: Told
    dense: int | None


class Look(NamedTuple):
    """Where the items stand, and how far off that is expected to be."""

    levels: Any
    expected: float


def _by_pool(given: Given, stops: Sequence[int], audit: float = AUDIT_SHARE) -> Iterator[Look]:
    learner, n = Auto(dense=given.dense), 0
    pool = Pool(given.X, given.levels, learner=learner, audit=audit, random_state=given.seed)
    for stop in stops:
        while n < stop and (question := pool.ask()) is not None:
            pool.tell(question, given.told(question.item, question.level))
            n += 1
        items = pool._placements.with_audit()  # as it would be if the pool were released now
        yield Look(np.array(given.levels)[items.placements()[0]], items.expected_error())


def _by_answers_alone(given: Given, stops: Sequence[int]) -> Iterator[Look]:
    """The same without features: bisection from the shares of the levels."""
    return _by_pool(given._replace(X=np.empty((len(given.y), 0)), dense=None), stops)


def _by_learner(given: Given, stops: Sequence[int]) -> Iterator[Look]:
    """The learner asks about one item after another, then predicts each from its features alone."""
    model, n, X = Auto(levels=given.levels, dense=given.dense, random_state=given.seed), 0, given.X
    for stop in stops:
        while n < stop:
            item = n % len(given.y)
            question = model.ask(X[item])
            model.tell(question, given.told(item, question.level))
            n += 1
        yield Look(model.predict(X), math.nan)


def _by_labels(given: Given, stops: Sequence[int]) -> Iterator[Look]:
    """Exact labels of as many items as the answers buy at log2 K bits each, never wrong; trees predict the rest."""
    for stop in stops:
        bought = min(int(stop / math.log2(len(given.levels))), len(given.y))
        levels = given.y.copy()
        if bought == 0:
            levels[:] = given.levels[len(given.levels) // 2]
        elif bought < len(given.y):
            kind = NewtonLogit if sparse.issparse(given.X) else DirectionalBoosting
            model = kind(levels=given.levels, feedback="label", random_state=given.seed)
            levels[bought:] = model.fit(given.X[:bought], given.y[:bought]).predict(given.X[bought:])
        yield Look(levels, math.nan)


_WAYS: dict[str, Callable[[Given, Sequence[int]], Iterator[Look]]] = {
    "pool": _by_pool,
    "unaudited": partial(_by_pool, audit=0.0),
    "bisection": _by_answers_alone,
    "learner": _by_learner,
    "labels": _by_labels,
}
_OFTEN = ("pool", "unaudited", "bisection")  # looked at often enough to see when they reach the target


def tables(records: Sequence[Record]) -> list[Table]:
    """One table per share of wrong answers: the errors, and what the pool expects. Then the answers to the target."""
    runs = max(record["run"] for record in records)
    mean = f"mean of {runs} runs" if runs > 1 else "one run"
    found = [
        _of_answers([record for record in records if record["wrong"] == wrong], wrong, mean)
        for wrong in (*WRONG, PEOPLE)
        if any(record["wrong"] == wrong for record in records)
    ]
    limited = {record["dataset"] for record in records if record["way"] == LIMIT}
    return [*found, _to_the_target([r for r in records if r["dataset"] in limited], mean)] if limited else found


def _of_answers(records: Sequence[Record], wrong: float | str, mean: str) -> Table:
    ways = [way for way in WAYS if any(record["way"] == way for record in records)]
    rows = []
    for dataset in dict.fromkeys(record["dataset"] for record in records):
        own = [r for r in records if r["dataset"] == dataset]
        cells = [cells_of([r for r in own if r["way"] == way], "mae", SHARES) for way in ways]
        if "pool" in ways:
            cells.insert(1 + ways.index("pool"), cells_of([r for r in own if r["way"] == "pool"], "expected", SHARES))
        rows.append([dataset, *cells])
    header = ["dataset", *(WAYS[way] for way in ways)]
    if "pool" in ways:
        header.insert(2 + ways.index("pool"), "Pool expects")
    shares = " / ".join(f"{share:g}" for share in SHARES)
    who = f"{wrong:.0%} of them wrong" if wrong != PEOPLE else "each by one of the people who rated it"
    return Table(f"Levels off after {shares} answers per item, {who}, {mean}", header, rows)


def _to_the_target(records: Sequence[Record], mean: str) -> Table:
    """How many answers per item it takes to reach the target error."""
    ways = [way for way in _OFTEN if any(record["way"] == way for record in records)]
    rows = []
    for dataset in dict.fromkeys(record["dataset"] for record in records):
        row = [dataset]
        for wrong in WRONG:
            own = [r for r in records if (r["dataset"], r["wrong"]) == (dataset, wrong)]
            least = next(r["answers"] for r in own if r["way"] == LIMIT)
            row.append(f"{least:.2f}")
            for way in ways:
                reached = _reached([r for r in own if r["way"] == way])
                row.append(f"{reached:.2f}" if math.isfinite(reached) else f"over {SHARES[-1]:g}")
                if way == "pool":
                    row.append(f"{reached / least:.2f}" if math.isfinite(reached) else "")
        rows.append(row)
    names = [n for way in ways for n in (["Pool", "times the limit"] if way == "pool" else [WAYS[way]])]
    header = [f"{name}, {wrong:.0%}" for wrong in WRONG for name in ["limit", *names]]
    note = (
        "The limit: the bits that boosted trees leave of a level, out of fold on labels, or what is missing of it "
        "without features, if that is less; over what an answer can tell at most where so many are wrong."
    )
    return Table(f"Answers per item until the levels are {TARGET:g} off, {mean}", ["dataset", *header], rows, note)


def _reached(records: Sequence[Record]) -> float:
    """The mean over the runs of the first look at which the target is reached; infinite if a run never does."""
    runs = dict.fromkeys(record["run"] for record in records)
    firsts = [
        min((r["answers"] for r in records if r["run"] == run and r["mae"] <= TARGET), default=math.inf) for run in runs
    ]
    return fmean(firsts)
