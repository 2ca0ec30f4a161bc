"""Rounds of the cumulative logit on sparse rows: the steps of `newton` with a diagonal covariance.

A row touches its stored entries and one cut, so a round costs what the row stores. Nothing may then be done to all
parameters at once:

    centring    none, as it would fill the row. A feature is divided by its root mean square over the rows that
                have it, and weighted by the share of variance in its mean square over all rows: one with the same
                value in all rows would act as another threshold, and many of them, which a diagonal takes for as
                many directions, would make the score swing. `moments` holds how many rows have it, the sum of its
                squares, and its sum.
    the step    is made at once; nothing is pending.
    forgetting  reaches the parameters that the answer is about, and never past the variance they began with.

Stored zeros count as not stored.
"""

import math

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import rounds
from dford.engine._compiled import aside, compiled, fma, inlined, live, place, released
from dford.engine.elementary import exp_one, mode_of_bit, mode_of_gap, sigmoid
from dford.engine.newton import FARTHEST, VARIANCE_OF_CUTS, VARIANCE_OF_WEIGHTS, order_cuts
from dford.engine.rounds import CUTS, ROUNDS
from dford.engine.sketch import remember_sparse


@inlined
def observe(moments: Floats, data: Floats, indices: Ints, begin: int, end: int) -> None:
    for k in range(begin, end):
        if data[k] != 0.0:
            j = place(indices[k])
            moments[0, j] += 1.0
            moments[1, j] += data[k] * data[k]
            moments[2, j] += data[k]


@inlined
def scaled(state: Floats, moments: Floats, x: float, j: int) -> float:
    """Feature j over its root mean square, at most FARTHEST, times how much it varies; 0 if it was never seen."""
    count, square, total = moments[0, place(j)], moments[1, place(j)], moments[2, place(j)]
    if square == 0.0:
        return 0.0
    varies: float = max(1.0 - total * total / (square * (state[ROUNDS] + 1.0)), 0.0)  # rounding may leave less
    return varies * min(max(x / math.sqrt(square / count), -FARTHEST), FARTHEST)


@inlined
def embed(
    state: Floats, moments: Floats, longest: float, data: Floats, indices: Ints, begin: int, end: int, z: Floats
) -> None:  # fmt: skip
    """Set z[k - begin] to stored entry k, scaled; a row whose sum of squares is above `longest` is shortened to it."""
    total = 0.0
    for k in range(begin, end):
        z[k - begin] = scaled(state, moments, data[k], indices[k])
        total = fma(z[k - begin], z[k - begin], total)
    if total > longest:
        factor = math.sqrt(longest / total)
        for k in range(end - begin):
            z[k] *= factor


@inlined
def score(state: Floats, n_cuts: int, indices: Ints, begin: int, end: int, z: Floats) -> float:
    total = 0.0
    for k in range(begin, end):
        total = fma(state[place(CUTS + n_cuts + indices[k])], z[k - begin], total)
    return total


@inlined
def variance(covariance: Floats, n_cuts: int, indices: Ints, begin: int, end: int, z: Floats, total: float) -> float:
    """The variance of the score, added to `total`."""
    for k in range(begin, end):
        total = fma(covariance[place(n_cuts + indices[k])] * z[k - begin], z[k - begin], total)
    return total


@inlined
def shift(state: Floats, covariance: Floats, i: int, u: float, step: float, shrink: float) -> None:
    """Move parameter i by step * s and shrink its variance by shrink * s**2, for s = variance * u."""
    variance, mean = place(i), place(CUTS + i)
    s = covariance[variance] * u
    state[mean] = fma(step, s, state[mean])
    covariance[variance] = max(covariance[variance] - shrink * s * s, 0.0)  # rounding may leave less


