"""Figures with intervals: for a number of answers fixed in advance, and for all numbers at once."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaln, ndtri

from dford.arrays import Floats


class Estimate(NamedTuple):
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float


def interval(
    terms: Floats,
    confidence: float = 0.95,
    *,
    reach: tuple[float, float],
    possible: tuple[float, float],
    signed: bool = False,
) -> Estimate:
    """The mean of terms and its interval, for a number of terms fixed in advance.

    Terms may be as far apart as the two ends of `reach`, even if none seen so far are. What they stand for is in the
    range `possible`, and so is every figure.

    It is a score interval (Wilson 1927): the limits are the means m from which the one found is just z standard errors
    away, at the variance that terms of mean m would have. At a distance d from the mean found, that is the variance
    found, plus d times a slope, minus d**2. The slope says how heavy the terms are that move the mean. It is

        2 sum of y |y| / sum of |y|,        y = term - mean,

    which is w minus twice the mean if terms are 0 or w, so it gives Wilson's interval for a share. One more term is
    counted in, as far out as possible. So if all terms are equal, the interval still reaches z**2 / (n + z**2) of the
    way to the end of their reach, where a normal interval would have width 0. The more terms differ, the less this
    matters: then the limits are the normal ones, moved a little towards the long tail. If terms are `signed`, a long
    tail may be luck, as more terms of one sign or fewer of the other can move the mean, so the interval only widens.
    """
    check_confidence(confidence)
    n, value, z2 = len(terms), float(terms.mean()), float(ndtri(0.5 + confidence / 2)) ** 2
    y, below, above = terms - value, value - reach[0], reach[1] - value
    error, lean = z2 / (n + z2) * float((y * y).mean()), float((y * np.abs(y)).sum())
    size = float(np.abs(y).sum()) + 2 * max(above, below)
    high, low = (max(lean, 0.0), min(lean, 0.0)) if signed else (lean, lean)
    up, down = z2 / (n + z2) * (high + above**2) / size, z2 / (n + z2) * (low - below**2) / size
    bottom, top = value + down - math.sqrt(down**2 + error), value + up + math.sqrt(up**2 + error)
    if bottom >= possible[1] or top <= possible[0]:  # the terms contradict what is known, so they say nothing
        bottom, top = possible
    return Estimate(*(min(max(figure, possible[0]), possible[1]) for figure in (value, bottom, top)))


def sequence(
    count: Any, total: Any, spread: Any, largest: Any, confidence: float = 0.95, most: float = math.inf
) -> tuple[Floats, ...]:
    """The mean of the first `count` terms, with bounds that hold for all counts at once: (value, low, high).

    Look as often as you like, and stop when you like: with probability `confidence` the mean of what the terms stand
    for is never outside, however it changes over time. The terms are between 0 and `largest`; `spread` is the sum of
    (term - mean before it)**2. What they stand for is between 0 and `most`, and so is every figure.

    The empirical Bernstein bound of Howard, Ramdas, McAuliffe and Sekhon (2021), Theorem 4, with their
    gamma-exponential mixture.
    """
    check_confidence(confidence)
    count, total, spread, largest = (np.asarray(a, dtype=np.float64) for a in (count, total, spread, largest))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = total / count
        half = _boundary(spread, largest, (1 - confidence) / 2) / count
    low = np.where(value - half < most, value - half, 0.0)  # unless the terms contradict what is known
    return tuple(np.clip(figure, 0.0, most) for figure in (value, low, value + half))


def share(count: int, n: int, population: int, confidence: float = 0.95) -> Estimate:
    """The share of a population of which `count` of `n` things drawn from it have something, and its exact interval.

    Things are drawn without replacement, so this is Clopper and Pearson's interval (1934) for a hypergeometric
    distribution: once all are drawn, the share is known.
    """
    check_confidence(confidence)
    if not n:
        return Estimate(math.nan, 0.0, 1.0)
    doubt = (1.0 - confidence) / 2.0
    most = _most_likely_to_have(count, n, population, doubt)
    least = population - _most_likely_to_have(n - count, n, population, doubt)
    return Estimate(count / n, least / population, most / population)


def _most_likely_to_have(count: int, n: int, population: int, doubt: float) -> int:
    """The largest number of things in the population of which so few are drawn with more than this probability."""
    low, high = count, population - (n - count)
    k = np.arange(count + 1)
    while low < high:
        middle = (low + high + 1) // 2
        possible = k[(k <= middle) & (n - k <= population - middle)]
        logs = _log_choose(middle, possible) + _log_choose(population - middle, n - possible)
        if np.exp(logs - _log_choose(population, np.array(n))).sum() > doubt:
            low = middle
        else:
            high = middle - 1
    return low


def _log_choose(n: int, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}")


def _boundary(v: Floats, c: Floats, alpha: float) -> Floats:
    """How far a sum may be from what it stands for, at any time, when its squares sum to v: u(v) in the paper.

    u(v) is the s at which a mixture of exponential martingales of the sum reaches 1 / alpha.
    """
    best = 100.0 * c  # the v at which it is tightest, reached after about a thousand answers
    weight = 2 * math.log(1 / alpha)
    rho = best / (weight + math.log(1 + weight)) / c**2
    start = rho * np.log(rho) - gammaln(rho) - np.log(gammainc(rho, rho))

    def log_martingale(s: Floats) -> Floats:
        a, b = v / c**2 + rho, (c * s + v) / c**2 + rho
        logs: Floats = start + gammaln(a) + np.log(gammainc(a, b)) - a * np.log(b) + b - rho
        return logs

    low = np.zeros_like(v)
    high = 4.0 * np.sqrt((v + best) * math.log(1 / alpha)) + 4.0 * c * math.log(1 / alpha)
    while (short := log_martingale(high) < math.log(1 / alpha)).any():
        high = np.where(short, 2.0 * high, high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        short = log_martingale(middle) < math.log(1 / alpha)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high
