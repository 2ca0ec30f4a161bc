"""The pool: what is known about items, what is asked next, and what is said about the placements."""

import itertools
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import dford
import naive_pool
from dford import DFORD, Auto, NewtonLogit, Pool, persistence
from dford.datasets import make_synthetic
from dford.evaluation import offpolicy
from dford.pool.agreement import Voice
from dford.pool.answers import PLACE, Answer
from dford.pool.asked import AskedQuestions
from dford.pool.audit import Audit
from dford.pool.figures import Verdict
from dford.pool.held_out_learners import LEVEL_PARTS, Drawn, HeldOutLearners, LevelModels
from dford.pool.items import Items
from dford.pool.placements import Placements
from dford.pool.refresh import Refresh
from dford.pool.reliability import Reliability, alike
from dford.scale import Scale

LEVELS = [1, 2, 3, 4, 5]


def fast(X: Any, **options: Any) -> Pool:
    """A pool whose learner takes milliseconds."""
    return Pool(X, LEVELS, **{"learner": NewtonLogit(), "audit": 0, "random_state": 0, **options})


def answer(pool: Pool, y: Any, n: int, wrong: float = 0.0, seed: int = 0) -> None:
    """Answers by the labels y, some of them wrong."""
    random = np.random.default_rng(seed)
    for _ in range(n):
        question = pool.ask()
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)))


def off(pool: Pool, y: Any) -> float:
    return float(np.abs(pool.levels_ - y).mean())


def bits(pool: Pool, folder: Path) -> bytes:
    pool.save(folder / "bits.dford")
    return (folder / "bits.dford").read_bytes()


@st.composite
def items(draw: Any) -> Any:
    n_levels = draw(st.integers(2, 6))
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=n_levels, max_size=n_levels))
    answers = draw(st.lists(st.tuples(st.integers(0, n_levels - 2), st.booleans()), max_size=6))
    low = draw(st.integers(0, n_levels - 1))
    return [w / sum(weights) for w in weights], answers, low, draw(st.integers(low, n_levels - 1))


def says(reliability: Reliability, cut: int, higher: bool) -> Any:
    """What an answer of one person says about an item."""
    return reliability.of(np.zeros(1, np.int64), np.array([cut]), np.array([int(higher)]))


@given(items(), st.floats(0.01, 0.4))
def test_what_is_known_of_an_item_follows_bayes_rule(item: Any, rate: float) -> None:
    prior, answers, low, high = item
    known, reliability = Items(len(prior), seed=0), alike(rate, len(prior))
    known.add(1)
    known.believe(np.array([prior]), known.evidence, reliability)
    known.settle(0, low, high)
    for cut, higher in answers:
        known.answer(0, known.evidence[0] + says(reliability, cut, higher))
    expected = naive_pool.belief(prior, answers, rate, low, high)
    np.testing.assert_allclose(known.belief(0), expected, rtol=1e-9, atol=1e-12)
    levels, errors = known.placements()
    assert naive_pool.error(expected, int(levels[0])) == pytest.approx(errors[0], abs=1e-9)
    assert errors[0] <= naive_pool.error(expected, naive_pool.median(expected)) + 1e-9


