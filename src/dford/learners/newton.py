"""NewtonLogit: the cumulative logit, with one second-order step per answer."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from dford.arrays import Ints
from dford.engine import newton
from dford.learners._forms.form import Form, Rows
from dford.learners._forms.newton import NewtonForm
from dford.learners._forms.sparse_newton import SparseNewtonForm
from dford.learners._live import ProbabilisticLearner
from dford.learners._parameters import Interval, StrOptions
from dford.policies import Nearby, Policy

_KINDS = {"linear": newton.LINEAR, "poly": newton.POLY, "fourier": newton.FOURIER}


class NewtonLogit(ProbabilisticLearner):
    """The cumulative logit from any feedback: P(level > i) = sigmoid(f(x) - threshold_i).

    It keeps a Gaussian over weights and thresholds, and every answer moves both through its likelihood, so no part of
    an answer is thrown away and there is no step size to choose. Features need no scaling: they are standardised by
    running means and deviations, which a value far out in one row of a hundred hardly changes. Those of sparse rows
    are not centred; they are divided by their running root mean square over the rows that have them, and count by how
    much they vary over all rows. The prediction is the median level, which has the smallest expected absolute error.
    Thresholds are always in order.

    Parameters
    ----------
    feedback : "direction" or "label", default="direction"
        What `fit` and `partial_fit` learn from each label: one answer to one question, or the label itself.
        Intervals, as an (n, 2) array of lowest and highest levels, are always learned as such.
    features : "linear", "poly" or "fourier", default="linear"
        The features as they are; with all products of two; or with `n_components` random cosines.
    n_components : int, default=300
        The number of cosines for "fourier".
    covariance : "auto", "full" or "diagonal", default="auto"
        The cost of an answer is quadratic in the number of parameters with "full", and linear with "diagonal". "auto"
        is full up to 600 parameters. Sparse rows need "linear" features and use the diagonal: an answer then costs as
        much as the row stores. A model that started with sparse rows treats dense rows the same way.
    forget : float, default=0.0
        How much each answer weakens what is known about its own question, in [0, 1). For scales that drift: 0.02
        follows one that turns around, and was at most 1% worse on the paper's datasets, where none does.
    policy : Policy, optional
        How levels to ask about are chosen; by default `Nearby()`.
    levels, checkpoints, random_state
        As in `DFORD`.

    Attributes
    ----------
    classes_ : array
        The levels, lowest first.

    Examples
    --------
    >>> from dford import DFORD, NewtonLogit
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(10_000, random_state=0)
    >>> for model in DFORD(kernel="poly", random_state=0), NewtonLogit(features="poly", random_state=0):
    ...     print(f"{model.fit(X, y).trace_.mae[-1]:.2f}")
    0.64
    0.16
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ProbabilisticLearner._parameter_constraints,
        "feedback": [StrOptions({"direction", "label"})],
        "features": [StrOptions(set(_KINDS))],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance": [StrOptions({"auto", "full", "diagonal"})],
        "forget": [Interval(Real, 0, 1, closed="left")],
        "policy": [Policy, None],
    }

    def __init__(
        self,
        *,
        feedback: str = "direction",
        features: str = "linear",
        n_components: int = 300,
        covariance: str = "auto",
        forget: float = 0.0,
        policy: Policy | None = None,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.feedback = feedback
        self.features = features
        self.n_components = n_components
        self.covariance = covariance
        self.forget = forget
        self.policy = policy
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        if is_sparse:
            return SparseNewtonForm(self.forget, n_features)
        return NewtonForm(_KINDS[self.features], self.covariance, self.n_components, self.forget, n_features)

    def _fills_missing(self) -> bool:
        return True

    def _takes_sparse(self) -> bool:
        return self.features == "linear" and self.covariance != "full"

    def _prefers_sparse(self) -> bool:
        return self.features == "linear" and self.covariance == "diagonal"

    def _features(self, X: Any, anew: bool) -> Rows:
        if sparse.issparse(X) and self.features == "linear":
            if self.covariance == "full":
                raise TypeError('a full covariance needs dense rows; pass dense rows or covariance="diagonal"')
            if not anew and not self._form.takes_sparse:
                raise TypeError(
                    "this model started with dense rows, which it centres; pass X.toarray(), or fit it again"
                )
        return super()._features(X, anew)

    def _policy(self) -> Policy:
        return Nearby() if self.policy is None else self.policy

    def _directional(self, y: Ints) -> bool:
        return y.ndim == 1 and self.feedback == "direction"

    def _labels(self, y: Any) -> Any:
        y = np.asarray(y)
        is_ready = (y.ndim == 2 and y.shape[1] == 2) or (y.ndim == 1 and y.dtype.kind in "iu")
        return y if is_ready else column_or_1d(y, warn=True)
