"""Tables of any kind as columns of values: pandas and polars frames, Arrow tables, arrays, rows as dicts."""

import math
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.columns.values import Values, is_missing, number, word
from dford.feedback import as_names, check_columns, is_dict, labels_of
from dford.log_columns import invented

Table = dict[str, Values]
_MORE = "for texts, categories and dates, pass a frame or a list of dicts"


def read_table(X: Any) -> Table:
    """The columns of X by name; those without names are called x0, x1, ..."""
    if is_dict(X):
        check_columns(X)  # by position, whatever index a Series has
        return _with_names(
            {name: one if isinstance(one, (list, tuple, np.ndarray)) else _values(one) for name, one in X.items()}
        )
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        found = {name: [row.get(name) for row in X] for name in dict.fromkeys(name for row in X for name in row)}
        if not found:
            raise ValueError("the rows of the table have no columns; without any, pass numpy.empty((n, 0)) for n rows")
        return _with_names(found)
    labels = labels_of(X)
    if labels is None:
        rows = np.asarray(checked_table(X))
        if rows.ndim != 2:
            raise ValueError(f"a table must have rows and columns; got an array of shape {rows.shape}")
        return dict(zip(invented(rows.shape[1]), rows.T, strict=True))
    names = as_names(labels) or invented(len(labels))
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ValueError(f"column names must be distinct; {twice[0]!r} appears twice")
    return {name: _values(X[label]) for name, label in zip(names, labels, strict=True)}


def checked_table(X: Any) -> Any:
    """X if it is a table, where a dict of columns becomes a list of rows; anything else is refused.

    A frame without columns, which scikit-learn does not read, becomes an array.
    """
    if is_dict(X):
        table = read_table(X)
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(f"X must be a table, not a file; read it first, for example pandas.read_csv({str(X)!r})")
    labels = labels_of(X)  # refuses a frame that has not been read
    if labels is not None and not len(labels):
        return np.empty((len(X), 0))
    if isinstance(X, (list, tuple)) and len({isinstance(row, Mapping) for row in X}) > 1:
        strange = next(row for row in X if not isinstance(row, Mapping))
        raise ValueError(f"some rows are dicts and some are not, such as {strange!r:.40}; pass a dict for each row")
    is_list = isinstance(X, Sequence) and not isinstance(X, bytes)
    if not (is_list or hasattr(X, "shape") or hasattr(X, "__array__")) or getattr(X, "shape", None) == ():
        raise TypeError(f"X must be a table, with a row for each item: a frame, an array or a list; got {X!r:.80}")
    return X


def _with_names(columns: Mapping[Any, Values]) -> Table:
    """The same with names that are text: those of dicts may be numbers, which a file would turn into text."""
    table = {str(name): column for name, column in columns.items()}
    if len(table) < len(columns):
        twice = next(name for name in columns if not isinstance(name, str) and str(name) in columns)
        raise ValueError(f"column names must be distinct, but {twice!r} and {str(twice)!r} look the same; rename one")
    return table


def categories_of(X: Any, names: Sequence[str] | None = None) -> dict[str, list[str] | None]:
    """The columns whose type says that they are categorical, each with its categories if these are ordered.

    They go by their labels, or else by `names`, which are in the same order.
    """
    found: dict[str, list[str] | None] = {}
    labels = labels_of(X)
    for label, name in () if labels is None else zip(labels, names or map(str, labels), strict=True):
        column = X[label]
        kind: Any = getattr(column, "dtype", getattr(column, "type", None))
        if hasattr(kind, "ordered"):  # pandas or Arrow
            found[name] = [word(value) for value in _categories(column, kind)] if kind.ordered else None
        elif type(kind).__name__ in {"Enum", "Categorical"}:  # polars
            found[name] = list(kind.categories) if type(kind).__name__ == "Enum" else None
    return found


def _categories(column: Any, kind: Any) -> Any:
    if hasattr(kind, "categories"):
        return kind.categories
    return column.unify_dictionaries().chunk(0).dictionary.to_pylist() if column.num_chunks else []


def has_more_than_numbers(X: Any) -> bool:
    """Whether X is a table with columns that are not numbers; numbers that name categories are not."""
    if is_dict(X) or (isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping)):
        return True
    if labels_of(X) is None:
        return False
    return bool(categories_of(X)) or not all_are_numbers(X)


def all_are_numbers(X: Any) -> bool:
    """Whether all values of a frame are numbers, whatever its types say about them."""
    return all(isinstance(column, np.ndarray) for column in read_table(X).values())


def refuse_array(X: Any) -> None:
    """Say in one sentence what an array or a list of rows holds besides numbers, if it does."""
    is_list = isinstance(X, (np.ndarray, list, tuple))
    values = np.asarray(X, dtype=object).ravel().tolist() if is_list else []
    if getattr(getattr(X, "dtype", None), "kind", "") == "c" or any(isinstance(value, complex) for value in values):
        raise ValueError("Complex data not supported: an array must hold real numbers; pass both parts as features")
    for value in values:
        if isinstance(value, (list, tuple, np.ndarray)):
            raise ValueError(f"all rows must have one number for each feature; got {value!r:.40}")
        if value is not None and not isinstance(value, (Real, Mapping, Decimal)) and math.isnan(number(value)):
            raise ValueError(
                f"an array must hold numbers only, but has {str(value)[:40]!r}; "
                + ("pass NaN for a missing one, or a frame" if is_missing(value) else _MORE)
            )


def has_missing_numbers(X: Any) -> bool:
    """Whether numbers are missing from an array, or from a table of numbers."""
    if labels_of(X) is None:
        return isinstance(X, np.ndarray) and X.ndim == 2 and _has_missing(X)
    return any(map(_has_missing, read_table(X).values()))


def _has_missing(numbers: NDArray[Any]) -> bool:
    if numbers.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()  # reads memory once, which `isnan` does twice and more
    return not np.isfinite(total) and bool(np.isnan(numbers).any())


def as_table(x: Any) -> Any:
    """A single row, which may be a dict, a Series or a vector, as a table."""
    if is_dict(x):
        return [x]
    if hasattr(x, "iloc") and x.ndim == 1:
        return [dict(zip(as_names(x.index) or invented(len(x)), x.tolist(), strict=True))]
    return np.asarray(x)[None] if isinstance(x, (np.ndarray, list, tuple)) and np.ndim(x) == 1 else x


def length(table: Table) -> int:
    return max((len(column) for column in table.values()), default=0)


def _values(column: Any) -> Values:
    """Numbers as an array, anything else as a list."""
    if hasattr(column, "to_pylist"):  # Arrow
        return list(column.to_pylist())
    array = np.asarray(column)
    if array.dtype.kind in "iufb" and array.ndim == 1:
        return array
    return column.to_list() if hasattr(column, "to_list") else list(column)
