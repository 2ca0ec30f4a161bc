"""What answers say about items and people together, again: by going through all combinations, and by EM."""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

Answer = tuple[int, int, int, bool]  # item, person, cut from 0, and whether the level is above it
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def combinations(
    answers: Sequence[Answer],
    prior: Sequence[Sequence[float]],
    chances: Sequence[Sequence[float]],
    weights: Sequence[float],
    n_people: int,
) -> tuple[Floats, Floats]:
    """How likely each level of each item is, and each kind of each person, by the sum over all combinations.

    chances[kind][level - cut + K - 1] is how likely that kind is to say yes.
    """
    n_levels = len(prior[0])
    levels, kinds = np.zeros((len(prior), n_levels)), np.zeros((n_people, len(weights)))
    for chosen in product(range(n_levels), repeat=len(prior)):
        for people in product(range(len(weights)), repeat=n_people):
            weight = prod(prior[i][k] for i, k in enumerate(chosen)) * prod(weights[j] for j in people)
            for item, person, cut, higher in answers:
                yes = chances[people[person]][chosen[item] - cut + n_levels - 1]
                weight *= yes if higher else 1 - yes
            for i, k in enumerate(chosen):
                levels[i, k] += weight
            for p, j in enumerate(people):
                kinds[p, j] += weight
    return levels / levels.sum(axis=1, keepdims=True), kinds / kinds.sum(axis=1, keepdims=True)


def dawid_skene(answers: Sequence[tuple[int, int, bool]], n_items: int, n_people: int) -> tuple[Floats, Floats]:
    """Dawid and Skene (1979) for two classes, by EM: how likely yes is right for each item, and people's confusion.

    The latter is by person, right class and answer. It begins with the share of yes among each item's answers.
    """
    items, people, yes = (np.array(column) for column in zip(*answers, strict=True))
    right = np.bincount(items, yes, n_items) / np.bincount(items, minlength=n_items)
    for _ in range(100):
        share, confusion = right.mean(), np.full((n_people, 2, 2), 1e-10)
        for item, person, answer in zip(items, people, yes.astype(int), strict=True):
            confusion[person, :, answer] += 1 - right[item], right[item]
        confusion /= confusion.sum(axis=2, keepdims=True)
        logs = np.tile(np.log([1 - share, share]), (n_items, 1))
        for item, person, answer in zip(items, people, yes.astype(int), strict=True):
            logs[item] += np.log(confusion[person, :, answer])
        right = 1 / (1 + np.exp(logs[:, 0] - logs[:, 1]))
    return right, confusion


def dawid_skene_of_levels(item: Ints, person: Ints, level: Ints, added: float) -> Floats:
    """The same from labels, for any number of classes: how likely each is for each item.

    What is added to every count matters: without it, people with few labels may seem never wrong.
    """
    right = np.zeros((1 + item.max(), 1 + level.max()))
    np.add.at(right, (item, level), 1)
    right /= right.sum(axis=1, keepdims=True)
    for _ in range(50):
        confusion = np.full((1 + person.max(), right.shape[1], right.shape[1]), added)
        for label in range(right.shape[1]):
            np.add.at(confusion[:, :, label], person[level == label], right[item[level == label]])
        confusion /= confusion.sum(axis=2, keepdims=True)
        logs = np.tile(np.log(right.mean(axis=0)), (len(right), 1))
        np.add.at(logs, item, np.log(confusion[person, :, level]))
        right = np.exp(logs - logs.max(axis=1, keepdims=True))
        right /= right.sum(axis=1, keepdims=True)
    return right
