"""NewtonLogit: the cumulative logit, one second-order step an answer."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from dford.engine import counter, kernels, loops, newton, rounds, vectors
from dford.engine._compiled import Floats, Ints
from dford.learners._forms import LARGEST_SQUARE, Form, Rows, refuse_large
from dford.learners._live import LiveLearner
from dford.policies import Boundary, Policy

_KINDS = {"linear": newton.LINEAR, "poly": newton.POLY, "fourier": newton.FOURIER}
_MOST_FULL = 600  # parameters; beyond, a full covariance costs more than a third of a millisecond an answer
_VARIANCE_OF_CUTS, _VARIANCE_OF_WEIGHTS, _VARIANCE_OF_COSINES = 4.0, 1.0, 10.0


class NewtonLogit(LiveLearner):
    """The cumulative logit from any feedback: P(level > i) = sigmoid(f(x) - threshold_i).

    It keeps a Gaussian over weights and thresholds and moves both by every answer through its likelihood, so
    that nothing of an answer is thrown away and no step size is needed. Features may come raw: they are
    standardised by running means and deviations. The prediction is the median level, which has the least
    expected absolute error. Thresholds are always in order.

    Parameters
    ----------
    feedback : "direction" or "label", default="direction"
        What `fit` and `partial_fit` take of labels: one answer to one question each, or the label itself.
        Intervals, as an (n, 2) array of lowest and highest level, are always learned as such.
    features : "linear", "poly" or "fourier", default="linear"
        The features; with all products of two; or with `n_components` random cosines.
    n_components : int, default=300
        Cosines of "fourier".
    covariance : "auto", "full" or "diagonal", default="auto"
        Full costs the square of the number of parameters an answer, diagonal is linear in it. Auto is full up
        to 600 parameters.
    forget : float, default=0.0
        How much of what is known an answer makes doubtful, in [0, 1): about the last 1 / `forget` answers count.
        For scales that drift.
    policy : Policy, optional
        How levels are asked; `Boundary(0.2)` where not given.
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
        **LiveLearner._parameter_constraints,
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

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every level, with the uncertainty of the weights taken in (MacKay 1992)."""
        check_is_fitted(self)
        form = self._form
        assert isinstance(form, NewtonForm)
        rows = self._rows(X, anew=False)
        spread = np.sqrt(1.0 + np.pi / 8.0 * np.maximum(form.variances(rows), 0.0))
        # one spread for all thresholds, so that P(level > i) falls with i for every row
        logits = (form.scores(rows)[:, None] - form.cuts) / spread[:, None]
        above = 1.0 / (1.0 + np.exp(np.clip(-logits, -700, 700)))
        return -np.diff(above, axis=1, prepend=1.0, append=0.0)

    def _make_form(self, n_features: int) -> Form:
        return NewtonForm(_KINDS[self.features], self.covariance, self.n_components, self.forget, n_features)

    def _make_rule(self) -> loops.Rule:
        return True, True, np.inf, False, False

    def _policy(self) -> Policy:
        return Boundary(0.2) if self.policy is None else self.policy

    def _directional(self, y: Ints) -> bool:
        return y.ndim == 1 and self.feedback == "direction"

    def _labels(self, y: Any) -> Any:
        y = np.asarray(y)
        return y if y.ndim == 2 and y.shape[1] == 2 else column_or_1d(y, warn=True)


class NewtonForm(Form):
    """The engine's arrays: running moments, covariance, and the vectors of a step."""

    def __init__(self, kind: int, covariance: str, n_components: int, forget: float, n_features: int) -> None:
        super().__init__(n_features)
        self.forget = float(forget)
        self.kind = kind
        self.maps = np.empty((1, 1))
        self.n_weights = n_features
        if kind == newton.POLY:
            self.n_weights = kernels.feature_count(n_features, 2) - 1
        elif kind == newton.FOURIER:
            self.n_weights = n_features + n_components
            self.maps = _cosines(n_components, n_features)
        self.wanted = covariance

    def start(self, n_levels: int) -> None:
        super().start(n_levels)
        self.state[rounds.SPREAD] = 1.0
        n, n_cuts = n_levels - 1 + self.n_weights, n_levels - 1
        shares = np.arange(1, n_levels) / n_levels
        self.cuts[:] = np.log(shares / (1 - shares))
        variances = np.full(n, _VARIANCE_OF_WEIGHTS)
        variances[:n_cuts] = _VARIANCE_OF_CUTS
        if self.kind == newton.FOURIER:
            variances[n_cuts + self.n_features :] = _VARIANCE_OF_COSINES
        self.full = self.wanted == "full" or (self.wanted == "auto" and n <= _MOST_FULL)
        self.covariance = variances
        if self.full:
            self.covariance = np.zeros(n * (n + 1) // 2)
            k = np.arange(n)
            self.covariance[k * (k + 3) // 2] = variances  # the diagonal of a lower triangle, row by row
        self.moments = np.zeros((3, self.n_features))
        self.work = np.zeros((3, n))

    def check(self, X: Rows) -> Floats:
        squares = vectors.squares(X)
        refuse_large(X, squares)
        return squares

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        n = self.work.shape[1]
        return newton.scores_newton(self.state, self.n_levels, self.moments, self.kind, self.maps, n, X)

    def variances(self, X: Rows) -> Floats:
        """The variance of the score at every row."""
        n = self.work.shape[1]
        settled = self._settled() * self.state[rounds.SPREAD]
        return newton.variances_newton(self.n_levels, self.moments, settled, self.kind, self.maps, n, X)

    def _settled(self) -> Floats:
        """The covariance over its spread, with nothing pending."""
        return newton.settled(self.state, self.covariance, self.work)

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        newton.learn_newton(
            self.state, self.n_levels, rule[0], table, seed, self.moments, self.covariance, self.kind, self.maps,
            self.work, self.forget, X, lo, hi,
        )  # fmt: skip
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        question = newton.ask_newton(
            self.state, self.n_levels, table, seed, self.moments, self.kind, self.maps, self.work, LARGEST_SQUARE, x
        )  # fmt: skip
        if question[1] == 0:
            refuse_large(x, vectors.squares(x.reshape(1, -1)))
        return question

    def tell(self, rule: loops.Rule, x: Rows, asked: int, propensity: float, higher: bool) -> int:
        return newton.tell_newton(
            self.state, self.n_levels, self.moments, self.covariance, self.kind, self.maps, self.work, self.forget, x,
            asked, higher,
        )  # fmt: skip

    def adopt(self, other: Form, cuts: Ints) -> None:
        super().adopt(other, cuts)
        assert isinstance(other, NewtonForm)
        self.state[rounds.PENDING], self.state[rounds.SPREAD] = 0.0, 1.0
        self.moments[:, : other.n_features] = other.moments
        # what two new numbers have in common is what the old ones they stand for have; a new weight has its own
        old_cuts = other.n_levels - 1
        source = np.full(self.work.shape[1], -1)
        source[: len(cuts)] = cuts
        weights = np.arange(self.n_weights)[self.places_of(other)]
        source[len(cuts) + weights] = old_cuts + np.arange(other.n_weights)
        known = np.flatnonzero(source >= 0)
        mine, theirs = self.matrix(), other.matrix()
        kept = mine[np.diag_indices_from(mine)].copy()
        mine[np.ix_(known, known)] = theirs[np.ix_(source[known], source[known])]
        # a cut that is a copy of another is free to leave it
        twice = np.flatnonzero(np.diff(cuts, prepend=-1) == 0)
        mine[twice, twice] = kept[twice]
        self._set_matrix(mine)

    def places_of(self, other: Form) -> Any:
        if self.kind == newton.POLY:
            places = {variables: k for k, variables in enumerate(kernels.monomials(self.n_features, 2)[1:])}
            return [places[variables] for variables in kernels.monomials(other.n_features, 2)[1:]]
        if self.kind == newton.FOURIER:
            added = self.n_features - other.n_features
            return [j if j < other.n_features else j + added for j in range(other.n_weights)]
        return super().places_of(other)

    def matrix(self) -> Floats:
        """The covariance as a square."""
        settled: Floats = self._settled() * self.state[rounds.SPREAD]
        if not self.full:
            return np.diag(settled)
        n = self.work.shape[1]
        square = np.zeros((n, n))
        square[np.tril_indices(n)] = settled
        return square + np.tril(square, -1).T

    def _set_matrix(self, square: Floats) -> None:
        self.covariance = np.ascontiguousarray(square[np.tril_indices(len(square))] if self.full else np.diag(square))

    def arrays(self) -> dict[str, NDArray[Any]]:
        state = self.state.copy()
        state[rounds.PENDING] = 0.0  # it is made in the covariance, so that equal models make equal files
        return {"state": state, "moments": self.moments.copy(), "covariance": self._settled()}

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        for name in ("moments", "covariance"):
            expected, found = getattr(self, name), arrays[name]
            if found.shape != expected.shape or not np.isfinite(found).all():
                raise ValueError(f"{name} of shape {found.shape} where finite ones of {expected.shape} were expected")
            setattr(self, name, found)


def _cosines(n_components: int, n_features: int) -> Floats:
    """Frequencies and a phase for each cosine, from a stream of their own: the same map for every model.

    Frequencies are normal with variance 1 / n_features, so that the kernel they stand for is
    exp(-|z - z'|**2 / (2 n_features)). Feature j's are the same however many there are, so that new ones may come.
    """
    numbers = np.arange(n_components * (n_features + 1)).reshape(n_features + 1, n_components)
    one, two = (counter.uniforms(seed, numbers.ravel()).reshape(numbers.shape) for seed in (1, 2))
    normal = np.sqrt(-2.0 * np.log1p(-one)) * np.cos(2.0 * np.pi * two)
    maps = np.empty((n_components, n_features + 1))
    maps[:, :n_features] = normal[1:].T / np.sqrt(n_features)
    maps[:, n_features] = 2.0 * np.pi * one[0]
    return maps
