"""Which library grows the trees: scikit-learn's histogram boosting or LightGBM, on the same answers.

    pip install lightgbm
    python benchmarks/trees.py --data DIR

One answer a row, about a level drawn evenly, on four fifths of a shuffle: (row, level) -> higher, falling with the
level, 100 trees, one core. The error is that of the median level on the other fifth. Both take turns; the fastest of
`--runs` turns counts, and the error is the mean.
"""

import argparse
import os
import pickle
import time
from importlib.metadata import distribution
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from dford.experiments.compare import DATASETS, gather
from dford.experiments.split import parts


def models(n_features: int) -> dict[str, Any]:
    import lightgbm

    falling = [0] * n_features + [-1]
    return {
        "scikit-learn": HistGradientBoostingClassifier(
            max_iter=100, l2_regularization=1.0, monotonic_cst=falling, early_stopping=False
        ),
        "lightgbm": lightgbm.LGBMClassifier(
            n_estimators=100, reg_lambda=1.0, monotone_constraints=falling, n_jobs=1, verbose=-1
        ),
    }


def turn(model: Any, A: Any, B: Any, known: Any, hidden: Any, levels: Any, seed: int) -> tuple[float, float, int]:
    """(seconds to grow, test MAE in levels, bytes of the model)."""
    asked = np.random.RandomState(seed).choice(levels[:-1], len(A))
    rows, higher = np.column_stack([A, asked]), known > asked
    begin = time.perf_counter()
    model.fit(rows, higher)
    seconds = time.perf_counter() - begin
    above = [model.predict_proba(np.column_stack([B, np.full(len(B), i)]))[:, 1] for i in levels[:-1]]
    predicted = levels[(np.array(above) > 0.5).sum(axis=0)]
    return seconds, float(np.abs(predicted - hidden).mean()), len(pickle.dumps(model))


def megabytes(package: str) -> float:
    files = distribution(package).files or []
    return sum(os.path.getsize(file.locate()) for file in files if os.path.exists(file.locate())) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", help="folder of the files")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    names = ["synthetic"] if arguments.data is None else [name for name in DATASETS if name != "synthetic-poly"]
    print("| dataset | MAE, scikit-learn | LightGBM | seconds, scikit-learn | LightGBM | kB, scikit-learn | LightGBM |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (X, y) in gather(names, arguments.data).items():
        turns: dict[str, list[tuple[float, float, int]]] = {}
        for run in range(arguments.runs):
            A, B, known, hidden, seed = parts(X, y, 10_000, run, 0)
            for library, model in models(X.shape[1]).items():
                with threadpool_limits(1):
                    turns.setdefault(library, []).append(turn(model, A, B, known, hidden, np.unique(y), seed))
        seconds, errors, sizes = zip(*(zip(*turns[library], strict=True) for library in turns), strict=True)
        cells = [f"{np.mean(e):.3f}" for e in errors] + [f"{min(s):.2f}" for s in seconds]
        print(f"| {name} | {' | '.join(cells + [f'{np.mean(b) / 1e3:.0f}' for b in sizes])} |", flush=True)
    for package in ("scikit-learn", "lightgbm"):
        print(f"{package}: {megabytes(package):.1f} MB installed")


if __name__ == "__main__":
    main()
