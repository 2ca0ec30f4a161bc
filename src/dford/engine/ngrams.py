"""Texts as sparse rows: the runs of 3 to 5 characters within their words, each counted in the place of its hash."""

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine._compiled import compiled
from dford.engine.counter import GOLDEN, mix

PLACES = 65_536
SHORTEST, LONGEST = 3, 5
_SPACE = 32
_48 = np.uint64(48)


@compiled
def count_ngrams(
    codes: NDArray[np.uint32], ends: Ints, salt: int, indptr: NDArray[np.int32], indices: NDArray[np.int32],
    data: Floats,
) -> int:  # fmt: skip
    """Fill in a CSR matrix, one row per text, and return how many entries it has.

    Text r is codes[ends[r] : ends[r + 1]], code points with single spaces around and between its words. Its counts are
    scaled to length 1, so that a long text weighs no more than a short one. Whole numbers, a root and a division are
    the same on every machine.
    """
    total = 0
    for r in range(ends.size - 1):
        first, last = total, ends[r + 1]
        for begin in range(ends[r], last):
            h = mix(np.uint64(salt) * GOLDEN)
            for i in range(begin, min(begin + LONGEST, last)):
                h = mix(h + np.uint64(codes[i]) * GOLDEN)
                if i - begin + 1 >= SHORTEST:
                    indices[total] = np.int32(h >> _48)
                    total += 1
                if i > begin and codes[i] == _SPACE:
                    break  # a run may begin or end with the space around a word, but has none inside
        places = indices[first:total]
        places.sort()
        total, squares = first, 0.0
        for k in range(places.size):
            place = places[k]
            if total > first and indices[total - 1] == place:
                data[total - 1] += 1.0
            else:
                indices[total], data[total] = place, 1.0
                total += 1
        for k in range(first, total):
            squares += data[k] * data[k]
        for k in range(first, total):
            data[k] /= np.sqrt(squares)
        indptr[r + 1] = total
    return total
