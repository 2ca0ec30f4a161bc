"""The cumulative logit again, slowly: a full matrix, roots by bisection, likelihoods as they are written."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

import naive

Vector = NDArray[np.float64]


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(f, low, high, xtol=1e-14, rtol=1e-14)) if low < high else low


def _moments(rows: list[Vector]) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Mean, deviation, and whether it is more than rounding errors."""
    mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0)
    return mean, deviation, deviation > 1e-12 * np.abs(mean)


class NewtonLogit:
    def __init__(
        self, n_levels: int, n_features: int, features: str, full: bool, variances: Vector, longest: float = np.inf
    ) -> None:
        self.K, self.features, self.full, self.longest = n_levels, features, full, longest
        self.rows: list[Vector] = []
        self.counted: list[Vector] = []  # the rows by which others are standardised
        shares = np.arange(1, n_levels) / n_levels
        self.mean = np.concatenate([np.log(shares / (1 - shares)), np.zeros(len(variances) - n_levels + 1)])
        self.covariance = np.diag(variances)
        self.maps: Vector | None = None

    @property
    def thresholds(self) -> Vector:
        return self.mean[: self.K - 1]

    def phi(self, x: Vector) -> Vector:
        z = np.zeros(len(x))
        if self.features == "sparse":
            for j in np.flatnonzero(x):
                seen = [row[j] for row in self.rows if row[j] != 0]
                if seen:
                    varies = 1 - sum(seen) ** 2 / (np.sum(np.square(seen)) * (len(self.rows) + 1))
                    z[j] = varies * np.clip(x[j] / np.sqrt(np.mean(np.square(seen))), -3, 3)
            square = float(z @ z)
            return z if square <= self.longest else z * np.sqrt(self.longest / square)
        if len(self.rows) > 1:
            mean, deviation, varies = _moments(self.counted)
            z[varies] = np.clip((x - mean)[varies] / deviation[varies], -3, 3)
        if self.features == "poly":
            pairs = [z[i] * z[j] / np.sqrt(2) for i in range(len(z)) for j in range(i, len(z))]
            return np.concatenate([z, pairs])
        if self.maps is not None:
            return np.concatenate([z, np.sqrt(2 / len(self.maps)) * np.cos(self.maps[:, :-1] @ z + self.maps[:, -1])])
        return z

    def f(self, x: Vector) -> float:
        return float(self.mean[self.K - 1 :] @ self.phi(x))

    def predict(self, x: Vector) -> int:
        f = self.f(x)
        if np.abs(f - self.thresholds).min() < 1e-7:
            raise naive.Tie
        return 1 + int((self.thresholds < f).sum())

    def _step(self, u: Vector, change: float, curvature: float) -> None:
        s = self.covariance @ u
        v = u @ s
        if v > 0:
            self.mean = self.mean + change / v * s
        self.covariance = self.covariance - curvature / (1 + curvature * v) * np.outer(s, s)
        if not self.full:
            self.covariance = np.diag(np.diag(self.covariance))
        self.mean[: self.K - 1] = isotonic_regression(self.mean[: self.K - 1])

    def _u(self, x: Vector | None, cuts: dict[int, float]) -> Vector:
        u = np.zeros(len(self.mean))
        for i, value in cuts.items():
            u[i - 1] = value
        if x is not None:
            u[self.K - 1 :] = self.phi(x)
        return u

    def bit(self, x: Vector, level: int, higher: bool) -> None:
        u = self._u(x, {level: -1.0})
        a, v = self.mean @ u, u @ self.covariance @ u
        end = float(v * (higher - expit(a)))
        d = _root(lambda d: d - v * (higher - expit(a + d)), min(end, 0.0), max(end, 0.0))
        self._step(u, d, expit(a + d) * expit(-a - d))

    def interval(self, x: Vector, lo: int, hi: int) -> None:
        if lo > 1:
            self.bit(x, lo - 1, True)
        if hi < self.K:
            self.bit(x, hi, False)
        if lo > 1 and hi < self.K:
            u = self._u(None, {hi: 1.0, lo - 1: -1.0})
            g, v = self.mean @ u, u @ self.covariance @ u
            d = _root(lambda d: d - float(v / np.expm1(g + d)), 1e-12, float(v + 1.0 + g))
            self._step(u, d, np.exp(g + d) / np.expm1(g + d) ** 2)

    def see(self, x: Vector) -> None:
        """Far-out values count for ten deviations; the first 16 rows are left out again if they had any."""
        self.rows.append(x)
        if self.counted and len(self.rows) > 16:
            mean, deviation, varies = _moments(self.counted)
            x = np.where(varies, np.clip(x, mean - 10 * deviation, mean + 10 * deviation), x)
        self.counted.append(x)
        if len(self.rows) == 32:
            later = self.rows[16:]
            _, deviation, varies = _moments(later)
            far_out = varies & (np.std(self.counted, axis=0) > 10 * deviation)
            self.counted = list(np.where(far_out, later * 2, self.counted))
