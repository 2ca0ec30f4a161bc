"""The forms that keep a window of rounds, and the choice among all forms.

Explicit   weights over explicit features: linear and polynomial kernels
Direct     the window's rows and coefficients: rbf, and polynomials with very many monomials
Foreign    the same for a kernel given as a function
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats, Ints
from dford.engine import kernels, loops, rounds, vectors, windows
from dford.learners._forms.form import Form, KernelFunction, Linear, Rows, missing

_FOR_EVER = 2**62
MOST_MONOMIALS = 10**6
_LEAST_ROOM = 256


def make_form(
    kernel: str | KernelFunction, degree: int, gamma: float, coef0: float, window: int | None, n_features: int
) -> "Form":
    if callable(kernel):
        return Foreign(kernel, window, n_features)
    if kernel == "linear":
        return Linear(n_features) if window is None else Explicit((kernels.LINEAR, 1.0, 0.0, 1), window, n_features)
    if kernel == "poly":
        code = (kernels.POLY, float(gamma), float(coef0), int(degree))
        n_monomials = kernels.feature_count(n_features, degree)
        # Explicit features cost a few passes over the monomials, whatever the window; direct evaluation costs
        # one pass over the window's rows, some of which are empty. Small maps are cheap either way.
        if n_monomials <= min(max(1000, (window or _FOR_EVER) * n_features // 2), MOST_MONOMIALS):
            return Explicit(code, window, n_features)
        return Direct(code, window, n_features)
    return Direct((kernels.RBF, float(gamma), 0.0, 1), window, n_features)


class _Windowed(Form):
    """Buffers of rows, terms and the rounds they came in, with the live entries always contiguous.

    Rounds that taught nothing count towards the window but take no memory.
    """

    by_column = False  # whether rows are stored as columns, so that the engine's loops run along entries

    def __init__(self, window: int | None, n_features: int) -> None:
        super().__init__(n_features)
        self.window = _FOR_EVER if window is None else window
        self.rows, self.terms, self.stamps = self._buffers(_LEAST_ROOM)

    def _buffers(self, size: int) -> tuple[Floats, Floats, Ints]:
        rows = np.empty((self.n_features, size) if self.by_column else (size, self.n_features))
        return rows, np.zeros((2, size)), np.empty(size, np.int64)

    def live(self) -> tuple[Floats, Floats, Ints]:
        """Rows, terms and stamps in the window, oldest first."""
        first = int(self.state[rounds.START])
        part = slice(first, first + int(self.state[rounds.COUNT]))
        return self.rows[:, part] if self.by_column else self.rows[part], self.terms[:, part], self.stamps[part]

    def make_room(self) -> None:
        """If the buffers are full, move the live entries to the front of buffers twice as large."""
        if self.state[rounds.START] + self.state[rounds.COUNT] < self.stamps.size:
            return
        live, count = self.live(), int(self.state[rounds.COUNT])
        rows, terms, stamps = self._buffers(max(_LEAST_ROOM, 2 * count))
        (rows[:, :count] if self.by_column else rows[:count])[...], terms[:, :count], stamps[:count] = live
        # there is no call in this statement, so an interrupt comes before all of it or after
        self.rows, self.terms, self.stamps, self.state[rounds.START] = rows, terms, stamps, 0.0

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        super().adopt(other, cuts, numbers)
        assert isinstance(other, _Windowed)
        rows, self.terms, self.stamps = other.live()
        added = (0, self.n_features - other.n_features)
        self.rows = np.pad(rows, (added, (0, 0)) if self.by_column else ((0, 0), added))
        self.terms = np.ascontiguousarray(self.terms)
        self.state[rounds.START] = 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        state = self.state.copy()
        state[rounds.START] = 0.0  # so that equal models make equal files
        rows, terms, stamps = self.live()
        return {"state": state, "rows": rows.copy(), "terms": terms.copy(), "stamps": stamps.copy()}

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        self.rows, self.terms, self.stamps = arrays["rows"], arrays["terms"], arrays["stamps"]
        count = int(self.state[rounds.COUNT])
        expected = (self.n_features, count) if self.by_column else (count, self.n_features)
        if self.rows.shape != expected or self.terms.shape != (2, count) or self.stamps.shape != (count,):
            raise ValueError(f"the window has shape {self.rows.shape}; expected {expected}")


class _Compiled(_Windowed):
    """A windowed form whose kernel the engine knows."""

    def __init__(self, kernel: windows.Kernel, window: int | None, n_features: int) -> None:
        self.kernel = kernel
        super().__init__(window, n_features)

    def squares(self, X: Rows) -> Floats:
        kind, gamma, coef0, degree = self.kernel
        return kernels.self_kernels(kind, vectors.squares(X), gamma, coef0, degree)

    def _play(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats, lo: Ints, hi: Ints, done: int
    ) -> int:
        raise missing(self, "_play(...)", "which plays rounds until the window is full")

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        assert squares is not None
        done = 0
        while done < len(X):
            self.make_room()
            done = self._play(rule, table, seed, X, squares, lo, hi, done)
        return True


class Explicit(_Compiled):
    def __init__(self, kernel: windows.Kernel, window: int | None, n_features: int) -> None:
        super().__init__(kernel, window, n_features)
        if window is None:
            self.window = 0  # the weights hold the whole sum, so no row is kept
        kind, gamma, coef0, degree = kernel
        self.roots = np.ones(0)
        self.n_weights = n_features
        if kind == kernels.POLY:
            self.roots = kernels.feature_weights(n_features, degree, gamma, coef0)
            self.n_weights = self.roots.size

    def places_of(self, other: Form) -> Any:
        if self.kernel[0] != kernels.POLY:
            return super().places_of(other)
        degree = self.kernel[3]
        places = {variables: k for k, variables in enumerate(kernels.monomials(self.n_features, degree))}
        return [places[variables] for variables in kernels.monomials(other.n_features, degree)]

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        return windows.scores_explicit(self.weights, self.kernel, self.roots, X)

    def _play(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats, lo: Ints, hi: Ints, done: int
    ) -> int:
        return windows.learn_explicit(
            self.state, self.n_levels, rule, table, seed, self.rows, self.terms, self.stamps,
            self.window, self.kernel, self.roots, X, squares, lo, hi, done,
        )  # fmt: skip

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        X = x.reshape(1, -1)
        self.make_room()
        return windows.tell_explicit(
            self.state, self.n_levels, rule, self.rows, self.terms, self.stamps, self.window,
            self.kernel, self.roots, X, self.checked_squares(X)[0], prediction, asked, propensity, higher,
        )  # fmt: skip


class Direct(_Compiled):
    by_column = True

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        return windows.scores_direct(self.state, self.rows, self.terms, self.kernel, X)

    def _play(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats, lo: Ints, hi: Ints, done: int
    ) -> int:
        return windows.learn_direct(
            self.state, self.n_levels, rule, table, seed, self.rows, self.terms, self.stamps,
            self.window, self.kernel, X, squares, lo, hi, done,
        )  # fmt: skip

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        X = x.reshape(1, -1)
        self.make_room()
        return windows.tell_direct(
            self.state, self.n_levels, rule, self.rows, self.terms, self.stamps, self.window,
            self.kernel, X, self.checked_squares(X)[0], prediction, asked, propensity, higher,
        )  # fmt: skip


class Foreign(_Windowed):
    """`kernel(A, B)` returns the matrix of k(a, b), as scikit-learn's pairwise kernels do."""

    may_refuse = True

    def __init__(self, kernel: KernelFunction, window: int | None, n_features: int) -> None:
        self.kernel = kernel
        super().__init__(window, n_features)

    def _gram(self, A: Floats, B: Floats) -> Floats:
        shape = (len(A), len(B))
        if 0 in shape:
            return np.zeros(shape)
        gram = np.ascontiguousarray(self.kernel(A, B), dtype=np.float64)
        if gram.shape != shape:
            raise ValueError(f"the kernel must return an array of shape {shape} for these rows; got {gram.shape}")
        return gram

    def squares(self, X: Rows) -> Floats:
        return np.array([self._gram(row[None], row[None])[0, 0] for row in X])

    def scores(self, X: Rows) -> Floats:
        self.check(X)
        rows, terms, _ = self.live()
        return loops.scores_dense(np.ascontiguousarray(terms[0]), self._gram(X, rows))

    def _score_one(self, X: Rows) -> tuple[float, Floats]:
        rows, terms, _ = self.live()
        values = self._gram(X, rows)
        if not np.isfinite(values).all():
            raise ValueError("the kernel gave NaN or infinity for two finite rows; it must be finite everywhere")
        return loops.scores_dense(np.ascontiguousarray(terms[0]), values)[0], values[0]

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        assert squares is not None
        for r in range(len(X)):
            self.make_room()
            f, values = self._score_one(X[r : r + 1])
            c = loops.play_scored(
                self.state, self.terms, self.n_levels, rule, table, seed, X[r : r + 1], f, squares[r], lo[r], hi[r]
            )
            self._absorb(c, values, X[r])
        return True

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        X = x.reshape(1, -1)
        self.make_room()
        (f, values), square = self._score_one(X), self.checked_squares(X)[0]
        before = self.state, self.terms
        self.state, self.terms = self.state.copy(), self.terms.copy()
        try:
            c = loops.answer_scored(
                self.state, self.terms, self.n_levels, rule, X, f, square, prediction, asked, propensity, higher
            )
            self._absorb(c, values, X[0])
        except BaseException:
            self.state, self.terms = before
            raise
        return int(self.state[rounds.ROUNDS])

    def _absorb(self, c: float, values: Floats, x: Floats) -> None:
        """Like the engine's `absorb_direct`."""
        state = self.state
        start, count = int(state[rounds.START]), int(state[rounds.COUNT])
        if c != 0.0:
            self.terms[1, start : start + count] += c * values
            place = start + count
            self.rows[place], self.terms[:, place] = x, (c, 0.0)
            self.stamps[place] = int(state[rounds.ROUNDS])
            state[rounds.COUNT] += 1.0
        if state[rounds.COUNT] > 0.0 and self.stamps[start] < state[rounds.ROUNDS] - self.window:
            own = self._gram(self.rows[start : start + 1], self.rows[start : start + 1])[0, 0]
            windows.leave_scored(state, self.terms, start, own)
