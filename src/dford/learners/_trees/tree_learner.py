"""Learners that keep every answer and grow trees on them."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Bools, Floats, Ints
from dford.engine import loops, vectors
from dford.learners._forms.form import Form, Rows, missing
from dford.learners._live import ProbabilisticLearner
from dford.learners._trees.schedule import TreesAhead, TreeSchedule
from dford.log import FeedbackLog
from dford.policies import Policy

_MOST = 1000  # answers in a part
_FEW = 16  # fewer answers than this are not worth the threads


class TreeForm(Form):
    """A form with a schedule of trees, whose logits fall with the level."""

    schedule: TreeSchedule

    def logits(self, X: Rows) -> Floats:
        """The log-odds that each row is above levels 1..K-1."""
        raise missing(self, "logits(X)", "the log-odds that each row is above levels 1 to K - 1")

    def levels(self, X: Rows, ordered: bool) -> Ints:
        numbers: Ints = 1 + (self.logits(X) > 0).sum(axis=1)
        return numbers

    def above(self, X: Rows) -> Floats:
        return loops.sigmoids(self.logits(X))

    def learn_answers(
        self, rule: loops.Rule, X: Rows, asked: Ints, higher: Bools, propensity: Floats, prediction: Ints | None,
        stops: Sequence[int], note: Callable[[], None],
    ) -> Ints:  # fmt: skip
        if len(asked) < _FEW:
            return super().learn_answers(rule, X, asked, higher, propensity, prediction, stops, note)
        # Growing, and whatever trees do not change, runs ahead in threads; judging follows in order.
        schedule, first, last = self.schedule, self.schedule.count, self.schedule.count + len(asked)
        kept, trees, grown_on = self.judged(), schedule.trees, schedule.grown_on
        ahead = TreesAhead(schedule, len(asked))
        ends = {*range(first, last, _MOST), last, *stops, *(count for stage in ahead.stages for count in stage)}
        parts = [slice(a - first, b - first) for a, b in pairwise(sorted(e for e in ends if first <= e <= last))]
        looks = self.look_ahead(X, asked, higher, parts)
        predictions, waiting = np.empty(len(asked), np.int64), deque[tuple[slice, Floats, Any]]()

        def judge() -> None:
            part, Z, seen = waiting.popleft()
            predictions[part] = self.judge(Z, seen, asked[part], higher[part])
            believed = predictions[part] if prediction is None else prediction[part]
            self.weigh(X[part], believed, asked[part], propensity[part], higher[part])
            ahead.take_effect(first + part.stop)
            if first + part.stop in stops:
                note()

        try:
            for part in parts:
                Z, seen = next(looks)
                ahead.append(Z, np.column_stack([asked[part], higher[part]]))
                waiting.append((part, Z, seen))
                while waiting and ahead.is_grown(first + waiting[0][0].stop):
                    judge()
            while waiting:
                judge()
            next(looks, None)
            ahead.finish()
        except BaseException:
            self.put_back(kept)
            schedule.trees, schedule.grown_on = trees, grown_on
            raise
        finally:
            looks.close()
            ahead.close()
        return predictions

    def weigh(self, X: Rows, predictions: Ints, asked: Ints, propensity: Floats, higher: Bools) -> None:
        """Count rounds about checked rows."""
        if sparse.issparse(X):
            squares = vectors.sparse_squares(X.data, X.indptr)
            rows = X.data, X.indices, X.indptr, squares
            loops.weigh_sparse(self.state, self.n_levels, *rows, predictions, asked, propensity, higher)
        else:
            loops.weigh_all(self.state, self.n_levels, X, predictions, asked, propensity, higher)

    def dense(self, X: Rows) -> Floats:
        """The columns that trees see and the log keeps."""
        return np.asarray(X)

    def look_ahead(
        self, X: Rows, asked: Ints, higher: Bools, parts: Sequence[slice]
    ) -> Generator[tuple[Floats, Any], None, None]:
        """For each part of the rows, what trees see of it, and whatever else `judge` needs.

        What is learned here is only kept if the caller asks once more, after judging all parts.
        """
        raise missing(self, "look_ahead(...)", "what trees see of the rows")

    def judge(self, Z: Floats, seen: Any, asked: Ints, higher: Bools) -> Ints:
        """The predictions for a part of the rows, each before its answer."""
        raise missing(self, "judge(...)", "the predictions for rows that were looked at")

    def log_arrays(self) -> dict[str, NDArray[Any]]:
        return self.schedule.log.other_arrays()

    def judged(self) -> Any:
        """A copy of what judging changes."""
        return self.state.copy()

    def put_back(self, kept: Any) -> None:
        self.state = kept


class TreeLearner(ProbabilisticLearner):
    """`fit` ends with trees grown on all answers; `partial_fit` and `tell` leave that to the schedule."""

    def fit(self, X: Any, y: Any) -> Self:
        """Start over, learn from rows X with known levels y, in order, each once, and grow trees on all of them."""
        return super().fit(X, y).refit()

    def fit_log(self, log: FeedbackLog, *, policy: Policy | None = None) -> Self:
        """Start over, learn from a log of answers, in order, and grow trees on all of them."""
        return super().fit_log(log, policy=policy).refit()

    def prepare(self, n: int = 1) -> int:
        """Do what the next n answers would have to wait for: some of the trees' work, or all that is left.

        Returns how many can then be learned without waiting, as new trees may start before the last of them.
        """
        if self.__sklearn_is_fitted__():
            assert isinstance(self._form, TreeForm)
            n = min(n, self._form.schedule.room())
            self._form.schedule.prepare(n)
        return n

    @property
    def missing_(self) -> int:
        assert isinstance(self._form, TreeForm)
        return self._form.schedule.log.missing

    def recall(self, X: Any, level: Any, higher: Any) -> Self:
        assert isinstance(self._form, TreeForm)
        rows = self._form.dense(self._rows(X, anew=False))
        self._form.schedule.log.recall(rows, np.column_stack([self._scale.encode(level), higher]))
        return self

    def refit(self) -> Self:
        """Grow trees on all answers so far, right now."""
        check_is_fitted(self)
        assert isinstance(self._form, TreeForm)
        self._form.schedule.grow_now()
        return self
