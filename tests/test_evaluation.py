"""Evaluation without labels: unbiased, with intervals that cover, for any predictions."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from dford import (
    DFORD,
    Boundary,
    FeedbackLog,
    Greedy,
    Nearby,
    NewtonLogit,
    People,
    Pool,
    Question,
    Triangular,
    Uniform,
)
from dford.datasets import make_synthetic
from dford.estimates import interval
from dford.evaluation import offpolicy, tune
from dford.log_columns import UNKNOWN

K = 5
LEVELS = [1, 2, 3, 4, 5]


def logged(X: Any, y: Any, predictions: Any, policy: Any, seed: int) -> FeedbackLog:
    """Questions that a policy would have asked, given somebody's predictions."""
    random = np.random.default_rng(seed)
    table = policy.table(K)[0]
    asked = 1 + (random.random(len(y))[:, None] > np.cumsum(table[predictions - 1], axis=1)[:, :-1]).sum(axis=1)
    log = FeedbackLog(LEVELS)
    given = asked, predictions, table[predictions - 1, asked - 1], y > asked
    log._rows, log._about = list(X), [UNKNOWN] * len(y)
    log._answers = list(zip(*(column.tolist() for column in given), strict=True))
    return log


def truth(y: Any, predictions: Any) -> float:
    return float(np.abs(predictions - y).mean())


@pytest.fixture(scope="module")
def world() -> tuple[Any, ...]:
    X, y = make_synthetic(600, random_state=0)
    own = NewtonLogit(features="poly", random_state=0).fit(*make_synthetic(500, random_state=1))
    foreign = np.clip(y + np.random.default_rng(0).integers(-2, 3, size=600), 1, 5)
    return X, y, own.predict(X), own.predict_proba(X), foreign


@pytest.mark.parametrize("policy", [Triangular(0.5), Boundary(0.3), Uniform()], ids=repr)
def test_intervals_cover_as_often_as_they_say(world: Any, policy: Any) -> None:
    X, y, own, proba, foreign = world
    ways = [(method, whose) for method in ("plain", "normalised", "robust") for whose in ("own", "foreign")]
    judged = {"own": own, "foreign": foreign}
    found: dict[Any, list[Any]] = {way: [] for way in ways}
    random, runs = np.random.default_rng(0), 200
    for seed in range(runs):
        rows = random.permutation(600)  # all of them, so that the truth is the same in every run
        log = logged(X[rows], y[rows], own[rows], policy, seed)
        for method, whose in ways:
            found[method, whose].append(
                offpolicy.mae(log, judged[whose][rows], method=method, probabilities=proba[rows])
            )
    for way, estimates in found.items():
        true = truth(y, judged[way[1]])
        covered = sum(estimate.low <= true <= estimate.high for estimate in estimates)
        # the interval is also for newly drawn rows, which these are not, so it covers at least as often as it says
        assert covered / runs > 0.925, way
        values = [estimate.value for estimate in estimates]
        error = np.std(values) / np.sqrt(runs)
        assert np.mean(values) == pytest.approx(true, abs=4 * error + 1e-9), way


@pytest.mark.parametrize("wrong", [0.05, 0.1, 0.2])
def test_figures_are_right_despite_wrong_answers_if_the_error_rate_is_given(world: Any, wrong: float) -> None:
    """With the rate itself, and with an estimate of it from 100 answers about what is known."""
    X, y, own, proba, _ = world
    random, runs, policy = np.random.default_rng(1), 150, Uniform()
    held = {(figure, rate): 0 for figure in ("plain", "normalised", "robust", "right") for rate in ("known", "learned")}
    blind = 0
    for seed in range(runs):
        rows = random.permutation(600)
        log = flipped(logged(X[rows], y[rows], own[rows], policy, seed), random.random(600) < wrong)
        mistakes = (random.random(100) < wrong).astype(float)
        rates: dict[str, Any] = {"known": wrong, "learned": interval(mistakes, reach=(0.0, 1.0), possible=(0.0, 0.49))}
        for figure, rate in held:
            if figure == "right":
                found = offpolicy.accuracy(log, own[rows], error_rate=rates[rate])
                true = float((own == y).mean())
            else:
                found = offpolicy.mae(
                    log, own[rows], method=figure, probabilities=proba[rows], error_rate=rates[rate]
                )  # fmt: skip
                true = truth(y, own)
            held[figure, rate] += found.low <= true <= found.high
        taken = offpolicy.mae(log, own[rows])
        blind += taken.low <= truth(y, own) <= taken.high
    for way, count in held.items():
        assert count / runs > 0.92, (way, count / runs)
    assert blind / runs < 0.9, "which is why it must be given"


