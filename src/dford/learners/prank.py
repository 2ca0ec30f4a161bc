"""PRank: ordinal regression from exact labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dford.engine._compiled import Ints
from dford.learners._base import OrdinalLearner
from dford.learners._forms import KernelFunction
from dford.policies import Greedy, Policy


class PRank(OrdinalLearner):
    """Online ordinal regression from exact labels (the paper's full-information baseline).

    Each round moves every threshold that lies on the wrong side of the score, as the paper's regularised
    form of Crammer and Singer's algorithm does.

    Parameters
    ----------
    kernel, degree, gamma, coef0, window, clip, always_rescale, regularization, ordered, levels, checkpoints
        As in `DFORD`.
    random_state : ignored
        Nothing is drawn. Here so that learners can be swapped.

    References
    ----------
    Crammer and Singer: Pranking with Ranking. NIPS 2001.

    Examples
    --------
    >>> from dford import PRank
    >>> model = PRank().fit([[0.0], [1.0], [2.0], [0.1], [1.1], [2.1]], ["low", "mid", "top"] * 2)
    >>> model.classes_.tolist()
    ['low', 'mid', 'top']
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
        return False
