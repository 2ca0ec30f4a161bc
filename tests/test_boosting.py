"""DirectionalBoosting: trees on the log of answers, grown on a schedule that any replay repeats."""

import copy
import pickle
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dford
from dford import Auto, DirectionalBoosting, FeedbackLog
from dford.datasets import make_synthetic
from dford.learners._trees.forest import no_trees
from dford.learners._trees.grower import Growth, grow, work_of
from dford.learners._trees.schedule import TreeSchedule
from test_one_stream import contents, play

LEVELS = [1, 2, 3, 4, 5]


def small(**chosen: Any) -> DirectionalBoosting:
    defaults: dict[str, Any] = {"max_iter": 5, "levels": LEVELS, "random_state": 0}
    return DirectionalBoosting(**(defaults | chosen))


def schedule(n_columns: int, **growth: Any) -> TreeSchedule:
    return TreeSchedule(Growth(**growth), n_columns, 5)


def test_trees_take_effect_at_rounds_decided_by_numbers_alone() -> None:
    assert list(islice(schedule(10).stages(), 3)) == [(200, 204), (250, 255), (312, 318)]
    for n_columns in (1, 300, 5000):
        for (start, effect), (later, _) in pairwise(islice(schedule(n_columns).stages(), 20)):
            assert start < effect <= later
            assert later == max(start * 5 // 4, effect)  # so all the growing costs at most five times the last


@pytest.mark.parametrize("n_columns", [10, 300, 5000, 50_000])
def test_no_answer_waits_for_more_than_its_share_of_the_growing(n_columns: int) -> None:
    """However wide the rows are: trees then take effect later."""
    wide = schedule(n_columns)
    for start, effect in islice(wide.stages(), 20):
        assert work_of(wide.growth, start, n_columns) / (effect - start) <= 20_000_000  # nanoseconds of a slow core


@pytest.mark.parametrize("learner", [small, lambda: Auto(levels=LEVELS, random_state=0)], ids=["boosting", "auto"])
def test_in_a_batch_live_in_pieces_replayed_and_resumed_the_bits_are_the_same(learner: Any, tmp_path: Path) -> None:
    X, y = make_synthetic(330, random_state=0)  # trees grow three times
    batch = learner().partial_fit(X, y)
    live, log = learner(), FeedbackLog(LEVELS)
    for x, label in zip(X, y, strict=True):
        question = live.ask(x)
        log.append(question, bool(label > question.level))
        live.tell(question, bool(label > question.level))
    assert contents(live) == contents(batch)
    assert live._form.schedule.grown_on == 312
    assert (live.predict_proba(X) == batch.predict_proba(X)).all()

    replayed = learner()
    assert (replayed.replay(log) == log.prediction).all()
    assert (replayed.predict_proba(X) == batch.predict_proba(X)).all()

    for cut in (202, 203, 251, 300):  # between growing and effect, and after
        pieces = learner().partial_fit(X[:cut], y[:cut])
        pieces.save(tmp_path / "model")
        for resumed in (dford.load(tmp_path / "model"), pickle.loads(pickle.dumps(pieces)), copy.deepcopy(pieces)):
            assert contents(resumed.partial_fit(X[cut:], y[cut:])) == contents(batch)


def test_trees_grow_in_the_background_and_are_waited_for_when_due() -> None:
    X, y = make_synthetic(210, random_state=0)
    model = play(small(), X[:199], y[:199])
    schedule: Any = model._form.schedule
    play(model, X[199:200], y[199:200])
    work: Any = schedule._work
    assert work.on == 200
    assert not schedule.grown_on
    play(model, X[200:204], y[200:204])
    assert schedule.grown_on == 200
    assert work.done


def test_trees_that_fail_in_the_background_fail_again_for_the_caller_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = make_synthetic(210, random_state=0)
    model = play(small(), X[:199], y[:199])

    def fail(*_: Any) -> None:
        raise MemoryError("no room for trees")

    with monkeypatch.context() as failing:
        failing.setattr("dford.learners._trees.grower.Grower.advance", fail)
        play(model, X[199:200], y[199:200])
        question = model.ask(X[200])
        before = contents(model)
        with pytest.raises(MemoryError, match="no room"):
            model.tell(question, True)
        assert contents(model) == before
    assert model.tell(question, True).rounds_ == 201


def test_until_there_are_trees_all_cuts_are_equally_likely() -> None:
    model = small()
    asked = [model.ask(x) for x in make_synthetic(400, random_state=0)[0]]
    assert {question.propensity for question in asked} == {0.25}
    counts = np.bincount([question.level for question in asked], minlength=6)[1:5]
    assert ((counts - 100) ** 2 / 100).sum() < 16.3  # chi-squared with 3 degrees: 1 in 1000 is above


def test_fit_ends_with_trees_on_all_rows_and_so_does_refit() -> None:
    X, y = make_synthetic(230, random_state=0)
    fitted = small().fit(X, y)
    assert fitted._form.schedule.grown_on == 230  # type: ignore[attr-defined]
    partly = small().partial_fit(X, y)
    assert partly._form.schedule.grown_on == 200  # type: ignore[attr-defined]
    assert (partly.refit().predict_proba(X) == fitted.predict_proba(X)).all()
    # trees that were scheduled before do not replace newer ones
    assert fitted.partial_fit(X[:3], y[:3])._form.schedule.grown_on == 230  # type: ignore[attr-defined]


def test_a_log_teaches_what_its_stream_did() -> None:
    X, y = make_synthetic(250, random_state=0)
    model, log = small(), FeedbackLog(LEVELS)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        log.append(question, bool(label > question.level))
        model.tell(question, bool(label > question.level))
    assert (small().fit_log(log).predict_proba(X) == model.refit().predict_proba(X)).all()


def test_a_label_answers_every_question() -> None:
    X, y = make_synthetic(100, random_state=0)
    model = small(feedback="label", min_samples_leaf=5).fit(X, y)
    level = np.tile([1, 2, 3, 4], 100)
    expected = grow(Growth(5, min_samples_leaf=5), np.repeat(X, 4, axis=0), level, np.repeat(y, 4) > level)
    assert (model._form.logits(X) == expected.logits(X, 5)).all()  # type: ignore[attr-defined]


def test_missing_values_and_categories_are_learned_from() -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 6, size=2000), random.normal(size=2000)]).astype(float)
    y = np.where(X[:, 0] % 2 == 0, 2, 4)
    X[random.random(2000) < 0.1, 1] = np.nan
    model = DirectionalBoosting(categorical_features=[0], levels=LEVELS, random_state=0).fit(X, y)
    assert -model.score(X, y) < 0.05
    assert (model.ask([3.0, np.nan]).prediction, model.ask([2.0, np.nan]).prediction) == (4, 2)