def flipped(log: FeedbackLog, wrong: Any) -> FeedbackLog:
    """The same log with some answers flipped."""
    other = FeedbackLog(log.scale.names)
    for (x, level, prediction, propensity, higher), turned in zip(log, wrong, strict=True):
        other._add(x, level, prediction, propensity, bool(higher != turned))
    return other


def test_an_error_rate_is_a_share_below_a_half(world: Any) -> None:
    X, y, own, *_ = world
    log = logged(X, y, own, Uniform(), 0)
    with pytest.raises(ValueError, match="an error rate must be a share below 0.5; got 0.5"):
        offpolicy.mae(log, own, error_rate=0.5)
    better = offpolicy.compare(log, own, np.clip(own + 1, 1, 5), error_rate=0.1)
    plain = offpolicy.compare(log, own, np.clip(own + 1, 1, 5))
    assert better.value == pytest.approx(plain.value / 0.8)


def test_coverage_is_near_95_percent_when_items_are_drawn_too() -> None:
    covered, runs = 0, 500
    random = np.random.default_rng(0)
    true = 1.2  # mean of 0, 1 and 2 away, from the middle: see below
    shifts = np.array([0, 1, 1, 2, 2])
    for seed in range(runs):
        shift = random.choice(shifts, size=300)
        y = 3 + shift * random.choice([-1, 1], size=300)
        predictions = np.full(300, 3)
        log = logged(np.zeros((300, 1)), y, predictions, Boundary(0.5), seed)
        estimate = offpolicy.mae(log, predictions)
        covered += estimate.low <= true <= estimate.high
    assert 0.92 <= covered / runs <= 0.975


RARE: list[dict[int, float]] = [{0: 0.98, 1: 0.02}, {0: 0.99, 2: 0.01}, {0: 0.995, 4: 0.005}]
"""The probability of being so many levels off: 0.02 on average, except where the scale ends."""


def terms_of(policy: Any, off: dict[int, float], n: int, runs: int, seed: int = 0) -> tuple[Any, float]:
    """Weighted mismatches of a model that is so many levels off, up or down, and its true error."""
    random, table = np.random.default_rng(seed), policy.table(K)[0]
    p = random.integers(1, K + 1, size=(runs, n))
    away = random.choice(list(off), p=list(off.values()), size=(runs, n)) * random.choice([-1, 1], size=(runs, n))
    y = np.clip(p + away, 1, K)
    asked = 1 + (random.random((runs, n, 1)) > np.cumsum(table[p - 1], axis=2)[..., :-1]).sum(axis=2)
    weights = np.where(asked < K, 1 / table[p - 1, asked - 1], 0.0)
    places = np.arange(1, K + 1)
    errors = [np.abs(np.clip(places + sign * size, 1, K) - places).mean() for size in off for sign in (-1, 1)]
    true = float(np.repeat(list(off.values()), 2) @ errors) / 2
    return weights * ((p > asked) != (y > asked)), true


@pytest.mark.parametrize("policy", [Triangular(0.5), Boundary(0.2), Boundary(0.5), Nearby(), Uniform()], ids=repr)
@pytest.mark.parametrize("off", RARE, ids=str)
@pytest.mark.parametrize("n", [30, 100])
def test_rare_errors_are_covered_too(policy: Any, off: dict[int, float], n: int) -> None:
    """Where hardly a mismatch, if any, is among the answers, which then tell little."""
    terms, true = terms_of(policy, off, n, runs=400)
    assert 0.01 <= true <= 0.02
    found = [interval(row, reach=(0, policy.heaviest(K)), possible=(0, K - 1)) for row in terms]
    assert np.mean([estimate.low <= true <= estimate.high for estimate in found]) >= 0.93


