"""The form of NewtonLogit for sparse rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford.arrays import Bools, Floats, Ints
from dford.engine import loops, rounds, sparse_newton, vectors
from dford.learners._forms.form import Form, Rows
from dford.learners._forms.newton import GaussianForm, even_cuts, of_shape, start_variances


class SparseNewtonForm(GaussianForm):
    """For rows whose entries are mostly zero: features scaled and weighted by how much they vary; diagonal covariance.

    A row whose scaled features have a sum of squares above `longest` is shortened to it.
    """

    takes_sparse = True

    def __init__(self, forget: float, n_features: int, longest: float = math.inf) -> None:
        super().__init__(n_features)
        self.forget, self.longest = float(forget), longest
        self.n_weights = n_features

    def start(self, n_levels: int) -> None:
        super().start(n_levels)
        self.cuts[:] = even_cuts(n_levels)
        self.covariance = start_variances(n_levels, self.n_weights)
        self.moments = np.zeros((3, self.n_features))
        self.work = np.empty(0)  # holds a scaled row

    def squares(self, X: Rows) -> Floats:
        X = as_csr(X)
        return vectors.sparse_squares(X.data, X.indptr)

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        return self._scores(X)[0]

    def variances(self, X: Rows) -> Floats:
        return self._scores(X)[1]

    def _scores(self, X: Rows) -> tuple[Floats, Floats]:
        X = as_csr(X)
        return sparse_newton.scores_sparse_newton(
            self.state, self.n_levels, self.moments, self.longest, self.covariance, X.data, X.indices, X.indptr
        )

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        assert squares is not None
        X = as_csr(X)
        sparse_newton.learn_sparse_newton(
            self.state, self.n_levels, rule[0], table, seed, self.moments, self.longest, self.covariance, self.forget,
            X.data, X.indices, X.indptr, squares, lo, hi,
        )  # fmt: skip
        return True

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        x = as_csr(x)
        return sparse_newton.tell_sparse_newton(
            self.state,
            self.n_levels,
            self.moments,
            self.longest,
            self.covariance,
            self.forget,
            x.data,
            x.indices,
            vectors.sparse_squares(x.data, x.indptr)[0],
            prediction,
            asked,
            propensity,
            higher,
        )

    def score_one(self, x: Rows) -> float:
        self._make_room(x)
        return sparse_newton.score_sparse_newton(
            self.state, self.n_levels, self.moments, self.longest, x.data, x.indices, self.work
        )  # fmt: skip

    def learn_scored(self, x: Rows, f: float, asked: int, higher: bool) -> None:
        sparse_newton.learn_scored_sparse_newton(
            self.state, self.n_levels, self.moments, self.covariance, self.forget, x.data, x.indices, self.work, f,
            asked, higher,
        )  # fmt: skip

    def learn_many(self, X: Rows, asked: Ints, higher: Bools) -> tuple[Floats, Floats]:
        self._make_room(X)
        scores, cuts = np.empty(len(asked)), np.empty((len(asked) + 1, self.n_levels - 1))
        sparse_newton.learn_answers_sparse_newton(
            self.state, self.n_levels, self.moments, self.longest, self.covariance, self.forget,
            X.data, X.indices, X.indptr, self.work, asked, higher, scores, cuts,
        )  # fmt: skip
        return scores, cuts

    def _make_room(self, X: Rows) -> None:
        most = int(np.diff(X.indptr).max(initial=0))
        if most > self.work.size:
            self.work = np.empty(2 * most)

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        super().adopt(other, cuts, numbers)
        assert isinstance(other, SparseNewtonForm)
        self.moments[:, : other.n_features] = other.moments
        old_cuts = other.n_levels - 1
        self.covariance[len(cuts) + np.arange(other.n_weights)] = other.covariance[old_cuts:]
        once = np.flatnonzero(np.diff(cuts, prepend=-1))  # a cut that copies another is free to move away from it
        self.covariance[once] = other.covariance[cuts[once]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing is kept for features that were never seen: they are as they were at the start."""
        seen = np.flatnonzero(self.moments[0])
        first = self.n_levels - 1 + seen
        return {
            "state": np.delete(self.state, self._unseen(seen, rounds.CUTS)),
            "moments": self.moments[:, seen],
            "covariance": np.concatenate([self.covariance[: self.n_levels - 1], self.covariance[first]]),
            "seen": seen.astype(np.int64),
        }

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        self.start(n_levels)
        seen = arrays.get("seen", np.arange(self.n_features))  # files of early versions have all features
        if seen.ndim != 1 or seen.dtype.kind != "i" or (np.diff(seen, prepend=-1) <= 0).any():
            raise ValueError("the features that were seen are not in order")
        if len(seen) and seen[-1] >= self.n_features:
            raise ValueError(f"feature {seen[-1]} was seen, but there are only {self.n_features}")
        shape, cuts = (len(seen),), n_levels - 1
        state = self.state.copy()
        kept = np.delete(np.arange(len(state)), self._unseen(seen, rounds.CUTS))
        state[kept] = of_shape(kept.shape, "state", arrays)
        moments = of_shape((3, *shape), "moments", arrays)
        covariance = of_shape((cuts + len(seen),), "covariance", arrays)
        super().restore(n_levels, {**arrays, "state": state})
        self.moments[:, seen] = moments
        self.covariance[:cuts], self.covariance[cuts + seen] = covariance[:cuts], covariance[cuts:]

    def _unseen(self, seen: Ints, first: int) -> Ints:
        """The places in the state of the weights of all other features."""
        return first + self.n_levels - 1 + np.setdiff1d(np.arange(self.n_features), seen)


def as_csr(X: Rows) -> Rows:
    """Rows, or one row, as a sparse matrix."""
    return X if sparse.issparse(X) else sparse.csr_matrix(X)
