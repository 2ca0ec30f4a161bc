"""Whoever answers with a probability of one half has said nothing: neither yes nor no."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dford import Auto, FeedbackLog, NewtonLogit, People, Pool, Question, load
from dford.cli import main
from dford.datasets import make_synthetic
from dford.evaluation import offpolicy
from serving import LEVELS, learned, ok, question_for, replayed, serving, set_up

X, y = make_synthetic(100, random_state=0)
SCALE = [1, 2, 3, 4, 5]


def guess(pool: Pool, count: int, **asked: Any) -> list[tuple[int, Any]]:
    seen = []
    for _ in range(count):
        question = pool.ask(**asked)
        pool.tell(question, 0.5)
        seen.append((question.item, question.level))
    return seen


@pytest.mark.parametrize("person", [None, "ann"])
@pytest.mark.parametrize("features", [X, np.empty((100, 0))], ids=["features", "none"])
@pytest.mark.parametrize("error_rate", [None, 0.1])
def test_guesses_alone_place_nothing(error_rate: float | None, features: Any, person: str | None) -> None:
    pool = Pool(features, SCALE, learner=NewtonLogit(), error_rate=error_rate, random_state=0)
    expected, rate = pool.expected_error_, pool.error_rate_
    seen = guess(pool, 200, person=person)
    np.testing.assert_allclose(pool.probabilities_, pool.probabilities_[:1, ::-1].repeat(100, 0))  # no level preferred
    assert pool.expected_error_ > 0.8 * expected
    assert pool.error_rate_ == pytest.approx(rate, abs=0.01)
    assert tuple(pool.audited_error_)[1:] == (0.0, len(SCALE) - 1.0)
    assert len(set(seen)) > 180, "whoever does not know is asked something else"
    found = pool.people_[person or ""]
    assert (found.answers, found.judged, found.agreement) == (200, 0, None)
    assert len(pool.log_) == 200


def test_guesses_among_answers_change_nothing_about_people_and_little_about_levels() -> None:
    errors = []
    for is_there in (False, True):
        pool, random = Pool(X, SCALE, learner=NewtonLogit(), random_state=0), np.random.default_rng(0)
        for n in range(400):
            question = pool.ask(person="ann")
            pool.tell(question, bool((y[question.item] > question.level) != (random.random() < 0.1)))
            if is_there and n % 2:
                pool.tell(pool.ask(person="ben"), 0.5)
        assert 0.05 < pool.error_rate_ < 0.2, "a cautious one, more often above the right one than below it"
        errors.append(np.array([np.abs(pool.levels_ - y).mean(), pool.expected_error_]))
        if is_there:
            people = pool.people_
            assert people["ben"].judged == 0
            assert people["ann"].agreement is None, "nobody else said anything"
    assert np.abs(errors[1] - errors[0]).max() < 0.25


def test_a_pool_with_guesses_is_resumed_to_the_bit(tmp_path: Path) -> None:
    pool = Pool(X, SCALE, learner=NewtonLogit(), audit=0.3, random_state=0)
    for n in range(150):
        question = pool.ask()
        pool.tell(question, 0.5 if n % 4 == 0 else bool(y[question.item] > question.level))
        if n == 70:
            pool.save(tmp_path / "pool")
            other: Any = load(tmp_path / "pool")
        elif n > 70:
            again = other.ask()
            assert again == question
            other.tell(again, 0.5 if n % 4 == 0 else bool(y[question.item] > question.level))
    np.testing.assert_array_equal(pool.probabilities_, other.probabilities_)
    np.testing.assert_array_equal(pool.audited_error_, other.audited_error_)
    pool.release()
    assert np.isfinite(pool.probabilities_).all()


def logged(guesses: int, answers: int = 40) -> FeedbackLog:
    log = FeedbackLog(SCALE)
    for n in range(answers + guesses):
        about: Any = {"item": n, "person": "ann", "confidence": 0.5 if n >= answers else None}
        log.append(Question("", X[n], 1 + n % 4, 3, 0.25, n), bool(y[n] > 1 + n % 4), **about)
    return log


def test_what_would_learn_from_guesses_in_a_log_says_so_and_how_to_leave_them_out() -> None:
    log = logged(3)
    left = log.without_guesses()
    assert list(left.rounds()) == list(logged(0).rounds())
    for attempt in (lambda: Auto().replay(log), lambda: offpolicy.mae(log, log.prediction)):
        with pytest.raises(ValueError, match="3 of the log's 43 answers are guesses, .* use log.without_guesses()"):
            attempt()
    assert offpolicy.mae(left, left.prediction) == offpolicy.mae(logged(0), logged(0).prediction)
    with pytest.warns(UserWarning, match="does not show how often people are wrong"):
        found = [People(one)["ann"] for one in (log, logged(0))]
    assert found[0]._replace(answers=40) == found[1]


def test_a_command_leaves_guesses_out_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged(3).write(tmp_path / "log.csv")
    NewtonLogit(levels=SCALE).fit(X, y).save(tmp_path / "model.dford")
    assert main(["evaluate", str(tmp_path / "log.csv"), str(tmp_path / "model.dford")]) == 0
    assert "3 of 43 answers are guesses (confidence 0.5), which are left out." in capsys.readouterr().err


def test_guesses_among_answers_leave_the_same_bits_past_the_first_trees_and_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    for is_new in (True, False):
        with serving(file, snapshot_every=40) as http:
            project = set_up(http, learner="Auto") if is_new else "/projects/rain"
            for n in range(150):  # of which three quarters are learned: trees take effect at 204
                number = question_for(http, project)["number"]
                answer = {"higher": n % 3 == 0, "confidence": 0.5 if n % 4 == 0 else None}
                ok(http.post(f"{project}/questions/{number}/answer", json=answer))
            digest = learned(http, project)["digest"]
    with serving(file) as http:
        assert learned(http, project)["digest"] == digest
    assert replayed(file) == digest


def test_the_service_keeps_guesses_and_learns_nothing_from_them(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as http:
        project = set_up(http, learner="NewtonLogit")
        for n in range(60):
            number = question_for(http, project)["number"]
            answer = {"higher": n % 2 == 0, "confidence": 0.5}
            ok(http.post(f"{project}/questions/{number}/answer", json=answer))
        digest = learned(http, project)["digest"]
        table = http.get(f"{project}/levels.csv").text
        assert ok(http.get(f"{project}/levels"))["expected_error"] > 0.8  # of 1.0 before any answer
        rows = [line.rsplit(",", 4) for line in table.strip().split("\n")[1:]]
        assert {(lowest, highest) for _, lowest, highest, *_ in rows} == {(LEVELS[0], LEVELS[-1])}
        assert sum(int(count) for *_, count, _ in rows) == 60
        assert len(http.get(f"{project}/log.csv").text.strip().split("\n")) == 61
    assert replayed(tmp_path / "log.db") == digest
