"""The priors of items, from what learners say: how sure they are made, and how far they are trusted at each cut.

Learners give the probability of a yes at each cut. It is turned into probabilities of levels, mixed with those that
models of levels give, raised to a power, tilted towards the shares of levels that the answers show, and hedged at cuts
that were hardly ever asked about. All of it is fitted to answers that the learners have not seen.
"""

from typing import Any

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine._compiled import aside, compiled, inlined
from dford.engine.beliefs.people import scale
from dford.engine.elementary import exp_one, log_one

LEAST = 1e-5  # no level of a prior is less likely
_ROUNDS = 40  # of expectation maximisation
_UNSEEN = 2.0  # items that are assumed at each level besides those asked about
_RATES = 100  # error rates that are compared, closer together where they are low
# How steeply the odds at a cut may rise with the answers about it: measured on many lopsided pools and wrong answers.
_STEEPNESS = 2.0


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


@inlined
def hedge(prior: Floats, splits: Ints, trust: Floats, out: Floats) -> None:
    """Move a prior towards even splits where a cut is not to be trusted; see `splits_by`.

    The levels are split at one cut after the other. At each, the odds of being above it, within what is left, are those
    of the prior to the power of its trust, times those of an even split to the rest. And they are at most
    1 / (1 - trust ** 2) ** 2 times those of an even split, or the inverse: after n answers about a cut it is not known
    to be rarer than that, however sure learners are that all answers to come will be the same.
    """
    for k in range(out.size):
        out[k] = 0.0
    out[0] = 1.0  # what is not split yet is with the lowest of its levels
    for s in range(len(splits)):
        low, cut, high = splits[s, 0], splits[s, 1], splits[s, 2]
        below, above = 0.0, 0.0
        for k in range(low, cut + 1):
            below += prior[k]
        for k in range(cut + 1, high + 1):
            above += prior[k]
        even = log_one(float(high - cut) / float(cut + 1 - low))
        most = -_STEEPNESS * log_one(max(1.0 - trust[cut] * trust[cut], 1e-300))
        odds = exp_one(even + min(max(trust[cut] * (log_one(above / below) - even), -most), most))
        out[cut + 1] = out[low] * odds / (1.0 + odds)
        out[low] /= 1.0 + odds
    for k in range(out.size):
        out[k] = max(out[k], LEAST)


@compiled
def splits_by(trust: Floats) -> Ints:
    """The order in which levels are split: always at the most trusted cut left, of several the one in the middle.

    Each row has the lowest level that is split, the cut, and the highest level.
    """
    out, todo = np.empty((trust.size, 3), np.int64), np.empty((trust.size + 1, 2), np.int64)
    todo[0, 0], todo[0, 1] = 0, trust.size
    count, waiting = 0, 1
    while waiting > 0:
        waiting -= 1
        low, high = todo[waiting, 0], todo[waiting, 1]
        if low == high:
            continue
        best = low
        for cut in range(low, high):
            is_nearer = abs(2 * cut + 1 - low - high) < abs(2 * best + 1 - low - high)
            if trust[cut] > trust[best] or (trust[cut] == trust[best] and is_nearer):
                best = cut
        out[count, 0], out[count, 1], out[count, 2] = low, best, high
        count += 1
        todo[waiting, 0], todo[waiting, 1] = low, best
        todo[waiting + 1, 0], todo[waiting + 1, 1] = best + 1, high
        waiting += 2
    return out


@aside
def priors(
    yes: Floats, above: Floats, inversion: float, power: float, weights: Floats, usual: Floats, tilt: Floats,
    trust: Floats,
) -> Floats:  # fmt: skip
    """The priors of items for which learners give these probabilities of yes.

    Learners are too modest, most of all about cuts that are hardly ever asked about. So answers are assumed to be wrong
    even more often than they are, and the priors are taken to a power. above[s] are the probabilities that models of
    levels give to the items' being above each cut; the first weight is that of the learners, the others are theirs.
    """
    out, splits = np.empty((len(yes), yes.shape[1] + 1)), splits_by(trust)
    said, mixed, sharp = np.empty((weights.size, out.shape[1])), np.empty(out.shape[1]), np.empty(out.shape[1])
    for i in range(len(yes)):
        as_logs(yes[i], inversion, said[0])
        for s in range(len(above)):
            as_logs(above[s, i], 0.0, said[s + 1])
        mix(said, weights, mixed)
        sharpen(mixed, power, usual, sharp)
        for k in range(tilt.size):
            sharp[k] *= tilt[k]
        hedge(sharp, splits, trust, out[i])
    return out


