"""The same rounds in NumPy, and those of other libraries: what dford is measured against."""

from bisect import bisect_right

import numpy as np
from river.linear_model import LogisticRegression
from scipy.linalg.blas import dsymv, dsyr
from threadpoolctl import threadpool_limits

from dford import DFORD, Triangular
from dford.arrays import Floats, Ints
from dford.engine.counter import uniforms

K = 5
EXPLORATION = 0.4
GAMMA = 0.1  # of the rbf kernel
TABLE = Triangular(EXPLORATION).table(K)


def paper_loop(X: Floats, y: Ints, random: np.random.Generator) -> float:
    """The paper's box line by line, with lambda = 1; returns the running mean absolute error."""
    levels = np.arange(1, K + 1)
    w, theta, error = np.zeros(X.shape[1]), np.zeros(K - 1), 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=2):
        f = w @ x
        above = np.flatnonzero(f - theta <= 0)
        prediction = above[0] + 1 if above.size else K
        heights = 1 + max(prediction, K - prediction) - np.abs(levels - prediction)
        P = (1 - EXPLORATION) * (levels == prediction) + EXPLORATION * heights / heights.sum()
        asked = random.choice(K, p=P) + 1
        z = (2 * (asked < label) - 1) / P * (levels == asked)
        tau = np.where(z[:-1] * (f - theta) <= 0, z[:-1], 0.0)
        w = (1 - 1 / t) * w + tau.sum() / t * x
        theta = (1 - 1 / t) * theta - tau / t
        error += abs(prediction - label)
    return float(error / len(y))


def settle(
    f: float, label: int, u: float, cuts: list[float], P: list[list[float]], sums: list[list[float]]
) -> tuple[int, float]:
    """All of a round but the score, in plain numbers, as NumPy is slow at these: (prediction, tau)."""
    prediction = 1
    while prediction < K and f > cuts[prediction - 1]:
        prediction += 1
    asked = bisect_right(sums[prediction - 1], u)  # from 0
    if asked == K - 1:
        return prediction, 0.0
    tau = (1.0 if asked + 1 < label else -1.0) / P[prediction - 1][asked]
    if tau * (f - cuts[asked]) > 0.0:
        return prediction, 0.0
    cuts[asked] -= tau
    return prediction, tau


def tuned_loop(X: Floats, y: Ints, draws: Floats) -> float:
    """The same rounds on running sums: with steps 1 / t they are the weights up to a factor that changes no sign."""
    P, sums = TABLE.tolist()
    w, cuts, error = np.zeros(X.shape[1]), [0.0] * (K - 1), 0
    for x, label, u in zip(X, y.tolist(), draws.tolist(), strict=True):
        prediction, tau = settle(float(w.dot(x)), label, u, cuts, P, sums)
        error += abs(prediction - label)
        if tau:
            w += tau * x
    return error / len(y)


def rbf_score(coefficients: Floats, rows: Floats, norms: Floats, x: Floats, square: float) -> float:
    return float(coefficients @ np.exp(-GAMMA * (norms + square - 2.0 * (rows @ x))))


def rbf_loop(X: Floats, y: Ints, draws: Floats, window: int) -> float:
    """The window as a ring. Rounds that taught nothing stay in it with coefficient 0, as in the paper's sum."""
    P, sums = TABLE.tolist()
    size = window + 1
    rows, norms, coefficients = np.zeros((size, X.shape[1])), np.zeros(size), np.zeros(size)
    squares = (X * X).sum(axis=1).tolist()
    cuts, error = [0.0] * (K - 1), 0
    for t, (x, square, label, u) in enumerate(zip(X, squares, y.tolist(), draws.tolist(), strict=True)):
        f = rbf_score(coefficients, rows, norms, x, square)
        prediction, tau = settle(f, label, u, cuts, P, sums)
        error += abs(prediction - label)
        place = t % size
        rows[place], norms[place], coefficients[place] = x, square, tau
    return error / len(y)


def rbf_scores(X: Floats, rows: Floats) -> None:
    """Only the line of `rbf_loop` that computes the score."""
    squares = (X * X).sum(axis=1).tolist()
    norms, coefficients = (rows * rows).sum(axis=1), np.ones(len(rows))
    for x, square in zip(X, squares, strict=True):
        rbf_score(coefficients, rows, norms, x, square)


def blas_loop(n: int, rounds: int, cores: int | None) -> None:
    """A symmetric product and a rank-one update per round: what a step of Newton's method consists of."""
    S, u = np.asfortranarray(np.eye(n)), np.full(n, 0.01)
    with threadpool_limits(cores):
        for _ in range(rounds):
            s = dsymv(1.0, S, u)
            S = dsyr(-1e-6, s, a=S, overwrite_a=True)


def river_loop(rows: list[dict[int, float]], higher: list[bool]) -> None:
    model = LogisticRegression()
    for x, bit in zip(rows, higher, strict=True):
        model.predict_one(x)
        model.learn_one(x, bit)


def draws_of(seed: int, n: int) -> Floats:
    return uniforms(seed, np.arange(n))


def check_peers(X: Floats, y: Ints) -> None:
    """The loops above play the rounds that DFORD plays: given the same draws, they make the same errors."""
    draws = draws_of(0, len(y))
    assert tuned_loop(X, y, draws) == DFORD(random_state=0).fit(X, y).trace_.mae[-1]
    rbf = DFORD(kernel="rbf", gamma=GAMMA, window=100, random_state=0).fit(X, y)
    assert rbf_loop(X, y, draws, 100) == rbf.trace_.mae[-1]
    # `choice` looks up one uniform draw in the running sums of P
    assert paper_loop(X, y, np.random.default_rng(0)) == tuned_loop(X, y, np.random.default_rng(0).random(len(y)))
