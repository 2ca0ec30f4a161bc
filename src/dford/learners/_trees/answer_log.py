"""The answers that trees are grown on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford import sparse_rows
from dford.arrays import Floats, Ints
from dford.engine import binning
from dford.learners._forms.form import writable

_BLOCK = 2**17  # about this many numbers in a block: 1 MB


class AnswerLog:
    """Rows, and for each the level asked about and whether it is higher, or 0 and the label.

    The last `n_own` columns are made by the learner, and cannot be made again. Features are kept in blocks and never
    moved, so that adding a row takes the same time however many there are. Once full, a block that is mostly zeros
    keeps only the other numbers. Features and answers may be stored elsewhere for a while: until they are recalled,
    nothing is added or grown.
    """

    def __init__(self, n_columns: int, n_own: int) -> None:
        self.n_columns, self.n_own = n_columns, n_own
        self.count = self._there = 0
        self._height = max(_BLOCK // max(self._n_features, 1), 32)
        self._blocks: list[Any] = []
        self._answers, self._own = np.empty((64, 2), np.int64), np.empty((64, n_own))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(writable(state))

    @property
    def _n_features(self) -> int:
        return self.n_columns - self.n_own

    @property
    def missing(self) -> int:
        """How many of the answers are stored elsewhere."""
        return self.count - self._there

    @property
    def answers(self) -> Ints:
        self.require_all()
        return self._answers[: self.count]

    @property
    def rows(self) -> Floats:
        """All rows, in one matrix."""
        return np.column_stack([self._features(), self._own[: self.count]])

    def append(self, Z: Floats, answers: Ints) -> None:
        self.require_all()
        end = self.count + len(Z)
        if end > len(self._own):
            self._own = np.resize(self._own, (2 * end, self.n_own))
        self._own[self.count : end] = Z[:, self._n_features :]
        self._add(Z[:, : self._n_features], answers)

    def recall(self, X: Floats, answers: Ints) -> None:
        """Give back the features and answers of the next missing rows."""
        if len(X) > self.missing:
            raise ValueError(f"{len(X)} answers were passed, but {self.missing} are missing")
        self._add(X, answers)

    def _add(self, X: Floats, answers: Ints) -> None:
        end = self._there + len(X)
        if end > len(self._answers):
            self._answers = np.resize(self._answers, (2 * end, 2))
        self._answers[self._there : end] = answers
        while self._there < end:
            at = self._there % self._height
            if len(self._blocks) * self._height == self._there:  # unless an interrupt came after it was made
                self._blocks.append(np.empty((self._height, self._n_features)))
            some = X[len(X) - (end - self._there) :][: self._height - at]
            self._blocks[-1][at : at + len(some)] = some
            there = self._there + len(some)
            # there is no call in this statement, so an interrupt comes before all of it or after
            self._there, self.count = there, there if there > self.count else self.count
            if at + len(some) == self._height and _is_sparse(self._blocks[-1]):
                self._blocks[-1] = sparse.csr_matrix(self._blocks[-1])

    def reader(self) -> Callable[[int, Floats], None]:
        """A function that fills an array's rows with the columns from a given one on, for the rows added so far."""
        self.require_all()
        blocks, height, own, n_features = list(self._blocks), self._height, self._own, self._n_features

        def read(first: int, out: Floats) -> None:
            n_rows, some = out.shape[1], max(min(len(out), n_features - first), 0)
            for i, block in enumerate(blocks[: -(-n_rows // height)] if some else []):
                part = block[: n_rows - i * height]
                if sparse.issparse(part):
                    binning.take_sparse(part.data, part.indices, part.indptr, first, i * height, out[:some])
                else:
                    binning.take(part, first, i * height, out[:some])
            first = max(first - n_features, 0)
            out[some:] = own[:n_rows, first : first + len(out) - some].T

        return read

    def copy(self) -> "AnswerLog":
        """A copy to add to, while this one stays as it is."""
        other = AnswerLog(self.n_columns, self.n_own)
        other.count, other._there, other._blocks = self.count, self._there, list(self._blocks)
        other._answers, other._own = self._answers.copy(), self._own.copy()
        if self._there % self._height:
            other._blocks[-1] = self._blocks[-1].copy()
        return other

    def own_arrays(self) -> dict[str, NDArray[Any]]:
        """What cannot be computed again from features and answers."""
        return {"log_own": self._own[: self.count].copy()}

    def other_arrays(self) -> dict[str, NDArray[Any]]:
        answers, X = {"log_answers": self.answers.copy()}, self._features()
        if not _is_sparse(X):
            return answers | {"log_rows": X}
        X = sparse.csr_matrix(X)
        return answers | {
            "log_data": X.data,
            "log_indices": X.indices.astype(np.int64),
            "log_indptr": X.indptr.astype(np.int64),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        own, answers = arrays["log_own"], arrays.get("log_answers")
        if own.ndim != 2 or own.shape[1] != self.n_own:
            raise ValueError(f"a log with own columns of shape {own.shape} does not fit a learner with {self.n_own}")
        self.count, self._own = len(own), own
        if answers is None:
            return
        X: Any = arrays.get("log_rows")
        if X is None:
            data, indices, indptr = (arrays[f"log_{name}"] for name in ("data", "indices", "indptr"))
            X = sparse_rows.checked(data, indices, indptr, self._n_features)
        if X.ndim != 2 or X.shape != (self.count, self._n_features) or answers.shape != (self.count, 2):
            raise ValueError(f"a log of shapes {X.shape} and {answers.shape} does not fit {self._n_features} features")
        for begin in range(0, self.count, self._height):
            some = X[begin : begin + self._height]
            self.recall(some.toarray() if sparse.issparse(some) else some, answers[begin : begin + self._height])

    def _features(self) -> Floats:
        self.require_all()
        blocks = [block.toarray() if sparse.issparse(block) else block for block in self._blocks]
        return np.concatenate([np.empty((0, self._n_features)), *blocks])[: self.count]

    def require_all(self) -> None:
        """Raise an error if some answers are missing."""
        if self.missing:
            raise ValueError(f"{self.missing} answers of this model are stored elsewhere; recall them first")


def _is_sparse(rows: Floats) -> bool:
    """Whether storing only the non-zeros takes less than half the memory."""
    return 3 * int(np.count_nonzero(rows)) < rows.size
