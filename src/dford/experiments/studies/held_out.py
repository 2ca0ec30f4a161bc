"""Held-out rows: the error of models that got one bit per item or saw labels, and their calibration."""

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from statistics import fmean
from typing import Any

import numpy as np

from dford.arrays import Ints
from dford.experiments.own_learner import is_own, new_own
from dford.experiments.studies.records import Record, Table, Task
from dford.experiments.studies.running_error import Data
from dford.learners import Auto, DirectionalBoosting, NewtonLogit, Rows

MOST = 12_500
BINS = 10

MODELS: dict[str, tuple[str, str]] = {
    "auto": ("Auto", "one bit"),
    "boosting": ("DirectionalBoosting", "one bit"),
    "newton": ("NewtonLogit", "one bit"),
    "boosting-label": ("DirectionalBoosting", "labels"),
    "newton-label": ("NewtonLogit", "labels"),
    "histogram": ("HistGradientBoosting- Regressor, rounded", "labels"),
    "mord": ("mord LogisticAT", "labels"),
    "POM": ("skordinal POM", "labels"),
    "OrdinalDecomposition": ("skordinal Ordinal- Decomposition", "labels"),
    "ELMOP": ("skordinal ELMOP", "labels"),
    "ORBoost": ("skordinal ORBoost", "labels"),
    "NNOP": ("skordinal NNOP", "labels"),
}
PACKAGES = {"mord": "mord"} | dict.fromkeys(("POM", "OrdinalDecomposition", "ELMOP", "ORBoost", "NNOP"), "skordinal")
"""What some models need besides dford."""
OWN = tuple(model for model in MODELS if model not in (*PACKAGES, "histogram"))
DENSE = tuple(model for model in MODELS if not model.startswith(("auto", "newton")))
"""Models that cannot learn from texts."""


def missing(models: Sequence[str]) -> list[str]:
    """The packages that are not installed."""
    return sorted({name for name in map(PACKAGES.get, models) if name is not None and find_spec(name) is None})


def make(model: str, products: bool, seed: int, dense: int | None = None) -> Any:
    """A model with its defaults."""
    features: dict[str, Any] = {"features": "poly"} if products else {}
    if is_own(model):
        return new_own(model, random_state=seed)
    if model == "auto":
        return Auto(dense=dense, random_state=seed)
    if model.startswith("boosting"):
        return DirectionalBoosting(feedback="label" if model.endswith("label") else "direction", random_state=seed)
    if model.startswith("newton"):
        heard = "label" if model.endswith("label") else "direction"
        return NewtonLogit(feedback=heard, random_state=seed, **features)
    if model == "histogram":
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(random_state=seed)
    if model == "mord":
        return import_module("mord").LogisticAT()
    kind: Callable[..., Any] = getattr(import_module("skordinal.classifiers"), model)
    return kind(random_state=seed) if model in ("ELMOP", "NNOP") else kind()


