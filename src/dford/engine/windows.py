"""The loops over rows for scores that sum over a window of rounds.

    explicit   f(x) = <weights, phi(x)>, the window's terms added and taken away
    direct     f(x) = sum over the window of coefficient * k(row, x)

The window's buffers are `rows`, `terms` (the coefficients, and below them the sums that `absorb_direct` describes) and
`stamps` (the rounds they came in). When these are full, the loops return the row they stopped before, because making
room is left to Python.
"""

from typing import TypeAlias

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine import rounds
from dford.engine._compiled import compiled, inlined
from dford.engine.kernels import LINEAR, evaluate, expand, self_kernel
from dford.engine.loops import Rule
from dford.engine.rounds import COUNT, CUTS, NORM, ROUNDS, START, play
from dford.engine.sketch import remember
from dford.engine.vectors import add, add_first, dot, dot_first, square

Kernel: TypeAlias = tuple[int, float, float, int]  # kind, gamma, coef0, degree


@inlined
def embed(kernel: Kernel, roots: Floats, X: Floats, r: int, out: Floats, o: int) -> None:
    """out[o] = phi(X[r]): the row itself for the linear kernel, weighted monomials for a polynomial one."""
    if kernel[0] == LINEAR:
        for j in range(X.shape[1]):
            out[o, j] = X[r, j]
    else:
        expand(X, r, kernel[3], out, o)
        for k in range(roots.size):
            out[o, k] *= roots[k]


@inlined
def absorb_explicit(
    state: Floats, offset: int, rows: Floats, terms: Floats, stamps: Ints, window: int,
    kernel: Kernel, roots: Floats, c: float, X: Floats, r: int, phi: Floats,
) -> None:  # fmt: skip
    """The round's term enters the sum, and the window; the term that is now too old leaves both."""
    if c != 0.0:
        add(c, phi, 0, state, offset)
        if window > 0:
            place = int(state[START] + state[COUNT])
            for j in range(X.shape[1]):
                rows[place, j] = X[r, j]
            terms[0, place] = c
            stamps[place] = int(state[ROUNDS])
            state[COUNT] += 1.0
    if window > 0 and state[COUNT] > 0.0 and stamps[int(state[START])] < state[ROUNDS] - window:
        place = int(state[START])
        embed(kernel, roots, rows, place, phi, 1)
        own = self_kernel(kernel[0], square(rows, place), kernel[1], kernel[2], kernel[3])
        terms[1, place] = dot(state, offset, phi, 1) - terms[0, place] * own
        add(-terms[0, place], phi, 1, state, offset)
        leave(state, terms, place, own)
        if state[COUNT] == 0.0:  # an empty sum is exactly zero: rounding does not outlive the window
            for j in range(offset, state.size):
                state[j] = 0.0


@compiled
def learn_explicit(
    state: Floats, n_levels: int, rule: Rule, table: Floats, seed: int, rows: Floats, terms: Floats,
    stamps: Ints, window: int, kernel: Kernel, roots: Floats,
    X: Floats, squares: Floats, lo: Ints, hi: Ints, begin: int,
) -> int:  # fmt: skip
    directional, single, clip, always, ordered = rule
    offset = CUTS + n_levels - 1
    phi = np.empty((2, state.size - offset))  # for this row, and for the one that leaves
    for r in range(begin, len(X)):
        if window > 0 and state[START] + state[COUNT] == terms.shape[1]:
            return r
        embed(kernel, roots, X, r, phi, 0)
        f = dot(state, offset, phi, 0)
        c = play(
            state, terms, n_levels, f, squares[r], lo[r], hi[r], directional, single, table, seed, clip, always, ordered
        )
        remember(state, squares[r], X, r)
        absorb_explicit(state, offset, rows, terms, stamps, window, kernel, roots, c, X, r, phi)
    return len(X)


@compiled
def tell_explicit(
    state: Floats, n_levels: int, rule: Rule, rows: Floats, terms: Floats, stamps: Ints, window: int,
    kernel: Kernel, roots: Floats, X: Floats, square: float, prediction: int, asked: int, propensity: float,
    higher: bool,
) -> int:  # fmt: skip
    _, single, clip, always, _ = rule
    offset = CUTS + n_levels - 1
    phi = np.empty((2, state.size - offset))
    embed(kernel, roots, X, 0, phi, 0)
    f = dot(state, offset, phi, 0)
    c = rounds.answer(state, terms, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)
    remember(state, square, X, 0)
    absorb_explicit(state, offset, rows, terms, stamps, window, kernel, roots, c, X, 0, phi)
    return int(state[ROUNDS])


