"""The trees of dford's engine compared with those of scikit-learn's histogram boosting, on the same answers.

    python benchmarks/trees.py --data DIR

One answer per row, about a level drawn evenly, on four fifths of a shuffle: (row, level) -> higher, falling with the
level, 100 trees, one core. The error is that of the median level on the other fifth. Both take turns; the fastest of
`--runs` turns counts, and the error is the mean.
"""

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from dford.experiments.studies.held_out import parts
from dford.experiments.studies.running_error import DATASETS, gather
from dford.learners._trees.grower import Growth, grow, warm_up


def by_dford(A: Any, asked: Any, higher: Any, B: Any, levels: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    trees = grow(Growth(), A, asked, higher)
    return time.perf_counter() - begin, trees.logits(B, len(levels)) > 0


def by_scikit_learn(A: Any, asked: Any, higher: Any, B: Any, levels: Any) -> tuple[float, Any]:
    model = HistGradientBoostingClassifier(
        max_iter=100, l2_regularization=1.0, monotonic_cst=[0] * A.shape[1] + [-1], early_stopping=False
    )
    rows = np.column_stack([A, asked])
    begin = time.perf_counter()
    with threadpool_limits(1):
        model.fit(rows, higher)
    seconds = time.perf_counter() - begin
    above = [model.decision_function(np.column_stack([B, np.full(len(B), i)])) > 0 for i in range(1, len(levels))]
    return seconds, np.column_stack(above)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", help="folder of the files")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    names = ["synthetic"] if arguments.data is None else [name for name in DATASETS if name != "synthetic-poly"]
    warm_up()
    print("| dataset | MAE, dford | scikit-learn | seconds, dford | scikit-learn |")
    print("|---|---:|---:|---:|---:|")
    for name, (X, y, *_) in gather(names, arguments.data).items():
        turns: dict[Any, list[tuple[float, float]]] = {by_dford: [], by_scikit_learn: []}
        for run in range(arguments.runs):
            A, B, known, hidden, seed = parts(X, y, 10_000, run, 0)
            levels = np.unique(y)
            asked = np.random.RandomState(seed).randint(1, len(levels), len(A))
            for library, done in turns.items():
                seconds, above = library(A, asked, known > levels[asked - 1], B, levels)
                done.append((seconds, float(np.abs(levels[above.sum(axis=1)] - hidden).mean())))
        seconds, errors = zip(*(zip(*done, strict=True) for done in turns.values()), strict=True)
        cells = [f"{np.mean(error):.3f}" for error in errors] + [f"{min(some):.2f}" for some in seconds]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
