"""What is promised for real data; skipped where DFORD_DATA names no folder."""

import os
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dford import DFORD, DirectionalBoosting, FeedbackLog, NewtonLogit
from dford.datasets import load
from dford.evaluation import offpolicy, tune

pytestmark = pytest.mark.skipif("DFORD_DATA" not in os.environ, reason="DFORD_DATA names no folder of real data")
REAL = ["abalone", "parkinsons", "california", "computer", "bank32nh", "bank8FM", "mslr"]


def answered(name: str, n: int, seed: int) -> tuple[FeedbackLog, Any, Any]:
    """A log of n answers of NewtonLogit with its defaults, the true levels, and its probabilities at the time."""
    X, y = load(name, return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    levels = list(range(1, int(y.max()) + 1))
    model, log, days = NewtonLogit(levels=levels, random_state=seed), FeedbackLog(levels), []
    for x, label in zip(X[rows], y[rows], strict=True):
        question = model.ask(x)
        days.append(model.predict_proba(x[None])[0])
        higher = bool(label > question.level)
        log.append(question, higher)
        model.tell(question, higher)
    return log, y[rows], np.array(days)


def test_two_thousand_answers_tell_the_error_on_california_to_12_percent() -> None:
    """On the mean of ten shuffles; it is 11.4%, and the shuffles differ by 1% or so."""
    halves, errors = [], []
    for seed in range(10):
        log, y, probabilities = answered("california", 2000, seed)
        estimate = offpolicy.mae(log, log.prediction, method="robust", probabilities=probabilities)
        halves.append((estimate.high - estimate.low) / 2)
        errors.append(np.abs(log.prediction - y).mean())
    assert np.mean(halves) <= 0.12 * np.mean(errors)


@pytest.mark.slow
def test_tune_picks_within_3_percent_of_the_best_on_6_of_7() -> None:
    grid = [
        NewtonLogit(),
        NewtonLogit(features="fourier"),
        NewtonLogit(features="fourier", n_components=100),
        NewtonLogit(covariance="diagonal"),
        NewtonLogit(forget=0.05),
        DFORD(),
        DirectionalBoosting(),
        DirectionalBoosting(max_leaf_nodes=7),
    ]
    close = 0
    for name in REAL:
        log, y, _ = answered(name, 4000, 0)
        chosen = tune(log, grid).candidates[0].learner
        errors = {learner: np.abs(clone(learner).replay(log) - y).mean() for learner in grid}
        close += errors[chosen] <= 1.03 * min(errors.values())
    assert close >= 6
