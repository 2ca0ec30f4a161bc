"""Boosted trees again, slowly: every split of every node tried on the rows themselves, in whole numbers of any size."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.engine.elementary import logs
from dford.engine.loops import sigmoids

LEAST_HESSIAN, CATEGORY_ROWS, SAMPLE = 1e-3, 10, 10_000


class Split(NamedTuple):
    gain: float
    column: int
    threshold: float  # numbers up to it go left
    categories: frozenset[int]  # or these do
    missing_left: bool


class Node:
    def __init__(self, rows: list[int], low: float, high: float) -> None:
        self.rows, self.low, self.high = rows, low, high
        self.split: Split | None = None
        self.left = self.right = -1


def edges(column: list[float], limit: int) -> list[float]:
    """Where a column may be cut: between any two values, or where about equal shares of a sample are."""
    sample = column[:: 1 + (len(column) - 1) // SAMPLE]
    known = sorted(v for v in sample if not math.isnan(v))
    values = sorted(set(known))
    usual = max(len(sample) - len(known), *map(known.count, values), 0)
    if len(sample) - usual <= len(sample) / 4:  # few rows share the bins of what is unusual
        limit = min(limit, 64)
    ends = range(len(values) - 1)
    if len(values) > limit:
        counts = [known.count(v) for v in values]
        alone = [c * limit >= len(known) for c in counts]
        rest = sum(c for c, a in zip(counts, alone, strict=True) if not a)
        shares, chosen, inside = limit - sum(alone), [], 0
        for i in ends:
            inside += counts[i]
            full, half_full = inside * shares >= rest, 2 * inside * shares >= rest
            if alone[i] or full or (alone[i + 1] and half_full):
                chosen.append(i)
                inside = 0
        ends = chosen[: limit - 1]  # type: ignore[assignment]
    cuts = [values[i] / 2 + values[i + 1] / 2 for i in ends]
    return [cut if cut < values[i + 1] else values[i] for cut, i in zip(cuts, ends, strict=True)]


class Booster:
    """Everything as in the engine's `splits` and `boosting`."""

    def __init__(
        self, Z: Any, level: Any, higher: Any, least: int, leaves: int, l2: float, limit: int, categorical: set[int]
    ) -> None:
        self.columns = [*np.asarray(Z).T.tolist(), [float(v) for v in level]]
        self.higher, self.least, self.leaves, self.l2, self.categorical = higher, least, leaves, l2, categorical
        self.edges = [[] if j in categorical else edges(column, limit) for j, column in enumerate(self.columns)]
        bits = len(higher).bit_length()
        self.unit_g, self.unit_h = 2.0 ** -min(61 - bits, 52), 2.0 ** -(64 - 2 * bits)
        self.logits = np.full(len(higher), logs(np.array([sum(higher) / (len(higher) - sum(higher))]))[0])

    def tree(self) -> list[Node]:
        """Grow one, with its values unshrunk."""
        p = sigmoids(self.logits[None])[0]
        slopes = np.where(self.higher, p - 1.0, p)
        self.g = [math.floor(s / self.unit_g + 0.5) for s in slopes.tolist()]
        self.h = [math.floor(q * (1.0 - q) / self.unit_h + 0.5) for q in p.tolist()]
        nodes = [Node(list(range(len(self.g))), -math.inf, math.inf)]
        nodes[0].split = self.best(nodes[0])
        while (len(nodes) + 1) // 2 < self.leaves:
            best = max(nodes, key=lambda node: node.split.gain if node.split and node.left < 0 else 0.0)
            if best.split is None or best.left >= 0:
                break
            best.left, best.right = len(nodes), len(nodes) + 1
            goes = [self.goes_left(best.split, r) for r in best.rows]
            children = [
                Node([r for r, left in zip(best.rows, goes, strict=True) if left == side], best.low, best.high)
                for side in (True, False)
            ]
            if best.split.column == len(self.columns) - 1:
                values = [self.value(*self.sums(child.rows), best) for child in children]
                children[0].low = children[1].high = 0.5 * (values[0] + values[1])
            for child in children:
                child.split = self.best(child)
            nodes += children
        return nodes

    def sums(self, rows: list[int]) -> tuple[float, float]:
        return float(sum(self.g[r] for r in rows)) * self.unit_g, float(sum(self.h[r] for r in rows)) * self.unit_h

    def value(self, g: float, h: float, node: Node) -> float:
        return min(max(-g / (h + self.l2), node.low), node.high)

    def goes_left(self, split: Split, r: int) -> bool:
        value = self.columns[split.column][r]
        if math.isnan(value):
            return split.missing_left
        return value in split.categories if split.column in self.categorical else value <= split.threshold

    def best(self, node: Node) -> Split | None:
        best = None
        for column in range(len(self.columns)):
            tries = self.sets(node, column) if column in self.categorical else self.thresholds(node, column)
            own = None
            for split in tries:
                gain = self.gain(node, split)
                if gain > (own.gain if own else 0.0):
                    own = split._replace(gain=gain)
            if own and own.gain > (best.gain if best else 0.0):
                best = own
        return best

    def thresholds(self, node: Node, column: int) -> list[Split]:
        missing = any(math.isnan(self.columns[column][r]) for r in node.rows)
        cuts = self.edges[column]
        if missing:
            right = [Split(0.0, column, cut, frozenset(), False) for cut in [*cuts, math.inf]]
            return right + [Split(0.0, column, cut, frozenset(), True) for cut in cuts]
        splits = []
        for cut in cuts:
            most = sum(self.columns[column][r] <= cut for r in node.rows) * 2 > len(node.rows)
            splits.append(Split(0.0, column, cut, frozenset(), most))
        return splits

    def sets(self, node: Node, column: int) -> list[Split]:
        members: dict[float, list[int]] = {}
        for r in node.rows:
            value = self.columns[column][r]
            members.setdefault(math.inf if math.isnan(value) else value, []).append(r)
        keys = {}
        for category in sorted(members):
            if len(members[category]) >= CATEGORY_ROWS:
                g, h = self.sums(members[category])
                keys[category] = g / (h + CATEGORY_ROWS)
        ranked = sorted(keys, key=lambda category: keys[category])
        splits = []
        for end in (ranked, ranked[::-1]) if len(ranked) > 1 else ():
            for n in range(1, (len(ranked) + 1) // 2 + 1):
                left = frozenset(end[:n])
                most = sum(len(members[category]) for category in left) * 2 > len(node.rows)
                side = math.inf in left if math.inf in members else most
                splits.append(Split(0.0, column, 0.0, frozenset(int(c) for c in left if c < math.inf), side))
        return splits

    def gain(self, node: Node, split: Split) -> float:
        left = [r for r in node.rows if self.goes_left(split, r)]
        if min(len(left), len(node.rows) - len(left)) < self.least:
            return -1.0
        (g, h), (left_g, left_h) = self.sums(node.rows), self.sums(left)
        saved = []
        for part_g, part_h in (left_g, left_h), (g - left_g, h - left_h):
            if part_h < LEAST_HESSIAN:
                return -1.0
            value = self.value(part_g, part_h, node)
            saved.append(-value * (2.0 * part_g + (part_h + self.l2) * value))
        if split.column == len(self.columns) - 1:
            values = [self.value(left_g, left_h, node), self.value(g - left_g, h - left_h, node)]
            if values[0] < values[1]:
                return -1.0
        own = self.value(g, h, node)
        return saved[0] + saved[1] - -own * (2.0 * g + (h + self.l2) * own)


def grow(
    Z: Any, level: Any, higher: Any, trees: int, rate: float, least: int, leaves: int, l2: float, limit: int,
    categorical: set[int],
) -> tuple[list[float], list[list[int]], list[list[int]], NDArray[np.float64]]:  # fmt: skip
    """(numbers, links, sets of categories) as the engine's `trees` keeps them, and the logits of the rows."""
    booster = Booster(Z, level, higher, least, leaves, l2, limit, categorical)
    numbers: list[float] = []
    links: list[list[int]] = []
    sets: list[list[int]] = []
    for _ in range(trees):
        nodes = booster.tree()
        if len(nodes) == 1:
            break
        offset = len(numbers)
        for node in nodes:
            if node.left < 0 or node.split is None:
                numbers.append(rate * booster.value(*booster.sums(node.rows), node))
                links.append([-1, 0, 0, 0])
                booster.logits[node.rows] += numbers[-1]
                continue
            guide = int(node.split.missing_left)
            if node.split.column in categorical:
                sets.append(sorted(node.split.categories))
                guide += 2 * len(sets)
            numbers.append(node.split.threshold)
            links.append([node.split.column, offset + node.left, offset + node.right, guide])
    return numbers, links, sets, booster.logits