@pytest.mark.parametrize("policy", [Triangular(0.5), Boundary(0.2), Boundary(0.5), Nearby(), Uniform()], ids=repr)
@pytest.mark.parametrize("off", [{0: 0.8, 1: 0.2}, {0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.3, 1: 0.3, 2: 0.2, 3: 0.2}], ids=str)
def test_usual_errors_are_covered_as_often_as_stated_by_intervals_as_wide_as_normal_ones(policy: Any, off: Any) -> None:
    terms, true = terms_of(policy, off, n=2000, runs=600, seed=1)
    found = [interval(row, reach=(0, policy.heaviest(K)), possible=(0, K - 1)) for row in terms]
    covered = np.mean([estimate.low <= true <= estimate.high for estimate in found])
    assert 0.93 <= covered <= 0.97
    normal = 2 * 1.96 * terms.std(axis=1) / np.sqrt(2000)
    assert np.mean([high - low for _, low, high in found]) <= 1.04 * normal.mean()


@given(
    n=st.integers(2, 200),
    share=st.floats(0, 1),
    weight=st.floats(0.01, 100),
    confidence=st.sampled_from([0.5, 0.95, 0.999]),
)
def test_for_terms_that_are_0_or_w_the_interval_is_wilsons(
    n: int, share: float, weight: float, confidence: float
) -> None:
    """Except for the one extra term that is counted, which never makes it narrower."""
    k = round(share * n)
    terms = np.repeat([weight, 0.0], [k, n - k])
    wilson = [weight * end for end in binomtest(k, n).proportion_ci(confidence, method="wilson")]
    mean = float(terms.mean())
    if 0 < k < n:
        bare = interval(terms, confidence, reach=(mean, mean), possible=(-1e9, 1e9))
        np.testing.assert_allclose(bare[1:], wilson, rtol=1e-9, atol=1e-9 * weight)
    found = interval(terms, confidence, reach=(0, weight), possible=(0, weight))
    assert found.low <= wilson[0] + 1e-9 * weight
    assert found.high >= wilson[1] - 1e-9 * weight
    if k in {0, n}:
        np.testing.assert_allclose(found[1:], wilson, atol=1e-9 * weight)


@pytest.mark.filterwarnings("ignore:1 / propensity is")
@given(
    st.lists(
        st.tuples(st.integers(1, K), st.integers(1, K), st.floats(1e-6, 0.999), st.booleans()), min_size=2, max_size=30
    ),
    st.randoms(use_true_random=False),
)
def test_no_figure_is_impossible_or_claims_to_be_certain(answers: Any, random: Any) -> None:
    """Whatever the propensities: an answer with propensity 1e-6 weighs as much as a million."""
    log = FeedbackLog(LEVELS)
    every = [(level, 1, 0.5, False) for level in LEVELS]  # or no estimate would exist
    for level, prediction, propensity, higher in [*every, *answers]:
        log._add(np.zeros(1), level, prediction, propensity, higher and level < K)
    one, two = ([random.randint(1, K) for _ in range(len(log))] for _ in range(2))
    q = np.array([[random.random() + 0.01 for _ in LEVELS] for _ in range(len(log))])
    q /= q.sum(axis=1, keepdims=True)
    errors = [offpolicy.mae(log, one, method=m, probabilities=q) for m in ("plain", "normalised", "robust")]
    shares = [offpolicy.accuracy(log, one, within=w) for w in (0, 1, 2)]
    for figures, least, most in (
        (errors, 0, K - 1),
        (shares, 0, 1),
        ([offpolicy.compare(log, one, two)], 1 - K, K - 1),
    ):
        for value, low, high in figures:
            assert least <= low <= value <= high <= most
            assert low < high or (figures is not errors and one == two)
    model = NewtonLogit(levels=LEVELS, checkpoints=range(1, 40), random_state=0)
    model.replay(log)
    trace = model.trace_
    for value, low, high in [model.running_mae_, *zip(trace.estimate, trace.low, trace.high, strict=True)]:
        assert 0 <= low <= value <= high <= K - 1


