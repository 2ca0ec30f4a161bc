"""What is asked about the items of a pool."""

import math
from typing import Any, NamedTuple

import numpy as np


class ItemQuestion(NamedTuple):
    """ "Is the right level of this item above `level`?" """

    id: str
    """Identifies the question within the pool, also after saving and loading."""
    item: int
    """The number of the item: its row, from 0."""
    level: Any
    """The level asked about. An answer of yes means that the right level is above it."""
    placement: Any
    """The level of the item when it was asked about."""
    propensity: float
    """The probability with which this level was asked about, given the item."""
    round: int
    """Which draw of the pool's stream chose the level, from 0."""
    purpose: str
    """Why: "place" it, "check" an earlier answer, or "audit" its placement."""
    person: str | None = None
    """Who it is for, if `ask` was told who is available."""


def split_answer(said: object) -> tuple[bool, float]:
    """Whether the level is above the one asked about, and how sure that is: from 0.5 to 1, or NaN if not given."""
    if isinstance(said, (bool, np.bool_)):
        return bool(said), math.nan
    if isinstance(said, (float, np.floating)) and 0.0 <= said <= 1.0:
        return bool(said > 0.5), float(max(said, 1.0 - said))
    if isinstance(said, (int, float, np.number, str)):
        raise TypeError(
            f"an answer must be True, False, or the probability that the level is higher (0.0 to 1.0); got {said!r}. "
            "If that is the level itself, use rate"
        )
    raise TypeError(
        f"an answer must be True, False, or the probability that the level is higher (0.0 to 1.0); got {said!r}"
    )
