"""Learners that give every level a probability."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dford.engine._compiled import Floats
from dford.learners._live import LiveLearner


class ProbableLearner(LiveLearner):
    """A learner whose form knows P(level > i) for every cut, falling with i."""

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every level, in the order of `classes_`."""
        check_is_fitted(self)
        above = self._form.above(self._rows(X, anew=False))
        return -np.diff(above, axis=1, prepend=1.0, append=0.0)