def test_thirty_answers_without_a_mismatch_do_not_show_that_there_is_no_error() -> None:
    y = np.tile([1, 2, 3, 4, 5], 6)
    log = logged(np.zeros((30, 1)), y, y, Nearby(), 0)
    for method in ("plain", "normalised", "robust"):
        sure = np.eye(K)[y - 1]
        estimate = offpolicy.mae(log, y, method=method, probabilities=sure, policy=Nearby())
        assert estimate[:2] == (0.0, 0.0)
        assert estimate.high >= min(3 / 30 * Nearby().heaviest(K), K - 1)  # the rule of three
    assert offpolicy.accuracy(log, y) == pytest.approx((1.0, 0.0, 1.0), abs=1e-9)
    other = np.where(np.arange(30) == 7, 5 - y // 5, y)  # one prediction differs, and was not asked about
    difference = offpolicy.compare(log, y, other)
    assert difference.low < 0 < difference.high


def test_the_robust_form_is_narrower_where_the_probabilities_are_good() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 3))
    y = 1 + (X.sum(axis=1)[:, None] + random.logistic(size=(6000, 1)) > [-2, -0.7, 0.7, 2]).sum(axis=1)
    model = NewtonLogit(random_state=0).fit(X[:4000], y[:4000])
    X, y = X[4000:], y[4000:]
    own, proba = model.predict(X), model.predict_proba(X)
    widths = []
    for seed in range(10):
        log = logged(X, y, own, Uniform(), seed)
        plain, robust = (offpolicy.mae(log, own, method=m, probabilities=proba) for m in ("plain", "robust"))
        widths.append((robust.high - robust.low) / (plain.high - plain.low))
    assert max(widths) < 1


@pytest.mark.parametrize("within", [0, 1, 2])
def test_accuracy_within_so_many_levels_is_unbiased(world: Any, within: int) -> None:
    X, y, own, _, foreign = world
    for predictions in (own, foreign):
        true = (np.abs(predictions - y) <= within).mean()
        values = [
            offpolicy.accuracy(logged(X, y, own, Triangular(0.6), seed), predictions, within=within).value
            for seed in range(100)
        ]
        assert np.mean(values) == pytest.approx(true, abs=4 * np.std(values) / np.sqrt(100) + 1e-12)


def test_within_is_a_whole_number_of_levels(world: Any) -> None:
    X, y, own, *_ = world
    log = logged(X, y, own, Uniform(), 0)
    for strange in (1.5, 0.5, 1.0, np.nan, -1, "1", None, True):
        with pytest.raises(ValueError, match="within must be a whole number of levels, 0 or more; got"):
            offpolicy.accuracy(log, own, within=strange)  # type: ignore[arg-type]
    small: Any = np.int8(1)
    assert offpolicy.accuracy(log, own, within=small) == offpolicy.accuracy(log, own, within=1)
    assert offpolicy.accuracy(log, own, within=2**70).value == 1.0


def test_a_comparison_knows_which_is_better_and_when_it_cannot_tell(world: Any) -> None:
    X, y, own, _, foreign = world
    log = logged(X, y, own, Boundary(0.3), 0)
    difference = offpolicy.compare(log, own, foreign)
    assert difference.high < 0
    assert offpolicy.compare(log, foreign, own).value == pytest.approx(-difference.value)
    same = offpolicy.compare(log, own, own)
    assert same == (0.0, 0.0, 0.0)


def test_what_cannot_be_estimated_is_refused(world: Any) -> None:
    X, y, own, proba, _ = world
    log = logged(X, y, own, Boundary(0.3), 0)
    with pytest.raises(ValueError, match="never asks about level"):
        offpolicy.mae(log, own, policy=Greedy())
    short = logged(X[:3], y[:3], own[:3], Boundary(0.3), 0)
    with pytest.raises(ValueError, match=r"the log never asks about level \d"):
        offpolicy.mae(short, own[:3])
    with pytest.raises(ValueError, match="at least two answers"):
        offpolicy.mae(FeedbackLog(LEVELS), [])
    with pytest.raises(ValueError, match="one prediction for each of the log's 600 rows"):
        offpolicy.mae(log, own[:10])
    with pytest.raises(ValueError, match="7 is not a level"):
        offpolicy.mae(log, np.full(600, 7))
    with pytest.raises(ValueError, match="rows summing to 1"):
        offpolicy.mae(log, own, method="robust", probabilities=proba * 2)
    with pytest.raises(ValueError, match="method must be"):
        offpolicy.mae(log, own, method="best")
    with pytest.raises(ValueError, match="confidence must be"):
        offpolicy.mae(log, own, confidence=95)


