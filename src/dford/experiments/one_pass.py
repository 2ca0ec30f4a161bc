"""One pass over a table: one question a row, answered by its label."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dford.engine._compiled import Floats
from dford.learners import LEARNERS, LiveLearner, OrdinalLearner
from dford.log import FeedbackLog
from dford.scale import Scale

SCALED = ("dford", "prank", "pril")
"""Learners to whom the scale of features matters; the others see to it themselves."""


class Pass(NamedTuple):
    """What came of it."""

    model: OrdinalLearner
    errors: Floats
    """|prediction - level| of each row, before it was learned from."""
    log: FeedbackLog | None
    """The answered questions; None for PRank, who sees the labels."""


def one_pass(
    X: Floats,
    y: Any,
    levels: Sequence[Any],
    learner: str = "auto",
    *,
    feature_names: Sequence[str] | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> Pass:
    """Ask one question about each row, in order, and learn from the answer that its level gives.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    y : array
        The level of each row.
    levels : sequence
        All levels, lowest first.
    learner : {"auto", "newton", "boosting", "dford", "pril", "prank"}
        prank sees the level itself. dford, pril and prank see the rows scaled by `scaled_as_they_come`.
    feature_names : sequence of str, optional
        The names of the features, which the model and the log then know.
    seed : int
        The same seed asks the same questions.
    on_progress : callable, optional
        Called with the number of rows done, now and then.

    Examples
    --------
    >>> from dford.datasets import make_synthetic
    >>> done = one_pass(*make_synthetic(500, random_state=0), levels=range(1, 6))
    >>> len(done.log), done.model.rounds_, done.errors.shape
    (500, 500, (500,))
    """
    if learner not in LEARNERS:
        raise ValueError(f"no learner {learner!r}; there are {', '.join(LEARNERS)}")
    scale = Scale(levels)
    model, y = LEARNERS[learner](levels=scale.names, random_state=seed), scale.encode(y)
    X = scaled_as_they_come(X) if learner in SCALED else np.ascontiguousarray(X, dtype=np.float64)
    if not isinstance(model, LiveLearner):
        model.set_params(checkpoints=range(1, len(y) + 1))
        model.fit(X, scale.array[y - 1])
        sums = model.trace_.mae * np.arange(1, len(y) + 1)
        return Pass(model, np.round(np.diff(sums, prepend=0.0)), None)  # whole numbers, but for rounding
    if feature_names is not None and len(set(feature_names)) < X.shape[1]:
        raise ValueError(f"{X.shape[1]} features need as many different names; got {list(feature_names)}")
    log, errors, number = FeedbackLog(scale.names, feature_names), np.empty(len(y)), scale.index
    for row, level in enumerate(y.tolist()):
        question = model.ask(X[row] if feature_names is None else dict(zip(feature_names, X[row], strict=True)))
        higher = level > number[question.level]
        model.tell(question, higher)
        log.append(question, higher)
        errors[row] = abs(number[question.prediction] - level)
        if row % 500 == 499:
            on_progress(row + 1)
    return Pass(model, errors, log)


def scaled_as_they_come(X: Floats, unit: bool = True) -> Floats:
    """Rows in deviations from the mean, both over the rows up to each, and then divided by their norms.

    As in the reproduction of the paper, but with nothing from the future. Without `unit` they keep their norms.

    >>> scaled_as_they_come(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]))
    array([[0., 0.],
           [1., 0.],
           [1., 0.]])
    """
    count = np.arange(1.0, len(X) + 1)[:, None]
    away = np.asarray(X, dtype=np.float64) - X[0]  # near the mean already, so that squares lose nothing
    mean, square = away.cumsum(axis=0) / count, (away**2).cumsum(axis=0) / count
    variance = square - mean**2
    varied = variance > 1e-12 * square  # else nothing but rounding
    rows = np.where(varied, away - mean, 0.0) / np.sqrt(np.where(varied, variance, 1.0))
    if unit:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(norms > 0, norms, 1.0)
    return np.ascontiguousarray(rows)