@pytest.mark.parametrize("level", [1, 5])
def test_if_all_answers_are_the_same_the_end_of_the_scale_is_predicted(level: int) -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = small().fit(X, np.full(300, level))
    assert (model.predict(X) == level).all()
    assert model.predict_proba(X)[:, level - 1].tolist() == pytest.approx([301 / 302] * 300)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"categorical_features": [2]}, "column 2 should be categorical, but the rows have only 2 features"),
        ({"categorical_features": [True, False]}, "categorical_features must be column numbers"),
        ({"categorical_features": [-1]}, "categorical_features must be column numbers"),
    ],
)
def test_bad_columns_are_refused(chosen: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        small(**chosen).fit(*make_synthetic(30, random_state=0))


def test_infinity_is_refused_and_nothing_is_learned() -> None:
    X, y = make_synthetic(30, random_state=0)
    model = small().fit(X, y)
    before = contents(model)
    with pytest.raises(ValueError, match="infinity in row 0"):
        model.partial_fit([[np.inf, 1.0]], [2])
    with pytest.raises(ValueError, match="infinity"):
        model.ask([1.0, -np.inf])
    assert contents(model) == before


def test_trees_have_no_thresholds() -> None:
    model = small().fit(*make_synthetic(30, random_state=0))
    assert not hasattr(model, "thresholds_")
    with pytest.raises(AttributeError, match="trees have no thresholds"):
        _ = model.thresholds_


@pytest.mark.parametrize("field", ["links", "roots", "sets"])
def test_a_file_whose_trees_have_invalid_links_is_refused(field: str, tmp_path: Path) -> None:
    from dford import persistence

    small(min_samples_leaf=5).fit(*make_synthetic(60, random_state=0)).save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model")
    bad = arrays[f"trees_{field}"]
    if field == "links":
        bad[0, 1] = 10**9
    elif field == "roots":
        bad[0] = -1
    else:
        arrays["trees_sets"] = np.zeros((1, 7), np.uint8)
    persistence.write(tmp_path / "model", header, arrays)
    with pytest.raises(ValueError, match="invalid links"):
        dford.load(tmp_path / "model")


def test_no_trees_at_all_are_valid() -> None:
    no_trees().check(3)
    assert no_trees().logits(np.zeros((2, 3)), 2).tolist() == [[0.0], [0.0]]