@given(st.lists(items(), min_size=1, max_size=6).filter(lambda many: len({len(one[0]) for one in many}) == 1))
def test_the_next_question_is_the_one_that_tells_most(many: Any) -> None:
    rate = 0.05
    known, reliability = Items(len(many[0][0]), seed=0), alike(rate, len(many[0][0]))
    known.add(len(many))
    known.believe(np.array([prior for prior, *_ in many]), known.evidence, reliability)
    told = []
    for i, (prior, answers, low, high) in enumerate(many):
        known.settle(i, low, high)
        for cut, higher in answers:
            known.answer(i, known.evidence[i] + says(reliability, cut, higher))
        belief = naive_pool.belief(prior, answers, rate, low, high)
        told += [naive_pool.information(belief, cut, rate) for cut in range(low, high)]
    best = known.best()
    if best is None:
        assert not told, "only what was settled is known"
    else:
        prior, answers, low, high = many[best[0]]
        belief = naive_pool.belief(prior, answers, rate, low, high)
        assert naive_pool.information(belief, best[1], rate) == pytest.approx(max(told), abs=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("has_votes", [False, True])
def test_no_model_of_levels_has_learned_from_an_item_that_it_predicts(form: Any, has_votes: bool) -> None:
    X, y = make_synthetic(300, random_state=0)
    votes = X if has_votes else None
    parts, X = HeldOutLearners(Auto(), Scale(LEVELS), 0).parts(np.arange(300)), form(X)

    def learned(levels: Any) -> Any:
        known = Drawn(np.arange(300), np.zeros((300, 5)), np.stack([levels, levels], axis=1), np.zeros(300))
        return LevelModels.learn(X, votes, parts, known, np.full((300, 5), 0.2)).above(X, votes, parts, 5)

    own = parts % LEVEL_PARTS == 2
    first, second = learned(y - 1), learned(np.where(own, 4, y - 1))
    for before, after in zip(first, second, strict=True):
        same = (before == after).all(axis=1)
        assert same[own].all()
        assert not same[~own].any()
        assert (np.diff(before, axis=1) <= 0).all(), "a higher cut is never likelier to be below an item"


def test_what_was_settled_about_some_items_is_learned_about_others() -> None:
    X, y = make_synthetic(400, random_state=0)
    pools = [Pool(X, LEVELS, audit=0, random_state=0) for _ in range(2)]
    for item in range(200):
        pools[1].settle(item, int(y[item]))
    for pool in pools:
        answer(pool, y, 60)
    alone, settled = (np.abs(pool.levels_ - y)[200:].mean() for pool in pools)
    assert settled < 0.5 * alone


def test_no_question_is_asked_whose_answer_is_known_and_all_items_are_placed() -> None:
    X, y = make_synthetic(300, random_state=0)
    pool = fast(X, error_rate=0.0, learner=NewtonLogit(features="poly"))
    known = dict.fromkeys(range(300), (1, 5))
    while (question := pool.ask()) is not None:
        low, high = known[question.item]
        assert low <= question.level < high
        higher = bool(y[question.item] > question.level)
        known[question.item] = (question.level + 1, high) if higher else (low, question.level)
        pool.tell(question, higher)
    assert off(pool, y) == pool.expected_error_ == 0.0
    assert len(pool.log_) < 300 * 2.1, "to know each for sure; bisection takes 2.4"
    assert pool.remaining(0.0) == (0, 0, 0)


def test_an_items_own_answers_count_and_never_make_it_worse_than_the_learner_alone() -> None:
    X, y = make_synthetic(400, random_state=1)
    for seed in range(3):
        pool = fast(X, random_state=seed)
        answer(pool, y, 400, wrong=0.1, seed=seed)
        chances = pool._placements.learners.chances(X)
        alone = np.abs(1 + (chances > 0.5).sum(axis=1) - y).mean()
        assert off(pool, y) < alone


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_the_expected_error_is_true_if_the_learner_can_learn_the_levels(wrong: float) -> None:
    X, y = make_synthetic(1000, random_state=2)
    pool = fast(X, audit=0.05, learner=NewtonLogit(features="poly"))
    for _ in range(3):
        answer(pool, y, 1000, wrong)
        # in doubt it expects too much rather than too little
        assert 0.5 * off(pool, y) - 0.02 <= pool.expected_error_ <= 1.5 * off(pool, y) + 0.05
        assert -0.06 < pool.error_rate_ - wrong < 0.1, "a cautious one"


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_what_is_believed_too_low_by_half_is_corrected_by_the_audit(wrong: float) -> None:
    missed, too_low = 0, 0
    for seed in range(4):
        X, y = make_synthetic(1000, random_state=seed)  # no line separates its levels
        pool = fast(X, audit=0.05, learner=NewtonLogit(features="linear"), random_state=seed)
        answer(pool, y, 2000, wrong, seed)  # by then the audit has judged some twenty items
        missed += pool.audited_error_.high < off(pool, y)
        too_low += pool.expected_error_ < 0.5 * off(pool, y) - 0.02
        assert -0.06 < pool.error_rate_ - wrong < 0.1, "a cautious one"
    assert missed <= 1
    assert too_low <= 1, "with twenty items, that can be luck"


def test_the_same_seed_gives_the_same_bits_and_a_saved_pool_continues_to_the_bit(tmp_path: Path) -> None:
    X, y = make_synthetic(300, random_state=0)
    pool, same = (Pool(X, LEVELS, random_state=5) for _ in range(2))
    for one in (pool, same):
        answer(one, y, 310)  # trees, too
        one.settle(7, 2, 4).remove(8)
        one.ask(3)
    assert bits(pool, tmp_path) == bits(same, tmp_path)
    again = dford.load(tmp_path / "bits.dford")
    assert bits(again, tmp_path) == bits(pool, tmp_path)
    for one in (pool, again):
        for question in list(one._asked)[:2]:
            one.tell(question, True)
        answer(one, y, 120)
    assert bits(again, tmp_path) == bits(pool, tmp_path)
    assert (again.levels_ == pool.levels_).all()


@pytest.mark.parametrize("is_undone", [False, True])
def test_an_audit_asks_the_same_after_a_save_also_if_something_was_settled_and_undone(
    tmp_path: Path, is_undone: bool
) -> None:
    X, y = make_synthetic(80, random_state=0)
    pool, random = fast(X, audit=0.25), np.random.default_rng(0)
    first = int(pool._placements.audit._order[0])
    if is_undone:
        pool.settle(first, 3)
    answer(pool, y, 6)
    if is_undone:
        pool.settle(first, 1, 5)
    pool.save(tmp_path / "bits.dford")
    saved, asked = dford.load(tmp_path / "bits.dford"), set[int]()
    for n in range(150):
        question, same = pool.ask(), saved.ask()
        assert question[1:] == same[1:], n
        if question.purpose == "audit":
            asked.add(question.item)
        higher = bool((y[question.item] > question.level) != (random.random() < 0.1))
        pool.tell(question, higher)
        saved.tell(same, higher)
        if n % 10 == 0:
            saved.save(tmp_path / "bits.dford")
            saved = dford.load(tmp_path / "bits.dford")
    assert first in asked or not is_undone, "as any other item"


def test_what_an_audit_showed_of_people_is_known_after_its_release() -> None:
    X, y = make_synthetic(80, random_state=0)
    pool, random = fast(X, audit=0.4), np.random.default_rng(0)
    for _ in range(200):
        question = pool.ask(person="ann")
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < 0.2)))
    before = pool.people_["ann"]
    assert before.judged > 50
    assert pool.release().people_["ann"] == before


