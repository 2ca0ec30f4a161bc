"""PRIL: ordinal regression from interval labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from dford.engine._compiled import Ints
from dford.learners._forms import KernelFunction
from dford.learners._live import LiveLearner
from dford.policies import Greedy, Policy


class PRIL(LiveLearner):
    """Online ordinal regression from intervals of levels (the paper's weakly supervised baseline).

    `fit(X, intervals)` takes an (n, 2) array of lowest and highest possible levels. Given labels instead,
    it plays the paper's directional protocol: it asks about its own prediction and learns the interval
    that the answer leaves. That only ever pushes predictions up; see "The paper and this library".

    Parameters
    ----------
    kernel, degree, gamma, coef0, window, clip, always_rescale, regularization, ordered, levels, checkpoints
        As in `DFORD`.
    random_state : int, RandomState or None
        Only names the questions: PRIL always asks about its prediction.

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

    def __init__(
        self,
        *,
        kernel: str | KernelFunction = "linear",
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 1.0,
        window: int | None = None,
        clip: float | None = None,
        always_rescale: bool = False,
        regularization: float = 1.0,
        ordered: bool = False,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.window = window
        self.clip = clip
        self.always_rescale = always_rescale
        self.regularization = regularization
        self.ordered = ordered
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    def _policy(self) -> Policy:
        return Greedy()

    def _directional(self, y: Ints) -> bool:
        return y.ndim == 1

    def _labels(self, y: Any) -> Any:
        y = np.asarray(y)
        return y if y.ndim == 2 and y.shape[1] == 2 else column_or_1d(y, warn=True)
