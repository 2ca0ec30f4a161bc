"""Growing boosted trees: the logit of "is it above this level?", one tree after another, each from histograms.

A tree is grown leaf by leaf, the one that gains most first (as in LightGBM and scikit-learn). For every node and every
column the gradients are summed bin by bin, and the best of all splits is kept. Of two children only the smaller is
summed; the sums of the other are what remains of the parent's.

`advance` does about as much work as it is told to, and continues from there when it is called again.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import add_pair, inlined, place, released
from dford.engine.binning import BINS, CATEGORICAL, FIRST, LISTED_AT, LISTED_TO, MISSING, NUMBER, USUAL
from dford.engine.elementary import sigmoid
from dford.engine.splits import Limits, best_split, best_value, hessian, saved

# A node: its rows in `order`, its children, its best split and what that puts left, its place in the pool, its sums.
BEGIN, END, LEFT, RIGHT, COLUMN, BIN, MISSING_LEFT, LEFT_G, LEFT_W, SLOT, G, W = range(12)
GAIN, LOW, HIGH, VALUE = range(4)  # the gain of its best split, the bounds of its value, and the value
# The progress: trees done, nodes of this one, the two being summed (or -1), whether the larger starts with the sums of
# its parent, the next block, what is written, and the work done, in nanoseconds or so.
TREE, NODES, SMALL, LARGE, HEIR, NEXT_BLOCK, WRITTEN, ROOTS, SETS, WORK = range(10)
# A block of columns: the first, the one after the last, its row in `words` or in `starts`, and whether it is in words.
BLOCK_BEGIN, BLOCK_END, BLOCK_ROW, IN_WORDS = range(4)


class Binned(NamedTuple):
    """Rows as bins (see `binning`), and their answers."""

    columns: Ints
    blocks: Ints
    words: NDArray[np.uint32]
    starts: Ints
    entries: NDArray[np.uint16]  # of sparse columns, row by row
    rows: NDArray[np.int32]  # and column by column
    listed: NDArray[np.uint16]
    edges: Floats
    higher: Bools


class Growing(NamedTuple):
    """Trees being grown."""

    places: Ints
    logits: Floats
    sums: Ints  # of each row
    order: NDArray[np.int32]  # the rows, node by node
    marked: Bools  # all False, except while a node is being partitioned
    ordered: Ints  # the sums of the rows of the nodes being summed, in their order
    nodes: Ints
    figures: Floats
    left: NDArray[np.uint8]  # for each node, the categories that go left, as bits
    pool: Ints  # histograms; the last two places are for nodes that find no other place
    lefts: Ints  # for the splits of one column: the sums on the left, the gains, and the ranking of categories
    gains: Floats
    ranked: Ints
    numbers: Floats  # the finished trees, in the form of `trees`
    links: Ints
    sets: NDArray[np.uint8]
    roots: Ints


def begin(binned: Binned, limits: Limits, base: float, pool: int) -> Growing:
    """Start without trees. The histograms that are kept take about `pool` bytes; others are summed again."""
    n, nodes = len(binned.higher), 2 * limits.leaves
    size = 2 * int(binned.columns[-1:, [FIRST, BINS, MISSING]].sum()) + 2
    return Growing(
        places=np.zeros(WORK + 1, np.int64),
        logits=np.full(n, base),
        sums=np.empty(2 * n, np.int64),
        order=np.empty(n, np.int32),
        marked=np.zeros(n, np.bool_),
        ordered=np.empty(2 * n, np.int64),
        nodes=np.empty((nodes, W + 1), np.int64),
        figures=np.empty((nodes, VALUE + 1)),
        left=np.zeros((nodes, 32), np.uint8),
        pool=np.empty((2 + min(max(pool // (8 * size), 1), limits.leaves), size), np.int64),
        lefts=np.empty((2, 256), np.int64),
        gains=np.empty(256),
        ranked=np.empty(256, np.int64),
        numbers=np.empty(0),
        links=np.empty((0, 4), np.int64),
        sets=np.empty((0, 32), np.uint8),
        roots=np.empty(limits.trees, np.int64),
    )


def with_room(growing: Growing, limits: Limits) -> Growing:
    """The same, with room for at least one more tree."""
    size = int(growing.places[WRITTEN]) + 2 * limits.leaves
    if size <= growing.numbers.size:
        return growing
    size = 2 * size
    return growing._replace(
        numbers=np.resize(growing.numbers, size),
        links=np.resize(growing.links, (size, 4)),
        sets=np.resize(growing.sets, (size // 2, 32)),
    )


@released
def advance(binned: Binned, limits: Limits, growing: Growing, work: int) -> None:
    """Continue for this much work or a little more, to the end, or until there is no room to write another tree."""
    # helpers get only the arrays they use, because compiling a function that gets them all takes long
    columns, blocks, words, starts, entries, rows, listed, edges, higher = binned
    places, logits, sums, order, marked, ordered, nodes, figures, left, pool, lefts, gains, ranked = growing[:13]
    numbers, links, sets, roots = growing[13:]
    end = places[WORK] + work
    while places[TREE] < limits.trees and places[WORK] < end:
        if places[NODES] == 0:
            if places[WRITTEN] + 2 * limits.leaves > numbers.size:
                return
            _begin_tree(limits, higher, logits, places, sums, order, ordered, nodes, figures)
        elif places[NEXT_BLOCK] < len(blocks):
            block = places[NEXT_BLOCK]
            for turn in range(2):
                node = places[LARGE] if turn == 1 else places[SMALL]
                if node >= 0:
                    _sum(columns, blocks, words, starts, entries, order, ordered, places, nodes, pool, block, node)
                    _scan(
                        limits, columns, blocks, places, nodes, figures, left, pool, lefts, gains, ranked, block, node
                    )
            places[NEXT_BLOCK] += 1
        else:
            node = np.int64(0)
            for other in range(1, places[NODES]):
                if figures[other, GAIN] > figures[node, GAIN]:
                    node = other
            if figures[node, GAIN] > 0.0 and places[NODES] + 1 < 2 * limits.leaves:
                middle = _part(
                    columns, blocks, words, rows, listed, order, marked, ordered, places, nodes, left, ranked, node
                )
                _begin_children(limits, columns, sums, order, ordered, places, nodes, figures, pool, node, middle)
            else:
                _end_tree(
                    limits, columns, edges, places, logits, order, nodes, figures, left, numbers, links, sets, roots
                )


@inlined
def _begin_node(
    limits: Limits, places: Ints, nodes: Ints, figures: Floats, begin: int, end: int, slot: int,
    g: Any, w: Any, low: float, high: float,
) -> None:  # fmt: skip
    node = places[NODES]
    places[NODES] += 1
    nodes[node, BEGIN], nodes[node, END], nodes[node, LEFT], nodes[node, SLOT] = begin, end, -1, slot
    nodes[node, G], nodes[node, W] = g, w
    figures[node, GAIN], figures[node, LOW], figures[node, HIGH] = 0.0, low, high
    figures[node, VALUE] = best_value(limits, g * limits.gradient, hessian(limits, w), low, high)


@inlined
def _begin_tree(
    limits: Limits, higher: Bools, logits: Floats, places: Ints, sums: Ints, order: NDArray[np.int32],
    ordered: Ints, nodes: Ints, figures: Floats,
) -> None:  # fmt: skip
    """The gradients of all rows, in one node."""
    g = w = np.int64(0)
    for r in range(logits.size):
        p = sigmoid(logits[r])
        slope = p - 1.0 if higher[r] else p
        sums[2 * r] = np.int64(np.floor(slope / limits.gradient + 0.5))
        sums[2 * r + 1] = np.int64(np.floor(p * (1.0 - p) / limits.hessian + 0.5)) + (np.int64(1) << limits.shift)
        g += sums[2 * r]
        w += sums[2 * r + 1]
        ordered[2 * r], ordered[2 * r + 1], order[r] = sums[2 * r], sums[2 * r + 1], r
    places[SMALL], places[LARGE], places[NEXT_BLOCK] = 0, -1, 0
    _begin_node(limits, places, nodes, figures, 0, logits.size, 0, g, w, -np.inf, np.inf)
    places[WORK] += 20 * logits.size


@inlined
def _sum(
    columns: Ints, blocks: Ints, words: NDArray[np.uint32], starts: Ints, entries: NDArray[np.uint16],
    order: NDArray[np.int32], ordered: Ints, places: Ints, nodes: Ints, pool: Ints, block: int, node: int,
) -> None:  # fmt: skip
    """The histograms of a node for a block of columns."""
    begin, end, row = blocks[block, BLOCK_BEGIN], blocks[block, BLOCK_END], blocks[block, BLOCK_ROW]
    scrap = pool.shape[1] - 2
    first, top = 2 * columns[begin, FIRST], 2 * columns[end, FIRST] if end < len(columns) else scrap
    places[WORK] += 2 * (top - first)
    histogram, flat = place(nodes[node, SLOT] * pool.shape[1]), pool.reshape(-1)
    if node == places[LARGE] and places[HEIR]:
        less = nodes[places[SMALL], SLOT]
        for i in range(first, top):
            flat[histogram + place(i)] -= pool[less, place(i)]
        return
    for i in range(first, top):
        flat[histogram + place(i)] = 0
    n = 0
    if blocks[block, IN_WORDS]:
        a = histogram + place(first)
        b = histogram + place(2 * columns[begin + 1, FIRST] if begin + 1 < end else scrap)
        c = histogram + place(2 * columns[begin + 2, FIRST] if begin + 2 < end else scrap)
        d = histogram + place(2 * columns[begin + 3, FIRST] if begin + 3 < end else scrap)
        for i in range(nodes[node, BEGIN], nodes[node, END]):
            word, k = place(words[row, place(order[i])]) << place(1), place(2 * i)
            add_pair(flat, a + (word & place(510)), ordered, k)
            add_pair(flat, b + (word >> place(8) & place(510)), ordered, k)
            add_pair(flat, c + (word >> place(16) & place(510)), ordered, k)
            add_pair(flat, d + (word >> place(24) & place(510)), ordered, k)
        n = 7 * (nodes[node, END] - nodes[node, BEGIN])
    else:
        for i in range(nodes[node, BEGIN], nodes[node, END]):
            r, k = place(order[i]), place(2 * i)
            for e in range(starts[row, r], starts[row, r + place(1)]):
                add_pair(flat, histogram + place(first) + place(2) * place(entries[place(e)]), ordered, k)
                n += 2
        for j in range(begin, end):  # what remains of the totals is in the usual bin
            g, w = nodes[node, G], nodes[node, W]
            for i in range(columns[j, FIRST], columns[j, FIRST] + columns[j, BINS] + columns[j, MISSING]):
                g -= flat[histogram + place(2 * i)]
                w -= flat[histogram + place(2 * i + 1)]
            usual = histogram + place(2 * (columns[j, FIRST] + columns[j, USUAL]))
            flat[usual], flat[usual + place(1)] = g, w
        n += 8 * (nodes[node, END] - nodes[node, BEGIN])
    places[WORK] += n


@inlined
def _scan(
    limits: Limits, columns: Ints, blocks: Ints, places: Ints, nodes: Ints, figures: Floats,
    left: NDArray[np.uint8], pool: Ints, lefts: Ints, gains: Floats, ranked: Ints, block: int, node: int,
) -> None:  # fmt: skip
    """Find the best split of a node in a block of columns; in a tie, the first column wins."""
    g, w, slot, low, high = nodes[node, G], nodes[node, W], nodes[node, SLOT], figures[node, LOW], figures[node, HIGH]
    if w >> limits.shift < 2 * limits.least:
        return
    own = saved(limits, g * limits.gradient, hessian(limits, w), figures[node, VALUE])
    for k in range(blocks[block, BLOCK_BEGIN], blocks[block, BLOCK_END]):
        if columns[k, USUAL] >= 0:
            usual = pool[slot, 2 * (columns[k, FIRST] + columns[k, USUAL]) + 1]
            if (w - usual) >> limits.shift < limits.least:
                continue
        number, first, bins, missing = columns[k, NUMBER], columns[k, FIRST], columns[k, BINS], columns[k, MISSING] > 0
        gain, at, missing_left, left_g, left_w = best_split(
            limits, pool, slot, first, bins, missing, columns[k, CATEGORICAL] > 0, g, w, own, low, high,
            number == limits.falling, lefts, gains, ranked,
        )  # fmt: skip
        places[WORK] += 7 * bins
        best = figures[node, GAIN]
        if gain > best or (gain == best and gain > 0.0 and number < columns[nodes[node, COLUMN], NUMBER]):
            figures[node, GAIN], nodes[node, COLUMN], nodes[node, BIN] = gain, k, at
            nodes[node, MISSING_LEFT], nodes[node, LEFT_G], nodes[node, LEFT_W] = missing_left, left_g, left_w
            if columns[k, CATEGORICAL]:
                for i in range(left.shape[1]):
                    left[node, i] = 0
                for i in range(at + 1):
                    if ranked[i] < bins:
                        left[node, ranked[i] >> 3] |= np.uint8(1 << (ranked[i] & 7))


@inlined
def _part(
    columns: Ints, blocks: Ints, words: NDArray[np.uint32], rows: NDArray[np.int32], listed: NDArray[np.uint16],
    order: NDArray[np.int32], marked: Bools, ordered: Ints, places: Ints, nodes: Ints, left: NDArray[np.uint8],
    goes: Ints, node: int,
) -> int:  # fmt: skip
    """Order a node's rows, those of its left child first; returns where those of its right child begin."""
    k, block = nodes[node, COLUMN], 0
    while blocks[block, BLOCK_END] <= k:
        block += 1
    bins, row, in_words = columns[k, BINS], blocks[block, BLOCK_ROW], blocks[block, IN_WORDS]
    for b in range(bins):
        goes[b] = (left[node, b >> 3] >> (b & 7)) & 1 if columns[k, CATEGORICAL] else b <= nodes[node, BIN]
    goes[bins] = nodes[node, MISSING_LEFT]
    shift = np.uint32(8 * (k - blocks[block, BLOCK_BEGIN]))
    usual = goes[columns[k, USUAL]] if not in_words else 0
    first = columns[k, FIRST] - columns[blocks[block, BLOCK_BEGIN], FIRST]
    for e in range(columns[k, LISTED_AT], columns[k, LISTED_TO]) if not in_words else range(0):
        marked[place(rows[e])] = goes[np.int64(listed[e]) - first] != usual
    middle, right = nodes[node, BEGIN], 0
    for i in range(nodes[node, BEGIN], nodes[node, END]):
        r = place(order[i])
        if goes[place(words[row, r] >> shift) & place(255)] if in_words else marked[r] != usual:
            order[middle] = r
            middle += 1
        else:
            ordered[right] = r
            right += 1
    for i in range(right):
        order[middle + i] = ordered[i]
    for e in range(columns[k, LISTED_AT], columns[k, LISTED_TO]) if not in_words else range(0):
        marked[place(rows[e])] = False
    places[WORK] += 8 * (nodes[node, END] - nodes[node, BEGIN])
    return int(middle)


