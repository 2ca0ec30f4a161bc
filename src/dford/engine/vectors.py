"""Dot products and updates, each with one fixed order of operations."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dford.engine._compiled import Floats, Ints, compiled, inlined, place

# Vectors are named by an array and a place in it (an offset, or a row): making a view costs a reference
# count, which at a few features is dearer than the arithmetic.


_LANES = 8


@intrinsic  # type: ignore[untyped-decorator]
def fma(_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once: one instruction, and exactly specified, so still the same bits everywhere."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_pair(_context: Any, out: Any, _k: Any, values: Any, _i: Any) -> Any:
    """out[k : k + 2] += values[i : i + 2], for whole numbers: one load and one store less than the compiler finds."""
    two = ir.VectorType(ir.IntType(64), 2)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> None:
        to, value = (
            builder.bitcast(
                builder.gep(context.make_array(signature.args[a])(context, builder, args[a]).data, [args[a + 1]]),
                two.as_pointer(),
            )
            for a in (0, 2)
        )
        builder.store(builder.add(builder.load(to, align=8), builder.load(value, align=8)), to, align=8)

    return types.void(out, types.uint64, values, types.uint64), generate


def _blocks(with_square: bool = False, with_add: bool = False, with_spread: bool = False) -> Any:
    """The first `blocks` * 8 products of <weights[offset:], X[r]> as an intrinsic of the compiler.

    With `with_square` also those of <X[r], X[r]>; with `with_add` weights += scale * X[added] before each
    product; with `with_spread` X[out] += factor * weights after it: all in one pass over memory. Without
    fastmath the compiler may not split a sum, so the eight partial sums are spelled out as a vector: every
    machine, whatever the width of its registers, adds the same numbers in the same order.
    """
    eight = ir.VectorType(ir.DoubleType(), _LANES)

    def total(builder: ir.IRBuilder, sums: Any) -> Any:
        vector = builder.load(sums)
        parts = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(_LANES)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(parts[i], parts[i + half]) for i in range(half)]
        return parts[0]

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        w, offset, x, r, blocks, scale, added, factor, spread = args
        rows = context.make_array(signature.args[2])(context, builder, x)
        n_columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        weights = builder.gep(context.make_array(signature.args[0])(context, builder, w).data, [offset])
        row, old, out = (builder.gep(rows.data, [builder.mul(i, n_columns)]) for i in (r, added, spread))
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(eight, [eight] * 3), f"llvm.fma.v{_LANES}f64"
        )
        products, squares = (cgutils.alloca_once_value(builder, ir.Constant(eight, [0.0] * _LANES)) for _ in "ps")
        scales = factors = ir.Constant(eight, ir.Undefined)
        for i in range(_LANES):
            scales = builder.insert_element(scales, scale, ir.Constant(ir.IntType(32), i))
            factors = builder.insert_element(factors, factor, ir.Constant(ir.IntType(32), i))
        with cgutils.for_range(builder, blocks) as loop:
            k = builder.mul(loop.index, ir.Constant(loop.index.type, _LANES))
            at_w, at_row, at_old, at_out = (
                builder.bitcast(builder.gep(start, [k]), eight.as_pointer()) for start in (weights, row, old, out)
            )
            eight_w, eight_x = builder.load(at_w, align=8), builder.load(at_row, align=8)
            if with_add:
                eight_w = builder.call(fused, [scales, builder.load(at_old, align=8), eight_w])
                builder.store(eight_w, at_w, align=8)
            builder.store(builder.call(fused, [eight_w, eight_x, builder.load(products)]), products)
            if with_square:
                builder.store(builder.call(fused, [eight_x, eight_x, builder.load(squares)]), squares)
            if with_spread:
                builder.store(builder.call(fused, [factors, eight_w, builder.load(at_out, align=8)]), at_out, align=8)
        if not with_square:
            return total(builder, products)
        return context.make_tuple(builder, signature.return_type, [total(builder, s) for s in (products, squares)])

    def blocks(
        _context: Any,
        weights: Any,
        _o: Any,
        X: Any,
        _r: Any,
        _n: Any,
        _scale: Any,
        _added: Any,
        _factor: Any,
        _out: Any,
    ) -> Any:
        i, f = types.int64, types.float64
        return (types.UniTuple(f, 2) if with_square else f)(weights, i, X, i, i, f, i, f, i), generate

    return intrinsic(blocks)


_dot_blocks = _blocks()
_dot_and_square_blocks = _blocks(with_square=True)
_add_dot_and_square_blocks = _blocks(with_square=True, with_add=True)
_add_dot_spread_blocks = _blocks(with_add=True, with_spread=True)


@inlined
def dot_first(n: int, weights: Floats, offset: int, X: Floats, r: int) -> float:
    """<weights[offset:], X[r]> over the first n columns, for contiguous arrays."""
    blocks = n // _LANES
    total: float = _dot_blocks(weights, offset, X, r, blocks, 0.0, r, 0.0, r)
    for j in range(blocks * _LANES, n):
        total = fma(weights[offset + j], X[r, j], total)
    return total


@inlined
def dot(weights: Floats, offset: int, X: Floats, r: int) -> float:
    return dot_first(X.shape[1], weights, offset, X, r)


@inlined
def dot_and_square(weights: Floats, offset: int, X: Floats, r: int) -> tuple[float, float]:
    """<weights[offset:], X[r]> and |X[r]|**2, which is not finite where the row is not."""
    blocks = X.shape[1] // _LANES
    total, square = _dot_and_square_blocks(weights, offset, X, r, blocks, 0.0, r, 0.0, r)
    for j in range(blocks * _LANES, X.shape[1]):
        total = fma(weights[offset + j], X[r, j], total)
        square = fma(X[r, j], X[r, j], square)
    return total, square


@inlined
def add_dot_and_square(
    scale: float, X: Floats, added: int, weights: Floats, offset: int, r: int
) -> tuple[float, float]:
    """`add` of row `added`, then `dot_and_square` of row r: the same bits in one pass over the weights."""
    blocks = X.shape[1] // _LANES
    total, square = _add_dot_and_square_blocks(weights, offset, X, r, blocks, scale, added, 0.0, r)
    for j in range(blocks * _LANES, X.shape[1]):
        weights[offset + j] = fma(scale, X[added, j], weights[offset + j])
        total = fma(weights[offset + j], X[r, j], total)
        square = fma(X[r, j], X[r, j], square)
    return total, square


@inlined
def add_dot_spread(
    n: int, scale: float, X: Floats, added: int, weights: Floats, offset: int, r: int, factor: float, spread: int
) -> float:
    """weights[offset:] += scale * X[added]; X[spread] += factor * weights; returns <weights, X[r]>: one pass over n."""
    blocks = n // _LANES
    total: float = _add_dot_spread_blocks(weights, offset, X, r, blocks, scale, added, factor, spread)
    for j in range(blocks * _LANES, n):
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
