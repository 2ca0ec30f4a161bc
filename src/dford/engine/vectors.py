"""Dot products and updates, each with one fixed order of operations."""

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine._compiled import LANES, compiled, fma, inlined, place, sum_products

# Vectors are given as an array and a place in it (an offset, or a row): making a view costs a reference
# count, which for a few features takes longer than the arithmetic.

_dot_blocks = sum_products()
_dot_and_square_blocks = sum_products(with_square=True)
_add_dot_and_square_blocks = sum_products(with_square=True, with_add=True)
_add_dot_spread_blocks = sum_products(with_add=True, with_spread=True)


@inlined
def dot_first(n: int, weights: Floats, offset: int, X: Floats, r: int) -> float:
    """<weights[offset:], X[r]> over the first n columns, for contiguous arrays."""
    blocks = n // LANES
    total: float = _dot_blocks(weights, offset, X, r, blocks, 0.0, r, 0.0, r)
    for j in range(blocks * LANES, n):
        total = fma(weights[offset + j], X[r, j], total)
    return total


@inlined
def dot(weights: Floats, offset: int, X: Floats, r: int) -> float:
    return dot_first(X.shape[1], weights, offset, X, r)


@inlined
def dot_and_square(weights: Floats, offset: int, X: Floats, r: int) -> tuple[float, float]:
    """<weights[offset:], X[r]> and |X[r]|**2, which is not finite where the row is not."""
    blocks = X.shape[1] // LANES
    total, square = _dot_and_square_blocks(weights, offset, X, r, blocks, 0.0, r, 0.0, r)
    for j in range(blocks * LANES, X.shape[1]):
        total = fma(weights[offset + j], X[r, j], total)
        square = fma(X[r, j], X[r, j], square)
    return total, square


@inlined
def add_dot_and_square(
    scale: float, X: Floats, added: int, weights: Floats, offset: int, r: int
) -> tuple[float, float]:
    """`add` for row `added`, then `dot_and_square` for row r: the same bits in one pass over the weights."""
    blocks = X.shape[1] // LANES
    total, square = _add_dot_and_square_blocks(weights, offset, X, r, blocks, scale, added, 0.0, r)
    for j in range(blocks * LANES, X.shape[1]):
        weights[offset + j] = fma(scale, X[added, j], weights[offset + j])
        total = fma(weights[offset + j], X[r, j], total)
        square = fma(X[r, j], X[r, j], square)
    return total, square


@inlined
def add_dot_spread(
    n: int, scale: float, X: Floats, added: int, weights: Floats, offset: int, r: int, factor: float, spread: int
) -> float:
    """weights[offset:] += scale * X[added]; X[spread] += factor * weights; returns <weights, X[r]>: one pass over n."""
    blocks = n // LANES
    total: float = _add_dot_spread_blocks(weights, offset, X, r, blocks, scale, added, factor, spread)
    for j in range(blocks * LANES, n):
        k = place(offset + j)
        weights[k] = fma(scale, X[added, j], weights[k])
        total = fma(weights[k], X[r, j], total)
        X[spread, j] = fma(factor, weights[k], X[spread, j])
    return total


@inlined
def add_first(n: int, scale: float, X: Floats, r: int, weights: Floats, offset: int) -> None:
    """weights[offset:] += scale * X[r], for the first n columns."""
    begin = place(offset)
    for j in range(n):
        k = begin + place(j)
        weights[k] = fma(scale, X[r, j], weights[k])


@inlined
def add(scale: float, X: Floats, r: int, weights: Floats, offset: int) -> None:
    add_first(X.shape[1], scale, X, r, weights, offset)


@inlined
def square(X: Floats, r: int) -> float:
    return dot_and_square(X.reshape(-1), r * X.shape[1], X, r)[1]


@compiled
def squares(X: Floats) -> Floats:
    out = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        out[r] = square(X, r)
    return out


@inlined
def sparse_dot(weights: Floats, offset: int, data: Floats, indices: Ints, begin: int, end: int) -> float:
    total = 0.0
    for k in range(begin, end):
        total = fma(weights[place(offset + indices[k])], data[k], total)
    return total


@inlined
def sparse_add(scale: float, data: Floats, indices: Ints, begin: int, end: int, weights: Floats, offset: int) -> None:
    for k in range(begin, end):
        j = place(offset + indices[k])
        weights[j] = fma(scale, data[k], weights[j])


@compiled
def sparse_squares(data: Floats, indptr: Ints) -> Floats:
    out = np.zeros(indptr.size - 1)
    for r in range(out.size):
        for k in range(indptr[r], indptr[r + 1]):
            out[r] += data[k] * data[k]
    return out