def split_tasks(data: Data, models: Sequence[str], rounds: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the table; models whose package is missing are left out."""
    usable = [model for model in models if not missing([model])]
    return [
        (hold_out, (dataset, model, given.X, given.y, rounds, run, seed, given.dense))
        for run in range(runs)
        for dataset, given in data.items()
        for model in usable
    ]


def parts(X: Rows, y: Ints, rounds: int, run: int, seed: int) -> tuple[Rows, Rows, Ints, Ints, int]:
    """Four fifths and one fifth of a shuffle, of at most 5/4 of `rounds` rows, and a seed."""
    random = np.random.RandomState([seed, run])
    order = random.permutation(len(y))[: rounds * 5 // 4]
    first, rest = np.split(order, [len(order) * 4 // 5])
    return X[first], X[rest], y[first], y[rest], random.randint(2**31)


def hold_out(
    dataset: str, model: str, X: Rows, y: Ints, rounds: int, run: int, seed: int, dense: int | None = None
) -> list[Record]:
    """Fit one model on four fifths of a shuffle and record its error on the rest."""
    A, B, known, hidden, own_seed = parts(X, y, rounds, run, seed)
    fitted = make(model, dataset.endswith("-poly"), own_seed, dense)
    if model in PACKAGES:
        # scaled as their documentation asks; below, levels from 0, as mord needs them
        mean, deviation = A.mean(axis=0), A.std(axis=0)
        A, B = ((rows - mean) / np.where(deviation > 0, deviation, 1.0) for rows in (A, B))
    lowest, highest = int(y.min()), int(y.max())
    with warnings.catch_warnings():
        if model in PACKAGES:
            warnings.simplefilter("ignore")  # with their defaults, some stop before they converge
        predicted = fitted.fit(A, known - lowest).predict(B) + lowest
    error = np.abs(np.clip(np.rint(predicted), lowest, highest) - hidden).mean()
    return [{"dataset": dataset, "model": model, "run": run + 1, "rows": len(known), "mae": float(error)}]


def split_tables(records: Sequence[Record]) -> list[Table]:
    """One row per model, one column per dataset."""
    datasets, models = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "model"))
    errors: dict[tuple[str, str], list[float]] = {}
    for record in records:
        errors.setdefault((record["dataset"], record["model"]), []).append(record["mae"])
    runs = max(record["run"] for record in records)
    cells = {pair: f"{fmean(some):.3f}" for pair, some in errors.items()}
    names = {m: MODELS.get(m, (m.rpartition(":")[2], "one bit")) for m in models}
    rows = [[*names[m], *(cells.get((d, m), "") for d in datasets)] for m in models]
    title = f"Test MAE in levels on a fifth of the rows, mean of {runs} shuffles"
    absent = missing(list(MODELS))
    note = f'Not installed: {", ".join(absent)} (pip install "dford[peers]").' if absent else ""
    return [Table(title, ["model", "sees", *datasets], rows, note)]


def reliability_tasks(data: Data, models: Sequence[str], rounds: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks for the curves."""
    return [
        (bins, (dataset, model, given.X, given.y, rounds, run, seed, given.dense))
        for run in range(runs)
        for dataset, given in data.items()
        for model in models
    ]


def bins(
    dataset: str, model: str, X: Rows, y: Ints, rounds: int, run: int, seed: int, dense: int | None = None
) -> list[Record]:
    """P(level > i) of held-out rows, for every cut i, in ten bins, and how often it was true."""
    A, B, known, hidden, own_seed = parts(X, y, rounds, run, seed)
    fitted = make(model, dataset.endswith("-poly"), own_seed, dense).fit(A, known)
    above = 1.0 - fitted.predict_proba(B).cumsum(axis=1)[:, :-1]
    true = hidden[:, None] > fitted.classes_[:-1]
    place = np.clip((above * BINS).astype(int), 0, BINS - 1)
    return [
        {
            "dataset": dataset,
            "model": model,
            "run": run + 1,
            "bin": k + 1,
            "count": int((place == k).sum()),
            "predicted": float(above[place == k].sum()),
            "true": int(true[place == k].sum()),
        }
        for k in range(BINS)
    ]


def reliability_tables(records: Sequence[Record]) -> list[Table]:
    """How far probabilities are from frequencies, on average."""
    datasets, models = (list(dict.fromkeys(record[key] for record in records)) for key in ("dataset", "model"))
    rows = []
    for d in datasets:
        gaps = []
        for m in models:
            own = [r for r in records if (r["dataset"], r["model"]) == (d, m)]
            sums = [
                [sum(r[key] for r in own if r["bin"] == k + 1) for key in ("predicted", "true")] for k in range(BINS)
            ]
            gaps.append(sum(abs(p - t) for p, t in sums) / sum(r["count"] for r in own))
        rows.append([d, *(f"{gap:.3f}" for gap in gaps)])
    title = "Mean distance of P(level > i) from the frequency, in ten bins, on rows held out"
    return [Table(title, ["dataset", *(MODELS[m][0] for m in models)], rows)]
