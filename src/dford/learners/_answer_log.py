"""The answers that trees are grown on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford.engine import binning
from dford.engine._compiled import Floats, Ints

_BLOCK = 2**17  # numbers in a block, about: 1 MB


class AnswerLog:
    """Rows, and for each the level asked and whether higher; or 0 and the label.

    Rows are kept in blocks and never moved, so that adding one takes the same time however many there are. Once full, a
    block that is mostly zeros is kept as the numbers that are not.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.count = 0
        self._height = max(_BLOCK // n_columns, 32)
        self._blocks: list[Any] = []
        self._answers = np.empty((64, 2), np.int64)

    @property
    def answers(self) -> Ints:
        return self._answers[: self.count]

    @property
    def rows(self) -> Floats:
        """All of them, in one matrix."""
        blocks = [block.toarray() if sparse.issparse(block) else block for block in self._blocks]
        return np.concatenate([np.empty((0, self.n_columns)), *blocks])[: self.count]

    def append(self, Z: Floats, answers: Ints) -> None:
        end = self.count + len(Z)
        if end > len(self._answers):
            self._answers = np.resize(self._answers, (2 * end, 2))
        self._answers[self.count : end] = answers
        while self.count < end:
            at = self.count % self._height
            if at == 0:
                self._blocks.append(np.empty((self._height, self.n_columns)))
            some = Z[len(Z) - (end - self.count) :][: self._height - at]
            self._blocks[-1][at : at + len(some)] = some
            self.count += len(some)
            if at + len(some) == self._height and _is_sparse(self._blocks[-1]):
                self._blocks[-1] = sparse.csr_matrix(self._blocks[-1])

    def reader(self) -> Callable[[int, Floats], None]:
        """A function that fills the rows of an array with columns, from a number on: of the rows that are there now."""
        blocks, height = list(self._blocks), self._height

        def read(first: int, out: Floats) -> None:
            for i, block in enumerate(blocks[: -(-out.shape[1] // height)]):
                part = block[: out.shape[1] - i * height]
                if sparse.issparse(part):
                    binning.take_sparse(part.data, part.indices, part.indptr, first, i * height, out)
                else:
                    binning.take(part, first, i * height, out)

        return read

    def copy(self) -> "AnswerLog":
        """One to add to, while this stays as it is."""
        other = AnswerLog(self.n_columns)
        other.count, other._answers, other._blocks = self.count, self._answers.copy(), list(self._blocks)
        if self.count % self._height:
            other._blocks[-1] = self._blocks[-1].copy()
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        rows, answers = self.rows, {"log_answers": self.answers.copy()}
        if not _is_sparse(rows):
            return answers | {"log_rows": rows}
        rows = sparse.csr_matrix(rows)
        return answers | {
            "log_data": rows.data,
            "log_indices": rows.indices.astype(np.int64),
            "log_indptr": rows.indptr.astype(np.int64),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        answers = arrays["log_answers"]
        rows: Any = arrays.get("log_rows")
        if rows is None:
            parts = tuple(arrays[f"log_{name}"] for name in ("data", "indices", "indptr"))
            rows = sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, self.n_columns))
            rows.check_format(full_check=True)
        if rows.ndim != 2 or rows.shape[1] != self.n_columns or answers.shape != (rows.shape[0], 2):
            raise ValueError(f"a log of shapes {rows.shape} and {answers.shape} does not fit {self.n_columns} columns")
        for begin in range(0, rows.shape[0], self._height):
            some = rows[begin : begin + self._height]
            self.append(some.toarray() if sparse.issparse(some) else some, answers[begin : begin + self._height])


def _is_sparse(rows: Floats) -> bool:
    """Whether it takes less than half the memory without zeros."""
    return 3 * int(np.count_nonzero(rows)) < rows.size
