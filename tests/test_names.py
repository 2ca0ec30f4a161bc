"""Names of features: rows whose columns have other names, or another order, are never learned from."""

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dford
from dford import DFORD, PRIL, Auto, DirectionalBoosting, FeedbackLog, NewtonLogit, Question
from dford.cli import main
from dford.evaluation import tune

LEVELS = ["poor", "fair", "good"]
NAMES = ["length", "width", "age"]
X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.tile(LEVELS, 14)[:40]
LEARNERS: list[Any] = [
    DFORD(levels=LEVELS, random_state=0),
    DFORD(levels=LEVELS, kernel="rbf", window=9, random_state=0),
    PRIL(levels=LEVELS, random_state=0),
    NewtonLogit(levels=LEVELS, random_state=0),
    DirectionalBoosting(levels=LEVELS, max_iter=3, random_state=0),
    Auto(levels=LEVELS, random_state=0),
]
# one row with names, in every form that it may have
ROWS: dict[str, Callable[[list[str], Any], Any]] = {
    "pandas frame": lambda names, x: pd.DataFrame([x], columns=names),
    "polars frame": lambda names, x: pl.DataFrame(dict(zip(names, ([v] for v in x), strict=True))),
    "pandas series": lambda names, x: pd.Series(x, index=names),
    "dict": lambda names, x: dict(zip(names, x, strict=True)),
}
FRAMES: list[Callable[..., Any]] = [pd.DataFrame, pl.DataFrame]


def frame(kind: Any, names: list[str], rows: Any) -> Any:
    return kind({name: rows[:, j] for j, name in enumerate(names)})


def fresh(learner: Any) -> Any:
    return type(learner)(**learner.get_params())


def logged(names: list[str] | None) -> FeedbackLog:
    model, log = NewtonLogit(levels=LEVELS, random_state=0), FeedbackLog(LEVELS, names)
    for x in X:
        log.append(model.ask(x), higher=bool(x[0] > 0))
    return log


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("kind", ROWS)
def test_rows_with_names_are_asked_about_like_arrays(learner: Any, kind: str) -> None:
    plain, named = fresh(learner), fresh(learner)
    for x in X[:10]:
        one, other = plain.ask(x), named.ask(ROWS[kind](NAMES, x))
        assert one == other
        plain.tell(one, bool(x[0] > 0))
        named.tell(other, bool(x[0] > 0))
    assert named.feature_names_in_.tolist() == NAMES
    again = named.question(ROWS[kind](NAMES, X[0]), 10)
    assert again == plain.question(X[0], 10)
    row = again._replace(x=ROWS[kind](NAMES, X[0]))  # as somebody may keep it
    assert named.learn(row, True).to_bytes() == named_bytes(plain.learn(again, True), NAMES)


def named_bytes(model: Any, names: list[str]) -> bytes:
    model.feature_names_in_ = np.array(names, dtype=object)
    return bytes(model.to_bytes())


def begun(learner: Any, how: str) -> Any:
    """A model that has seen names, in one of the ways that it can."""
    model = fresh(learner)
    if how == "fit":
        return model.fit(frame(pd.DataFrame, NAMES, X), Y)
    if how == "partial_fit":
        return model.partial_fit(frame(pl.DataFrame, NAMES, X), Y)
    if how == "ask":
        model.ask(ROWS["dict"](NAMES, X[0]))
        return model
    if how == "replay":
        model.replay(logged(NAMES))
        return model
    loaded = dford.learners.loads(begun(learner, "ask").to_bytes(), "a file")
    return pickle.loads(pickle.dumps(loaded)) if how == "pickled" else loaded


@settings(max_examples=20)
@given(
    st.sampled_from(["fit", "partial_fit", "ask", "replay", "loaded", "pickled"]),
    st.sampled_from([["width", "length", "age"], ["length", "width", "weight"], ["age", "width", "length"], NAMES[:2]]),
)
def test_no_method_takes_rows_with_other_names_or_in_another_order(how: str, names: list[str]) -> None:
    model, rows = begun(LEARNERS[0], how), X[:, : len(names)]
    kept = model.question(ROWS["dict"](NAMES, X[0]), 99)
    calls: list[Callable[[], Any]] = []
    for make in ROWS.values():
        row = make(names, rows[0])
        calls += [partial(model.ask, row), partial(model.question, row, 7)]
        calls.append(partial(model.learn, kept._replace(x=row), True))
    for kind in FRAMES:
        some = frame(kind, names, rows)
        calls += [partial(model.predict, some), partial(model.partial_fit, some, Y)]
    if len(names) == 3:
        calls.append(partial(model.replay, logged(names)))
    before = model.to_bytes()
    for call in calls:
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            call()
    assert model.to_bytes() == before


@pytest.mark.parametrize("how", ["fit", "ask", "replay", "loaded"])
def test_rows_without_known_names_or_with_unknown_ones_warn_as_in_scikit_learn(how: str) -> None:
    model, unnamed = begun(LEARNERS[0], how), fresh(LEARNERS[0]).fit(X, Y)
    for bare in (X[0], X[0].tolist(), X[:1], pd.Series(X[0])):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but DFORD was fitted with"):
            model.ask(bare)
    for call in (partial(model.predict, X), partial(model.question, X[0], 3), partial(model.replay, logged(None))):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but DFORD was fitted with"):
            call()
    for make in ROWS.values():
        with pytest.warns(UserWarning, match="X has feature names, but DFORD was fitted without feature names"):
            unnamed.ask(make(NAMES, X[0]))
    with pytest.warns(UserWarning, match="X has feature names, but DFORD was fitted without feature names"):
        unnamed.replay(logged(NAMES))


