"""Vectors in a .npy file of the same name beside a table: one more column of it."""

import json
from collections.abc import Container
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from dford.columns.values import LARGEST

VECTORS = "vector"
"""The name of the column."""


def vectors_file(path: Path) -> Path:
    """Where the vectors of a table's rows may be."""
    return path.parent / f"{path.stem}.npy"


def vectors_beside(path: Path, names: Container[str], rows: int) -> list[Any] | None:
    """The vector of each row of a table with these columns; None if there is no such file beside it."""
    file = vectors_file(path)
    if not file.is_file():
        return None
    beside = f"{file.name} beside {path.name}"
    if VECTORS in names:
        raise ValueError(f"{beside} becomes a column {VECTORS!r}, but the table already has one; rename either")
    try:
        with file.open("rb") as opened:
            found: Any = np.lib.format.read_array(opened, allow_pickle=False)
    except (ValueError, EOFError, MemoryError, SyntaxError, TokenError):  # the last ones if its header is damaged
        raise ValueError(
            f"{beside} cannot be read as numbers; write a whole array of them with numpy.save({file.name!r}, …)"
        ) from None
    if found.dtype.kind not in "iufb" or found.ndim != 2 or not found.shape[1]:
        raise ValueError(
            f"{beside} has {found.dtype} values of the shape {found.shape}; expected one row of numbers for each row"
        )
    if len(found) != rows:
        raise ValueError(f"{beside} has {len(found):,} rows, but the table has {rows:,}; it needs one for each")
    found = found.astype(np.float64)
    if not (fits := (abs(found) <= LARGEST).all(axis=1)).all():
        raise ValueError(
            f"{beside} has numbers in row {int(np.argmin(fits)) + 1} that are missing, infinite or too large"
        )
    return list(found)


def with_vectors(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table's file, each with its vector as text if there is a file of them beside it."""
    vectors = vectors_beside(path, rows[0] if rows else (), len(rows))
    if vectors is None:
        return rows
    return [{**row, VECTORS: json.dumps(vector.tolist())} for row, vector in zip(rows, vectors, strict=True)]