@aside
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
                if r > 0 and weights[w, 0] == 0.0:
                    continue  # nothing is inverted but what the learners say
                mix(said, weights[w], mixed)
                for p in range(exponents.size):
                    sharpen(mixed, exponents[p], usual, belief)
                    total = 0.0
                    for k in range(bounds[i, 0], bounds[i, 1] + 1):
                        total += belief[k] * chances[k]
                    out[r, p, w] += most + log_one(max(total, 1e-300))
    for w in range(len(weights)):
        if weights[w, 0] == 0.0:
            for r in range(1, inversions.size):
                out[r, :, w] = out[0, :, w]
    return out


@aside
def tilt(prior: Floats, evidence: Floats, bounds: Any) -> Floats:
    """What to multiply these priors by, level by level, so that their mean is what the evidence shows.

    The shares of the levels are those under which the evidence is likeliest, with some more items at each level
    (expectation maximisation, as Saerens, Latinne and Decaestecker 2002 adjust a classifier to other shares). Questions
    may depend on earlier answers: that makes no difference to a likelihood.
    """
    n, n_levels = prior.shape
    out, before, sums = np.ones(n_levels), np.zeros(n_levels), np.empty(n_levels)
    belief, likely = np.empty(n_levels), np.zeros(prior.shape)
    for i in range(n):
        most = evidence[i, bounds[i, 0]]
        for k in range(bounds[i, 0], bounds[i, 1] + 1):
            most = max(most, evidence[i, k])
        for k in range(bounds[i, 0], bounds[i, 1] + 1):
            likely[i, k] = prior[i, k] * exp_one(evidence[i, k] - most)
        for k in range(n_levels):
            before[k] += prior[i, k] / n
    for _ in range(_ROUNDS if n > 0 else 0):
        for k in range(n_levels):
            sums[k] = _UNSEEN
        for i in range(n):
            for k in range(n_levels):
                belief[k] = likely[i, k] * out[k]
            scale(belief)
            for k in range(n_levels):
                sums[k] += belief[k]
        for k in range(n_levels):
            out[k] = sums[k] / (n + _UNSEEN * n_levels) / before[k]
    return out


@aside
def cautious_rate(
    prior: Floats, against: Floats, elsewhere: Floats, counts: Ints, before: float, caution: float
) -> float:
    """An error rate of answers that the right one is below with this probability, but never quite 1/2.

    Of item i's counts[i] answers, against[i, k] are wrong if k is its level, whose probability before any answer is
    proportional to prior[i, k]; elsewhere[i, k] is the logarithm of how many ways to be wrong there were. Rates e up to
    1/2 have a prior proportional to (1 - e) ** before.
    """
    logs, rates, most, total = np.empty(_RATES), np.empty(_RATES), -1e300, 0.0
    least = np.empty(len(against))
    for j in range(len(against)):
        least[j] = against[j].min()
    for i in range(_RATES):
        u = (i + 0.5) / _RATES
        rates[i] = 0.5 * u * u
        right, odds = log_one(1.0 - rates[i]), log_one(rates[i] / (1.0 - rates[i]))
        logs[i] = before * right + log_one(u)  # u for the distance between rates
        for j in range(len(against)):
            chance = 0.0
            for k in range(against.shape[1]):
                chance += prior[j, k] * exp_one((against[j, k] - least[j]) * odds - elsewhere[j, k])
            logs[i] += counts[j] * right + least[j] * odds + log_one(max(chance, 1e-300))
        most = max(most, logs[i])
    for i in range(_RATES):
        logs[i] = exp_one(logs[i] - most)
        total += logs[i]
    below, i = logs[0], 0
    while i < _RATES - 1 and below < caution * total:
        i += 1
        below += logs[i]
    return float(rates[i])


@compiled
def expected_parameters(
    inversions: Floats, exponents: Floats, weights: Floats, logs: Floats
) -> tuple[float, float, Floats]:
    """The means of the parameters of `priors`, given the logarithms of the likelihoods of their combinations.

    That of the power is a geometric mean: twice as sure and half as sure are equally far from right.
    """
    most, total, inversion, power, weighed = logs.max(), 0.0, 0.0, 0.0, np.zeros(weights.shape[1])
    for r in range(inversions.size):
        for p in range(exponents.size):
            for w in range(len(weights)):
                chance = exp_one(logs[r, p, w] - most)
                total += chance
                inversion += chance * inversions[r]
                power += chance * log_one(exponents[p])
                for s in range(weighed.size):
                    weighed[s] += chance * weights[w, s]
    return inversion / total, exp_one(power / total), weighed / total