@inlined
def _begin_children(
    limits: Limits, columns: Ints, sums: Ints, order: NDArray[np.int32], ordered: Ints, places: Ints, nodes: Ints,
    figures: Floats, pool: Ints, node: int, middle: int,
) -> None:  # fmt: skip
    """Replace a leaf by two, which are then summed if there may be more leaves."""
    begin, end, low, high = nodes[node, BEGIN], nodes[node, END], figures[node, LOW], figures[node, HIGH]
    left, g, w = places[NODES], nodes[node, LEFT_G], nodes[node, LEFT_W]
    _begin_node(limits, places, nodes, figures, begin, middle, 0, g, w, low, high)
    _begin_node(limits, places, nodes, figures, middle, end, 0, nodes[node, G] - g, nodes[node, W] - w, low, high)
    nodes[node, LEFT], nodes[node, RIGHT], figures[node, GAIN] = left, left + 1, 0.0
    if columns[nodes[node, COLUMN], NUMBER] == limits.falling:
        # no value on the left may ever be below one on the right
        half = 0.5 * (figures[left, VALUE] + figures[left + 1, VALUE])
        figures[left, LOW], figures[left + 1, HIGH] = half, half

    small = left if 2 * middle <= begin + end else left + 1
    large, leaves, kept = 2 * left + 1 - small, (places[NODES] + 1) // 2, len(pool) - 2
    places[SMALL] = places[LARGE] = -1
    if leaves == limits.leaves or nodes[large, END] - nodes[large, BEGIN] < 2 * limits.least:
        return
    places[SMALL], places[LARGE], places[NEXT_BLOCK] = small, large, 0
    places[HEIR] = nodes[node, SLOT] < kept
    nodes[small, SLOT] = min(leaves - 1, kept)
    nodes[large, SLOT] = nodes[node, SLOT] if places[HEIR] else kept + 1
    for i in range(begin, end) if not places[HEIR] else range(nodes[small, BEGIN], nodes[small, END]):
        r = place(order[i])
        ordered[place(2 * i)], ordered[place(2 * i + 1)] = sums[place(2) * r], sums[place(2) * r + place(1)]


