"""Turning a table into features: fitted once, saved with the model, and the same everywhere."""

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dford.columns.column import KINDS, Column, Kind
from dford.columns.described import Described, describe, unlearned
from dford.columns.image_reader import ImageReader
from dford.columns.reading import read_column
from dford.columns.scaling import Scaling, dense_block, unit_rows
from dford.columns.tables import Table, categories_of, length, read_table
from dford.columns.texts import PLACES
from dford.columns.values import ColumnError

VERSION = 1
_LARGEST_VECTOR = 100_000
_TYPES = [(int, float) if isinstance(one, float) else type(one) for one in Column("", "")]


class Columns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table into features: numbers, categories, texts, vectors, images and dates, each as is best learned from.

    The table is a pandas or polars frame, an Arrow table, an array, a list of dicts, or a dict of equally long columns.
    What is fitted is kept in `columns_` and never changes. Texts become sparse features: `transform` then returns a
    sparse matrix whose first `n_dense_` columns are the other features.

    Parameters
    ----------
    kinds : dict, optional
        The kinds of columns by name, if they should not be read from the values: "number", "category", "text",
        "vector", "image", "date", or "shown" for a column not to learn from. A list names ordered categories, lowest
        first, which are learned from as one number.
    files : path or ImageReader, optional
        The folder of the images that a column names, or an object that reads them.
    encoder : path, optional
        An ONNX model that turns images into vectors, instead of the built-in descriptor.

    Attributes
    ----------
    columns_ : list of Column
        How each column is read; `describe` says it in words.
    n_dense_ : int
        How many of the features do not come from texts; they come first.
    n_features_in_ : int
        The number of columns.

    Examples
    --------
    >>> from dford import Columns
    >>> rows = [{"text": "a fine film", "price": 5}, {"text": "what a bore", "price": 7}]
    >>> columns = Columns().fit(rows)
    >>> columns.transform(rows).shape
    (2, 65537)
    >>> for column in columns.describe():
    ...     print(column.sentence)
    text: text, learned from through its words and their parts
    price: a number
    """

    columns_: list[Column]
    scaling_: Scaling | None = None

    def __init__(
        self,
        kinds: Mapping[str, Kind] | None = None,
        *,
        files: str | os.PathLike[str] | ImageReader | None = None,
        encoder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.kinds = kinds
        self.files = files
        self.encoder = encoder

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out from these rows what the columns are, and warn if nothing is learned from some of them."""
        self.read(X)
        self.warn_of_unlearned(stacklevel=3)
        return self

    def read(self, X: Any) -> Self:
        """Like `fit`, without a warning about what is not learned from."""
        table, said = read_table(X), {str(name): kind for name, kind in (self.kinds or {}).items()}
        if unknown := set(said) - set(table):
            raise ColumnError(f"there is no column {min(unknown)!r}", "unknown-column", min(unknown))
        if table and not length(table):
            raise ColumnError("the table has no rows, from which to see what its columns are; give it some first")
        said = {name: order or "category" for name, order in categories_of(X, list(table)).items()} | said
        images = self._images()
        self._take([read_column(name, given, said.get(name), images) for name, given in table.items()])
        return self

    def warn_of_unlearned(self, stacklevel: int) -> None:
        """Warn once, naming all columns that are not learned from although nobody asked for that."""
        if sentence := unlearned(self.columns_):
            warnings.warn(sentence, stacklevel=stacklevel)

    def transform(self, X: Any) -> Any:
        """The features of every row: an array, or a sparse matrix if there are texts."""
        table = self._table(X)
        features = self.features(table)
        for sentence in [*self.unforeseen(table), *self._unread(table, features)]:
            warnings.warn(sentence, stacklevel=2)
        return features

    def unforeseen(self, X: Any) -> list[str]:
        """One sentence for each column that has missing values here, but had none when it was fitted.

        A text may be missing anywhere, but not everywhere, and some category of several must be known.
        """
        table = self._table(X)
        found = []
        for column in self.columns_:
            if column.kind == "category" and column.categories:
                lost = column.is_lost(table[column.name])
                there = [value for value, missing in zip(table[column.name], lost, strict=True) if not missing]
                if len(there) > 1 and all(column.place(value) is None for value in there):
                    found.append(
                        f"none of the {len(there)} values of {column.name} is one of its categories, such as "
                        f"{column.categories[0]!r}"
                    )
            if column.is_learned_from and not column.missing:
                count = int(column.is_lost(table[column.name]).sum())
                if column.is_sparse:
                    if count == length(table) > 1:
                        found.append(f"{column.name} is missing in all {count} rows, so its words say nothing here")
                elif count:
                    found.append(
                        f"{column.name} is missing in {count} of {length(table)} rows, but was in none when the "
                        f"columns were fitted; {column.instead} used instead"
                    )
        return found

    def _unread(self, table: Table, features: Any) -> list[str]:
        """One sentence for each column with images that could not be read, according to its last feature."""
        found, end = [], 0
        for column in self.columns_:
            end += column.width
            if column.kind != "image":
                continue
            named, last = ~column.is_lost(table[column.name]), features[:, [end - 1]]
            unread = np.flatnonzero(named & ((last.toarray() if sparse.issparse(last) else last)[:, 0] == 1))
            if len(unread):
                found.append(
                    f"{len(unread)} of the {named.sum()} images in {column.name} cannot be read, such as "
                    f"{str(table[column.name][unread[0]])[:40]!r}; they count as missing"
                )
        return found

    def features(self, X: Any) -> Any:
        """Like `transform`, without a warning about what is missing."""
        table = self._table(X)
        n, learned = length(table), [column for column in self.columns_ if column.is_learned_from]
        images = self._images() if any(column.kind == "image" for column in learned) else None
        dense = [np.empty((n, 0)), *(c.dense(table[c.name], images) for c in learned if not c.is_sparse)]
        block = np.concatenate(dense, axis=1)
        if not self.is_sparse_:
            return block
        texts = sum((c.sparse(table[c.name]) for c in learned if c.is_sparse), sparse.csr_matrix((n, PLACES)))
        return sparse.hstack([sparse.csr_matrix(block), texts], "csr")

    def scaled(self, features: Any) -> Any:
        """Features as a model with this scaling sees them; without one, they stay as they are."""
        if self.scaling_ is None:
            return features
        block = dense_block(features, self.n_dense_)
        if not np.isfinite(block).all():  # which will be refused, as what it is
            return features
        block = self.scaling_(block)
        if sparse.issparse(features):
            return unit_rows(sparse.hstack([sparse.csr_matrix(block), features[:, self.n_dense_ :]], "csr"))
        return unit_rows(block)

    def describe(self) -> list[Described]:
        """How each column is read, and which are not learned from."""
        check_is_fitted(self)
        return [describe(column) for column in self.columns_]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the features; those of texts are "#0", "#1", ..."""
        check_is_fitted(self)
        names = [name for column in self.columns_ if not column.is_sparse for name in column.features()]
        return np.array([*names, *(f"#{place}" for place in range(PLACES if self.is_sparse_ else 0))], dtype=object)

    def feature_names(self) -> list[str]:
        """`get_feature_names_out` as a list."""
        names: list[str] = self.get_feature_names_out().tolist()
        return names

    @property
    def is_sparse_(self) -> bool:
        """Whether there are texts."""
        return any(column.is_sparse for column in self.columns_)

    @property
    def width_(self) -> int:
        """How many features there are."""
        return self.n_dense_ + (PLACES if self.is_sparse_ else 0)

    def to_json(self) -> str:
        """What was fitted, as text."""
        check_is_fitted(self)
        scaling = {} if self.scaling_ is None else {"scaling": self.scaling_._asdict()}
        return json.dumps({"version": VERSION, "columns": [_stored(column) for column in self.columns_], **scaling})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The fitted columns that `to_json` wrote."""
        try:
            read = json.loads(text)
            if not isinstance(read, dict):  # from an early version
                return cls.of(read_columns(read))
            if read.get("version") != VERSION:
                raise ValueError(
                    f"this dford does not know columns of version {read.get('version')!r}; install a newer one"
                )
            scaling = Scaling(**read["scaling"]) if "scaling" in read else None
            found = cls.of(read_columns(read["columns"]), scaling)
            if scaling is not None and not np.isfinite(np.array(scaling).reshape(2, found.n_dense_)).all():
                raise ValueError("the scaling does not match the columns")
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"these columns were not written by dford ({error!r})") from None
        return found

    @classmethod
    def of(
        cls, columns: Sequence[Column], scaling: Scaling | None = None, images: ImageReader | None = None
    ) -> Self:  # fmt: skip
        """A fitted `Columns` with these columns. Images are read by `images`.

        With a scaling, `scaled` scales rows by it and then to unit length. `transform` does not.
        """
        found = cls(files=images)
        found._take(list(columns))
        found.scaling_ = scaling
        return found

    def _images(self) -> ImageReader | None:
        if self.files is None or isinstance(self.files, ImageReader):
            return self.files
        return ImageReader.of(self.files, self.encoder)

    def _take(self, columns: list[Column]) -> None:
        self.columns_, self.scaling_ = columns, None
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        self.n_dense_ = sum(column.width for column in columns)

    def _table(self, X: Any) -> Table:
        check_is_fitted(self)
        table = read_table(X)
        names, known = list(table), self.feature_names_in_.tolist()
        if lacking := [column.name for column in self.columns_ if column.is_learned_from and column.name not in table]:
            sentence = f"there is no column {lacking[0]!r}; the columns are {', '.join(map(repr, names))}"
            raise ColumnError(sentence, "unknown-column", lacking[0])
        if strange := [name for name in names if name not in known]:
            which = f"column {strange[0]!r} was" if len(strange) == 1 else f"columns {str(strange)[1:-1]} were"
            raise ColumnError(
                f"{which} not there when the columns were fitted; leave out what is new", "unknown-column"
            )
        return table


def _stored(column: Column) -> dict[str, Any]:
    """What is stored of a column: columns that are no ratings as before there were any."""
    return {name: value for name, value in column._asdict().items() if name != "ratings" or value}


def read_columns(stored: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Stored columns, including those of early versions."""
    found = []
    for one in stored:
        old = "missing" not in one
        kind = "shown" if old and one["kind"] == "text" else one["kind"]
        lists = {"categories": tuple(one["categories"]), "ratings": tuple(map(float, one.get("ratings", ())))}
        column = Column(**{**one, **lists, "kind": kind})
        fits = all(isinstance(value, kind) for value, kind in zip(column, _TYPES, strict=True))
        fits = fits and math.isfinite(column.mean) and all(isinstance(value, str) for value in column.categories)
        if not fits or kind not in (*KINDS, "order", "words") or not 0 <= column.size <= _LARGEST_VECTOR:
            raise ValueError(f"this dford does not know columns of kind {kind!r} and size {column.size!r}")
        found.append(column)
    return found
