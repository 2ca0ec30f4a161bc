"""The error of any predictions, from answers to questions that something else chose.

|p - y| is the number of cuts i in 1..K-1 that p and y lie on different sides of. The answer about one cut shows whether
it is one of them; divided by the probability of having asked it, it counts for all. So with each level 1..K-1 asked
with positive probability, every figure here is unbiased, wherever the predictions come from, and no label is ever seen.

Such a mean may still leave the possible range, an error of up to K-1 levels or a share of up to 1, because answers are
weighted. Figures and their intervals are then cut off at its ends, after which nothing is claimed about their bias.

Answers are assumed to be right, unless `error_rate` says how often they are wrong. With a rate e, a cut that p and y
lie on different sides of with probability m is seen to be one with probability e + (1 - 2e) m, which is inverted. If
the rate is itself an estimate, such as that of a person in `dford.People`, its interval is taken into account: the
figure's interval holds for every rate in it.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats
from dford.estimates import Estimate, interval
from dford.log import FeedbackLog
from dford.policies import Policy

Rate = float | Estimate | None
_CERTAIN = 1.0 - 1e-9
_DOUBTLESS = 1.0 - 1e-6


def mae(
    log: FeedbackLog,
    predictions: Any,
    *,
    method: str = "plain",
    probabilities: Any = None,
    policy: Policy | None = None,
    confidence: float = 0.95,
    error_rate: Rate = None,
) -> Estimate:
    """The mean absolute error of predictions for the log's rows, in levels, without labels.

    Parameters
    ----------
    log : FeedbackLog
    predictions : sequence of levels
        One for each row of the log, from any source, made without looking at that row's answer.
    method : "plain", "normalised" or "robust", default="plain"
        Plain is unbiased. Normalised divides by the sum of the weights, for less variance and a bias that vanishes.
        Robust (doubly robust) starts from `probabilities` and corrects them by the answers: unbiased, and the
        narrower the better they are.
    probabilities : array of shape (n, K), for "robust"
        The probability of every level for every row, as from `predict_proba`, without that row's answer.
    policy : Policy, optional
        The policy that chose the questions, to check that it can ask about every level, and that it would have asked
        these with these propensities. Without it, it is only noticed if a level was never asked about, if weights of
        1 / propensity are far from their mean, K - 1, or if items have several answers. The log of a pool is always
        noticed, by the ids of its answers: propensities do not tell how it chose the items.
    confidence : float, default=0.95
        The confidence of the interval, for a number of rows fixed in advance; see `dford.estimates.interval`.
    error_rate : float or Estimate, optional
        How often an answer is wrong. By default all answers are assumed to be right. If it is an estimate, the interval
        covers every rate in its interval, at half of the doubt: at `confidence` 0.95 it is wrong in at most 2.5% of
        cases, plus those in which the rate's own interval is wrong.
    """
    if method not in {"plain", "normalised", "robust"}:
        raise ValueError(f"method must be 'plain', 'normalised' or 'robust'; got {method!r}")
    seen, weights = _terms(log, predictions, _mismatch, policy)
    most = len(log.scale) - 1.0
    possible = 0.0, most
    wrong: Any = None
    if method == "robust":
        q = _check_probabilities(log, probabilities)
        above = 1.0 - np.cumsum(q, axis=1)[:, :-1]
        wrong = np.where(_numbers(log, predictions)[:, None] > np.arange(1, len(log.scale)), 1.0 - above, above)

    def judge(rate: float, confidence: float) -> Estimate:
        terms, weight = _inverted(seen, weights, rate), _heaviest(log, weights, policy)
        heaviest = weight / (1.0 - 2.0 * rate)
        if wrong is not None:
            row, asked = np.arange(len(log)), np.minimum(log.level_numbers, len(log.scale) - 1) - 1
            corrected = wrong.sum(axis=1) + terms - weights * wrong[row, asked]
            value = float(corrected.mean())
            reach = value - heaviest, value + heaviest
            return interval(corrected, confidence, reach=reach, possible=possible, signed=True)
        least, largest, signed = -rate * heaviest, (1.0 - rate) * heaviest, rate > 0
        if method == "normalised":
            share = float(terms.sum() / weights.sum())
            centred, lowest = terms - share * weights + most * share, (most - weight) * share
            reach = lowest + least, lowest + largest
            return interval(centred, confidence, reach=reach, possible=possible, signed=signed)
        return interval(terms, confidence, reach=(least, largest), possible=possible, signed=signed)

    return _at_rates(judge, error_rate, confidence)


def accuracy(
    log: FeedbackLog,
    predictions: Any,
    *,
    within: int = 0,
    policy: Policy | None = None,
    confidence: float = 0.95,
    error_rate: Rate = None,
) -> Estimate:
    """The share of predictions that are right, or at most `within` levels off, without labels.

    Parameters
    ----------
    log : FeedbackLog
    predictions : sequence of levels
        One for each row of the log, made without looking at that row's answer.
    within : int, default=0
        How many levels off still counts as right.
    policy, confidence, error_rate
        As for `mae`.
    """
    if isinstance(within, bool) or not isinstance(within, (int, np.integer)) or within < 0:
        raise ValueError(f"within must be a whole number of levels, 0 or more; got {within!r}")
    within = min(int(within), len(log.scale))  # more would be the same, and may not fit into an array
    # The level is outside [p - w, p + w] if it is not above p - w - 1, or above p + w: two cuts, at most one of them.

    def outside(p: NDArray[np.int64], asked: NDArray[np.int64], higher: NDArray[np.bool_]) -> Floats:
        return np.where(np.where(higher, asked == p + within, asked == p - within - 1), 1.0, 0.0)

    def asks(p: NDArray[np.int64], asked: NDArray[np.int64], higher: NDArray[np.bool_]) -> Floats:
        return np.where((asked == p + within) | (asked == p - within - 1), 1.0, 0.0)

    seen, weights = _terms(log, predictions, outside, policy)
    could, _ = _terms(log, predictions, asks, policy)

    def judge(rate: float, confidence: float) -> Estimate:
        heaviest = _heaviest(log, weights, policy) / (1.0 - 2.0 * rate)
        return interval(
            _inverted(seen, could, rate), confidence, reach=(-rate * heaviest, (1.0 - rate) * heaviest),
            possible=(0.0, 1.0), signed=rate > 0,
        )  # fmt: skip

    missed = _at_rates(judge, error_rate, confidence)
    return Estimate(1.0 - missed.value, 1.0 - missed.high, 1.0 - missed.low)


def compare(
    log: FeedbackLog,
    first: Any,
    second: Any,
    *,
    policy: Policy | None = None,
    confidence: float = 0.95,
    error_rate: Rate = None,
) -> Estimate:
    """MAE of the first predictions minus that of the second, paired, so that what both have in common cancels out.

    If the predictions are the same in every row, it is exactly 0.

    Parameters
    ----------
    log : FeedbackLog
    first, second : sequence of levels
        Two predictions for each row of the log, made without looking at that row's answer.
    policy, confidence, error_rate
        As for `mae`.
    """
    (one, weights), (two, _) = (_terms(log, p, _mismatch, policy) for p in (first, second))
    if (_numbers(log, first) == _numbers(log, second)).all():
        return Estimate(0.0, 0.0, 0.0)
    most = len(log.scale) - 1.0

    def judge(rate: float, confidence: float) -> Estimate:
        heaviest, terms = _heaviest(log, weights, policy) / (1.0 - 2.0 * rate), (one - two) / (1.0 - 2.0 * rate)
        return interval(terms, confidence, reach=(-heaviest, heaviest), possible=(-most, most), signed=True)

    return _at_rates(judge, error_rate, confidence)


def corrected(running: Estimate, error_rate: float | Estimate, n_levels: int) -> Estimate:
    """`running_mae_` as it would be if no answer were wrong. The interval still holds at all times.

    With their weights, all cuts are asked about equally often. So with K levels, a rate e of wrong answers and an error
    of m, `running_mae_` estimates e (K - 1) + (1 - 2e) m. If the rate is an estimate, the interval covers all rates in
    its interval, and holds if the rate is one of them. If no error fits any of the rates, the interval is everything
    that is possible.

    Parameters
    ----------
    running : Estimate
        The `running_mae_` of a learner.
    error_rate : float or Estimate
        How often an answer is wrong, below 0.5.
    n_levels : int
        The number of levels of the learner's scale.
    """
    if n_levels < 2:
        raise ValueError(f"a scale has at least two levels; got n_levels={n_levels!r}")
    most = n_levels - 1.0

    def judge(rate: float, confidence: float) -> Estimate:
        found = ((figure - rate * most) / (1.0 - 2.0 * rate) for figure in running)
        return Estimate(*(min(max(figure, 0.0), most) for figure in found))

    found = _at_rates(judge, error_rate, 0.95)
    # if every rate contradicts the figure, they say nothing
    return found if found.low < found.high else Estimate(found.value, 0.0, most)


def _at_rates(judge: Callable[[float, float], Estimate], error_rate: Rate, confidence: float) -> Estimate:
    """The figure at an error rate, with an interval that holds for all possible rates."""
    rates = [0.0] if error_rate is None else list(error_rate) if isinstance(error_rate, Estimate) else [error_rate]
    for rate in rates:
        if not isinstance(rate, (int, float, np.number)) or not 0 <= rate < 0.5:
            why = "" if len(rates) == 1 else f" in {error_rate}: answers that are wrong half of the time say nothing"
            raise ValueError(f"an error rate must be a share below 0.5; got {rate!r}{why}")
    both = confidence if len(rates) == 1 else (1.0 + confidence) / 2  # half of the doubt is left to the rate
    found = [judge(float(rate), both) for rate in rates]
    return Estimate(found[0].value, min(one.low for one in found), max(one.high for one in found))


def _inverted(seen: Floats, asked: Floats, rate: float) -> Floats:
    """The terms as they would be on average if no answer were wrong; `asked` is each term if it were 1."""
    return (seen - rate * asked) / (1.0 - 2.0 * rate) if rate else seen


def _mismatch(p: NDArray[np.int64], asked: NDArray[np.int64], higher: NDArray[np.bool_]) -> Floats:
    return np.where((p > asked) != higher, 1.0, 0.0)


def _heaviest(log: FeedbackLog, weights: Floats, policy: Policy | None) -> float:
    """The most that an answer can weigh: according to the policy, or else the most in the log."""
    known = 0.0 if policy is None else policy.heaviest(len(log.scale))
    return max(float(weights.max()), known)


def _terms(
    log: FeedbackLog, predictions: Any, term: Callable[..., Floats], policy: Policy | None
) -> tuple[Floats, Floats]:
    """Each row's term divided by its propensity, and the weight itself; both are 0 if the top level was asked about."""
    K, asked = len(log.scale), log.level_numbers
    if len(log) < 2:
        raise ValueError(f"an estimate needs at least two answers; the log has {len(log)}")
    log.refuse_guesses()
    log.refuse_copies()
    if policy is not None:
        policy.require_all_levels(K, log.scale.names)
        policy.require_propensities(asked, log.prediction_numbers, log.propensity, log.scale.names)
    _check_items(log, is_of_policy=policy is not None)
    never = sorted(set(range(1, K)) - set(asked.tolist()))
    if never:
        raise ValueError(
            f"the log never asks about level {log.scale.names[never[0] - 1]!r}, so no unbiased estimate exists; "
            "use a policy that explores, or a longer log"
        )
    if certain := int(((log.propensity > _CERTAIN) & ((K > 2) | (asked == K))).sum()):
        raise ValueError(
            f"{certain} of the log's {len(log)} questions were certain to be asked, so nothing is known about other "
            "levels there, and no unbiased estimate exists; use a policy that explores (a pool with several people "
            "asks such questions too, and is judged by its audit)"
        )
    weights = np.where(asked < K, 1.0 / log.propensity, 0.0)
    _check_weights(weights, K, _heaviest(log, weights, policy))
    return weights * term(_numbers(log, predictions), asked, log.higher), weights


