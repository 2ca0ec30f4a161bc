"""Reading rows: arrays, sparse matrices and tables, with the names of their features."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from dford.columns import Column, Columns
from dford.columns.tables import checked_table, has_missing_numbers, has_more_than_numbers, read_table, refuse_array
from dford.feedback import difference
from dford.learners._forms.form import Form, Rows
from dford.log import FeedbackLog
from dford.log_columns import invented
from dford.scale import Scale


class RowReader(BaseEstimator):  # type: ignore[misc]
    """The part of a learner that reads rows.

    A table with more than numbers goes through `columns_`, which the first such table determines. The engine,
    questions and logs only see the features that come out.
    """

    _form: Form
    _scale: Scale

    def _takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix."""
        return False

    def _prefers_sparse(self) -> bool:
        """Whether rows that could be either dense or sparse, such as dicts, should be sparse."""
        return self._takes_sparse()

    def _read_columns(self, X: Any) -> Columns | None:
        """What turns X into numbers, if it is a table with more than numbers, or if some are missing.

        In a table of numbers every column is learned from, as elsewhere in scikit-learn, even one that counts the rows.
        """
        if has_more_than_numbers(X):
            columns = Columns().read(X)
        elif self._fills_missing() and has_missing_numbers(X):
            columns = Columns(dict.fromkeys(read_table(X), "number")).read(X)
        else:
            return None
        self.check_columns(columns)
        return columns

    def check_columns(self, columns: Columns) -> None:
        """Refuse columns whose features this learner cannot learn from."""
        if columns.is_sparse_ and not self._takes_sparse():
            text = next(column.name for column in columns.columns_ if column.is_sparse)
            raise ValueError(f"{type(self).__name__} does not learn from texts such as {text!r}; use Auto")
        if not columns.width_:
            raise ValueError(f"there is nothing to learn from: {'; '.join(one.sentence for one in columns.describe())}")

    def take_columns(self, columns: Columns) -> Self:
        """Read tables with these columns from now on. Their features must be those this model learned from."""
        check_is_fitted(self)
        self.check_columns(columns)
        if columns.width_ != self._form.n_features:
            raise ValueError(f"the columns make {columns.width_} features, but the model has {self._form.n_features}")
        self._take_columns(columns)
        self.feature_names_in_ = columns.feature_names_in_
        return self

    @property
    def _columns(self) -> Columns | None:
        return self.__dict__.get("columns_")

    def _take_columns(self, columns: Columns | None) -> None:
        self.__dict__.pop("columns_", None)
        if columns is not None:
            self.columns_ = columns
            self.n_features_in_ = columns.n_features_in_
            self._form.row_shape = ()

    def _fills_missing(self) -> bool:
        """Whether missing numbers are filled in, with a feature that says so."""
        return False

    def _rows(self, X: Any, anew: bool) -> Rows:
        """X as the engine reads it."""
        features = self._features(X, anew)
        return features if anew else self._scaled(features)

    def _features(self, X: Any, anew: bool) -> Rows:
        """X as numbers, one column for each feature."""
        columns = None if anew else self._columns
        if columns is not None and not self._is_encoded(X):
            X = columns.transform(X)
        # Not checked to be finite: that shows in the rows' squares, so memory is read only once. What needs no check
        # gets none: check_array changes the warning filters of all threads, and pools learn in a thread of their own.
        rows = X
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.flags.c_contiguous and X.size):
            X = checked_table(X)
            try:
                rows = check_array(
                    X,
                    accept_sparse="csr" if self._takes_sparse() else False,
                    dtype=np.float64,
                    order="C",
                    ensure_all_finite=False,
                    estimator=self,
                    input_name="X",
                )
            except (TypeError, ValueError):
                if not anew:
                    self._refuse_column(X)
                refuse_array(X)
                raise
        if not anew and columns is None:
            validate_data(self, X, reset=False, skip_check_array=True)
        if sparse.issparse(rows):
            rows.sum_duplicates()
            if rows.indices.dtype != np.int32 and rows.nnz < 2**31:  # only int32 is compiled
                parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
                rows = type(rows)(parts, shape=rows.shape)
        return rows

    def _refuse_column(self, X: Any) -> None:
        """Name the column of a table in which there is more than numbers, which this model learned from alone."""
        is_frame = hasattr(X, "columns")
        if is_frame:
            validate_data(self, X, reset=False, skip_check_array=True)  # other names are refused as such
        if has_more_than_numbers(X):
            Columns.of([Column(name, "number") for name in read_table(X)]).features(X)
            if not is_frame:
                raise ValueError("X must be an array or a frame of numbers, as in fit; got dicts")

    def _scaled(self, rows: Rows) -> Rows:
        """Rows, or one, as the engine sees them: scaled, if the columns have a scaling. Nobody else sees them so."""
        if self._columns is None or self._columns.scaling_ is None:
            return rows
        return self._columns.scaled(rows) if rows.ndim == 2 else self._columns.scaled(rows[None])[0]

    def _is_encoded(self, X: Any) -> bool:
        """Whether X already holds features, and not a table, which has fewer columns if numbers may be missing."""
        is_numbers = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "iufb")
        return is_numbers and bool(X.shape[-1] == self._form.n_features)

    def _look_at_names(self) -> None:
        """If features have names, make `ask` skip its shortcut, so that names are compared."""
        if self._known_names() is not None:
            self._form.row_shape = ()

    def _check_names(self, names: list[str] | None) -> None:
        """scikit-learn's rule on feature names, for rows that are not frames."""
        known, own = self._known_names(), type(self).__name__
        if (names is None) != (known is None):
            has, had = ("has", "without") if known is None else ("does not have valid", "with")
            warnings.warn(f"X {has} feature names, but {own} was fitted {had} feature names", stacklevel=3)
        elif names is not None and known is not None and names != known:
            raise ValueError(
                "The feature names should match those that were passed during fit, in the same order: "
                f"{difference(names, known)}"
            )

    def _known_names(self) -> list[str] | None:
        names: list[str] | None = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
        return names

    def _log_rows(self, log: FeedbackLog) -> Rows:
        """The rows of a log, which must have the levels and features of this model."""
        if log.scale.names != self._scale.names:
            raise ValueError(f"the model has the levels {self._scale.names}, but the log has {log.scale.names}")
        X, names = log.X, log.feature_names
        width = self._form.n_features
        if len(log) and X.shape[1] != width:
            raise ValueError(f"the model learned with {width} features, but the log has {X.shape[1]}")
        # names like x0, x1, ... in a file look invented, but may have been given
        if names is None and self._known_names() == invented(width):
            names = self._known_names()
        if self._columns is None:
            if len(log):
                self._check_names(names)
        elif names is not None and names != (made := self._columns.feature_names()):
            raise ValueError(f"the log's features do not match this model's columns: {difference(names, made)}")
        return X.toarray() if sparse.issparse(X) and not self._form.takes_sparse else X
