"""Features that are missing of some items."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from dford.engine._compiled import Bools, Floats
from dford.learners import Rows


class Filling(NamedTuple):
    """Which features may be missing, and what is filled in: their mean. The first rows say so."""

    may_miss: Bools
    means: Floats

    @classmethod
    def of(cls, rows: Rows) -> "Filling":
        if sparse.issparse(rows):  # of which what is not there is zero
            return cls(np.zeros(rows.shape[1], np.bool_), np.zeros(rows.shape[1]))
        means = [np.mean(column[~np.isnan(column)]) if not np.isnan(column).all() else 0.0 for column in rows.T]
        return cls(np.isnan(rows).sum(axis=0) > 0, np.array(means))

    def lacking(self, X: Rows) -> Bools:
        """The rows that lack what the first ones always had: whoever learned from those knows nothing of these."""
        if sparse.issparse(X):
            return np.zeros(X.shape[0], np.bool_)
        missing = np.isnan(X)
        return (missing & ~self.may_miss).sum(axis=1) > 0 if missing.any() else np.zeros(len(X), np.bool_)

    def fill(self, X: Rows) -> Rows:
        """With columns that say what was missing, for the features of which something may be."""
        if sparse.issparse(X):
            return X
        missing = np.isnan(X)
        if not self.may_miss.any() and not missing.any():
            return X
        return np.column_stack([np.where(missing, self.means, X), missing[:, self.may_miss]])