@inlined
def learn_bit(
    state: Floats, n_levels: int, covariance: Floats, forget: float, indices: Ints, begin: int, end: int, z: Floats,
    f: float, level: int, higher: bool,
) -> float:  # fmt: skip
    """Like `newton.learn_bit`."""
    n_cuts, cut = n_levels - 1, level - 1
    v = variance(covariance, n_cuts, indices, begin, end, z, covariance[cut])
    if forget > 0.0 and v < 1.0:
        covariance[cut] = min(covariance[cut] / (1.0 - forget), VARIANCE_OF_CUTS)
        for k in range(begin, end):
            if z[k - begin] != 0.0:
                i = place(n_cuts + indices[k])
                covariance[i] = min(covariance[i] / (1.0 - forget), VARIANCE_OF_WEIGHTS)
        v = variance(covariance, n_cuts, indices, begin, end, z, covariance[cut])
    before = f - state[CUTS + cut]
    after = mode_of_bit(before, v, 1.0 if higher else 0.0)
    p = sigmoid(after)
    step = (after - before) / v if v > 0.0 else 0.0
    shrink = p * (1.0 - p) / (1.0 + p * (1.0 - p) * v)
    shift(state, covariance, cut, -1.0, step, shrink)
    for k in range(begin, end):
        shift(state, covariance, n_cuts + indices[k], z[k - begin], step, shrink)
    order_cuts(state, n_levels)
    return score(state, n_cuts, indices, begin, end, z)


@inlined
def learn_gap(state: Floats, n_levels: int, covariance: Floats, lo: int, hi: int) -> None:
    """Push the cuts around [lo, hi] apart."""
    v = covariance[hi - 1] + covariance[lo - 2]
    before = state[CUTS + hi - 1] - state[CUTS + lo - 2]
    after = mode_of_gap(before, v)
    e = exp_one(-after)
    curvature = e / ((1.0 - e) * (1.0 - e))
    step = (after - before) / v if v > 0.0 else 0.0
    shrink = curvature / (1.0 + curvature * v)
    shift(state, covariance, hi - 1, 1.0, step, shrink)
    shift(state, covariance, lo - 2, -1.0, step, shrink)
    order_cuts(state, n_levels)


@inlined
def learn_interval(
    state: Floats, n_levels: int, covariance: Floats, forget: float, indices: Ints, begin: int, end: int, z: Floats,
    f: float, lo: int, hi: int,
) -> None:  # fmt: skip
    """Like `newton.learn_interval`."""
    if lo > 1:
        f = learn_bit(state, n_levels, covariance, forget, indices, begin, end, z, f, lo - 1, True)
    if hi < n_levels:
        learn_bit(state, n_levels, covariance, forget, indices, begin, end, z, f, hi, False)
    if lo > 1 and hi < n_levels:
        learn_gap(state, n_levels, covariance, lo, hi)


@aside
def learn_sparse_newton(
    state: Floats, n_levels: int, directional: bool, table: Floats, seed: int, moments: Floats, longest: float,
    covariance: Floats, forget: float, data: Floats, indices: Ints, indptr: Ints, squares: Floats, lo: Ints, hi: Ints,
) -> None:  # fmt: skip
    z = np.empty(np.diff(indptr).max())
    for r in range(indptr.size - 1):
        begin, end = indptr[r], indptr[r + 1]
        embed(state, moments, longest, data, indices, begin, end, z)
        f = score(state, n_levels - 1, indices, begin, end, z)
        if directional:
            prediction, asked, propensity, _ = rounds.ask(state, n_levels, table, seed, False, f)
            rounds.note(state, prediction, asked, lo[r], hi[r])
            rounds.weigh(state, n_levels, prediction, asked, propensity, lo[r] > asked)
            if asked < n_levels:
                learn_bit(state, n_levels, covariance, forget, indices, begin, end, z, f, asked, lo[r] > asked)
        else:
            prediction = rounds.predict(state, n_levels, f, False)
            rounds.note(state, prediction, prediction, lo[r], hi[r])
            rounds.tell_label(state)
            learn_interval(state, n_levels, covariance, forget, indices, begin, end, z, f, lo[r], hi[r])
        observe(moments, data, indices, begin, end)
        remember_sparse(state, squares[r], data, indices, begin, end)
        state[ROUNDS] += 1.0


