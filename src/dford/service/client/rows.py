"""Items as they are sent: dicts, frames and files become rows of plain values, in parts that fit one request."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dford.columns.tables import categories_of, checked_table
from dford.columns.values import is_missing, vector
from dford.columns.vectors import with_vectors
from dford.files import is_index
from dford.service.csv_rows import read_rows

MOST = 5000  # items per request; half of what a server accepts by default
_SIZE = 4_000_000  # bytes per request
Value = str | bool | int | float | None
Row = Mapping[str, Any]


class Part(NamedTuple):
    """The body of one request, and how many items it holds."""

    content: bytes
    items: int


def in_parts(items: Any) -> list[Part]:
    """All items, read and checked before the first one is sent."""
    made: list[Part] = []
    some: list[str] = []
    size = 0
    rows, categories = _read(items)
    more = f', "categories": {json.dumps(categories)}' if categories else ""
    for row in rows:
        text = json.dumps(row)
        if some and (len(some) == MOST or size + len(text) > _SIZE):
            made.append(_part(some, more))
            some, size = [], 0
        some.append(text)
        size += len(text)
    return [*made, _part(some, more)] if some else made


def _part(texts: Sequence[str], more: str) -> Part:
    return Part(f'{{"items": [{", ".join(texts)}]{more}}}'.encode(), len(texts))


def as_rows(items: Any) -> list[dict[str, Value]]:
    """The rows of a list of dicts, a dict of columns, a pandas, polars or Arrow frame, or a .csv or .parquet file."""
    return _read(items)[0]


def _read(items: Any) -> tuple[list[dict[str, Value]], dict[str, list[str] | None]]:
    """The rows, and the categories of columns with a categorical type."""
    path = Path(items) if isinstance(items, (str, os.PathLike)) else None
    if path is not None:
        items = _from_file(path)
    categories = categories_of(items)
    if hasattr(items, "to_pylist"):
        items = items.to_pylist()
    elif hasattr(items, "columns"):
        items = _from_frame(items)
    elif not isinstance(items, Iterable):
        raise TypeError(f"items must be a list of dicts, a frame or the path of a file; got {type(items).__name__}")
    rows = [plain_row(row) for row in (checked_table(items) if isinstance(items, Mapping) else items)]
    return (rows if path is None else with_vectors(path, rows)), categories


def _from_file(path: Path) -> Any:
    ending = path.suffix.lower()
    if ending == ".csv":
        return read_rows(path.read_bytes())
    if ending == ".parquet":
        from pyarrow import parquet

        table = parquet.read_table(path)
        return table.select([name for name in table.column_names if not is_index(name)])
    raise ValueError(f"a file of items must be .csv or .parquet; got {path.name!r}")


def _from_frame(frame: Any) -> Iterator[Row]:
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise ValueError(f"column names must be distinct; got {', '.join(map(str, names))}")
    values = frame.iter_rows() if hasattr(frame, "iter_rows") else frame.itertuples(index=False, name=None)
    return (dict(zip(names, row, strict=True)) for row in values)


def to_json(body: Any) -> bytes:
    return json.dumps(body, default=lambda value: _plain(value, "a setting")).encode()


def plain_row(row: Row) -> dict[str, Value]:
    """The values by name, as JSON represents them; anything missing is None."""
    if not isinstance(row, Mapping):
        raise TypeError(f"an item must be a dict from column names to values; got {row!r:.80}")
    return {str(name): _plain(value, name) for name, value in row.items()}


def _plain(value: Any, name: object) -> Value:
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind not in "mM" else None if np.isnat(value) else str(value)
    if not isinstance(value, str) and is_missing(value):
        return None
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(
                f"{name!r} is {value}, which cannot be sent or learned from; leave it out or send a finite number"
            )
        return value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if (numbers := vector(value)) is not None:
        return json.dumps(numbers)  # a server reads this as a vector
    kind = type(value).__name__
    raise TypeError(
        f"{name!r} has the type {kind}; values must be text, numbers, lists of numbers, True, False or None"
    )
