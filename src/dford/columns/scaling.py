"""Features in standard deviations from their mean, for learners to which the scale of features matters."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Floats


class Scaling(NamedTuple):
    """The means and deviations of all features except those of texts. One that never varied becomes 0."""

    mean: list[float]
    deviation: list[float]

    @classmethod
    def of(cls, dense: Floats) -> "Scaling":
        """The means and deviations of these rows."""
        mean, deviation = dense.mean(axis=0), dense.std(axis=0)
        return cls(mean.tolist(), np.where(deviation > 1e-6 * abs(mean), deviation, 0.0).tolist())

    def __call__(self, dense: Floats) -> Floats:
        deviation = np.array(self.deviation)
        scaled: Floats = np.where(deviation > 0, dense - np.array(self.mean), 0.0) / np.where(
            deviation > 0, deviation, 1
        )
        return scaled


def unit_rows(rows: Any) -> Any:
    """Each row divided by its norm, unless that is 0."""
    is_sparse = sparse.issparse(rows)
    if is_sparse:
        rows.sort_indices()  # a sum in another order would have other last bits
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) if is_sparse else np.linalg.norm(rows, axis=1)
    divisors = np.where(norms > 0, norms, 1.0)
    return sparse.csr_matrix(sparse.diags(1 / divisors) @ rows) if is_sparse else rows / divisors[:, None]


def dense_block(rows: Any, columns: int) -> Floats:
    """The first columns, before those of texts."""
    found: Floats = rows[:, :columns].toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return found


def scaled_as_they_come(X: Any, unit: bool = True, dense: int | None = None) -> Any:
    """Rows in standard deviations from the mean, both over the rows up to each, and then divided by their norms.

    As in the reproduction of the paper, but using nothing from the future. Without `unit` they keep their norms. In
    sparse rows, only the first `dense` columns are scaled this way.

    >>> import numpy as np
    >>> scaled_as_they_come(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]))
    array([[0., 0.],
           [1., 0.],
           [1., 0.]])
    """
    if sparse.issparse(X):
        block = sparse.csr_matrix(scaled_as_they_come(dense_block(X, dense or 0), unit=False))
        rows = sparse.hstack([block, X[:, block.shape[1] :]], "csr")
        return unit_rows(rows) if unit else rows
    count = np.arange(1.0, len(X) + 1)[:, None]
    away = np.asarray(X, dtype=np.float64) - X[0]  # already near the mean, so that squares lose no digits
    mean, square = away.cumsum(axis=0) / count, (away**2).cumsum(axis=0) / count
    variance = square - mean**2
    varied = variance > 1e-12 * square  # less is only rounding
    rows = np.where(varied, away - mean, 0.0) / np.sqrt(np.where(varied, variance, 1.0))
    return np.ascontiguousarray(unit_rows(rows) if unit else rows)
