"""What one bit per item can do: all learners on all datasets, with one protocol.

One pass, no item twice, over the first `rounds` items of a shuffle. Every prediction is made before its item's answer
(or label) is seen; nothing is known about later items except the scale. Learners use their defaults on every dataset.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Ints
from dford.columns import Columns
from dford.columns.scaling import scaled_as_they_come
from dford.datasets import load, make_synthetic
from dford.datasets._data_folder import Folder
from dford.datasets.judges import JUDGES
from dford.datasets.rated_texts import TEXTS
from dford.datasets.raters import OFFENSIVE, RATERS
from dford.experiments.own_learner import is_own, new_own
from dford.experiments.studies.records import Record, Table, Task
from dford.learners import (
    DFORD,
    PRIL,
    Auto,
    DirectionalBoosting,
    NewtonLogit,
    OrdinalLearner,
    PRank,
    Rows,
)

DATASETS = (
    "abalone",
    "parkinsons",
    "california",
    "computer",
    "bank32nh",
    "bank8FM",
    "mslr",
    "synthetic",
    "synthetic-poly",
)
"""Those that are used by default."""
ALL_DATASETS = (*DATASETS, *TEXTS, RATERS, OFFENSIVE, JUDGES)
TITLES = {
    "auto": "Auto",
    "newton": "Newton- Logit",
    "boosting": "Boosting",
    "dford": "DFORD, best γ",
    "newton-label": "Newton- Logit, labels",
    "prank": "PRank, labels",
    "pril": "PRIL",
}
"""What is compared, and its name in tables."""
DEFAULT_LEARNERS = tuple(name for name in TITLES if name != "pril")
EXPLORATIONS = (0.2, 0.4, 0.6, 0.8)
POOL = 20_000  # synthetic items to shuffle


class Raters(NamedTuple):
    """The ratings that people gave each item, and where they are cut into levels."""

    ratings: Sequence[NDArray[np.float64]]
    cuts: Sequence[float]

    def say_above(self, item: int, level: int, random: np.random.Generator) -> bool:
        """Whether one of them, drawn at random, rated the item above a level."""
        return bool(random.choice(self.ratings[item]) > self.cuts[level - 1])


class Labelled(NamedTuple):
    """Labels by identified people, and the known levels of some items, if there are any."""

    labels: Ints
    """The item, person and level of each."""
    people: Sequence[str]
    gold: Mapping[int, int]
    n_levels: int


class Dataset(NamedTuple):
    """Rows and their levels, from 1."""

    X: Rows
    y: Ints
    dense: int | None = None
    """If rows are sparse, as those of texts are: how many of the first columns are not."""
    raters: Raters | None = None
    labelled: Labelled | None = None
    queries: Ints | None = None
    """What each row is an answer to, if it is to one of a few."""


Data = Mapping[str, Dataset]


class Figure(NamedTuple):
    """The results of one learner's runs on one dataset, at their ends."""

    mae: float
    spread: float
    """Standard deviation over the runs; NaN for a single run."""
    estimate: float
    """Mean of the estimates from answers alone; NaN if labels were seen."""
    held: int
    """Runs in which the error was inside its bounds at every checkpoint."""
    runs: int
    setting: str


def gather(names: Sequence[str], data: Folder = None, seed: int = 0, rounds: int = POOL) -> dict[str, Dataset]:
    """The rows and levels of datasets, as in their files; texts as features."""
    found = {}
    for name in names:
        if name.startswith("synthetic"):
            found[name] = Dataset(*make_synthetic(max(rounds, POOL), random_state=seed))
        elif name in TEXTS:
            loaded = load(name, data=data)
            raters = Raters(loaded.ratings, loaded.cuts)
            found[name] = Dataset(_features(loaded.data), loaded.target, 0, raters)
        elif name in (RATERS, OFFENSIVE):
            loaded = load(name, data=data)
            labelled = Labelled(loaded.labels, loaded.people, loaded.get("gold", {}), len(loaded.target_names))
            rows = (_features(loaded.data), 0) if name == OFFENSIVE else (loaded.data, None)
            found[name] = Dataset(rows[0], loaded.target, rows[1], labelled=labelled)
        elif name == JUDGES:
            loaded = load(name, data=data)
            found[name] = Dataset(loaded.data, loaded.target, queries=loaded.query)
        else:
            found[name] = Dataset(*load(name, data=data, return_X_y=True))
    return found


def _features(texts: Sequence[Mapping[str, str]]) -> Rows:
    """The features of texts, all of them sparse."""
    found: Rows = Columns({"text": "text"}).fit_transform(texts)
    return found


