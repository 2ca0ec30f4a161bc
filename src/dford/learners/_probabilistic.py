"""Learners that give every level a probability."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dford.engine._compiled import Floats
from dford.learners._live import LiveLearner


class ProbabilisticLearner(LiveLearner):
    """A learner whose form knows P(level > i) for every cut, falling with i."""

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every level, in the order of `classes_`."""
        check_is_fitted(self)
        above = self._form.above(self._rows(X, anew=False))
        edges = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1.0, 0.0)))
        return edges[:, :-1] - edges[:, 1:]  # not -np.diff, which would give an impossible level the probability -0.0
