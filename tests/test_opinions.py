"""People have opinions of items: what their answers say, compared with sums over all opinions, and what it is worth."""

from math import log
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import naive_opinions as naive
from dford import Pool
from dford.engine.beliefs import opinions
from dford.pool.agreement import AnswerColumns, Voice
from dford.pool.reliability import Groups, alike, by_people

FINE = 3
NAMES = ["ann", "ben", "cat"]


@st.composite
def worlds(draw: Any) -> Any:
    """Levels, three people, and answers in the order of items and people; no answer is there twice."""
    n_levels, n_items = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    weights = draw(st.lists(st.floats(0.1, 1.0), min_size=n_levels, max_size=n_levels))
    one = st.tuples(
        st.integers(0, n_items - 1), st.integers(0, 2), st.integers(0, n_levels - 2), st.integers(0, 2),
        st.floats(0.01, 0.45),
    )  # fmt: skip
    told = sorted(draw(st.lists(one, min_size=1, max_size=8)))
    strictness = draw(st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
    return np.array(weights) / sum(weights), n_items, told, np.array(strictness), draw(st.floats(0.1, 1.5))


def grouped(told: Any) -> tuple[Any, list[tuple[int, int, list[Any]]]]:
    item, person, cut, said, rate = (np.array(column) for column in zip(*told, strict=True))
    keys = np.stack([item, person], axis=1)
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
    ends = np.append(starts, len(item))
    groups = [(int(item[a]), int(person[a]), [one[2:] for one in told[a:b]]) for a, b in zip(ends, ends[1:])]  # noqa: B905, RUF007
    return (ends, item[starts], person[starts], cut, said, rate), groups


@given(worlds())
def test_what_answers_say_is_summed_over_all_opinions(world: Any) -> None:
    shares, n_items, told, strictness, spread = world
    borders, places = opinions.positions(shares, FINE)
    np.testing.assert_allclose(borders, naive.positions(shares, FINE)[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(places, naive.positions(shares, FINE)[1], rtol=1e-9, atol=1e-9)
    (ends, items, people, cuts, said, rates), groups = grouped(told)
    found = opinions.evidence(
        ends, items, strictness[people], cuts, said, rates, spread, borders, places, n_items
    )  # fmt: skip
    slow = np.zeros((n_items, len(places)))
    for item, person, answers in groups:
        slow[item] += [
            log(naive.likelihood(answers, at, strictness[person], spread, borders.tolist())) for at in places
        ]
    np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-9)
    by_level = opinions.of_levels(found, len(shares))
    np.testing.assert_allclose(np.exp(by_level), np.exp(slow).reshape(n_items, -1, FINE).mean(axis=2), rtol=1e-6)
    prior = np.tile(shares, (n_items, 1))
    likely = opinions.if_alike(
        ends, items, cuts, said, np.zeros(len(cuts)), prior, np.array([0.1]), np.array([spread]), borders, places
    )[0, 0]
    each = np.zeros((n_items, len(places)))
    for item, _, answers in groups:
        same = [(cut, what, 0.1) for cut, what, _ in answers]
        each[item] += [log(naive.likelihood(same, at, 0.0, spread, borders.tolist())) for at in places]
    heard = sorted({item for item, *_ in told})
    assert likely == pytest.approx(
        sum(log(np.exp(each[item]).reshape(-1, FINE).mean(axis=1) @ shares) for item in heard), rel=1e-6, abs=1e-9
    )


@given(worlds(), st.data())
def test_the_question_is_the_one_whose_answer_tells_most_for_its_cost(world: Any, data: Any) -> None:
    shares, n_items, told, strictness, spread = world
    borders, places = opinions.positions(shares, FINE)
    (ends, items, people, cuts, said, rates), groups = grouped(told)
    evidence = opinions.evidence(ends, items, strictness[people], cuts, said, rates, spread, borders, places, n_items)
    pairs = [(item, person) for item in range(n_items) for person in range(3)]
    before = [next((g for g, (i, p, _) in enumerate(groups) if (i, p) == pair), -1) for pair in pairs]
    item, who = np.array(pairs).T
    costs, next_rates = (np.array([data.draw(st.floats(0.05, hi)) for _ in pairs]) for hi in (5.0, 0.45))
    is_answered = np.array([[data.draw(st.booleans()) for _ in borders] for _ in pairs])
    bounds = np.tile(np.array([0, len(shares) - 1], np.int16), (len(pairs), 1))
    prior = np.tile(shares, (len(pairs), 1))
    pair, cut = opinions.most_telling(
        prior, evidence[item], bounds, np.array(before), ends, cuts, said, rates, strictness[who], next_rates, spread,
        borders, places, costs, is_answered,
    )  # fmt: skip
    slow = {}
    for n, (i, p) in enumerate(pairs):
        belief = naive.belief(shares, evidence[i], 0, len(shares) - 1)
        own = groups[before[n]][2] if before[n] >= 0 else []
        for c in range(len(borders)):
            told_next = [*own, (c, naive.YES, next_rates[n])]
            both, alone = (
                [naive.likelihood(some, at, strictness[p], spread, borders.tolist()) for at in places]
                for some in (told_next, own)
            )
            yes = [b / a for b, a in zip(both, alone, strict=True)]
            if not is_answered[n, c]:
                slow[n, c] = naive.information(belief, yes, len(shares)) / costs[n]
    best = max(slow.values(), default=0.0)
    if pair < 0:
        assert best < 1e-9
    else:
        assert slow[pair, cut] == pytest.approx(best, rel=1e-4, abs=1e-9)


def played(y: Any, n_levels: int, names: list[str], wrong: float, answers: int, seed: int = 0) -> Pool:
    """A pool without features, whose people answer in turns."""
    pool, random = Pool(np.empty((len(y), 0)), range(n_levels), random_state=seed), np.random.default_rng(seed)
    for n in range(answers):
        name = names[n % len(names)] if names else None
        question = pool.ask(person=name)
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)), person=name)
    return pool


