"""How many answers there are still to come."""

import numpy as np

from dford.engine import counter, posteriors
from dford.estimates import Estimate
from dford.pool.items import Items

_FUTURES = 8
_SAMPLE = 1000  # items, of larger pools
_MOST = 100  # answers an item


def remaining(items: Items, target: float, seed: int) -> Estimate:
    """The mean, the least and the most of some futures, in which no answer teaches anything about another item."""
    kept = np.flatnonzero(~items.is_out)
    if not len(kept):
        return Estimate(0.0, 0.0, 0.0)
    some = kept[np.argsort(counter.uniforms(seed, kept), kind="stable")[:_SAMPLE]]
    known = items.prior[some], items.wrong[some], items.bounds[some], items.rate
    found = [
        posteriors.answers_needed(*known, seed + 1 + future, target, _MOST * len(some)) * len(kept) / len(some)
        for future in range(_FUTURES)
    ]
    return Estimate(float(np.mean(found)), min(found), max(found))
