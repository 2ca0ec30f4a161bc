"""The audit: cheap where placements are right, never without a figure, and true."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dford
from dford import NewtonLogit, Pool
from dford.datasets import make_synthetic
from dford.estimates import share
from dford.pool.audit import Audit
from dford.pool.figures import Certification, Verdict
from dford.pool.items import Items
from dford.pool.reliability import alike

LEVELS = [1, 2, 3, 4, 5]


def audited(n: int, levels: Any, right: Any, answers: int, sure: float = 0.99, seed: int = 0) -> tuple[Items, Audit]:
    """Items placed at these levels, this surely, and an audit of them after so many answers, none of which is wrong."""
    items, by = Items(5, seed), alike(0.0, 5)
    items.add(n)
    items.prior = sure * np.eye(5)[levels] + (1.0 - sure) / 5
    audit = Audit(items, seed)
    for _ in range(answers):
        item, cut = audit.pick(()) or (-1, -1)
        if item < 0:
            break
        said = np.array([int(right[item] > cut)])
        audit.answer(item, int(levels[item]), by.of(np.zeros(1, np.int64), np.array([cut]), said))
    return items, audit


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 100))
def test_a_share_has_the_exact_interval(count: int, n: int, more: int) -> None:
    """Any other population would show so few, or so many, with a probability of less than 2.5%."""
    count, population = min(count, n), n + more
    low, high = (round(end * population) for end in share(count, n, population)[1:])
    sizes = np.arange(population + 1)
    few, many = stats.hypergeom.cdf(count, population, sizes, n), stats.hypergeom.sf(count - 1, population, sizes, n)
    least = np.minimum(few, many)
    inside = (low <= sizes) & (sizes <= high)
    assert (least[inside] > 0.025 - 1e-9).all()
    assert (least[~inside] < 0.025 + 1e-9).all()


@pytest.mark.parametrize(("checked", "most"), [(60, 0.08), (200, 0.03)])
def test_where_no_error_is_found_little_error_is_left(checked: int, most: float) -> None:
    levels = np.random.default_rng(0).integers(0, 5, 2000)
    verdict = Verdict.of(*audited(2000, levels, levels, 2 * checked))
    assert verdict.checked >= checked
    assert verdict.wrong == 0
    assert verdict.error.high <= most
    assert verdict.right.low >= 1 - 1.3 * 3.7 / checked, "the rule of three, with two sides"


@pytest.mark.parametrize("repair", ["settle", "remove"])
def test_whoever_repairs_what_the_audit_finds_has_not_repaired_the_others(repair: str) -> None:
    random = np.random.default_rng(0)
    y = np.where(random.random(300) < 0.2, 2, 1)
    pool = Pool(np.empty((300, 0)), [1, 2], audit=1, error_rate=0, random_state=0)
    for _ in range(60):
        question = pool.ask()
        higher = bool(y[question.item] > question.level)
        placed = pool.levels_[question.item]
        pool.tell(question, higher)
        if y[question.item] != placed:
            _ = pool.settle(question.item, int(y[question.item])) if repair == "settle" else pool.remove(question.item)
        assert not pool.is_certified(0.1)
    kept = ~pool._placements.items.is_out
    true = np.abs(pool.levels_ - y)[kept]
    assert pool.audited_error_.low <= true.mean() <= pool.audited_error_.high
    assert pool.audited_right_.low <= (true == 0).mean() <= pool.audited_right_.high


def test_a_settled_item_counts_where_its_answers_place_it_now() -> None:
    """Not where it was placed when its audit began: what its answers have repaired since is no error."""
    items, audit = audited(100, np.full(100, 2), np.full(100, 2), 2)
    item = audit.judged().items[0]
    audit._placements[0] = 4  # where it was then
    items.settle(item, 2, 2)
    audit.settle(item)
    verdict = Verdict.of(items, audit)
    assert (verdict.checked, verdict.wrong) == (1, 0)


def test_items_that_are_added_are_not_taken_for_checked() -> None:
    """The new ones could not be drawn; until they could, the audit says less."""
    y = np.ones(160, int)
    y[80:] = 3
    pool = Pool(np.empty((80, 0)), [1, 2, 3], audit=0.5, error_rate=0, random_state=0)
    while (question := pool.ask(until=0.2)) is not None:
        pool.tell(question, bool(y[question.item] > question.level))
    pool.add(np.empty((80, 0)))
    assert not pool.is_certified(0.2)
    for _ in range(3):
        off = np.abs(pool.levels_ - y)
        assert pool.audited_error_.low <= off.mean() <= pool.audited_error_.high
        assert pool.audited_right_.low <= (off == 0).mean() <= pool.audited_right_.high
        for _ in range(30):
            question = pool.ask(until=0.2)
            pool.tell(question, bool(y[question.item] > question.level))


def test_an_audit_question_that_is_never_answered_holds_up_no_figure() -> None:
    pool = Pool(np.empty((60, 0)), [1, 2, 3], audit=1, error_rate=0, random_state=0)
    lost = pool.ask()
    for _ in range(60):
        question = pool.ask()
        pool.tell(question, question.level < 2)
    assert lost.purpose == "audit"
    assert pool._placements.verdict().checked > 15


def test_the_more_levels_there_are_the_more_checks_it_takes() -> None:
    """Few items that happen to be right say little of a scale on which others may be twenty levels off."""
    few, many = (Items(n, 0) for n in (5, 50))
    for items in (few, many):
        items.add(300)
        items.prior = np.tile(np.full(items.n_levels, 0.01 / items.n_levels), (300, 1))
        items.prior[:, 2] += 0.99
    checks = [Certification.of(items, Audit(items, 0), 1.0, 0.0).least for items in (few, many)]
    assert checks[1] > 8 * checks[0]


def test_a_few_checked_items_that_happen_to_be_right_do_not_make_much_doubt_vanish() -> None:
    """Whoever stops as soon as little is expected would stop there."""
    levels = np.full(300, 2)
    believed = audited(300, levels, levels, 0, sure=0.4)[0].expected_error()
    assert believed > 0.5
    few, many = (Verdict.of(*audited(300, levels, levels, 2 * n, sure=0.4)).error.value for n in (4, 40))
    assert few > 0.5 * believed
    assert many < 0.2 * believed


def test_where_placements_and_answers_are_right_the_borders_are_asked_about_once() -> None:
    levels = np.random.default_rng(0).integers(0, 5, 500)
    items, audit = audited(500, levels, levels, 400)
    assert audit.known.counts.max() == 2
    judged = audit.judged()
    assert (judged.levels == levels[judged.items]).all()
    assert Verdict.of(items, audit).answers <= 2 * len(judged.items)


@pytest.mark.parametrize(("wrong", "most"), [(0.0, 2.3), (0.1, 6.0)])
def test_an_audited_item_takes_few_answers_and_no_figure_disappears(wrong: float, most: float, tmp_path: Path) -> None:
    X, y = make_synthetic(300, random_state=0)
    pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), audit=0.2, random_state=0)
    random, checked = np.random.default_rng(0), 0
    for n in range(900):
        if n in (100, 500):
            pool.save(tmp_path / "pool")
            pool = dford.load(tmp_path / "pool")
        question = pool.ask()
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)))
        now = pool._placements.verdict()
        assert now.checked >= checked
        checked = now.checked
    assert checked > 25
    assert now.answers / checked <= most
    assert now.error.low <= np.abs(pool.levels_ - y).mean() <= now.error.high


def test_with_nothing_but_audits_the_mean_level_is_known() -> None:
    held = 0
    for seed in range(20):
        X, y = make_synthetic(400, random_state=seed)
        pool = Pool(X, LEVELS, learner=NewtonLogit(features="poly"), audit=1.0, error_rate=0.0, random_state=seed)
        for _ in range(200):
            question = pool.ask()
            assert question.purpose == "audit"
            pool.tell(question, bool(y[question.item] > question.level))
        mean, half = pool.mean_, np.arange(400) < 200
        held += mean.low <= y.mean() <= mean.high
        assert mean.high - mean.low < 0.5
        low, high = pool.difference(half, ~half)[1:]
        held += low <= y[half].mean() - y[~half].mean() <= high
    assert held >= 35  # of 40; at 95%, fewer would be seen once in a thousand times


def test_values_of_levels_are_their_numbers_or_places_or_as_given() -> None:
    for levels, values, worth in ((["a", "b"], None, (1, 2)), ([0, 10], None, (0, 10)), (["a", "b"], [1, -1], (1, -1))):
        pool = Pool(np.empty((30, 0)), levels, random_state=0)
        mean = pool.mean(values=values)
        assert mean.value == pytest.approx(np.mean(worth))
        assert mean[1:] == (min(worth), max(worth)), "nothing is known yet"
    with pytest.raises(ValueError, match="values must be a number for each of the 2 levels"):
        pool.mean(values=[1.0])
    with pytest.raises(ValueError, match="expected True or False for each of the 30 items"):
        pool.mean(np.arange(30))
    with pytest.raises(ValueError, match="the mask selects none"):
        pool.mean(np.zeros(30, np.bool_))
