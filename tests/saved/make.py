"""Write the files of this version that later versions must read: run once before a release, then keep them.

python tests/saved/make.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import dford
from dford import DFORD, PRIL, Auto, Boundary, DirectionalBoosting, NewtonLogit, Pool, PRank

LEVELS = ["poor", "fair", "good", "great"]
MODELS: dict[str, Any] = {
    "dford": DFORD(levels=LEVELS, policy=Boundary(0.3), clip=4.0, kernel="poly", degree=2, window=20, random_state=7),
    "prank": PRank(levels=LEVELS, kernel="rbf", window=15, ordered=True),
    "pril": PRIL(levels=LEVELS, regularization=4.0, random_state=1),
    "newton": NewtonLogit(levels=LEVELS, features="fourier", n_components=5, random_state=2),
    "boosting": DirectionalBoosting(levels=LEVELS, max_iter=3, min_samples_leaf=5, random_state=3),
    "auto": Auto(levels=LEVELS, random_state=4),
}


def make_pool(X: Any, y: Any) -> None:
    """A pool with an open question, and its log, which has a person and how sure she was."""
    file = Path(__file__).parent / f"{dford.__version__}-items.pool"
    if file.exists():
        return
    pool = Pool(X, LEVELS, learner=NewtonLogit(), audit=0.2, random_state=5)

    def answer(count: int) -> None:
        for n in range(count):
            question = pool.ask(person="ann")
            higher = LEVELS.index(y[question.item]) > LEVELS.index(question.level)
            pool.tell(question, 0.9 if higher and n % 5 == 0 else higher, person="ann")

    answer(60)
    pool.ask(person="ann")
    pool.save(file)
    log = file.with_name(f"{dford.__version__}-log.json")
    log.write_text(json.dumps([[x.hex(), *rest] for x, *rest in pool.log_.rounds()]) + "\n")
    pool.log_.write(log.with_suffix(".csv"))
    pool.log_.write(log.with_suffix(".parquet"))
    answer(40)
    after = {"labels": y.tolist(), "levels": pool.levels_.tolist(), "answers": len(pool.log_)}
    file.with_suffix(".json").write_text(json.dumps(after) + "\n")


def main() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    y = np.array(LEVELS)[np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])]
    make_pool(X, y)
    for name, model in MODELS.items():
        file = Path(__file__).parent / f"{dford.__version__}-{name}.dford"
        if file.exists():  # what was kept is kept
            continue
        model.fit(X[:60], y[:60])
        answers = [True, False, True]
        if hasattr(model, "ask"):
            for x in X[:3]:
                model.ask(x)
        model.save(file)
        for question, higher in zip(list(getattr(model, "open_questions_", {}).values()), answers, strict=False):
            model.tell(question, higher)
        model.partial_fit(X[60:], y[60:])
        after = {
            "rows": X[60:].tolist(),
            "labels": y[60:].tolist(),
            "answers": answers,
            "projections": model.predict_projection(X[60:]).tolist(),
            "predictions": model.predict(X[60:]).tolist(),
        }
        file.with_suffix(".json").write_text(json.dumps(after) + "\n")


if __name__ == "__main__":
    main()