def test_after_a_release_there_are_no_more_audits_than_before() -> None:
    X, y = make_synthetic(300, random_state=0)
    pool = fast(X, audit=0.05)
    answer(pool, y, 300)
    pool.release()
    asked = [question.purpose for question in pool.ask(100)]
    assert asked.count("audit") < 15, "and not half of the questions, as for an audit that has fallen behind"


@pytest.mark.parametrize("number", [np.float32, np.float16, np.float64])
def test_numbers_of_numpy_are_numbers_and_can_be_saved(tmp_path: Path, number: Any) -> None:
    X = make_synthetic(20, random_state=0)[0]
    pool = fast(X, error_rate=number(0.125), audit=number(0.25), costs={"ann": number(2)})
    assert (pool.error_rate, pool.audit, pool.costs) == (0.125, 0.25, {"ann": 2.0})
    assert bits(dford.load(_saved(pool, tmp_path)), tmp_path) == bits(pool, tmp_path)


def _saved(pool: Pool, folder: Path) -> Path:
    pool.save(folder / "pool.dford")
    return folder / "pool.dford"


def test_learners_are_loaded_by_the_same_function(tmp_path: Path) -> None:
    X, y = make_synthetic(50, random_state=0)
    NewtonLogit(random_state=0).fit(X, y).save(tmp_path / "model.dford")
    assert isinstance(dford.load(tmp_path / "model.dford"), NewtonLogit)


def test_answers_are_counted_once_in_any_order() -> None:
    X = make_synthetic(50, random_state=0)[0]
    pool = fast(X)
    first, second, third = pool.ask(3)
    assert len({first.item, second.item, third.item}) == 3
    pool.tell(second, True).tell(first, False).tell(second, True)
    assert len(pool.log_) == 2
    with pytest.raises(ValueError, match="already answered yes"):
        pool.tell(second, False)
    pool.drop(third).drop(third)
    with pytest.raises(ValueError, match="already dropped"):
        pool.tell(third, True)
    with pytest.raises(ValueError, match="was not asked by this pool"):
        pool.tell(fast(X, random_state=9).ask(), True)
    assert pool.answers_.sum() == 2


def test_an_item_with_an_open_question_is_not_asked_about_again() -> None:
    pool = fast(np.zeros((4, 1)))
    assert sorted(question.item for question in pool.ask(9)) == [0, 1, 2, 3]
    assert pool.ask(9) == []


def test_what_was_settled_holds_and_a_removed_item_no_longer_counts() -> None:
    X, y = make_synthetic(60, random_state=0)
    pool = fast(X).settle(3, 5).settle(4, 2, 3)
    assert pool.levels_[3] == 5
    assert pool.probabilities_[3, 4] == 1
    assert pool.probabilities_[4, [0, 3, 4]].sum() == 0
    pool.remove(5)
    answer(pool, y, 200)
    asked = set(pool._placements.answers["item"].tolist())
    assert not asked & {3, 5}
    with pytest.raises(ValueError, match="pass the lower level first"):
        pool.settle(1, 4, 2)
    with pytest.raises(ValueError, match="there is no item 60"):
        pool.remove(60)


