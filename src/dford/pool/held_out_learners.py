"""Learners that each leave out a part of the items: none has learned the answers about the items it predicts."""

import numpy as np
from sklearn.base import clone

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter
from dford.learners import LiveLearner, Rows
from dford.scale import Scale

PARTS = 10  # with five, the error was half as large again on some data after one answer per item


class HeldOutLearners:
    """Copies of a learner, one per part of the items."""

    def __init__(self, learner: LiveLearner, scale: Scale, seed: int) -> None:
        self._scale, self._seed = scale, seed
        self.models = [clone(learner).set_params(levels=scale.names, random_state=seed) for _ in range(PARTS)]

    def parts(self, items: Ints) -> Ints:
        """The parts that items are in, by a hash of their numbers."""
        return (PARTS * counter.uniforms(self._seed, items)).astype(np.int64)

    def learn(self, X: Rows, items: Ints, cuts: Ints, placements: Ints, propensities: Floats, higher: Bools) -> None:
        """Learn more answers: for each part, all except those about its own items."""
        parts = self.parts(items)
        for part in range(PARTS):
            of = parts != part
            self.learn_part(part, X[items[of]], cuts[of], placements[of], propensities[of], higher[of])

    def learn_part(
        self, part: int, rows: Rows, cuts: Ints, placements: Ints, propensities: Floats, higher: Bools
    ) -> None:
        """Learn more answers for one part, with the features of their items."""
        names = self._scale.array
        self.models[part].learn_many(rows, names[cuts], names[placements], propensities, higher)

    def chances(self, X: Rows) -> Floats:
        """How likely an answer is to be yes, for all items and cuts."""
        return self.chances_of(np.arange(X.shape[0]), X)

    def chances_of(self, items: Ints, X: Rows) -> Floats:
        """The same for items with these numbers and features."""
        yes, parts = np.empty((X.shape[0], len(self._scale) - 1)), self.parts(items)
        for part, model in enumerate(self.models):
            of = parts == part
            if model.__sklearn_is_fitted__() and of.any():
                yes[of] = 1.0 - model.predict_proba(X[of]).cumsum(axis=1)[:, :-1]
            else:
                yes[of] = np.arange(len(self._scale) - 1, 0, -1) / len(self._scale)
        return yes

    def recall(self, X: Rows, items: Ints, cuts: Ints, higher: Bools) -> None:
        """Give back the answers that the models learned before they were packed without them."""
        names, parts = self._scale.array, self.parts(items)
        for part, model in enumerate(self.models):
            of = parts != part
            if of.any() and model.__sklearn_is_fitted__() and model.missing_:
                model.recall(X[items[of]], names[cuts[of]], higher[of])
