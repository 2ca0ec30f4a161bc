"""What passes between the learner and the person who answers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Question(NamedTuple):
    """ "Is the right level of item `x` above `level`?"

    It never contains the label. Pass the question back to `tell` with the answer. Any number of questions may be open,
    and answers may come in any order.
    """

    id: str
    """Identifies the question within the model, also after saving and loading."""
    x: Any
    """The item's features, as the learner keeps them until the answer arrives."""
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


def _same_row(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if hasattr(a, "toarray") != hasattr(b, "toarray"):
        return False
    if hasattr(a, "toarray"):
        return bool(a.shape == b.shape and (a != b).nnz == 0)
    return bool(np.array_equal(a, b))


def split_names(x: Any) -> tuple[Any, list[str] | None]:
    """The values of a row, and the names of its features if it is a dict, a pandas Series or a frame of one row."""
    if isinstance(x, Mapping):
        return list(x.values()), as_names(x)
    if hasattr(x, "iloc") and x.ndim == 1:
        return x.to_numpy(), as_names(x.index)
    labels = getattr(x, "column_names", getattr(x, "columns", None))  # of Arrow tables, and of frames
    return x, None if labels is None else as_names(labels)


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
