"""Asking until it is shown how far off the levels are: true when it stops, and no dearer than it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dford
from dford import NewtonLogit, Pool
from dford.datasets import make_synthetic
from dford.pool.audit import Audit
from dford.pool.figures import Certification
from dford.pool.items import Items
from dford.pool.reliability import alike

LEVELS = [1, 2, 3, 4, 5]


def answered_until(target: float, seed: int, wrong: float = 0.0) -> tuple[Pool, Any, list[str]]:
    """A pool that asked until it was certified, the right levels, and the purposes of its questions."""
    X, y = make_synthetic(200, random_state=seed)
    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), random_state=seed)
    random, purposes = np.random.default_rng(seed), list[str]()
    while (question := pool.ask(until=target)) is not None and len(purposes) < 3000:
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)))
        purposes.append(question.purpose)
    return pool, y, purposes


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_it_ends_when_the_target_is_shown_and_it_is_true(wrong: float) -> None:
    held = 0
    for seed in range(4):
        pool, y, purposes = answered_until(0.3, seed, wrong)
        assert len(purposes) < 3000
        assert pool.is_certified(0.3)
        assert pool.ask(until=0.3) is None
        assert pool.ask() is not None, "whoever wants to may go on"
        assert purposes[:100].count("audit") < 15 < purposes[-50:].count("audit")
        held += np.abs(pool.levels_ - y).mean() <= 0.3
    assert held >= 3


def test_it_says_beforehand_about_how_many_answers_it_takes() -> None:
    X, y = make_synthetic(400, random_state=1)
    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), random_state=1)
    for _ in range(300):
        question = pool.ask(until=0.2)
        pool.tell(question, bool(y[question.item] > question.level))
    said, taken = pool.remaining(0.2, certified=True), 0
    assert said.value > pool.remaining(0.2).value
    while (question := pool.ask(until=0.2)) is not None:
        pool.tell(question, bool(y[question.item] > question.level))
        taken += 1
    assert said.low / 2 <= taken <= 1.5 * said.high, (said, taken)
    assert pool.remaining(0.2, certified=True) == (0.0, 0.0, 0.0)


def test_several_questions_at_once_a_saved_pool_and_one_without_audits_are_certified_too(tmp_path: Path) -> None:
    X, y = make_synthetic(150, random_state=0)
    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), audit=0, random_state=0)
    while questions := pool.ask(8, until=0.3):
        for question in questions:
            pool.tell(question, bool(y[question.item] > question.level))
        pool.save(tmp_path / "pool")
        pool = dford.load(tmp_path / "pool")
    assert pool.is_certified(0.3)
    assert np.abs(pool.levels_ - y).mean() <= 0.3


def drawn(n: int, off: float, seed: int) -> tuple[Items, Audit, Any]:
    """Items all placed at level 2, of which a share is at level 3, and an audit that has asked nothing yet."""
    items, audit = Items(5, seed), None
    items.add(n)
    items.prior = 0.96 * np.eye(5)[np.full(n, 2)] + 0.008
    audit = Audit(items, seed)
    return items, audit, 2 + (np.random.default_rng(seed).permutation(n) < round(off * n))


def test_levels_that_are_just_not_near_enough_are_seldom_certified_however_often_one_looks() -> None:
    by, target, certified = alike(0.0, 5), 0.15, 0
    for seed in range(60):
        items, audit, right = drawn(1000, 0.16, seed)
        for n in range(300):
            item, cut = audit.pick(()) or (-1, -1)
            audit.answer(item, 2, by.of(np.zeros(1, np.int64), np.array([cut]), np.array([int(right[item] > cut)])))
            if n % 4 == 3 and Certification.of(items, audit, target, 0.0).is_shown:
                certified += 1
                break
    assert certified <= 9, "3 of 60 at most are expected; 10 would be seen once in a thousand times"


def test_programs_that_only_inform_cannot_show_anything() -> None:
    X, y = make_synthetic(100, random_state=0)

    def judge(item: int, level: Any) -> bool:
        return bool(y[item] > level)

    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), random_state=0)
    with pytest.raises(ValueError, match="name it in both trusted and auditors"):
        pool.run(judge, person="judge", budget=10, until=0.3)
    pool = Pool(
        X, LEVELS, learner=NewtonLogit(features="poly"), trusted=["judge"], auditors=["judge"], random_state=0
    )  # fmt: skip
    progress = pool.run(judge, person="judge", budget=5000, threads=3, until=0.3)
    assert progress.calls < 5000
    assert pool.is_certified(0.3)


def test_whoever_may_not_audit_goes_on_placing() -> None:
    X, y = make_synthetic(100, random_state=0)
    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), auditors=["ann"], random_state=0)
    while not pool._placements.certification(0.5).audits:
        question = pool.ask(person="ann", until=0.5)
        pool.tell(question, bool(y[question.item] > question.level), "ann")
    asked = {who: [pool.ask(person=who, until=0.5).purpose for _ in range(10)] for who in ("ann", "ben")}
    assert asked["ann"].count("audit") > 2
    assert "audit" not in asked["ben"]


@pytest.mark.parametrize("target", ["much", -1, float("nan"), None, True])
def test_a_target_is_a_number(target: Any) -> None:
    pool = Pool(np.empty((10, 0)), LEVELS, random_state=0)
    with pytest.raises((TypeError, ValueError), match="target must be an error in levels"):
        pool.is_certified(target)
    if target is not None:
        with pytest.raises((TypeError, ValueError), match="until must be an error in levels"):
            pool.ask(until=target)


def test_where_everything_is_settled_there_is_nothing_to_show() -> None:
    pool = Pool(np.empty((3, 0)), LEVELS, random_state=0)
    for item in range(3):
        pool.settle(item, 2)
    assert pool.is_certified(0.0)
    assert pool.ask(until=0.0) is None