def _check_items(log: FeedbackLog, is_of_policy: bool) -> None:
    """Warn if a pool chose the questions, or may have: it rarely asks what is known, about an item asked again or not.

    The propensities of a pool are those of the cuts, given the item; but it also chose the item.
    """
    items = [item for item in log.item if item is not None]
    if count := log.count_of_pool():
        warnings.warn(
            f"{count} of the log's {len(log)} answers are a pool's, which chose the items by what was known about "
            "them, so this figure can be far off; judge a pool by its audit",
            stacklevel=1,
        )
    elif not is_of_policy and (again := len(items) - len(set(items))):
        warnings.warn(
            f"{again} of the log's {len(log)} answers are about an item with an earlier answer: if a pool chose these "
            "questions, it hardly asked what was already known, and this figure can be far off; judge a pool by its "
            "audit, and if a policy chose them, pass it as policy",
            stacklevel=1,
        )


def _check_weights(weights: Floats, n_levels: int, heaviest: float) -> None:
    """Warn if propensities cannot be right: whatever the policy, weights are K - 1 on average, one for every cut."""
    mean = interval(weights, _DOUBTLESS, reach=(0.0, heaviest), possible=(0.0, math.inf))
    if not mean.low <= n_levels - 1 <= mean.high:
        warnings.warn(
            f"1 / propensity is {mean.value:.2f} on average in this log, but it should be {n_levels - 1}, the number "
            "of cuts: either the propensities are wrong, or some cuts could not be asked about, where predictions then "
            "count as right",
            stacklevel=1,
        )


def _numbers(log: FeedbackLog, predictions: Any) -> NDArray[np.int64]:
    numbers = log.scale.encode(predictions)
    if numbers.shape != (len(log),):
        raise ValueError(f"expected one prediction for each of the log's {len(log)} rows; got shape {numbers.shape}")
    return numbers


def _check_probabilities(log: FeedbackLog, probabilities: Any) -> Floats:
    q = np.asarray(probabilities, dtype=np.float64)
    if q.shape != (len(log), len(log.scale)) or (q < 0).any() or not np.allclose(q.sum(axis=1), 1):
        raise ValueError(
            f"the robust method needs probabilities of shape {(len(log), len(log.scale))}, rows summing to 1"
        )
    return q
