"""Named ways to scale features."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

WAYS = ("none", "standard", "unit")


def normalise(X: ArrayLike, how: str = "unit") -> NDArray[np.float64]:
    """Scale the features of a dataset, all rows at once.

    The means and deviations are those of the whole dataset, as in the paper's experiments: right for comparing
    learners on a file, but not available in a live stream.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    how : {"none", "standard", "unit"}
        "none": as they are. "standard": every column has mean 0 and standard deviation 1, and a constant one is 0.
        "unit": "standard", then every row is divided by its Euclidean norm, except rows of zeros. The paper says only
        that features are normalised; this reading comes closest to its figures.

    Examples
    --------
    >>> normalise([[1.0, 5.0], [3.0, 5.0]], "standard")
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    if how not in WAYS:
        raise ValueError(f"normalise must be one of {', '.join(WAYS)}; got {how!r}")
    X = np.array(X, dtype=np.float64, order="C")
    if how == "none" or not len(X):
        return X
    # compared exactly, because rounding may leave a constant column a deviation above 0
    varies = X.max(axis=0) > X.min(axis=0)
    scale = np.where(varies, X.std(axis=0), 1.0)
    X = np.where(varies, (X - X.mean(axis=0)) / scale, 0.0)
    if how == "unit":
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X /= np.where(norms > 0, norms, 1.0)
    return X
