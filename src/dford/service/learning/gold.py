"""Gold questions: about items whose level is known, to judge a person. They look like any other question."""

import numpy as np

from dford.engine import counter
from dford.pool.agreement import voices_of
from dford.pool.placements import Placements, ProposedQuestion


def propose(placements: Placements, number: int, person: str, share: float) -> ProposedQuestion | None:
    """A question that judges this person, if draw `number` is among this share of the questions; otherwise None.

    It is about an item they have not answered about, and asks what would be asked if nobody knew its level.
    """
    why, which, what = counter.uniforms(counter.stream(placements.seed, "gold"), 3 * number + np.arange(3)).tolist()
    items, answers = placements.items, placements.answers
    if why >= share:
        return None
    is_fit = (items.bounds[:, 0] == items.bounds[:, 1]) & ~items.is_open & ~items.is_out
    is_fit[answers["item"][np.isin(answers["person"], voices_of(placements.voices, person))]] = False
    fit = np.flatnonzero(is_fit)
    if not len(fit):
        return None
    return placements.propose_gold(int(fit[int(which * len(fit))]), person, what)
