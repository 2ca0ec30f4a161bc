"""What a model learned from, remembered in a few numbers: a bottom-k sketch of fingerprints of its rounds.

A fingerprint is a hash of the row, the level asked about and the answer; if the label itself was learned, of the row
alone. The sketch holds the SIZE smallest so far. Which these are depends neither on the order of
the rounds nor on how often one came. So of any other set of rounds, those with fingerprints up to the largest in the
sketch can be looked up, and they are a random sample of that set (Broder 1997).

A fingerprint has two parts, compared in this order. The key is a hash of |x|**2 (of k(x, x) if there is a kernel), the
level and the answer: it takes a few instructions, and most rounds need no more. The print is a hash of every entry of
the row, the level and the answer, computed only if the key is small enough. Both are multiples of 2**-53 in [0, 1), as
the state holds floats; an empty place has a key of 1.
"""

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine._compiled import called, compiled, inlined, place
from dford.engine.counter import GOLDEN, mix

SIZE = 128
# a place in the state: the answer of the round just learned (0 for a label, else twice the level, plus one if higher)
TOLD = 18
KEYS = 24
PRINTS = KEYS + SIZE
END = PRINTS + SIZE

_NOTHING = np.uint64(0)
_NOT_A_NUMBER = np.uint64(0x7FF8000000000000)
_11, _24, _40 = np.uint64(11), np.uint64(24), np.uint64(40)
_HALF = np.uint64(1 << 23)


@inlined
def bits(x: float) -> np.uint64:
    """The bits of a number, the same for all NaNs, and for 0.0 and -0.0."""
    return np.float64(x + 0.0).view(np.uint64) if x == x else _NOT_A_NUMBER


@inlined
def fraction(z: np.uint64) -> float:
    return float(np.int64(z >> _11)) * 2.0**-53


@inlined
def key_of(square: float, told: float) -> float:
    """The square is rounded: another order of summation changes its last bits, and takes a row of length 1 below 1."""
    return fraction(mix((bits(square) + _HALF >> _24) + (np.uint64(np.int64(told)) << _40) + GOLDEN))


@inlined
def entry(x: float, j: int) -> np.uint64:
    """What entry j adds to the hash of a row: nothing if it is 0, so that sparse and dense rows have the same hash."""
    return mix(bits(x) + np.uint64(j) * GOLDEN) if x != 0.0 else _NOTHING


@inlined
def row_hash(X: Floats, r: int) -> np.uint64:
    total = _NOTHING
    for j in range(X.shape[1]):
        total += entry(X[r, j], j)
    return total


@inlined
def print_of(row: np.uint64, told: float) -> float:
    return fraction(mix(row + mix(np.uint64(np.int64(told)) * GOLDEN)))


@inlined
def find(state: Floats, key: float, own: float) -> tuple[int, bool]:
    """The place of a fingerprint in the sketch, or where it would be, and whether it is there."""
    low, high = 0, SIZE
    while low < high:
        middle = (low + high) >> 1
        k = state[place(KEYS + middle)]
        if k < key or (k == key and state[place(PRINTS + middle)] < own):
            low = middle + 1
        else:
            high = middle
    there = low < SIZE and state[place(KEYS + low)] == key and state[place(PRINTS + low)] == own
    return low, there


@inlined
def enter(state: Floats, key: float, row: np.uint64) -> None:
    own = print_of(row, state[TOLD])
    at, there = find(state, key, own)
    if not there:
        for i in range(SIZE - 1, at, -1):
            state[KEYS + i], state[PRINTS + i] = state[KEYS + i - 1], state[PRINTS + i - 1]
        if at < SIZE:
            state[KEYS + at], state[PRINTS + at] = key, own


@called
def enter_dense(state: Floats, key: float, X: Floats, r: int) -> None:
    enter(state, key, row_hash(X, r))


@inlined
def sparse_row_hash(data: Floats, indices: Ints, begin: int, end: int) -> np.uint64:
    total = _NOTHING
    for k in range(begin, end):
        total += entry(data[k], indices[k])
    return total


@called
def enter_sparse(state: Floats, key: float, data: Floats, indices: Ints, begin: int, end: int) -> None:
    enter(state, key, sparse_row_hash(data, indices, begin, end))


@inlined
def remember(state: Floats, square: float, X: Floats, r: int) -> None:
    """Note the round just learned, about row r."""
    key = key_of(square, state[TOLD])
    if key <= state[PRINTS - 1]:
        enter_dense(state, key, X, r)


@inlined
def remember_sparse(state: Floats, square: float, data: Floats, indices: Ints, begin: int, end: int) -> None:
    key = key_of(square, state[TOLD])
    if key <= state[PRINTS - 1]:
        enter_sparse(state, key, data, indices, begin, end)


@compiled
def row_hashes(X: Floats) -> NDArray[np.uint64]:
    return np.array([row_hash(X, r) for r in range(len(X))])


@compiled
def sparse_row_hashes(data: Floats, indices: Ints, indptr: Ints) -> NDArray[np.uint64]:
    return np.array([sparse_row_hash(data, indices, indptr[r], indptr[r + 1]) for r in range(indptr.size - 1)])


@compiled
def look_up(state: Floats, hashes: NDArray[np.uint64], squares: Floats, told: Ints) -> tuple[int, int]:
    """How many of these rounds would be in the sketch if they had been learned, and how many of them are."""
    last, last_print = state[PRINTS - 1], state[END - 1]
    checked = found = 0
    for r in range(len(hashes)):
        key = key_of(squares[r], float(told[r]))
        if key <= last:
            own = print_of(hashes[r], float(told[r]))
            if key < last or own <= last_print:
                checked += 1
                found += find(state, key, own)[1]
    return checked, found