@inlined
def _end_tree(
    limits: Limits, columns: Ints, edges: Floats, places: Ints, logits: Floats, order: NDArray[np.int32],
    nodes: Ints, figures: Floats, left: NDArray[np.uint8], numbers: Floats, links: Ints, sets: NDArray[np.uint8],
    roots: Ints,
) -> None:  # fmt: skip
    """Write the tree, and add it to the logits. A tree without a split is the last, as no later one would have any."""
    if places[NODES] == 1:
        places[TREE] = limits.trees
        return
    offset = places[WRITTEN]
    for node in range(places[NODES]):
        at, k = offset + node, nodes[node, COLUMN]
        if nodes[node, LEFT] < 0:
            numbers[at] = limits.learning_rate * figures[node, VALUE]
            links[at, 0], links[at, 1], links[at, 2], links[at, 3] = -1, 0, 0, 0
            for i in range(nodes[node, BEGIN], nodes[node, END]):
                logits[place(order[i])] += numbers[at]
            continue
        links[at, 0], links[at, 3] = columns[k, NUMBER], nodes[node, MISSING_LEFT]
        links[at, 1], links[at, 2] = offset + nodes[node, LEFT], offset + nodes[node, RIGHT]
        if columns[k, CATEGORICAL]:
            for i in range(left.shape[1]):
                sets[places[SETS], i] = left[node, i]
            places[SETS] += 1
            links[at, 3] += 2 * places[SETS]
            numbers[at] = 0.0
        else:  # after the last edge: only missing values go right
            numbers[at] = (
                edges[columns[k, NUMBER], nodes[node, BIN]] if nodes[node, BIN] + 1 < columns[k, BINS] else np.inf
            )
    roots[places[ROOTS]] = offset
    places[ROOTS] += 1
    places[WRITTEN] += places[NODES]
    places[TREE] += 1
    places[NODES] = 0
    places[WORK] += 6 * logits.size