def test_a_new_fit_forgets_the_names_of_the_last() -> None:
    model = begun(LEARNERS[0], "fit").fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.ask(X[0]).level in LEVELS  # and no warning


def test_numbers_as_column_labels_are_not_names_and_mixed_ones_are_refused() -> None:
    model = fresh(LEARNERS[0])
    model.ask({0: 1.0, 1: 2.0})
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(TypeError, match="must be all text"):
        model.ask({"a": 1.0, 1: 2.0})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_log_carries_names_into_files_and_into_models(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{ending}"
    logged(NAMES).write(path)
    log = FeedbackLog.read(path, LEVELS)
    assert log.feature_names == NAMES
    assert NewtonLogit().fit_log(log).feature_names_in_.tolist() == NAMES
    assert tune(log, [NewtonLogit()]).best.fit_log(log).feature_names_in_.tolist() == NAMES
    assert (log + log).feature_names == NAMES
    with pytest.raises(
        ValueError, match="different features: in the second, feature 1 is called 'age' instead of 'length'"
    ):
        log + logged(["age", "width", "length"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_a_file_invents_count_as_none(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{ending}"
    logged(None).write(path)
    log = FeedbackLog.read(path, LEVELS)
    assert log.feature_names is None
    model = NewtonLogit().fit_log(log)
    assert not hasattr(model, "feature_names_in_")
    turned = log.to_frame()[["x2", "higher", "x0", "level", "propensity", "x1", "prediction"]]
    other = FeedbackLog.from_frame(turned, LEVELS)  # in this order they may have been given, and are not guessed
    assert other.feature_names == ["x2", "x0", "x1"]
    assert (log.X[:, [2, 0, 1]] == other.X).all()
    with pytest.warns(UserWarning, match="X has feature names, but NewtonLogit was fitted without"):
        model.learned_from(other)
    # a model whose features really have these names can read the log too
    called = NewtonLogit(levels=LEVELS, random_state=0)
    called.ask(dict(zip(["x0", "x1", "x2"], X[0], strict=True)))
    assert (called.replay(log) == NewtonLogit(levels=LEVELS).replay(log)).all()


def test_a_log_takes_rows_with_names_and_refuses_others() -> None:
    log, asked = FeedbackLog(LEVELS), Question("", X[0], "poor", "fair", 0.5, 0)
    log.append(asked._replace(x=ROWS["dict"](NAMES, X[0])), True)
    assert log.feature_names == NAMES
    log.append(asked, True)  # a bare row, as a learner keeps it
    with pytest.raises(ValueError, match="feature 1 is called 'age' instead of 'length'"):
        log.append(asked._replace(x=ROWS["pandas series"](NAMES[::-1], X[0])), True)
    bare = FeedbackLog(LEVELS)
    bare.append(asked, True)
    with pytest.raises(ValueError, match="has feature names, but the rows before it do not"):
        bare.append(asked._replace(x=ROWS["dict"](NAMES, X[0])), True)
    with pytest.raises(ValueError, match="the row has 3 features, but the log has 2"):
        FeedbackLog(LEVELS, NAMES[:2]).append(asked, True)
    assert (len(log), len(bare)) == (2, 1)


def test_the_commands_check_the_names_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, other, file = tmp_path / "log.csv", tmp_path / "other.csv", str(tmp_path / "model")
    logged(NAMES).write(log)
    logged(NAMES[::-1]).write(other)
    assert main(["tune", str(log), "--levels", ",".join(LEVELS), "--save", file]) == 0
    assert dford.load(file).feature_names_in_.tolist() == NAMES
    assert main(["evaluate", str(log), file]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(other), file]) == 2
    assert "feature 1 is called 'age' instead of 'length'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": np.ones(2)}, "x has 2 features, but this model learned with 3"),
        ({"x": np.ones((2, 3))}, "one row of numbers"),
        ({"level": "terrible"}, "'terrible' is not a level"),
        ({"prediction": "terrible"}, "'terrible' is not a level"),
        ({"propensity": 0.0}, "a probability greater than 0; got 0.0"),
        ({"propensity": np.nan}, "a probability greater than 0; got nan"),
    ],
)
def test_a_question_kept_elsewhere_is_checked_before_it_is_learned(change: dict[str, Any], sentence: str) -> None:
    model = fresh(LEARNERS[0]).fit(X, Y)
    kept, before = model.question(X[0], 50), model.to_bytes()
    with pytest.raises(ValueError, match=sentence):
        model.learn(kept._replace(**change), True)
    with pytest.raises(TypeError, match="higher must be True or False; got 1"):
        model.learn(kept, 1)
    assert model.to_bytes() == before
    whole = np.arange(3)
    assert model.learn(kept._replace(x=whole), True).rounds_ == 41
