"""Rounds of the cumulative logit: a Gaussian over cuts and weights, one second-order step per answer.

P(level > i | x) = sigmoid(<w, phi(x)> - cut_i), so an answer about level i is one logistic observation of the
vector u = (-e_i, phi(x)). With mean m and covariance S over (cuts, weights) it moves both along s = S u alone:

    v = <u, s>,  d such that d = v (bit - sigmoid(<m, u> + d)),  h = the curvature there
    m += d / v s,      S -= h / (1 + h v) s s',

the mean to the most likely parameters and S to the curvature at them (Newton's method, to its end).

An interval [lo, hi] has likelihood sigmoid(a) - sigmoid(b) at a = f - cut_{lo-1}, b = f - cut_hi, which is
sigmoid(a) * sigmoid(-b) * (1 - exp(-(cut_hi - cut_{lo-1}))): a "yes", a "no", and a term that pushes the two cuts
apart, each concave in one direction. So a label is at most three such steps, and no importance weights are needed:
what was asked depends on x and the past alone.

`covariance` is the diagonal, or the lower triangle row by row (there are at least two parameters, so the size shows
which). `work` has rows u, s and a scratch row. The last update of S is not made at once: it waits in work[1] and
state[PENDING] and is made along with the next product, so that a step passes over the covariance once.

Forgetting makes an answer's own direction uncertain again before it is learned: if v is below 1, it becomes
v / (1 - forget), by a growth of S along s (Kulhavy 1987). What no answer is about is never forgotten, so nothing grows
without bound, and it is part of the same update.
"""

import math

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import rounds
from dford.engine._compiled import aside, called, compiled, fma, inlined, live, place, released
from dford.engine.elementary import cos_one, exp_one, mode_of_bit, mode_of_gap, sigmoid
from dford.engine.rounds import CUTS, PENDING, ROUNDS, SEEN
from dford.engine.sketch import remember
from dford.engine.vectors import add_dot_spread, add_first, dot_first, square

LINEAR, POLY, FOURIER = 0, 1, 2
FARTHEST = 3.0  # standard deviations; a feature further from its mean counts as this far
OUTLYING = 10.0  # and this far for means and deviations; large enough that ordinary features never get there
EARLY = 16.0  # rows
VARIANCE_OF_CUTS, VARIANCE_OF_WEIGHTS = 4.0, 1.0  # at the start


@inlined
def observe(state: Floats, moments: Floats, X: Floats, r: int) -> None:
    """Welford's update of the mean and the sum of squared deviations; the third row is 1 / deviation.

    One value that is far out, such as -999 for a missing one, would make all others look alike. So after the first
    EARLY rows, a value counts for at most OUTLYING deviations. Among these first, none can be told to be far out; but
    as many rows later, the moments of the later half (the last two rows) replace those of both, if they vary so much
    less.
    """
    state[SEEN] += 1.0
    n, outlying = state[SEEN], 0
    for j in range(X.shape[1]):  # a separate loop, so that it is vectorised
        outlying += abs((X[r, place(j)] - moments[0, place(j)]) * moments[2, place(j)]) > OUTLYING
    if n > EARLY and outlying > 0:
        observe_outlying(moments, n, X, r)
    else:
        for j in range(X.shape[1]):
            update(moments, n, j, X[r, j])
    if EARLY < n <= 2.0 * EARLY:
        observe_later_half(moments, n, X, r)


@inlined
def update(moments: Floats, n: float, j: int, x: float) -> None:
    away = x - moments[0, j]
    mean = moments[0, j] + away / n
    spread = moments[1, j] + away * (x - mean)
    variance = spread / n
    moments[0, j], moments[1, j] = mean, spread
    # what rounding leaves of a constant does not count as variance
    moments[2, j] = 1.0 / math.sqrt(variance) if variance > 1e-24 * mean * mean else 0.0


@called
def observe_outlying(moments: Floats, n: float, X: Floats, r: int) -> None:
    for j in range(X.shape[1]):
        x, scale = X[r, j], moments[2, j]
        far = (x - moments[0, j]) * scale
        if abs(far) > OUTLYING:
            x = moments[0, j] + math.copysign(OUTLYING, far) / scale
        update(moments, n, j, x)


