"""What texts, numbers and images tell: the tables of docs/rating.md, by `make rating`.

The films are read from the folder that DFORD_DATA names. All figures are means of three shuffles or seeds.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from dford import Auto, NewtonLogit, Pool
from dford.columns import Columns
from dford.columns.images import describe
from dford.datasets import load
from drawing import LEVELS, PROPERTIES, drawings

SEEDS = range(3)
LEARNED, JUDGED, PLACED, IMAGES = 4_000, 3_000, 500, 400


def films(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The films of a shuffle: texts, levels, prices drawn at random, and five levels of rating and price together."""
    found, random = load("movies"), np.random.default_rng(seed)
    ratings = np.array([np.mean(one) for one in found.ratings])
    prices = random.normal(scale=ratings.std(), size=len(ratings))
    worth = ratings + prices
    both = 1 + np.digitize(worth, np.quantile(worth, [0.2, 0.4, 0.6, 0.8]))
    order = random.permutation(len(worth))[: LEARNED + JUDGED]
    texts = np.array([row["text"] for row in found.data], object)
    return texts[order], found.target[order], prices[order], both[order]


def tables(texts: Any, prices: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        "both": [{"text": text, "price": price} for text, price in zip(texts, prices, strict=True)],
        "the texts alone": [{"text": text} for text in texts],
        "the numbers alone": [{"price": price} for price in prices],
    }


def judged(rows: Any, y: np.ndarray, learned: Callable[[Any, np.ndarray], Any]) -> float:
    """The error on rows that were not learned from."""
    predicted = learned(rows[:LEARNED], y[:LEARNED]).predict(rows[LEARNED:])
    return float(np.abs(np.clip(np.rint(predicted), 1, 5) - y[LEARNED:]).mean())


def text_errors() -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {}
    for seed in SEEDS:
        texts, y, _, _ = films(seed)
        rows = [{"text": text} for text in texts]
        features = Columns().fit(rows).transform(rows)
        newton = NewtonLogit(covariance="diagonal", random_state=seed)
        found = {
            "`Auto`": judged(rows, y, Auto(random_state=seed).fit),
            '`NewtonLogit(covariance="diagonal")`': judged(features, y, newton.fit),
            "ridge regression on the exact labels": judged(features, y, Ridge().fit),
            "the best constant": min(float(np.abs(y[LEARNED:] - level).mean()) for level in range(1, 6)),
        }
        for name, error in found.items():
            errors.setdefault(name, []).append(error)
    return errors


def placed(rows: Any, y: np.ndarray, seed: int) -> list[float]:
    """The error of a pool after 1, 1.5 and 2 answers per item."""
    pool, errors = Pool(rows, [1, 2, 3, 4, 5], random_state=seed), []
    for answers in range(1, 2 * len(y) + 1):
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
        if answers in {len(y), len(y) * 3 // 2, len(y) * 2}:
            errors.append(float(np.abs(pool.levels_ - y).mean()))
    return errors


def show_both() -> None:
    learned: dict[str, list[float]] = {}
    in_pool: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        texts, _, prices, y = films(seed)
        for name, rows in tables(texts, prices).items():
            learned.setdefault(name, []).append(judged(rows, y, Auto(random_state=seed).fit))
            in_pool.setdefault(name, []).append(placed(rows[:PLACED], y[:PLACED], seed))
    print(f"\n| learned from | `Auto`, {LEARNED:,} answers | `Pool` of {PLACED}: 1 / 1.5 / 2 answers per item |")
    print("| --- | ---: | ---: |")
    for name, errors in learned.items():
        means = np.mean(in_pool[name], axis=0)
        print(f"| {name} | {fmean(errors):.2f} | {' / '.join(f'{mean:.2f}' for mean in means)} |")


def answers_to(X: Any, y: np.ndarray, seed: int) -> float:
    """Answers per item until the levels are less than 0.1 off."""
    pool, answers = Pool(X, LEVELS, random_state=seed), 0
    while np.abs(pool.levels_ - y).mean() >= 0.1:
        for _ in range(len(y) // 20):
            question = pool.ask()
            pool.tell(question, bool(y[question.item] > question.level))
        answers += len(y) // 20
    return answers / len(y)


def show_images() -> None:
    print("\n| level by | with the images | without looking at them |\n| --- | ---: | ---: |")
    shown = [drawings(IMAGES, seed) for seed in SEEDS]
    features = [np.array([describe(one) for one in images]) for images, _ in shown]
    for name in PROPERTIES:
        levels = [np.array(all_levels[name]) for _, all_levels in shown]
        seen = fmean(answers_to(X, y, seed) for seed, X, y in zip(SEEDS, features, levels, strict=True))
        blind = fmean(answers_to(np.empty((IMAGES, 0)), y, seed) for seed, y in zip(SEEDS, levels, strict=True))
        print(f"| {name} | {seen:.2f} | {blind:.2f} |")


if __name__ == "__main__":
    print("| learned from the texts | levels off | each shuffle |\n| --- | ---: | ---: |")
    for name, errors in text_errors().items():
        print(f"| {name} | {fmean(errors):.3f} | {' / '.join(f'{one:.3f}' for one in errors)} |")
    show_both()
    show_images()
