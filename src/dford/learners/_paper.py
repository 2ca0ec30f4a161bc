"""What the paper's learners share: regularised subgradient steps on a score with a kernel."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Floats
from dford.engine import loops, rounds
from dford.learners._base import OrdinalLearner
from dford.learners._forms.form import Form, KernelFunction, Rows
from dford.learners._forms.windows import make_form
from dford.learners._parameters import Interval, StrOptions


class PaperLearner(OrdinalLearner):
    """DFORD, PRank and PRIL."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OrdinalLearner._parameter_constraints,
        "kernel": [StrOptions({"linear", "poly", "rbf"}), callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "window": [Interval(Integral, 1, None, closed="left"), None],
        "clip": [Interval(Real, 0, None, closed="neither"), None],
        "always_rescale": ["boolean"],
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "ordered": ["boolean"],
    }

    _single = False  # whether an answer moves only the cut asked about, weighted by 1 / propensity

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

    @property
    def coef_(self) -> Floats:
        """The weights of the features, if the kernel is linear."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError("only a linear kernel has feature weights; use predict_projection")
        return self._form.weights * self._unit()

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        return make_form(self.kernel, self.degree, self.gamma, self.coef0, self.window, n_features)

    def _make_rule(self) -> loops.Rule:
        clip = math.inf if self.clip is None else float(self.clip)
        return True, self._single, clip, bool(self.always_rescale), bool(self.ordered)

    def _takes_sparse(self) -> bool:
        return self.kernel == "linear" and self.window is None

    def _features(self, X: Any, anew: bool) -> Rows:
        if sparse.issparse(X) and self.kernel == "linear" and self.window is not None:
            raise TypeError("sparse rows cannot be kept in a window; pass dense rows or window=None")
        return super()._features(X, anew)

    def _unit(self) -> float:
        """The paper's u is scale * state / (lambda * (t - 1))."""
        state = self._form.state
        return float(state[rounds.SCALE] / (self.regularization * (state[rounds.ROUNDS] + 1.0)))
