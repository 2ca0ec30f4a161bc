"""How the engine's functions are compiled, and everything dford uses of numba beyond its documented interface."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

try:
    from numba.core import cgutils
    from numba.core.cpu import CPUTargetOptions

    _ = CPUTargetOptions._nrt, CPUTargetOptions.forceinline
except (ImportError, AttributeError) as error:
    raise ImportError(
        f"dford does not work with numba {numba.__version__} ({error}); it is tested with 0.68: "
        "pip install 'numba<0.69'"
    ) from error

# An index that cannot be negative. For a signed one, numba checks whether it counts from the end, and a loop with
# that check is not vectorised: 4.8 against 2.8 ns per entry in `evaluate`, 0.9 against 0.3 in `add`.
place = np.uint64
LANES = 8  # of a vector of float64

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first call and keep the machine code on disk: for loops, and for everything that Python calls.

    No fastmath: it may reorder sums, and then a replay on another machine would not give the same bits.
    """
    return _kept(function)


def released(function: F) -> F:
    """Like `live`, for what takes long: other threads run Python meanwhile, so none of them may use these arrays."""
    return _kept(function, nogil=True, _nrt=False)


def aside(function: F) -> F:
    """Like `compiled`, for what takes long: other threads run Python meanwhile, so none may change these arrays."""
    return _kept(function, nogil=True)


def live(function: F) -> F:
    """Like `compiled`, for what Python calls once or twice per round: it must make no array, but may make views.

    To count references, numba wraps every array it gets from Python: 60 ns each, where the arithmetic of
    a round takes about a hundred. The caller holds these arrays, so nothing need be counted.
    """
    return _kept(function, _nrt=False)


def _kept(function: F, **options: bool) -> F:
    jitted: F
    try:
        jitted = numba.njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        jitted = numba.njit(error_model="numpy", **options)(function)
    return jitted


def called(function: F) -> F:
    """Compile separately: for what a round rarely needs and makes no array, as it would be in the way if inlined."""
    jitted: F = numba.njit(error_model="numpy", _nrt=False)(function)
    return jitted


def inlined(function: F) -> F:
    """Compile into the caller: for the scalar functions of a round, which make no array.

    Numba counts references to every array a function gets, atomically. At 8 features that was 180 of
    250 ns per round; `_nrt=False` leaves it out, which is right if nothing is allocated.
    """
    jitted: F = numba.njit(error_model="numpy", forceinline=True, _nrt=False)(function)
    return jitted


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


def sum_products(with_square: bool = False, with_add: bool = False, with_spread: bool = False) -> Any:
    """The first `blocks` * 8 products of <weights[offset:], X[r]> as an intrinsic of the compiler.

    With `with_square` also those of <X[r], X[r]>; with `with_add` weights += scale * X[added] before each
    product; with `with_spread` X[out] += factor * weights after it: all in one pass over memory. Without
    fastmath the compiler may not split a sum, so the eight partial sums are spelled out as a vector: every
    machine, whatever the width of its registers, adds the same numbers in the same order.
    """
    eight = ir.VectorType(ir.DoubleType(), LANES)

    def total(builder: ir.IRBuilder, sums: Any) -> Any:
        vector = builder.load(sums)
        parts = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(LANES)]
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
            builder.module, ir.FunctionType(eight, [eight] * 3), f"llvm.fma.v{LANES}f64"
        )
        products, squares = (cgutils.alloca_once_value(builder, ir.Constant(eight, [0.0] * LANES)) for _ in "ps")
        scales = factors = ir.Constant(eight, ir.Undefined)
        for i in range(LANES):
            scales = builder.insert_element(scales, scale, ir.Constant(ir.IntType(32), i))
            factors = builder.insert_element(factors, factor, ir.Constant(ir.IntType(32), i))
        with cgutils.for_range(builder, blocks) as loop:
            k = builder.mul(loop.index, ir.Constant(loop.index.type, LANES))
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