def test_no_question_is_about_what_was_settled_however_often_it_was_asked_before() -> None:
    X, y = make_synthetic(40, random_state=0)
    pool = fast(X, audit=0.3)
    answer(pool, y, 100)
    for item in range(20):
        pool.settle(item, int(y[item]))
    before = len(pool._placements.answers)
    answer(pool, y, 300)
    assert pool._placements.answers["item"][before:].min() == 20
    assert (pool.levels_[:20] == y[:20]).all()


def test_items_without_features_are_placed_by_bisection_from_the_shares_of_levels() -> None:
    y = np.random.default_rng(0).choice([1, 2, 5], p=[0.45, 0.45, 0.1], size=400)
    pool = Pool(np.empty((400, 0)), LEVELS, error_rate=0.0, audit=0, random_state=0)
    while (question := pool.ask()) is not None:
        pool.tell(question, bool(y[question.item] > question.level))
    assert off(pool, y) == 0
    # its entropy is 1.37 bits, and to be sure of 2 takes two answers, where plain bisection takes 2.3
    assert len(pool.log_) / 400 < 2.0


def test_items_may_have_missing_features_and_come_later() -> None:
    X, y = make_synthetic(300, random_state=0)
    X[::7, 0] = np.nan
    pool = fast(X[:200])
    answer(pool, y, 150)
    pool.add(X[200:])
    answer(pool, y, 600)
    assert len(pool) == 300
    assert off(pool, y) < 0.1
    with pytest.raises(ValueError, match="the items have 2 features, but the new ones have 3"):
        pool.add(np.zeros((1, 3)))


def test_an_item_that_lacks_what_all_others_had_gets_the_shares_of_the_levels() -> None:
    X, y = make_synthetic(150, random_state=0)
    pool = Pool(X, [1, 2, 3, 4, 5], learner=NewtonLogit(features="poly"), audit=0, random_state=0)
    later = X[:20].copy()
    later[:, 0] = np.nan
    pool.add(later)
    y = np.concatenate([y, y[:20]])
    for _ in range(200):  # the first levels are drawn from all cuts, so each has been asked about by then
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
    items, unasked = pool._placements.items, pool.answers_[150:] == 0
    assert (items.prior[150:] == items.prior[150]).all()
    assert (items.prior[:150].max(axis=1) > 0.9).any(), "what was learned about the others"
    assert items.prior[150].max() < 0.6
    assert unasked.sum() < 20, "they are asked about, as nothing else tells"


def test_an_audit_is_kept_from_the_items_until_it_is_released() -> None:
    X, y = make_synthetic(100, random_state=0)
    pool = fast(X, audit=0.5, error_rate=0.0)
    before = dict(enumerate(pool.probabilities_))
    for _ in range(20):  # before the first refresh
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
        if question.purpose == "audit":
            assert (pool.probabilities_[question.item] == before[question.item]).all()
        before[question.item] = pool.probabilities_[question.item]
    answer(pool, y, 100)
    value, low, high = pool.audited_error_
    assert 0 <= low <= value <= high <= 4
    audited, found = pool._placements.audit.judged()[:2]
    assert len(audited) > 20
    assert (found + 1 == y[audited]).all(), "of these, the right level is known"
    assert pool.audited_right_.value == (pool.levels_ == y)[audited].mean()
    pool.release()
    assert tuple(pool.audited_error_)[1:] == (0.0, 4.0)
    assert np.isnan(pool.audited_right_.value)
    assert (pool.levels_[audited] == y[audited]).all()


def test_the_audits_interval_covers_as_often_as_it_says() -> None:
    random, held = np.random.default_rng(0), np.zeros(3)
    for _ in range(200):
        levels, y = random.integers(0, 5, size=(2, 200))
        wrong = random.random(200) < 0.2
        levels = np.where(wrong, levels, y)
        pool, reliability = Items(5, seed=0), alike(0.0, 5)
        pool.add(200)
        audit = Audit(pool, seed=int(random.integers(2**31)))
        pool.prior = 0.9 * np.eye(5)[levels] + 0.02
        for _ in range(random.integers(50, 200)):
            item, cut = audit.pick(())  # type: ignore[misc]
            audit.answer(item, int(levels[item]), says(reliability, cut, bool(y[item] > cut)))
        verdict = Verdict.of(pool, audit)
        off = np.abs(levels - y)
        true = off.mean(), (off == 0).mean(), (off <= 1).mean()
        held += np.array([figure.low <= share <= figure.high for figure, share in zip(verdict[:3], true, strict=True)])
    assert (held >= 0.95 * 200 - 2 * (200 * 0.05 * 0.95) ** 0.5).all(), held


