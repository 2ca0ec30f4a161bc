"""How many more answers are needed."""

import numpy as np

from dford.engine import counter
from dford.engine.beliefs import opinions, posteriors
from dford.estimates import Estimate
from dford.pool.items import Items
from dford.pool.reliability import alike

_FUTURES = 8
_SAMPLE = 1000  # items of a larger pool
_MOST = 100  # answers per item


class Forecast:
    """What is known about some items now, to draw futures from. In these, no answer teaches about another item.

    Only a share of the answers is meant to place items; the others judge placements and people. If the audit says that
    items are further off than is believed of them, so they will be then.
    """

    def __init__(self, items: Items, rate: float, share: float, expected: float, seed: int) -> None:
        kept = np.flatnonzero(~items.is_out)
        draws = counter.uniforms(counter.stream(seed, "forecast items"), kept)
        some = kept[np.argsort(draws, kind="stable")[:_SAMPLE]]
        logs = alike(rate, items.n_levels).weights()[0]
        evidence = opinions.of_levels(items.evidence[some], items.n_levels)
        self._known = items.prior[some], evidence, items.bounds[some], logs, rate
        self._seed, self._scale = seed, len(kept) / max(len(some), 1) / share
        self._believed = min(1.0, items.expected_error() / max(expected, 1e-300))

    def remaining(self, target: float) -> Estimate:
        """How many answers it takes to bring the expected error to the target: the mean, the lowest and the highest."""
        count = len(self._known[0])
        if not count:
            return Estimate(0.0, 0.0, 0.0)
        found = [
            posteriors.answers_needed(*self._known, seed, target * self._believed, _MOST * count) * self._scale
            for seed in (counter.stream(self._seed, f"future {future}") for future in range(_FUTURES))
        ]
        return Estimate(float(np.mean(found)), min(found), max(found))
