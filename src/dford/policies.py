"""Policies: which level to ask about, given the prediction. Small values with exact probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Policy:
    """A distribution over the levels that depends on the prediction alone; a subclass must define `probabilities`.

    A policy does not use names: it counts levels from 1, the lowest, to K.
    """

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        """P(level asked = 1..K) when `prediction` is the learner's level, counted from 1."""
        raise NotImplementedError(f"{type(self).__name__} must define probabilities(prediction, n_levels)")

    def table(self, n_levels: int) -> NDArray[np.float64]:
        """Probabilities and their running sums for every prediction, shape (2, K, K)."""
        rows = np.array([self.probabilities(p, n_levels) for p in range(1, n_levels + 1)], dtype=np.float64)
        if rows.shape != (n_levels, n_levels) or (rows < 0).any() or not np.allclose(rows.sum(axis=1), 1, rtol=1e-9):
            raise ValueError(f"{self} must give {n_levels} probabilities that sum to 1; got {rows.tolist()}")
        sums = np.cumsum(rows, axis=1)
        # From the last level that can be asked about onwards, the sum is 1 whatever rounding says: every draw finds
        # its level, and a level of probability 0 is never drawn.
        last = n_levels - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
        sums[np.arange(n_levels) >= last[:, None]] = 1.0
        return np.ascontiguousarray([rows, sums])

    def heaviest(self, n_levels: int) -> float:
        """The largest weight of an answer in an estimate: 1 over the smallest probability of a cut, or infinity."""
        with np.errstate(divide="ignore"):
            return float(1.0 / self.table(n_levels)[0, :, :-1].min())

    def require_all_levels(self, n_levels: int, names: Sequence[Any] | None = None) -> None:
        """Raise an error if some cut could never be asked about, naming it if names are given.

        An estimate weighted by 1 / propensity is unbiased only if levels 1..K-1 can all be asked about,
        whatever the prediction. Level K may be missing: "is it above the top?" has one answer.
        """
        for prediction in range(1, n_levels + 1):
            missing = np.flatnonzero(self.probabilities(prediction, n_levels)[:-1] == 0)
            if missing.size:
                asked, predicted = (
                    f"level {place} of {n_levels}" if names is None else f"level {names[place - 1]!r}"
                    for place in (missing[0] + 1, prediction)
                )
                raise ValueError(
                    f"{self} never asks about {asked} when it predicts {predicted}, "
                    "so no unbiased estimate exists; use a policy with exploration greater than 0"
                )

    def require_propensities(
        self, level: NDArray[np.int64], prediction: NDArray[np.int64], propensity: NDArray[np.float64],
        names: Sequence[Any],
    ) -> None:  # fmt: skip
        """Raise an error if this policy would have asked some question with another probability.

        Levels and predictions are places on the scale, from 1. Propensities may have lost their last digits in a file.
        """
        own = self.table(len(names))[0][prediction - 1, level - 1]
        others = np.flatnonzero(~np.isclose(own, propensity, rtol=1e-6, atol=0.0))
        if others.size:
            row = int(others[0])
            asked, predicted = names[level[row] - 1], names[prediction[row] - 1]
            raise ValueError(
                f"row {row + 1} of the log was asked with probability {propensity[row]:.3g}, but {self} asks about "
                f"{asked!r} with probability {own[row]:.3g} when it predicts {predicted!r}; give the policy that chose "
                "the questions"
            )


@dataclass(frozen=True)
class _Exploring(Policy):
    exploration: float

    def __post_init__(self) -> None:
        if not 0 <= self.exploration <= 1:
            raise ValueError(f"exploration must be between 0 and 1; got {self.exploration!r}")


@dataclass(frozen=True)
class Triangular(_Exploring):
    """The paper's P: the prediction or, with weight `exploration`, a triangle around it.

    P2(i) is proportional to 1 + max(p, K - p) - |i - p| for prediction p.

    >>> Triangular(0.7).probabilities(5, 7).round(3)
    array([0.048, 0.072, 0.097, 0.121, 0.445, 0.121, 0.097])
    """

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        levels = np.arange(1, n_levels + 1)
        heights = 1.0 + max(prediction, n_levels - prediction) - np.abs(levels - prediction)
        p: NDArray[np.float64] = self.exploration * heights / heights.sum()
        p[prediction - 1] += 1 - self.exploration
        return p


@dataclass(frozen=True)
class Greedy(Policy):
    """Always the prediction, which learns in one direction only: the paper's exploration of 0."""

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        p = np.zeros(n_levels)
        p[prediction - 1] = 1.0
        return p


@dataclass(frozen=True)
class Uniform(Policy):
    """Each of the K - 1 levels below the top with the same probability."""

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        p = np.full(n_levels, 1.0 / (n_levels - 1))
        p[-1] = 0.0
        return p


@dataclass(frozen=True)
class Boundary(_Exploring):
    """The two boundaries of the predicted level, half each, or, with weight `exploration`, any cut.

    The boundaries of level p are "above p - 1?" and "above p?"; the lowest and the highest level have one.

    >>> Boundary(0.2).probabilities(3, 5)
    array([0.05, 0.45, 0.45, 0.05, 0.  ])
    """

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        p = self.exploration * Uniform().probabilities(prediction, n_levels)
        for boundary in (max(prediction - 1, 1), min(prediction, n_levels - 1)):
            p[boundary - 1] += (1 - self.exploration) / 2
        return p


@dataclass(frozen=True)
class Nearby(_Exploring):
    """Every cut by the inverse square of its distance or, with weight `exploration`, any cut evenly.

    The distance of a cut is 1 for the boundaries of the predicted level, 2 for the next ones, and so on. Answers about
    boundaries teach most. Estimates without labels get their variance from cuts that are asked about less often than
    errors occur there, and these probabilities fall off as errors do: on the paper's datasets such estimates are a
    third narrower than with `Boundary(0.2)`, and what is learned is the same.

    >>> Nearby(0.1).probabilities(3, 6).round(3)
    array([0.106, 0.365, 0.365, 0.106, 0.058, 0.   ])
    """

    exploration: float = 0.1

    def probabilities(self, prediction: int, n_levels: int) -> NDArray[np.float64]:
        cuts = np.arange(1, n_levels)
        distance = 1.0 + np.minimum(np.abs(cuts - prediction), np.abs(cuts - (prediction - 1)))
        p = self.exploration * Uniform().probabilities(prediction, n_levels)
        closeness = 1.0 / (distance * distance)
        p[:-1] += (1 - self.exploration) * closeness / closeness.sum()
        return p
