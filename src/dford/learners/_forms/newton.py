"""The form of NewtonLogit: a Gaussian over thresholds and weights."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter, elementary, kernels, loops, newton, rounds, vectors
from dford.learners._forms.form import LARGEST_SQUARE, Form, Rows, missing, refuse_large

_MOST_FULL = 600  # parameters; with more, a full covariance takes over a third of a millisecond per answer
_VARIANCE_OF_COSINES = 10.0


class GaussianForm(Form):
    """A score with a variance, and ordered cuts."""

    moments: Floats
    covariance: Floats
    work: Floats

    def variances(self, X: Rows) -> Floats:
        """The variance of the score at every row."""
        raise missing(self, "variances(X)", "the variance of the score at every row")

    def logits(self, X: Rows) -> Floats:
        """The log-odds that each row is above levels 1..K-1, at the mean of the weights."""
        return self.scores(X)[:, None] - self.cuts

    def above(self, X: Rows) -> Floats:
        """P(level > i), taking the uncertainty of the weights into account (MacKay 1992)."""
        spread = np.sqrt(1.0 + np.pi / 8.0 * np.maximum(self.variances(X), 0.0))
        # one spread for all thresholds, so that P(level > i) falls with i for every row
        return loops.sigmoids(self.logits(X) / spread[:, None])

    def score_one(self, x: Rows) -> float:
        """The score of a checked row, whose answer may then be learned by `learn_scored`."""
        raise missing(self, "score_one(x)", "the score of a row")

    def learn_scored(self, x: Rows, f: float, asked: int, higher: bool) -> None:
        """Learn an answer about the row that was last scored."""
        raise missing(self, "learn_scored(...)", "which learns an answer about a row that was scored")

    def learn_many(self, X: Rows, asked: Ints, higher: Bools) -> tuple[Floats, Floats]:
        """Both for many rows: the score of each before its answer, and the cuts before each and after the last."""
        raise missing(self, "learn_many(...)", "which scores and learns many rows")

    def fork(self) -> Self:
        """A copy that can learn while this one stays as it is."""
        other = copy.copy(self)
        other.become(self, copied=True)
        return other

    def become(self, other: "GaussianForm", copied: bool = False) -> None:
        for name in ("state", "moments", "covariance", "work"):
            array = getattr(other, name)
            setattr(self, name, array.copy() if copied else array)


class NewtonForm(GaussianForm):
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
        self.cuts[:] = even_cuts(n_levels)
        variances, n = start_variances(n_levels, self.n_weights), n_levels - 1 + self.n_weights
        if self.kind == newton.FOURIER:
            variances[n_levels - 1 + self.n_features :] = _VARIANCE_OF_COSINES
        self.full = self.wanted == "full" or (self.wanted == "auto" and n <= _MOST_FULL)
        self.covariance = variances
        if self.full:
            self.covariance = np.zeros(n * (n + 1) // 2)
            k = np.arange(n)
            self.covariance[k * (k + 3) // 2] = variances  # the diagonal of a lower triangle, row by row
        self.moments = np.zeros((5, self.n_features))
        self.work = np.zeros((3, n))

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        n = self.work.shape[1]
        return newton.scores_newton(self.state, self.n_levels, self.moments, self.kind, self.maps, n, X)

    def variances(self, X: Rows) -> Floats:
        n = self.work.shape[1]
        settled = self._settled()
        return newton.variances_newton(self.n_levels, self.moments, settled, self.kind, self.maps, n, X)

    def _settled(self) -> Floats:
        """The covariance divided by its spread, with nothing pending."""
        return newton.updated(self.state, self.covariance, self.work)

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        assert squares is not None
        newton.learn_newton(
            self.state, self.n_levels, rule[0], table, seed, self.moments, self.covariance, self.kind, self.maps,
            self.work, self.forget, X, squares, lo, hi,
        )  # fmt: skip
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        question = newton.ask_newton(
            self.state, self.n_levels, table, seed, self.moments, self.kind, self.maps, self.work, LARGEST_SQUARE, x
        )  # fmt: skip
        if question[1] == 0:
            refuse_large(x, vectors.squares(x.reshape(1, -1)))
        return question

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        return newton.tell_newton(
            self.state, self.n_levels, self.moments, self.covariance, self.kind, self.maps, self.work, self.forget, x,
            prediction, asked, propensity, higher,
        )  # fmt: skip

    def score_one(self, x: Rows) -> float:
        return newton.score_newton(self.state, self.n_levels, self.moments, self.kind, self.maps, self.work, x)

    def learn_scored(self, x: Rows, f: float, asked: int, higher: bool) -> None:
        newton.learn_scored_newton(
            self.state, self.n_levels, self.moments, self.covariance, self.work, self.forget, x, f, asked, higher
        )

    def learn_many(self, X: Rows, asked: Ints, higher: Bools) -> tuple[Floats, Floats]:
        scores, cuts = np.empty(len(X)), np.empty((len(X) + 1, self.n_levels - 1))
        newton.learn_answers_newton(
            self.state, self.n_levels, self.moments, self.covariance, self.kind, self.maps, self.work, self.forget,
            X, asked, higher, scores, cuts,
        )  # fmt: skip
        return scores, cuts

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        super().adopt(other, cuts, numbers)
        assert isinstance(other, NewtonForm)
        self.state[rounds.PENDING] = 0.0
        self.moments[:, : other.n_features] = other.moments
        # two new parameters have the covariance of the old ones they copy; a new weight keeps its starting variance
        old_cuts = other.n_levels - 1
        source = np.full(self.work.shape[1], -1)
        source[: len(cuts)] = cuts
        weights = np.arange(self.n_weights)[self.places_of(other)]
        source[len(cuts) + weights] = old_cuts + np.arange(other.n_weights)
        known = np.flatnonzero(source >= 0)
        mine, theirs = self.matrix(), other.matrix()
        kept = mine[np.diag_indices_from(mine)].copy()
        mine[np.ix_(known, known)] = theirs[np.ix_(source[known], source[known])]
        # a cut that copies another is free to move away from it
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
        settled = self._settled()
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
        state[rounds.PENDING] = 0.0  # it is applied to the covariance below, so that equal models make equal files
        moments = self.moments[: 5 if self.moments[3:].any() else 3].copy()  # the last two are only used for a while
        return {"state": state, "moments": moments, "covariance": self._settled()}

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        if arrays["moments"].shape[:1] == (3,):
            arrays = {**arrays, "moments": np.pad(arrays["moments"], ((0, 2), (0, 0)))}
        self.moments = of_shape(self.moments.shape, "moments", arrays)
        self.covariance = of_shape(self.covariance.shape, "covariance", arrays)


def even_cuts(n_levels: int) -> Floats:
    """Cuts that make all levels equally likely at f = 0."""
    shares = np.arange(1, n_levels) / n_levels
    return elementary.logs(shares / (1 - shares))


def start_variances(n_levels: int, n_weights: int) -> Floats:
    variances = np.full(n_levels - 1 + n_weights, newton.VARIANCE_OF_WEIGHTS)
    variances[: n_levels - 1] = newton.VARIANCE_OF_CUTS
    return variances


def of_shape(shape: tuple[int, ...], name: str, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """An array from a file, checked because compiled code will trust it."""
    found = arrays[name]
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{name} of shape {found.shape} where finite ones of {shape} were expected")
    return found


def _cosines(n_components: int, n_features: int) -> Floats:
    """Frequencies and a phase for each cosine, from separate streams: the same map for every model.

    Frequencies are normal with variance 1 / n_features, so that they approximate the kernel
    exp(-|z - z'|**2 / (2 n_features)). The draws for feature j do not depend on n_features, so features can be added.
    """
    numbers = np.arange(n_components * (n_features + 1)).reshape(n_features + 1, n_components)
    one, two = (counter.uniforms(seed, numbers.ravel()) for seed in (1, 2))
    normal = np.sqrt(-2.0 * elementary.logs(1.0 - one)) * elementary.cosines(2.0 * np.pi * two)
    maps = np.empty((n_components, n_features + 1))
    maps[:, :n_features] = normal.reshape(numbers.shape)[1:].T / np.sqrt(n_features)
    maps[:, n_features] = 2.0 * np.pi * one[:n_components]
    return maps
