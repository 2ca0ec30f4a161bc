"""Policies: small values whose probabilities are exact."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dford import DFORD, Boundary, Greedy, Policy, Triangular, Uniform

ALL: list[Policy] = [
    Triangular(0.0),
    Triangular(0.4),
    Triangular(1.0),
    Greedy(),
    Uniform(),
    Boundary(0.0),
    Boundary(0.2),
]


@pytest.mark.parametrize("policy", ALL, ids=repr)
@given(st.integers(2, 30))
def test_every_row_is_a_distribution(policy: Policy, K: int) -> None:
    rows, sums = policy.table(K)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-14)
    assert (rows >= 0).all()
    assert (sums[:, -1] == 1).all()
    assert (np.diff(sums, axis=1) >= 0).all()
    # the share of [0, 1) in which a level is drawn is its probability: exactly 0 where that is 0
    shares = np.diff(sums, axis=1, prepend=0)
    np.testing.assert_allclose(shares, rows, atol=1e-15)
    assert ((shares == 0) >= (rows == 0)).all()


def test_triangular_gives_the_papers_figure_1() -> None:
    """K = 7, gamma = 0.7: Z is 29 at prediction 5 and 26 at prediction 2."""
    five = [2, 3, 4, 5, 6, 5, 4]
    two = [5, 6, 5, 4, 3, 2, 1]
    for prediction, heights in ((5, five), (2, two)):
        expected = [0.7 * h / sum(heights) + 0.3 * (i == prediction) for i, h in enumerate(heights, start=1)]
        np.testing.assert_allclose(Triangular(0.7).probabilities(prediction, 7), expected, rtol=1e-14)


def test_boundary_asks_at_both_ends_of_the_predicted_level() -> None:
    half = Boundary(0.2)
    np.testing.assert_allclose(half.probabilities(3, 5), [0.05, 0.45, 0.45, 0.05, 0])
    np.testing.assert_allclose(half.probabilities(1, 5), [0.85, 0.05, 0.05, 0.05, 0])  # level 1 has one boundary
    np.testing.assert_allclose(half.probabilities(5, 5), [0.05, 0.05, 0.05, 0.85, 0])
    np.testing.assert_allclose(half.probabilities(2, 2), [1, 0])


def test_uniform_asks_about_every_cut_equally_often() -> None:
    np.testing.assert_allclose(Uniform().probabilities(2, 5), [0.25, 0.25, 0.25, 0.25, 0])


def test_a_custom_policy_must_give_distributions() -> None:
    class Always(Policy):
        def __init__(self, p: list[float]) -> None:
            object.__setattr__(self, "p", p)

        def probabilities(self, prediction: int, n_levels: int) -> Any:
            return self.p  # type: ignore[attr-defined]

    X, y = np.eye(3), [1, 2, 3]
    assert DFORD(policy=Always([0.5, 0.5, 0.0]), random_state=0).fit(X, y).rounds_ == 3
    for wrong in ([0.5, 0.6, 0.0], [1.5, -0.5, 0.0], [0.5, 0.5]):
        with pytest.raises(ValueError, match="must give 3 probabilities that sum to 1"):
            DFORD(policy=Always(wrong)).fit(X, y)


def test_policies_are_values() -> None:
    assert Triangular(0.4) == Triangular(0.4) != Triangular(0.5)
    assert len({Boundary(0.2), Boundary(0.2), Uniform(), Uniform()}) == 2
    assert repr(Boundary(exploration=0.2)) == "Boundary(exploration=0.2)"
    with pytest.raises(AttributeError):
        Triangular(0.4).exploration = 0.5  # type: ignore[misc]


@pytest.mark.parametrize("policy", [Triangular(0.3), Boundary(0.4), Uniform()], ids=repr)
def test_levels_are_asked_as_often_as_the_propensity_says(policy: Policy) -> None:
    model = DFORD(levels=range(1, 7), policy=policy, random_state=0)
    questions = [model.ask([1.0]) for _ in range(20_000)]
    expected = policy.probabilities(1, 6)
    counts = np.bincount([q.level for q in questions], minlength=7)[1:]
    assert (counts[expected == 0] == 0).all()
    seen = expected > 0
    chi2 = ((counts - 20_000 * expected)[seen] ** 2 / (20_000 * expected[seen])).sum()
    assert chi2 < 20.5  # 5 degrees of freedom: 1 in 1000 is above
    assert all(q.propensity == expected[q.level - 1] for q in questions)


@pytest.mark.parametrize("policy", [Triangular(0.0), Greedy(), Boundary(0.0)], ids=repr)
def test_a_policy_that_cannot_ask_a_level_is_refused_where_an_estimate_needs_it(policy: Policy) -> None:
    with pytest.raises(ValueError, match=r"never asks about level \d of 4 when it predicts level \d.*exploration"):
        policy.require_all_levels(4)


@pytest.mark.parametrize("policy", [Triangular(0.1), Uniform(), Boundary(0.1)], ids=repr)
def test_the_top_level_need_not_be_asked(policy: Policy) -> None:
    for K in range(2, 9):
        policy.require_all_levels(K)
