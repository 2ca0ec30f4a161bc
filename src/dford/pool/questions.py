"""What is asked about the items of a pool."""

from typing import Any, NamedTuple

import numpy as np


class ItemQuestion(NamedTuple):
    """ "Is the right level of this item above `level`?" """

    id: str
    """Names the question among all questions of the pool, and survives saving and loading."""
    item: int
    """Which item: its row, from 0."""
    level: Any
    """The level asked about. An answer of yes means that the right level is above it."""
    placement: Any
    """Where the item stands at the time."""
    propensity: float
    """The probability with which this level was asked, of this item."""
    round: int
    """Which draw of the pool's stream chose the level, from 0."""
    purpose: str
    """Why: "place" it, "check" an earlier answer, or "audit" its placement."""
    person: str | None = None
    """For whom it is, where it was said who is at hand."""


def split_answer(said: object) -> tuple[bool, float | None]:
    """Whether the level is above the one asked about, and how sure that is, where a probability was said."""
    if isinstance(said, (bool, np.bool_)):
        return bool(said), None
    if isinstance(said, (float, np.floating)) and 0.0 <= said <= 1.0:
        return bool(said > 0.5), float(max(said, 1.0 - said))
    raise TypeError(
        f"an answer is True, False, or how likely it is that the level is higher (0.0 to 1.0); got {said!r}"
    )
