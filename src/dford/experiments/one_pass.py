"""One pass over a table: one question per row, answered by its label."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Floats
from dford.columns import Columns
from dford.columns.scaling import Scaling, dense_block, scaled_as_they_come
from dford.experiments.own_learner import is_own, new_own
from dford.learners import LEARNERS, LiveLearner, OrdinalLearner, Rows
from dford.log import FeedbackLog
from dford.scale import Scale

SCALED = ("dford", "prank", "pril")
"""Learners to which the scale of features matters; the others scale them on their own."""


class Pass(NamedTuple):
    """The result of one pass."""

    model: OrdinalLearner
    errors: Floats
    """|prediction - level| of each row, before it was learned from."""
    log: FeedbackLog | None
    """The answered questions; None for those who see the labels, as PRank does."""


def one_pass(
    X: Rows,
    y: Any,
    levels: Sequence[Any],
    learner: str = "auto",
    *,
    feature_names: Sequence[str] | None = None,
    columns: Columns | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda rows: None,
    **parameters: Any,
) -> Pass:
    """Ask one question about each row, in order, and learn from the answer, which its level gives.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    y : array
        The level of each row.
    levels : sequence
        All levels, lowest first.
    learner : {"auto", "newton", "boosting", "dford", "pril", "prank"}
        prank sees the level itself. dford, pril and prank see the rows scaled by `scaled_as_they_come`, and so does
        newton if there are texts. For your own learner: "package.module:Class" or "file.py:Class".
    feature_names : sequence of str, optional
        The names of the features, which the model and the log then know.
    columns : Columns, optional
        What turned a table into X. After the pass the model then reads such tables itself, with rows scaled like the
        last one, if they were scaled, and the log has the rows as they are. The feature names come from them.
    seed : int
        The same seed asks the same questions.
    on_progress : callable, optional
        Called from time to time with the number of rows done.
    **parameters
        The parameters of the learner.

    Examples
    --------
    >>> from dford.datasets import make_synthetic
    >>> done = one_pass(*make_synthetic(500, random_state=0), levels=range(1, 6))
    >>> len(done.log), done.model.rounds_, done.errors.shape
    (500, 500, (500,))
    """
    if learner not in LEARNERS and not is_own(learner):
        raise ValueError(
            f"there is no learner {learner!r}; choose from {', '.join(LEARNERS)}, or your own as file.py:Class"
        )
    scale = Scale(levels)
    texts = columns is not None and columns.is_sparse_
    if texts and learner == "auto":
        parameters["dense"] = columns.n_dense_  # type: ignore[union-attr]
    parameters |= {"levels": scale.names, "random_state": seed}
    model = new_own(learner, **parameters) if is_own(learner) else LEARNERS[learner](**parameters)
    y = scale.encode(y)
    # the logit for sparse rows does not centre them, but numbers beside texts need it
    is_scaled = learner in SCALED or (learner == "newton" and texts)
    if columns is not None:
        model.check_columns(columns)
        feature_names = columns.feature_names()
        if is_scaled:
            columns = Columns.of(columns.columns_, Scaling.of(dense_block(X, columns.n_dense_)))
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X, dtype=np.float64)
    seen = scaled_as_they_come(X, dense=None if columns is None else columns.n_dense_) if is_scaled else X
    logged = seen if columns is None else X  # a model that knows its columns scales a log's rows itself
    model, errors, log = _play(model, seen, logged, y, scale, feature_names, columns is None, on_progress)
    if columns is not None:
        model.take_columns(columns)
    return Pass(model, errors, log)


def _play(
    model: OrdinalLearner, X: Rows, logged: Rows, y: Any, scale: Scale, feature_names: Sequence[str] | None,
    by_name: bool, on_progress: Callable[[int], None],
) -> Pass:  # fmt: skip
    if not isinstance(model, LiveLearner):
        model.set_params(checkpoints=range(1, len(y) + 1))
        model.fit(X, scale.array[y - 1])
        sums = model.trace_.mae * np.arange(1, len(y) + 1)
        return Pass(model, np.round(np.diff(sums, prepend=0.0)), None)  # whole numbers up to rounding errors
    if feature_names is not None and len(set(feature_names)) < X.shape[1]:
        raise ValueError(f"{X.shape[1]} features need as many distinct names; got {list(feature_names)}")
    log, errors, number = FeedbackLog(scale.names, feature_names), np.empty(len(y)), scale.index
    named = by_name and feature_names is not None
    for row, level in enumerate(y.tolist()):
        question = model.ask(dict(zip(feature_names, X[row], strict=True)) if named else X[row])  # type: ignore[arg-type]
        higher = level > number[question.level]
        model.tell(question, higher)
        log.append(question._replace(x=logged[row]), higher)
        errors[row] = abs(number[question.prediction] - level)
        if row % 500 == 499:
            on_progress(row + 1)
    return Pass(model, errors, log)
