"""Ask and tell: rounds whose answers come later, in any order, from people or programs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Floats
from dford.feedback import Question
from dford.learners._forms.form import Form, Rows
from dford.learners._log_learner import FLOAT64, LogLearner
from dford.scale import Scale

_TOLD_NO, _TOLD_YES, _DROPPED = 1, 2, 3


class LiveLearner(LogLearner):
    """A learner that can choose its own questions and wait for the answers.

    A subclass must define `_make_form(n_features, is_sparse)` and `_policy()`: see `OrdinalLearner`.
    """

    def ask(self, x: Any) -> Question:
        """The question to ask about item `x`. Nothing is learned yet.

        `x` is one row of features: an array or, with names, a dict, a pandas Series or a frame of one row. The names
        must be those the model knows, in the same order.
        """
        if "_form" not in self.__dict__:
            self._begin_live(x)
        form = self._form
        if type(x) is np.ndarray and x.dtype is FLOAT64 and x.shape == form.row_shape:
            row: Rows = x.copy()  # a shortcut for most rows, which saves half a microsecond
            seen = row
        else:
            row = self._one_row(x)
            seen = self._scaled(row)
        prediction, level, propensity, n = form.ask(self._rule, self._table, self.seed_, seen)
        names = self._scale.names
        # the same as Question(...), without parsing its arguments: this saves a quarter of a microsecond
        question = tuple.__new__(
            Question, (f"{self._key}-{n}", row, names[level - 1], names[prediction - 1], propensity, n)
        )
        self._open[question.id] = question
        return question

    def tell(self, question: Question, higher: bool | np.bool_) -> Self:
        """Learn the answer: is the right level above `question.level`?

        The same answer again changes nothing; the opposite one raises an error.
        """
        if higher is not True and higher is not False:
            if not isinstance(higher, np.bool_):
                raise TypeError(f"higher must be True or False; got {higher!r}")
            higher = bool(higher)
        asked = self._find(question)
        if asked is None:
            self._check_closed(question, higher)
            return self
        self._learn_answer(asked, asked.x if self._form.row_shape else self._scaled(asked.x), higher)
        self._close(asked, _TOLD_YES if higher else _TOLD_NO)
        return self

    def drop(self, question: Question) -> Self:
        """Close a question without an answer. Nothing is learned."""
        asked = self._find(question)
        if asked is not None:
            self._close(asked, _DROPPED)
        elif self._fate(question.round) != _DROPPED:
            raise ValueError(f"question {question.id} was already answered, so it cannot be dropped")
        return self

    @property
    def open_questions_(self) -> Mapping[str, Question]:
        """The questions without an answer, by id, oldest first."""
        return MappingProxyType(self._open if self.__sklearn_is_fitted__() else {})

    def _begin(self, scale: Scale, form: Form, seed: int | None = None) -> None:
        super()._begin(scale, form, seed)
        self._open: dict[str, Question] = {}
        self._fates = bytearray()  # two bits per question: enough to tell a repeated answer from a different one

    def _find(self, question: Question) -> Question | None:
        """The open question that equals this one, or None if it was closed."""
        if not isinstance(question, Question):
            raise TypeError(f"expected a Question that this model asked; got {question!r}")
        if "_form" in self.__dict__:
            asked = self._open.get(question.id)
            if asked is question or (asked is not None and asked == question):
                return asked
            if asked is None and question.id == f"{self._key}-{question.round}" and self._fate(question.round):
                return None
        raise ValueError(f"question {question.id} was not asked by this model; pass one that ask returned")

    def _check_closed(self, question: Question, higher: bool) -> None:
        fate = self._fate(question.round)
        if fate == _DROPPED:
            raise ValueError(f"question {question.id} was dropped, so it takes no answer; ask again")
        if (fate == _TOLD_YES) != higher:
            raise ValueError(
                f"question {question.id} was already answered higher={not higher}, and now higher={higher}; "
                "the first answer stands"
            )

    def _fate(self, n: int) -> int:
        return (self._fates[n >> 2] >> 2 * (n & 3)) & 3 if 0 <= n >> 2 < len(self._fates) else 0

    def _close(self, question: Question, fate: int) -> None:
        del self._open[question.id]
        n = question.round
        try:
            self._fates[n >> 2] |= fate << 2 * (n & 3)
        except IndexError:
            self._fates.extend(bytes((n >> 2) + 1 - len(self._fates)))
            self._fates[n >> 2] |= fate << 2 * (n & 3)


class ProbabilisticLearner(LiveLearner):
    """A learner whose form knows P(level > i) for every cut, falling with i."""

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every level, in the order of `classes_`."""
        check_is_fitted(self)
        above = self._form.above(self._rows(X, anew=False))
        edges = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1.0, 0.0)))
        return edges[:, :-1] - edges[:, 1:]  # not -np.diff, which would give an impossible level the probability -0.0
