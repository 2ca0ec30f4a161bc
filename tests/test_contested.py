"""Where answers contradict each other, by who gave them."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dford.pool.agreement import AnswerColumns
from dford.pool.judged import contradictions
from dford.pool.reliability import Reliability, alike

ANSWERS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=20
)  # fmt: skip
RATES = [0.05, 0.2, 0.45]
K = 4


def several(rates: list[float]) -> Reliability:
    """People with these error rates, none of whom is strict, after somebody about whom nothing is known."""
    return alike(0.1, K)._replace(rates=np.array([0.1, *rates]), strictness=np.zeros(1 + len(rates)))


def columns(told: list[Any]) -> AnswerColumns:
    item, person, cut, higher = np.array(told, dtype=np.int64).reshape(-1, 4).T.copy()
    return AnswerColumns(item, person, cut, higher.astype(bool))


@given(ANSWERS)
def test_contradictions_weigh_by_how_rarely_their_people_are_wrong(told: list[Any]) -> None:
    found = contradictions(columns(told), several(RATES), 5)
    for item in range(5):
        own = [(RATES[person], cut, higher) for one, person, cut, higher in told if one == item]
        least = min(
            sum(math.log((1 - rate) / rate) for rate, cut, higher in own if (level > cut) != higher)
            for level in range(K)
        )
        assert found[item] == pytest.approx(least, abs=1e-9)


@given(ANSWERS)
def test_answers_that_fit_one_level_contradict_nobody(told: list[Any]) -> None:
    levels = [0, 1, 2, 3, 1]
    agreed = [(item, person, cut, levels[item] > cut) for item, person, cut, _ in told]
    assert not contradictions(columns(agreed), several(RATES), 5).any()
