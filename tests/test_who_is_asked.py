"""Whom a pool asks what: by what an answer tells and costs, people check programs, and how sure somebody is counts."""

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dford
from dford import NewtonLogit, Pool
from dford.datasets import make_synthetic
from streams import some

LEVELS = [1, 2, 3, 4, 5]
X, y = make_synthetic(200, random_state=0)


def new(**options: Any) -> Pool:
    return Pool(X, LEVELS, learner=NewtonLogit(), random_state=0, **options)


def flipped(question: Any, rate: float, random: np.random.Generator) -> bool:
    return bool((y[question.item] > question.level) != (random.random() < rate))


def test_a_cheap_program_is_asked_first_and_people_where_it_has_said_all_that_helps() -> None:
    pool, random = new(costs={"judge": 0.01, "ann": 1.0}, auditors=["ann"]), np.random.default_rng(0)
    asked, seen = [], set()
    for _ in range(1200):
        question = pool.ask()
        asked.append(question.person)
        if question.purpose == "place" and question.propensity > 0.5:
            assert (question.person, question.item, question.level) not in seen
        if question.purpose != "audit":  # whose answers say nothing of the placement
            seen.add((question.person, question.item, question.level))
        assert question.purpose != "audit" or question.person == "ann"
        pool.tell(question, flipped(question, 0.15 if question.person == "judge" else 0.02, random))
    first, last = (part.count("ann") for part in (asked[:400], asked[-400:]))
    assert first < 100 < last
    assert pool.people_["judge"].answers == asked.count("judge")
    alone = new(error_rate=0.02)
    for _ in range(asked.count("ann")):
        question = alone.ask()
        alone.tell(question, flipped(question, 0.02, random))
    assert np.abs(pool.levels_ - y).mean() < np.abs(alone.levels_ - y).mean()


def test_people_check_a_program() -> None:
    """It is neither asked to audit nor asked again, and only people's answers need an audit."""
    pool, random, calls = new(audit=0.05), np.random.default_rng(0), []

    def judge(item: int, level: Any) -> bool:
        calls.append((item, level))
        return bool(y[item] > level)

    done = pool.run(judge, person="judge", budget=500)
    assert done.answers == len(set(calls)) == len(calls)
    assert tuple(pool.audited_error_)[1:] == (0.0, 4.0)
    purposes = []
    for _ in range(900):
        question = pool.ask(person="ann")
        purposes.append(question.purpose)
        pool.tell(question, flipped(question, 0.0, random))
    assert 20 < purposes.count("audit") < 80
    assert pool.audited_error_.high < 4
    assert pool.people_["judge"].judged + pool.people_["ann"].judged > 0


@pytest.mark.slow
def test_the_audit_covers_the_error_although_answers_are_wrong() -> None:
    """How often they are is learned from questions that were asked again."""
    held = []
    for wrong in (0.05, 0.1, 0.2):
        for seed in some(15):
            rows, right = make_synthetic(120, random_state=seed)
            random = np.random.default_rng(seed)
            pool = Pool(rows, LEVELS, learner=NewtonLogit(), audit=0.3, random_state=seed)
            for _ in range(400):
                question = pool.ask()
                higher = (right[question.item] > question.level) != (random.random() < wrong)
                pool.tell(question, bool(higher))
            found = pool.audited_error_
            held.append(found.low <= np.abs(pool.levels_ - right).mean() <= found.high)
    assert np.mean(held) >= 0.95 - 2 * (0.95 * 0.05 / len(held)) ** 0.5, np.mean(held)


def test_a_program_that_has_said_all_it_can_is_not_asked_again() -> None:
    pool = Pool(np.empty((3, 0)), LEVELS, random_state=0)
    asked = []

    def judge(item: int, level: Any) -> bool:
        asked.append((item, level))
        return bool(item >= level)

    done = pool.run(judge, person="judge", budget=100)
    assert done.answers == len(set(asked)) < 3 * 4, "its answers about other cuts follow from these"
    for item in range(3):
        above, below = ([level for i, level in asked if i == item and (i >= level) == yes] for yes in (True, False))
        assert max(above, default=0) == item
        assert min(below, default=5) == item + 1
    assert pool.ask(person="judge") is None
    assert pool.ask(person="ann") is not None


def test_a_program_never_audits_and_an_item_named_twice_is_one() -> None:
    pool = new(auditors=["judge", "ann"], programs=["judge"])
    assert {pool.ask(person="judge").purpose for _ in range(60)} == {"place"}
    small = Pool(np.empty((9, 0)), LEVELS, random_state=0)
    asked = set()
    while (question := small.ask(person={"ann": [0, 0, 3, 3]})) is not None:
        assert (question.item, question.level) not in asked
        asked.add((question.item, question.level))
        small.tell(question, True)


