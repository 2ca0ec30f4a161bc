"""Every round again, slowly, from the paper: dense decay, probabilities of each round, Gram sums.

It uses nothing from dford. Where the paper contradicts itself the reading is that of the page "The paper and
this library". Numbers are Python floats; the engine keeps other ones (undecayed sums), so comparing f with
a threshold that is too close for rounding to settle raises `Tie`, unless both are empty sums.
"""

import math
import struct
from collections.abc import Callable, Sequence

Row = Sequence[float]
Kernel = Callable[[Row, Row], float]
MASK = 2**64 - 1


class Tie(Exception):  # noqa: N818
    pass


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed: int, n: int) -> float:
    golden = 0x9E3779B97F4A7C15
    return (_mix((_mix((seed + golden) & MASK) + n * golden) & MASK) >> 11) / 2**53


def _bits(x: float) -> int:
    """As 64 bits, with one NaN and one zero."""
    return int.from_bytes(struct.pack(">d", x + 0.0), "big") if x == x else 0x7FF8000000000000


def fingerprint(x: Row, square: float, level: int, higher: bool) -> tuple[float, float]:
    """(key, print) of an answer about a row; of a label learned as such, level 0."""
    golden, told = 0x9E3779B97F4A7C15, 2 * level + higher
    key = _mix(((_bits(square) + 2**23 >> 24) + (told << 40) + golden) & MASK)
    row = sum(_mix((_bits(value) + j * golden) & MASK) for j, value in enumerate(x) if value != 0)
    own = _mix((row + _mix(told * golden & MASK)) & MASK)
    return (key >> 11) / 2**53, (own >> 11) / 2**53


def linear(x: Row, z: Row) -> float:
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def poly(degree: int, gamma: float, coef0: float) -> Kernel:
    return lambda x, z: (gamma * linear(x, z) + coef0) ** degree


def rbf(gamma: float) -> Kernel:
    def kernel(x: Row, z: Row) -> float:
        exponent = -gamma * math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))
        return math.exp(exponent) if exponent > -708 else 0.0  # nothing below the smallest normal number

    return kernel


def triangular(prediction: int, n_levels: int, exploration: float) -> list[float]:
    """Equations 4 to 6 of the paper, with the closed forms of Z."""
    p, K = prediction, n_levels
    z = (2 * K + 1) * p - p**2 - K * (K - 1) / 2 if 2 * p >= K else K * (K + 1) / 2 - p * (p - 1)
    farthest = max(p, K - p)
    return [(1 - exploration) * (i == p) + exploration * (1 + farthest - abs(i - p)) / z for i in range(1, K + 1)]