def test_levels_are_drawn_with_their_propensities_so_figures_of_the_log_have_no_bias() -> None:
    X, y = make_synthetic(100, random_state=3)
    differences = []
    for seed in range(24):
        pool = fast(X, random_state=seed)
        answer(pool, y, 400, seed=seed)
        log = pool.log_
        asked = pool._placements.answers["item"].tolist()
        with pytest.warns(UserWarning, match="are a pool.s, which chose the items"):
            estimate = offpolicy.mae(log, log.prediction)
        differences.append(estimate.value - np.abs(log.prediction - y[asked]).mean())
    mean, error = np.mean(differences), np.std(differences) / len(differences) ** 0.5
    assert abs(mean) < 4 * error


@pytest.mark.parametrize(("wrong", "audit"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.35)])
def test_how_many_answers_remain_is_right_where_none_teaches_about_other_items(wrong: float, audit: float) -> None:
    y = make_synthetic(600, random_state=4)[1]
    pool = Pool(np.empty((600, 0)), LEVELS, error_rate=wrong, audit=audit, random_state=0)
    answer(pool, y, 400, wrong)  # about half-way
    about, low, high = pool.remaining(0.2)
    assert low <= about <= high
    n = 0
    while pool.expected_error_ > 0.2:
        answer(pool, y, 10, wrong, seed=n)
        n += 10
    assert abs(about - n) < 0.25 * n
    assert pool.remaining(0.2) == (0, 0, 0)
    with pytest.raises(ValueError, match="target must be an error in levels"):
        pool.remaining(float("nan"))


@pytest.mark.parametrize("levels", [["poor", "fair", "good", "great", "best"], [5, 4, 3, 2, 1], [0.5, 1.5, 2, 7, 9]])
def test_levels_may_have_any_names(levels: list[Any], tmp_path: Path) -> None:
    X, y = make_synthetic(80, random_state=0)
    pool = Pool(X, levels, learner=NewtonLogit(features="poly"), random_state=0)
    for n in range(400):
        if n == 200:
            pool.save(tmp_path / "pool.dford")
            pool = dford.load(tmp_path / "pool.dford")
        question = pool.ask()
        assert question.level in levels[:-1]
        pool.tell(question, bool(y[question.item] > 1 + levels.index(question.level)))
    pool.settle(3, levels[1], levels[2])
    assert pool.levels_.tolist() == [levels[k - 1] for k in y]
    assert set(pool.log_.level) <= set(levels)


def test_features_must_come_in_the_same_order_and_a_custom_learner_is_loaded(tmp_path: Path) -> None:
    X, y = make_synthetic(40, random_state=0)
    pool = Pool(pd.DataFrame(X, columns=["a", "b"]), LEVELS, learner=Mine(), random_state=0)
    answer(pool, y, 60)
    with pytest.raises(ValueError, match="but the new ones have"):
        pool.add(pd.DataFrame(X[:2], columns=["b", "a"]))
    pool.save(tmp_path / "pool.dford")
    with pytest.raises(ValueError, match="Mine"):
        dford.load(tmp_path / "pool.dford")
    assert (dford.load(tmp_path / "pool.dford", learner=Mine).levels_ == pool.levels_).all()


