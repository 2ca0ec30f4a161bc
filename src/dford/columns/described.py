"""How columns are read, in words."""

from collections.abc import Sequence
from typing import NamedTuple

from dford.columns.column import Column, Kind
from dford.columns.reading import AS_REQUESTED, INSTEAD


class Described(NamedTuple):
    """How a column is read."""

    column: str
    """Its name."""
    kind: Kind
    """What it is read as, in the way `Columns` takes it: one of its kinds, or the list of ordered categories."""
    features: int
    """How many numbers it becomes, besides the block of features that all texts share."""
    sentence: str
    """The same in words, with a hint if more could be learned from it."""


def describe(column: Column) -> Described:
    kind = list(column.categories) if column.kind == "order" else column.kind
    return Described(column.name, kind, column.width, _sentence(column))


def unlearned(columns: Sequence[Column]) -> str:
    """What to say about columns that are not learned from although nobody asked for that; nothing if there are none."""
    found = [column for column in columns if not column.is_learned_from and column.note != AS_REQUESTED]
    if not found:
        return ""
    kinds = {column.name: INSTEAD[column.note] for column in found if column.note in INSTEAD}
    how = f"; to change that, use Columns(kinds={kinds})" if kinds else ""
    return f"nothing is learned from {', '.join(f'{column.name!r} ({column.note})' for column in found)}{how}"


def _sentence(column: Column) -> str:
    if column.ratings:
        return f"{column.name}: ratings on this scale; levels start from them"
    said = {
        "number": "a number",
        "order": f"one of {len(column.categories)} ordered categories",
        "category": f"one of {len(column.categories)} categories" if column.categories else "one of many categories",
        "text": "text, learned from through its words and their parts",
        "vector": f"a vector of {column.size} numbers",
        "image": f"an image, learned from through {column.size} numbers",
        "date": "a date, learned from through its parts",
        "words": "text, learned from through its words",
    }.get(column.kind, "shown, not learned from")
    missing = "; missing values are learned from, too" if column.missing else ""
    note = f"{'; ' if column.is_learned_from else ': '}{column.note}" if column.note else ""
    return f"{column.name}: {said}{missing}{note}"
