"""DFORD: ordinal regression from directional feedback."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dford.learners._forms.form import KernelFunction
from dford.learners._live import LiveLearner
from dford.learners._paper import PaperLearner
from dford.learners._parameters import Interval
from dford.policies import Greedy, Policy, Triangular


class DFORD(LiveLearner, PaperLearner):
    """Online ordinal regression from one yes/no answer per item (the paper's DFORD-Linear and -Kernel).

    Each round predicts a level, draws a level to ask about, learns whether the right level is higher, and moves the
    score and the threshold asked about by that answer divided by the probability of having asked it. On average it
    therefore steps as if it had seen the label.

    Parameters
    ----------
    exploration : float, default=0.4
        The paper's γ, in [0, 1]: the weight of asking away from the prediction.
    policy : Policy, optional
        How levels to ask about are chosen; by default `Triangular(exploration)`. If given, `exploration` is not used.
    kernel : "linear", "poly", "rbf" or callable, default="linear"
        poly is ``(gamma <x, z> + coef0) ** degree``, rbf ``exp(-gamma |x - z|**2)``. A callable takes
        two arrays of rows and returns the matrix of kernel values, as in ``sklearn.metrics.pairwise``.
    degree : int, default=2
        The degree of the polynomial kernel.
    gamma : float, default=1.0
        The kernel's gamma; the paper's γ is `exploration`.
    coef0 : float, default=1.0
        The constant of the polynomial kernel.
    window : int, optional
        The paper's δ: the score sums the last `window` + 1 rounds, by default all of them.
    clip : float, optional
        The paper's α: a longer gradient is shortened to this norm.
    always_rescale : bool, default=False
        Scale every gradient to norm `clip`, as the paper's formula says literally. It prevents learning, and is only
        here to show that.
    regularization : float, default=1.0
        The paper's λ. It scales scores, thresholds and the regret, but changes no prediction.
    ordered : bool, default=False
        Predict with thresholds projected to order (isotonic). Learning still moves the raw ones.
    levels : sequence, optional
        All levels, lowest first. Needed for `ask` if nothing was fitted before.
    checkpoints : sequence of int, optional
        The rounds that `trace_` records; by default ten per decade.
    random_state : int, RandomState or None
        An int gives the same questions every time.

    Attributes
    ----------
    classes_ : array
        The levels, lowest first.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array
        Their names, if the rows had any.
    seed_ : int
        The seed of the stream, as drawn or given.

    References
    ----------
    Manwani, Elamparithy and Taneja: DFORD: Directional Feedback based Online Ordinal Regression Learning.

    Examples
    --------
    Labels known, answers simulated:

    >>> from dford import DFORD
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(20_000, random_state=0)
    >>> model = DFORD(exploration=0.2, clip=11.0, kernel="poly", degree=2, random_state=0).fit(X, y)
    >>> print(f"{model.trace_.mae[-1]:.2f} levels off on average")
    0.60 levels off on average

    Answers from elsewhere:

    >>> model = DFORD(levels=["poor", "fair", "good", "great"], random_state=0)
    >>> question = model.ask([0.2, 1.4])
    >>> question.prediction
    'poor'
    >>> model.tell(question, higher=True).rounds_
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PaperLearner._parameter_constraints,
        "exploration": [Interval(Real, 0, 1, closed="both")],
        "policy": [Policy, None],
    }
    _single = True

    def __init__(
        self,
        *,
        exploration: float = 0.4,
        policy: Policy | None = None,
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
        super().__init__(
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            window=window,
            clip=clip,
            always_rescale=always_rescale,
            regularization=regularization,
            ordered=ordered,
            levels=levels,
            checkpoints=checkpoints,
            random_state=random_state,
        )
        self.exploration = exploration
        self.policy = policy

    def _policy(self) -> Policy:
        return Triangular(self.exploration) if self.policy is None else self.policy

    def _bound_exploration(self) -> float | None:
        policy = self._policy()
        if isinstance(policy, Greedy):
            return 0.0
        return policy.exploration if isinstance(policy, Triangular) else None
