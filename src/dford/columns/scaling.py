"""Features in standard deviations from their mean, for learners to which the scale of features matters."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.engine._compiled import Floats


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
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) if is_sparse else np.linalg.norm(rows, axis=1)
    divisors = np.where(norms > 0, norms, 1.0)
    return sparse.csr_matrix(sparse.diags(1 / divisors) @ rows) if is_sparse else rows / divisors[:, None]
