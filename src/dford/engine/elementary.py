"""The exponential, the logarithm and the cosine, each with one fixed order of operations.

Those of the C library and of NumPy differ between systems in their last bits, and cannot be inlined into a loop.
"""

import math

import numpy as np

from dford.engine._compiled import Floats, Ints, compiled, inlined
from dford.engine.vectors import fma

# exp(v) = 2**(k / 256) * exp(r) with k the nearest integer to 256 v / ln 2, so that |r| < 0.00136.
_PER_STEP = 369.3299304675746  # 256 / ln 2
_STEP = 0.0027076061740622863  # ln 2 / 256, and what its rounding left over
_STEP_REST = 9.058776616587108e-20
# 1.5 * 2**52: adding it rounds to the nearest integer, and leaves that integer in the last bits
_ROUNDER = 6755399441055744.0
_LOWEST = int(np.float64(_ROUNDER - 261486.0).view(np.int64))  # the bits at k of v = -708


def _powers() -> Ints:
    """The bits of 2**(i / 256), each rounded once."""
    roots = [2 << 200]  # 2**(1 / 2**k), in 200 binary places
    for _ in range(8):
        roots.append(math.isqrt(roots[-1] << 200))
    powers = []
    for i in range(256):
        product = 1 << 200
        for k in range(8):
            if i >> k & 1:
                product = product * roots[8 - k] >> 200
        powers.append(product / 2**200)
    return np.array(powers).view(np.int64)


_POWERS = _powers()


@inlined
def exp_one(v: float) -> float:
    """exp(v) for v <= 0, as `exp_negative` has it."""
    k = fma(max(v, -708.0), _PER_STEP, _ROUNDER) - _ROUNDER
    r = fma(-k, _STEP_REST, fma(-k, _STEP, max(v, -708.0)))
    step = np.int64(k)
    power = np.int64(_POWERS[step & 255] + ((step >> 8) << 52)).view(np.float64)
    return fma(power, fma(r * r, fma(r, fma(r, 1 / 24, 1 / 6), 0.5), r), power) if v > -708.0 else 0.0


@inlined
def exp_negative(scale: float, values: Floats, n: int) -> None:
    """values[0, :n] = exp(scale * values[0, :n]) for scale < 0 <= values, within two units in the last place.

    Below exp(-708), about 3e-308, it is 0. The remainder of the polynomial, r**5 / 120, is below 4e-17. Two
    passes, with rows 1 and 2 of `values` between them: one would be a chain too long for a processor to overlap.
    """
    bits = values.view(np.int64)
    for i in range(n):
        v = max(scale * values[0, i], -708.0)
        rounded = fma(v, _PER_STEP, _ROUNDER)
        k = rounded - _ROUNDER
        values[1, i] = fma(-k, _STEP_REST, fma(-k, _STEP, v))
        values[2, i] = rounded
    for i in range(n):
        r, step = values[1, i], bits[2, i]
        p = fma(r * r, fma(r, fma(r, 1 / 24, 1 / 6), 0.5), r)
        power = _POWERS[step & 255] + ((step >> 8) << 52) if step > _LOWEST else 0
        values[0, i] = fma(np.int64(power).view(np.float64), p, np.int64(power).view(np.float64))


_LN2, _LN2_REST = 0.6931471805599453, 2.3190468138462996e-17


@inlined
def log_one(x: float) -> float:
    """log(x) for a positive x that is not tiny, within two units in the last place.

    x = 2**k m with m near 1, and log(m) = 2 artanh(s) with s = (m - 1) / (m + 1), whose series ends at s**21 / 21,
    below 1e-17.
    """
    bits = np.float64(x).view(np.int64)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52  # m from sqrt(1/2) on
    m = np.int64(bits - (k << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    q, p = s * s, 1 / 21
    for i in range(9, 0, -1):
        p = fma(p, q, 1.0 / (2 * i + 1))
    rest = fma(2.0 * s * q, p, fma(float(k), _LN2_REST, 2.0 * s))
    value: float = fma(float(k), _LN2, rest)
    return value


_PER_HALF_TURN = 0.3183098861837907  # 1 / pi
_HALF_TURN, _HALF_TURN_REST = 3.141592653589793, 1.2246467991473532e-16
_COSINES = [(-1.0) ** i / math.factorial(2 * i) for i in range(12)]  # the next one is below 1e-19 at a quarter turn
(_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11) = _COSINES[1:]


@inlined
def cos_one(angle: float) -> float:
    """cos(angle) for angles up to some thousands, within 1e-15: the series around the nearest multiple of pi."""
    rounded = fma(angle, _PER_HALF_TURN, _ROUNDER)
    turns = rounded - _ROUNDER
    r = fma(-turns, _HALF_TURN_REST, fma(-turns, _HALF_TURN, angle))
    q = r * r
    p = fma(q, fma(q, fma(q, fma(q, fma(q, _C11, _C10), _C9), _C8), _C7), _C6)
    p = fma(q, fma(q, fma(q, fma(q, fma(q, p, _C5), _C4), _C3), _C2), _C1)
    sign = np.float64(rounded).view(np.int64) << 63  # the last bit: whether the turns are odd
    return np.int64(np.float64(fma(q, p, 1.0)).view(np.int64) ^ sign).view(np.float64)


@compiled
def logs(values: Floats) -> Floats:
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = log_one(values[i])
    return out


@compiled
def cosines(angles: Floats) -> Floats:
    out = np.empty(angles.size)
    for i in range(angles.size):
        out[i] = cos_one(angles[i])
    return out
