"""Evaluating boosted trees: the logit of "is it above level i?" for all levels in one walk of each tree.

A tree is a run of nodes. `numbers` holds a split's threshold or a leaf's value, `links` the rest, and `sets` bits for
the categories that go left. The level is the feature after the last column of Z; every tree falls with it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine._compiled import aside, inlined

# columns of links
FEATURE = 0  # -1 at a leaf
LEFT = 1
RIGHT = 2
GUIDE = 3  # whether missing values go left (1), plus twice the number of the set of categories, from 1


@inlined
def walk(
    numbers: Floats, links: Ints, sets: NDArray[np.uint8], node: int, Z: Floats, r: int, level: int, last: int
) -> tuple[int, int]:
    """The leaf of row r at a level, and the last level, up to `last`, with the same leaf."""
    while links[node, FEATURE] >= 0:
        j = links[node, FEATURE]
        guide = links[node, GUIDE]
        if j == Z.shape[1]:
            left = level <= numbers[node]
            if left:
                last = min(last, math.floor(numbers[node]))
        elif Z[r, j] != Z[r, j]:
            left = guide & 1 == 1
        elif guide > 1:
            code = int(Z[r, j])
            left = (sets[(guide >> 1) - 1, code >> 3] >> (code & 7)) & 1 == 1
        else:
            left = Z[r, j] <= numbers[node]
        node = links[node, LEFT] if left else links[node, RIGHT]
    return node, last


@aside
def logits(
    numbers: Floats, links: Ints, sets: NDArray[np.uint8], roots: Ints, base: float, Z: Floats, n_levels: int
) -> Floats:
    """The log-odds that each row is above levels 1..K-1, shape (rows, K - 1)."""
    out = np.full((len(Z), n_levels - 1), base)
    for root in roots:  # one tree at a time, which stays in the cache
        for r in range(len(Z)):
            level = 1
            while level < n_levels:
                leaf, last = walk(numbers, links, sets, root, Z, r, level, n_levels - 1)
                for i in range(level, last + 1):
                    out[r, i - 1] += numbers[leaf]
                level = last + 1
    return out
