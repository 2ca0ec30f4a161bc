"""What language models as judges are worth: their ratings as columns or as what programs say; a person is right.

Beside pools: exact labels of random pairs for as many bits, from which trees predict the rest, and bisection of every
pair without a learner.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.experiments.studies.records import Record, Table, Task, cells_of
from dford.experiments.studies.running_error import Data, Dataset
from dford.experiments.studies.several_people import Asked, ask_in_turns, of_runs, vote
from dford.pool import Pool

PAIRS = 2000
SHARES = (0.0, 0.25, 0.5, 1.0, 1.5)
_FEW = 5
BISECTION, TREES, BOOSTING = "bisection", "trees", "boosting"
_BASELINES = {BISECTION: "bisection, no learner", TREES: "labels, random trees", BOOSTING: "labels, boosted trees"}
_JUDGES = {"none": "none", "one": "one", "five": "five", "alike": "the five most alike", "twenty": "twenty"}
_FORMS = {"columns": "columns", "programs": "programs", "both": "columns, and five as programs"}
WAYS = (
    "none",
    *(f"{judges}-{form}" for judges in ("one", "five", "alike", "twenty") for form in ("columns", "programs")),
    "twenty-both",
    *_BASELINES,
)


def tasks(data: Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks; the query is a column or not, as far as the way has columns."""
    return [
        (place, (dataset, way, given, has_query, items, run, seed))
        for run in range(runs)
        for dataset, given in data.items()
        for way in ways
        for has_query in ((False, True) if way != BISECTION and given.queries is not None else (False,))
    ]


class Judged(NamedTuple):
    """The pairs of a run."""

    said: dict[str, Ints]
    """What each judge says, those first that take part first."""
    y: Ints
    queries: Ints | None
    n_levels: int
    seed: int


def place(dataset: str, way: str, given: Dataset, has_query: bool, items: int, run: int, seed: int) -> list[Record]:
    """Place some pairs of a shuffle, and record how far off they are after each share of right answers."""
    random = np.random.RandomState([seed, run])
    some = random.permutation(len(given.y))[: min(items, PAIRS)]
    X = np.asarray(given.X)[some].astype(np.int64)
    order = random.permutation(X.shape[1])
    if way.startswith("alike"):
        order = np.argsort(-np.corrcoef(X.T).sum(axis=0), kind="stable")
    queries = given.queries[some] if has_query and given.queries is not None else None
    said = {f"judge{judge + 1}": X[:, judge] for judge in order.tolist()}
    pairs = Judged(said, given.y[some], queries, int(given.y.max()), random.randint(2**31))
    stops = [round(share * len(some)) for share in SHARES]
    if way in (TREES, BOOSTING):
        looks: Iterator[tuple[Any, float | str]] = ((placed, "") for placed in _by_labels(pairs, way, stops))
    elif way == BISECTION:
        looks = ((placed, "") for placed in _by_bisection(pairs, stops))
    else:
        looks = _by_pool(pairs, *_taking_part(way, list(said)), stops)
    return [
        {"dataset": dataset, "way": way, "query": has_query, "run": run + 1, "answers": share}
        | {"mae": float(np.abs(placed - pairs.y).mean()), "expected": expected}
        for share, (placed, expected) in zip(SHARES, looks, strict=True)
    ]


def _taking_part(way: str, names: list[str]) -> tuple[list[str], list[str]]:
    """The judges that are columns, and those that are programs."""
    judges, _, form = way.partition("-")
    names = names[: {"none": 0, "one": 1, "twenty": len(names)}.get(judges, _FEW)]
    return names if form != "programs" else [], {"programs": names, "both": names[:_FEW]}.get(form, [])


def _by_pool(
    pairs: Judged, columns: list[str], programs: list[str], stops: Sequence[int]
) -> Iterator[tuple[Any, float]]:
    table: dict[str, Any] = {name: pairs.said[name].tolist() for name in columns}
    if pairs.queries is not None:
        table["query"] = [f"query {query}" for query in pairs.queries]
    n_items = len(pairs.y)
    X: Any = table or np.empty((n_items, 0))
    pool = Pool(X, list(range(1, pairs.n_levels + 1)), programs=programs, random_state=pairs.seed)
    for name in programs:
        pool.rate({"item": range(n_items), "level": pairs.said[name].tolist(), "person": [name] * n_items})
    n = 0
    for stop in stops:
        while n < stop and (question := pool.ask()) is not None:
            pool.tell(question, bool(pairs.y[question.item] > question.level))
            n += 1
        yield pool.levels_, pool._placements.expected_error()  # the pool's own would warn where its audit contradicts


def _by_labels(pairs: Judged, way: str, stops: Sequence[int]) -> Iterator[Ints]:
    """Exact labels of as many random pairs as the answers buy at log2 K bits each; trees predict the rest."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

    X: Floats = np.stack(list(pairs.said.values()), axis=1).astype(np.float64)
    if pairs.queries is not None:
        X = np.hstack([X, pairs.queries[:, None] == np.unique(pairs.queries)])
    for stop in stops:
        bought = min(int(stop / math.log2(pairs.n_levels)), len(pairs.y))
        placed = pairs.y.copy()
        if bought == 0:
            placed[:] = np.floor(np.median(X[:, : len(pairs.said)], axis=1))
        elif bought < len(pairs.y):
            kind = ExtraTreesClassifier if way == TREES else HistGradientBoostingClassifier
            options = {"n_estimators": 500, "min_samples_leaf": 2} if way == TREES else {"learning_rate": 0.05}
            model = kind(random_state=pairs.seed, **options).fit(X[:bought], pairs.y[:bought])
            chances = model.predict_proba(X[bought:])
            # the median, which is off by the least
            placed[bought:] = model.classes_[(chances.cumsum(axis=1) >= 0.5).argmax(axis=1)]
        yield placed


def _by_bisection(pairs: Judged, stops: Sequence[int]) -> Iterator[Ints]:
    """One pair after another is asked about, at the level that halves what its answers leave."""
    levels, y = list(range(1, pairs.n_levels + 1)), pairs.y
    X = np.empty((len(y), 0))
    asked = Asked(X, levels, 0, lambda item, level: 0, lambda item, level, person: bool(y[item] > level))
    for told in ask_in_turns(asked, stops):
        yield 1 + vote(told, len(y), len(levels))


def tables(records: Sequence[Record]) -> list[Table]:
    """The errors, and what the pool expects."""
    rows = []
    for way in dict.fromkeys(r["way"] for r in records):
        for has_query in (False, True):
            if own := [r for r in records if (r["way"], r["query"]) == (way, has_query)]:
                judges, _, form = way.partition("-")
                row = ["twenty" if way in (TREES, BOOSTING) else _JUDGES.get(judges, "")]
                row += [_BASELINES.get(way) or _FORMS.get(form, ""), "yes" if has_query else ""]
                row.append(cells_of(own, "mae", SHARES))
                rows.append([*row, cells_of(own, "expected", SHARES) if own[0]["expected"] != "" else ""])
    after = " / ".join(f"{share:g}" for share in SHARES)
    title = f"Levels off after {after} right answers per pair; {of_runs(records)}"
    return [Table(title, ["judges", "as", "with the query", "off", "expected"], rows)]
