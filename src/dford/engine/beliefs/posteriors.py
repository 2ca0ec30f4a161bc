"""What is known about items: how likely each level is, and the cut whose answer would tell most.

P(level k) of an item is proportional to prior[k] * exp(evidence[k]). The evidence is the sum of the logarithms of how
likely each of the item's answers is from its person if k is right. If people differ in their opinions, a level has
several places, each with its own evidence: see `opinions`. What was settled is certain: the level is between low and
high. Levels count from 0 here, and cut c is between levels c and c + 1.

An answer about a cut tells most, in bits, if yes and no are equally likely: if the probability T of a level above it is
closest to a half. So only the gap |T - 1/2| is compared, and no logarithms are needed.
"""

from typing import Any

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import compiled, inlined, live
from dford.engine.counter import uniform
from dford.engine.elementary import exp_one

CLOSED = 2.0  # the gap of an item about which nothing is left to ask


@compiled
def gather(items: Ints, people: Ints, cuts: Ints, higher: Bools, logs: Floats, n_items: int) -> Floats:
    """The evidence of all items. logs[person, higher, level - cut + K - 1] is the log-likelihood of an answer."""
    n_levels = (logs.shape[2] + 1) // 2
    out = np.zeros((n_items, n_levels))
    for a in range(items.size):
        for k in range(n_levels):
            out[items[a], k] += logs[people[a], int(higher[a]), k - cuts[a] + n_levels - 1]
    return out


@inlined
def weigh(prior: Floats, evidence: Floats, low: int, high: int, out: Floats) -> None:
    """What is known about one item."""
    fine, most = evidence.size // prior.size, evidence[low * (evidence.size // prior.size)]
    for t in range(low * fine, (high + 1) * fine):
        most = max(most, evidence[t])
    total = 0.0
    for k in range(prior.size):
        out[k] = 0.0
        if low <= k <= high:
            for t in range(k * fine, (k + 1) * fine):
                out[k] += exp_one(evidence[t] - most)
            out[k] *= prior[k] / fine
        total += out[k]
    for k in range(prior.size):
        out[k] /= total


@inlined
def nearest(belief: Floats) -> tuple[float, int]:
    """The smallest gap of a cut whose answer is not certain, and the cut."""
    last = belief.size - 1
    while belief[last] == 0.0:
        last -= 1
    gap, cut, above, below = CLOSED, -1, 1.0, 0.0
    for c in range(last):
        below += belief[c]
        above -= belief[c]
        if below > 0.0 and abs(above - 0.5) < gap:
            gap, cut = abs(above - 0.5), c
    return gap, cut


@live
def look(items: Ints, prior: Floats, evidence: Floats, bounds: Any, belief: Floats, gaps: Floats, cuts: Any) -> None:
    """Find the gaps and cuts of some items."""
    for n in range(items.size):
        i = items[n]
        weigh(prior[i], evidence[i], bounds[i, 0], bounds[i, 1], belief)
        gaps[i], cuts[i] = nearest(belief)


@compiled
def beliefs(items: Ints, prior: Floats, evidence: Floats, bounds: Any) -> Floats:
    """What is known about some items, one row each."""
    out = np.empty((items.size, prior.shape[1]))
    for n in range(items.size):
        i = items[n]
        weigh(prior[i], evidence[i], bounds[i, 0], bounds[i, 1], out[n])
    return out


@compiled
def placements(prior: Floats, evidence: Floats, bounds: Any, levels: Ints, errors: Floats) -> None:
    """The median level of every item, and how far from it the right one is expected to be."""
    belief = np.empty(prior.shape[1])
    for i in range(len(prior)):
        weigh(prior[i], evidence[i], bounds[i, 0], bounds[i, 1], belief)
        levels[i], errors[i] = place(belief)


@inlined
def place(belief: Floats) -> tuple[int, float]:
    """The median, and the expected distance from it."""
    above, error, level = 1.0, 0.0, 0
    for c in range(belief.size - 1):
        above -= belief[c]
        if above > 0.5:
            level = c + 1
            error += max(1.0 - above, 0.0)
        else:
            error += max(above, 0.0)
    return level, error


@live
def place_one(belief: Floats) -> int:
    return place(belief)[0]


@compiled
def answers_needed(
    prior: Floats, evidence: Floats, bounds: Any, logs: Floats, rate: float, seed: int, target: float, most: int
) -> int:
    """How many answers about these items it takes until the expected error of their placements is at most the target.

    The right levels are drawn from what is known, answers are drawn, and questions chosen as in a pool; but no answer
    teaches anything about another item. `logs` are those of one person's answers, as in `gather`.
    """
    n_items, n_levels = prior.shape
    known = evidence.copy()
    belief, gaps, errors = np.empty(n_levels), np.empty(n_items), np.empty(n_items)
    cuts, truth = np.empty(n_items, np.int64), np.zeros(n_items, np.int64)
    total = 0.0
    for i in range(n_items):
        weigh(prior[i], known[i], bounds[i, 0], bounds[i, 1], belief)
        gaps[i], cuts[i] = nearest(belief)
        errors[i] = place(belief)[1]
        total += errors[i]
        u = uniform(seed, i)
        while truth[i] < n_levels - 1 and u >= belief[truth[i]]:
            u -= belief[truth[i]]
            truth[i] += 1
    n = 0
    while total > target * n_items and n < most:
        i = int(np.argmin(gaps))
        if gaps[i] >= CLOSED:
            break
        higher = (truth[i] > cuts[i]) != (uniform(seed, n_items + n) < rate)
        for k in range(n_levels):
            known[i, k] += logs[int(higher), k - cuts[i] + n_levels - 1]
        weigh(prior[i], known[i], bounds[i, 0], bounds[i, 1], belief)
        gaps[i], cuts[i] = nearest(belief)
        total -= errors[i]
        errors[i] = place(belief)[1]
        total += errors[i]
        n += 1
    return n
