"""Random streams and settings for the comparisons with the naive reference."""

import os
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive

# in all; each of the eight tests in test_reference.py plays its share
N_STREAMS = int(os.environ.get("DFORD_STREAMS", "800")) // 8

seeds = st.integers(0, 2**31 - 1)


def some(runs: int) -> range:
    """Runs of a simulation that shows how often something holds: all in `make slow`, else a quarter of them."""
    return range(runs if "DFORD_STREAMS" in os.environ else runs // 4)


@st.composite
def streams(draw: st.DrawFn, max_rounds: int = 40) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """(X, y, K): gaussian, integer, constant or half-empty rows, with labels that do or do not follow them."""
    random = np.random.default_rng(draw(seeds))
    n, d, K = draw(st.integers(1, max_rounds)), draw(st.integers(1, 11)), draw(st.integers(2, 8))
    X = random.normal(size=(n, d))
    match draw(st.sampled_from(["gaussian", "integers", "same", "zeros", "long"])):
        case "integers":
            X = random.integers(-2, 3, size=(n, d)).astype(float)
        case "same":
            X[:] = X[0]
        case "zeros":
            X *= random.random((n, d)) < 0.3
        case "long":
            X *= 30
    y = random.integers(1, K + 1, size=n)
    if draw(st.booleans()):
        y = 1 + np.digitize(X[:, 0], np.linspace(-1, 1, K - 1))
    return X, y, K


kernels = st.sampled_from(
    [
        (naive.linear, {"kernel": "linear"}),
        (naive.poly(2, 1.0, 1.0), {"kernel": "poly", "degree": 2}),
        (naive.poly(3, 0.3, 0.5), {"kernel": "poly", "degree": 3, "gamma": 0.3, "coef0": 0.5}),
        (naive.poly(1, 0.7, 0.0), {"kernel": "poly", "degree": 1, "gamma": 0.7, "coef0": 0.0}),
        (naive.rbf(0.2), {"kernel": "rbf", "gamma": 0.2}),
    ]
)


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    clip = draw(st.sampled_from([None, 0.3, 2.0, 10.0]))
    return {
        "window": draw(st.sampled_from([None, 1, 2, 5, 100])),
        "clip": clip,
        "always_rescale": clip is not None and draw(st.booleans()),
        "regularization": draw(st.sampled_from([1.0, 0.01, 32.0])),
        "random_state": draw(st.integers(0, 2**32 - 1)),
    }


def reference(K: int, kernel: naive.Kernel, chosen: dict[str, Any]) -> naive.Learner:
    return naive.Learner(
        K, kernel, chosen["window"], chosen["clip"], chosen["always_rescale"], chosen["regularization"]
    )
