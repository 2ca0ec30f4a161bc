"""Auto: the best of its parts, by the answers alone."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dford
from dford import Auto, FeedbackLog, Nearby, NewtonLogit
from dford.datasets import make_synthetic
from dford.engine import rounds
from dford.engine.counter import uniforms
from dford.learners._trees.grower import Growth, grow

LEVELS = [1, 2, 3, 4, 5]


def steps(n: int, seed: int = 0) -> tuple[Any, Any]:
    """A scale that no smooth map fits and trees do: the parity of steps in one feature."""
    random = np.random.default_rng(seed)
    X = random.uniform(0, 8, size=(n, 2))
    return X, 2 + 2 * (X[:, 0].astype(int) % 2)


def test_auto_does_what_a_plain_program_does_with_its_parts() -> None:
    """The protocol again, from NewtonLogit, grown trees and a list of answers."""
    X, y = make_synthetic(330, random_state=0)
    names, table = ["linear", "poly", "fourier"], Nearby().table(5)
    maps: list[Any] = [NewtonLogit(features=name, levels=LEVELS, random_state=0) for name in names]
    for one in maps:
        one._begin_live(X[0])
    log: list[tuple[Any, int, bool]] = []
    losses, choice, trees, error = np.zeros(5), 0, None, 0
    for n in range(330):
        row = X[n : n + 1]
        scores = [float(one._form.scores(row)[0]) for one in maps]
        logits = [score - one._form.cuts for score, one in zip(scores, maps, strict=True)]
        leader = int(np.argmin(losses[:3]))
        z = np.concatenate([X[n], scores])
        logits.append(trees.logits(z[None], 5)[0] if trees else logits[leader])
        logits.append((logits[leader] + logits[3]) / 2)
        prediction = 1 + int((logits[choice] > 0).sum())
        error += abs(prediction - int(y[n]))
        asked = 1 + int(np.searchsorted(table[1, prediction - 1], uniforms(7, np.array([n]))[0], side="right"))
        higher = bool(y[n] > asked)
        given = np.array([1 / (1 + np.exp(-logit[asked - 1])) for logit in logits])
        losses = 0.999 * losses + (given - higher) ** 2
        if trees is None:
            losses[3:] = losses[int(np.argmin(losses[:3]))]
        if losses.min() < losses[choice] - 1.0:
            choice = int(np.argmin(losses))
        for one in maps:
            one._form.tell(one._rule, X[n], prediction, asked, 1.0, higher)
        log.append((z, asked, higher))
        for start, effect in ((200, 204), (250, 255), (312, 318)):
            if n + 1 == effect:
                rows, level, bits = zip(*log[:start], strict=True)
                trees = grow(Growth(), np.array(rows), np.array(level), np.array(bits))
    model = Auto(levels=LEVELS, random_state=7).partial_fit(X, y)
    form: Any = model._form
    np.testing.assert_allclose(form.losses, losses, rtol=1e-9)
    assert form.choice == choice
    assert form.state[rounds.ERROR] == error
    np.testing.assert_allclose(form.maps["fourier"].cuts, maps[2]._form.cuts, rtol=1e-9)


def test_the_power_of_the_odds_matches_a_plain_program_and_makes_them_truer() -> None:
    X, y = steps(2600)
    model: Any = Auto(levels=LEVELS, random_state=0)
    powers = np.array([1.1**k for k in range(-5, 11)])
    against, used = 20 * np.log(powers) ** 2, 0
    for x, label in zip(X[:2000], y[:2000], strict=True):
        question = model.ask(x)
        higher = bool(label > question.level)
        if model._form.choice >= 3 and model._form.schedule.grown_on and question.level < 5:
            # the current trees are judged, which may not be those that were there when it was asked
            model._form.schedule.prepare()
            odds = model._form.logits(x[None])[0, question.level - 1] * (1 if higher else -1)
            against = 0.9995 * against + np.log1p(np.exp(-powers * odds))
            used += 1
        model.tell(question, higher)
    assert used > 1000
    np.testing.assert_allclose(model._form.against, against, rtol=1e-6)
    power = powers[np.argmin(against)]
    above = 1 - model.predict_proba(X[2000:]).cumsum(axis=1)[:, :-1]
    plain = 1 / (1 + np.exp(-model._form.logits(X[2000:])))
    np.testing.assert_allclose(above, plain**power / (plain**power + (1 - plain) ** power), rtol=1e-6)
    true = y[2000:, None] > np.array(LEVELS[:-1])
    likely, before = (np.log(np.where(true, one, 1 - one)).mean() for one in (above, plain))
    assert likely > before, "on rows that it has not seen"
    assert ((above > 0.5) == (plain > 0.5)).all(), "no prediction changes"


def test_trees_take_over_where_they_are_better_and_only_there() -> None:
    X, y = steps(3000)
    model = Auto(levels=LEVELS, random_state=0).partial_fit(X, y)
    assert "trees" in model.choice_
    newton = NewtonLogit(features="fourier", levels=LEVELS, random_state=0).partial_fit(X, y)
    assert model.trace_.mae[-1] < 0.5 * newton.trace_.mae[-1]
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = 1 + np.digitize(X[:, 0] + X[:, 1] + random.logistic(size=3000), [-2, -0.5, 0.5, 2])
    model = Auto(random_state=0).partial_fit(X, y)
    assert model.choice_ == "linear"  # which is the truth


def test_noise_does_not_flip_the_choice_back_and_forth() -> None:
    """Where all are equally good, the first stays."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 3)), random.integers(1, 6, size=2000)
    model = Auto(levels=LEVELS, random_state=0)
    choices = []
    for begin in range(0, 2000, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
        choices.append(model.choice_)
    flips = sum(a != b for a, b in pairwise(choices))
    assert flips <= 4


def test_the_choice_follows_a_scale_that_changes_its_kind() -> None:
    X, y = make_synthetic(3000, random_state=0)
    line = 1 + np.digitize(X[:, 0], [0.2, 0.4, 0.6, 0.8])
    model = Auto(levels=LEVELS, random_state=0).partial_fit(X, line)
    before = model.choice_
    model.partial_fit(X, y)
    fresh = Auto(levels=LEVELS, random_state=0).partial_fit(X, y)
    assert model.choice_ == fresh.choice_ != before
    error, least = np.abs(model.predict(X) - y).mean(), np.abs(fresh.predict(X) - y).mean()
    assert error < 1.5 * least < 0.5 * np.abs(line - y).mean()


def test_wide_rows_do_without_products() -> None:
    X = np.random.default_rng(0).normal(size=(30, 24))
    model = Auto(levels=[1, 2], random_state=0).fit(X, 1 + (X[:, 0] > 0))
    assert list(model._form.maps) == ["linear", "fourier"]  # type: ignore[attr-defined]


def test_probabilities_are_those_of_the_choice_and_the_prediction_their_median(tmp_path: Path) -> None:
    for X, y in (steps(1500), make_synthetic(1500, random_state=0)):
        model = Auto(levels=LEVELS, random_state=0).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert (p >= 0).all()
        assert (1 + (1 - np.cumsum(p, axis=1)[:, :-1] > 0.5).sum(axis=1) == model.predict(X)).mean() > 0.999
        model.save(tmp_path / "model")
        loaded: Any = dford.load(tmp_path / "model")
        assert loaded.choice_ == model.choice_
        assert (loaded.predict_proba(X) == p).all()


@pytest.mark.parametrize("field", ["choice", "losses", "against"])
def test_a_file_with_an_impossible_choice_is_refused(field: str, tmp_path: Path) -> None:
    from dford import persistence

    Auto(random_state=0).fit(*make_synthetic(60, random_state=0)).save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model")
    arrays[field] = np.array([9]) if field == "choice" else arrays[field][:2]
    persistence.write(tmp_path / "model", header, arrays)
    with pytest.raises(ValueError, match="an invalid shape"):
        dford.load(tmp_path / "model")


def test_a_bad_row_is_refused_before_anything_is_learned() -> None:
    X, y = make_synthetic(60, random_state=0)
    model = Auto(random_state=0).fit(X, y)
    before = model.predict_proba(X)
    X[30, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, y)
    log = FeedbackLog([1, 2, 3, 4, 5])
    question = model.ask(X[0])
    log.append(question._replace(x=X[30]), True)
    with pytest.raises(ValueError, match="NaN"):
        model.replay(log)
    assert (model.predict_proba(X[:30]) == before[:30]).all()
    assert model.rounds_ == 60
