"""Gold questions: about items whose level is known, to judge a person by. They look like any other."""

from collections.abc import Sequence

import numpy as np

from dford.engine import counter, posteriors
from dford.engine._compiled import Floats
from dford.pool.answers import GOLD
from dford.pool.items import Items
from dford.pool.placements import Placements, ProposedQuestion

_USUAL = 0.95  # with which probability the best level of an item is asked about, and not one that is drawn


def unsettled(items: Items, some: Sequence[int]) -> Floats:
    """How likely each level is of these items, by all but what is settled."""
    one = np.array(some, dtype=np.int64)
    everything = np.tile(np.array([0, items.n_levels - 1], np.int16), (len(one), 1))
    found: Floats = posteriors.beliefs(np.arange(len(one)), items.prior[one], items.evidence[one], everything)
    return found


def propose(placements: Placements, number: int, person: str, share: float) -> ProposedQuestion | None:
    """A question that judges this person, by draw `number` for this share of the questions; None for the others.

    It is about an item that they have not answered about, at a level next to the right one. Its prediction and
    propensity are those that a question to place it might have, so that nobody can tell; nothing is learned from them.
    """
    why, which, what = counter.uniforms(placements.seed + 7, 3 * number + np.arange(3)).tolist()
    items, answers = placements.items, placements.answers
    if why >= share:
        return None
    is_fit = (items.bounds[:, 0] == items.bounds[:, 1]) & ~items.is_open & ~items.is_out
    is_fit[answers["item"][np.isin(answers["person"], placements.voices_of(person))]] = False
    fit = np.flatnonzero(is_fit)
    if not len(fit):
        return None
    item = int(fit[int(which * len(fit))])
    level, n_levels = int(items.bounds[item, 0]), items.n_levels
    cuts = [cut for cut in (level - 1, level) if 0 <= cut < n_levels - 1]
    cut = cuts[int(what * len(cuts))]
    placement = int(np.clip(posteriors.place_one(unsettled(items, [item])[0]), cut, cut + 1))
    return ProposedQuestion(item, cut, placement, _USUAL + (1.0 - _USUAL) / (n_levels - 1), GOLD, -1, person)
