"""What a pool expects is true: on lopsided scales, in small pools, and where many answers are wrong."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_pool
from dford import Pool
from dford.engine import counter
from dford.engine.beliefs import priors
from dford.pool.agreement import AnswerColumns
from dford.pool.reliability import alike, cautious_rate, usual_rate

LOPSIDED = (0.7, 0.2, 0.07, 0.03)
WHOLE = np.array([[0, 3]], np.int16)


def world(shares: tuple[float, ...], n: int, seed: int) -> tuple[Any, Any]:
    """Rows with four features, and levels with these shares that three of them tell something about."""
    random = np.random.RandomState(seed)
    X = random.randn(n, 4)
    score = X @ np.array([1.0, -1.0, 0.5, 0.0]) / 1.5 + 0.5 * random.randn(n)
    ranks = np.argsort(np.argsort(score))
    return X, np.searchsorted(np.round(np.cumsum(shares) * n), ranks, side="right")


def told(pool: Pool, y: Any, wrong: float, random: Any) -> None:
    question = pool.ask()
    pool.tell(question, bool((y[question.item] > question.level) != (random.random() < wrong)))


def sums_to_one(n: int) -> Any:
    return st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n).map(lambda w: [one / sum(w) for one in w])


@given(st.integers(2, 6), st.integers(0, 2), st.data())
def test_priors_and_the_likelihood_of_answers_match_the_slow_way(n_levels: int, n_models: int, data: Any) -> None:
    usual = data.draw(sums_to_one(n_levels))
    answers = data.draw(st.lists(st.tuples(st.integers(0, n_levels - 2), st.booleans()), max_size=6))
    cuts = st.lists(st.floats(0.001, 0.999), min_size=n_levels - 1, max_size=n_levels - 1)
    yes, above = data.draw(cuts), [sorted(data.draw(cuts), reverse=True) for _ in range(n_models)]
    inversion, power = data.draw(st.floats(0.0, 0.3)), data.draw(st.floats(0.0, 3.0))
    weights = [data.draw(st.floats(0.0, 1.0)) for _ in range(1 + n_models)]
    tilt = data.draw(st.lists(st.floats(0.1, 5.0), min_size=n_levels, max_size=n_levels))
    trust = data.draw(st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0]), min_size=n_levels - 1, max_size=n_levels - 1))
    said = np.array([yes]), np.array(above).reshape(n_models, 1, n_levels - 1)
    found = priors.priors(
        *said, inversion, power, np.array(weights), np.log(usual), np.array(tilt), np.array(trust)
    )[0]  # fmt: skip
    slow = naive_pool.prior(yes, above, inversion, power, weights, usual, tilt, trust)
    np.testing.assert_allclose(found, slow, rtol=1e-6)
    evidence = np.zeros((1, n_levels))
    for cut, higher in answers:
        evidence[0] += alike(0.1, n_levels).of(np.zeros(1, np.int64), np.array([cut]), np.array([int(higher)]))
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, n_levels - 1)] * 2)))
    ways = [weights, [0.0, *weights[1:]]]  # with the learners and without them
    grid = np.array([inversion, 0.2]), np.array([power]), np.array(ways)
    likely = priors.likelihoods(*said, evidence, np.array([[low, high]], np.int16), *grid, np.log(usual))
    assert likely.shape == (2, 1, 2)
    for (r, p, w), found_here in np.ndenumerate(likely):
        slow = naive_pool.sure(yes, above, float(grid[0][r]), float(grid[1][p]), ways[w], usual)
        assert found_here == pytest.approx(naive_pool.likelihood(slow, answers, 0.1, low, high), abs=1e-6)


@given(sums_to_one(5), st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4))
def test_a_cut_that_nobody_was_asked_about_splits_its_levels_evenly(chances: list[float], trust: list[float]) -> None:
    """And the others keep what they say about the levels on either side."""
    above = 1.0 - np.cumsum(chances)[:-1]
    nothing, even = np.empty((0, 1, 4)), np.log(np.full(5, 0.2))
    known = np.array([0.0, 1.0, 0.0, 0.0])
    found = priors.priors(above[None], nothing, 0.0, 1.0, np.ones(1), even, np.ones(5), known)[0]
    np.testing.assert_allclose(found[:2], (1 - above[1]) / 2, rtol=1e-6)
    np.testing.assert_allclose(found[2:], above[1] / 3, rtol=1e-6)
    found = priors.priors(above[None], nothing, 0.0, 1.0, np.ones(1), even, np.ones(5), np.ones(4))[0]
    np.testing.assert_allclose(found, chances, rtol=1e-6)


@given(sums_to_one(2), st.integers(0, 1000))
def test_few_answers_do_not_show_that_a_level_is_rare(chances: list[float], n: int) -> None:
    """However sure learners are, the odds after n answers about a cut are at most (1 + n / 1.57) ** 2 times even."""
    above, nothing, even = np.array([[chances[1]]]), np.empty((0, 1, 1)), np.log(np.full(2, 0.5))
    trust = np.array([np.sqrt(n / (n + np.pi / 2))])
    found = priors.priors(above, nothing, 0.0, 50.0, np.ones(1), even, np.ones(2), trust)[0]
    assert abs(np.log(found[1] / found[0])) <= 2 * np.log1p(n / (np.pi / 2)) + 1e-6


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 3))
def test_shares_are_those_of_the_answers_and_two_more_items_per_level(levels: list[int], wrong: int) -> None:
    """Whatever learners believe: here, that nearly all items are at one level."""
    evidence = np.where(np.arange(4) == np.array(levels)[:, None], 0.0, -50.0)
    prior = np.tile(np.where(np.arange(4) == wrong, 0.97, 0.01), (len(levels), 1))
    bounds = np.repeat(WHOLE, len(levels), axis=0)
    expected = (2 + np.bincount(levels, minlength=4)) / (8 + len(levels))
    for given_prior in (prior, np.full(prior.shape, 0.25)):
        shares = given_prior.mean(axis=0) * priors.tilt(given_prior, evidence, bounds)
        np.testing.assert_allclose(shares, expected, rtol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=12), sums_to_one(4))
def test_the_error_rate_is_cautious(answers: list[tuple[int, int, bool]], prior: list[float]) -> None:
    """Compared with the sum over all levels of each item: four fifths of what is possible are below it."""
    item, cut, higher = np.array(answers, dtype=np.int64).reshape(-1, 3).T
    found = cautious_rate(AnswerColumns(item, np.zeros_like(item), cut, higher), np.tile(prior, (4, 1)))
    rates = (np.arange(100_000) + 0.5) / 200_000
    weights = (1 - rates) ** 8
    for i in range(4):
        right = [[(level > c) == h for j, c, h in answers if j == i] for level in range(4)]
        weights = weights * sum(
            chance * np.prod([np.where(r, 1 - rates, rates) for r in rs], axis=0)
            for chance, rs in zip(prior, right, strict=True)
        )
    below = weights[rates <= found].sum() / weights.sum()
    assert below == pytest.approx(0.8, abs=0.03)


def test_the_error_rate_falls_with_answers_that_agree_and_rises_with_those_that_differ() -> None:
    def rate(pairs: list[tuple[bool, bool]]) -> float:
        item, higher = np.repeat(np.arange(len(pairs)), 2), np.array(pairs, np.bool_).ravel()
        nobody = np.zeros_like(item)
        return cautious_rate(
            AnswerColumns(item, nobody, nobody + 1, higher.astype(np.int64)), np.full((len(pairs), 4), 0.25)
        )

    agree, differ = (True, True), (True, False)
    assert rate([agree] * 20) < rate([agree] * 5) < usual_rate(4) < rate([differ] * 3) < rate([differ] * 10) < 0.5


@pytest.mark.parametrize("shares", [LOPSIDED, (0.9, 0.05, 0.03, 0.02), (0.5, 0.0, 0.0, 0.5)])
def test_a_pool_that_expects_a_small_error_has_one_on_lopsided_scales_too(shares: tuple[float, ...]) -> None:
    errors = []
    for seed in range(4):
        X, y = world(shares, 80, seed)
        pool, random = Pool(X, [0, 1, 2, 3], random_state=seed), np.random.default_rng(seed)
        while pool._placements.expected_error() > 0.1:
            told(pool, y, 0.0, random)
        errors.append(np.abs(pool.levels_ - y).mean())
    assert np.mean(errors) <= 0.15
    assert max(errors) <= 0.25


def test_columns_that_say_nothing_do_not_hide_a_whole_level() -> None:
    """Here, a learner that was sure of one level for nearly all items was believed, as no question tested it."""
    random = np.random.RandomState(75)
    X, y = random.randn(80, 4), random.choice(4, 80, p=LOPSIDED)
    pool = Pool(X, [0, 1, 2, 3], random_state=75)
    while pool._placements.expected_error() > 0.1:
        told(pool, y, 0.0, random)
    assert np.abs(pool.levels_ - y).mean() <= 0.25


def test_what_earlier_answers_teach_is_tested_before_it_is_believed() -> None:
    """Those of an earlier pool about 200 items tell where 60 new ones are, but not that nearly all are at one level."""
    for seed in (300, 302):
        X, y = world(LOPSIDED, 260, seed)
        some = np.random.RandomState(seed).permutation(260)
        X, y, random = X[some], y[some], np.random.default_rng(seed)
        earlier = Pool(X[:200], [0, 1, 2, 3], random_state=seed)
        for _ in range(500):
            told(earlier, y[:200], 0.0, random)
        pool = Pool(X[200:], [0, 1, 2, 3], random_state=seed, log=earlier)
        for _ in range(60):
            assert pool.expected_error_ >= 0.5 * np.abs(pool.levels_ - y[200:]).mean()
            told(pool, y[200:], 0.0, random)


def test_what_was_not_asked_is_not_known() -> None:
    """Every answer is no: before anyone was asked whether items are above the lowest level, none is sure to be."""
    pool = Pool(np.random.RandomState(0).randn(80, 4), [0, 1, 2, 3], random_state=0)
    for _ in range(50):  # the first priors take effect here
        question = pool.ask()
        pool.tell(question, False)
    asked = np.bincount(pool._placements.answers["cut"], minlength=3)
    assert asked[1] >= 45, "all levels are equally likely at first, so the cut in the middle tells most"
    chances = pool.probabilities_
    assert np.abs(chances[:, 0] - chances[:, 1]).max() < 0.35
    assert pool.expected_error_ > 0.35


def test_the_error_rate_is_found_in_small_pools() -> None:
    for wrong, low, high in ((0.0, 0.0, 0.05), (0.3, 0.2, 0.45)):
        rates, ratios = [], []
        for seed in range(4):
            X, y = world((0.25,) * 4, 80, seed)
            pool, random = Pool(X, [0, 1, 2, 3], random_state=seed), np.random.default_rng(seed)
            for _ in range(320):
                told(pool, y, wrong, random)
            rates.append(pool.error_rate_)
            ratios.append(pool._placements.expected_error() - np.abs(pool.levels_ - y).mean() / 2)
        assert low <= min(rates)
        assert max(rates) <= high
        assert min(ratios) >= 0, "none expects less than half the true error"


def test_guesses_say_nothing_however_many() -> None:
    pool = Pool(np.random.RandomState(0).randn(80, 4), [0, 1, 2, 3], random_state=0)
    before = pool.expected_error_
    for _ in range(80):
        pool.tell(pool.ask(), 0.5)
    assert pool.expected_error_ == pytest.approx(before, abs=1e-12)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.text(max_size=5), st.text(max_size=5))
def test_no_two_streams_are_the_same(seed: int, other: int, name: str, other_name: str) -> None:
    is_same = (seed, name) == (other, other_name)
    assert (counter.stream(seed, name) == counter.stream(other, other_name)) == is_same
    assert 0 <= counter.stream(seed, name) < 2**62
