"""One round as scalar functions: predict, ask, judge, learn. The loops over rows call these.

Everything is kept in the units in which the round is cheapest. With step size 1 / (lambda t) and a zero
start, a = lambda * u obeys

    a' = (1 - c/t) a + (c/t) v,      c = 1, or clip / |a - v| where the gradient is clipped,

for v = (total * phi(x), -tau), and lambda appears nowhere. So t * a' = ((t-c)/(t-1)) * (t-1) a + c v, and
the state holds (t-1) a = scale * (weights, cuts): unclipped, scale stays exactly 1, cuts are plain sums
and no decay ever passes over the weights. Signs of f - theta need no scale at all.

The state is one vector: the figures named below, then a sketch of what was learned from (see `sketch`), the K - 1
cuts, and the weights (if the form keeps any). The clock t of the paper's boxes starts at 2, so t = rounds + 2.
"""

import math

import numpy as np

from dford.arrays import Floats
from dford.engine._compiled import inlined, place
from dford.engine.counter import uniform
from dford.engine.sketch import END, KEYS, PRINTS, TOLD

ROUNDS = 0  # answers learned from
ASKED = 1  # questions drawn, which is the number of the stream's next draw
SCALE = 2
NORM = 3  # squared (RKHS) norm of the weights, before scale
RADIUS = 4  # largest k(x, x) learned from
LABELLED = 5  # rounds whose label (or interval) was known; over these:
ERROR = 6  # sum of |prediction - label|
ASKED_ERROR = 7  # sum of |level asked - label|
LOSS = 8  # sum of lambda times the regularised loss
CROSSINGS = 9  # sum over all rounds of the cuts out of order
START = 10  # the window's first entry in its buffers, and how many
COUNT = 11
PENDING = 12  # the weight of a covariance update that is still to be made
SEEN = 13  # rows in the running moments
JUDGED = 14  # answers; over these, without any label:
FREE_ERROR = 15  # sum of terms that are |prediction - label| on average
FREE_SPREAD = 16  # sum of squares of how far each was from the mean before it
HEAVIEST = 17  # the largest 1 / propensity among them
# TOLD, 18, is the answer just learned, for the sketch; 19 is free
BOUND = 20  # the most that an answer could weigh, known before any was given; 0 if unknown
FIGURES = KEYS  # this many, some of them unused
CUTS = END  # where the cuts begin


def new_state(n_levels: int, n_weights: int) -> Floats:
    state = np.zeros(CUTS + n_levels - 1 + n_weights)
    state[SCALE] = 1.0
    state[KEYS:PRINTS] = 1.0  # an empty sketch
    return state


@inlined
def level_of(f: float, cuts: Floats, offset: int, n_levels: int) -> int:
    """The paper's min rule: the first level whose cut is not below f (with <=; levels count from 1).

    From the top, and always to the end: where a loop could be left early depends on the data, and a processor that
    guesses wrong waits (12 of 81 ns per round, K = 5). The same goes for the draw, and for sums over the cuts.
    """
    level = n_levels
    for i in range(n_levels - 1):
        k = n_levels - 2 - i
        level = k + 1 if f <= cuts[place(offset + k)] else level
    return level


@inlined
def count_crossings(state: Floats, n_levels: int) -> int:
    crossings = 0
    for i in range(CUTS, CUTS + n_levels - 2):
        if state[i] > state[i + 1]:
            crossings += 1
    return crossings


@inlined
def ordered_level_of(f: float, cuts: Floats, offset: int, n_levels: int) -> int:
    """The min rule on the nearest ordered cuts, without computing them.

    The cuts that isotonic regression puts below f are the first m, for the smallest m that minimises the
    sum over i <= m of cut_i - f.
    """
    level, lowest, total = 1, 0.0, 0.0
    for i in range(n_levels - 1):
        total += cuts[offset + i] - f
        if total < lowest:
            level, lowest = i + 2, total
    return level


@inlined
def predict(state: Floats, n_levels: int, f: float, ordered: bool) -> int:
    if ordered and count_crossings(state, n_levels) > 0:
        return ordered_level_of(f, state, CUTS, n_levels)
    return level_of(f, state, CUTS, n_levels)


