"""Learning from answers to questions that are stored elsewhere: in a log, or by a program that numbers them itself."""

import json
import zlib
from bisect import bisect_right
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Bools, Floats, Ints
from dford.columns.tables import as_table, checked_table
from dford.engine import counter, rounds, vectors
from dford.estimates import Estimate
from dford.feedback import Question, checksum, split_names
from dford.learners._base import OrdinalLearner
from dford.learners._forms.form import Form, Rows, refuse_large, whole
from dford.learners._trace import free_figures
from dford.log import LEAST_PROPENSITY, FeedbackLog
from dford.policies import Policy
from dford.scale import Scale

FLOAT64 = np.dtype(np.float64)
_NOT_ITS_OWN = {"levels", "checkpoints", "random_state"}  # the scale and the seed say more


class Proposal(NamedTuple):
    """A question about an item whose level is not drawn yet: its number decides that. See `LiveLearner.propose`."""

    key: str
    """What the ids of the model's questions begin with."""
    seed: int
    """The seed of the model's stream."""
    x: Rows
    """The item's features."""
    levels: list[Any]
    """The scale, lowest first."""
    prediction: int
    """The place of the predicted level on the scale, from 1."""
    probabilities: Floats
    """The probability with which each level is asked about."""
    sums: Floats
    """The running sums of these probabilities."""

    def question(self, number: int) -> Question:
        """The question by draw `number` of the stream."""
        place = int(np.searchsorted(self.sums, counter.uniforms(self.seed, np.array([number]))[0], side="right"))
        names = self.levels
        propensity = float(self.probabilities[place])
        own = f"{self.key}-{number}-{checksum(self.x, place + 1, self.prediction)}"
        return Question(own, self.x, names[place], names[self.prediction - 1], propensity, number)


