"""Sparse rows outside memory: as bytes, and as text in a file."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

_NAME = re.compile(r"features\[(\d{1,9})\]")
_ENTRY = 12  # bytes: a number and its place


def pack(X: Any) -> list[bytes]:
    """Each row of a CSR matrix."""
    data, indices = X.data.astype("<f8").tobytes(), X.indices.astype("<i4").tobytes()
    places = itertools.pairwise(X.indptr.tolist())
    return [data[8 * begin : 8 * end] + indices[4 * begin : 4 * end] for begin, end in places]


def unpack(packed: Sequence[bytes], width: int) -> Any:
    """The CSR matrix of rows that `pack` made."""
    counts = np.array([len(one) // _ENTRY for one in packed], np.int64)
    words = np.frombuffer(b"".join(packed), "<i4")  # a number is two of them, and comes before its place
    is_place = np.repeat(np.tile([False, True], len(packed)), np.stack([2 * counts, counts], axis=1).ravel())
    indptr = np.zeros(len(packed) + 1, np.int32)
    np.cumsum(counts, out=indptr[1:])
    parts = words[~is_place].view("<f8"), words[is_place], indptr
    return sparse.csr_matrix(parts, shape=(len(packed), width))


def checked(data: Any, indices: Any, indptr: Any, width: int) -> Any:
    """The CSR matrix of arrays from a file; refused if they are not valid, as compiled code will trust them."""
    if (
        not data.ndim == indices.ndim == indptr.ndim == 1
        or data.dtype != np.float64
        or indices.dtype.kind != "i"
        or indptr.dtype.kind != "i"
        or not len(indptr)
        or indptr[0] != 0
        or (np.diff(indptr) < 0).any()
        or not indptr[-1] == len(indices) == len(data)
        or not 0 <= width < 2**31
        or (len(indices) and not (indices.min() >= 0 and indices.max() < width))
    ):
        raise ValueError("the sparse rows have invalid places or lengths")
    X = sparse.csr_matrix((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=(len(indptr) - 1, width))
    X.sum_duplicates()
    return X


def column_name(width: int) -> str:
    """The name in a file of the column of sparse features."""
    return f"features[{width}]"


def find_column(names: Iterable[str]) -> tuple[str, int] | None:
    """The column of sparse features among those of a file, and how many there are."""
    found = [match for match in map(_NAME.fullmatch, names) if match is not None]
    return (found[0][0], int(found[0][1])) if len(found) == 1 else None


def to_texts(X: Any) -> list[str]:
    """A text such as "3:0.5 17:1.0" for each row of a CSR matrix; it reads back to the bit."""
    entries = [f"{place}:{value!r}" for place, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    return [" ".join(entries[begin:end]) for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def from_texts(texts: Iterable[Any], width: int) -> Any:
    """The CSR matrix that `to_texts` wrote."""
    data, indices = [], []
    for row, text in enumerate(texts, 1):
        parts = [entry.partition(":") for entry in str(text).split()] if text == text and text is not None else []
        try:
            places = np.array([int(place) for place, _, _ in parts], dtype=np.int64)
            values = np.array([float(value) for _, _, value in parts], dtype=np.float64)
        except (ValueError, OverflowError):
            raise ValueError(
                f"row {row} of the log has features that are not written as place:number place:number ..."
            ) from None
        if len(places) and not (places[0] >= 0 and (np.diff(places) > 0).all() and places[-1] < width):
            raise ValueError(
                f"row {row} of the log has features whose places do not increase, from 0 up to {width - 1}"
            )
        if not np.isfinite(values).all():
            raise ValueError(f"row {row} of the log has a feature that is not finite")
        data.append(values)
        indices.append(places.astype(np.int32))
    return _matrix(data, indices, width)


def _matrix(data: list[Any], indices: list[Any], width: int) -> Any:
    indptr = np.zeros(len(data) + 1, np.int32)
    np.cumsum([len(one) for one in data], out=indptr[1:])
    parts = np.concatenate([np.empty(0), *data]), np.concatenate([np.empty(0, np.int32), *indices]), indptr
    return sparse.csr_matrix(parts, shape=(len(data), width))