@inlined
def draw(u: float, table: Floats, prediction: int) -> int:
    """The level whose share of [0, 1) contains u: running sums increase, and the last is exactly 1."""
    level = 1
    for i in range(table.shape[2] - 1):
        level += 1 if u >= table[1, place(prediction - 1), i] else 0
    return level


@inlined
def _pull(f: float, cut: float, i: int, lo: int, hi: int, weight: float) -> float:
    """tau_i: where cut i must move, given that the level is in [lo, hi]."""
    up = weight if f <= cut else 0.0
    down = -weight if f >= cut else 0.0
    return up if i < lo else (down if i >= hi else 0.0)


@inlined
def _distance(level: int, lo: int, hi: int) -> int:
    return max(lo - level, 0, level - hi)


@inlined
def _square_cuts(state: Floats, n_levels: int) -> float:
    total = 0.0
    for i in range(CUTS, CUTS + n_levels - 1):
        total += state[i] * state[i]
    return total


@inlined
def tell_label(state: Floats) -> None:
    """Record that the round is learned from its label, not from an answer."""
    state[TOLD] = 0.0


@inlined
def note(state: Floats, prediction: int, asked: int, lo: int, hi: int) -> None:
    """Add this round's error."""
    state[LABELLED] += 1.0
    state[ERROR] += _distance(prediction, lo, hi)
    state[ASKED_ERROR] += _distance(asked, lo, hi)


@inlined
def weigh(state: Floats, n_levels: int, prediction: int, asked: int, propensity: float, higher: bool) -> None:
    """Add what an answer shows about the error, without any label.

    |p - y| counts the cuts between p and y. The answer shows whether the cut asked about is one of them; divided
    by the probability of asking about it, that is right on average.
    """
    weight = 1.0 / propensity if asked < n_levels else 0.0  # nothing is above the top
    term = weight if (prediction > asked) != higher else 0.0
    away = term - state[FREE_ERROR] / max(state[JUDGED], 1.0)
    state[JUDGED] += 1.0
    state[FREE_ERROR] += term
    state[FREE_SPREAD] += away * away
    state[HEAVIEST] = max(state[HEAVIEST], weight)
    state[TOLD] = 2.0 * asked + higher


@inlined
def judge(state: Floats, n_levels: int, f: float, prediction: int, asked: int, lo: int, hi: int) -> None:
    """Add this round's error and regularised loss (what a label shows, before learning from it), and its crossings."""
    note(state, prediction, asked, lo, hi)
    crossings, hinge, squares, before = 0, 0.0, 0.0, -math.inf
    for i in range(1, n_levels):  # one pass over the cuts for everything needed
        cut = state[place(CUTS + i - 1)]
        crossings += 1 if before > cut else 0
        wrong = cut - f if i < lo else (f - cut if i >= hi else 0.0)
        hinge += max(wrong, 0.0)
        squares += cut * cut
        before = cut
    a = state[SCALE] / (state[ROUNDS] + 1.0)
    state[LOSS] += 0.5 * a * a * (state[NORM] + squares) + a * hinge
    state[CROSSINGS] += crossings


@inlined
def _fold(
    state: Floats, terms: Floats, f: float, lo: int, hi: int, first: int, last: int, weight: float,
    c: float, scale: float,
) -> None:  # fmt: skip
    """Move the cuts if the new scale cannot be kept separately: apply it to the numbers themselves."""
    for k in range(CUTS, state.size):
        i = k - CUTS + 1
        tau = _pull(f, state[k], i, lo, hi, weight) if first <= i <= last else 0.0
        state[k] = state[k] * scale - c * tau
    for k in range(int(state[START]), int(state[START] + state[COUNT])):
        terms[0, k] *= scale
        terms[1, k] *= scale
    state[NORM] *= scale * scale
    state[SCALE] = 1.0


