"""Which of several candidates predicts: maps, trees, and the leading map with trees, judged by every answer.

`scores` and `cuts` are those of each map at each row, `trees` the logits of trees, or none. A candidate's loss is the
squared error of the probability it gave the answer, and fades.

Trees are too modest, and the answers show by how much: the odds that the chosen candidate gave each answer are taken to
a power. Of several powers, the one is used under which the answers so far, which fade, are likeliest. As even odds stay
even, no prediction changes.
"""

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import inlined, live
from dford.engine.elementary import exp_one, log_one, logs, sigmoid

MEMORY = 0.999  # the weight of past answers shrinks by this at each one: about the last thousand count
MARGIN = 1.0  # in squared errors of probability: a lead that takes many answers, not luck, to build up
_UP = np.cumprod(np.full(10, 1.1))  # not 1.1 ** k, whose last bit depends on the machine
POWERS: Floats = np.concatenate([1.0 / _UP[4::-1], [1.0], _UP])
LASTING = 0.9995  # what speaks against a power shrinks by this at each answer
_DOUBT = 20.0  # how much the squared logarithms of the powers speak against them before any answer


@inlined
def _best(losses: Floats, n: int) -> int:
    best = 0
    for k in range(1, n):
        if losses[k] < losses[best]:
            best = k
    return best


@inlined
def _logit(k: int, leader: int, scores: Floats, cuts: Floats, trees: Floats, r: int, i: int) -> float:
    """Candidate k's log-odds that row r is above level i + 1. If there are no trees, the leader stands in for them."""
    one = k if k < len(scores) else leader
    logit: float = scores[one, r] - cuts[one, r, i]
    if k >= len(scores) and len(trees) > 0:
        logit = trees[r, i] if k == len(scores) else 0.5 * (logit + trees[r, i])
    return logit


@inlined
def _level(losses: Floats, choice: int, scores: Floats, cuts: Floats, trees: Floats, r: int) -> int:
    leader, level = _best(losses, len(scores)), 1
    for i in range(cuts.shape[2]):
        if _logit(choice, leader, scores, cuts, trees, r, i) > 0.0:
            level += 1
    return level


@live
def level(losses: Floats, choice: int, scores: Floats, cuts: Floats, trees: Floats) -> int:
    """What the chosen candidate predicts for the first row."""
    return _level(losses, choice, scores, cuts, trees, 0)


@live
def judge(
    losses: Floats, against: Floats, choice: int, scores: Floats, cuts: Floats, trees: Floats, asked: Ints,
    higher: Bools, predictions: Ints,
) -> int:  # fmt: skip
    """Fill in the predictions of the chosen candidate, judge all by the answers, and return the new choice."""
    n, n_maps = losses.size, len(scores)
    for r in range(asked.size):
        predictions[r] = _level(losses, choice, scores, cuts, trees, r)
        leader, i = _best(losses, n_maps), asked[r] - 1
        if i < cuts.shape[2]:
            if choice >= n_maps and len(trees) > 0:
                _weigh_powers(against, _logit(choice, leader, scores, cuts, trees, r, i), higher[r])
            for k in range(n):
                wrong = sigmoid(_logit(k, leader, scores, cuts, trees, r, i)) - (1.0 if higher[r] else 0.0)
                losses[k] = MEMORY * losses[k] + wrong * wrong
        if len(trees) == 0:
            leader = _best(losses, n_maps)
            losses[n_maps] = losses[n_maps + 1] = losses[leader]
        best = _best(losses, n)
        if losses[best] < losses[choice] - MARGIN:
            choice = best
    return choice


@inlined
def _weigh_powers(against: Floats, logit: float, higher: bool) -> None:
    for p in range(against.size):
        odds = POWERS[p] * (logit if higher else -logit)
        unlikely = log_one(1.0 + exp_one(-abs(odds))) - min(odds, 0.0)  # minus the log of the answer's probability
        against[p] = LASTING * against[p] + unlikely


def no_powers() -> Floats:
    """What speaks against the powers before any answer."""
    return _DOUBT * logs(POWERS) ** 2


def power(against: Floats) -> float:
    """The power that fits the answers best."""
    return float(POWERS[np.argmin(against)])


@live
def logits(losses: Floats, choice: int, scores: Floats, cuts: Floats, trees: Floats, out: Floats) -> None:
    """The logits of the chosen candidate."""
    leader = _best(losses, len(scores))
    for r in range(len(out)):
        for i in range(out.shape[1]):
            out[r, i] = _logit(choice, leader, scores, cuts, trees, r, i)


def no_logits(n_levels: int) -> Floats:
    """The logits of trees if there are none."""
    return np.empty((0, n_levels - 1))
