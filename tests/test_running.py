"""The error a model estimates for itself, at all times at once, and learners chosen from a log: both without labels."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import dford
from dford import (
    DFORD,
    PRIL,
    Auto,
    DirectionalBoosting,
    FeedbackLog,
    Greedy,
    Nearby,
    NewtonLogit,
    Triangular,
    Uniform,
)
from dford.datasets import make_synthetic
from dford.engine import rounds
from dford.estimates import Estimate, _boundary, interval, sequence
from dford.evaluation import offpolicy, tune

LEVELS = [1, 2, 3, 4, 5]
STREAMS = int(os.environ.get("DFORD_STREAMS", "100")) // 10 or 10  # in `make slow`: a thousand


def answered(learner: Any, X: Any, y: Any, seed: int = 0) -> tuple[Any, FeedbackLog]:
    log = FeedbackLog(LEVELS)
    for x, label in zip(X, y, strict=True):
        question = learner.ask(x)
        log.append(question, bool(label > question.level))
        learner.tell(question, bool(label > question.level))
    return learner, log


@pytest.mark.parametrize(
    "learner",
    [
        DFORD(levels=LEVELS, random_state=0),
        DFORD(levels=LEVELS, kernel="rbf", window=20, random_state=0),
        DFORD(levels=LEVELS, kernel="poly", random_state=0),
        NewtonLogit(levels=LEVELS, random_state=0),
        NewtonLogit(levels=LEVELS, features="fourier", n_components=9, random_state=0),
        DirectionalBoosting(levels=LEVELS, max_iter=3, random_state=0),
        Auto(levels=LEVELS, random_state=0),
    ],
    ids=repr,
)
def test_the_running_figure_is_the_mean_of_weighted_answers_live_and_in_a_batch(learner: Any) -> None:
    X, y = make_synthetic(260, random_state=0)
    batch = type(learner)(**learner.get_params()).partial_fit(X, y)
    live, log = answered(learner, X, y)
    terms = np.where((log.prediction > log.level) != log.higher, 1 / log.propensity, 0)
    before = np.concatenate([[0.0], np.cumsum(terms)[:-1] / np.arange(1, 260)])
    largest = 1 / live._policy().table(5)[0, :, :-1].min()
    expected = sequence(260, terms.sum(), ((terms - before) ** 2).sum(), largest, most=4)
    np.testing.assert_allclose(live.running_mae_, np.array(expected), rtol=1e-9)
    assert batch.running_mae_ == live.running_mae_
    trace = batch.trace_
    assert (trace.estimate[-1], trace.low[-1], trace.high[-1]) == batch.running_mae_


def test_there_is_no_figure_if_some_level_is_never_asked() -> None:
    X, y = make_synthetic(50, random_state=0)
    for model in (DFORD(policy=Greedy(), random_state=0), PRIL(random_state=0)):
        model.fit(X, y)
        assert np.isnan(model.trace_.estimate).all()
        with pytest.raises(ValueError, match="never asks about level"):
            _ = model.running_mae_


@given(
    v=st.floats(0, 1e5),
    c=st.floats(1, 50),
    alpha=st.floats(0.001, 0.2),
)
def test_the_boundary_is_where_the_mixture_of_martingales_reaches_its_level(v: float, c: float, alpha: float) -> None:
    """The closed form against the integral that it stands for (Howard et al. 2021, Proposition 9)."""
    s = float(_boundary(np.array([v]), np.array(c), alpha)[0])
    weight = 2 * np.log(1 / alpha)
    rho = 100 * c / (weight + np.log(1 + weight)) / c**2

    # lambda = (1 - x) / c with x in (0, 1]: exp(lambda s - psi(lambda) v), psi_E(l) = (-log(1 - c l) - c l) / c**2,
    # under the density of a gamma variable cut off at 1, both with shape and rate rho
    def log_density(x: Any) -> Any:
        return (rho - 1) * np.log(x) - rho * x

    def log_payoff(x: Any) -> Any:
        return (1 - x) * s / c + (np.log(x) + 1 - x) * v / c**2

    def log_integral(log_function: Any) -> float:
        t = np.linspace(-100, 0, 100_001)  # x = exp(t), as the density may be steep at 0
        logs = log_function(np.exp(t)) + t
        return float(np.log(integrate.simpson(np.exp(logs - logs.max()), x=t)) + logs.max())

    value = log_integral(lambda x: log_density(x) + log_payoff(x)) - log_integral(log_density)
    assert value == pytest.approx(np.log(1 / alpha), abs=0.01)


def test_the_boundary_grows_with_time_confidence_and_the_heaviest_answer() -> None:
    v = np.array([1.0, 10.0, 1e3, 1e5])
    assert (np.diff(_boundary(v, np.array(20.0), 0.025)) > 0).all()
    assert (_boundary(v, np.array(20.0), 0.01) > _boundary(v, np.array(20.0), 0.025)).all()
    assert (_boundary(v, np.array(40.0), 0.025) > _boundary(v, np.array(20.0), 0.025)).all()


@pytest.mark.slow
def test_the_confidence_sequence_covers_at_all_times_at_once() -> None:
    """The figure does not stand still, as the learner learns; and it is looked at again and again."""
    missed = 0
    for run in range(STREAMS):
        X, y = make_synthetic(1000, random_state=run)
        model = NewtonLogit(features="poly", levels=LEVELS, checkpoints=range(1, 1001), random_state=run)
        trace = model.fit(X, y).trace_
        missed += bool(((trace.mae < trace.low) | (trace.mae > trace.high)).any())
        assert trace.high[-1] - trace.low[-1] < 1  # and it says something
    assert missed <= 0.05 * STREAMS + 3 * np.sqrt(0.05 * 0.95 * STREAMS)


@pytest.mark.slow
def test_fixed_intervals_cover_95_percent_for_the_learner_itself_and_for_a_foreign_model() -> None:
    """The error of a fixed model over a world: rows and labels drawn anew, and questions by the learner's policy."""
    X, y = make_synthetic(200_000, random_state=0)
    own = NewtonLogit(features="poly", levels=LEVELS, random_state=0).fit(X[:500], y[:500])
    foreign = DirectionalBoosting(levels=LEVELS, random_state=0).fit(X[:500], y[:500])
    predicted = {name: model.predict(X) for name, model in (("own", own), ("foreign", foreign))}
    truth = {name: np.abs(p - y).mean() for name, p in predicted.items()}
    probabilities = own.predict_proba(X)
    table, random = Nearby().table(5)[0], np.random.default_rng(0)
    covered = dict.fromkeys(["own", "foreign", "robust"], 0)
    runs = STREAMS
    for _ in range(runs):
        rows = random.integers(500, len(X), size=2000)
        p = table[predicted["own"][rows] - 1]
        asked = 1 + (random.uniform(size=(2000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        log = FeedbackLog(LEVELS)
        log._rows = list(X[rows])
        chosen = p[np.arange(2000), asked - 1]
        log._answers = list(zip(asked, predicted["own"][rows], chosen, y[rows] > asked, strict=True))
        for name in covered:
            of = "own" if name == "robust" else name
            how: Any = {"method": "robust", "probabilities": probabilities[rows]} if name == "robust" else {}
            estimate = offpolicy.mae(log, predicted[of][rows], **how)
            covered[name] += estimate.low <= truth[of] <= estimate.high
    slack = 3 * np.sqrt(0.05 * 0.95 / runs)
    for name, count in covered.items():
        assert 0.95 - slack <= count / runs <= 0.95 + slack, name


def test_replaying_a_log_equals_telling_it() -> None:
    X, y = make_synthetic(200, random_state=0)
    live, log = answered(NewtonLogit(levels=LEVELS, random_state=0), X, y)
    other = NewtonLogit(random_state=5)
    assert (other.replay(log) == log.prediction).all()
    assert (other.predict_proba(X) == live.predict_proba(X)).all()
    assert other.running_mae_ == live.running_mae_
    assert (NewtonLogit(features="poly").fit(X, y).fit_log(log).rounds_) == 200


def test_the_running_figure_of_a_replay_is_that_of_the_replaying_model() -> None:
    X, y = make_synthetic(4000, random_state=0)
    _, log = answered(NewtonLogit(levels=LEVELS, policy=Triangular(0.8), random_state=0), X, y)
    model = NewtonLogit(features="poly")
    truth = np.abs(model.replay(log, policy=Triangular(0.8)) - y).mean()
    estimate = model.running_mae_
    assert estimate.low < truth < estimate.high
    assert estimate.high < 0.5  # the model that asked is worse than 1


def test_if_nothing_is_known_about_the_weights_the_interval_is_all_that_is_possible(tmp_path: Any) -> None:
    """The theorem is about terms whose bound is known before they come, and not the largest that came."""
    X, y = make_synthetic(1200, random_state=0)
    own, heavy = answered(NewtonLogit(levels=LEVELS, random_state=0), X, y)[1], Triangular(0.05)
    _, foreign = answered(NewtonLogit(levels=LEVELS, policy=heavy, random_state=0), X, y)
    _, even = answered(NewtonLogit(levels=LEVELS, policy=Uniform(), random_state=0), X, y)
    _, greedy = answered(PRIL(levels=LEVELS, random_state=0), X, y)
    assert heavy.heaviest(5) > 2 * Nearby().heaviest(5)
    models: list[Any] = [NewtonLogit(), DFORD(policy=Nearby()), DirectionalBoosting(max_iter=3)]
    for model in models:
        for known, policy in ((own, None), (even, None), (foreign, heavy)):
            model.fit_log(known, policy=policy)
            assert model.running_mae_.low > 0 or model.running_mae_.high < 4
            bound = max(Nearby().heaviest(5), heavy.heaviest(5) if policy else 0)
            assert model._form.state[rounds.BOUND] == pytest.approx(bound)
        for unknown in (foreign, greedy):
            model.fit_log(unknown)
            model.save(tmp_path / "model")
            for one in (model, dford.load(tmp_path / "model")):
                assert one.running_mae_[1:] == (0, 4)
                assert one.trace_.low.tolist() == [0] * len(one.trace_.low)
                assert one.trace_.high.tolist() == [4] * len(one.trace_.high)
            model.replay(own)  # what comes after does not make it known
            assert model.running_mae_[1:] == (0, 4)
    kept = NewtonLogit(levels=LEVELS, random_state=0).partial_fit(X, y)
    question = kept.question(X[0], 0)
    assert kept.learn(question, True).running_mae_.high < 4
    assert kept.learn(question._replace(propensity=0.001), True).running_mae_[1:] == (0, 4)


@pytest.mark.parametrize("wrong", [0.05, 0.1, 0.2])
def test_the_running_error_is_right_despite_wrong_answers_if_the_error_rate_is_given(wrong: float) -> None:
    missed, as_it_is, random = np.zeros(2), 0, np.random.default_rng(0)
    for run in range(40):
        X, y = make_synthetic(900, random_state=run)
        model = NewtonLogit(levels=LEVELS, policy=Uniform(), random_state=run)
        errors = []
        for x, level in zip(X, y, strict=True):
            question = model.ask(x)
            errors.append(abs(question.prediction - level))
            model.tell(question, bool((level > question.level) != (random.random() < wrong)))
        found = (random.random(200) < wrong).astype(float)
        rates: list[float | Estimate] = [wrong, interval(found, reach=(0.0, 1.0), possible=(0.0, 0.49))]
        for i, rate in enumerate(rates):
            figure = offpolicy.corrected(model.running_mae_, rate, 5)
            missed[i] += not figure.low <= np.mean(errors) <= figure.high
        as_it_is += model.running_mae_.low > np.mean(errors)
    assert (missed <= 2).all(), missed
    assert wrong < 0.2 or as_it_is > 20, "otherwise there was nothing to correct"


def test_a_corrected_figure_stays_within_what_is_possible() -> None:
    assert offpolicy.corrected(Estimate(0.1, 0.0, 4.0), 0.1, 5) == (0.0, 0.0, 4.0)
    assert offpolicy.corrected(Estimate(0.3, 0.22, 0.38), 0.1, 5) == (0.0, 0.0, 4.0), "more wrong than they differ"
    assert offpolicy.corrected(Estimate(0.2, 0.1, 0.3), Estimate(0.3, 0.25, 0.35), 5) == (0.0, 0.0, 4.0)
    assert offpolicy.corrected(Estimate(2.2, 2.1, 2.3), 0.0, 3) == (2.0, 0.0, 2.0)
    some = offpolicy.corrected(Estimate(0.3, 0.22, 0.38), Estimate(0.02, 0.01, 0.1), 5)  # all but the highest rate fit
    assert some == offpolicy.corrected(Estimate(0.3, 0.22, 0.38), 0.01, 5)._replace(value=some.value, low=0.0)
    with pytest.raises(ValueError, match="at least two levels"):
        offpolicy.corrected(Estimate(0.1, 0.0, 4.0), 0.1, 1)
    with pytest.raises(ValueError, match=r"an error rate must be a share below 0.5; got 0\.5"):
        offpolicy.corrected(Estimate(0.1, 0.0, 4.0), 0.5, 5)


@pytest.mark.slow
def test_the_confidence_sequence_covers_with_another_policys_questions_too() -> None:
    missed, policy = 0, Triangular(0.1)
    for run in range(STREAMS):
        X, y = make_synthetic(600, random_state=run)
        _, log = answered(NewtonLogit(levels=LEVELS, policy=policy, random_state=run), X, y)
        model = NewtonLogit(features="poly", checkpoints=range(1, 601))
        errors = np.abs(model.replay(log, policy=policy) - y)
        trace, true = model.trace_, np.cumsum(errors) / np.arange(1, 601)
        missed += bool(((true < trace.low) | (true > trace.high)).any())
    assert missed <= 0.05 * STREAMS + 3 * np.sqrt(0.05 * 0.95 * STREAMS)


def test_a_policy_that_cannot_have_asked_is_refused_before_anything_is_learned() -> None:
    X, y = make_synthetic(100, random_state=0)
    _, log = answered(NewtonLogit(levels=LEVELS, policy=Triangular(0.1), random_state=0), X, y)
    model = NewtonLogit()
    with pytest.raises(ValueError, match=r"was asked with probability 0\.\d+, but Uniform\(\) asks about"):
        model.replay(log, policy=Uniform())
    with pytest.raises(ValueError, match="never asks about level"):
        model.fit_log(log, policy=Greedy())
    assert not hasattr(model, "classes_")
    for call in (tune, lambda log, grid, policy: grid[0].replay(log, policy=policy)):
        with pytest.raises(ValueError, match="give the policy that chose the questions"):
            call(log, [NewtonLogit()], policy=Uniform())


class Guesser(NewtonLogit):
    """Predicts the label, which is the row's only feature, with errors of its own."""

    def __init__(self, *, noise: int = 0) -> None:
        super().__init__()
        self.noise = noise

    def replay(self, log: FeedbackLog, *, policy: Any = None) -> Any:
        random = np.random.default_rng([self.noise, len(log), int(log.propensity[0] * 2**40)])
        off = random.choice([-1, 0, 0, 1], size=len(log))
        return np.clip(log.X[:, 0].astype(int) + off, 1, 5)


def test_the_differences_from_the_best_hold_jointly_although_the_answers_chose_it() -> None:
    """Ten candidates that are equally good, so that luck alone decides which looks best."""
    held, runs, n = 0, 60, 400
    grid: list[Any] = [Guesser(noise=k) for k in range(10)]
    for run in range(runs):
        random = np.random.default_rng(run)
        y, p = random.integers(1, 6, size=(2, n))
        table = Nearby().table(5)[0]
        asked = 1 + (random.random((n, 1)) > np.cumsum(table[p - 1], axis=1)[:, :-1]).sum(axis=1)
        log = FeedbackLog(LEVELS)
        log._rows = list(y[:, None].astype(float))
        log._answers = list(zip(asked, p, table[p - 1, asked - 1], y > asked, strict=True))
        tuning = tune(log, grid, policy=Nearby())
        true = {c.learner.noise: np.abs(c.learner.replay(log) - y).mean() for c in tuning.candidates}
        best = tuning.candidates[0].learner.noise
        differences = [(c.behind, true[c.learner.noise] - true[best]) for c in tuning.candidates]
        held += all(behind.low <= truth <= behind.high for behind, truth in differences)
        assert max(map(abs, tuning.candidates[0].behind)) == 0
        assert all(c.behind.value >= 0 for c in tuning.candidates)
    assert held / runs >= 0.95


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda log: NewtonLogit(levels=[1, 2, 3]).replay(log), "the learner has the levels"),
        (lambda log: NewtonLogit().replay(FeedbackLog(LEVELS)), "the log has no answers"),
        (lambda log: NewtonLogit(levels=[1, 2]).fit([[0.0, 1.0]], [1]).replay(log), "the model has the levels"),
        (lambda log: NewtonLogit(levels=LEVELS).fit([[0.0]], [1]).replay(log), "with 1 features, but the log has 2"),
        (lambda log: tune(log, []), "at least one learner"),
        (lambda log: tune(log, [dford.PRank()]), "learn from answers"),
    ],
)
def test_logs_that_do_not_fit_are_refused(make: Any, sentence: str) -> None:
    X, y = make_synthetic(10, random_state=0)
    _, log = answered(NewtonLogit(levels=LEVELS, random_state=0), X, y)
    with pytest.raises((ValueError, TypeError), match=sentence):
        make(log)


def test_tune_finds_the_map_that_fits_and_says_when_it_cannot_tell() -> None:
    X, y = make_synthetic(1500, random_state=0)
    _, log = answered(NewtonLogit(levels=LEVELS, random_state=0), X, y)
    tuning = tune(log, [NewtonLogit(), NewtonLogit(features="poly"), DFORD()])
    assert tuning.best.get_params()["features"] == "poly"
    assert tuning.decided
    assert "is best" in str(tuning)
    truth = [np.abs(type(c.learner)(**c.learner.get_params()).replay(log) - y).mean() for c in tuning.candidates]
    assert truth == sorted(truth)
    for candidate, true in zip(tuning.candidates, truth, strict=True):
        assert candidate.mae.low < true < candidate.mae.high
        assert candidate.behind.low <= true - truth[0] <= candidate.behind.high
    even = tune(log, [NewtonLogit(features="poly"), NewtonLogit(features="poly", forget=1e-9)])
    assert not even.decided
    assert "cannot tell" in str(even)
    assert not hasattr(even.best, "classes_")
