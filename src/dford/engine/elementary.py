"""The exponential, the cosine, the logarithm and the logistic function, each in one fixed order of operations.

Those of the C library, and NumPy's, differ in the last bit between systems and processors. These are the same
everywhere, within two units in the last place; loops over them become vector instructions.
"""

import math

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine._compiled import compiled, fma, inlined

# exp(v) = 2**(k / 256) * exp(r) with k the nearest integer to 256 v / ln 2, so that |r| < 0.00136.
_PER_STEP = 369.3299304675746  # 256 / ln 2
_STEP = 0.0027076061740622863  # ln 2 / 256, and what its rounding leaves over
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
    """exp(v) for v <= 0, computed as in `exp_negative`."""
    k = fma(max(v, -708.0), _PER_STEP, _ROUNDER) - _ROUNDER
    r = fma(-k, _STEP_REST, fma(-k, _STEP, max(v, -708.0)))
    step = np.int64(k)
    power = np.int64(_POWERS[step & 255] + ((step >> 8) << 52)).view(np.float64)
    return fma(power, fma(r * r, fma(r, fma(r, 1 / 24, 1 / 6), 0.5), r), power) if v > -708.0 else 0.0


@inlined
def exp_negative(scale: float, values: Floats, n: int) -> None:
    """values[0, :n] = exp(scale * values[0, :n]) for scale < 0 <= values, within two units in the last place.

    Below exp(-708), about 3e-308, it is 0. The remainder of the polynomial, r**5 / 120, is below 4e-17. It takes
    two passes, which share rows 1 and 2 of `values`: one would be a chain too long for a processor to overlap.
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


_PER_QUARTER = 0.6366197723675814  # 2 / pi
_QUARTER = 1.5707963267948966  # pi / 2, what its rounding leaves over, and what the rounding of that leaves over
_QUARTER_REST, _QUARTER_LAST = 6.123233995736766e-17, -1.4973849048591833e-33
# Taylor's coefficients: at pi / 4 the next ones add less than 1e-19
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 9))
_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(1, 10))
_LN_2, _LN_2_REST = 0.6931471805599453, 2.3190468138462996e-17
_ROOT_2 = 1.4142135623730951
# of atanh(s) / s - 1, twice: for s**2 below 0.0295 the next one adds less than 1e-18
_ATANH = tuple(2.0 / (2 * k + 1) for k in range(1, 12))
_MANTISSA, _ONE = (1 << 52) - 1, 1023 << 52


@inlined
def cos_one(v: float) -> float:
    """cos(v) for |v| < 2**20, where v less a multiple of pi / 2 loses nothing."""
    rounded = fma(v, _PER_QUARTER, _ROUNDER)
    k = rounded - _ROUNDER
    r = fma(-k, _QUARTER_LAST, fma(-k, _QUARTER_REST, fma(-k, _QUARTER, v)))
    z = r * r
    a1, a2, a3, a4, a5, a6, a7, a8 = _SINE
    p = fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, a8, a7), a6), a5), a4), a3), a2), a1)
    sine = fma(r * z, p, r)
    b1, b2, b3, b4, b5, b6, b7, b8, b9 = _COSINE
    q = fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, b9, b8), b7), b6), b5), b4), b3), b2), b1)
    cosine = fma(z, q, 1.0)
    quarter = np.float64(rounded).view(np.int64) & 3
    size: float = sine if quarter & 1 else cosine
    return -size if (quarter + 1) & 2 else size


@inlined
def log_one(x: float) -> float:
    """The natural logarithm of a positive, normal number."""
    bits = np.float64(x).view(np.int64)
    e = float((bits >> 52) - 1023)
    m = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
    if m > _ROOT_2:
        m, e = 0.5 * m, e + 1.0
    # log(1 + f) = f - f**2 / 2 + s (f**2 / 2 + R) with s = f / (2 + f), so that what is rounded is small beside f
    f = m - 1.0
    s = f / (2.0 + f)
    z, half = s * s, 0.5 * f * f
    c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 = _ATANH
    p = fma(z, fma(z, fma(z, fma(z, fma(z, c11, c10), c9), c8), c7), c6)
    p = fma(z, fma(z, fma(z, fma(z, fma(z, p, c5), c4), c3), c2), c1)
    logarithm: float = fma(e, _LN_2, f - (half - fma(s, half + z * p, e * _LN_2_REST)))
    return logarithm


@inlined
def sigmoid(a: float) -> float:
    e = exp_one(-abs(a))
    return 1.0 / (1.0 + e) if a >= 0.0 else e / (1.0 + e)


@inlined
def mode_of_bit(a: float, v: float, bit: float) -> float:
    """The most likely logit after an answer, where it was normal with mean a and variance v.

    That is the root of d = v (bit - sigmoid(a + d)), as a + d. One Newton step from d = 0 would overshoot
    wherever the answer is a surprise, as the curvature there is near 0; the root lies between 0 and that step.
    """
    low, high = 0.0, v * (bit - sigmoid(a))
    if high < low:
        low, high = high, low
    d, last = 0.0, high - low
    for _ in range(100):  # usually three or four, except for great surprises
        p = sigmoid(a + d)
        excess = d - v * (bit - p)
        if excess > 0.0:
            high = d
        else:
            low = d
        step = -excess / (1.0 + v * p * (1.0 - p))
        # Newton's step, unless it leaves the bracket or does not halve the previous step: then bisect
        if not low < d + step < high or abs(step) > 0.5 * abs(last):
            step = 0.5 * (low + high) - d
        last = step
        d += step
        if abs(step) <= 1e-13 * (1.0 + abs(d)):
            break
    return a + d


@inlined
def mode_of_gap(gap: float, v: float) -> float:
    """The same for a gap g between cuts and the likelihood 1 - exp(-g): the root of d = v / (exp(gap + d) - 1)."""
    low, high = 0.0, 0.5 * (math.sqrt(gap * gap + 4.0 * v) - gap)
    for _ in range(50):
        d = 0.5 * (low + high)
        e = exp_one(-(gap + d))
        if d * (1.0 - e) > v * e:
            high = d
        else:
            low = d
    return max(gap + high, 1e-9)  # even if two cuts coincide with certainty


@compiled
def cosines(values: Floats) -> Floats:
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = cos_one(values[i])
    return out


@compiled
def logs(values: Floats) -> Floats:
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = log_one(values[i])
    return out