def test_a_program_that_informs_is_asked_first_if_it_is_cheap_and_never_if_it_is_dear() -> None:
    for cost, expected in ((0.01, {"judge"}), (0.9, {"ann"})):
        pool = new(costs={"judge": cost, "ann": 1.0}, programs=["judge"], audit=0)
        asked = set()
        for _ in range(50):
            question = pool.ask()
            asked.add(question.person)
            pool.tell(question, bool(y[question.item] > question.level))
        assert asked == expected
        assert pool.spent_ == pytest.approx(50 * (cost if expected == {"judge"} else 1.0))


def test_when_a_cheap_program_has_said_all_people_are_asked() -> None:
    pool = Pool(
        np.empty((20, 0)), LEVELS, costs={"judge": 0.01, "ann": 1.0}, programs=["judge"], audit=0, random_state=0
    )
    asked = []
    for _ in range(120):
        question = pool.ask()
        asked.append(question.person)
        pool.tell(question, question.item % 5 + 1 > question.level)
    assert asked == sorted(asked, reverse=True)
    assert {"ann", "judge"} == set(asked)


def test_if_nobody_is_available_nothing_is_asked() -> None:
    pool = new()
    assert pool.ask(person=[]) is None
    assert pool.ask(3, person={}) == []
    assert pool.ask(person={"ann": []}) is None
    assert pool.ask(person=["ann", "ben"]).person in {"ann", "ben"}


def test_whoever_answers_need_not_be_the_person_asked() -> None:
    pool = new()
    question = pool.ask(person="ann")
    pool.tell(question, True, person="ben")
    pool.tell(pool.ask(person="ann"), True)
    assert {name: person.answers for name, person in pool.people_.items()} == {"ben": 1, "ann": 1}


def sure_or_not(pool: Pool, says: Any, n: int, seed: int = 0) -> None:
    """One person is right 95% of the time; a judge, asked more often, 98% or 55%, and it knows when."""
    random = np.random.default_rng(seed)
    for i in range(n):
        person = ("ann", "judge")[i % 4 > 0]
        question = pool.ask(person=person)
        knows = random.random() < 0.5
        right = 0.95 if person == "ann" else 0.98 if knows else 0.55
        higher = flipped(question, 1.0 - right, random)
        pool.tell(question, higher if person == "ann" else says(higher, right))


def test_how_sure_somebody_is_counts() -> None:
    off = np.zeros(2)
    for seed in range(8):  # single pools differ by half
        for i, says in enumerate((lambda yes, p: p if yes else 1 - p, lambda yes, p: yes)):
            pool = Pool(X, LEVELS, learner=NewtonLogit(), audit=0, random_state=seed)
            sure_or_not(pool, says, 500, seed)
            off[i] += np.abs(pool.levels_ - y).mean()
    assert off[0] < 0.9 * off[1], off


def test_a_boast_is_found_out() -> None:
    """Whoever says 1.0 and is right 55% of the time weighs little, once people have answered."""
    pool = new()
    sure_or_not(pool, lambda yes, p: float(yes), 600)
    judge = [number for number, voice in enumerate(pool._placements.voices) if voice.name == "judge"]
    ann = [number for number, voice in enumerate(pool._placements.voices) if voice.name == "ann"]
    rates = pool._placements.reliability.rates
    assert rates[1 + judge[0]] > 0.15 > rates[1 + ann[0]]


def test_with_probabilities_costs_and_auditors_it_repeats_its_bits_and_continues_from_a_file(
    tmp_path: Path,
) -> None:
    pools = [new(costs={"ann": 1.0, "judge": 0.5}, auditors=["ann"]) for _ in range(2)]
    for pool in pools:
        sure_or_not(pool, lambda yes, p: p if yes else 1 - p, 150)
        pool.run(lambda item, level: bool(y[item] > level), person="program", budget=20)
    pools[0].save(tmp_path / "pool")
    pools[0] = dford.load(tmp_path / "pool")
    files = []
    for pool in pools:
        sure_or_not(pool, lambda yes, p: p if yes else 1 - p, 150, seed=1)
        assert {pool.ask().person for _ in range(20)} <= {"ann", "judge"}
        pool.save(tmp_path / "pool")
        files.append((tmp_path / "pool").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"costs": {"ann": 0}}, "costs must map names of people to numbers greater than 0; got 'ann': 0"),
        ({"costs": {"ann": float("nan")}}, "costs must map names of people to numbers greater than 0; got 'ann': nan"),
        ({"costs": {"ann": "much"}}, "costs must map names of people to numbers greater than 0; got 'ann': 'much'"),
        ({"auditors": [1]}, "auditors must be a list of names; got .1."),
        ({"auditors": "ann"}, "auditors must be a list of names; got 'ann'"),
        ({"programs": "judge"}, "programs must be a list of names; got 'judge'"),
    ],
)
def test_bad_costs_and_auditors_get_one_sentence(options: dict[str, Any], problem: str) -> None:
    with pytest.raises((ValueError, TypeError), match=problem):
        new(**options)


