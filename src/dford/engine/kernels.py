"""Kernels: polynomial ones by explicit features, the others by evaluating the window."""

import math

import numpy as np

from dford.arrays import Floats
from dford.engine._compiled import compiled, fma, inlined, place
from dford.engine.elementary import exp_negative

LINEAR, POLY, RBF = 0, 1, 2


@inlined
def power(base: float, degree: int) -> float:
    """Repeated multiplication: the same bits on every machine, unlike the C library's pow."""
    out = 1.0
    for _ in range(degree):
        out *= base
    return out


@inlined
def self_kernel(kind: int, square: float, gamma: float, coef0: float, degree: int) -> float:
    """k(x, x), from the squared norm of x."""
    if kind == POLY:
        return power(gamma * square + coef0, degree)
    return 1.0 if kind == RBF else square


@compiled
def self_kernels(kind: int, squares: Floats, gamma: float, coef0: float, degree: int) -> Floats:
    out = np.empty(squares.size)
    for r in range(squares.size):
        # keep a row that is not finite recognisable: an rbf would turn it into 1
        out[r] = self_kernel(kind, squares[r], gamma, coef0, degree) + 0.0 * squares[r]
    return out


@inlined
def evaluate(
    kind: int, rows: Floats, start: int, count: int, X: Floats, r: int, gamma: float, coef0: float, degree: int,
    values: Floats,
) -> None:  # fmt: skip
    """values[0, :count] = k(rows[:, start + i], X[r]). Entries are columns, so that loops run along them.

    `values` has three rows; the others are scratch.
    """
    n_features, begin = X.shape[1], place(start)
    for i in range(count):
        values[0, i] = 0.0
    if kind == RBF:
        body = n_features - n_features % 4
        for j in range(0, body, 4):  # four features at a time: a quarter of the passes over values
            x0, x1, x2, x3 = X[r, j], X[r, j + 1], X[r, j + 2], X[r, j + 3]
            for i in range(count):
                k = begin + place(i)
                d0, d1, d2, d3 = rows[j, k] - x0, rows[j + 1, k] - x1, rows[j + 2, k] - x2, rows[j + 3, k] - x3
                values[0, i] = fma(d3, d3, fma(d2, d2, fma(d1, d1, fma(d0, d0, values[0, i]))))
        for j in range(body, n_features):
            x0 = X[r, j]
            for i in range(count):
                d0 = rows[j, begin + place(i)] - x0
                values[0, i] = fma(d0, d0, values[0, i])
        exp_negative(-gamma, values, count)
    else:
        for j in range(n_features):
            x0 = X[r, j]
            for i in range(count):
                values[0, i] = fma(rows[j, begin + place(i)], x0, values[0, i])
        if kind == POLY:
            for i in range(count):
                values[0, i] = power(gamma * values[0, i] + coef0, degree)


def feature_count(n_features: int, degree: int) -> int:
    """How many monomials of at most this degree there are."""
    return math.comb(n_features + degree, degree)


@inlined
def expand(X: Floats, r: int, degree: int, out: Floats, o: int) -> None:
    """out[o] = the monomials of X[r] up to `degree` >= 1, by degree; within one, by leading variable.

    Those of degree q led by x_j are x_j times the monomials of degree q - 1 in x_j, x_{j+1}, ...: a
    contiguous tail of the block before, so every inner loop runs along memory.
    """
    n = X.shape[1]
    out[o, 0] = 1.0
    for j in range(n):
        out[o, 1 + j] = X[r, j]
    block, end = 1, 1 + n
    for q in range(2, degree + 1):
        tail = block
        filled = end
        for j in range(n):
            x = X[r, j]
            to, source = place(filled), place(tail)
            for k in range(end - tail):
                out[o, to + place(k)] = x * out[o, source + place(k)]
            filled += end - tail
            # those led by x_j itself: the monomials of degree q - 2 in the variables from j on
            lead = 1
            for i in range(1, q - 1):
                lead = lead * (n - j - 1 + i) // i
            tail += lead
        block, end = end, filled


def monomials(n_features: int, degree: int) -> list[tuple[int, ...]]:
    """The variables of every monomial up to `degree`, in the order of `expand`."""
    block: list[tuple[int, ...]] = [()]
    out = list(block)
    for _ in range(degree):
        block = [(j, *rest) for j in range(n_features) for rest in block if not rest or rest[0] >= j]
        out += block
    return out


def feature_weights(n_features: int, degree: int, gamma: float, coef0: float) -> Floats:
    """Square roots w_k such that (gamma <x, z> + coef0)**degree = sum_k w_k**2 m_k(x) m_k(z) over monomials.

    The weight of x^e is the multinomial degree! / (e_1! ... e_n! e_0!) gamma**|e| coef0**e_0.
    """
    roots = []
    for variables in monomials(n_features, degree):
        rest = degree - len(variables)
        repeats = [math.factorial(variables.count(j)) for j in set(variables)]
        ways = math.factorial(degree) // math.prod([*repeats, math.factorial(rest)])
        # products, because the C library's powers are not the same everywhere
        roots.append(math.sqrt(ways * math.prod([gamma] * len(variables)) * math.prod([coef0] * rest)))
    return np.array(roots)
