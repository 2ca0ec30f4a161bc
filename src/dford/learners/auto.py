"""Auto: the learner to try first. It starts fast, grows, and uses what the answers show to be best."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dford.columns import Columns
from dford.learners._auto_form import COSINES, AutoForm
from dford.learners._forms.form import Form, Rows
from dford.learners._parameters import Interval
from dford.learners._trees.tree_learner import TreeLearner
from dford.policies import Nearby, Policy


class Auto(TreeLearner):
    """The learner to try first: there is no model to choose and nothing to tune.

    Three cumulative logits (`NewtonLogit` with linear features, products and random cosines) learn from the first
    answer on. Boosted trees, which also see their scores, grow on the log of answers: on the first 200, 250, 312, ...
    Each answer is first used to judge them all, and the mean of the trees and the best logit, by the squared error of
    the probability they gave it. The best over about the last thousand answers makes the predictions, once its lead is
    clear. This never needs a label.

    Rows may be sparse, as rows of texts are. The first columns (`dense`) are then read as above; a logit for sparse
    rows learns from all others, and its score is one more column for the logits above and for the trees.

    Parameters
    ----------
    policy : Policy, optional
        How levels to ask about are chosen; by default `Nearby()`.
    dense : int, optional
        How many of the first columns of sparse rows are like those of dense rows, such as numbers and categories beside
        a text. By default all if there are at most 300, otherwise none. `Columns` has it as `n_dense_`.
    levels, checkpoints, random_state
        As in `DFORD`.

    Attributes
    ----------
    classes_ : array
        The levels, lowest first.
    choice_ : str
        What makes the predictions now: "linear", "poly", "fourier", "sparse", "trees" or a logit with trees, such as
        "linear + trees".

    Examples
    --------
    >>> from dford import Auto
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(2_000, random_state=0)
    >>> model = Auto(random_state=0).fit(X, y)
    >>> print(f"{model.trace_.mae[-1]:.1f}")
    0.2
    >>> print("{:.1f}, surely in [{:.1f}, {:.1f}]".format(*model.running_mae_))  # no label was used for this
    0.2, surely in [0.1, 0.3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeLearner._parameter_constraints,
        "policy": [Policy, None],
        "dense": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        dense: int | None = None,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.policy = policy
        self.dense = dense
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    @property
    def choice_(self) -> str:
        check_is_fitted(self)
        assert isinstance(self._form, AutoForm)
        return self._form.names()[self._form.choice]

    def _new_form(
        self, n_features: int, n_levels: int, is_sparse: bool = False, columns: Columns | None = None
    ) -> Form:  # fmt: skip
        if columns is None or not is_sparse:
            return super()._new_form(n_features, n_levels, is_sparse)
        form = AutoForm(n_features, columns.n_dense_)
        form.start(n_levels)
        return form

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        if self.dense is not None and self.dense > n_features:
            raise ValueError(f"dense must be at most {n_features}, the number of features; got {self.dense}")
        return AutoForm(n_features, (self.dense or 0) if is_sparse else None)

    def _takes_sparse(self) -> bool:
        return True

    def _fills_missing(self) -> bool:
        return True

    def _prefers_sparse(self) -> bool:
        return False

    def _features(self, X: Any, anew: bool) -> Rows:
        rows = super()._features(X, anew)
        is_dense = self.dense is None and rows.shape[1] <= COSINES if anew else not self._form.takes_sparse
        return rows.toarray() if is_dense and sparse.issparse(rows) else rows

    def _policy(self) -> Policy:
        return Nearby() if self.policy is None else self.policy
