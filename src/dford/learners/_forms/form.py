"""The form in which a score is kept: what the engine's loops need besides the state. Here, the linear one."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford.arrays import Bools, Floats, Ints
from dford.engine import loops, rounds, vectors

Rows: TypeAlias = Any
"""Rows of features as learners pass them to their forms: a float64 array or a CSR matrix."""
KernelFunction: TypeAlias = Callable[[Floats, Floats], Floats]
# Sums of products of rows up to this size stay finite for any stream; from larger ones nothing could be learned.
LARGEST_SQUARE = 1e100


def missing(owner: object, method: str, purpose: str) -> NotImplementedError:
    """The error that a base class raises for a method that a subclass must define."""
    return NotImplementedError(f"{type(owner).__name__} must define {method}, {purpose}")


def writable(state: dict[str, Any]) -> dict[str, Any]:
    """A pickled state, with copies of its read-only arrays: joblib maps the arrays of a file into memory."""

    def own(value: Any) -> Any:
        if isinstance(value, list):
            return [own(one) for one in value]
        if type(value) is dict:  # of open questions
            return {name: own(one) for name, one in value.items()}
        if hasattr(value, "_make"):  # trees are tuples of arrays
            return value._make(map(own, value))
        return np.array(value) if isinstance(value, np.ndarray) and not value.flags.writeable else value

    return {name: own(value) for name, value in state.items()}


def whole(step: Callable[[], object]) -> None:
    """Do a step that goes on from where it stopped if it is done again: an interrupt does not leave it half done."""
    try:
        step()
    except BaseException:
        try:
            step()
        except BaseException:  # interrupted twice
            step()
        raise


class Form:
    """The score being learned, and how it learns: what a learner's `_make_form` returns.

    A subclass must define `check`, `scores`, `learn` and `tell`; `PythonForm`, in plain Python, needs less. Its numbers
    are in `state`, the engine's vector, of which `cuts` and `weights` are parts. Anything kept elsewhere must be in
    `arrays` and `restore` too, or it is neither saved nor restored after a failure. Loading a file refuses numbers that
    are not finite.
    """

    n_weights = 0
    """How many weights `start` makes room for: set it in the constructor."""
    may_refuse = False
    """Whether `learn` may fail in the middle, so that what it did must be undone."""
    takes_sparse = False
    takes_missing = False
    """Whether rows may have missing values."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.row_shape: tuple[int, ...] = (n_features,)  # of a bare row; () if feature names must be checked
        self.state: Floats = np.empty(0)
        self.n_levels = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(writable(state))

    def start(self, n_levels: int) -> None:
        self.n_levels = n_levels
        self.state = rounds.new_state(n_levels, self.n_weights)

    @property
    def cuts(self) -> Floats:
        return self.state[rounds.CUTS : rounds.CUTS + self.n_levels - 1]

    @property
    def weights(self) -> Floats:
        return self.state[rounds.CUTS + self.n_levels - 1 :]

    def squares(self, X: Rows) -> Floats:
        """k(x, x) of every row."""
        return vectors.squares(X)

    def check(self, X: Rows) -> Floats | None:
        """The squares of rows; raises if they are not finite or too large. None if `learn` checks them."""
        return self.checked_squares(X)

    def checked_squares(self, X: Rows) -> Floats:
        squares = self.squares(X)
        refuse_large(X, squares)
        return squares

    def scores(self, X: Rows) -> Floats:
        """The score of every row; the rows are checked here."""
        raise missing(self, "scores(X)", "the score of every row")

    def levels(self, X: Rows, ordered: bool) -> Ints:
        """The level of every row, counted from 1."""
        return loops.predictions(self.state, self.n_levels, self._finite_scores(X), ordered)

    def _finite_scores(self, X: Rows) -> Floats:
        scores = self.scores(X)
        if scores.shape != X.shape[:1]:
            raise ValueError(
                f"{type(self).__name__} gave scores of shape {scores.shape} for {X.shape[0]} rows; expected one score "
                "for each row"
            )
        if not np.isfinite(scores).all():  # nothing is above or below NaN
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(f"{type(self).__name__} gave row {row} of X the score {scores[row]}; it must be finite")
        return scores

    def table(self, table: Floats) -> Floats:
        """The policy's table, or one that replaces it for now."""
        return table

    def above(self, X: Rows) -> Floats:
        """P(level > i) for every row, for forms that know it."""
        raise missing(self, "above(X)", "the probabilities that each row is above levels 1 to K - 1")

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        """Play a round for each row. At a row that must be refused, return False (or raise) with some rounds played.

        The right level of row r is between lo[r] and hi[r]. If rule[0] is true, it is hidden behind a question.
        """
        raise missing(self, "learn(...)", "which plays a round for each row")

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        """Like the engine's `rounds.ask`, about one row: a vector or a CSR matrix. It is refused if it is invalid."""
        scores = self._finite_scores(x if x.ndim == 2 else x[None])
        return loops.ask_scored(self.state, self.n_levels, table, seed, rule[4], scores[0])

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        """Learn from one answer about a row that was asked about; returns the rounds played.

        If it raises, nothing was learned; if it is interrupted, nothing or all, as `state[ROUNDS]` says.
        """
        raise missing(self, "tell(...)", "which learns from one answer")

    def learn_answers(
        self, rule: loops.Rule, X: Rows, asked: Ints, higher: Bools, propensity: Floats, prediction: Ints | None,
        stops: Sequence[int], note: Callable[[], None],
    ) -> Ints:  # fmt: skip
        """Learn from answers about many checked rows, as `tell` does; returns the predictions made before each.

        These are judged, unless others are given. After the rounds in `stops`, `note` is called.
        """
        predictions = np.empty(len(asked), np.int64)
        for n in range(len(asked)):
            predictions[n] = self.levels(X[n : n + 1], rule[4])[0]
            believed = predictions[n] if prediction is None else prediction[n]
            x = X[n] if isinstance(X, np.ndarray) else X[n : n + 1]
            if self.tell(rule, x, believed, asked[n], propensity[n], bool(higher[n])) in stops:
                note()
        return predictions

    def adopt(self, other: "Form", cuts: Ints, numbers: Ints) -> None:
        """Continue from a form with fewer features or levels.

        Cut i is a copy of the other's cut cuts[i]; the other's level i, from 1, is now level numbers[i - 1].
        """
        self.state[: rounds.CUTS] = other.state[: rounds.CUTS]
        self.cuts[:] = other.cuts[cuts] if other.cuts.size else 0.0
        self.weights[self.places_of(other)] = other.weights

    def places_of(self, other: "Form") -> Any:
        """Where a smaller form's weights are among this one's."""
        return slice(other.n_weights)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of everything that changes, except a log of answers."""
        return {"state": self.state.copy()}

    def log_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of the features and answers of a log, if one is kept."""
        return {}

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        self.start(n_levels)
        state = arrays["state"]
        if state.shape != self.state.shape:
            raise ValueError(f"the state has shape {state.shape}; expected {self.state.shape}")
        # compiled code trusts these
        if not np.isfinite(state).all() or state[rounds.START] != 0:
            raise ValueError("the state has invalid numbers")
        if state[rounds.COUNT] != len(arrays.get("stamps", ())):
            raise ValueError("the state and the window do not match")
        self.state = state


