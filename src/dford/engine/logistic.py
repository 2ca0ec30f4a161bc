"""The logistic function, and where a normal belief is most likely after a logistic observation of it."""

import math

from dford.engine._compiled import inlined
from dford.engine.elementary import exp_one


@inlined
def sigmoid(a: float) -> float:
    e = exp_one(-abs(a))
    return 1.0 / (1.0 + e) if a >= 0.0 else e / (1.0 + e)


@inlined
def mode_of_bit(a: float, v: float, bit: float) -> float:
    """The most likely logit after an answer, where it was normal with mean a and variance v.

    That is the root of d = v (bit - sigmoid(a + d)), as a + d. One Newton step from d = 0 would overshoot
    wherever the answer is a surprise, as the curvature there is near 0; the root lies between 0 and that step.
    """
    low, high = 0.0, v * (bit - sigmoid(a))
    if high < low:
        low, high = high, low
    d, last = 0.0, high - low
    for _ in range(100):  # usually three or four, except for great surprises
        p = sigmoid(a + d)
        excess = d - v * (bit - p)
        if excess > 0.0:
            high = d
        else:
            low = d
        step = -excess / (1.0 + v * p * (1.0 - p))
        # Newton's step, unless it leaves the bracket or does not halve the previous step: then bisect
        if not low < d + step < high or abs(step) > 0.5 * abs(last):
            step = 0.5 * (low + high) - d
        last = step
        d += step
        if abs(step) <= 1e-13 * (1.0 + abs(d)):
            break
    return a + d


@inlined
def mode_of_gap(gap: float, v: float) -> float:
    """The same for a gap g between cuts and the likelihood 1 - exp(-g): the root of d = v / (exp(gap + d) - 1)."""
    low, high = 0.0, 0.5 * (math.sqrt(gap * gap + 4.0 * v) - gap)
    for _ in range(50):
        d = 0.5 * (low + high)
        e = exp_one(-(gap + d))
        if d * (1.0 - e) > v * e:
            high = d
        else:
            low = d
    return max(gap + high, 1e-9)  # even if two cuts coincide with certainty