def test_propensities_that_are_not_those_of_the_questions_are_noticed() -> None:
    """Levels 1 to 4 are drawn evenly, but said to have been nearly certain."""
    random, log = np.random.default_rng(0), FeedbackLog(LEVELS)
    right = random.integers(1, K + 1, 400)
    for level, asked in zip(right.tolist(), random.integers(1, K, 400).tolist(), strict=True):
        log._add(np.zeros(1), asked, 3, 0.9, level > asked)
    with pytest.warns(UserWarning, match=r"1 / propensity is 1\.11 on average in this log, but it should be 4"):
        offpolicy.mae(log, log.prediction)
    with pytest.raises(
        ValueError, match=r"row 1 of the log was asked with probability 0\.9, but Uniform\(\) asks about"
    ):
        offpolicy.mae(log, log.prediction, policy=Uniform())


def test_copies_of_answers_are_refused_if_times_show_them() -> None:
    log = FeedbackLog(LEVELS)
    for n in range(40):
        question = Question("", np.zeros(0), LEVELS[n % (K - 1)], 3, 1 / (K - 1), n)
        log.append(question, n % 3 == 0, item=n, person="ann", time=1.7e9 + n)
    offpolicy.mae(log, log.prediction)
    frame = log.to_frame().drop(columns="id")  # two files put together by hand
    twice = FeedbackLog.from_frame(pd.concat([frame, frame]), LEVELS)
    for judged in (lambda: offpolicy.mae(twice, twice.prediction), lambda: People(twice)):
        with pytest.raises(ValueError, match="40 of the log's 80 answers are there more than once"):
            judged()


