"""The questions that a pool has asked: those still open, and what became of the others."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dford.arrays import Ints
from dford.engine import counter
from dford.learners import Rows
from dford.log import LEAST_PROPENSITY
from dford.pool.questions import ItemQuestion

OPEN, TOLD_NO, TOLD_YES, DROPPED, TOLD_LEVEL = range(5)
_FATES = {TOLD_NO: "answered no", TOLD_YES: "answered yes", DROPPED: "dropped", TOLD_LEVEL: "answered with a level"}


class AskedQuestions:
    """Questions numbered from 0. Each is open until it is answered or dropped, once."""

    def __init__(self, seed: int) -> None:
        self.key = f"{int(counter.key(seed)):08x}"
        """What the ids of all questions begin with."""
        self._open: dict[str, tuple[ItemQuestion, int]] = {}
        self._fates = bytearray()

    def __len__(self) -> int:
        """How many have been asked so far."""
        return len(self._fates)

    def __iter__(self) -> Iterator[ItemQuestion]:
        """The open ones."""
        return (question for question, _ in self._open.values())

    def identify(self, levels: list[Any], rows: Rows) -> None:
        """Tell the questions about these items from those of any other pool, even one with the same seed."""
        parts = (rows.indptr, rows.indices, rows.data) if sparse.issparse(rows) else (rows,)
        found = hashlib.blake2b(f"{self.key} {levels!r} {rows.shape}".encode(), digest_size=6)
        for part in parts:
            found.update(np.ascontiguousarray(part).tobytes())
        self.key = found.hexdigest()

    def id_of(self, number: int) -> str:
        return f"{self.key}-{number}"

    def add(self, question: tuple[Any, ...], checks: int) -> ItemQuestion:
        """Open the next one: all its fields except the id, and the number of the question that it repeats, or -1."""
        self._fates.append(OPEN)
        return self._put(question, checks)

    def find(self, question: ItemQuestion, fate: int) -> ItemQuestion | None:
        """The open question that equals this one, or None if it was already closed in this way."""
        if not isinstance(question, ItemQuestion):
            raise TypeError(f"expected a question that this pool asked; got {question!r}")
        asked = self._open.get(question.id, (None, -1))[0]
        if asked == question:
            return asked
        key, _, number = question.id.partition("-")
        if asked is not None or key != self.key or not number.isdigit() or not 0 <= int(number) < len(self):
            raise ValueError(f"question {question.id} was not asked by this pool; pass one that ask returned")
        if self._fates[int(number)] != fate:
            raise ValueError(f"question {question.id} was already {_FATES[self._fates[int(number)]]}")
        return None

    def repeated_by(self, question: ItemQuestion) -> int:
        """The number of the question that this open one repeats, or -1."""
        return self._open[question.id][1]

    def close(self, question: ItemQuestion, fate: int) -> None:
        self._fates[question.round] = fate
        del self._open[question.id]

    def forget(self, first: int) -> None:
        """Forget the questions from this number on, and what an interrupt left half done about the open ones."""
        self._open = {key: one for key, one in self._open.items() if one[0].round < first}
        del self._fates[first:]
        for question in self:
            self._fates[question.round] = OPEN

    def parts(self) -> tuple[list[list[Any]], Ints]:
        """What a file holds of them: the open ones, and the fates of all."""
        waiting = [[*question[1:], checks] for question, checks in self._open.values()]
        return waiting, np.frombuffer(bytes(self._fates), np.uint8)

    def restore(self, key: Any, waiting: list[list[Any]], fates: Any) -> None:
        if not isinstance(key, str):
            raise ValueError("the pool has an invalid key")
        self.key, self._fates = key, bytearray(fates.tobytes())
        for *given, checks in waiting:
            self._put(tuple(given), checks)
        numbers, is_open = sorted(one[4] for one in waiting), np.flatnonzero(fates == OPEN).tolist()
        if (
            numbers != is_open
            or (fates > TOLD_LEVEL).any()
            or not all(_is_valid(question, checks) for question, checks in self._open.values())
        ):
            raise ValueError("the pool has invalid questions")

    def _put(self, fields: tuple[Any, ...], checks: int) -> ItemQuestion:
        question = ItemQuestion("", *fields)
        question = question._replace(id=self.id_of(question.round))
        self._open[question.id] = question, checks
        return question


def _is_valid(question: ItemQuestion, checks: Any) -> bool:
    """Whether a question from a file, which repeats this one, could have been asked and can be saved again."""
    return (
        type(question.item) is type(question.round) is type(checks) is int
        and -1 <= checks < question.round
        and isinstance(question.person, str | None)
        and LEAST_PROPENSITY <= question.propensity <= 1
    )