def refuse_large(X: Rows, squares: Floats) -> None:
    if not squares.max() <= LARGEST_SQUARE:  # NaN fails too
        _refuse_strange(X)
        raise ValueError(
            f"row {int(np.argmax(squares))} of X is too large: k(x, x) is {squares.max():.3g}, but at most "
            f"{LARGEST_SQUARE:g} can be learned from; rescale the features"
        )


def _refuse_strange(X: Rows) -> None:
    """Say where the first number of X is that is not finite, if there is one."""
    X = X if sparse.issparse(X) else np.atleast_2d(X)
    with np.errstate(invalid="ignore"):
        rows, features = (X - X).nonzero()  # NaN for each of them
    if len(rows):
        row, feature = rows[0], features[0]
        what = "NaN" if np.isnan(X[row, feature]) else "infinity"
        raise ValueError(
            f"Input X contains {what} in row {row}, feature {feature} (counted from 0); put a finite number there"
        )


class PythonForm(Form):
    """A form in plain Python, for your own learners. A subclass must define `score_rows` and `update`.

    It learns from one answer at a time; to learn from labels themselves, define `learn` too. There is one weight per
    feature, unless the constructor sets `n_weights`.
    """

    may_refuse = True

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.n_weights = n_features

    def score_rows(self, X: Floats) -> Floats:
        """The score of every row."""
        raise missing(self, "score_rows(X)", "the score of every row")

    def update(self, x: Floats, asked: int, higher: bool, propensity: float) -> None:
        """Learn from one answer by changing `weights` and `cuts` in place.

        `higher` says whether the right level of row x is above level `asked`, from 1 to K - 1; the cut between them is
        cuts[asked - 1].
        """
        raise missing(self, "update(x, asked, higher, propensity)", "which learns from one answer")

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        return np.ascontiguousarray(self.score_rows(X), dtype=np.float64)

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        if not rule[0]:
            raise missing(self, "learn(...)", "as its learner does not hide labels behind questions")
        answer = np.empty((1, 2), np.int64)
        for r in range(len(X)):
            one = slice(r, r + 1)
            predictions = self.levels(X[one], rule[4])
            loops.play_predicted(
                self.state, self.n_levels, True, table, seed, X[one], predictions, lo[one], hi[one], answer
            )
            self._update(X[r], int(answer[0, 0]), bool(answer[0, 1]), table[0, predictions[0] - 1, answer[0, 0] - 1])
        return True

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        before = self.state.copy()
        try:
            self._update(x, asked, higher, propensity)
            return loops.weigh(self.state, self.n_levels, x, prediction, asked, propensity, higher)
        except BaseException:
            self.state[:] = before
            raise

    def _update(self, x: Floats, asked: int, higher: bool, propensity: float) -> None:
        before = self.state.copy()
        self.state[rounds.CROSSINGS] += (np.diff(self.cuts) < 0).sum()
        if asked < self.n_levels:  # nothing is above the top
            try:
                self.update(x, asked, higher, float(propensity))
                if not np.isfinite(self.state).all():
                    raise ValueError(f"an update of {type(self).__name__} left a weight or cut that is not finite")
            except BaseException:
                self.state[:] = before
                raise