def test_whoever_is_available_has_a_name() -> None:
    with pytest.raises(
        TypeError, match="person must be a name, a list of names or a mapping from names to items; got 5"
    ):
        new().ask(person=5)  # type: ignore[arg-type]


def test_a_program_is_never_asked_the_same_twice_not_even_to_check_someone_elses_answer() -> None:
    pool, asked = Pool(X[:10], LEVELS, learner=NewtonLogit(), random_state=0), list[tuple[int, int]]()

    def judge(item: int, level: int) -> bool:
        asked.append((item, level))
        return bool(y[item] > level)

    for _ in range(60):
        question = pool.ask(person="ann")
        pool.tell(question, bool(y[question.item] > question.level))
        pool.run(judge, person="judge", budget=1)
    assert len(asked) > 10
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("seed", range(2))
def test_an_item_is_left_once_its_people_only_repeat_themselves(seed: int) -> None:
    """Three of eight people know each item, and about some items they differ for good; nobody says who comes next."""
    random, n = np.random.default_rng(seed), 60
    opinions = []
    for item, level in enumerate(random.integers(0, 5, n)):
        said = np.clip(level + 2 * (item % 3 == 0) * random.integers(-1, 2, 3), 0, 4)
        opinions.append(dict(zip(random.choice(8, 3, replace=False).tolist(), said.tolist(), strict=True)))
    pool = Pool(np.empty((n, 0)), range(5), random_state=seed)
    for _ in range(8 * n):
        question = pool.ask()
        person = int(random.choice(list(opinions[question.item])))
        pool.tell(question, bool(opinions[question.item][person] > question.level), person=str(person))
    assert pool.answers_.max() <= 3 * 4 * 2, "three people, four levels to ask about, each about twice"


def test_people_who_have_said_all_are_asked_where_the_doubt_is() -> None:
    """They may have slipped: two people of whom each is wrong in a quarter of the answers, about thirty items."""
    random, n = np.random.default_rng(0), 30
    right = random.integers(0, 2, n)
    pool, asked = Pool(np.empty((n, 0)), [0, 1], random_state=0), []
    for i in range(400):
        question = pool.ask(person="ab"[i % 2])
        asked.append(question.item)
        wrong = random.random() < 0.25
        pool.tell(question, bool((right[question.item] > question.level) != wrong), person="ab"[i % 2])
    assert max(np.bincount(asked[-100:])) < 50
    assert pool._placements.expected_error() < 0.1
    assert np.abs(pool.levels_ - right).mean() < 0.1


def test_a_copy_goes_on_where_a_program_answered_an_audit() -> None:
    pool = Pool(np.empty((12, 0)), LEVELS, programs=["judge"], audit=0.5, random_state=0)
    for _ in range(6):
        pool.tell(pool.ask(), True, person="judge")
    twin = copy.deepcopy(pool)
    for _ in range(20):
        question = pool.ask()
        assert twin.ask() == question
        for each in (pool, twin):
            each.tell(question, True, person="ann")


@pytest.mark.parametrize("other", ["nobody", "program", "unsure"])
def test_a_single_person_is_asked_again_where_something_does_not_fit(other: str) -> None:
    """Also if a program said something once, or if they are not always sure: nobody else decides."""
    random, again = np.random.default_rng(0), Counter[tuple[int, int]]()
    right = random.integers(1, 6, 60)
    pool = Pool(np.empty((60, 0)), [1, 2, 3, 4, 5], programs=["judge"], audit=0, random_state=0)
    if other == "program":
        pool.rate(0, int(right[0]), person="judge")
    for n in range(240):
        question = pool.ask(person="ann")
        higher = bool((right[question.item] > question.level) != (random.random() < 0.1))
        pool.tell(question, abs(higher - 0.1) if other == "unsure" and n % 20 == 0 else higher, person="ann")
        again[question.item, question.level] += 1
    assert sum(again.values()) - len(again) > 50
    assert np.abs(pool.levels_ - right).mean() < 0.2
