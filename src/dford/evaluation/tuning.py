"""Choosing a learner from a log of answers, without labels."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sklearn.base import clone

from dford.estimates import Estimate
from dford.evaluation import offpolicy
from dford.learners import LiveLearner
from dford.log import FeedbackLog
from dford.policies import Policy


class Candidate(NamedTuple):
    """A learner and how it did."""

    learner: LiveLearner
    """As it was passed in, untrained."""
    mae: Estimate
    """The mean error of its predictions on the way through the log."""
    behind: Estimate
    """Its error minus that of the best one; the intervals of all candidates hold together, whichever looks best."""

    @property
    def name(self) -> str:
        """The learner and its non-default parameters, on one line."""
        defaults = type(self.learner)().get_params()
        chosen = {name: value for name, value in self.learner.get_params().items() if name != "random_state"}
        words = [f"{name}={value!r}" for name, value in chosen.items() if value != defaults[name]]
        return f"{type(self.learner).__name__}({', '.join(words)})"

    @property
    def tied(self) -> bool:
        """Whether the log cannot tell it from the best."""
        return self.behind.low <= 0


class Tuning(NamedTuple):
    """The candidates, best first."""

    candidates: list[Candidate]

    @property
    def best(self) -> LiveLearner:
        """The best candidate, untrained: `fit_log(log)` trains it."""
        return self.candidates[0].learner

    @property
    def decided(self) -> bool:
        """Whether the log tells the best apart from all others."""
        return not any(candidate.tied for candidate in self.candidates[1:])

    def __str__(self) -> str:
        best, *others = self.candidates
        tied = [candidate.name for candidate in others if candidate.tied]
        if not tied:
            return f"{best.name} is best: {best.mae.value:.3f} levels off on average."
        return (
            f"{best.name} looks best, {best.mae.value:.3f} levels off on average, but the log cannot tell it from "
            f"{', '.join(tied)}; more answers would."
        )


def tune(
    log: FeedbackLog,
    grid: Iterable[LiveLearner],
    *,
    policy: Policy | None = None,
    confidence: float = 0.95,
    progress: Callable[[int, LiveLearner], None] | None = None,
) -> Tuning:
    """Compare learners by replaying a log: each predicts every row before it learns from its answer.

    Parameters
    ----------
    log : FeedbackLog
        Answers to questions chosen by any policy that can ask about every level.
    grid : learners
        The candidates, with their parameters. They are copied and never changed.
    policy : Policy, optional
        The policy that chose the questions, to check that it can ask about every level.
    confidence : float, default=0.95
        The probability that the differences of all candidates from the one that looks best are in their intervals. They
        hold for all pairs at once (Bonferroni), because the same answers choose the best and judge it.
    progress : function, optional
        Called with (number, learner) before each candidate.

    Examples
    --------
    >>> from dford import FeedbackLog, NewtonLogit
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(1_000, random_state=0)
    >>> model, log = NewtonLogit(levels=[1, 2, 3, 4, 5], random_state=0), FeedbackLog([1, 2, 3, 4, 5])
    >>> for x, label in zip(X, y):
    ...     question = model.ask(x)
    ...     log.append(question, higher=bool(label > question.level))
    >>> tuning = tune(log, [NewtonLogit(features=f) for f in ("linear", "poly")])
    >>> tuning.best, tuning.decided
    (NewtonLogit(features='poly'), True)
    """
    learners = list(grid)
    for learner in learners:
        if not isinstance(learner, LiveLearner):
            raise TypeError(f"tune needs learners that learn from answers; got {learner!r}")
    if not learners:
        raise ValueError("tune needs at least one learner to choose from")
    predictions = []
    for n, learner in enumerate(learners):
        if progress is not None:
            progress(n, learner)
        predictions.append(clone(learner).replay(log, policy=policy))
    figures = [offpolicy.mae(log, p, policy=policy, confidence=confidence) for p in predictions]
    best = min(range(len(learners)), key=lambda i: figures[i].value)
    each = 1 - (1 - confidence) / max(len(learners) * (len(learners) - 1) // 2, 1)
    behind = [offpolicy.compare(log, p, predictions[best], policy=policy, confidence=each) for p in predictions]
    order = sorted(range(len(learners)), key=lambda i: (i != best, figures[i].value))
    return Tuning([Candidate(learners[i], figures[i], behind[i]) for i in order])