class Linear(Form):
    may_refuse = True
    takes_sparse = True

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.n_weights = n_features

    def squares(self, X: Rows) -> Floats:
        return vectors.sparse_squares(X.data, X.indptr) if sparse.issparse(X) else vectors.squares(X)

    def check(self, X: Rows) -> Floats | None:
        return super().check(X) if sparse.issparse(X) else None

    def scores(self, X: Rows) -> Floats:
        if sparse.issparse(X):
            self.check(X)
            return loops.scores_sparse(self.weights, X.data, X.indices, X.indptr)
        scores = loops.scores_dense(self.weights, X)
        if not np.isfinite(scores).all():
            refuse_large(X, vectors.squares(X))
        return scores

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        if squares is None:
            done = loops.learn_dense(self.state, self.n_levels, rule, table, seed, LARGEST_SQUARE, X, lo, hi)
            return done == len(X)
        loops.learn_sparse(self.state, self.n_levels, rule, table, seed, X.data, X.indices, X.indptr, squares, lo, hi)
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        if type(x) is not np.ndarray:
            return super().ask(rule, table, seed, x)
        question = loops.ask_dense(self.state, self.n_levels, table, seed, rule[4], LARGEST_SQUARE, x)
        if question[1] == 0:
            refuse_large(x, vectors.squares(x.reshape(1, -1)))
        return question

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        _, single, clip, always, _ = rule
        if type(x) is np.ndarray:
            return loops.tell_dense(
                self.state, self.n_levels, single, clip, always, x, prediction, asked, propensity, higher
            )
        square = vectors.sparse_squares(x.data, x.indptr)[0]
        return loops.tell_sparse(
            self.state,
            self.n_levels,
            single,
            clip,
            always,
            x.data,
            x.indices,
            square,
            prediction,
            asked,
            propensity,
            higher,
        )
