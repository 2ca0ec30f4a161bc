"""Where answers contradict each other, weighted by who gave them."""

from dford.arrays import Floats
from dford.engine.beliefs import posteriors
from dford.pool.agreement import AnswerColumns
from dford.pool.reliability import Reliability


def contradictions(told: AnswerColumns, reliability: Reliability, n_items: int) -> Floats:
    """For each item, how much of its answers must be wrong, whatever its level is: 0 if one level fits them all.

    An answer weighs the logarithm of how much likelier its person is to give the opposite one, so someone who guesses
    contradicts nobody.
    """
    item, person, cut, higher = told
    evidence: Floats = posteriors.gather(item, reliability.rows(person), cut, higher, reliability.weights(), n_items)
    found: Floats = -evidence.max(axis=1)
    return found
