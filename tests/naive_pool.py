"""The pool's arithmetic again, slowly and from its definition: Bayes' rule, and information in bits."""

from collections.abc import Sequence
from math import inf, log, log2, prod

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


def levels_of(yes: Sequence[float], rate: float) -> list[float]:
    """The probabilities of levels, if answers are yes with these probabilities and wrong at this rate."""
    above = [1.0]
    for chance in yes:
        above.append(min(above[-1], min(max((chance - rate) / (1 - 2 * rate), 0.0), 1.0)))
    return [max(one - next_, 1e-5) for one, next_ in zip(above, [*above[1:], 0.0], strict=True)]


def prior(
    yes: Sequence[float],
    above: Sequence[Sequence[float]],
    inversion: float,
    power: float,
    weights: Sequence[float],
    usual: Sequence[float],
    tilt: Sequence[float],
    trust: Sequence[float],
) -> list[float]:
    """What learners and models of levels say about an item, as sure as it should be; `usual` are shares."""
    said = sure(yes, above, inversion, power, weights, usual)
    tilted = [chance * times for chance, times in zip(said, tilt, strict=True)]
    return [max(chance, 1e-5) for chance in hedged(tilted, trust)]


def hedged(prior: Sequence[float], trust: Sequence[float]) -> list[float]:
    """The levels split at the most trusted cut, in the middle if there are several, and each side likewise.

    The odds of a split differ from even ones by no more than the trust in its cut allows.
    """
    n = len(prior)
    if n == 1:
        return [1.0]
    cut = min(range(n - 1), key=lambda c: (-trust[c], abs(2 * c + 2 - n)))
    said, even = sum(prior[cut + 1 :]) / sum(prior[: cut + 1]), (n - 1 - cut) / (cut + 1)
    most = 1 / (1 - trust[cut] ** 2) ** 2 if trust[cut] < 1 else inf
    odds = even * min(max((said / even) ** trust[cut], 1 / most), most)
    below, above = hedged(prior[: cut + 1], trust[:cut]), hedged(prior[cut + 1 :], trust[cut + 1 :])
    return [chance / (1 + odds) for chance in below] + [chance * odds / (1 + odds) for chance in above]


def sure(
    yes: Sequence[float],
    above: Sequence[Sequence[float]],
    inversion: float,
    power: float,
    weights: Sequence[float],
    usual: Sequence[float],
) -> list[float]:
    """The same before it is tilted and hedged."""
    said = [levels_of(yes, inversion), *(levels_of(one, 0.0) for one in above)]
    found = []
    for level, share in enumerate(usual):
        mean = prod(one[level] ** weight for one, weight in zip(said, weights, strict=True))
        found.append(mean**power * share ** max(1 - power, 0))
    return [max(one / sum(found), 1e-5) for one in found]


def likelihood(prior: Sequence[float], answers: Sequence[Answer], rate: float, low: int, high: int) -> float:
    """The logarithm of how likely these answers are."""
    total = 0.0
    for level in range(low, high + 1):
        chance = prior[level]
        for cut, higher in answers:
            chance *= 1 - rate if (level > cut) == higher else rate
        total += chance
    return log(total)