def pass_tasks(data: Data, learners: Sequence[str], rounds: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the table, run by run."""
    return [
        (play, (dataset, learner, given.X, given.y, rounds, run, seed, given.dense))
        for run in range(runs)
        for dataset, given in data.items()
        for learner in learners
    ]


def play(
    dataset: str, learner: str, X: Rows, y: Ints, rounds: int, run: int, seed: int, dense: int | None = None
) -> list[Record]:
    """One pass of one learner over a shuffle; one record per checkpoint."""
    random = np.random.RandomState([seed, run])
    order = random.permutation(len(y))[:rounds]
    names = {"dataset": dataset, "learner": learner, "run": run + 1}
    products = dataset.endswith("-poly")
    levels, own_seed = np.unique(y).tolist(), random.randint(2**31)
    return [names | record for record in checkpoints(learner, products, X[order], y[order], levels, own_seed, dense)]


def checkpoints(
    learner: str, products: bool, X: Rows, y: Ints, levels: Sequence[int], seed: int, dense: int | None = None
) -> Iterator[Record]:
    """One pass over rows in order, for each setting the learner is tried with; one record per checkpoint."""
    for setting, model, scaling in settings(learner, products, seed, dense):
        rows = X if scaling == "none" else scaled_as_they_come(X, unit=scaling == "unit", dense=dense)
        trace = model.partial_fit(rows, y, classes=levels).trace_
        for n, *figures in zip(trace.round, trace.mae, trace.estimate, trace.low, trace.high, strict=True):
            kept = dict(zip(("mae", "estimate", "low", "high"), map(float, figures), strict=True))
            yield {"setting": setting, "answers": int(n)} | kept


def settings(
    learner: str, products: bool, seed: int, dense: int | None = None
) -> Iterator[tuple[str, OrdinalLearner, str]]:
    """(setting, learner, scaling) to try. If there are several, the best in hindsight counts, in the learner's favour.

    With `products`, learners with a linear score get all products of two features, as in the paper's kernel.
    """
    features: dict[str, Any] = {"features": "poly"} if products else {}
    kernel: dict[str, Any] = {"kernel": "poly", "degree": 2} if products else {}
    centred = "unit" if dense else "none"  # the logit for sparse rows does not centre numbers beside texts
    if is_own(learner):
        yield "", new_own(learner, random_state=seed), "none"
    elif learner == "auto":
        yield "", Auto(dense=dense, random_state=seed), "none"
    elif learner == "boosting":
        yield "", DirectionalBoosting(random_state=seed), "none"
    elif learner == "newton":
        yield "", NewtonLogit(random_state=seed, **features), centred
    elif learner == "newton-label":
        yield "", NewtonLogit(feedback="label", random_state=seed, **features), centred
    else:
        # the paper says "normalised", but not how
        for scaling in ("standard", "unit"):
            if learner == "prank":
                yield scaling, PRank(**kernel), scaling
            elif learner == "pril":
                yield scaling, PRIL(random_state=seed, **kernel), scaling
            else:
                for γ in EXPLORATIONS:
                    yield f"γ = {γ}, {scaling}", DFORD(exploration=γ, random_state=seed, **kernel), scaling


def title(learner: str) -> str:
    """A learner's name in tables."""
    return TITLES.get(learner, learner.rpartition(":")[2])


def warm_up() -> None:
    """Compile what learners need, so that processes which start together need not all do it."""
    X, y = make_synthetic(300, random_state=0)
    for learner in TITLES:
        play("synthetic-poly", learner, X, y, len(y), 0, 0)
    for model in (Auto(random_state=0), NewtonLogit(random_state=0)):
        question = model.fit(X, y).ask(X[0])
        model.tell(question, True).predict_proba(X)


def best(records: Sequence[Record], dataset: str, learner: str) -> list[Record]:
    """The records of the setting with the lowest error at the end, averaged over the runs."""
    own = [record for record in records if (record["dataset"], record["learner"]) == (dataset, learner)]
    ends: dict[str, list[float]] = {}
    for record in own:
        if record["answers"] == own[-1]["answers"]:
            ends.setdefault(record["setting"], []).append(record["mae"])
    setting = min(ends, key=lambda name: fmean(ends[name]))
    return [record for record in own if record["setting"] == setting]


def figure(records: Sequence[Record], dataset: str, learner: str) -> Figure:
    """The figures at the end of the runs, for the best setting."""
    own = best(records, dataset, learner)
    last = [record for record in own if record["answers"] == own[-1]["answers"]]
    errors = [record["mae"] for record in last]
    outside = {record["run"] for record in own if not record["low"] <= record["mae"] <= record["high"]}
    return Figure(
        fmean(errors),
        stdev(errors) if len(errors) > 1 else float("nan"),
        fmean(record["estimate"] for record in last),
        len(errors) - len(outside),
        len(errors),
        last[0]["setting"],
    )


def pass_tables(records: Sequence[Record]) -> list[Table]:
    """The errors, and what the answers alone say about them."""
    datasets, learners = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "learner"))
    played = dict.fromkeys((record["dataset"], record["learner"]) for record in records)
    figures = {(d, k): figure(records, d, k) for d, k in played}
    answers = {d: next(r["answers"] for r in reversed(records) if r["dataset"] == d) for d in datasets}
    runs = next(iter(figures.values())).runs
    mean = f"mean of {runs} shuffles ± standard deviation" if runs > 1 else "one shuffle"
    one_bit = [k for k in learners if not all(np.isnan(f.estimate) for (_, own), f in figures.items() if own == k)]
    error = Table(
        f"Running MAE in levels over one pass, {mean}",
        ["dataset", *map(title, learners)],
        [[d, *(_error(figures.get((d, k))) for k in learners)] for d in datasets],
        _settings_note(figures),
    )
    if not one_bit:
        return [error]
    free = Table(
        "The same from the answers alone, and runs in which the error never left its 95% bounds",
        ["dataset", "answers", *map(title, one_bit)],
        [[d, f"{answers[d]:,}", *(_free(figures.get((d, k))) for k in one_bit)] for d in datasets],
    )
    return [error, free]


def _free(one: Figure | None) -> str:
    return "" if one is None else f"{one.estimate:.3f} {one.held}/{one.runs}"


def _error(one: Figure | None) -> str:
    if one is None:
        return ""
    return f"{one.mae:.3f}" + ("" if np.isnan(one.spread) else f"±{one.spread:.3f}".replace("±0.", "±."))


def _settings_note(figures: Mapping[tuple[str, str], Figure]) -> str:
    chosen = [f"{d} {f.setting}" for (d, k), f in figures.items() if k == "dford"]
    return f"DFORD's best in hindsight: {'; '.join(chosen)}." if chosen else ""
