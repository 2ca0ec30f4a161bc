"""What passes between the learner and whoever answers."""

from typing import Any, NamedTuple

import numpy as np


class Question(NamedTuple):
    """ "Is the right level of item `x` above `level`?"

    The label itself is never part of it. Hand the question back to `tell` with the answer; any number
    may be open, and answers may come in any order.
    """

    id: str
    """Names the question among all questions of the model, and survives saving and loading."""
    x: Any
    """The item's features, as the learner keeps them until the answer comes."""
    level: Any
    """The level asked about. An answer of yes means that the right level is above it."""
    prediction: Any
    """The level the learner believes."""
    propensity: float
    """The probability with which this level was asked, on the day it was asked."""
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
