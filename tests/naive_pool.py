"""The pool's arithmetic again, slowly and from its definition: Bayes' rule, and information in bits."""

from collections.abc import Sequence
from math import log2

Answer = tuple[int, bool]  # a cut, from 0, and whether the level is above it


def belief(prior: Sequence[float], answers: Sequence[Answer], rate: float, low: int, high: int) -> list[float]:
    weights = []
    for level, chance in enumerate(prior):
        for cut, higher in answers:
            chance *= 1 - rate if (level > cut) == higher else rate
        weights.append(chance if low <= level <= high else 0.0)
    return [weight / sum(weights) for weight in weights]


def entropy(p: float) -> float:
    return 0.0 if p in (0.0, 1.0) else -p * log2(p) - (1 - p) * log2(1 - p)


def information(belief: Sequence[float], cut: int, rate: float) -> float:
    """What an answer about this cut is expected to tell about the level."""
    above = sum(belief[cut + 1 :])
    return entropy(above * (1 - rate) + (1 - above) * rate) - entropy(rate)


def median(belief: Sequence[float]) -> int:
    return next(level for level in range(len(belief)) if sum(belief[: level + 1]) >= 0.5)


def error(belief: Sequence[float], level: int) -> float:
    return sum(chance * abs(level - other) for other, chance in enumerate(belief))