@compiled
def scores_explicit(weights: Floats, kernel: Kernel, roots: Floats, X: Floats) -> Floats:
    phi = np.empty((1, weights.size))
    out = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        embed(kernel, roots, X, r, phi, 0)
        out[r] = dot(weights, 0, phi, 0)
    return out


@inlined
def score_direct(
    state: Floats, rows: Floats, terms: Floats, kernel: Kernel, X: Floats, r: int, values: Floats
) -> float:
    """A sum over the window, oldest first: its bits do not depend on where the buffers begin."""
    start, count = int(state[START]), int(state[COUNT])
    evaluate(kernel[0], rows, start, count, X, r, kernel[1], kernel[2], kernel[3], values)
    return dot_first(count, terms.reshape(-1), start, values, 0)


@inlined
def absorb_direct(
    state: Floats, rows: Floats, terms: Floats, stamps: Ints, window: int, kernel: Kernel, c: float,
    X: Floats, r: int, values: Floats,
) -> None:  # fmt: skip
    """Like `absorb_explicit`; `values` must still be the kernel values between the window and this row.

    The norm needs f at the row that leaves. First in, first out: that is the row's own term plus all terms
    that came after it, which terms[1] has summed along the way. So nothing is evaluated twice.
    """
    if c != 0.0:
        start, count = int(state[START]), int(state[COUNT])
        add_first(count, c, values, 0, terms.reshape(-1), terms.shape[1] + start)
        place = start + count
        for j in range(X.shape[1]):
            rows[j, place] = X[r, j]
        terms[0, place], terms[1, place] = c, 0.0
        stamps[place] = int(state[ROUNDS])
        state[COUNT] += 1.0
    if state[COUNT] > 0.0 and stamps[int(state[START])] < state[ROUNDS] - window:
        place = int(state[START])
        square = 0.0
        for j in range(X.shape[1]):
            square += rows[j, place] * rows[j, place]
        leave(state, terms, place, self_kernel(kernel[0], square, kernel[1], kernel[2], kernel[3]))


@inlined
def leave(state: Floats, terms: Floats, place: int, own: float) -> None:
    """Take the oldest term out of the window, where `own` is k(x, x) of its row."""
    c = terms[0, place]
    state[NORM] = max(state[NORM] - 2.0 * c * terms[1, place] - c * c * own, 0.0)
    state[START] += 1.0
    state[COUNT] -= 1.0
    if state[COUNT] == 0.0:
        state[NORM] = 0.0


@compiled
def learn_direct(
    state: Floats, n_levels: int, rule: Rule, table: Floats, seed: int, rows: Floats, terms: Floats,
    stamps: Ints, window: int, kernel: Kernel, X: Floats, squares: Floats, lo: Ints, hi: Ints, begin: int,
) -> int:  # fmt: skip
    directional, single, clip, always, ordered = rule
    values = np.empty((3, terms.shape[1]))
    for r in range(begin, len(X)):
        if state[START] + state[COUNT] == terms.shape[1]:
            return r
        f = score_direct(state, rows, terms, kernel, X, r, values)
        c = play(
            state, terms, n_levels, f, squares[r], lo[r], hi[r], directional, single, table, seed, clip, always, ordered
        )
        remember(state, squares[r], X, r)
        absorb_direct(state, rows, terms, stamps, window, kernel, c, X, r, values)
    return len(X)


@compiled
def tell_direct(
    state: Floats, n_levels: int, rule: Rule, rows: Floats, terms: Floats, stamps: Ints, window: int,
    kernel: Kernel, X: Floats, square: float, prediction: int, asked: int, propensity: float, higher: bool,
) -> int:  # fmt: skip
    _, single, clip, always, _ = rule
    values = np.empty((3, terms.shape[1]))
    f = score_direct(state, rows, terms, kernel, X, 0, values)
    c = rounds.answer(state, terms, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)
    remember(state, square, X, 0)
    absorb_direct(state, rows, terms, stamps, window, kernel, c, X, 0, values)
    return int(state[ROUNDS])


@compiled
def scores_direct(state: Floats, rows: Floats, terms: Floats, kernel: Kernel, X: Floats) -> Floats:
    values = np.empty((3, terms.shape[1]))
    out = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        out[r] = score_direct(state, rows, terms, kernel, X, r, values)
    return out


@compiled
def leave_scored(state: Floats, terms: Floats, place: int, own: float) -> None:
    leave(state, terms, place, own)
