"""The answers of a pool that show how reliable people are, and where they contradict each other."""

from collections.abc import Sequence

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine.beliefs import posteriors
from dford.pool.agreement import AnswerColumns, Voice, known_or_shared
from dford.pool.answers import AUDIT, CHECK, RELEASED, Answers
from dford.pool.people import Basis
from dford.pool.reliability import Reliability


def judged(
    answers: Answers, known: Ints, voices: Sequence[Voice], n_items: int, n_levels: int, has_features: bool
) -> Basis:
    """With features, only what was asked without using them counts: audits, gold, and repeated questions.

    `known` is the level that was already known when the question was asked, or -1. A learner's predictions are never
    perfectly calibrated: taken at their word, they would make people look wrong when they are not.
    """
    told, is_gold = answers.told().halved(n_levels), known >= 0
    is_single = is_gold | np.isin(answers["purpose"], (AUDIT, RELEASED)) | (not has_features)
    single, pairs = np.flatnonzero(is_single), _pairs(answers, is_gold) if has_features else np.empty(0, np.int64)
    # a gold item counts as an item apart, and so does each pair
    about = np.concatenate([told.item[single] + n_items * is_gold[single], 2 * n_items + np.arange(len(pairs)) // 2])
    named, item = np.unique(about, return_inverse=True)
    levels = dict(zip(item[np.flatnonzero(is_gold[single])].tolist(), known[is_gold].tolist(), strict=True))
    chosen = told.where(np.concatenate([single, pairs]))._replace(item=item.astype(np.int64))
    return Basis(chosen, known_or_shared(chosen, voices, len(named), n_levels, levels))


def contradictions(told: AnswerColumns, reliability: Reliability, n_items: int) -> Floats:
    """For each item, how much of its answers must be wrong, whatever its level is: 0 if one level fits them all.

    An answer weighs the logarithm of how much likelier its person is to give the opposite one, so someone who guesses
    contradicts nobody.
    """
    told = told.halved(len(reliability.shares))
    rows, weights = reliability.rows(told.person), reliability.weights()
    evidence: Floats = posteriors.gather(told.item, rows, told.cut, told.higher, weights, n_items)
    found: Floats = -evidence.max(axis=1)
    return found


def _pairs(answers: Answers, is_gold: Bools) -> Ints:
    """The answers to questions that were asked twice: the first and the second of each pair, in turns."""
    places = {question: place for place, question in enumerate(answers["question"].tolist())}
    checks = np.flatnonzero((answers["purpose"] == CHECK) & ~is_gold)
    both = [(places.get(int(answers["checks"][i]), -1), i) for i in checks.tolist()]
    both = [(first, i) for first, i in both if first >= 0 and answers["cut"][first] == answers["cut"][i]]
    return np.array(both, dtype=np.int64).reshape(-1)