class LogLearner(OrdinalLearner):
    """A learner that chooses questions for others to store, and learns from their answers."""

    def propose(self, x: Any) -> "Proposal":
        """A question about item `x` without its number, for a store that numbers the questions itself."""
        if "_form" not in self.__dict__:
            self._begin_live(x)
        row = self._one_row(x)
        seen = self._scaled(row)
        prediction = int(self._form.levels(seen if seen.ndim == 2 else seen[None], self.ordered)[0])
        table = self._form.table(self._table)
        return Proposal(self._key, self.seed_, row, self._scale.names, prediction, *table[:, prediction - 1])

    def question(self, x: Any, number: int) -> Question:
        """The question about item `x` by draw `number` of the stream, for a store that keeps the questions itself.

        Nothing is kept here, so pass the answer to `learn`.
        """
        return self.propose(x).question(number)

    def learn(self, question: Question, higher: bool) -> Self:
        """Learn an answer to a question that is stored elsewhere. The store must make sure to tell it only once."""
        if "_form" not in self.__dict__:
            check_is_fitted(self)
        if not isinstance(higher, (bool, np.bool_)):
            raise TypeError(f"higher must be True or False; got {higher!r}")
        if not LEAST_PROPENSITY <= question.propensity <= 1:
            raise ValueError(f"a propensity must be a probability greater than 0; got {question.propensity!r}")
        x, (prediction, level) = question.x, map(self._scale.number, (question.prediction, question.level))
        if type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != (self._form.n_features,):
            x = self._one_row(x)
        seen = self._scaled(x)
        _check(self._form, seen if seen.ndim == 2 else seen[None])
        if question.propensity != self._table[0, prediction - 1, level - 1]:
            self._note_policy(None, np.array([level]), np.array([prediction]), np.array([question.propensity]))
        self._learn_answer(question, seen, bool(higher))
        return self

    def _learn_answer(self, question: Question, x: Rows, higher: bool) -> None:
        index = self._scale.index
        try:
            done = self._form.tell(
                self._rule, x, index[question.prediction], index[question.level], question.propensity, higher
            )
            if done == self._next_checkpoint:
                self._record()
        except BaseException:
            whole(self._record)  # an interrupt may have come after the answer was learned
            raise

    def learn_many(self, X: Any, level: Any, prediction: Any, propensity: Any, higher: Any) -> Self:
        """Like `learn`, for many questions that are stored elsewhere: bit-identical, and much faster.

        A new model starts with them, as it does with `ask`.

        Parameters
        ----------
        X : rows of features
        level, prediction : sequences of levels
            The levels asked about, and the predictions at the time.
        propensity : sequence of float
        higher : sequence of bool
            The answers. If any of them is invalid, none is learned.
        """
        X = checked_table(X)
        if not np.shape(X)[0]:
            return self
        if not self.__sklearn_is_fitted__():
            self._begin_live(X[0])
        rows = self._rows(X, anew=False)
        asked, believed = self._scale.encode(level), self._scale.encode(prediction)
        given, told = np.asarray(propensity, dtype=np.float64), np.asarray(higher)
        check_consistent_length(rows, asked, believed, given, told)
        for name, column in ("level", asked), ("prediction", believed), ("propensity", given), ("higher", told):
            if column.ndim != 1:
                raise ValueError(f"{name} must be one column; got an array of shape {column.shape}")
        if not ((given >= LEAST_PROPENSITY) & (given <= 1)).all():
            raise ValueError(f"a propensity must be a probability greater than 0; got {given}")
        if told.dtype != np.bool_:
            raise TypeError(f"higher must be True or False; got {told}")
        _check(self._form, rows)
        known = self._is_known(asked, believed, given)
        first = len(asked) if known.all() else int(np.argmin(known))  # from there on, the bound is unknown
        for part in slice(first), slice(first, None):
            self._note_policy(None, asked[part], believed[part], given[part])
            self._learn_answers(rows[part], asked[part], given[part], told[part], believed[part])
        return self

    def prepare(self, n: int = 1) -> int:
        """Do the work that the next n answers would have to wait for; return how many can then be learned without it.

        Other threads may predict in the meantime.
        """
        return n

    @property
    def missing_(self) -> int:
        """How many answers a model that was packed without them needs before it can learn again; see `recall`."""
        return 0

    def recall(self, X: Any, level: Any, higher: Any) -> Self:
        """Give back the first missing answers, in order, to a model that was packed without them.

        Parameters
        ----------
        X : rows of features
        level : sequence of levels
            The levels asked about.
        higher : sequence of bool
        """
        if len(level):
            raise ValueError("this model is not missing any answers")
        return self

    def replay(self, log: FeedbackLog, *, policy: Policy | None = None) -> Any:
        """Learn a log's answers in order, and return the predictions made before each, by the user's names.

        It continues from what was learned so far; a new model takes the log's levels. The questions may come from
        another model; `running_mae_` is then still this model's. Its interval needs the largest weight an answer can
        have, so pass the `policy` that chose the questions, unless it was this model's own or `Uniform`.
        """
        log.refuse_guesses()
        level, propensity, higher = log.level_numbers, log.propensity, log.higher
        if policy is not None:
            policy.require_all_levels(len(log.scale), log.scale.names)
            policy.require_propensities(level, log.prediction_numbers, propensity, log.scale.names)
        if not self.__sklearn_is_fitted__():
            self._validate_params()
            X = self._rows(log.X, anew=True) if log.is_sparse else log.X
            if self.levels is not None and Scale(self.levels).names != log.scale.names:
                raise ValueError(f"the learner has the levels {list(self.levels)!r}, but the log has {log.scale.names}")
            if not len(log):
                raise ValueError("the log has no answers; give one with at least one answer")
            form = self._new_form(X.shape[1], len(log.scale), sparse.issparse(X))
            _check(form, X)
            self._begin(log.scale, form)
            self._take_names(None if log.is_sparse else log.feature_names)
        else:
            X = self._scaled(self._log_rows(log))
            _check(self._form, X)
        self._note_policy(policy, level, log.prediction_numbers, propensity)
        return self.classes_[self._learn_answers(X, level, propensity, higher, None) - 1]

    def _learn_answers(self, X: Rows, level: Ints, propensity: Floats, higher: Bools, prediction: Ints | None) -> Ints:
        """Learn checked answers, in order; returns the predictions made before each."""
        if not len(level):
            return np.empty(0, np.int64)
        done = self.rounds_
        stops = [count for count in self._checkpoints if done < count <= done + len(level)]
        try:
            return self._form.learn_answers(self._rule, X, level, higher, propensity, prediction, stops, self._record)
        except BaseException:
            self._records = [record for record in self._records if record[rounds.ROUNDS] <= self.rounds_]
            self._next_checkpoint = self._checkpoints[bisect_right(self._checkpoints, self.rounds_)]
            raise

    def fit_log(self, log: FeedbackLog, *, policy: Policy | None = None) -> Self:
        """Start over and learn from a log of answers, in order; `policy` is as in `replay`.

        A model that reads tables reads them as before.
        """
        fresh = clone(self)
        if (columns := self._columns) is not None and len(log):
            fresh._validate_params()
            width, n_levels = self._form.n_features, len(self._scale)
            fresh._begin(self._scale, fresh._new_form(width, n_levels, columns.is_sparse_, columns))
            fresh.take_columns(columns)
        fresh.replay(log, policy=policy)
        self.__dict__ = fresh.__dict__
        return self

    def _note_policy(self, policy: Policy | None, level: Ints, prediction: Ints, propensity: Floats) -> None:
        """Note how much answers to questions stored elsewhere can weigh, as far as that is known before learning them.

        Without a policy, it is known if this model or a uniform policy would have asked with the same probabilities.
        """
        state = self._form.state
        if policy is not None and state[rounds.BOUND] > 0:
            state[rounds.BOUND] = max(state[rounds.BOUND], _slack(policy.heaviest(len(self._scale))))
        elif policy is None and not self._is_known(level, prediction, propensity).all():
            state[rounds.BOUND] = 0.0

    def _is_known(self, level: Ints, prediction: Ints, propensity: Floats) -> Bools:
        own = propensity == self._table[0, prediction - 1, level - 1]
        known: Bools = own | (propensity == 1.0 / (len(self._scale) - 1)) & (level < len(self._scale))
        return known

    @property
    def running_mae_(self) -> Estimate:
        """The mean error of the predictions so far, in levels, from the answers alone: no label is needed.

        With 95% confidence the true figure is in the interval at all times, so look as often as you like. It covers the
        questions that were answered. After answers to questions from an unknown policy (see `replay`), the interval is
        everything that is possible. Answers are assumed to be right; if some are wrong, see
        `dford.evaluation.offpolicy.corrected`.
        """
        check_is_fitted(self)
        self._policy().require_all_levels(len(self._scale), self._scale.names)
        state = self._form.state
        figures = free_figures(state[None, : rounds.FIGURES], state[rounds.BOUND], len(self._scale))
        return Estimate(*(float(figure[0]) for figure in figures))

    def _directional(self, y: Ints) -> bool:
        return True

    def _begin(self, scale: Scale, form: Form, seed: int | None = None) -> None:
        super()._begin(scale, form, seed)
        told = {name: self._learned_with[name] for name in self._learned_with if name not in _NOT_ITS_OWN}
        words = json.dumps([type(self).__name__, told, scale.names, form.n_features], default=repr)
        self._key = f"{int(counter.key(self.seed_)) ^ zlib.crc32(words.encode()):08x}"  # begins its questions' ids

    def _begin_live(self, x: Any) -> None:
        if self.levels is None:
            raise ValueError("the levels are not known yet; pass levels=[...], lowest first, or call fit first")
        self._validate_params()
        scale, row = Scale(self.levels), self._one_row(x)
        self._begin(scale, self._new_form(row.shape[-1], len(scale), sparse.issparse(row)))
        self._take_names(split_names(x)[1])

    def _take_names(self, names: list[str] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
            self._look_at_names()

    def _one_row(self, x: Any) -> Rows:
        """A copy of x, which the caller cannot change while the question is open; a sparse row stays a matrix."""
        if self._columns is not None and not self._is_encoded(x):
            x = self._columns.transform(as_table(x))
        if sparse.issparse(x):
            row = self._features(x, anew=not self.__sklearn_is_fitted__()).copy()
            if row.shape[0] != 1:
                raise ValueError(f"ask takes one row; got {row.shape[0]}")
            return row if sparse.issparse(row) else row[0]
        values, names = split_names(x)
        if self.__sklearn_is_fitted__() and self._columns is None:
            self._check_names(names)
        try:
            row = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"x must be one row of numbers; got {x!r}; dford.Columns, fitted on some rows, turns more into numbers"
            ) from None
        if row.ndim == 2 and len(row) == 1:
            row = row[0]
        if row.ndim != 1 or not row.size:
            raise ValueError(f"x must be one row of numbers, of shape (n_features,); got shape {row.shape}")
        if self.__sklearn_is_fitted__() and row.size != self._form.n_features:
            raise ValueError(f"x has {row.size} features, but this model learned with {self._form.n_features}")
        return row


def _slack(weight: float) -> float:
    """The weight, a bit larger: propensities may have lost their last digits in a file."""
    return weight * (1 + 1e-9)


def _check(form: Form, X: Rows) -> None:
    """Refuse rows that cannot be learned, before any of them is."""
    if form.check(X) is None and form.may_refuse and X.shape[0]:
        refuse_large(X, vectors.squares(X))
