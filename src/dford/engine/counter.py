"""Randomness as a counter: draw n of a stream is a hash of (seed, n).

A batch, a live program, a replay and another machine therefore see the same stream, whatever was
drawn before. The hash is the finaliser of splitmix64 (Steele, Lea and Flood 2014).
"""

import hashlib

import numpy as np

from dford.arrays import Floats, Ints
from dford.engine._compiled import compiled, inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@inlined
def mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@inlined
def bits(seed: int, n: int) -> np.uint64:
    """The 64 bits of draw n. The seed is mixed first, so that neighbouring seeds do not share a stream."""
    return mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(n) * GOLDEN)


def stream(seed: int, name: str) -> int:
    """The seed of the stream with this name: no two names or seeds share one, as they would if numbers were added."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "big") >> 2


@compiled
def uniforms(seed: int, numbers: Ints) -> Floats:
    """The draws of these numbers."""
    out = np.empty(numbers.size)
    for i in range(numbers.size):
        out[i] = uniform(seed, numbers[i])
    return out


@compiled
def key(seed: int) -> np.uint64:
    """32 bits that identify the stream of a seed without revealing any of its draws."""
    return bits(~seed, 0) >> np.uint64(32)


@inlined
def uniform(seed: int, n: int) -> float:
    """Draw n as a multiple of 2**-53 in [0, 1)."""
    return float(bits(seed, n) >> _11) * 2.0**-53
