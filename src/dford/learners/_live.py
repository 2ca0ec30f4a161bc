"""Ask and tell: rounds whose answers come later, in any order, from people or programs."""

from array import array
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Self
from zlib import crc32

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Floats
from dford.engine import rounds
from dford.feedback import Question, checksum, make_read_only
from dford.learners._forms.form import Form, Rows, whole
from dford.learners._log_learner import FLOAT64, LogLearner
from dford.learners._saving import early_id
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
        if type(row) is np.ndarray:  # both as below, without the calls
            row.setflags(False)  # type: ignore[call-arg]  # by position, which saves a tenth of a microsecond
            what = crc32(row, 65537 * level + prediction)  # type: ignore[arg-type]
        else:
            make_read_only(row)
            what = checksum(row, level, prediction)
        names, own = self._scale.names, f"{self._key}-{n}-{what}"
        # the same as Question(...), without parsing its arguments: this saves a quarter of a microsecond
        question = tuple.__new__(Question, (own, row, names[level - 1], names[prediction - 1], propensity, n))
        closed, mark = self._closed, what % 16383 + 1 << 2
        if n == len(closed):
            closed.append(mark)
        else:
            self._make_room(n)
            closed[n] = mark
        self._open[own] = question  # last, as an interrupt would leave it without a mark
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
        form, row = self._form, asked.x.copy()  # for read-only arrays numba would compile again
        fate, before = _TOLD_YES if higher else _TOLD_NO, form.state[rounds.ROUNDS]
        try:
            self._learn_answer(asked, row if form.row_shape else self._scaled(row), higher)
            self._closed[asked.round] |= fate  # as in `_close`, without the call
            del self._open[asked.id]
        except BaseException:  # after an interrupt, a question is open if and only if its answer was not learned
            if form.state[rounds.ROUNDS] > before:
                whole(partial(self._close, asked, fate))
            raise
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
        # for each draw, 14 bits of what was asked (not all 0), and two of how it ended: enough to know the same
        # question, and the same answer, when they come again
        self._closed = array("H")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for question in self.__dict__.get("_open", {}).values():
            make_read_only(question.x)

    def _find(self, question: Question) -> Question | None:
        """The open question that equals this one, or None if it was closed."""
        if not isinstance(question, Question):
            raise TypeError(f"expected a Question that this model asked; got {question!r}")
        if "_form" in self.__dict__:
            asked = self._open.get(question.id)
            if asked is question or (asked is not None and asked == question):
                return asked
            if asked is None and self._was_closed(question):
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

    def _was_closed(self, question: Question) -> bool:
        own, n = question.id, question.round
        if not self._fate(n):
            return False
        if own == early_id(self.seed_, n):
            return self._closed[n] >> 2 == 0
        before, _, what = own.rpartition("-")
        is_own = before == f"{self._key}-{n}" and what.isdecimal()
        return is_own and self._closed[n] >> 2 == int(what) % 16383 + 1

    def _fate(self, n: int) -> int:
        return self._closed[n] & 3 if 0 <= n < len(self._closed) else 0

    def _make_room(self, n: int) -> None:
        self._closed.frombytes(bytes(self._closed.itemsize * max(n + 1 - len(self._closed), 0)))

    def _close(self, question: Question, fate: int) -> None:
        self._closed[question.round] |= fate  # first, as it then is never unknown
        self._open.pop(question.id, None)


class ProbabilisticLearner(LiveLearner):
    """A learner whose form knows P(level > i) for every cut, falling with i."""

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every level, in the order of `classes_`."""
        check_is_fitted(self)
        above = self._form.above(self._rows(X, anew=False))
        edges = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1.0, 0.0)))
        return edges[:, :-1] - edges[:, 1:]  # not -np.diff, which would give an impossible level the probability -0.0
