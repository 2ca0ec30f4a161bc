"""Learners, pools and logs on tables of whatever people rate."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.pipeline import make_pipeline

from dford import (
    DFORD,
    Auto,
    Columns,
    DirectionalBoosting,
    FeedbackLog,
    NewtonLogit,
    Pool,
    load,
    persistence,
    sparse_rows,
)
from test_columns import as_polars, frame

pytestmark = pytest.mark.filterwarnings("ignore:nothing is learned from 'id'")  # which some tables here have
LEARNERS = [Auto, NewtonLogit, DirectionalBoosting]


@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_take_frames_with_categories_and_missing_values(learner: Any, tmp_path: Path) -> None:
    table, y = frame()
    model = learner(random_state=0).fit(table, y)
    assert np.abs(model.predict(table) - y).mean() < 0.5
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["size", "colour", "price"]
    assert (model.predict(as_polars(table)) == model.predict(table)).all()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.to_bytes() == model.to_bytes()
    assert (again.predict_proba(table) == model.predict_proba(table)).all()
    log = FeedbackLog(model.classes_)
    for one in (table.iloc[0], dict(table.iloc[1]), table.iloc[2:3], as_polars(table)[3]):
        question = model.ask(one)
        log.append(question, True)
        model.tell(question, True)
        again.tell(again.ask(one), True)
    assert again.to_bytes() == model.to_bytes()
    assert (model.columns_.transform(table[:4]) == log.X).all()
    assert model.learned_from(log).found == model.learned_from(log).checked
    with pytest.raises(ValueError, match="there is no column 'price'"):
        model.predict(table.drop(columns="price"))


@pytest.mark.parametrize("learner", LEARNERS)
def test_numbers_that_name_categories_are_not_learned_from_as_numbers(learner: Any) -> None:
    codes = pd.Categorical([30, 10, 20] * 20, categories=[30, 10, 20], ordered=True)
    table = pd.DataFrame({"size": codes, "colour": pd.Categorical([7, 9] * 30), "n": np.arange(60) * 1.5})
    expected = ["size", "colour=7", "colour=9", "colour is another", "n"]
    model = learner(levels=[1, 2, 3], random_state=0).fit(table, [1, 2, 3] * 20)
    assert model.columns_.feature_names() == expected
    columns = Pool(table, levels=[1, 2], random_state=0).columns_
    assert columns is not None
    assert columns.feature_names() == expected


@pytest.mark.parametrize("learner", [*LEARNERS, DFORD])
def test_a_strange_column_is_named_by_a_model_of_numbers_alone(learner: Any) -> None:
    table = pd.DataFrame({"a": np.arange(60) * 1.5, "b": np.arange(60) % 7})
    model = learner(levels=[1, 2], random_state=0).fit(table, [1, 2] * 30)
    values: list[Any] = ["oops", pd.Timestamp("2024-05-31"), {"n": 1}, 1 + 2j]
    for strange in values:
        with pytest.raises(ValueError, match="column 'b' takes a number; got"):
            model.predict(table[:3].assign(b=[strange] * 3))
    with pytest.raises(ValueError, match="names"):
        model.predict(table.assign(c="x"))
    for dicts in (table.to_dict("records"), table.to_dict("list")):
        with pytest.raises(ValueError, match="X must be an array or a frame of numbers, as in fit; got dicts"):
            model.predict(dicts)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(table[:0].astype(object))


def test_trees_take_categories_by_their_number_in_a_frame_of_numbers() -> None:
    table = pd.DataFrame({"n": np.arange(60) * 1.5, "colour": pd.Categorical([7, 9] * 30)})
    model = DirectionalBoosting(categorical_features=[1], levels=[1, 2], random_state=0).fit(table, [1, 2] * 30)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "columns_")


@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_take_arrays_with_missing_values(learner: Any) -> None:
    table, y = frame()
    X = np.column_stack([table["size"].cat.codes, table.price])
    model = learner(random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 0.6
    assert model.n_features_in_ == 2
    model.tell(model.ask(X[0]), True).predict(X)
    with pytest.raises(ValueError, match=r"infinity|inf|takes a number"):
        learner(random_state=0).fit(np.where(np.isnan(X), np.inf, X), y)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "row", "b"])])
def test_every_column_of_numbers_with_missing_ones_is_learned_from(learner: Any, kind: Any) -> None:
    """Also one that counts the rows: three columns of which one is left out would look like features already."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=200), np.arange(200.0), random.normal(size=200)])
    y = 1 + (X[:, 2] > 0)
    X[::10, 0] = np.nan
    model = learner(random_state=0).fit(kind(X), y)
    assert (model.predict(kind(X)) == y).mean() > 0.9
    if learner is not DirectionalBoosting:  # whose trees handle missing values themselves
        assert [column.kind for column in model.columns_.describe()] == ["number"] * 3
        assert (model.predict_proba(kind(X)) == model.predict_proba(model.columns_.transform(kind(X)))).all()