@compiled
def tell_sparse_newton(
    state: Floats, n_levels: int, moments: Floats, longest: float, covariance: Floats, forget: float, data: Floats,
    indices: Ints, square: float, prediction: int, asked: int, propensity: float, higher: bool,
) -> int:  # fmt: skip
    z = np.empty(data.size)
    rounds.weigh(state, n_levels, prediction, asked, propensity, higher)
    embed(state, moments, longest, data, indices, 0, data.size, z)
    if asked < n_levels:
        f = score(state, n_levels - 1, indices, 0, data.size, z)
        learn_bit(state, n_levels, covariance, forget, indices, 0, data.size, z, f, asked, higher)
    observe(moments, data, indices, 0, data.size)
    remember_sparse(state, square, data, indices, 0, data.size)
    state[ROUNDS] += 1.0
    return int(state[ROUNDS])


@live
def score_sparse_newton(
    state: Floats, n_levels: int, moments: Floats, longest: float, data: Floats, indices: Ints, z: Floats
) -> float:  # fmt: skip
    """The score of a row, whose answer `learn_scored_sparse_newton` may then learn; z has room for the row."""
    embed(state, moments, longest, data, indices, 0, data.size, z)
    return score(state, n_levels - 1, indices, 0, data.size, z)


@live
def learn_scored_sparse_newton(
    state: Floats, n_levels: int, moments: Floats, covariance: Floats, forget: float, data: Floats, indices: Ints,
    z: Floats, f: float, asked: int, higher: bool,
) -> None:  # fmt: skip
    """Learn an answer about the row that `score_sparse_newton` has just scored."""
    if asked < n_levels:
        learn_bit(state, n_levels, covariance, forget, indices, 0, data.size, z, f, asked, higher)
    observe(moments, data, indices, 0, data.size)
    state[ROUNDS] += 1.0


@released
def learn_answers_sparse_newton(
    state: Floats, n_levels: int, moments: Floats, longest: float, covariance: Floats, forget: float, data: Floats,
    indices: Ints, indptr: Ints, z: Floats, asked: Ints, higher: Bools, scores: Floats, cuts: Floats,
) -> None:  # fmt: skip
    """Both for many rows: fills in the score of each before its answer, and the cuts before each and after the last."""
    for r in range(asked.size):
        begin, end = indptr[r], indptr[r + 1]
        embed(state, moments, longest, data, indices, begin, end, z)
        scores[r] = score(state, n_levels - 1, indices, begin, end, z)
        for i in range(n_levels - 1):
            cuts[r, i] = state[CUTS + i]
        if asked[r] < n_levels:
            learn_bit(state, n_levels, covariance, forget, indices, begin, end, z, scores[r], asked[r], higher[r])
        observe(moments, data, indices, begin, end)
        state[ROUNDS] += 1.0
    for i in range(n_levels - 1):
        cuts[asked.size, i] = state[CUTS + i]


@compiled
def scores_sparse_newton(
    state: Floats,
    n_levels: int,
    moments: Floats,
    longest: float,
    covariance: Floats,
    data: Floats,
    indices: Ints,
    indptr: Ints,
) -> tuple[Floats, Floats]:
    """The score of every row, and its variance."""
    scores, variances = np.empty(indptr.size - 1), np.empty(indptr.size - 1)
    z = np.empty(np.diff(indptr).max())
    for r in range(indptr.size - 1):
        begin, end = indptr[r], indptr[r + 1]
        embed(state, moments, longest, data, indices, begin, end, z)
        scores[r] = score(state, n_levels - 1, indices, begin, end, z)
        variances[r] = variance(covariance, n_levels - 1, indices, begin, end, z, 0.0)
    return scores, variances