@called
def observe_later_half(moments: Floats, n: float, X: Floats, r: int) -> None:
    for j in range(X.shape[1]):
        away = X[r, j] - moments[3, j]
        mean = moments[3, j] + away / (n - EARLY)
        spread = moments[4, j] + away * (X[r, j] - mean)
        moments[3, j], moments[4, j] = mean, spread
        if n == 2.0 * EARLY:
            variance = spread / EARLY
            if variance > 1e-24 * mean * mean and moments[1, j] > n * OUTLYING * OUTLYING * variance:
                moments[0, j], moments[1, j], moments[2, j] = mean, n * variance, 1.0 / math.sqrt(variance)
            moments[3, j] = moments[4, j] = 0.0


@inlined
def embed(kind: int, n_levels: int, moments: Floats, X: Floats, r: int, maps: Floats, work: Floats) -> None:
    """The weights' part of u: the features of row r, standardised, and what is made of them.

    First the row in standard deviations from the running mean, 0 if a feature has not varied yet, and at most
    FARTHEST. With products of two features, the cuts serve as the constant, and 1 / sqrt(2) brings the products to
    about variance 1. Cosines are those of Rahimi and Recht, in addition to the features themselves.
    """
    d, z = X.shape[1], n_levels - 1
    for j in range(d):
        work[0, z + j] = min(max((X[r, j] - moments[0, j]) * moments[2, j], -FARTHEST), FARTHEST)
    k = z + d
    if kind == POLY:
        for i in range(z, z + d):
            for j in range(i, z + d):
                work[0, k] = 0.7071067811865476 * work[0, i] * work[0, j]
                k += 1
    elif kind == FOURIER:
        scale, flat = math.sqrt(2.0 / len(maps)), work.reshape(-1)
        for i in range(len(maps)):
            work[0, k + i] = maps[i, d] + dot_first(d, flat, z, maps, i)
        for i in range(len(maps)):  # a separate loop, so that it is vectorised
            work[0, place(k + i)] = scale * cos_one(work[0, place(k + i)])


@inlined
def score(state: Floats, n_levels: int, n: int, work: Floats) -> float:
    """f = <weights, phi>: without what the cuts' part of u adds."""
    total = 0.0
    for j in range(n_levels - 1, n):
        total = fma(state[place(CUTS + j)], work[0, j], total)
    return total


@inlined
def product(state: Floats, covariance: Floats, n: int, work: Floats) -> float:
    """Set work[2] = S u / spread, after making the pending update; returns <u, S u>."""
    pending = state[PENDING]
    if covariance.size == n:
        for k in range(n):
            variance = covariance[k] - pending * work[1, k] * work[1, k]
            covariance[k] = variance
            work[2, k] = variance * work[0, k]
    else:
        # row by row through the lower triangle: each number is read and written once
        for k in range(n):
            work[2, k] = 0.0
        offset = 0
        for k in range(n):
            before = add_dot_spread(k, -pending * work[1, k], work, 1, covariance, offset, 0, work[0, k], 2)
            last = place(offset + k)
            covariance[last] = fma(-pending * work[1, k], work[1, k], covariance[last])
            work[2, k] += fma(covariance[last], work[0, k], before)
            offset += k + 1
    total = 0.0
    for k in range(n):
        total = fma(work[0, k], work[2, k], total)
    v: float = max(total, 0.0)  # rounding may leave less
    return v


@inlined
def order_cuts(state: Floats, n_levels: int) -> None:
    """The nearest ordered cuts: pool adjacent violators."""
    for i in range(1, n_levels - 1):
        total, size, j = state[CUTS + i], 1, i
        while j > 0 and state[CUTS + j - 1] * size > total:
            total += state[CUTS + j - 1]
            size += 1
            j -= 1
        if size > 1:
            for k in range(j, i + 1):
                state[CUTS + k] = total / size


