"""Answers about no item of the pool: last month's, or about features alone. They teach the learners all the same."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford.learners import Rows
from dford.log import LEAST_PROPENSITY

NOT_YET = -1


class AnswerApart(NamedTuple):
    """An answer with the question as it was asked, about a row of features. Cuts and levels count from 0."""

    cut: int
    placement: int
    """The level that was predicted for the row."""
    propensity: float
    higher: bool
    after: int = NOT_YET
    """How many answers about items were learned before it, or -1 if it was not learned yet."""


_COLUMNS = np.dtype(
    [("cut", np.int64), ("placement", np.int64), ("propensity", np.float64), ("higher", np.bool_), ("after", np.int64)]
)


class AnswersApart:
    """All of them, in the order in which they came."""

    def __init__(self) -> None:
        self._answers, self._rows = np.empty(0, _COLUMNS), list[Rows]()
        self._new: list[AnswerApart] = []

    def __len__(self) -> int:
        return len(self._answers) + len(self._new)

    def append(self, row: Rows, answer: AnswerApart) -> None:
        """Add one; the row is a matrix with one row."""
        self._rows.append(row)
        self._new.append(answer)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column, such as `apart["cut"]`."""
        self._answers, self._new = np.concatenate([self._answers, np.array(self._new, _COLUMNS)]), []
        found: NDArray[Any] = self._answers[column]
        return found

    @property
    def X(self) -> Rows:  # noqa: N802 - as in scikit-learn
        """Their features."""
        if len(self._rows) > 1:
            stack = sparse.vstack(self._rows, "csr") if sparse.issparse(self._rows[0]) else np.concatenate(self._rows)
            self._rows = [stack]
        return self._rows[0]

    def anew(self) -> None:
        """Take all of them for not learned."""
        self["after"][:] = NOT_YET

    def arrays(self) -> dict[str, NDArray[Any]]:
        names = _COLUMNS.names or ()
        return {
            f"apart_{name}": self[name].copy() if _COLUMNS[name] == np.float64 else self[name].astype(np.int64)
            for name in names
        }

    def restore(self, arrays: dict[str, NDArray[Any]], X: Rows | None, width: int, n_levels: int, learned: int) -> None:
        found = {name: arrays[f"apart_{name}"] for name in _COLUMNS.names or ()}
        count = len(found["cut"])
        most = {"cut": n_levels - 1, "placement": n_levels, "higher": 2}
        if (
            any(column.shape != (count,) for column in found.values())
            or (X is not None and (X.shape != (count, width) or np.isinf(X.data if sparse.issparse(X) else X).any()))
            or (X is None) != (count == 0)
            or not all(((found[name] >= 0) & (found[name] < limit)).all() for name, limit in most.items())
            or not ((found["propensity"] >= LEAST_PROPENSITY) & (found["propensity"] <= 1)).all()
            or not ((found["after"] >= NOT_YET) & (found["after"] <= learned)).all()
        ):
            raise ValueError("the pool has invalid answers about no item")
        self._answers, self._new, self._rows = np.empty(count, _COLUMNS), [], [] if X is None else [X]
        for name, column in found.items():
            self._answers[name] = column
