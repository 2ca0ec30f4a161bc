"""DirectionalBoosting: boosted trees on the log of answers."""

from collections.abc import Generator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dford.arrays import Bools, Floats, Ints
from dford.columns import Columns
from dford.columns.tables import all_are_numbers
from dford.engine import loops, rounds
from dford.learners._forms.form import Form, Rows, whole
from dford.learners._parameters import Interval, StrOptions
from dford.learners._trees.grower import Growth
from dford.learners._trees.schedule import TreeSchedule
from dford.learners._trees.tree_learner import TreeForm, TreeLearner
from dford.policies import Nearby, Policy, Uniform


class DirectionalBoosting(TreeLearner):
    """Boosted trees on all answers so far: one classifier of (row, level asked) -> higher, decreasing in the level.

    Every answer is kept. Trees grow on the first 200, 250, 312, ... of them, and `fit` and `refit` grow them on all.
    Until there are trees, questions are spread evenly over all cuts. The prediction is the median level.

    Rows may have missing values (NaN) and categorical columns. Trees are grown from histograms, as in scikit-learn and
    LightGBM, and are the same on every machine.

    Parameters
    ----------
    feedback : "direction" or "label", default="direction"
        What `fit` and `partial_fit` learn from each label: one answer to one question, or the label itself.
    max_iter : int, default=100
        The number of trees.
    learning_rate : float, default=0.1
    max_leaf_nodes : int or None, default=31
    min_samples_leaf : int, default=20
    l2_regularization : float, default=1.0
        All as in scikit-learn's `HistGradientBoostingClassifier`.
    categorical_features : sequence of int, optional
        The columns whose numbers stand for unordered categories. Beyond 254 categories, the rarest count as missing.
        If given, a frame of numbers is read as it is, whatever the types of its columns say.
    policy : Policy, optional
        How levels to ask about are chosen; by default `Nearby()`.
    levels, checkpoints, random_state
        As in `DFORD`.

    Attributes
    ----------
    classes_ : array
        The levels, lowest first.
    n_iter_ : int
        The number of trees.

    Examples
    --------
    >>> from dford import DirectionalBoosting
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(5_000, random_state=0)
    >>> model = DirectionalBoosting(random_state=0).fit(X[:4000], y[:4000])
    >>> print(f"{-model.score(X[4000:], y[4000:]):.1f}")
    0.2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeLearner._parameter_constraints,
        "feedback": [StrOptions({"direction", "label"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", None],
        "policy": [Policy, None],
    }

    def __init__(
        self,
        *,
        feedback: str = "direction",
        max_iter: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        min_samples_leaf: int = 20,
        l2_regularization: float = 1.0,
        categorical_features: Sequence[int] | None = None,
        policy: Policy | None = None,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.feedback = feedback
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.categorical_features = categorical_features
        self.policy = policy
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    def predict_projection(self, X: Any) -> Floats:
        """The position of every row on the scale, from 1 (certainly the lowest level) to K (certainly the highest)."""
        return np.asarray(self.predict_proba(X) @ np.arange(1.0, len(self.classes_) + 1))

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        assert isinstance(self._form, BoostingForm)
        return len(self._form.schedule.trees.roots)

    @property
    def thresholds_(self) -> Floats:
        raise AttributeError("trees have no thresholds; each row has its own probabilities (predict_proba)")

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        categorical = np.asarray([] if self.categorical_features is None else self.categorical_features)
        if categorical.size and (categorical.dtype.kind not in "iu" or not (categorical >= 0).all()):
            raise ValueError(
                f"categorical_features must be column numbers, 0 or more; got {self.categorical_features!r}"
            )
        if categorical.size and categorical.max() >= n_features:
            raise ValueError(
                f"column {categorical.max()} should be categorical, but the rows have only {n_features} features"
            )
        growth = Growth(
            self.max_iter,
            self.learning_rate,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.l2_regularization,
            tuple(sorted(set(categorical.tolist()))),
        )
        return BoostingForm(growth, n_features)

    def _read_columns(self, X: Any) -> Columns | None:
        if self.categorical_features is not None and hasattr(X, "columns") and all_are_numbers(X):
            return None  # or the numbers of columns would be those of features
        return super()._read_columns(X)

    def _policy(self) -> Policy:
        return Nearby() if self.policy is None else self.policy

    def _directional(self, y: Ints) -> bool:
        return self.feedback == "direction"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class BoostingForm(TreeForm):
    """No score, only the probabilities of trees."""

    takes_missing = True

    def __init__(self, growth: Growth, n_features: int) -> None:
        super().__init__(n_features)
        self.growth = growth

    def start(self, n_levels: int) -> None:
        super().start(n_levels)
        self.schedule = TreeSchedule(self.growth, self.n_features, n_levels)
        self.evenly = Uniform().table(n_levels)

    def check(self, X: Rows) -> Floats | None:
        if np.isinf(X).any():
            raise ValueError(f"Input X contains infinity in row {int(np.argmax(np.isinf(X).any(axis=1)))}")
        return None

    def logits(self, X: Rows) -> Floats:
        self.check(X)
        return self.schedule.trees.logits(X, self.n_levels)

    def table(self, table: Floats) -> Floats:
        """How to ask: evenly about all cuts until there are trees."""
        return table if self.schedule.grown_on else self.evenly

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        begin, answers = 0, np.empty((len(X), 2), np.int64)
        while begin < len(X):
            part = slice(begin, min(begin + self.schedule.room(), len(X)))
            self.schedule.prepare(part.stop - begin, live=False)
            predictions = self.levels(X[part], False)
            loops.play_predicted(
                self.state,
                self.n_levels,
                rule[0],
                self.table(table),
                seed,
                X[part],
                predictions,
                lo[part],
                hi[part],
                answers[part],
            )
            self.schedule.add(X[part], answers[part])
            begin = part.stop
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        prediction = int(self.levels(x.reshape(1, -1), False)[0])
        return prediction, *loops.choose(self.state, self.table(table), seed, prediction)

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        self.schedule.prepare()
        begin = self.schedule.count, self.state[rounds.ROUNDS]
        try:
            return self._learn_answer(x, prediction, asked, propensity, higher)
        except BaseException:
            whole(partial(self._learn_answer, x, prediction, asked, propensity, higher, begin))
            raise

    def _learn_answer(
        self, x: Rows, prediction: int, asked: int, propensity: float, higher: bool,
        begin: tuple[int, float] | None = None,
    ) -> int:  # fmt: skip
        """Learn a whole answer, or, after an interrupt, what is left of it; there were so many answers and rounds."""
        if begin is None or self.schedule.count == begin[0]:
            self.schedule.add(x.reshape(1, -1), np.array([[asked, higher]]), live=True)
        if begin is None or self.state[rounds.ROUNDS] == begin[1]:
            return loops.weigh(self.state, self.n_levels, x.reshape(-1), prediction, asked, propensity, higher)
        return int(begin[1]) + 1

    def look_ahead(
        self, X: Floats, asked: Ints, higher: Bools, parts: Sequence[slice]
    ) -> Generator[tuple[Floats, None], None, None]:
        for part in parts:
            yield X[part], None

    def judge(self, Z: Floats, seen: None, asked: Ints, higher: Bools) -> Ints:
        return self.levels(Z, False)

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        super().adopt(other, cuts, numbers)
        assert isinstance(other, BoostingForm)
        columns = range(other.n_features)
        self.schedule.adopt(other.schedule, columns, columns, numbers)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | self.schedule.arrays()

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        self.schedule.restore(arrays)
