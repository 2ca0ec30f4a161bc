"""What people are like, from their answers about the same items, when neither right levels nor people are known.

A person is of one of several kinds. How likely a kind is to answer yes depends on how far the level is above the cut
that was asked about: the probability is chances[kind, level - cut + K - 1], with levels and cuts from 0. What is known
about an item shows which kind of person would have answered like this, and what is known about a person which level
the item may have. Both are passed back and forth along the answers (belief propagation). No answer gets back what it
said itself or, if others answered about the item, what else the same person said about it: someone who is wrong about
an item is wrong at every cut.

In `agree`, the kinds are side by side, so that loops over them are vectorised: says[1, level - cut + K - 1, kind] are
the probabilities of yes, and says[0] those of no.

There are only sums, products, quotients and `elementary` here, in a fixed order: the same answers give the same bits.
"""

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import compiled, inlined, released
from dford.engine.elementary import log_one


@inlined
def said(yes: float, higher: bool) -> float:
    """How likely this answer was, if a yes had this probability."""
    return yes if higher else 1.0 - yes


@inlined
def scale(row: Floats) -> None:
    """Make a row sum to 1."""
    total = 0.0
    for k in range(row.size):
        total += row[k]
    for k in range(row.size):
        row[k] /= total


@inlined
def without(known: Floats, answer: Floats, out: Floats) -> None:
    """What is known without one answer."""
    for k in range(known.size):
        out[k] = known[k] / answer[k]
    scale(out)


@inlined
def likelihood(level: Floats, chances: Floats, cut: int, higher: bool) -> float:
    """How likely an answer is from a person with these chances of yes, given what else is known about the level."""
    yes = 0.0
    for k in range(level.size):
        yes += level[k] * chances[k - cut + level.size - 1]
    return said(yes, higher)


@inlined
def likelihoods(level: Floats, yes: Floats, cut: int, higher: bool, out: Floats) -> None:
    """The same for all kinds, of which yes[level - cut + K - 1] are the chances of yes."""
    first = level.size - 1 - cut
    for j in range(out.size):
        out[j] = 0.0
    for k in range(level.size):
        for j in range(out.size):
            out[j] += level[k] * yes[first + k, j]
    for j in range(out.size):
        out[j] = said(out[j], higher)


@inlined
def speak(kind: Floats, says: Floats, cut: int, out: Floats) -> None:
    """What an answer says about its item, if this is how likely each kind is for the person."""
    first = out.size - 1 - cut
    for k in range(out.size):
        total = 0.0
        for j in range(kind.size):
            total += kind[j] * says[first + k, j]
        out[k] = total


@inlined
def but_for(items: Ints, together: Ints, beliefs: Floats, messages: Floats, others: Floats) -> None:
    """What is known about the item of each answer, without this answer and those that go with it."""
    for a in range(items.size):
        without(beliefs[items[a]], messages[a], others[a])
        also = together[a]
        while also != a:
            without(others[a], messages[also], others[a])
            also = together[also]


@released
def agree(
    items: Ints, people: Ints, cuts: Ints, higher: Bools, together: Ints, prior: Floats, says: Floats, weights: Floats,
    rounds: int, beliefs: Floats, kinds: Floats, others: Floats, messages: Floats, work: Floats,
) -> None:  # fmt: skip
    """Find how likely each level is for each item, each kind for each person, and the former without each answer.

    `weights` are how likely the kinds are for each person before any answer. `together` leads from each answer to the
    next one that goes with it, in a circle; a lone answer leads to itself. `messages`, what each answer says about its
    item, has the shape of `others`, and `work` has two rows with one entry per kind.
    """
    n, n_levels, n_kinds = items.size, prior.shape[1], weights.shape[1]
    kind, likely = work[0], work[1]
    for a in range(n):
        speak(weights[people[a]], says[int(higher[a])], cuts[a], messages[a])
    for turn in range(rounds + 1):
        for i in range(len(prior)):
            for k in range(n_levels):
                beliefs[i, k] = prior[i, k]
        for a in range(n):
            for k in range(n_levels):
                beliefs[items[a], k] *= messages[a, k]
            scale(beliefs[items[a]])
        but_for(items, together, beliefs, messages, others)
        if turn == rounds:
            break
        for p in range(len(kinds)):
            for j in range(n_kinds):
                kinds[p, j] = weights[p, j]
        for a in range(n):
            likelihoods(others[a], says[1], cuts[a], higher[a], likely)
            for j in range(n_kinds):
                kinds[people[a], j] *= likely[j]
            scale(kinds[people[a]])
        for a in range(n):
            likelihoods(others[a], says[1], cuts[a], higher[a], likely)
            without(kinds[people[a]], likely, kind)
            speak(kind, says[int(higher[a])], cuts[a], messages[a])


@compiled
def read_person(levels: Floats, cuts: Ints, higher: Bools, chances: Floats) -> tuple[Floats, Floats, Floats]:
    """For one person, by kind: the logarithm of how likely the answers are, how many are wrong, and its variance.

    `levels` are how likely each level is for the item of each answer, without that answer. It is they that leave in
    doubt how many answers of somebody strict are wrong.
    """
    n_kinds, n_levels = len(chances), levels.shape[1]
    logs, wrong, variance = np.zeros(n_kinds), np.zeros(n_kinds), np.zeros(n_kinds)
    for a in range(cuts.size):
        for j in range(n_kinds):
            logs[j] += log_one(likelihood(levels[a], chances[j], cuts[a], higher[a]))
            mean, squares = 0.0, 0.0
            for k in range(n_levels):
                one = said(chances[j, k - cuts[a] + n_levels - 1], k <= cuts[a])
                mean += levels[a, k] * one
                squares += levels[a, k] * one * one
            wrong[j] += mean
            variance[j] += max(squares - mean * mean, 0.0)
    return logs, wrong, variance


@compiled
def mix(weights: Floats, rows: Floats) -> Floats:
    """The mean of the rows with each of these weights, summed in order."""
    out = np.zeros((len(weights), rows.shape[1]))
    for i in range(len(weights)):
        for j in range(len(rows)):
            for k in range(rows.shape[1]):
                out[i, k] += weights[i, j] * rows[j, k]
    return out


@inlined
def entropy(p: float) -> float:
    """The entropy of a yes with this probability, in nats."""
    if p <= 1e-300 or p >= 1.0:
        return 0.0
    return -p * log_one(p) - (1.0 - p) * log_one(1.0 - p)
