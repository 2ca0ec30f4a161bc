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


def from_texts() -> list[str]:
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
    return [
        "| learned from the texts | levels off | each shuffle |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {fmean(own):.3f} | {' / '.join(f'{one:.3f}' for one in own)} |" for name, own in errors.items()),
    ]


def placed(rows: Any, y: np.ndarray, seed: int) -> list[float]:
    """The error of a pool after 1, 1.5 and 2 answers per item."""
    pool, errors = Pool(rows, [1, 2, 3, 4, 5], random_state=seed), []
    for answers in range(1, 2 * len(y) + 1):
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
        if answers in {len(y), len(y) * 3 // 2, len(y) * 2}:
            errors.append(float(np.abs(pool.levels_ - y).mean()))
    return errors


def from_both() -> list[str]:
    learned: dict[str, list[float]] = {}
    in_pool: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        texts, _, prices, y = films(seed)
        for name, rows in tables(texts, prices).items():
            learned.setdefault(name, []).append(judged(rows, y, Auto(random_state=seed).fit))
            in_pool.setdefault(name, []).append(placed(rows[:PLACED], y[:PLACED], seed))
    lines = [f"| learned from | `Auto`, {LEARNED:,} answers | `Pool` of {PLACED}: 1 / 1.5 / 2 answers per item |"]
    lines.append("| --- | ---: | ---: |")
    for name, errors in learned.items():
        means = np.mean(in_pool[name], axis=0)
        lines.append(f"| {name} | {fmean(errors):.2f} | {' / '.join(f'{mean:.2f}' for mean in means)} |")
    return lines


def answers_to(X: Any, y: np.ndarray, seed: int) -> float:
    """Answers per item until the levels are less than 0.1 off."""
    pool, answers = Pool(X, LEVELS, random_state=seed), 0
    while np.abs(pool.levels_ - y).mean() >= 0.1:
        for _ in range(len(y) // 20):
            question = pool.ask()
            pool.tell(question, bool(y[question.item] > question.level))
        answers += len(y) // 20
    return answers / len(y)


def from_images() -> list[str]:
    lines = ["| level by | with the images | without looking at them |", "| --- | ---: | ---: |"]
    shown = [drawings(IMAGES, seed) for seed in SEEDS]
    features = [np.array([describe(one) for one in images]) for images, _ in shown]
    for name in PROPERTIES:
        levels = [np.array(all_levels[name]) for _, all_levels in shown]
        seen = fmean(answers_to(X, y, seed) for seed, X, y in zip(SEEDS, features, levels, strict=True))
        blind = fmean(answers_to(np.empty((IMAGES, 0)), y, seed) for seed, y in zip(SEEDS, levels, strict=True))
        lines.append(f"| {name} | {seen:.2f} | {blind:.2f} |")
    return lines


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "docs" / "rating"
    for name, table in (("texts", from_texts), ("both", from_both), ("images", from_images)):
        (folder / f"{name}.md").write_text("\n".join(table()) + "\n")
