"""Tables of any kind as columns of values: pandas and polars frames, Arrow tables, arrays, rows as dicts."""

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.columns.values import Values, number, word
from dford.feedback import as_names
from dford.log_columns import invented

Table = dict[str, Values]


def read_table(X: Any) -> Table:
    """The columns of X by name; those without names are called x0, x1, ..."""
    if isinstance(X, Mapping):
        return _by_name(X)
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return {name: [row.get(name) for row in X] for name in dict.fromkeys(name for row in X for name in row)}
    labels = _labels(X)
    if labels is None:
        rows = np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"a table must have rows and columns; got an array of shape {rows.shape}")
        return dict(zip(invented(rows.shape[1]), rows.T, strict=True))
    names = as_names(labels) or invented(len(labels))
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ValueError(f"column names must be distinct; {twice[0]!r} appears twice")
    return {name: _values(X[label]) for name, label in zip(names, labels, strict=True)}


def _by_name(columns: Mapping[str, Any]) -> Table:
    """Columns of a dict: by position, whatever index a Series has."""
    for name, column in columns.items():
        if isinstance(column, (str, bytes, Mapping, Set)) or not hasattr(column, "__len__"):
            raise ValueError(
                f"a dict must have a list of values for each column, but {name!r} has {str(column)[:40]!r}; put a "
                "single row into a list"
            )
    table = {name: one if isinstance(one, (list, tuple, np.ndarray)) else _values(one) for name, one in columns.items()}
    sizes = {len(column): name for name, column in table.items()}
    if len(sizes) > 1:
        (one, first), (two, second), *_ = sizes.items()
        raise ValueError(f"all columns must be equally long, but {first!r} has {one:,} values and {second!r} {two:,}")
    return table


def categories_of(X: Any, names: Sequence[str] | None = None) -> dict[str, list[str] | None]:
    """The columns whose type says that they are categorical, each with its categories if these are ordered.

    They go by their labels, or else by `names`, which are in the same order.
    """
    found: dict[str, list[str] | None] = {}
    labels = _labels(X)
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
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        return True
    if _labels(X) is None:
        return False
    return bool(categories_of(X)) or not all_are_numbers(X)


def all_are_numbers(X: Any) -> bool:
    """Whether all values of a frame are numbers, whatever its types say about them."""
    return all(isinstance(column, np.ndarray) for column in read_table(X).values())


def refuse_words(X: Any) -> None:
    """Refuse texts in an array, in which every column is learned from as numbers."""
    if isinstance(X, (np.ndarray, list, tuple)):
        for value in np.asarray(X, dtype=object).flat:
            if isinstance(value, str) and math.isnan(number(value)):
                raise ValueError(
                    f"an array must hold numbers only, but has {str(value)[:40]!r}; for texts and categories, pass a "
                    "frame or a list of dicts"
                )


def has_missing_numbers(X: Any) -> bool:
    """Whether numbers are missing from an array, or from a table of numbers."""
    if _labels(X) is None:
        return isinstance(X, np.ndarray) and X.ndim == 2 and _has_missing(X)
    return any(map(_has_missing, read_table(X).values()))


def _has_missing(numbers: NDArray[Any]) -> bool:
    if numbers.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()  # reads memory once, which `isnan` does twice and more
    return not np.isfinite(total) and bool(np.isnan(numbers).any())


def _labels(X: Any) -> Any:
    """The column labels of an Arrow table or of a frame."""
    return getattr(X, "column_names", getattr(X, "columns", None))


def as_table(x: Any) -> Any:
    """A single row, which may be a dict, a Series or a vector, as a table."""
    if isinstance(x, Mapping):
        return [x]
    if hasattr(x, "iloc") and x.ndim == 1:
        return [x.to_dict()]
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
