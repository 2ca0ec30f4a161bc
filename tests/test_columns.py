"""Tables of whatever people rate: what each column becomes, and that it means the same for ever."""

import json
import math
import unicodedata
from collections import Counter
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

from dford import Auto, Columns, DirectionalBoosting, FeedbackLog, NewtonLogit, Pool, load, persistence, sparse_rows
from dford.columns import ColumnError
from dford.columns.texts import PLACES

LEARNERS = [Auto, NewtonLogit, DirectionalBoosting]


def naive_runs(text: str) -> Counter[str]:
    """The runs of 3 to 5 characters within the words of a text, with a space around each word."""
    found: Counter[str] = Counter()
    for word in unicodedata.normalize("NFC", text).casefold().split():
        padded = f" {word} "
        for n in (3, 4, 5):
            found.update(padded[i : i + n] for i in range(len(padded) - n + 1))
    return found


def rows_of(texts: list[str], name: str = "text") -> Any:
    return Columns({name: "text"}).fit([{name: "some text"}]).transform([{name: text} for text in texts])


@given(st.text(min_size=0, max_size=60))
def test_a_text_becomes_the_counts_of_its_runs_as_a_direction(text: str) -> None:
    row = rows_of([text])
    assert row.shape == (1, PLACES)
    assert row.has_canonical_format
    counts = naive_runs(text)
    if not counts:
        assert row.nnz == 0
        return
    assert row.nnz <= len(counts)
    assert np.sqrt((row.data**2).sum()) == pytest.approx(1.0, abs=1e-6)
    if row.nnz == len(counts):  # no two runs in one place
        length = math.sqrt(sum(count * count for count in counts.values()))
        assert sorted(row.data) == sorted(float(np.float32(count / length)) for count in counts.values())


@given(st.lists(st.text("abc dé中文", max_size=20), min_size=1, max_size=5))
def test_a_text_is_the_same_row_alone_and_among_others(texts: list[str]) -> None:
    together = rows_of(texts)
    for i, text in enumerate(texts):
        assert (together[i] != rows_of([text])).nnz == 0
    assert (rows_of([text.upper() for text in texts]) != rows_of([text.lower() for text in texts])).nnz == 0


def test_places_stay_what_they_are() -> None:
    """Of a run, by the hash written out: what is stored must not move."""
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    import zlib

    golden = 0x9E3779B97F4A7C15
    h = mix(zlib.crc32(b"text") * golden & mask)
    for code in map(ord, " a "):
        h = mix((h + code * golden) & mask)
    assert rows_of(["A"]).indices.tolist() == [h >> 48]


def test_the_same_text_in_another_column_has_other_places() -> None:
    assert (rows_of(["a fine film"]) != rows_of(["a fine film"], "title")).nnz > 0


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None, 3], "number"),
        (["1", "", "2.5"], "number"),
        ([True, False, True], "number"),
        (["red", "blue", "red", "red"], "category"),
        ([f"user {n % 30}" for n in range(100)], "category"),
        (["a fine film", "what a bore, and so long", "good"], "text"),
        (["a fine film", "what a bore"], "text"),
        (["red", "blue"], "category"),
        ([f"a text of its own, number {n}" for n in range(30)], "text"),
        ([[1.0, 2], [3, 4.5]], "vector"),
        (["[1, 2]", "[3, 4]"], "vector"),
        (["2024-05-31", "2023-01-01T12:30:00Z", None], "date"),
        (list(range(5, 25)), "shown"),
        ([f"item-{n}" for n in range(20)], "shown"),
        ([f"https://example.org/{n}.png" for n in range(12)], "shown"),
        ([None, "", float("nan")], "shown"),
    ],
)
def test_a_column_is_read_by_what_is_in_it(values: list[Any], kind: str) -> None:
    (column,) = Columns().fit([{"x": value} for value in values]).columns_
    assert column.kind == kind
    assert bool(column.note) == (kind == "shown"), "what is not learned from says why"


def test_what_was_said_of_a_column_holds() -> None:
    rows = [{"n": str(n), "word": f"w{n}"} for n in range(20)]
    columns = Columns({"n": "category", "word": "text"}).fit(rows)
    assert [column.kind for column in columns.columns_] == ["category", "text"]
    with pytest.raises(ColumnError, match="there is no column 'm'"):
        Columns({"m": "text"}).fit(rows)
    with pytest.raises(ColumnError, match="'word' is said to be of numbers, and has 'w0'"):
        Columns({"word": "number"}).fit(rows)
    with pytest.raises(ColumnError, match="'picture' is no kind of column; they are number, category, text"):
        Columns({"word": "picture"}).fit(rows)