@inlined
def move(
    state: Floats, n_levels: int, n: int, work: Floats, v: float, grown: float, change: float, curvature: float
) -> None:  # fmt: skip
    """Move the mean along s = S u so that <m, u> changes by `change`, update S, and keep the cuts in order.

    S first grows along s until v is `grown`, and then shrinks by what the answer showed.
    """
    step = change / v if v > 0.0 else 0.0
    growth = grown / v if v > 0.0 else 1.0
    for k in range(n):
        state[CUTS + k] = fma(step, work[2, k], state[CUTS + k])
        work[1, k] = work[2, k]
    state[PENDING] = growth * growth * curvature / (1.0 + curvature * grown) - (growth - 1.0) / max(v, 1e-300)
    order_cuts(state, n_levels)


@inlined
def learn_bit(
    state: Floats,
    n_levels: int,
    covariance: Floats,
    n: int,
    work: Floats,
    forget: float,
    f: float,
    level: int,
    higher: bool,
) -> float:
    """A step on "is it above `level`?"; returns f at the new weights."""
    for i in range(n_levels - 1):
        work[0, i] = -1.0 if i == level - 1 else 0.0
    v = product(state, covariance, n, work)
    grown = v / (1.0 - forget) if v < 1.0 else v
    before = f - state[CUTS + level - 1]
    after = mode_of_bit(before, grown, 1.0 if higher else 0.0)
    p = sigmoid(after)
    move(state, n_levels, n, work, v, grown, after - before, p * (1.0 - p))
    return score(state, n_levels, n, work)


@inlined
def learn_interval(
    state: Floats,
    n_levels: int,
    covariance: Floats,
    n: int,
    work: Floats,
    forget: float,
    f: float,
    lo: int,
    hi: int,
) -> None:
    """Steps on "the level is in [lo, hi]": above lo - 1, not above hi, and the two cuts apart."""
    if lo > 1:
        f = learn_bit(state, n_levels, covariance, n, work, forget, f, lo - 1, True)
    if hi < n_levels:
        learn_bit(state, n_levels, covariance, n, work, forget, f, hi, False)
    if lo > 1 and hi < n_levels:
        for k in range(n):
            work[0, k] = 0.0
        work[0, hi - 1], work[0, lo - 2] = 1.0, -1.0
        v = product(state, covariance, n, work)
        before = state[CUTS + hi - 1] - state[CUTS + lo - 2]
        after = mode_of_gap(before, v)
        e = exp_one(-after)
        move(state, n_levels, n, work, v, v, after - before, e / ((1.0 - e) * (1.0 - e)))


@aside
def learn_newton(
    state: Floats, n_levels: int, directional: bool, table: Floats, seed: int, moments: Floats, covariance: Floats,
    kind: int, maps: Floats, work: Floats, forget: float, X: Floats, squares: Floats, lo: Ints, hi: Ints,
) -> None:  # fmt: skip
    n = work.shape[1]
    for r in range(len(X)):
        embed(kind, n_levels, moments, X, r, maps, work)
        f = score(state, n_levels, n, work)
        if directional:
            prediction, asked, propensity, _ = rounds.ask(state, n_levels, table, seed, False, f)
            rounds.note(state, prediction, asked, lo[r], hi[r])
            rounds.weigh(state, n_levels, prediction, asked, propensity, lo[r] > asked)
            if asked < n_levels:
                learn_bit(state, n_levels, covariance, n, work, forget, f, asked, lo[r] > asked)
        else:
            prediction = rounds.predict(state, n_levels, f, False)
            rounds.note(state, prediction, prediction, lo[r], hi[r])
            rounds.tell_label(state)
            learn_interval(state, n_levels, covariance, n, work, forget, f, lo[r], hi[r])
        observe(state, moments, X, r)
        remember(state, squares[r], X, r)
        state[ROUNDS] += 1.0


@live
def ask_newton(
    state: Floats, n_levels: int, table: Floats, seed: int, moments: Floats, kind: int, maps: Floats, work: Floats,
    limit: float, x: Floats,
) -> tuple[int, int, float, int]:  # fmt: skip
    """Like `loops.ask_dense`."""
    X = x.reshape(1, x.size)
    if not square(X, 0) <= limit:
        return 0, 0, 0.0, 0
    embed(kind, n_levels, moments, X, 0, maps, work)
    return rounds.ask(state, n_levels, table, seed, False, score(state, n_levels, work.shape[1], work))


