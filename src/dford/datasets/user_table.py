"""The user's own table: any CSV or Parquet file as rows and levels."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.columns import Column, ColumnError, Columns, Kind
from dford.columns.values import is_missing, number
from dford.columns.vectors import VECTORS, vectors_beside
from dford.datasets._bunch import Loaded, bunch
from dford.files import csv_lines, read_parquet_rows

MOST_LEVELS = 100
"""That numbers become: a scale of more is a mistake."""


def load_table(
    path: str | os.PathLike[str],
    target: str,
    *,
    levels: Sequence[str] | None = None,
    discretise: Callable[[NDArray[np.float64]], NDArray[np.int64]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    return_X_y: bool = False,
) -> Loaded:
    """Rows of features and levels from a .csv or .parquet file.

    `Columns` turns all columns except the target into features: numbers, categories, dates, and texts, which make the
    rows a sparse matrix. Nothing is learned from ids.

    Parameters
    ----------
    path : path
        The file. A CSV file has a header line, and commas, semicolons or tabs between values. If there is a .npy file
        of the same name beside it, its rows become one more column, `vector`.
    target : str
        The column with the levels.
    levels : sequence of str, optional
        The target's values, lowest first. They must include all that occur. With `discretise`, those that it makes.
    discretise : callable, optional
        Turns a numeric target into levels 1..K, as `at_cuts` does. Without `levels`, K is the highest one that occurs.
        Without both, the numbers that occur are the levels.
    kinds : dict, optional
        The kinds of columns by name, if they should not be read from the values: see `Columns`.
    return_X_y : bool
        Whether to return only (X, y).

    Returns
    -------
    Bunch
        data, target (the level of every row), feature_names, target_names (the levels, lowest first), DESCR, and
        columns, the `Columns` that made the data. They include the target as a column that is not learned from.
    """
    path = Path(path)
    table = read_table_file(path)
    if target not in table:
        raise ValueError(f"{path.name} has no column {target!r}; it has {_quoted(table)}")
    if target in (kinds or {}):
        raise ValueError(f"{target} is the target, so it has no kind; leave it out")
    column = list(table.pop(target))
    named = set(levels or ())  # of which NA may be one
    if missing := sum(is_missing(value) and not (isinstance(value, str) and value in named) for value in column):
        raise ValueError(
            f"the {target} is missing in {missing} of {len(column)} rows; fill it in or leave those rows out"
        )
    y, names = _levels(column, target, levels, discretise)
    if not list(table):
        raise ValueError("the target is the only column; add one to learn from")
    try:
        found = Columns(kinds).read(table)
    except ColumnError as error:
        if error.code != "unknown-column":
            raise
        raise ValueError(f"{path.name} has no column {error.column!r}; it has {_quoted(table)}") from None
    found.warn_of_unlearned(stacklevel=3)
    columns = Columns.of([*found.columns_, Column(target, "shown", note="it is the target")])
    return bunch(
        columns.transform(table),
        y,
        feature_names=columns.feature_names(),
        target_names=names,
        description=f"{len(y)} rows of {path.name}",
        normalise="none",
        return_X_y=return_X_y,
        as_frame=False,
        columns=columns,
    )


def read_table_file(path: Path) -> Any:
    """The columns of a file by name: for CSV a dict of texts as they are written, for Parquet a pandas frame.

    Vectors in a .npy file beside it become one more column.
    """
    table = _read_file(path)
    vectors = vectors_beside(path, table, len(next(iter(table.values()))) if isinstance(table, dict) else len(table))
    if vectors is not None:
        table[VECTORS] = vectors
    return table


def _read_file(path: Path) -> Any:
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise ValueError(f"a table must be a .csv or .parquet file; got {path.name!r}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if ending == ".csv":
        try:
            names, *rows = [*csv_lines(path.read_bytes())] or [[]]
        except ValueError as error:
            raise ValueError(f"{path.name} cannot be read: {error}") from None
        if not all(names) or len(set(names)) < len(names):
            raise ValueError(f"{path.name} needs a header line of distinct column names; it has {_quoted(names)}")
        if not rows:
            raise ValueError(f"{path.name} has no rows")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    frame = read_parquet_rows(path)
    if not len(frame):
        raise ValueError(f"{path.name} has no rows")
    return frame


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _levels(
    column: Any, target: str, levels: Sequence[str] | None, discretise: Callable[..., Any] | None
) -> tuple[NDArray[Any], list[Any]]:
    """The level of every row, and all levels in order, both by the user's names."""
    words = [str(value) for value in column]
    values = [_number(word) for word in words]
    if None in values and (levels is None or discretise is not None):
        raise ValueError(f"{target} contains words; name its levels, lowest first (--levels low,medium,high)")
    if discretise is not None:
        values = discretise(np.array(values, dtype=np.float64)).tolist()
        words = [str(value) for value in values]
        levels = levels or [str(level) for level in range(1, max(values) + 1)]
    if levels is not None:
        known: list[Any] = [str(name) for name in levels]
        found: Sequence[Any] = words
        numbers = [_number(name) for name in known]
        if None not in numbers and [str(one) for one in numbers] == known and None not in values:
            known, found = numbers, values  # 5 and 5.0 are the same number, but 05 is a name
        if strange := [one for one in found if one not in known]:
            raise ValueError(
                f"{target} has {strange[0]!r}, which is not one of the levels {', '.join(map(str, known))}"
            )
        return np.array(found), known
    if len(names := np.unique(np.array(values)).tolist()) > MOST_LEVELS:
        raise ValueError(
            f"{target} has {len(names)} different numbers, but at most {MOST_LEVELS} levels are possible; cut them, "
            "for example with --cuts"
        )
    return np.array(values), names


def _number(word: str) -> int | float | None:
    """The number that a text stands for, or None; nan, inf and 1_000 count as words."""
    if math.isnan(value := number(word)):
        return None
    try:
        return int(word)  # exact, however large
    except ValueError:
        return int(value) if value.is_integer() else value
