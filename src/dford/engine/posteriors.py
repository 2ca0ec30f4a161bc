"""What is known about items: how likely each level is, and the cut whose answer would tell most.

P(level k) of an item is proportional to prior[k] * exp(evidence[k]). The evidence is the sum of the logarithms of how
likely each of the item's answers is from its person if k is right. What was settled is certain: the level is between
low and high. Levels count from 0 here, and cut c is between levels c and c + 1.

An answer about a cut tells most, in bits, if yes and no are equally likely: if the probability T of a level above it is
closest to a half. So only the gap |T - 1/2| is compared, and no logarithms are needed.
"""

from typing import Any

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import compiled, inlined, live
from dford.engine.counter import uniform
from dford.engine.elementary import exp_one, log_one

LEAST = 1e-5  # no level of a prior is less likely
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
    most = evidence[low]
    for k in range(low, high + 1):
        most = max(most, evidence[k])
    total = 0.0
    for k in range(prior.size):
        out[k] = prior[k] * exp_one(evidence[k] - most) if low <= k <= high else 0.0
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


@inlined
def invert(yes: Floats, rate: float, out: Floats) -> None:
    """From the probabilities of answers to those of levels.

    P(yes) = e + (1 - 2e) P(above), so P(above) = (P(yes) - e) / (1 - 2e), made to fall with the cut.
    """
    above, levels = 1.0, out.size
    for c in range(levels):
        below = 0.0
        if c < levels - 1:
            below = min(above, min(max((yes[c] - rate) / (1.0 - 2.0 * rate), 0.0), 1.0))
        out[c] = max(above - below, LEAST)
        above = below


@inlined
def sharpen(logs: Floats, power: float, usual: Floats, out: Floats) -> None:
    """The probabilities with these logarithms, to a power, scaled to sum to 1.

    A power below 1 moves them towards the usual ones, also given as logarithms: even if nothing is known about an item,
    the shares of the levels are.
    """
    rest, most = max(1.0 - power, 0.0), -1e300
    for k in range(logs.size):
        out[k] = power * logs[k] + rest * usual[k]
        most = max(most, out[k])
    total = 0.0
    for k in range(logs.size):
        out[k] = exp_one(out[k] - most)
        total += out[k]
    for k in range(logs.size):
        out[k] = max(out[k] / total, LEAST)


@inlined
def as_logs(above: Floats, rate: float, out: Floats) -> None:
    """The logarithms of the probabilities of levels, from those of answers."""
    invert(above, rate, out)
    for k in range(out.size):
        out[k] = log_one(out[k])


@inlined
def mix(said: Floats, weights: Floats, out: Floats) -> None:
    """The logarithms of a weighted geometric mean of the rows, which are logarithms."""
    for k in range(out.size):
        out[k] = 0.0
        for s in range(weights.size):
            out[k] += weights[s] * said[s, k]


@compiled
def priors(yes: Floats, above: Floats, inversion: float, power: float, weights: Floats, usual: Floats) -> Floats:
    """The priors of items for which learners give these probabilities of yes.

    Learners are too modest, most of all about cuts that are hardly ever asked about. So answers are assumed to be wrong
    even more often than they are, and the priors are taken to a power. above[s] are the probabilities that models of
    levels give to the items' being above each cut; the first weight is that of the learners, the others are theirs.
    """
    out = np.empty((len(yes), yes.shape[1] + 1))
    said, mixed = np.empty((weights.size, out.shape[1])), np.empty(out.shape[1])
    for i in range(len(yes)):
        as_logs(yes[i], inversion, said[0])
        for s in range(len(above)):
            as_logs(above[s, i], 0.0, said[s + 1])
        mix(said, weights, mixed)
        sharpen(mixed, power, usual, out[i])
    return out


@compiled
def likelihoods(
    yes: Floats,
    above: Floats,
    evidence: Floats,
    bounds: Any,
    inversions: Floats,
    exponents: Floats,
    weights: Floats,
    usual: Floats,
) -> Floats:
    """The logarithm of the likelihood of all answers about these items, by the parameters of `priors`.

    Each row of `weights` is one way to weigh them.
    """
    out, n_levels = np.zeros((inversions.size, exponents.size, len(weights))), yes.shape[1] + 1
    belief, chances, mixed = np.empty(n_levels), np.empty(n_levels), np.empty(n_levels)
    said = np.empty((weights.shape[1], n_levels))
    for i in range(len(yes)):
        most = evidence[i].max()
        for k in range(n_levels):
            chances[k] = exp_one(evidence[i, k] - most)
        for s in range(len(above)):
            as_logs(above[s, i], 0.0, said[s + 1])
        for r in range(inversions.size):
            as_logs(yes[i], inversions[r], said[0])
            for w in range(len(weights)):
                mix(said, weights[w], mixed)
                for p in range(exponents.size):
                    sharpen(mixed, exponents[p], usual, belief)
                    total = 0.0
                    for k in range(bounds[i, 0], bounds[i, 1] + 1):
                        total += belief[k] * chances[k]
                    out[r, p, w] += most + log_one(max(total, 1e-300))
    return out


@compiled
def expected_rate(repeats: int, differing: int, against: Floats, counts: Ints, before: float) -> float:
    """The mean of the posterior of the error rate of answers.

    Two answers to one question differ with probability 2e(1 - e). Of item i's counts[i] answers, against[i, k] are
    wrong if k is its level, and all levels are equally likely beforehand. The prior of rates e up to 1/2 is
    proportional to (1 - e) ** before.
    """
    n, most, total, mean = 1000, -1e300, 0.0, 0.0
    logs, least = np.empty(n), np.empty(len(against))
    for j in range(len(against)):
        least[j] = against[j].min()
    for i in range(n):
        e = 0.5 * (i + 0.5) / n
        d = 2.0 * e * (1.0 - e)
        right, odds = log_one(1.0 - e), log_one(e / (1.0 - e))
        logs[i] = before * right + differing * log_one(d) + (repeats - differing) * log_one(1.0 - d)
        for j in range(len(against)):
            chance = 0.0
            for k in range(against.shape[1]):
                chance += exp_one((against[j, k] - least[j]) * odds)
            logs[i] += counts[j] * right + least[j] * odds + log_one(chance)
        most = max(most, logs[i])
    for i in range(n):
        w = exp_one(logs[i] - most)
        total += w
        mean += w * 0.5 * (i + 0.5) / n
    return mean / total


@compiled
def expected_parameters(
    inversions: Floats, exponents: Floats, weights: Floats, logs: Floats
) -> tuple[float, float, Floats]:
    """The means of the parameters of `priors`, given the logarithms of the likelihoods of their combinations."""
    most, total, inversion, power, weighed = logs.max(), 0.0, 0.0, 0.0, np.zeros(weights.shape[1])
    for r in range(inversions.size):
        for p in range(exponents.size):
            for w in range(len(weights)):
                chance = exp_one(logs[r, p, w] - most)
                total += chance
                inversion += chance * inversions[r]
                power += chance * exponents[p]
                for s in range(weighed.size):
                    weighed[s] += chance * weights[w, s]
    return inversion / total, power / total, weighed / total


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
