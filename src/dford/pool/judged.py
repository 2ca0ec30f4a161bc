"""The answers of a pool that tell how people are."""

from collections.abc import Sequence

import numpy as np

from dford.engine._compiled import Bools, Ints
from dford.pool.agreement import Voice, known_or_shared
from dford.pool.answers import AUDIT, CHECK, Answers
from dford.pool.people import Basis


def judged(
    answers: Answers, known: Ints, voices: Sequence[Voice], n_items: int, n_levels: int, has_features: bool
) -> Basis:
    """Where there are features, it is what was asked without knowing them: audits, gold, and what is asked again.

    `known` is the level that somebody knew when an answer was asked for, or -1. What a learner says of an item is never
    quite as sure as it is right: taken at its word, it would make errors of people of its own.
    """
    told, is_gold = answers.told(), known >= 0
    is_single = is_gold | (answers["purpose"] == AUDIT) | (not has_features)
    single, pairs = np.flatnonzero(is_single), _pairs(answers, is_gold) if has_features else np.empty(0, np.int64)
    # what is gold is a thing of its own, and so are both of a pair
    about = np.concatenate([told.item[single] + n_items * is_gold[single], 2 * n_items + np.arange(len(pairs)) // 2])
    named, item = np.unique(about, return_inverse=True)
    levels = dict(zip(item[np.flatnonzero(is_gold[single])].tolist(), known[is_gold].tolist(), strict=True))
    chosen = told.where(np.concatenate([single, pairs]))._replace(item=item.astype(np.int64))
    return Basis(chosen, known_or_shared(chosen, voices, len(named), n_levels, levels))


def _pairs(answers: Answers, is_gold: Bools) -> Ints:
    """Answers to a question that was drawn to be asked again, and the ones that it asked for again, in turns."""
    places = {question: place for place, question in enumerate(answers["question"].tolist())}
    checks = np.flatnonzero((answers["purpose"] == CHECK) & ~is_gold)
    both = [(places.get(int(answers["checks"][i]), -1), i) for i in checks.tolist()]
    both = [(first, i) for first, i in both if first >= 0 and answers["cut"][first] == answers["cut"][i]]
    return np.array(both, dtype=np.int64).reshape(-1)
