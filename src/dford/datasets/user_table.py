"""A table of the user's: any CSV or Parquet file as rows and levels."""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.datasets._bunch import Loaded, bunch
from dford.files import read_csv


def load_table(
    path: str | os.PathLike[str],
    target: str,
    *,
    levels: Sequence[str] | None = None,
    discretise: Callable[[NDArray[np.float64]], NDArray[np.int64]] | None = None,
    return_X_y: bool = False,
) -> Loaded:
    """Rows of features and levels from a .csv or .parquet file.

    Columns of numbers are features as they are. A column of anything else becomes one column of 0 and 1 for each of
    its values, in sorted order.

    Parameters
    ----------
    path : path
        The file; a CSV file has a line of names.
    target : str
        The column with the levels.
    levels : sequence of str, optional
        The target's values, lowest first; all that occur must be among them.
    discretise : callable, optional
        Turns a target of numbers into levels 1..K, as `at_cuts` does. Without it and `levels`, the numbers that occur
        are the levels.
    return_X_y : bool
        Whether to return (X, y) alone.

    Returns
    -------
    Bunch
        data, target (the level of every row), feature_names, target_names (the levels, lowest first), DESCR, frame.
    """
    frame = _read(Path(path), target)
    if target not in frame.columns:
        raise ValueError(f"{Path(path).name} has no column {target!r}; it has {', '.join(map(str, frame.columns))}")
    column = frame[target]
    if missing := int((column.isna() | (column == "")).sum()):
        raise ValueError(f"the {target} is missing in {missing} of {len(column)} rows; fill it in or leave them out")
    y, names = _levels(column, target, levels, discretise)
    X, features = _features(frame.drop(columns=target))
    return bunch(
        X,
        y,
        feature_names=features,
        target_names=names,
        description=f"{len(y)} rows of {Path(path).name}",
        normalise="none",
        return_X_y=return_X_y,
        as_frame=False,
    )


def _read(path: Path, target: str) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('reading a table needs pandas: run pip install "dford[lab]"') from None
    # levels are read as they are written: one may be called None, or 01
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": lambda path: read_csv(path, as_text=[target]),
        ".parquet": pd.read_parquet,
    }
    if path.suffix not in readers:
        raise ValueError(f"a table is a .csv or a .parquet file; got {path.name!r}")
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    frame = readers[path.suffix](path)
    if not len(frame):
        raise ValueError(f"{path.name} has no rows")
    return frame


def _levels(
    column: Any, target: str, levels: Sequence[str] | None, discretise: Callable[..., Any] | None
) -> tuple[NDArray[Any], list[Any]]:
    """The level of every row, and all levels in order, both by the user's names."""
    words = [str(value) for value in column]
    values = [_number(word) for word in words]
    if levels is not None:
        known: list[Any] = [str(name) for name in levels]
        found: Sequence[Any] = words
        numbers = [_number(name) for name in known]
        if None not in numbers and [str(number) for number in numbers] == known and None not in values:
            known, found = numbers, values  # 5 and 5.0 are the same number, and 05 is a name
        if strange := [one for one in found if one not in known]:
            raise ValueError(f"{target} has {strange[0]!r}, which is none of the levels {', '.join(map(str, known))}")
        return np.array(found), known
    if None in values:
        raise ValueError(f"{target} has words: name its levels in order, lowest first (--levels low,medium,high)")
    if discretise is not None:
        y = discretise(np.array(values, dtype=np.float64))
        return y, list(range(1, int(y.max()) + 1))
    if len(names := np.unique(np.array(values)).tolist()) > 100:
        raise ValueError(f"{target} has {len(names)} different numbers: cut them into levels, by --cuts say")
    return np.array(values), names


def _number(word: str) -> int | float | None:
    """The number that a text stands for, if it does: nan and inf are words."""
    try:
        value = float(word)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value


def _features(frame: Any) -> tuple[NDArray[np.float64], list[str]]:
    columns, names = [], []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "iufb":
            columns.append(column.to_numpy(np.float64))
            names.append(str(name))
            continue
        missing = column.isna()
        words = column.astype(str)
        for value in sorted(set(words[~missing])):
            columns.append((~missing & (words == value)).to_numpy(np.float64))
            names.append(f"{name}={value}")
        if missing.any():
            columns.append(missing.to_numpy(np.float64))
            names.append(f"{name} is missing")
    if not columns:
        raise ValueError("there is no column but the target to learn from")
    return np.column_stack(columns), names