class Mine(NewtonLogit):
    """A custom learner."""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"error_rate": 0.5}, "error_rate must be a share below 0.5"),
        ({"error_rate": "0.1"}, "error_rate must be a share below 0.5"),
        ({"audit": 1.5}, "audit must be a share of the questions"),
        ({"levels": ["only"]}, "a scale needs at least two levels"),
        ({"levels": range(1001)}, "a pool has at most 1,000 levels; got 1,001"),
        ({"learner": DFORD()}, "needs a learner with ask, tell and predict_proba"),
        ({"levels": 5}, "levels must be a list or an array, lowest first; got 5"),
        ({"X": [[1.0], [np.inf]]}, "Input X contains infinity"),
        ({"X": ["good lamp", "bad lamp"]}, "X must have a row for each item .*; got 'good lamp' as the first row"),
        ({"X": np.zeros(3)}, "X must have a row for each item"),
        ({"X": "items.csv"}, r"read it first, for example pandas.read_csv\('items.csv'\)"),
        ({"random_state": 2**63}, "random_state must be from 0 to"),
        ({"X": [[9e49, np.nan], [0.0, 9e49]]}, "row 0 of X is too large"),  # with what is filled in
        ({"learner": Auto(dense=5)}, "dense"),
        ({"learner": NewtonLogit(features="typo")}, "features"),
        ({"random_state": -1}, "random_state must be from 0 to 4611686018427387904; got -1"),
    ],
)
def test_bad_input_gets_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        Pool(**{"X": np.zeros((3, 2)), "levels": LEVELS, **options})


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_learning_in_the_background_leaves_the_warnings_of_the_program_alone(
    form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_synthetic(120, random_state=0)
    first, pool = (Pool(form(X), LEVELS, random_state=0) for _ in range(2))
    answer(first, y, 110)  # whatever is still to be compiled
    first._placements.finish()
    real, others = warnings.catch_warnings.__enter__, []

    def enter(self: Any) -> Any:
        others.append(threading.current_thread() is not threading.main_thread())
        return real(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", enter)
    answer(pool, y, 110)
    pool._placements.finish()
    assert not any(others)


def test_any_seed_works_to_the_end() -> None:
    X, y = make_synthetic(60, random_state=0)
    pool = fast(X, random_state=2**32 - 1)
    answer(pool, y, 60)
    assert pool.error_rate_ < 0.5


@pytest.mark.parametrize("first", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_items_may_be_added_as_a_sparse_or_dense_matrix(first: Callable[[Any], Any]) -> None:
    X, y = make_synthetic(80, random_state=0)
    pools = [fast(first(X[:40])).add(form(X[40:])) for form in (np.asarray, sparse.csr_matrix, sparse.coo_array)]
    for pool in pools:
        answer(pool, y, 80)
        assert (pool.probabilities_ == pools[0].probabilities_).all()


def test_what_could_not_be_learned_is_said_once_and_learned_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_synthetic(100, random_state=0)
    pool, real, calls, notes = fast(X, random_state=77), HeldOutLearners.learn, [], []

    def learn(self: HeldOutLearners, *told: Any) -> None:
        is_own = self._seed == 77  # or else a pool of an earlier test is still learning
        calls.extend([len(told[0].cuts)] * is_own)
        real(self, *told)
        if is_own and len(calls) in (2, 4):
            raise MemoryError("no room")

    monkeypatch.setattr(HeldOutLearners, "learn", learn)
    for _ in range(110):
        try:
            answer(pool, y, 1)
        except MemoryError as error:
            notes += error.__notes__
            pool.save(tmp_path / "at once")
            np.testing.assert_array_equal(dford.load(tmp_path / "at once").levels_, pool.levels_)
    assert len(notes) == 1
    assert "The answer counts" in notes[0]
    pool.save(tmp_path / "pool")  # while the fourth one fails
    assert calls[2] > sum(calls[:2]), "from all answers"
    assert len(pool.log_) == pool.answers_.sum() == 110
    again = dford.load(tmp_path / "pool")
    answer(again, y, 60)
    assert calls[4] >= 110, "again from all answers"
    assert len(again.log_) == 170


@pytest.mark.parametrize("given", [0.0, 0.2, None])
def test_an_answer_counts_as_much_as_its_probability_says_from_the_first_one_on(given: float | None) -> None:
    """Also if it is given how often answers are wrong, and then exactly, as far as that allows."""

    def believed(said: float) -> float:
        pool = Pool(np.empty((5, 0)), [1, 2], error_rate=given, audit=0.0, random_state=0)
        question = pool.ask()
        pool.tell(question, said)
        return float(pool.probabilities_[question.item][1])

    assert believed(0.5) == pytest.approx(0.5, abs=0.002)
    assert believed(0.0) < believed(0.2) < believed(0.4) < 0.5 < believed(0.6) < believed(0.8) < believed(1.0)
    assert believed(0.75) == pytest.approx(0.75, abs=0.05 if given is None else 1e-9)
    if given is not None:
        assert believed(1.0) == pytest.approx(1.0 - given)


def test_a_pool_that_was_interrupted_while_it_waited_can_be_saved_and_goes_on_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_synthetic(100, random_state=0)
    pool, other = fast(X), fast(X)

    def interrupt(_: Refresh) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Refresh, "result", interrupt)
        with pytest.raises(KeyboardInterrupt):
            answer(pool, y, 100)
    pool.save(tmp_path / "pool")
    again = dford.load(tmp_path / "pool")
    answer(other, y, len(again.log_))
    for _ in range(2):
        np.testing.assert_array_equal(again.probabilities_, other.probabilities_)
        answer(other, y, 30)
        answer(again, y, 30)


def interrupted(act: Callable[[], Any], at: int) -> int:
    """Do it, with an interrupt at this line of dford, counted from 0; return how many lines ran."""
    steps, before = itertools.count(), sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "/dford/" not in frame.f_code.co_filename:
            return None
        if event == "line" and next(steps) == at:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return next(steps)


@pytest.mark.parametrize("said", [True, 0.5])
def test_an_interrupt_at_any_line_leaves_an_answer_counted_or_its_question_open(
    said: bool | float, tmp_path: Path
) -> None:
    """The answer is the one that waits for priors, begins others, and is the first of this person."""
    X, y = make_synthetic(60, random_state=0)
    whole = fast(X)
    answer(whole, y, 49)
    at_first = pickle.dumps(whole)
    question = whole.ask()
    n_steps = interrupted(lambda: whole.tell(question, said, "new"), -1)
    ids = whole.log_.id.tolist()
    answer(whole, y, 30)
    for step in range(0, n_steps, max(n_steps // 30, 1)):
        pool: Pool = pickle.loads(at_first)
        question = pool.ask()
        interrupted(partial(pool.tell, question, said, "new"), step)
        is_open = any(one.id == question.id for one in pool._asked)
        assert len(pool.log_) == 50 - is_open == pool._placements.items.counts.sum() + (0 if is_open else said == 0.5)
        pool.save(tmp_path / "pool")
        again = dford.load(tmp_path / "pool")
        for one in (pool, again):
            one.tell(question, said, "new")
            answer(one, y, 30)
        assert pool.log_.id.tolist() == again.log_.id.tolist()
        assert pool.log_.id[:50].tolist() == ids
        for other in (again, whole):
            np.testing.assert_array_equal(pool.probabilities_, other.probabilities_, f"{step} of {n_steps} steps")


def test_an_interrupted_ask_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = make_synthetic(20, random_state=0)
    pool, other = fast(X), fast(X)
    for place, name in ((1, "add"), (2, "_put")):
        real, calls = getattr(AskedQuestions, name), itertools.count()

        def interrupt(*args: Any, real: Any = real, calls: Any = calls, place: int = place) -> Any:
            if next(calls) == place:
                raise KeyboardInterrupt
            return real(*args)

        with monkeypatch.context() as patched:
            patched.setattr(AskedQuestions, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                pool.ask(5)
    assert pickle.loads(pickle.dumps(pool)).ask(5) == pool.ask(5) == other.ask(5)


@pytest.mark.parametrize("n_first", [0, 20])
def test_an_interrupted_add_adds_nothing(n_first: int) -> None:
    """Not even to a pool without items, whose first ones say what the features and the ids of questions are."""
    X, y = make_synthetic(60, random_state=0)
    X[1::7, 0] = np.nan
    names = [f"feature {place}" for place in range(X.shape[1])]
    first, new = (pd.DataFrame(part, columns=names) for part in (X[:n_first], X[n_first:]))
    whole = fast(first)
    answer(whole, y, n_first)
    at_first = pickle.dumps(whole)
    n_steps, added = interrupted(lambda: whole.add(new), -1), []
    answer(whole, y, 10)
    for step in range(0, n_steps, 3):
        pool: Pool = pickle.loads(at_first)
        interrupted(lambda pool=pool: pool.add(new), step)  # type: ignore[misc]
        added.append(len(pool) == 60)
        if not added[-1]:
            assert len(pool) == len(pool.levels_) == n_first
            pool.add(new)
        again: Pool = pickle.loads(pickle.dumps(pool))
        for one in (pool, again):
            answer(one, y, 10)
            assert one.log_.id.tolist() == whole.log_.id.tolist(), f"{step} of {n_steps} steps"
        np.testing.assert_array_equal(pool.probabilities_, again.probabilities_)
        np.testing.assert_allclose(pool.probabilities_, whole.probabilities_, rtol=1e-9)
    assert added == sorted(added)
    assert not added[-2]


def test_if_no_answer_is_wrong_nobody_is_asked_what_is_known() -> None:
    y = np.arange(40) % 6
    pool = Pool(np.empty((40, 0)), list(range(6)), error_rate=0.0, audit=0.0, random_state=0)
    for n in range(90):
        question = pool.ask(person="abc"[n % 3])
        above = pool.probabilities_[question.item][question.level + 1 :].sum()
        assert 0.0 < above < 1.0
        pool.tell(question, bool(y[question.item] > question.level))


def test_an_answer_is_yes_no_or_a_probability_of_somebody_with_a_name() -> None:
    pool = fast(np.zeros((9, 1)))
    for n in (2.5, -1, True, "2"):
        with pytest.raises(ValueError, match="n must be a whole number of questions; got"):
            pool.ask(n)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be text that can be written to a file"):
        pool.tell(pool.ask(), True, person="\ud800")
    for said in (1, 1.5, float("nan"), "yes", None):
        with pytest.raises(TypeError, match=r"an answer must be True, False, or the probability .*; got"):
            pool.tell(pool.ask(), said)  # type: ignore[arg-type]


def test_a_question_that_the_pool_did_not_ask_is_refused() -> None:
    X, y = make_synthetic(20, random_state=0)
    pool, other = fast(X), fast(X, random_state=1)
    question = pool.ask()
    with pytest.raises(ValueError, match="was not asked by this pool"):
        pool.tell(other.ask(), higher=True)
    with pytest.raises(ValueError, match="was not asked by this pool"):
        pool.tell(question._replace(item=question.item + 1), higher=True)
    with pytest.raises(TypeError, match="expected a question"):
        pool.drop("1")  # type: ignore[arg-type]
    pool.tell(question, higher=bool(y[question.item] > question.level))


def test_what_was_settled_is_not_asked_by_the_audit_either() -> None:
    pool = Pool(np.empty((5, 0)), LEVELS, audit=0.5, error_rate=0.0, random_state=0)
    for item in range(5):
        pool.settle(item, 2, 3)
    while (question := pool.ask()) is not None:
        assert question.level == 2
        pool.tell(question, higher=True)
    assert (pool.levels_ == 3).all()


@pytest.mark.parametrize("name", ["coming", "answers_propensity", "prior", "usual", "X", "fillings"])
def test_a_damaged_pool_is_refused_when_it_is_loaded(name: str, tmp_path: Path) -> None:
    X, y = make_synthetic(80, random_state=0)
    X[3, 0] = np.nan
    pool = Pool(X, [1, 2, 3, 4, 5], learner=NewtonLogit(), audit=0.2, random_state=0)
    for _ in range(70):
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
    pool.save(tmp_path / "pool.dford")
    header, arrays = persistence.read(tmp_path / "pool.dford")
    numbers = {"X": [np.inf], "answers_propensity": [np.nan, np.inf, 1e-300]}  # features may be missing
    for number in numbers.get(name, [np.nan, np.inf]):
        persistence.write(tmp_path / "bad.dford", header, {**arrays, name: np.full_like(arrays[name], number)})
        with pytest.raises(ValueError, match="invalid"):
            dford.load(tmp_path / "bad.dford")
    assert dford.load(tmp_path / "pool.dford").levels_.tolist() == pool.levels_.tolist()


FORGED: list[Any] = [
    {"next": 60},
    {"next": "soon"},
    {"learned": 71},
    {"key": 7},
    {"voices": [["", 9]]},
    {"voices": []},
    {"costs": {"ann": -1}},
    {"auditors": "ann"},
    {"open": []},
    {"open": [[80, 1, 1, 0.5, 70, "place", None, -1]]},
    {"open": [[0, 6, 1, 0.5, 70, "place", None, -1]]},
    {"open": [[0, 1, 1, 0.5, 69, "place", None, -1]]},
    {"open": [[0, 1, 1, 0.5, 70, "place", None, -1]] * 2},
    {"open": [[0, 1, 1, 0.0, 70, "place", None, -1]]},
    {"open": [[0, 1, 1, 0.5, 70, "fun", None, -1]]},
    {"open": [[0, 1, 1]]},
    {"open": [[0, 1, 1, 1e-300, 70, "place", None, -1]]},
    {"features": -5},
    {"features": 2**70},
    {"features": ["x"]},
    {"features": [1]},
    {"features": {}},
]


@pytest.mark.parametrize("change", FORGED, ids=str)
def test_an_impossible_pool_is_refused_in_one_sentence(change: Any, tmp_path: Path) -> None:
    pool = Pool(np.empty((80, 0)), [1, 2, 3, 4, 5], audit=0.0, random_state=0)
    for _ in range(70):
        pool.tell(pool.ask(), True)
    pool.ask()
    pool.save(tmp_path / "pool.dford")
    header, arrays = persistence.read(tmp_path / "pool.dford")
    persistence.write(tmp_path / "bad.dford", {**header, **change}, arrays)
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        dford.load(tmp_path / "bad.dford")
    assert len(list(dford.load(tmp_path / "pool.dford")._asked)) == 1


def test_after_very_many_answers_an_item_can_still_be_asked_about() -> None:
    placements = Placements(Scale([1, 2, 3]), NewtonLogit(levels=[1, 2, 3]), 0.02, 0.0, 0)
    placements.add(np.zeros((2, 1)))
    placements.number(Voice(""))
    for n in range(400):  # until no other level has a chance that a number can hold
        placements.count(Answer(n, 0, n % 2, 1, 1.0, n % 2 == 0, PLACE, -1))
    assert np.count_nonzero(placements.items.belief(0)) == 1
    question = placements.propose_about(0, 400)
    assert (question.item, question.propensity) == (0, 1.0)
    assert question.cut in {0, 1}