def test_on_a_skewed_scale_names_do_no_harm() -> None:
    """Of two people each may answer a question once, so an item's third answer tells less than a stranger's would."""
    y = np.repeat(np.arange(5), [180, 54, 36, 18, 12])
    off = {
        len(names): np.mean([np.abs(played(y, 5, names, 0.05, 900, seed).levels_ - y).mean() for seed in range(3)])
        for names in ([], ["ann", "ben"], ["ann", "ben", "cat", "dan"])
    }
    assert off[4] <= off[0] + 0.03, "three standard deviations of such a difference of means: .016 in one pool"
    assert off[2] <= off[0] + 0.08, "and how much the second answer of a person lacks: .04 in six pools"


def test_two_people_who_are_always_right_place_everything_as_one_does() -> None:
    y = np.random.default_rng(0).integers(0, 4, 500)
    assert np.abs(played(y, 4, ["ann", "ben"], 0.0, 1100).levels_ - y).mean() < 0.02


def test_people_who_differ_near_borders_are_told_from_people_who_slip() -> None:
    """Five people each see an item where it is, give or take their own deviation; others slip at random."""
    random, told = np.random.default_rng(0), []
    place = random.logistic(size=400)
    cuts = np.array([-1.0, 0.5, 1.5])
    for spread, slips in ((0.6, 0.02), (0.0, 0.2)):
        rows = []
        for item in range(400):
            for person in random.permutation(5)[:3]:
                opinion = place[item] + spread * random.logistic()
                for cut in random.permutation(3)[:2]:
                    rows.append((item, person, cut, (opinion > cuts[cut]) != (random.random() < slips)))
        told.append(AnswerColumns(*(np.array(column) for column in zip(*rows, strict=True))))
    voices = [Voice(name) for name in "abcde"]
    prior, bounds = np.full((400, 4), 0.25), np.tile(np.array([0, 3], np.int16), (400, 1))
    differ, slip = (by_people(some, prior, bounds, voices) for some in told)
    assert differ.spread > 2 * slip.spread
    assert np.abs(differ.spread - 0.6) < 0.3
    assert differ.rates[1:].mean() < 0.06 < 0.12 < slip.rates[1:].mean() < 0.3


def test_answers_of_one_person_about_an_item_are_one_group() -> None:
    told = AnswerColumns(np.array([1, 0, 1, 1]), np.array([0, 1, 2, 0]), np.zeros(4, np.int64), np.ones(4, np.bool_))
    voices = [Voice("ann"), Voice("ben"), Voice("ann", 6)]
    assert np.diff(Groups.of(told, voices).starts).tolist() == [1, 3]
    assert np.diff(Groups.of(told, voices, are_one=False).starts).tolist() == [1, 1, 1, 1]
    assert alike(0.1, 4).fine == 1


@pytest.mark.parametrize("n_known", [4, 3])
def test_people_are_told_apart_by_known_items_even_if_these_leave_out_a_level(n_known: int) -> None:
    """One is always right, the other wrong about every fifth item."""
    level, cut = np.arange(40) % n_known, np.arange(40) % 3
    right = level > cut
    item, person, higher = np.repeat(np.arange(40), 2), np.tile([0, 1], 40), np.repeat(right, 2)
    higher[1::10] = ~right[::5]
    told = AnswerColumns(item, person, np.repeat(cut, 2), higher.astype(np.int64))
    whole = np.tile(np.array([0, 3], np.int16), (40, 1))
    found = by_people(told, np.eye(4)[level], whole, [Voice("ann", 0, False), Voice("ben", 0, False)])
    assert found.rates[1] < 0.06 < 0.1 < found.rates[2]
    assert (found.shares > 0.02).all()