@pytest.mark.parametrize(
    ("n_levels", "error_rate", "people", "suffix"),
    [(3, None, 1, None), (3, 0.1, 1, ".csv"), (4, 0.0, 1, ".parquet"), (5, None, 2, ".csv"), (7, 0.05, 1, ".parquet")],
)
def test_the_log_of_a_pool_is_never_judged_in_silence(
    n_levels: int, error_rate: float | None, people: int, suffix: str | None, tmp_path: Path
) -> None:
    random, levels = np.random.default_rng(n_levels), list(range(1, n_levels + 1))
    y = random.integers(1, n_levels + 1, 40)
    pool = Pool(np.empty((40, 0)), levels, error_rate=error_rate, audit=0.0, random_state=n_levels)
    for n in range(120):
        person = f"person {n % people}"
        if (question := pool.ask(person=person)) is None:
            break  # all is known
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < 0.2)), person)
    log = pool.log_
    if suffix is not None:
        log.write(tmp_path / f"log{suffix}")
        log = FeedbackLog.read(tmp_path / f"log{suffix}", levels)
    for judge in (
        lambda: offpolicy.mae(log, log.prediction),
        lambda: offpolicy.accuracy(log, log.prediction),
        lambda: offpolicy.compare(log, log.prediction, log.level),
        lambda: tune(log, [NewtonLogit(random_state=0), NewtonLogit(forget=0.1, random_state=0)]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises((ValueError, UserWarning), match="a pool"):
                judge()
    with pytest.raises(ValueError, match="but Nearby"):
        offpolicy.mae(log, log.prediction, policy=Nearby())


@pytest.mark.parametrize("n_levels", [2, 5])
def test_the_log_of_a_pool_is_known_by_the_ids_of_its_answers(n_levels: int, tmp_path: Path) -> None:
    """One answer for each item, no column of items, and for two levels any policy would have asked the same."""
    levels, random = list(range(1, n_levels + 1)), np.random.default_rng(0)
    y = random.integers(1, n_levels + 1, 400)
    pool = Pool(random.normal(size=(400, 2)), levels, learner=NewtonLogit(), audit=0.0, random_state=0)
    for _ in range(300):
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
    log = pool.log_
    once = np.sort(np.unique(log.item, return_index=True)[1])
    frame = log.to_frame().iloc[once].drop(columns=["item", "person", "time", "purpose"])
    frame.to_csv(tmp_path / "log.csv", index=False)
    policy = Nearby() if n_levels == 2 else None
    for judged in (FeedbackLog.from_frame(frame, levels), FeedbackLog.read(tmp_path / "log.csv", levels)):
        assert judged.item.tolist() == [None] * len(once)
        for log in (judged, FeedbackLog(levels) + judged, judged.without_guesses()):
            with pytest.warns(UserWarning, match=rf"{len(once)} of the log's {len(once)} answers are a pool's"):
                offpolicy.mae(log, log.prediction, policy=policy)


def test_items_asked_about_again_by_a_policy_are_judged_without_a_warning() -> None:
    model, log, random = NewtonLogit(levels=LEVELS, random_state=0), FeedbackLog(LEVELS), np.random.default_rng(0)
    for n in range(200):
        question = model.ask([float(n % 50)])
        log.append(question, bool(random.random() < 0.5), item=n % 50)
    with pytest.warns(UserWarning, match="150 of the log's 200 answers are about an item with an earlier answer"):
        offpolicy.mae(log, log.prediction)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        offpolicy.mae(log, log.prediction, policy=Nearby())


def test_a_learners_own_run_is_judged_without_labels() -> None:
    X, y = make_synthetic(4000, random_state=0)
    model, log = DFORD(levels=LEVELS, kernel="poly", policy=Boundary(0.3), random_state=0), FeedbackLog(LEVELS)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        log.append(question, higher=bool(label > question.level))
        model.tell(question, bool(label > question.level))
    estimate = offpolicy.mae(log, log.prediction, policy=Boundary(0.3))
    assert estimate.low < truth(y, log.prediction) < estimate.high


def test_a_log_travels_through_frames_and_files(tmp_path: Any) -> None:
    names = ["poor", "fair", "good"]
    log, model = FeedbackLog(names), DFORD(levels=names, random_state=0)
    for x in np.random.default_rng(0).normal(size=(20, 2)):
        log.append(model.ask(x), higher=bool(x[0] > 0))
    frame = log.to_frame(["length", "width"])
    assert list(frame.columns) == ["level", "prediction", "propensity", "higher", "id", "length", "width"]
    backs = [FeedbackLog.from_frame(f, names) for f in (frame, pl.from_dict(frame.to_dict(orient="list")))]
    for ending in ("csv", "parquet"):
        log.write(tmp_path / f"log.{ending}", ["length", "width"])
        backs.append(FeedbackLog.read(tmp_path / f"log.{ending}", names))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "log.parquet"]
    with pytest.raises(ValueError, match=r"a .csv or .parquet file; got 'log.txt'"):
        log.write(tmp_path / "log.txt")
    for back in backs:
        assert (back.X == log.X).all()
        assert back._answers == log._answers
        assert back._ids == log._ids
    other = FeedbackLog(names)
    for x in np.random.default_rng(1).normal(size=(5, 2)):
        other.append(model.ask(x), higher=bool(x[0] > 0))
    assert len(log + other) == 25
    assert (log + other).X.shape == (25, 2)
    assert [answer[1] for answer in log] == log.level.tolist()
    assert [answer[2] for answer in log] == log.prediction.tolist()


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 2**40),
            st.none() | st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=9),
            st.none() | st.floats(0, 4e9),
        ),
        min_size=1,
        max_size=9,
    )
)
@example([(None, "001", None), (7, "NA", 1.8e9), (None, None, None)])
def test_who_answered_what_and_when_travels_too(tmp_path_factory: pytest.TempPathFactory, about: Any) -> None:
    log, folder = FeedbackLog(["poor", "good"]), tmp_path_factory.mktemp("log")
    for item, person, time in about:
        log.append(Question("", np.array([0.5]), "poor", "good", 0.5, 0), True, item=item, person=person, time=time)
    for ending in ("csv", "parquet"):
        log.write(folder / f"log.{ending}")
        back = FeedbackLog.read(folder / f"log.{ending}", ["poor", "good"]) + log
        assert back.item.tolist() == [one[0] for one in about]
        assert back.person.tolist() == [one[1] for one in about]
        np.testing.assert_allclose(back.time, [np.nan if one[2] is None else one[2] for one in about], atol=1e-6)
        assert back.X.tolist() == [[0.5]] * len(back)