def frame(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Things whose level hangs on all columns, with some values missing."""
    random = np.random.default_rng(0)
    z = random.normal(size=n)
    size = np.array(["S", "M", "L"])[np.clip(np.round(z + 1), 0, 2).astype(int)]
    colour = np.where(z + random.normal(size=n) > 0, "red", random.choice(["blue", "green"], n))
    return pd.DataFrame(
        {
            "size": pd.Categorical(size, categories=["S", "M", "L"], ordered=True),
            "colour": pd.Categorical(colour),
            "price": np.where(random.random(n) < 0.1, np.nan, 100 + 3 * z + random.normal(size=n)),
        }
    ), 1 + np.searchsorted([-0.7, 0, 0.7], z)


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    plain = pl.from_pandas(table.astype({"size": str, "colour": str}))
    return plain.with_columns(pl.col("size").cast(pl.Enum(["S", "M", "L"])), pl.col("colour").cast(pl.Categorical))


def test_frames_of_pandas_and_polars_and_rows_give_the_same_features() -> None:
    table, _ = frame()
    columns = Columns().fit(table)
    assert [column.kind for column in columns.columns_] == ["order", "category", "number"]
    assert columns.get_feature_names_out().tolist() == [
        "size", "colour=blue", "colour=green", "colour=red", "colour is another", "price", "price is missing",
    ]  # fmt: skip
    X = columns.transform(table)
    assert (columns.transform(as_polars(table)) == X).all()
    assert (Columns().fit(as_polars(table)).transform(table) == X).all()
    assert (columns.transform(table.astype({"size": str, "colour": str}).to_dict("records")) == X).all()
    assert (columns.transform(table[["price", "size", "colour"]]) == X).all(), "columns go by their names"
    assert X[:, -1].sum() == table.price.isna().sum()


def test_a_missing_number_is_a_fact_of_its_own_and_never_the_mean_in_silence() -> None:
    columns = Columns().fit([{"a": 1.0, "b": 2.0}, {"a": None, "b": 4.0}])
    assert columns.transform([{"a": None, "b": 5.0}]).tolist() == [[1.0, 1.0, 5.0]]
    with pytest.warns(UserWarning, match="b is missing in 1 of 1 rows, and was in none .* its mean, 3, is taken"):
        assert columns.transform([{"a": 1.0, "b": None}]).tolist() == [[1.0, 0.0, 3.0]]


def test_a_new_category_has_a_place_with_all_others() -> None:
    columns = Columns().fit([{"c": "red"}, {"c": "blue"}, {"c": "red"}, {"c": "blue"}])
    assert columns.transform([{"c": "green"}, {"c": "blue"}]).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ({"size": "big", "note": "x"}, "column 'size' takes a number; got 'big'"),
        ({"size": math.inf, "note": "x"}, "column 'size' takes a number; got 'inf'"),
        ({"note": "x"}, "there is no column 'size'; the columns are note"),
        ({"size": 1, "note": "x", "price": 2}, "column 'price' was not there when the columns were fitted"),
    ],
)
def test_a_strange_or_missing_column_is_one_clear_sentence(row: dict[str, Any], match: str) -> None:
    columns = Columns().fit([{"size": 1.5, "note": "a longer text"}, {"size": 2, "note": "another one, longer"}])
    with pytest.raises(ColumnError, match=match):
        columns.transform([row])


def test_what_was_fitted_is_kept_as_text_and_means_the_same() -> None:
    table, _ = frame()
    table["note"] = [f"thing number {n} of all" for n in range(len(table))]
    table["when"] = pd.date_range("2024-01-01", periods=len(table))
    table["vector"] = [[float(n), 1.0] for n in range(len(table))]
    columns = Columns().fit(table)
    again = Columns.from_json(columns.to_json())
    assert again.columns_ == columns.columns_
    assert (again.transform(table) != columns.transform(table)).nnz == 0
    assert json.loads(columns.to_json())["version"] == 1
    with pytest.raises(ValueError, match="version 2 are not known here"):
        Columns.from_json('{"version": 2, "columns": []}')


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
def test_learners_take_arrays_with_missing_values(learner: Any) -> None:
    table, y = frame()
    X = np.column_stack([table["size"].cat.codes, table.price])
    model = learner(random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 0.6
    assert model.n_features_in_ == 2
    model.tell(model.ask(X[0]), True).predict(X)
    with pytest.raises(ValueError, match=r"infinity|inf|takes a number"):
        learner(random_state=0).fit(np.where(np.isnan(X), np.inf, X), y)


def reviews(n: int) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Texts, a few words of which say something, beside a number that does, too."""
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


def test_trees_alone_do_not_learn_from_texts_and_say_who_does() -> None:
    rows, y = reviews(20)
    with pytest.raises(ValueError, match="DirectionalBoosting does not learn from texts, and 'review' is one; Auto"):
        DirectionalBoosting().fit(rows, y)
    with pytest.raises(ValueError, match="there is nothing to learn from: id: shown, and not learned from: it numbers"):
        Auto().fit([{"id": row["id"]} for row in rows], y)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_log_of_texts_is_a_file_and_comes_back_to_the_bit(suffix: str, tmp_path: Path) -> None:
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
    [("3:x", "not written as place:number"), ("5:1 3:2", "do not rise"), ("9:1", "do not rise"), ("1:nan", "finite")],
)
def test_sparse_features_that_cannot_be_are_refused(text: str, match: str) -> None:
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
        sparse_rows.unpack([sparse_rows.pack(X[r]) for r in range(len(places))], 100),
        sparse_rows.from_texts(sparse_rows.to_texts(X), 100),
    ):
        assert again.shape == X.shape
        assert (again != X).nnz == 0


