"""Features that some items lack."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Bools, Floats
from dford.learners import Rows


class Filling(NamedTuple):
    """Which features may be missing, and what is filled in: their mean. Both are taken from the first rows."""

    may_miss: Bools
    means: Floats

    @classmethod
    def of(cls, rows: Rows) -> "Filling":
        if sparse.issparse(rows):  # in which what is not stored is zero, not missing
            return cls(np.zeros(rows.shape[1], np.bool_), np.zeros(rows.shape[1]))
        means = [np.mean(column[~np.isnan(column)]) if not np.isnan(column).all() else 0.0 for column in rows.T]
        return cls(np.isnan(rows).sum(axis=0) > 0, np.array(means))

    def lacking(self, X: Rows) -> Bools:
        """The rows that lack a feature which the first ones always had, so a learner knows nothing about them."""
        if sparse.issparse(X):
            return np.zeros(X.shape[0], np.bool_)
        missing = np.isnan(X)
        return (missing & ~self.may_miss).sum(axis=1) > 0 if missing.any() else np.zeros(len(X), np.bool_)

    def fill(self, X: Rows) -> Rows:
        """Fill in missing values, with a column that says which they were for each feature that may be missing."""
        if sparse.issparse(X):
            return X
        missing = np.isnan(X)
        if not self.may_miss.any() and not missing.any():
            return X
        return np.column_stack([np.where(missing, self.means, X), missing[:, self.may_miss]])