def test_a_feature_may_be_called_item_person_or_time_unless_all_three_are(tmp_path: Path) -> None:
    log, asked = FeedbackLog(["poor", "good"]), Question("", np.array([0.5, 2.0]), "poor", "good", 0.5, 0)
    log.append(asked, True)
    log.write(tmp_path / "log.csv", ["time", "person"])
    with pytest.warns(UserWarning, match="person and time was read as a feature"):
        assert FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"]).feature_names == ["time", "person"]
    log.append(asked, True, person="Ann")
    with pytest.raises(ValueError, match="a log has its own column 'time'"):
        log.to_frame(["time", "person"])
    three = FeedbackLog(["poor", "good"])
    three.append(asked._replace(x=np.array([1.0, 2.0, 3.0])), True)
    with pytest.raises(ValueError, match="a log has its own column 'item'"):
        three.to_frame(["item", "time", "person"])
    for wrong in ({"item": -1}, {"item": 0.5}, {"item": True}, {"time": -1.0}, {"time": float("nan")}):
        with pytest.raises(ValueError, match=f"{'an item must' if 'item' in wrong else 'a time must'}"):
            log.append(asked, True, **wrong)
    with pytest.raises(TypeError, match="a person must be a name; got 7"):
        log.append(asked, True, person=7)  # type: ignore[arg-type]
    assert len(log) == 2


@pytest.mark.parametrize("time", ["1700000000", "1700000000.5", "now", "inf", "1e300", "soon"])
def test_a_time_in_a_file_is_a_date_and_nothing_else(tmp_path: Path, time: str) -> None:
    head, row = "level,prediction,propensity,higher,item,person,time,size", "poor,poor,0.5,True,1,Ann"
    (tmp_path / "log.csv").write_text(f"{head}\n{row},2026-11-16T12:30:00+01:00,1\n")
    assert FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"]).time.tolist() == [1794828600.0]
    (tmp_path / "log.csv").write_text(f"{head}\n{row},{time},1\n")
    with pytest.raises(ValueError, match="a time in a file must be a date such as"):
        FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"])


