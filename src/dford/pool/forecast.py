"""How many answers there are still to come."""

import numpy as np

from dford.engine import counter, posteriors
from dford.estimates import Estimate
from dford.pool.items import Items
from dford.pool.reliability import alike

_FUTURES = 8
_SAMPLE = 1000  # items, of larger pools
_MOST = 100  # answers an item


class Forecast:
    """What is known of some items now, from which futures are drawn; no answer teaches anything about another item."""

    def __init__(self, items: Items, rate: float, seed: int) -> None:
        kept = np.flatnonzero(~items.is_out)
        some = kept[np.argsort(counter.uniforms(seed, kept), kind="stable")[:_SAMPLE]]
        logs = alike(rate, items.n_levels).logs[0]
        self._known = items.prior[some], items.evidence[some], items.bounds[some], logs, rate
        self._seed, self._scale = seed, len(kept) / max(len(some), 1)

    def remaining(self, target: float) -> Estimate:
        """How many answers until the expected error is at most the target: the mean, the least and the most."""
        count = len(self._known[0])
        if not count:
            return Estimate(0.0, 0.0, 0.0)
        found = [
            posteriors.answers_needed(*self._known, self._seed + 1 + future, target, _MOST * count) * self._scale
            for future in range(_FUTURES)
        ]
        return Estimate(float(np.mean(found)), min(found), max(found))