def reviews(n: int) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Texts with a few words that matter, beside a number that does too."""
    random = np.random.default_rng(1)
    tones = {"awful": -2, "bad": -1, "dull": -1, "fine": 1, "good": 1, "superb": 2}
    rows: list[dict[str, Any]] = []
    sums = []
    for n_row in range(n):
        said = random.choice(list(tones), 2).tolist()
        rows.append({"id": n_row + 1, "review": f"It was {said[0]}, and then {said[1]}", "rank": random.normal()})
        sums.append(sum(tones[word] for word in said) + 1.5 * rows[-1]["rank"])
    return rows, 1 + np.searchsorted([-2, 0, 2], sums)


def test_texts_beside_numbers_are_learned_from_and_better_than_either_alone() -> None:
    rows, y = reviews(800)
    table = pd.DataFrame(rows)

    def error(*names: str) -> float:
        model = Auto(random_state=0).fit(table.loc[:399, list(names)], y[:400])
        return float(np.abs(model.predict(table.loc[400:, list(names)]) - y[400:]).mean())

    both = error("id", "review", "rank")
    assert both < 0.9 * min(error("review"), error("rank"))


def test_learning_live_in_a_batch_resumed_and_by_pipeline_gives_the_same_bits(tmp_path: Path) -> None:
    rows, y = reviews(260)  # past the first trees
    columns = Columns().fit(rows)
    X = columns.transform(rows)

    def new() -> Auto:
        return Auto(levels=[1, 2, 3, 4], dense=columns.n_dense_, random_state=0)

    live, asked = new(), []
    for i in range(260):
        question = live.ask(X[i])
        asked.append(question)
        live.tell(question, bool(y[i] > question.level))
        if i == 150:
            live.save(tmp_path / "model")
            live = load(tmp_path / "model")
    together = new().learn_many(
        X,
        [question.level for question in asked],
        [question.prediction for question in asked],
        [question.propensity for question in asked],
        [bool(y[i] > question.level) for i, question in enumerate(asked)],
    )
    shares = live.predict_proba(X)
    assert (together.predict_proba(X) == shares).all()
    assert (new().partial_fit(X, y).predict_proba(X) == shares).all()
    assert (Auto(levels=[1, 2, 3, 4], random_state=0).partial_fit(rows, y).predict_proba(rows) == shares).all()
    fitted = make_pipeline(Columns(), Auto(levels=[1, 2, 3, 4], dense=columns.n_dense_, random_state=0)).fit(rows, y)
    assert (fitted.predict(rows) == Auto(levels=[1, 2, 3, 4], random_state=0).fit(rows, y).predict(rows)).all()


def test_trees_alone_do_not_learn_from_texts_and_say_what_does() -> None:
    rows, y = reviews(20)
    with pytest.raises(ValueError, match="DirectionalBoosting does not learn from texts such as 'review'; use Auto"):
        DirectionalBoosting().fit(rows, y)
    with pytest.raises(ValueError, match="there is nothing to learn from: id: shown, not learned from: it numbers"):
        Auto().fit([{"id": row["id"]} for row in rows], y)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_log_of_texts_comes_back_from_a_file_to_the_bit(suffix: str, tmp_path: Path) -> None:
    rows, y = reviews(30)
    model = Auto(random_state=0).fit(rows, y)
    levels = model.classes_.tolist()
    log = FeedbackLog(levels)
    for i, row in enumerate(rows):
        question = model.ask(row)
        log.append(question, bool(y[i] > question.level), item=i)
        model.tell(question, bool(y[i] > question.level))
    path = tmp_path / f"log.{suffix}"
    log.write(path)
    again = FeedbackLog.read(path, levels)
    assert again.is_sparse
    assert (again.X != log.X).nnz == 0
    assert list(again.rounds()) == list(log.rounds())
    fresh = [Auto(levels=levels, dense=1, random_state=0).fit_log(one) for one in (log, again)]
    assert fresh[0].to_bytes() == fresh[1].to_bytes()
    assert (NewtonLogit(covariance="diagonal", random_state=0).fit_log(log).predict(log.X) > 0).all()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("3:x", "not written as place:number"),
        ("5:1 3:2", "do not increase"),
        ("9:1", "do not increase"),
        ("1:nan", "finite"),
    ],
)
def test_impossible_sparse_features_are_refused(text: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        sparse_rows.from_texts([text], 9)


@given(st.lists(st.lists(st.integers(0, 99), max_size=6, unique=True), max_size=5))
def test_sparse_rows_come_back_from_bytes_and_texts(places: list[list[int]]) -> None:
    X = sparse.lil_matrix((len(places), 100))
    for r, row in enumerate(places):
        X[r, row] = [0.1 + place / 3 for place in row]
    X = X.tocsr()
    X.sort_indices()
    for again in (
        sparse_rows.unpack(sparse_rows.pack(X), 100),
        sparse_rows.from_texts(sparse_rows.to_texts(X), 100),
    ):
        assert again.shape == X.shape
        assert (again != X).nnz == 0


def test_a_pool_of_no_rows_has_only_numbers() -> None:
    table, _ = frame(20)
    with pytest.raises(ValueError, match="the table has no rows, from which to see what its columns are"):
        Pool(table.iloc[:0], levels=[1, 2, 3], random_state=0)
    numbers = table.select_dtypes("number")
    assert len(Pool(numbers.iloc[:0], levels=[1, 2, 3], random_state=0).add(numbers)) == 20


def test_a_pool_takes_a_table_and_continues_from_a_file(tmp_path: Path) -> None:
    rows, y = reviews(150)
    pool = Pool(rows[:140], levels=[1, 2, 3, 4], random_state=0)
    assert pool.columns_ is not None
    for n in range(280):
        if n == 100:
            pool.add(rows[140:])
        if n == 180:
            pool.save(tmp_path / "pool")
            again = load(tmp_path / "pool")
            assert again.ask() == pool.ask()
            pool = again
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
    assert np.abs(pool.levels_ - y).mean() < 0.15
    assert pool.log_.X.shape == (280, 2**16 + 1)


def test_a_pool_without_features_continues_from_a_file(tmp_path: Path) -> None:
    pool = Pool(np.empty((30, 0)), levels=[1, 2, 3], random_state=0)
    for _ in range(60):
        pool.tell(pool.ask(), True)
    pool.save(tmp_path / "pool")
    assert load(tmp_path / "pool").ask() == pool.ask()


@pytest.mark.parametrize("learner", [*LEARNERS, DFORD])
def test_a_dict_of_columns_is_a_table_of_equally_long_columns(learner: Any) -> None:
    columns = {
        "a": [1.5, 2.5, 3.5, 4.5],
        7: np.array([4, 5, 6, 4]),
        "c": pd.Series(["x", "y", "x", "y"], index=[3, 2, 1, 0]),
    }
    rows = [{"a": 1.5, "7": 4, "c": "x"}, {"a": 2.5, "7": 5, "c": "y"}]
    rows += [{"a": 3.5, "7": 6, "c": "x"}, {"a": 4.5, "7": 4, "c": "y"}]
    y = [1, 2, 3, 2]
    model, other = (learner(levels=[1, 2, 3], random_state=0).fit(table, y) for table in (columns, rows))
    assert model.to_bytes() == other.to_bytes()
    assert (model.predict(columns) == other.predict(rows)).all()
    assert model.score(columns, y) == other.score(rows, y)
    assert model.partial_fit(columns, y).to_bytes() == other.partial_fit(rows, y).to_bytes()
    pool = Pool(columns, levels=[1, 2, 3], random_state=0).add(columns)
    assert len(pool) == 8
    # ids name the rows that a pool began with
    asked = Pool(rows * 2, levels=[1, 2, 3], random_state=0).ask()
    assert pool.ask()._replace(id=asked.id) == asked
    assert len(Pool({"a": [1, 2, 3], "b": [4, 5, 6]}, levels=[1, 2])) == 3
    for table in ({"a": [1, 2], "b": [1]}, {"a": [1, 2], "b": 1}):
        with pytest.raises(ValueError, match="all columns must be equally long|a list of values for each column"):
            Pool(table, levels=[1, 2])
        with pytest.raises(ValueError, match="all columns must be equally long|a list of values for each column"):
            learner(levels=[1, 2]).fit(table, [1, 2])


def test_a_row_of_a_frame_whose_labels_are_numbers_can_be_asked_about() -> None:
    table = pd.DataFrame([[1.5, "x"], [2.5, "y"], [3.5, "x"]])
    model = NewtonLogit(levels=[1, 2], random_state=0).fit(table, [1, 2, 1])
    assert model.ask(table.iloc[0]).x.tolist() == model.columns_.transform(table)[0].tolist()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_vectors_are_learned_from_in_frames_of_any_kind(kind: Any) -> None:
    random = np.random.default_rng(0)
    y = random.integers(1, 4, 200)
    vectors = (y[:, None] + random.normal(size=(200, 4))).tolist()
    table = kind({"vector": vectors})
    assert Columns().fit(table).describe()[0].kind == "vector"
    assert np.abs(Auto(random_state=0).fit(table, y).predict(table) - y).mean() < 0.3
    assert len(Pool(table, levels=[1, 2, 3])) == 200


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("X_indptr", lambda a: np.append(a[:-1], 0)),
        ("X_indptr", lambda a: np.append(a[:-1], 2**62)),
        ("X_indptr", lambda a: a[::-1].copy()),
        ("X_indices", lambda a: np.append(a[:-1], 2**32 + 3)),
        ("X_indices", lambda a: np.append(a[:-1], -1)),
        ("X_data", lambda a: a[:-1]),
        ("X_width", lambda a: a * 0 + 5),
    ],
)
def test_a_damaged_pool_of_texts_is_refused_and_reads_nothing_out_of_bounds(
    name: str, change: Any, tmp_path: Path
) -> None:
    pool = Pool(reviews(30)[0], levels=[1, 2, 3, 4], random_state=0)
    pool.save(tmp_path / "pool")
    header, arrays = persistence.read(tmp_path / "pool")
    persistence.write(tmp_path / "damaged", header, {**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match="sparse rows|could have"):
        load(tmp_path / "damaged")


@pytest.mark.parametrize("name", ["log_indptr", "open_indptr"])
def test_a_damaged_model_is_refused_and_reads_nothing_out_of_bounds(name: str, tmp_path: Path) -> None:
    rows = [{"c": f"kind {n % 12}", "text": f"a text of its own, {n}", "n": n} for n in range(240)]
    model = Auto(random_state=0).fit(rows, [1 + n % 3 for n in range(240)])
    model.ask(rows[0])
    model.save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model")
    persistence.write(tmp_path / "damaged", header, {**arrays, name: np.append(arrays[name][:-1], 0)})
    with pytest.raises(ValueError, match="sparse rows"):
        load(tmp_path / "damaged")


def test_a_feature_cannot_have_the_name_of_sparse_ones_in_a_file() -> None:
    log = FeedbackLog([1, 2], ["features[3]", "b"])
    with pytest.raises(ValueError, match="its own column"):
        log.to_frame()
    with pytest.raises(ValueError, match="not written as place:number"):
        sparse_rows.from_texts(["99999999999999999999:1"], 65536)


@pytest.mark.parametrize("words", [["red", "blue"], [f"a review of thing {n}" for n in range(40)]])
def test_a_log_takes_the_names_of_what_the_columns_became(words: list[str], tmp_path: Path) -> None:
    rows = [{"price": float(n % 7) if n else None, "word": words[n % len(words)]} for n in range(40)]
    model = NewtonLogit(covariance="diagonal", random_state=0).fit(pd.DataFrame(rows), [n % 2 for n in range(40)])
    question = model.ask(rows[3])
    with pytest.raises(ValueError, match=r"the log has 2 names; .* with model.columns_.get_feature_names_out\(\)"):
        FeedbackLog([0, 1], model.feature_names_in_).append(question, True)
    log = FeedbackLog([0, 1], model.columns_.get_feature_names_out())
    log.append(question, True)
    model.tell(question, True)
    log.write(tmp_path / "log.csv")
    assert len(log.to_frame().columns) < 15, "places of texts are one column"
    for one in (log, FeedbackLog.read(tmp_path / "log.csv", [0, 1])):
        assert (one.X != log.X).sum() == 0
        assert model.learned_from(one).found == 1