def test_a_file_keeps_the_sign_of_zero_and_has_no_column_twice(tmp_path: Path) -> None:
    log = FeedbackLog(["poor", "good"])
    for x in (-0.0, 1.0):
        log.append(Question("", np.array([x]), "poor", "good", 0.5, 0), True)
    log.write(tmp_path / "log.csv")
    assert np.signbit(FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"]).X[0, 0])
    text = (tmp_path / "log.csv").read_text().replace("x0", "x0,x0").replace("-0", "-0,1")
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(ValueError, match="the column 'x0' twice"):
        FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"])
    (tmp_path / "log.csv").write_text("level,prediction,propensity,higher,big\npoor,poor,0.5,True,False\n")
    assert FeedbackLog.read(tmp_path / "log.csv", ["poor", "good"]).X.tolist() == [[0.0]]


NAMES: list[list[Any]] = [
    [5, 4, 3, 2, 1],
    ["poor", "fair", "good", "great", "superb"],
    [0.5, 1.5, 2.5, 3.5, 4.5],
    [2, "two", 2.5, "NA", ""],
]


@pytest.mark.parametrize("names", NAMES, ids=str)
def test_whatever_the_levels_are_called_the_figures_are_the_same(names: list[Any]) -> None:
    """A log shows the names that it was given, and every figure takes them."""
    X, y = make_synthetic(400, random_state=0)
    logs = []
    for levels in (LEVELS, names):
        model, log = NewtonLogit(levels=levels, random_state=0), FeedbackLog(levels)
        for x, label in zip(X, y, strict=True):
            question = model.ask(x)
            higher = bool(label > 1 + levels.index(question.level))
            log.append(question, higher)
            model.tell(question, higher)
            assert (log.level[-1], log.prediction[-1]) == (question.level, question.prediction)
        logs.append(log)
    plain, named = logs
    for which in ("level", "prediction"):
        assert [names[place - 1] for place in getattr(plain, which)] == getattr(named, which).tolist()
    assert [row[1:3] for row in named] == list(zip(named.level.tolist(), named.prediction.tolist(), strict=True))
    for figure in (offpolicy.mae, offpolicy.accuracy):
        assert figure(named, named.prediction) == figure(plain, plain.prediction)
    lowest = [levels[0] for levels in (LEVELS, names)]
    differences = [
        offpolicy.compare(log, log.prediction, [low] * 400) for log, low in zip((plain, named), lowest, strict=True)
    ]
    assert differences[0] == differences[1]
    assert (NewtonLogit().replay(named) == named.prediction).all()


@pytest.mark.parametrize(
    "names",
    [*NAMES, [True, False], [1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2"], [0.5, 2**53 + 1], [True, "yes"]],
    ids=str,
)
def test_names_of_levels_come_back_from_a_file_as_they_were(names: list[Any], tmp_path: Any) -> None:
    model, log = DFORD(levels=names, random_state=0), FeedbackLog(names)
    for x in np.random.default_rng(0).normal(size=(30, 2)):
        question = model.ask(x)
        log.append(question, higher=bool(x[0] > 0) and question.level != names[-1])
    log.write(tmp_path / "log.csv")
    back = FeedbackLog.read(tmp_path / "log.csv", names)
    assert back._answers == log._answers
    assert [type(level) for _, level, *_ in back] == [type(level) for _, level, *_ in log]


@pytest.mark.parametrize(
    ("names", "ending", "sentence"),
    [
        ([1, "one"], "parquet", r"the levels \[1, 'one'\] do not fit into one column of a Parquet file"),
        ([0.5, 2**53 + 1], "parquet", "write a .csv file, or rename them"),
    ],
)
def test_levels_that_a_file_would_mix_up_are_refused(
    names: list[Any], ending: str, sentence: str, tmp_path: Any
) -> None:
    log = FeedbackLog(names)
    log._add(np.zeros(1), names[0], names[1], 0.5, True)
    with pytest.raises(ValueError, match=sentence):
        log.write(tmp_path / f"log.{ending}")
    assert not list(tmp_path.iterdir())


def test_a_policy_that_cannot_judge_names_the_level_it_never_asks_about() -> None:
    X, y = make_synthetic(50, random_state=0)
    names = ["e", "d", "c", "b", "a"]
    model = DFORD(levels=names, policy=Greedy(), random_state=0).fit(X, np.array(names)[y - 1])
    with pytest.raises(ValueError, match="never asks about level 'd' when it predicts level 'e'"):
        _ = model.running_mae_


def test_a_log_refuses_what_is_not_a_round() -> None:
    log = FeedbackLog(LEVELS)
    question = DFORD(levels=LEVELS, random_state=0).ask([1.0, 2.0])
    log.append(question, True)
    with pytest.raises(TypeError, match="True or False"):
        log.append(question, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="probability greater than 0"):
        log.append(question._replace(propensity=0.0), True)
    with pytest.raises(ValueError, match="3 features, but the log has 2"):
        log.append(question._replace(x=np.ones(3)), True)
    with pytest.raises(ValueError, match="'ten' is not a level"):
        log.append(question._replace(level="ten"), True)
    with pytest.raises(ValueError, match="different levels"):
        log + FeedbackLog([1, 2])
    with pytest.raises(ValueError, match="propensity, higher not found"):
        FeedbackLog.from_frame(pd.DataFrame({"level": [1], "prediction": [1]}), LEVELS)
    assert len(log) == 1


def test_a_log_read_upside_down_says_so(tmp_path: Path) -> None:
    log = FeedbackLog([3, 2, 1])
    model = DFORD(levels=[3, 2, 1], random_state=0)
    for x in np.random.default_rng(0).normal(size=(60, 1)):
        question = model.ask(x)
        log.append(question, higher=bool(question.level > 2 - x[0] and question.level > 1))
    log.write(tmp_path / "log.csv")
    assert len(FeedbackLog.read(tmp_path / "log.csv", [3, 2, 1])) == 60
    with pytest.warns(UserWarning, match="above 3, the highest level; check that the levels are in order"):
        FeedbackLog.read(tmp_path / "log.csv", [1, 2, 3])
