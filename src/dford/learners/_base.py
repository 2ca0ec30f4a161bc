"""What all learners share: parameters, validation, the scale, batches and predictions."""

import math
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.isotonic import isotonic_regression
from sklearn.utils import (
    Tags,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from dford.arrays import Floats, Ints
from dford.columns import Columns
from dford.columns.scaling import scaled_as_they_come
from dford.columns.tables import checked_table
from dford.engine import loops, rounds, vectors
from dford.learners import _saving
from dford.learners._forms.form import Form, Rows, missing, refuse_large, writable
from dford.learners._overlap import Overlap, overlap
from dford.learners._parameters import validate_parameter_constraints
from dford.learners._row_reader import RowReader
from dford.learners._trace import DEFAULT_CHECKPOINTS, Trace, make_trace
from dford.log import FeedbackLog
from dford.policies import Policy
from dford.scale import Scale


class OrdinalLearner(ClassifierMixin, RowReader):  # type: ignore[misc]
    """The base of all learners: a score f(x) and K - 1 thresholds, learned one round at a time.

    Parameters are read when learning starts (`fit`, or the first `partial_fit` or `ask`). A subclass must define

    - `_make_form(n_features, is_sparse)`, the `Form` that holds the score and learns;
    - `_policy()`, the policy that chooses questions;
    - `_directional(y)`, whether labels are hidden behind questions, as they are for every `LiveLearner`.

    It may define `_takes_sparse()`, `_prefers_sparse()`, `_labels(y)`, `_unit()`, `_make_rule()` and
    `_bound_exploration()`. If it has its own parameters, its constructor names all of them, including those of this
    class, and stores each unchanged; `_parameter_constraints` says which values are allowed.

    Parameters
    ----------
    levels : sequence, optional
        All levels, lowest first; by default those in the first labels, sorted.
    checkpoints : sequence of int, optional
        The rounds at which `trace_` has figures; by default ten per decade.
    random_state : int, RandomState or None
        The seed of the questions.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "levels": ["array-like", None],
        "checkpoints": ["array-like", None],
        "random_state": ["random_state"],
    }

    ordered: bool = False
    regularization: float = math.nan  # of learners that have a regret

    _records: list[Floats]  # the state's figures at each checkpoint, then the thresholds
    _next_checkpoint: int
    _learned_with: dict[str, Any]  # the parameters at the start: `set_params` takes effect when learning starts again

    def __init__(
        self,
        *,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Start over and learn from rows X with known levels y, in order, each once."""
        return self._learn(X, y, None, anew=True)

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> Self:
        """Continue learning. On the first call, `classes` names all levels in order, unless `levels` does."""
        return self._learn(X, y, classes, anew=not self.__sklearn_is_fitted__())

    def predict(self, X: Any) -> Any:
        """The level of every row, by the user's names."""
        check_is_fitted(self)
        return self.classes_[self._form.levels(self._rows(X, anew=False), self.ordered) - 1]

    def predict_projection(self, X: Any) -> Floats:
        """The score f(x) of every row, comparable with `thresholds_`."""
        return self._scores(X) * self._unit()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean absolute error in levels (larger is better)."""
        predicted = self._scale.encode(self.predict(X))
        true = self._scale.encode(column_or_1d(self._scale.labels(y), warn=True))
        return -float(np.average(np.abs(predicted - true), weights=sample_weight))

    @property
    def thresholds_(self) -> Floats:
        """The K - 1 cut points that `predict` compares the score with."""
        check_is_fitted(self)
        cuts = self._form.cuts
        return (isotonic_regression(cuts) if self.ordered else cuts) * self._unit()

    @property
    def rounds_(self) -> int:
        """The number of answers (or labels) learned from."""
        check_is_fitted(self)
        return int(self._form.state[rounds.ROUNDS])

    @property
    def crossings_(self) -> int:
        """How many raw thresholds are above their upper neighbour now."""
        check_is_fitted(self)
        return int((np.diff(self._form.cuts) < 0).sum())

    @property
    def trace_(self) -> Trace:
        """The figures of the run at its checkpoints and now."""
        table = self._table_of_records()[:, : rounds.FIGURES]
        bound = self._form.state[rounds.BOUND] if self._can_judge else math.nan
        return make_trace(table, len(self._scale), self.regularization, self._bound_exploration(), bound)

    @property
    def thresholds_trace_(self) -> Floats:
        """`thresholds_` at the checkpoints of `trace_`, one row each; NaN where there were none."""
        return self._table_of_records()[:, rounds.FIGURES :]

    def learned_from(self, log: FeedbackLog) -> Overlap:
        """How many of a log's answers this model learned from, or equal ones. Judged by them, it would look too good.

        If it learned from labels, as `PRank` does, an answer counts if its row was among them.
        """
        check_is_fitted(self)
        rows = self._log_rows(log)
        found = overlap(self._form, self._scaled(rows), log)
        if self._columns is None or self._columns.scaling_ is None or not len(log):
            return found
        if rows.shape[1] == 1:  # scaled, it is 1 or -1
            return Overlap(0, 0, len(log))
        # it first learned rows that were scaled as they came, which only the whole log shows
        first = overlap(self._form, scaled_as_they_come(rows, dense=self._columns.n_dense_), log)
        found = max(found, first, key=lambda one: one.found)
        return found if found.found else Overlap(0, 0, len(log))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `dford.load` reads, atomically and without pickle."""
        _saving.save(self, path)

    def to_bytes(self) -> bytes:
        """What `save` writes. Two models are identical if these bytes are."""
        return self.packing()()

    def packing(self, log: bool = True) -> Callable[[], bytes]:
        """`to_bytes` in two steps: everything is copied now, and the returned function makes the bytes, in any thread.

        Without the log that trees grow on, that log must be available when the model is loaded.
        """
        return _saving.packing(self, log)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(writable(state))  # for other kinds of arrays numba would compile again

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        """An empty form for this many features, of dense or sparse rows."""
        raise missing(self, "_make_form(n_features, is_sparse)", "the form that holds its score")

    def _make_rule(self) -> loops.Rule:
        """How a round is played, for the engine."""
        return True, True, math.inf, False, bool(self.ordered)

    def _unit(self) -> float:
        """The factor from the state's units to those of the score."""
        return 1.0

    def _policy(self) -> Policy:
        """How questions are chosen if labels (or people) answer them."""
        raise missing(self, "_policy()", "the policy by which questions are chosen")

    def _bound_exploration(self) -> float | None:
        """The exploration in the paper's bound on the regret, or None if the bound does not hold."""
        return None

    def _directional(self, y: Ints) -> bool:
        """Whether these labels should be hidden behind questions."""
        raise missing(self, "_directional(y)", "which says whether labels are hidden behind questions")

    def _labels(self, y: Any) -> Any:
        """Labels as one column."""
        return column_or_1d(y, warn=True)

    def _validate_params(self) -> None:
        parameters, constraints = self.get_params(deep=False), self._parameter_constraints
        validate_parameter_constraints(constraints, parameters, caller_name=type(self).__name__)

    def _learn(self, X: Any, y: Any, classes: Sequence[Any] | None, anew: bool) -> Self:
        # Everything is checked, and a new form made, before the model changes.
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if anew:
            self._validate_params()
        X = checked_table(X)
        columns = self._read_columns(X) if anew else self._columns
        if anew and columns is not None:
            columns.warn_of_unlearned(stacklevel=4)
        X, names = self._rows(X if not anew or columns is None else columns.transform(X), anew), X
        scale = Scale.infer(y, self.levels, classes) if anew else self._scale
        y = self._labels(scale.labels(y))
        check_consistent_length(X, y)
        if classes is not None and Scale(classes).names != scale.names:
            raise ValueError(f"classes={list(classes)!r} differ from the levels in use, {scale.names}")
        labels = scale.encode(y)
        lo, hi = (labels, labels) if labels.ndim == 1 else np.ascontiguousarray(labels.T)
        if (lo > hi).any():
            row = int(np.argmax(lo > hi))
            raise ValueError(
                f"row {row} has the interval [{scale.names[lo[row] - 1]!r}, {scale.names[hi[row] - 1]!r}]: "
                "its lower end is above its upper end; swap them"
            )
        form = self._new_form(X.shape[1], len(scale), sparse.issparse(X), columns) if anew else self._form
        squares = form.check(X)

        before, arrays = self.__dict__.copy(), form.arrays() if form.may_refuse and not anew else {}
        try:
            if anew:
                self._begin(scale, form)
                validate_data(self, names, reset=True, skip_check_array=True)
                self._take_columns(columns)
                self._look_at_names()
            self._records = list(self._records)
            self._play(self._directional(labels), X, squares, lo, hi)
        except BaseException:
            if arrays:
                form.restore(len(scale), arrays)
            if arrays or anew:
                self.__dict__ = before
            raise
        return self

    def _play(self, directional: bool, X: Rows, squares: Floats | None, lo: Ints, hi: Ints) -> None:
        form, rule, rows, begin = self._form, (directional, *self._rule[1:]), X.shape[0], 0
        while begin < rows:
            end = min(rows, begin + self._next_checkpoint - int(form.state[rounds.ROUNDS]))
            part = slice(begin, end)
            some = None if squares is None else squares[part]
            if not form.learn(rule, self._table, self.seed_, X[part], some, lo[part], hi[part]):
                refuse_large(X, vectors.squares(X))
            self._record()
            begin = end

    def _learn_one(self, X: Rows, number: int) -> None:
        """Learn one row and the place of its level, both already checked: for adapters, which know their types."""
        level = np.array([number])
        rule = (self._directional(level), *self._rule[1:])
        if not self._form.learn(rule, self._table, self.seed_, X, self._form.check(X), level, level):
            refuse_large(X, vectors.squares(X))
        self._record()

    def _predict_one(self, X: Rows) -> Any:
        return self._scale.names[self._form.levels(X, self._rule[4])[0] - 1]

    def _grow(self, scale: Scale, n_features: int) -> None:
        """Add new features, which were 0 so far, and new levels, whose cuts start equal to a neighbour's."""
        form, old = self._new_form(n_features, len(scale), self._form.takes_sparse), self._scale.index
        # cut i is the one above level i: it copies the cut above the highest old level up to i, or else the lowest cut
        above, cuts = 0, []
        for name in scale.names[:-1]:
            above = old.get(name, above)
            cuts.append(min(max(above, 1), len(old) - 1) - 1)
        numbers = np.array([scale.index[name] for name in self._scale.names])
        form.adopt(self._form, np.array(cuts), numbers)
        records, checkpoint = self._records, self._next_checkpoint
        self._begin(scale, form, self.seed_)
        other = np.full(len(scale) - 1, np.nan)  # thresholds of fewer levels are not comparable
        self._records = [np.append(record[: rounds.FIGURES], other) for record in records]
        self._next_checkpoint = checkpoint

    def _new_form(
        self, n_features: int, n_levels: int, is_sparse: bool = False, columns: Columns | None = None
    ) -> Form:  # fmt: skip
        form = self._make_form(n_features, is_sparse)
        form.start(n_levels)
        return form

    def _begin(self, scale: Scale, form: Form, seed: int | None = None) -> None:
        """Start learning with these."""
        checkpoints = DEFAULT_CHECKPOINTS if self.checkpoints is None else np.asarray(self.checkpoints)
        if checkpoints.ndim != 1 or checkpoints.dtype.kind not in "iu" or (np.diff(checkpoints) <= 0).any():
            raise ValueError(f"checkpoints must be increasing whole numbers of rounds; got {self.checkpoints!r}")
        if seed is None and isinstance(self.random_state, (int, np.integer)):
            seed = int(self.random_state)
        elif seed is None:
            # a valid seed, as it is saved in place of a RandomState
            seed = int(check_random_state(self.random_state).randint(2**32, dtype=np.int64))
        self._scale, self._form, self.seed_ = scale, form, seed
        self._learned_with = _saving.to_json(self.get_params(deep=False), seed)
        self._checkpoints: list[int] = [*checkpoints.tolist(), sys.maxsize]
        self._records = []
        self._table = self._policy().table(len(scale))
        self._can_judge = math.isfinite(heaviest := self._policy().heaviest(len(scale)))
        if not self.rounds_ and self._can_judge:
            form.state[rounds.BOUND] = heaviest
        self._rule = self._make_rule()
        self.classes_ = scale.array
        self.n_features_in_ = form.n_features
        self._next_checkpoint = self._checkpoints[bisect_right(self._checkpoints, self.rounds_)]

    def _record(self) -> None:
        """Record the figures of the run if it has reached a checkpoint; done again after an interrupt, it goes on."""
        if self._form.state[rounds.ROUNDS] == self._next_checkpoint:
            if not self._records or self._records[-1][rounds.ROUNDS] != self._next_checkpoint:
                self._records.append(self._new_record())
            self._next_checkpoint = self._checkpoints[bisect_right(self._checkpoints, self._next_checkpoint)]

    def _new_record(self) -> Floats:
        cuts = getattr(self, "thresholds_", np.full(len(self._scale) - 1, np.nan))  # trees have none
        record = np.append(self._form.state[: rounds.FIGURES], cuts)
        record[rounds.START] = 0.0  # where the window's buffers begin is not a figure of the run
        return record

    def _table_of_records(self) -> Floats:
        """The records of all checkpoints, and one of now."""
        check_is_fitted(self)
        records = list(self._records)
        if self.rounds_ and (not records or records[-1][rounds.ROUNDS] != self.rounds_):
            records.append(self._new_record())
        return np.array(records).reshape(-1, rounds.FIGURES + len(self._scale) - 1)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._form.scores(self._rows(X, anew=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_form")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # The toy data of scikit-learn's checks is three blobs in no order: no line with two cuts classifies more than
        # 72% of it (a test shows this), but 83% are required, and one pass of one bit each cannot bend the line.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.allow_nan = self._fills_missing()
        return tags
