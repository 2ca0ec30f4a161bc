"""What a model has in common with a log: whether it is judged by answers it learned from."""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dford.engine import sketch, vectors
from dford.learners._forms.form import Form, Rows
from dford.log import FeedbackLog

_FEW = 16  # a full sketch with fewer different keys holds answers of one or two kinds


class Overlap(NamedTuple):
    """Of a log's `answers`, `checked` could be looked up, and the model learned from `found` of these.

    Or from answers with the same features, level and answer, which cannot be told apart. A model keeps a sample of 128
    of its answers. If it learned from no more than that, all answers of a log can be looked up; otherwise a random part
    of them, about as large as 128 is compared with what it learned from. If all rows have the same length, as those of
    texts alone do, it is a part of the answers about a level or two: if none of these is found, nothing counts as
    checked. Rows of zeros cannot be told apart, and are left out.
    """

    found: int
    checked: int
    answers: int

    @property
    def share(self) -> float:
        """The share of the log it learned from, as far as could be checked; NaN if nothing could."""
        return self.found / self.checked if self.checked else math.nan


def overlap(form: Form, X: Rows, log: FeedbackLog) -> Overlap:
    """The overlap of a form and a log whose rows are X."""
    if not len(log):
        return Overlap(0, 0, 0)
    if sparse.issparse(X):
        squares, hashes = (
            vectors.sparse_squares(X.data, X.indptr),
            sketch.sparse_row_hashes(X.data, X.indices, X.indptr),
        )
    else:
        found_squares = form.check(X)
        squares = vectors.squares(X) if found_squares is None else found_squares
        hashes = sketch.row_hashes(X)
    told = 2 * log.level_numbers + log.higher
    some = hashes != 0
    # the model may have learned rows with their labels, which answer every question
    found = [sketch.look_up(form.state, hashes[some], squares[some], how[some]) for how in (told, np.zeros_like(told))]
    checked, there = max(found, key=lambda counts: counts[1] / max(counts[0], 1))
    if not there:
        checked = min(counts[0] for counts in found)
        keys = form.state[sketch.KEYS : sketch.PRINTS]
        if keys[-1] < 1 and np.unique(keys).size < _FEW:
            checked = 0
    return Overlap(there, checked, len(log))
