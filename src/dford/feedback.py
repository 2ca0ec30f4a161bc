"""What passes between the learner and the person who answers."""

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np


class Question(NamedTuple):
    """ "Is the right level of item `x` above `level`?"

    It never contains the label. Pass the question back to `tell` with the answer. Any number of questions may be open,
    and answers may come in any order.
    """

    id: str
    """Identifies the question, also after saving and loading: the model by its parameters, scale and seed, the draw,
    and what was asked about which row."""
    x: Any
    """The item's features, as the learner keeps them until the answer arrives; they cannot be changed."""
    level: Any
    """The level asked about. An answer of yes means that the right level is above it."""
    prediction: Any
    """The level the learner predicts."""
    propensity: float
    """The probability with which this level was asked about, at the time."""
    round: int
    """Which draw of the model's stream chose the level, from 0."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        return self[2:] == other[2:] and self.id == other.id and _same_row(self.x, other.x)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.id)


def checksum(x: Any, level: int, prediction: int) -> int:
    """32 bits of what is asked about which row, the last part of a question's id; levels are places on the scale."""
    start = 65537 * level + prediction
    if hasattr(x, "indices"):
        return crc32(x.indices, crc32(x.data, start))
    return crc32(x, start)


def make_read_only(x: Any) -> None:
    """Forbid changes of a row in place."""
    for array in (x,) if type(x) is np.ndarray else (x.data, x.indices, x.indptr):
        array.setflags(write=False)


def _same_row(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if hasattr(a, "toarray") != hasattr(b, "toarray"):
        return False
    if hasattr(a, "toarray"):
        places = np.array_equal(a.indices, b.indices) and np.array_equal(a.indptr, b.indptr)
        return bool(places and a.shape == b.shape and _same_row(a.data, b.data))
    return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f" == np.asarray(b).dtype.kind))


def split_names(x: Any) -> tuple[Any, list[str] | None]:
    """The values of a row, and the names of its features if it is a dict, a pandas Series or a frame of one row."""
    if is_dict(x):
        return list(x.values()), as_names(x)
    if hasattr(x, "iloc") and x.ndim == 1:
        return x.to_numpy(), as_names(x.index)
    labels = labels_of(x)
    return x, None if labels is None else as_names(labels)


def is_dict(x: Any) -> bool:
    """Whether it is a dict; some sparse matrices are Mappings, too."""
    return isinstance(x, Mapping) and not hasattr(x, "shape")


def labels_of(X: Any) -> Any:
    """The column labels of an Arrow table or of a frame; None if it is neither."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet; pass what its .collect() returns")
    return getattr(X, "column_names", getattr(X, "columns", None))


def check_columns(columns: Mapping[Any, Any]) -> None:
    """Refuse a dict that is not a table: one of columns that are equally long."""
    for name, column in columns.items():
        if isinstance(column, (str, bytes, Mapping, Set)) or not hasattr(column, "__len__"):
            raise ValueError(
                f"a dict must have a list of values for each column, but {name!r} has {str(column)[:40]!r}; put a "
                "single row into a list"
            )
    sizes = {len(column): name for name, column in columns.items()}
    if len(sizes) > 1:
        (one, first), (two, second), *_ = sizes.items()
        raise ValueError(f"all columns must be equally long, but {first!r} has {one:,} values and {second!r} {two:,}")


def as_names(labels: Iterable[Any]) -> list[str] | None:
    """Column labels as feature names, if they are text; other labels do not count as names, as in scikit-learn."""
    names = list(labels)
    are_text = [isinstance(name, str) for name in names]
    if any(are_text) and not all(are_text):
        raise TypeError(f"feature names must be all text or all not text; got {names!r}")
    return names if any(are_text) else None


def difference(names: list[str], known: list[str]) -> str:
    """How two lists of feature names that should be the same differ."""
    for place, (name, other) in enumerate(zip(names, known, strict=False), 1):
        if name != other:
            return f"feature {place} is called {name!r} instead of {other!r}"
    return f"there are {len(names)} features instead of {len(known)}"
