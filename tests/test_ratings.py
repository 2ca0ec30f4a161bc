"""Whole ratings, columns of ratings, and programs that inform: people decide."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dford import Pool, load
from dford.datasets import make_synthetic

LEVELS = ["none", "mild", "strong", "extreme"]
NAMES = np.array(LEVELS)


def new(n: int = 40, **options: Any) -> Pool:
    return Pool(np.empty((n, 0)), LEVELS, **{"audit": 0, "random_state": 0} | options)


def judges(n: int, count: int, seed: int = 0) -> tuple[Any, Any]:
    """The right places of items, and what judges who often err together say."""
    random = np.random.default_rng(seed)
    right = random.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    shared = right + random.choice([-1, 0, 1], n, p=[0.1, 0.4, 0.5])
    return right, np.clip(shared[:, None] + random.choice([-1, 0, 1], (n, count), p=[0.1, 0.8, 0.1]), 0, 3)


def answer_rightly(pool: Pool, right: Any, n: int) -> None:
    for _ in range(n):
        question = pool.ask()
        pool.tell(question, bool(right[question.item] > LEVELS.index(question.level)))


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(LEVELS), st.sampled_from(["ann", "ben"])), max_size=30))
@settings(max_examples=25, deadline=None)
def test_a_table_of_ratings_counts_like_one_after_the_other_and_each_once(rows: list[tuple[int, str, str]]) -> None:
    one, many = new(10), new(10)
    for item, level, person in rows:
        one.rate(item, level, person=person)
    table = dict(zip(("item", "level", "person"), map(list, zip(*rows, strict=True)), strict=True)) if rows else None
    for _ in range(2 if table else 0):
        many.rate(table)
    assert len(one.ratings_["item"]) == len(set(rows))
    assert one.ratings_ == many.ratings_
    assert (one.probabilities_ == many.probabilities_).all()


def test_a_rating_says_where_an_item_is_and_answers_of_the_same_person_add_little() -> None:
    pool = new()
    pool.rate(0, "strong", person="ann")
    assert pool.levels_[0] == "strong"
    assert pool.probabilities_[0].max() > 0.5
    pool.rate(0, "mild", person="ben")
    assert pool.levels_[0] in ("mild", "strong")
    for _ in range(30):  # whatever ann is asked now, it is not about what she has rated
        question = pool.ask(person="ann")
        assert question.item != 0
        pool.tell(question, higher=True)


@pytest.mark.parametrize("purpose", ["place", "audit"])
def test_a_question_can_be_answered_with_a_level(purpose: str, tmp_path: Path) -> None:
    pool = new(audit=0.5)
    question = pool.ask(person="ann")
    while question.purpose != purpose:
        question = pool.tell(question, higher=True).ask(person="ann")
    pool.rate(question, "mild")
    pool.rate(question, "mild")
    assert pool.ratings_ == {"item": [question.item], "person": ["ann"], "level": ["mild"]}
    with pytest.raises(ValueError, match="was already answered with the level 'mild'"):
        pool.rate(question, "strong")
    with pytest.raises(ValueError, match="was already answered with a level"):
        pool.tell(question, higher=True)
    pool.save(tmp_path / "a.pool")
    again = load(tmp_path / "a.pool")
    for one in (pool, again):
        one.rate(3, "none", person="ben")
        for _ in range(30):
            one.tell(one.ask(), higher=False)
    assert again.ratings_ == pool.ratings_
    assert (again.probabilities_ == pool.probabilities_).all()
    assert len(pool.log_) == len(pool._placements.answers) - 2, "ratings are no answers to questions"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((99, "mild"), "there is no item 99"),
        ((0, "purple"), "'purple' is not a level"),
        ((0, None), "None is not a level"),
        (("x", "mild"), "item must be the number of an item"),
        (({"item": [0], "rating": ["mild"]},), "columns item, level and, if it is known, person; got item, rating"),
        (({"item": [0, 1], "level": ["mild", "purple"]},), "'purple' is not a level"),
        (({"item": [0, 99], "level": ["mild", "mild"]},), "there is no item 99"),
        (({"item": [0.0, math.nan], "level": ["mild", "mild"]},), "the item of row 1 of the ratings must be a whole"),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_of_it_counts(given: tuple[Any, ...], says: str) -> None:
    pool = new()
    with pytest.raises((ValueError, TypeError), match=says):
        pool.rate(*given)
    assert not pool.ratings_["item"]


def test_numbers_of_items_may_be_floats_as_a_column_with_gaps_has_them() -> None:
    one, other = new(), new()
    one.rate({"item": [3, 0], "level": ["mild", "mild"]})
    other.rate({"item": [3.0, 0.0], "level": ["mild", "mild"]})
    assert one.ratings_ == other.ratings_


@pytest.mark.parametrize("said", [2, 3.5, "mild"])
def test_a_level_told_as_an_answer_is_refused_and_rate_is_named(said: Any) -> None:
    pool = new()
    with pytest.raises(TypeError, match="use rate"):
        pool.tell(pool.ask(), said)


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_ratings_of_many_people_come_at_least_as_near_as_their_median(spread: float) -> None:
    """Nine levels, of which the middle one is rare; each item is rated by other people."""
    random, off = np.random.default_rng(1), []
    right = np.clip(np.round(random.choice([-2, 2], 300) + random.normal(0, 1.2, 300)), -4, 4)
    pool = Pool(np.empty((300, 0)), range(-4, 5), audit=0, random_state=0)
    said = np.clip(np.round(right[:, None] + spread * random.normal(size=(300, 3))), -4, 4).astype(int)
    for k in range(3):
        people = [f"p{n}" for n in random.integers(0, 30, 300) + 30 * k]
        pool.rate({"item": range(300), "level": said[:, k].tolist(), "person": people})
        ours, median = (np.abs(x - right).mean() for x in (pool.levels_, np.median(said[:, : k + 1], axis=1)))
        off.append(ours - median)
    assert max(off) <= 0.05, off


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_single_ratings_of_rare_levels_are_not_all_taken_for_slips(seed: int) -> None:
    """Nothing tells the two apart, and rates of slips are cautious: with shares by these, nearly all of them were."""
    random, n = np.random.default_rng(seed), 600
    right = random.choice(4, n, p=[0.76, 0.11, 0.05, 0.08])
    said = np.where(random.random(n) < 0.1, np.clip(right + random.choice([-1, 1], n), 0, 3), right)
    people = [f"person {i % 200}" for i in range(n)]
    pool = new(n).rate({"item": range(n), "level": NAMES[said].tolist(), "person": people})
    assert off(pool, right) < 0.3


def test_settled_items_teach_at_once() -> None:
    X, y = make_synthetic(400, random_state=0)
    pool = Pool(X, [1, 2, 3, 4, 5], random_state=0)
    before = np.abs(pool.levels_[300:] - y[300:]).mean()
    for item in range(300):
        pool.settle(item, int(y[item]))
    assert np.abs(pool.levels_[300:] - y[300:]).mean() < 0.5 * before


@pytest.mark.parametrize("copies", [1, 5])
def test_programs_that_are_wrong_together_do_not_outvote_a_person(copies: int) -> None:
    """Two right answers per item undo what programs said, however many there are."""
    right, said = judges(300, 1)
    pool, alone = new(300), new(300)
    for n in range(copies):
        pool.run(lambda item, level: bool(said[item, 0] > LEVELS.index(level)), person=f"copy {n}", budget=1000)
    assert pool.expected_error_ > 0.5 * off(pool, right), "nobody has said yet what these are worth"
    for one in (pool, alone):
        answer_rightly(one, right, 600)
    assert off(pool, right) <= off(alone, right) + 0.02


def off(pool: Pool, right: Any) -> float:
    return float(np.abs([LEVELS.index(level) for level in pool.levels_] - right).mean())


@pytest.mark.parametrize(("columns", "settled"), [(0, 0), (0, 1), (3, 0), (3, 8)])
def test_a_program_that_is_right_is_not_left_for_a_few_known_levels_or_for_answers_that_agree(
    columns: int, settled: int
) -> None:
    """People are asked where the program leaves doubt, for a while only about items at one level: those say nothing of
    the shares of the levels, and what fits them alone may be wrong everywhere else."""
    random = np.random.default_rng(0)
    y = random.choice([1, 2, 3], 200, p=[0.5, 0.3, 0.2])
    pool = Pool(random.normal(size=(200, columns)), levels=[1, 2, 3], programs=["judge"], random_state=0)
    for item in range(settled):
        pool.settle(item, int(y[item]))
    pool.run(lambda item, level: bool(y[item] > level), person="judge", budget=400)
    assert (pool.levels_ == y).all()
    for _ in range(8):
        for _ in range(10):
            question = pool.ask(person="ann")
            pool.tell(question, bool(y[question.item] > question.level))
        assert np.abs(pool.levels_ - y).mean() < 0.05


def test_programs_say_as_much_as_the_same_columns() -> None:
    right, said = judges(400, 3)
    table = pd.DataFrame({f"judge{n}": said[:, n] for n in range(3)})
    columns = Pool(table, LEVELS, audit=0, random_state=0)
    rated = new(400, programs=list(table))
    rated.rate({
        "item": np.tile(np.arange(400), 3), "person": np.repeat(list(table), 400), "level": NAMES[said.T.ravel()],
    })  # fmt: skip
    assert np.allclose(columns.probabilities_, rated.probabilities_), "they start from the same votes"
    people = new(400)
    for pool in (columns, rated, people):
        answer_rightly(pool, right, 300)
    assert abs(off(columns, right) - off(rated, right)) < 0.08
    assert max(off(columns, right), off(rated, right)) < off(people, right)


@pytest.mark.parametrize("form", ["numbers", "words", "array", "texts"])
def test_columns_of_ratings_are_found_and_are_where_levels_start(form: str) -> None:
    right, said = judges(200, 2)
    table: Any = pd.DataFrame({"a": said[:, 0], "b": said[:, 1], "size": np.arange(200) % 7})
    if form == "words":
        table = table.assign(a=NAMES[said[:, 0]], b=NAMES[said[:, 1]])
    elif form == "texts":
        table = table.assign(text=[f"the text with number {n}" for n in range(200)])
    elif form == "array":
        table = table.to_numpy()
    pool, without = Pool(table, LEVELS, random_state=0), Pool(table, LEVELS, ratings=[], random_state=0)
    assert [feature for feature, _ in pool._placements.rating_columns] == [0, 1]
    assert not without._placements.rating_columns
    assert off(pool, right) < off(without, right)
    assert pool.expected_error_ > 0.5 * off(pool, right)
    first = Pool(table, LEVELS, ratings=[0 if form == "array" else "a"], random_state=0)
    assert [feature for feature, _ in first._placements.rating_columns] == [0]
    again = copy.deepcopy(pool)
    for one in (pool, again):
        answer_rightly(one, right, 60)
    assert (again.probabilities_ == pool.probabilities_).all()


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", ["id", "empty"])
def test_a_column_that_is_not_learned_from_changes_no_rating_wherever_it_stands(place: int, kind: str) -> None:
    """It has no numbers of its own; those of its neighbour were once read as its."""
    random = np.random.default_rng(0)
    columns = {"judge": random.integers(1, 4, 40).tolist(), "x": random.normal(size=40).tolist()}
    other = {"id": [f"id-{i:05d}" for i in range(40)], "empty": [None] * 40}
    names = list(columns)
    names.insert(place, kind)
    with pytest.warns(UserWarning, match="nothing is learned from"):
        whole = Pool({name: (columns | other)[name] for name in names}, [1, 2, 3], random_state=0)
    np.testing.assert_array_equal(whole.probabilities_, Pool(columns, [1, 2, 3], random_state=0).probabilities_)


@pytest.mark.parametrize(("ratings", "says"), [(["c"], "there is no such column"), (["size"], "are not levels")])
def test_columns_that_cannot_be_ratings_are_refused(ratings: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Pool(pd.DataFrame({"a": [0, 1, 2, 3] * 5, "size": range(20)}), LEVELS, ratings=ratings)


def test_who_is_trusted_decides_be_it_a_program_or_not() -> None:
    pool = new(trusted=["ann", "judge"], programs=["judge"])
    for person in ("ann", "judge", "ben"):
        pool.rate(0, "strong", person=person)
    assert {voice.name: voice.decides for voice in pool._placements.voices} == {
        "ann": True,
        "judge": True,
        "ben": False,
    }


@pytest.mark.parametrize("name", [None, "ann"])
def test_one_rating_per_item_is_where_the_item_is(name: str | None) -> None:
    """A rating can be wrong in many ways: taken for a yes that can be wrong in one, all seemed wrong."""
    places = np.random.default_rng(0).integers(0, 4, 200)
    pool = new(200)
    pool.rate({"item": range(200), "level": NAMES[places], "person": [name] * 200})
    assert (pool.levels_ == NAMES[places]).all()
    assert pool.error_rate_ < 0.2


@pytest.mark.parametrize("is_column", [False, True])
def test_what_a_worthless_program_says_is_not_expected_to_be_right_for_long(is_column: bool) -> None:
    true, expected = [], []
    for seed in range(4):
        random = np.random.default_rng(seed)
        right, said = random.integers(0, 4, (2, 100))
        X = {"judge": NAMES[said]} if is_column else np.empty((100, 0))
        pool = Pool(X, LEVELS, programs=["judge"], audit=0, random_state=seed)
        if not is_column:
            pool.rate({"item": range(100), "level": NAMES[said], "person": ["judge"] * 100})
        before = np.abs(said - right).mean()
        assert pool.expected_error_ > 0.4 * before, "before anybody answers"
        answer_rightly(pool, right, 75)
        true.append(np.abs([LEVELS.index(level) for level in pool.levels_] - right).mean())
        expected.append(pool.expected_error_)
    assert np.mean(expected) > 0.8 * np.mean(true)