class Learner:
    """f as a list of terms, and K - 1 thresholds."""

    def __init__(
        self,
        n_levels: int,
        kernel: Kernel = linear,
        window: int | None = None,
        clip: float | None = None,
        always: bool = False,
        regularization: float = 1.0,
    ) -> None:
        self.n_levels, self.kernel, self.window = n_levels, kernel, window
        self.clip, self.always, self.regularization = clip, always, regularization
        self.t = 2
        self.digits_lost = 1.0
        self.terms: list[tuple[int, float, Row]] = []  # round, coefficient, row
        self.gone: list[tuple[int, float, Row]] = []  # left the window, but rounding may remember them
        self.thresholds = [0.0] * (n_levels - 1)
        self.sizes = [0.0] * (n_levels - 1)  # of what was added to and subtracted from each

    def f(self, x: Row) -> float:
        return math.fsum(c * self.kernel(z, x) for _, c, z in self.terms)

    def predict(self, x: Row) -> int:
        self._check_ties(x)
        f = self.f(x)
        for i, threshold in enumerate(self.thresholds, start=1):
            if f <= threshold:
                return i
        return self.n_levels

    def _check_ties(self, x: Row) -> None:
        f = self.f(x)
        # at |x| and |z| the kernel is the sum of the sizes of what it adds up at x and z
        absolute = [abs(a) for a in x]
        size_f = math.fsum(abs(c) * self.kernel([abs(a) for a in z], absolute) for _, c, z in self.terms + self.gone)
        for threshold, size in zip(self.thresholds, self.sizes, strict=True):
            if abs(f - threshold) <= 1e-9 * (size_f + size) and size_f + size > 0:
                raise Tie

    def tau(self, x: Row, z: Sequence[float]) -> list[float]:
        self._check_ties(x)
        f = self.f(x)
        return [zi if zi * (f - th) <= 0 else 0.0 for zi, th in zip(z, self.thresholds, strict=True)]

    def norm_f(self) -> float:
        return math.fsum(a * b * self.kernel(x, z) for _, a, x in self.terms for _, b, z in self.terms)

    def step(self, x: Row, tau: Sequence[float]) -> None:
        """One gradient step of length 1 / (lambda t) on lambda |u|^2 / 2 + hinge."""
        lam, eta, total = self.regularization, 1 / (self.regularization * self.t), math.fsum(tau)
        shrink = 1.0
        if self.clip is not None:
            g_f = lam**2 * self.norm_f() - 2 * lam * total * self.f(x) + total**2 * self.kernel(x, x)
            g_theta = [lam * th + ta for th, ta in zip(self.thresholds, tau, strict=True)]
            norm = math.sqrt(max(g_f + math.fsum(g * g for g in g_theta), 0.0))
            if norm > self.clip or (self.always and norm > 0):
                shrink = self.clip / norm
        decay = 1 - eta * lam * shrink
        if self.always and norm > 0:
            # A step of fixed length from nearly as far away lands near 0 with the old rounding errors: how
            # many digits are left is a product over rounds, and with few left there is nothing to compare.
            size = lam * math.sqrt(max(self.norm_f(), 0.0) + math.fsum(th * th for th in self.thresholds)) + norm
            self.digits_lost *= (1 + abs(1 - decay) * size / norm) / max(abs(decay), 1e-12)
            if self.digits_lost > 1e5:
                raise Tie
        self.terms, self.gone = ([(r, c * decay, z) for r, c, z in terms] for terms in (self.terms, self.gone))
        if total != 0:
            self.terms.append((self.t, eta * shrink * total, list(x)))
        if self.window is not None:
            oldest = self.t - self.window
            self.gone += [term for term in self.terms if term[0] < oldest]
            self.terms = [term for term in self.terms if term[0] >= oldest]
        self.thresholds = [th * decay - eta * shrink * ta for th, ta in zip(self.thresholds, tau, strict=True)]
        self.sizes = [abs(s * decay) + abs(eta * shrink * ta) for s, ta in zip(self.sizes, tau, strict=True)]
        self.t += 1

    def loss(self, x: Row, lo: int, hi: int) -> float:
        """The regularised loss of [lo, hi] at the current parameters."""
        f, hinge = self.f(x), 0.0
        for i, threshold in enumerate(self.thresholds, start=1):
            z = int(i < lo) - int(i >= hi)
            hinge += max(0.0, -z * (f - threshold))
        squares = self.norm_f() + math.fsum(th * th for th in self.thresholds)
        return self.regularization / 2 * squares + hinge

    def ask(self, x: Row, u: float, probabilities: Callable[[int, int], Sequence[float]]) -> tuple[int, int, float]:
        prediction = self.predict(x)
        p = probabilities(prediction, self.n_levels)
        running = 0.0
        for level in range(1, self.n_levels + 1):
            running += p[level - 1]
            if u < running:
                return prediction, level, p[level - 1]
        level = max(i for i in range(1, self.n_levels + 1) if p[i - 1] > 0)
        return prediction, level, p[level - 1]

    def tell_dford(self, x: Row, level: int, propensity: float, higher: bool) -> None:
        z = [(2 * higher - 1) / propensity if i == level else 0.0 for i in range(1, self.n_levels)]
        # where z is 0, z (f - theta) <= 0 holds and tau is z = 0
        self.step(x, self.tau(x, z))

    def learn_interval(self, x: Row, lo: int, hi: int) -> None:
        self.step(x, self.tau(x, [float(int(i < lo) - int(i >= hi)) for i in range(1, self.n_levels)]))
