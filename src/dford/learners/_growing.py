"""Learners that keep every answer, and grow trees on them."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dford.engine import loops
from dford.engine._compiled import Floats, Ints
from dford.learners._forms import Form, Rows
from dford.learners._orchard import Orchard
from dford.learners._probable import ProbableLearner
from dford.log import FeedbackLog
from dford.policies import Policy


class GrowingForm(Form):
    """A form with an orchard, whose logits fall with the level."""

    orchard: Orchard

    def logits(self, X: Rows) -> Floats:
        """The log-odds that each row is above levels 1..K-1."""
        raise NotImplementedError

    def levels(self, X: Rows, ordered: bool) -> Ints:
        numbers: Ints = 1 + (self.logits(X) > 0).sum(axis=1)
        return numbers

    def above(self, X: Rows) -> Floats:
        return loops.sigmoids(self.logits(X))


class GrowingLearner(ProbableLearner):
    """`fit` ends with trees grown on all answers; `partial_fit` and `tell` leave that to the schedule."""

    def fit(self, X: Any, y: Any) -> Self:
        """Start anew, learn from rows X with known levels y, in order, each once, and grow trees on all of it."""
        return super().fit(X, y).refit()

    def fit_log(self, log: FeedbackLog, *, policy: Policy | None = None) -> Self:
        """Start anew, learn from a log of answers, in order, and grow trees on all of it."""
        return super().fit_log(log, policy=policy).refit()

    def prepare(self) -> None:
        """Finish the trees that the next answer puts into effect."""
        if self.__sklearn_is_fitted__():
            assert isinstance(self._form, GrowingForm)
            self._form.orchard.prepare()

    def refit(self) -> Self:
        """Grow trees on all answers so far, now."""
        check_is_fitted(self)
        assert isinstance(self._form, GrowingForm)
        self._form.orchard.grow_now()
        return self
