"""PRIL: ordinal regression from interval labels."""

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from dford.arrays import Ints
from dford.learners._live import LiveLearner
from dford.learners._paper import PaperLearner
from dford.policies import Greedy, Policy


class PRIL(LiveLearner, PaperLearner):
    """Online ordinal regression from intervals of levels (the paper's weakly supervised baseline).

    `fit(X, intervals)` takes an (n, 2) array of lowest and highest possible levels. With labels instead, it follows the
    paper's directional protocol: it asks about its own prediction and learns the interval that the answer leaves. That
    can only push predictions up; see "The paper and this library".

    Parameters
    ----------
    kernel, degree, gamma, coef0, window, clip, always_rescale, regularization, ordered, levels, checkpoints
        As in `DFORD`.
    random_state : int, RandomState or None
        Only used for the ids of questions: PRIL always asks about its prediction.

    References
    ----------
    Manwani: PRIL: Perceptron Ranking Using Interval Labels. CODS-COMAD 2019.

    Examples
    --------
    >>> from dford import PRIL
    >>> model = PRIL(levels=["low", "mid", "top"])
    >>> model.fit([[0.0], [1.0], [2.0]], [["low", "mid"], ["mid", "mid"], ["mid", "top"]]).rounds_
    3
    """

    def _policy(self) -> Policy:
        return Greedy()

    def _directional(self, y: Ints) -> bool:
        return y.ndim == 1

    def _labels(self, y: Any) -> Any:
        y = np.asarray(y)
        return y if y.ndim == 2 and y.shape[1] == 2 else column_or_1d(y, warn=True)
