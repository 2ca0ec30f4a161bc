"""What is asked about the items of a pool."""

from typing import Any, NamedTuple


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
