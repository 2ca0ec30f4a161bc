"""The columns of a project: how the values of its items become features, and how these are stored."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dford import sparse_rows
from dford.columns import Column, ColumnError, Columns, ImageReader, Kind
from dford.pool.votes import RatingColumn, as_numbers, column_ratings, ordered_by
from dford.service.refusal import Refusal

PackedRow = bytes
"""The features of a row: float64 numbers, or, if there are texts, bytes made by `sparse_rows`."""


def encode(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], field: str, images: ImageReader | None = None
) -> list[PackedRow]:
    """The features of rows, which errors refer to as `field`."""
    check_known(columns, rows, field)
    try:
        X = Columns.of(columns, images=images).features(_table(columns, rows))
    except ColumnError as error:
        raise Refusal(422, error.code, str(error), f"{field}.{error.row}.{error.column}") from None
    if sparse.issparse(X):
        return sparse_rows.pack(X)
    return [row.tobytes() for row in X]


def check_known(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], field: str) -> None:
    """Refuse rows with a column that the project does not have."""
    known = {column.name for column in columns}
    for i, row in enumerate(rows):
        if unknown := row.keys() - known:
            sentence = f"there is no column {min(unknown)!r} in this project"
            raise Refusal(422, "unknown-column", sentence, f"{field}.{i}")


def unforeseen(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence for each column that has missing values here, but had none before."""
    return Columns.of(columns).unforeseen(_table(columns, rows))


def _table(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {column.name: [row.get(column.name) for row in rows] for column in columns}


def decode(columns: Sequence[Column], packed: Sequence[PackedRow]) -> Any:
    """The rows of features, for the learner: an array, or a sparse matrix."""
    fitted = Columns.of(columns)
    if fitted.is_sparse_:
        return sparse_rows.unpack(packed, fitted.width_)
    return np.frombuffer(b"".join(packed)).reshape(len(packed), fitted.width_).copy()  # writable, for compiled code


def check_lacking(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], field: str) -> None:
    """Refuse rows of which none has a column that is learned from: somebody forgot it."""
    for column in columns:
        if column.is_learned_from and rows and not any(column.name in row for row in rows):
            sentence = f"there is no column {column.name!r} in what was sent; where its value is missing, send null"
            raise Refusal(422, "no-column", sentence, field)


def find_columns(
    rows: Sequence[Mapping[str, Any]],
    kinds: Mapping[str, Kind] | None = None,
    images: ImageReader | None = None,
    levels: Sequence[str] = (),
    unrated: Collection[str] = (),
) -> list[Column]:
    """The columns of rows, with the given kinds, or else judged by their values.

    If there are levels, columns of ratings on this scale are found as a pool finds them, except among the `unrated`.
    """
    words = {name: order for name, order in ordered_by(rows, as_numbers(levels)).items() if name not in unrated}
    try:
        found = list(Columns({**(kinds or {}), **words}, files=images).read(rows).columns_)
        return [column if column.name in unrated else _rated(column, rows, levels) for column in found]
    except ColumnError as error:
        raise Refusal(422, error.code, str(error), "columns") from None


def _rated(column: Column, rows: Sequence[Mapping[str, Any]], levels: Sequence[str]) -> Column:
    """The column, as one of ratings if its values are levels."""
    if column.kind not in ("number", "order") or not levels:
        return column
    given = column.dense([row.get(column.name) for row in rows])[:, 0]
    own = column_ratings(column, given, levels)
    return column if own is None else column._replace(ratings=own)


def rating_columns(columns: Sequence[Column]) -> list[RatingColumn]:
    """Which features are ratings, and what stands for each level."""
    dense = [column for column in columns if not column.is_sparse]
    firsts = itertools.accumulate((column.width for column in dense), initial=0)
    return [RatingColumn(first, column.ratings) for first, column in zip(firsts, dense, strict=False) if column.ratings]


def check_columns(columns: Sequence[Column], most: int, n_levels: int | None = None) -> None:
    """Refuse columns that cannot be learned from, and ratings that are not on a scale of so many levels, if known."""
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise Refusal(422, "bad-columns", "two columns have the same name; give each its own", "columns")
    for column in columns:
        if len(set(column.categories)) < len(column.categories):
            sentence = f"column {column.name!r} lists a category twice; list each once"
            raise Refusal(422, "bad-columns", sentence, "columns")
        if column.kind == "order" and not column.categories:
            raise Refusal(422, "bad-columns", f"column {column.name!r} needs its categories, lowest first", "columns")
        if column.kind == "vector" and not column.size:
            sentence = f"column {column.name!r} needs the size of its vectors"
            raise Refusal(422, "bad-columns", sentence, "columns")
        if column.ratings and (column.kind not in ("number", "order") or n_levels not in (None, len(column.ratings))):
            sentence = (
                f"the ratings of column {column.name!r} must be one number for each level, and its kind number or order"
            )
            raise Refusal(422, "bad-columns", sentence, "columns")
    fitted = Columns.of(columns)
    if not fitted.width_:
        said = "; ".join(one.sentence for one in fitted.describe())
        sentence = f"there is nothing to learn from: add a column of numbers, categories or texts ({said})"
        raise Refusal(422, "bad-columns", sentence[:1000], "columns")
    if fitted.n_dense_ > most:
        sentence = (
            f"the columns make {fitted.n_dense_} features besides texts, more than the {most} allowed; leave some out"
        )
        raise Refusal(422, "bad-columns", sentence, "columns")
    for column in columns:
        if not _can_be_read(column):
            sentence = (
                f"column {column.name!r} of kind {column.kind!r} cannot have this mean, missing, other or size; leave "
                "them out"
            )
            raise Refusal(422, "bad-columns", sentence, "columns")


def _can_be_read(column: Column) -> bool:
    """Whether a value and a missing one become as many numbers as the description says."""
    if column.kind == "image":
        return True  # described by what reads it
    if column.is_sparse or not column.is_learned_from:
        return column.width == 0
    value = {
        "number": 1.0,
        "order": next(iter(column.categories), ""),
        "vector": [0.0] * column.size,
        "date": "2024-05-31",
    }.get(column.kind, "a")
    try:
        column.dense([None, value])
    except (ValueError, OverflowError):
        return False
    return True


def to_json(columns: Sequence[Column]) -> str:
    return Columns.of(columns).to_json()


def from_json(text: str) -> list[Column]:
    return list(Columns.from_json(text).columns_)