def test_a_pool_takes_a_table_and_goes_on_from_a_file(tmp_path: Path) -> None:
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


def test_a_pool_without_features_goes_on_from_a_file(tmp_path: Path) -> None:
    pool = Pool(np.empty((30, 0)), levels=[1, 2, 3], random_state=0)
    for _ in range(60):
        pool.tell(pool.ask(), True)
    pool.save(tmp_path / "pool")
    assert load(tmp_path / "pool").ask() == pool.ask()


def test_empty_texts_are_rows_of_nothing() -> None:
    columns = Columns({"a": "text", "b": "text"}).fit([{"a": "a text of words", "b": "more words here"}])
    assert columns.transform([{"a": "", "b": None}]).nnz == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_vectors_are_learned_from_in_frames_of_any_kind(kind: Any) -> None:
    random = np.random.default_rng(0)
    y = random.integers(1, 4, 200)
    vectors = (y[:, None] + random.normal(size=(200, 4))).tolist()
    table = kind({"vector": vectors})
    assert Columns().fit(table).describe()[0].kind == "vector"
    assert np.abs(Auto(random_state=0).fit(table, y).predict(table) - y).mean() < 0.3
    assert len(Pool(table, levels=[1, 2, 3])) == 200


def test_columns_of_the_same_name_are_refused() -> None:
    table = pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"])
    with pytest.raises(ValueError, match="columns must have different names; 'x' is there twice"):
        Columns().fit(table)


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
def test_a_damaged_pool_of_texts_is_refused_and_reads_nothing_outside(name: str, change: Any, tmp_path: Path) -> None:
    pool = Pool(reviews(30)[0], levels=[1, 2, 3, 4], random_state=0)
    pool.save(tmp_path / "pool")
    header, arrays = persistence.read(tmp_path / "pool")
    persistence.write(tmp_path / "damaged", header, {**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match="sparse rows|could have"):
        load(tmp_path / "damaged")


@pytest.mark.parametrize("name", ["log_indptr", "open_indptr"])
def test_a_damaged_model_is_refused_and_reads_nothing_outside(name: str, tmp_path: Path) -> None:
    rows = [{"c": f"kind {n % 12}", "text": f"a text of its own, {n}", "n": n} for n in range(240)]
    model = Auto(random_state=0).fit(rows, [1 + n % 3 for n in range(240)])
    model.ask(rows[0])
    model.save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model")
    persistence.write(tmp_path / "damaged", header, {**arrays, name: np.append(arrays[name][:-1], 0)})
    with pytest.raises(ValueError, match="sparse rows"):
        load(tmp_path / "damaged")


@pytest.mark.parametrize(
    "value", ["0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00", "[" * 100_000, b"bytes", "1_000"]
)
def test_strange_values_are_read_as_something(value: Any) -> None:
    Columns().fit([{"x": value}])


def test_codes_with_leading_zeros_are_no_numbers() -> None:
    assert Columns().fit([{"zip": code} for code in ["01234", "94110"] * 6]).describe()[0].kind == "category"


def test_a_feature_cannot_be_called_as_the_sparse_ones_are_in_a_file() -> None:
    log = FeedbackLog([1, 2], ["features[3]", "b"])
    with pytest.raises(ValueError, match="of its own"):
        log.to_frame()
    with pytest.raises(ValueError, match="not written as place:number"):
        sparse_rows.from_texts(["99999999999999999999:1"], 65536)
