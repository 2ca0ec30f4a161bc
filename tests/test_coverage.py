"""Which items too few people have answered about."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from dford import NewtonLogit
from dford.pool.agreement import Voice
from dford.pool.answers import GOLD, PLACE, Answer
from dford.pool.placements import Placements
from dford.scale import Scale
from dford.service.learning.coverage import Coverage

PEOPLE = ["ann", "ben", "cat"]
ANSWERS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(PEOPLE), st.sampled_from([PLACE, PLACE, GOLD]), st.booleans()),
    max_size=20,
)


@given(ANSWERS, st.integers(1, 4), st.sampled_from([*PEOPLE, "dan"]))
def test_items_lack_answers_until_enough_people_have_answered(told: list[Any], n: int, person: str) -> None:
    placements = Placements(Scale([1, 2, 3]), NewtonLogit(), None, 0.05, 0)
    placements.add(np.zeros((4, 1)))
    coverage, who = Coverage(), {item: set[str]() for item in range(4)}
    for number, (item, name, purpose, is_looked_at) in enumerate(told):
        placements.count(Answer(number, item, 0, 0, 0.5, True, purpose, -1, placements.number(Voice(name))))
        if purpose != GOLD:
            who[item].add(name)
        if is_looked_at or number == len(told) - 1:
            expected = [item for item, names in who.items() if len(names) < n and person not in names]
            assert coverage.lacking(placements, n, person).tolist() == expected