@inlined
def learn(
    state: Floats, terms: Floats, n_levels: int, f: float, square: float, lo: int, hi: int,
    first: int, last: int, weight: float, clip: float, always: bool,
) -> float:  # fmt: skip
    """One step on what cuts first..last say of "the level is in [lo, hi]".

    Returns the coefficient with which phi(x) enters the weights; the caller adds it.
    """
    total = along = energy = 0.0
    for i in range(first, last + 1):
        cut = state[place(CUTS + i - 1)]
        tau = _pull(f, cut, i, lo, hi, weight)
        total += tau
        along += tau * cut
        energy += tau * tau
    t = state[ROUNDS] + 2.0
    state[ROUNDS] += 1.0
    state[RADIUS] = max(state[RADIUS], square)
    c = 1.0
    if clip < math.inf:
        a = state[SCALE] / (t - 1.0)
        norm2 = a * a * (state[NORM] + _square_cuts(state, n_levels))
        norm2 += total * total * square + energy - 2.0 * a * (total * f - along)
        norm = math.sqrt(max(norm2, 0.0))
        if norm > clip or (always and norm > 0.0):
            c = clip / norm
    elif energy == 0.0:
        return 0.0
    # unclipped, the factor is exactly 1, and the processor need not wait for the division
    scale = state[SCALE] * ((t - c) / (t - 1.0)) if c != 1.0 else state[SCALE]
    if 1e-100 < scale < 1e100:
        state[SCALE] = scale
        step = c / scale
        for i in range(first, last + 1):
            k = place(CUTS + i - 1)
            state[k] -= step * _pull(f, state[k], i, lo, hi, weight)
    else:  # only `always` gets here, as its c may reach or pass t
        _fold(state, terms, f, lo, hi, first, last, weight, c, scale)
        f *= scale
    coefficient: float = c / state[SCALE] * total
    state[NORM] = max(state[NORM] + 2.0 * coefficient * f + coefficient * coefficient * square, 0.0)
    return coefficient


@inlined
def learn_answer(
    state: Floats, terms: Floats, n_levels: int, f: float, square: float,
    prediction: int, asked: int, propensity: float, higher: bool, single: bool, clip: float, always: bool,
) -> float:  # fmt: skip
    """Learn from one answer, which is an interval; `single` uses only the cut asked about, by importance (DFORD)."""
    weigh(state, n_levels, prediction, asked, propensity, higher)
    lo, hi = (asked + 1, n_levels) if higher else (1, asked)
    first, last, weight = 1, n_levels - 1, 1.0
    if single:
        first, last, weight = asked, min(asked, n_levels - 1), 1.0 / propensity
    return learn(state, terms, n_levels, f, square, lo, hi, first, last, weight, clip, always)


@inlined
def answer(
    state: Floats, terms: Floats, n_levels: int, f: float, square: float,
    prediction: int, asked: int, propensity: float, higher: bool, single: bool, clip: float, always: bool,
) -> float:  # fmt: skip
    """A round whose question was asked before, and whose label is not known."""
    state[CROSSINGS] += count_crossings(state, n_levels)
    return learn_answer(state, terms, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)


@inlined
def choose(state: Floats, table: Floats, seed: int, prediction: int) -> tuple[int, float, int]:
    """Draw the level to ask about: (level, propensity, number of the draw)."""
    n = int(state[ASKED])
    level = draw(uniform(seed, n), table, prediction)
    state[ASKED] += 1.0
    return level, table[0, prediction - 1, level - 1], n


@inlined
def ask(state: Floats, n_levels: int, table: Floats, seed: int, ordered: bool, f: float) -> tuple[int, int, float, int]:
    """Predict, and draw the level to ask about: (prediction, level, propensity, number of the draw)."""
    prediction = predict(state, n_levels, f, ordered)
    level, propensity, n = choose(state, table, seed, prediction)
    return prediction, level, propensity, n


@inlined
def play(
    state: Floats, terms: Floats, n_levels: int, f: float, square: float, lo: int, hi: int,
    directional: bool, single: bool, table: Floats, seed: int, clip: float, always: bool, ordered: bool,
) -> float:  # fmt: skip
    """A whole round whose label (or interval) is known: by question and answer, or by the interval itself."""
    if directional:
        prediction, asked, propensity, _ = ask(state, n_levels, table, seed, ordered, f)
        judge(state, n_levels, f, prediction, asked, lo, hi)
        return learn_answer(
            state, terms, n_levels, f, square, prediction, asked, propensity, lo > asked, single, clip, always
        )
    prediction = predict(state, n_levels, f, ordered)
    judge(state, n_levels, f, prediction, prediction, lo, hi)
    tell_label(state)
    return learn(state, terms, n_levels, f, square, lo, hi, 1, n_levels - 1, 1.0, clip, always)