@live
def tell_newton(
    state: Floats, n_levels: int, moments: Floats, covariance: Floats, kind: int, maps: Floats, work: Floats,
    forget: float, x: Floats, prediction: int, asked: int, propensity: float, higher: bool,
) -> int:  # fmt: skip
    n, X = work.shape[1], x.reshape(1, x.size)
    rounds.weigh(state, n_levels, prediction, asked, propensity, higher)
    embed(kind, n_levels, moments, X, 0, maps, work)
    if asked < n_levels:
        f = score(state, n_levels, n, work)
        learn_bit(state, n_levels, covariance, n, work, forget, f, asked, higher)
    observe(state, moments, X, 0)
    remember(state, square(X, 0), X, 0)
    state[ROUNDS] += 1.0
    return int(state[ROUNDS])


@live
def score_newton(
    state: Floats, n_levels: int, moments: Floats, kind: int, maps: Floats, work: Floats, x: Floats
) -> float:  # fmt: skip
    """The score of a row, whose answer `learn_scored_newton` may then learn."""
    embed(kind, n_levels, moments, x.reshape(1, x.size), 0, maps, work)
    return score(state, n_levels, work.shape[1], work)


@live
def learn_scored_newton(
    state: Floats, n_levels: int, moments: Floats, covariance: Floats, work: Floats, forget: float, x: Floats,
    f: float, asked: int, higher: bool,
) -> None:  # fmt: skip
    """Learn an answer about the row that `score_newton` has just scored."""
    if asked < n_levels:
        learn_bit(state, n_levels, covariance, work.shape[1], work, forget, f, asked, higher)
    observe(state, moments, x.reshape(1, x.size), 0)
    state[ROUNDS] += 1.0


@released
def learn_answers_newton(
    state: Floats, n_levels: int, moments: Floats, covariance: Floats, kind: int, maps: Floats, work: Floats,
    forget: float, X: Floats, asked: Ints, higher: Bools, scores: Floats, cuts: Floats,
) -> None:  # fmt: skip
    """Both for many rows: fills in the score of each before its answer, and the cuts before each and after the last."""
    n = work.shape[1]
    for r in range(len(X)):
        embed(kind, n_levels, moments, X, r, maps, work)
        scores[r] = score(state, n_levels, n, work)
        for i in range(n_levels - 1):
            cuts[r, i] = state[CUTS + i]
        if asked[r] < n_levels:
            learn_bit(state, n_levels, covariance, n, work, forget, scores[r], asked[r], higher[r])
        observe(state, moments, X, r)
        state[ROUNDS] += 1.0
    for i in range(n_levels - 1):
        cuts[len(X), i] = state[CUTS + i]


@compiled
def scores_newton(
    state: Floats, n_levels: int, moments: Floats, kind: int, maps: Floats, n: int, X: Floats
) -> Floats:  # fmt: skip
    work = np.empty((1, n))
    out = np.empty(len(X))
    for r in range(len(X)):
        embed(kind, n_levels, moments, X, r, maps, work)
        out[r] = score(state, n_levels, n, work)
    return out


@compiled
def variances_newton(
    n_levels: int, moments: Floats, covariance: Floats, kind: int, maps: Floats, n: int, X: Floats
) -> Floats:  # fmt: skip
    """The variance of f at every row, for a covariance with nothing pending."""
    work = np.zeros((1, n))
    out = np.zeros(len(X))
    for r in range(len(X)):
        embed(kind, n_levels, moments, X, r, maps, work)
        total = 0.0
        for k in range(n_levels - 1, n):
            u = work[0, k]
            if covariance.size == n:
                total += covariance[k] * u * u
            else:
                row = k * (k + 1) // 2
                total += u * (2.0 * dot_first(k, covariance, row, work, 0) + covariance[row + k] * u)
        out[r] = total
    return out


@compiled
def updated(state: Floats, covariance: Floats, work: Floats) -> Floats:
    """The covariance with its pending update made: the numbers that the next step would have left."""
    out = covariance.copy()
    pending, n = state[PENDING], work.shape[1]
    offset = 0
    for k in range(n):
        if covariance.size == n:
            out[k] -= pending * work[1, k] * work[1, k]
        else:
            add_first(k + 1, -pending * work[1, k], work, 1, out, offset)
            offset += k + 1
    return out
