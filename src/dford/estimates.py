"""Figures with intervals: for a number of answers fixed beforehand, and for all numbers at once."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln
from scipy.stats import norm

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float


def interval(terms: Floats, confidence: float = 0.95) -> Estimate:
    """The mean of terms with a normal interval: for a number of terms fixed beforehand."""
    check_confidence(confidence)
    value = float(terms.mean())
    half = float(norm.ppf(0.5 + confidence / 2) * terms.std(ddof=1) / math.sqrt(len(terms)))
    return Estimate(value, value - half, value + half)


def sequence(count: Any, total: Any, spread: Any, largest: Any, confidence: float = 0.95) -> tuple[Floats, ...]:
    """The mean of the first `count` terms, with bounds that hold for all counts at once: (value, low, high).

    Look as often as you like, and stop when you like: with probability `confidence` the mean of what the terms stand
    for is never outside, whatever it does over time. The terms are between 0 and `largest`; `spread` is the sum of the
    squares of each term less the mean before it.

    The empirical Bernstein bound of Howard, Ramdas, McAuliffe and Sekhon (2021), Theorem 4, with their
    gamma-exponential mixture.
    """
    check_confidence(confidence)
    count, total, spread, largest = (np.asarray(a, dtype=np.float64) for a in (count, total, spread, largest))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = total / count
        half = _boundary(spread, largest, (1 - confidence) / 2) / count
    # an error cannot be below 0
    return value, np.maximum(value - half, 0.0), value + half


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}")


def _boundary(v: Floats, c: Floats, alpha: float) -> Floats:
    """How far a sum may be from what it stands for, at any time, when its squares sum to v: u(v) in the paper.

    u(v) is the s at which a mixture of exponential martingales of the sum reaches 1 / alpha.
    """
    best = 100.0 * c  # the v at which it is tightest: that of about a thousand answers
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
