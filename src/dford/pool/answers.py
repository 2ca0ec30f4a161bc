"""Answers about items, one after the other."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford import log_columns
from dford.engine.beliefs.opinions import RATED
from dford.log import LEAST_PROPENSITY
from dford.pool.agreement import AnswerColumns

PURPOSES = (*log_columns.PURPOSES, "released")
PLACE, CHECK, AUDIT, GOLD, RELEASED = range(5)
"""Released answers were an audit's, and count for their items now."""


class Answer(NamedTuple):
    """An answer, with the question as it was asked. Items, cuts and levels count from 0."""

    question: int
    """The number of the question, which is unique."""
    item: int
    cut: int
    placement: int
    """The placement of the item when it was asked about."""
    propensity: float
    said: int
    """NO, YES or RATED; a rating has its level in the place of the cut."""
    purpose: int
    checks: int
    """The number of the question that this one repeats, or -1."""
    person: int = 0
    """Who gave it: the number of the voice."""
    confidence: float = math.nan
    """The probability they gave that it is right, from 0.5 to 1; NaN if they gave none."""
    is_taught: bool = True
    """Whether the learners learn from it."""


_COLUMNS = np.dtype(
    [
        ("question", np.int64),
        ("item", np.int64),
        ("cut", np.int16),
        ("placement", np.int16),
        ("propensity", np.float64),
        ("said", np.int8),
        ("purpose", np.int8),
        ("checks", np.int64),
        ("person", np.int32),
        ("confidence", np.float64),
        ("is_taught", np.bool_),
    ]
)


class Answers:
    """All answers, in the order in which they count."""

    def __init__(self) -> None:
        self._columns, self._count = _columns(64), 0  # each in one piece, as whole columns are often searched

    def __len__(self) -> int:
        return self._count

    def append(self, answer: Answer) -> None:
        if self._count == len(self._columns["item"]):
            self._columns = {name: np.concatenate([own, np.empty_like(own)]) for name, own in self._columns.items()}
        for column, value in zip(self._columns.values(), answer, strict=True):
            column[self._count] = value
        self._count += 1

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column, such as `answers["item"]`."""
        return self._columns[column][: self._count]

    def of(self, question: int) -> int | None:
        """The place of the answer to this question, or None."""
        found = np.flatnonzero(self["question"] == question)
        return int(found[0]) if len(found) else None

    def told(self, which: Any = slice(None)) -> AnswerColumns:
        """What was answered, and by whom."""
        return AnswerColumns(*(self[name][which].astype(np.int64) for name in ("item", "person", "cut", "said")))

    def arrays(self) -> dict[str, NDArray[Any]]:
        names = _COLUMNS.names or ()
        return {
            f"answers_{name}": self[name].copy() if _COLUMNS[name] == np.float64 else self[name].astype(np.int64)
            for name in names
        }

    def restore(self, arrays: dict[str, NDArray[Any]], n_items: int, n_levels: int, n_people: int) -> None:
        found = {name: arrays[f"answers_{name}"] for name in _COLUMNS.names or ()}
        count = len(found["item"])
        most = {"item": n_items, "cut": n_levels, "placement": n_levels, "said": 3, "purpose": len(PURPOSES)}
        most |= {"person": n_people, "is_taught": 2}
        if (
            any(column.shape != (count,) for column in found.values())
            or not all(((found[name] >= 0) & (found[name] < limit)).all() for name, limit in most.items())
            or (found["cut"] >= n_levels - (found["said"] != RATED)).any()
            or not ((found["propensity"] >= LEAST_PROPENSITY) & (found["propensity"] <= 1)).all()
            or not (np.isnan(found["confidence"]) | (np.abs(found["confidence"] - 0.75) <= 0.25)).all()
        ):
            raise ValueError("the pool has invalid answers")
        self._columns, self._count = _columns(max(count, 64)), count
        for name, column in found.items():
            self._columns[name][:count] = column


def _columns(size: int) -> dict[str, NDArray[Any]]:
    """Room for so many answers, in the order of the fields of one."""
    return {name: np.empty(size, _COLUMNS[name]) for name in Answer._fields}
