"""What is known about items, and which question about each tells most."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import opinions, posteriors
from dford.pool.reliability import Reliability

_FROM_ZERO = ("counts", "repeats", "is_open", "is_out", "_gaps", "_cuts")


class Items:
    """Items with a prior, the evidence of their answers, and what was settled about them.

    Levels and cuts count from 0. With five levels, about 100 bytes per item.
    """

    def __init__(self, n_levels: int, seed: int) -> None:
        self.n_levels, self._seed = n_levels, counter.stream(seed, "ties")
        self.prior = np.empty((0, n_levels))
        self.evidence = np.empty((0, n_levels))
        self.bounds = np.empty((0, 2), np.int16)
        self.counts = np.empty(0, np.int32)
        self.repeats = np.empty(0, np.int32)
        """Answers by somebody who had already answered the same question."""
        self.n_settled = 0
        """How many items have had a level, or a range of levels, settled."""
        self.is_open = np.empty(0, np.bool_)
        self.is_out = np.empty(0, np.bool_)
        self._usual = np.full(n_levels, 1 / n_levels)  # the prior of items that have none yet
        self._opinions: tuple[Any, ...] = ()  # how people differ in these, if they do
        self._gaps, self._cuts = np.empty(0), np.empty(0, np.int16)
        self._belief, self._one = np.empty(n_levels), np.empty(1, np.int64)

    def __len__(self) -> int:
        return len(self.prior)

    def add(self, n: int) -> None:
        """Add items, with the mean prior of the others."""
        first = len(self)
        self.prior = np.concatenate([self.prior, np.tile(self._usual, (n, 1))])
        self.evidence = np.concatenate([self.evidence, np.zeros((n, self.evidence.shape[1]))])
        self.bounds = np.concatenate([self.bounds, self._whole(n)])
        for name in _FROM_ZERO:
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(n, column.dtype)]))
        self.look(np.arange(first, first + n))

    def start(self, prior: Floats) -> None:
        """Set the priors of the last items, about which nothing else is known."""
        first = len(self) - len(prior)
        self.prior[first:] = prior
        self.look(np.arange(first, len(self)))

    def set_prior(self, item: int, prior: Floats) -> None:
        self.prior[item] = prior
        self.look_at(item)

    def keep(self, n: int) -> None:
        """Keep the first n items, also if an interrupt left less of the others."""
        for name in ("prior", "evidence", "bounds", *_FROM_ZERO):
            setattr(self, name, getattr(self, name)[:n])

    def believe(self, prior: Floats, evidence: Floats, reliability: Reliability) -> None:
        """Set new priors, of all items or the first ones, and new evidence, after people's reliability has changed."""
        self.prior[: len(prior)] = prior
        self._usual = prior.mean(axis=0) if len(prior) else self._usual
        self.prior[len(prior) :] = self._usual
        self.evidence = evidence
        self.differ(reliability)

    def differ(self, reliability: Reliability) -> None:
        """Take note of how people differ in their opinions. If they do, a level has several places from now on."""
        is_one = reliability.spread == 0.0
        self._opinions = () if is_one else (reliability.rates[0], reliability.spread, *reliability.positions())
        self.evidence = np.repeat(self.evidence, reliability.fine * self.n_levels // self.evidence.shape[1], axis=1)
        self.look(np.arange(len(self)))

    def answer(self, item: int, evidence: Floats, is_repeat: bool = False) -> None:
        """Count an answer, after which this is what all of the item's answers say."""
        self.evidence[item] = evidence
        self.counts[item] += 1
        self.repeats[item] += is_repeat
        self.look_at(item)

    def settle(self, item: int, low: int, high: int) -> None:
        before, after = (one[1] - one[0] < self.n_levels - 1 for one in (self.bounds[item], (low, high)))
        self.bounds[item] = low, high
        self.n_settled += int(after) - int(before)
        self.look_at(item)

    def count_settled(self) -> None:
        """Count the settled items anew."""
        self.n_settled = int(np.count_nonzero(self.bounds[:, 1] - self.bounds[:, 0] < self.n_levels - 1))

    def is_in_doubt(self, item: int) -> bool:
        """Whether it is still to be placed: neither settled nor removed."""
        low, high = self.bounds[item]
        return bool(low < high and not self.is_out[item])

    def is_free(self, item: int, cut: int) -> bool:
        """Whether this may be asked: no question about the item is open, and what was settled does not answer it."""
        low, high = self.bounds[item]
        return bool(low <= cut < high and not self.is_open[item] and not self.is_out[item])

    def set_open(self, item: int, is_open: bool) -> None:
        """Set whether a question about it is open."""
        self.is_open[item] = is_open
        self.look_at(item)

    def remove(self, item: int) -> None:
        self.is_out[item] = True
        self.look_at(item)

    def look_at(self, item: int) -> None:
        self._one[0] = item
        self.look(self._one)

    def look(self, items: Ints) -> None:
        """Find the questions about these items that tell most."""
        prior, evidence, bounds = self.prior, self.evidence, self.bounds
        if self._opinions:
            rate, spread, borders, places = self._opinions
            opinions.look(items, prior, evidence, bounds, rate, spread, borders, places, self._gaps, self._cuts)
        else:
            posteriors.look(items, prior, evidence, bounds, self._belief, self._gaps, self._cuts)
        if self._opinions and self.repeats[items].any():
            # the more people repeat themselves, the less likely is somebody new; but they may have slipped
            new = 1.0 / (1.0 + self.repeats[items])
            gaps = self._gaps[items]
            self._gaps[items] = np.where(gaps < 1.0, 1.0 - new * (1.0 - gaps), gaps)
        # a hash breaks ties, so that the first item is not always taken
        self._gaps[items] += 1e-9 * counter.uniforms(self._seed, items)
        self._gaps[items[self.is_open[items] | self.is_out[items]]] = posteriors.CLOSED

    def best(self) -> tuple[int, int] | None:
        """The item and the cut whose answer would tell most; None if no answer would tell anything."""
        item = int(np.argmin(self._gaps)) if len(self) else 0
        if not len(self) or self._gaps[item] >= posteriors.CLOSED:
            return None
        return item, int(self._cuts[item])

    def best_few(self, n: int, among: Ints | None = None) -> Ints:
        """The items whose answers would tell most, in order; if some are given, only among these."""
        some = np.arange(len(self)) if among is None else among
        some = some[np.argpartition(self._gaps[some], n)[:n]] if n < len(some) else some
        found: Ints = some[np.argsort(self._gaps[some], kind="stable")]
        return found[self._gaps[found] < posteriors.CLOSED]

    def best_cut(self, item: int) -> int:
        """The cut of this item whose answer would tell most, or -1."""
        return int(self._cuts[item])

    def best_cuts(self, items: Ints) -> Ints:
        """The same for some items."""
        return self._cuts[items].astype(np.int64)

    def beliefs(self, items: Ints) -> Floats:
        """How likely each level is for these items."""
        found: Floats = posteriors.beliefs(items, self.prior, self.evidence, self.bounds)
        return found

    def belief(self, item: int) -> Floats:
        self._one[0] = item
        found: Floats = self.beliefs(self._one)[0]
        return found

    def unsettled(self, items: Ints) -> Floats:
        """The same, ignoring what was settled."""
        every, whole = np.arange(len(items)), self._whole(len(items))
        found: Floats = posteriors.beliefs(every, self.prior[items], self.evidence[items], whole)
        return found

    def _whole(self, n: int) -> NDArray[np.int16]:
        """The bounds of so many items of which nothing is settled."""
        return np.tile(np.array([0, self.n_levels - 1], np.int16), (n, 1))

    def unsettled_placements(self, items: Ints) -> tuple[Ints, Floats]:
        """Where these items would be, ignoring what was settled, and how far off each would be expected to be."""
        levels, errors = np.empty(len(items), np.int64), np.empty(len(items))
        posteriors.placements(self.prior[items], self.evidence[items], self._whole(len(items)), levels, errors)
        return levels, errors

    def placements(self) -> tuple[Ints, Floats]:
        """The levels of all items, and how far off each is expected to be."""
        levels, errors = np.empty(len(self), np.int64), np.empty(len(self))
        posteriors.placements(self.prior, self.evidence, self.bounds, levels, errors)
        return levels, errors

    def expected_error(self) -> float:
        """How far off they are on average, according to their beliefs."""
        errors = self.placements()[1][~self.is_out]
        return float(errors.mean()) if len(errors) else 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "prior": self.prior.copy(),
            "usual": self._usual,
            "evidence": self.evidence.copy(),
            "bounds": self.bounds.astype(np.int64),
            "counts": self.counts.astype(np.int64),
            "out": self.is_out.astype(np.uint8),
        }

    def restore(self, arrays: dict[str, NDArray[Any]], reliability: Reliability) -> None:
        n, k = len(arrays["prior"]), self.n_levels
        shapes = {"prior": (n, k), "usual": (k,), "bounds": (n, 2), "counts": (n,), "out": (n,)}
        shapes["evidence"] = n, k * reliability.fine
        low, high = arrays["bounds"].T
        if any(arrays[name].shape != shape for name, shape in shapes.items()) or not (
            ((low >= 0) & (low <= high) & (high < k)).all()
            and all(((arrays[name] > 0) & (arrays[name] <= 1)).all() for name in ("prior", "usual"))
            and np.isfinite(arrays["evidence"]).all()
        ):
            raise ValueError("the items have invalid shapes or numbers")
        self.prior, self.bounds = arrays["prior"], arrays["bounds"].astype(np.int16)
        self.count_settled()
        self.counts, self.is_out = arrays["counts"].astype(np.int32), arrays["out"].astype(np.bool_)
        self.is_open, self.repeats = np.zeros(n, np.bool_), np.zeros(n, np.int32)
        self._gaps, self._cuts = np.empty(n), np.empty(n, np.int16)
        self.believe(self.prior, arrays["evidence"].astype(np.float64), reliability)
        self._usual = arrays["usual"]
