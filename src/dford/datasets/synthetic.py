"""The paper's synthetic stream."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

THRESHOLDS = (-1.0, -0.1, 0.25, 1.0)


def make_synthetic(
    n_samples: int = 10_000, *, noise: float = 0.125, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of the unit square in five levels (Crammer and Singer 2001, section 4).

    The level of x is one plus the number of thresholds -1, -0.1, 0.25, 1 below
    10 (x1 - 1/2) (x2 - 1/2) + e, where e is normal with standard deviation `noise`.

    >>> X, y = make_synthetic(1000, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [1, 2, 3, 4, 5])
    """
    random = check_random_state(random_state)
    X = random.uniform(size=(n_samples, 2))
    score = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + noise * random.normal(size=n_samples)
    return X, 1 + np.searchsorted(np.array(THRESHOLDS), score)
