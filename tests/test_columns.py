"""Tables of whatever people rate: what each column becomes, and that this never changes."""

import json
import math
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from dford import Auto, Columns, NewtonLogit, Pool
from dford.columns import Column, ColumnError
from dford.columns.texts import PLACES
from dford.columns.values import is_missing, is_na

UNLEARNED = pytest.mark.filterwarnings("ignore:nothing is learned from")


def naive_runs(text: str) -> Counter[str]:
    """The runs of 3 to 5 characters within the words of a text, with a space around each word."""
    found: Counter[str] = Counter()
    for word in unicodedata.normalize("NFC", text).casefold().split():
        padded = f" {word} "
        for n in (3, 4, 5):
            found.update(padded[i : i + n] for i in range(len(padded) - n + 1))
    return found


def rows_of(texts: list[str], name: str = "text") -> Any:
    return Columns({name: "text"}).fit([{name: "some text"}]).features([{name: text} for text in texts])


@given(st.text(min_size=0, max_size=60))
def test_a_text_becomes_the_counts_of_its_runs_at_unit_length(text: str) -> None:
    row = rows_of([text])
    assert row.shape == (1, PLACES)
    assert row.has_canonical_format
    counts = naive_runs(text)
    if not counts or (is_missing(text) and not is_na(text)):
        assert row.nnz == 0
        return
    assert row.nnz <= len(counts)
    assert np.sqrt((row.data**2).sum()) == pytest.approx(1.0, abs=1e-6)
    if row.nnz == len(counts):  # no two runs in one place
        length = math.sqrt(sum(count * count for count in counts.values()))
        assert sorted(row.data) == pytest.approx(sorted(count / length for count in counts.values()))


@given(st.lists(st.text("abc dé中文", max_size=20), min_size=1, max_size=5))
def test_a_text_is_the_same_row_alone_and_among_others(texts: list[str]) -> None:
    together = rows_of(texts)
    for i, text in enumerate(texts):
        assert (together[i] != rows_of([text])).nnz == 0
    assert (rows_of([text.upper() for text in texts]) != rows_of([text.lower() for text in texts])).nnz == 0


def test_places_never_change() -> None:
    """The place of a run, by its hash written out: what is stored must not move."""
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

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
        (list(range(5, 25)), "number"),
        ([f"item-{n}" for n in range(20)], "shown"),
        ([f"https://example.org/{n}.png" for n in range(12)], "shown"),
        ([None, "", float("nan")], "shown"),
    ],
)
@UNLEARNED
def test_the_kind_of_a_column_is_read_from_its_values(values: list[Any], kind: str) -> None:
    (column,) = Columns().fit([{"x": value} for value in values]).columns_
    assert column.kind == kind
    assert bool(column.note) == (kind == "shown"), "a column that is not learned from says why"


def test_a_kind_that_was_given_holds() -> None:
    rows = [{"n": str(n), "word": f"w{n}"} for n in range(20)]
    columns = Columns({"n": "category", "word": "text"}).fit(rows)
    assert [column.kind for column in columns.columns_] == ["category", "text"]
    with pytest.raises(ColumnError, match="there is no column 'm'"):
        Columns({"m": "text"}).fit(rows)
    with pytest.raises(ColumnError, match="'word' should be numbers, but has 'w0'"):
        Columns({"word": "number"}).fit(rows)
    with pytest.raises(ColumnError, match="'picture' is not a kind of column; expected one of number, category, text"):
        Columns({"word": "picture"}).fit(rows)


def frame(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Things whose level depends on all columns, with some values missing."""
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


def test_pandas_and_polars_frames_and_rows_give_the_same_features() -> None:
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
    arrow = pa.Table.from_pandas(table)
    assert Columns().fit(arrow).columns_ == columns.columns_
    assert (columns.transform(arrow) == X).all()
    assert (columns.transform(table[["price", "size", "colour"]]) == X).all(), "columns are matched by name"
    assert X[:, -1].sum() == table.price.isna().sum()


def test_a_missing_number_is_a_feature_of_its_own_and_never_silently_the_mean() -> None:
    columns = Columns().fit([{"a": 1.0, "b": 2.0}, {"a": None, "b": 4.0}])
    assert columns.transform([{"a": None, "b": 5.0}]).tolist() == [[1.0, 1.0, 5.0]]
    with pytest.warns(
        UserWarning, match="b is missing in 1 of 1 rows, but was in none .* its mean, 3, is used instead"
    ):
        assert columns.transform([{"a": 1.0, "b": None}]).tolist() == [[1.0, 0.0, 3.0]]


def test_all_new_categories_share_one_place() -> None:
    columns = Columns().fit([{"c": "red"}, {"c": "blue"}, {"c": "red"}, {"c": "blue"}])
    assert columns.transform([{"c": "green"}, {"c": "blue"}]).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ({"size": "big", "note": "x"}, "column 'size' takes a number; got 'big'"),
        ({"size": math.inf, "note": "x"}, "column 'size' takes a number; got 'inf'"),
        ({"note": "x"}, "there is no column 'size'; the columns are 'note'"),
        ({"size": 1, "note": "x", "price": 2}, "column 'price' was not there when the columns were fitted"),
    ],
)
def test_a_strange_or_missing_column_gets_one_clear_sentence(row: dict[str, Any], match: str) -> None:
    columns = Columns().fit([{"size": 1.5, "note": "a longer text"}, {"size": 2, "note": "another one, longer"}])
    with pytest.raises(ColumnError, match=match):
        columns.transform([row])


def test_fitted_columns_kept_as_text_mean_the_same() -> None:
    table, _ = frame()
    table["note"] = [f"thing number {n} of all" for n in range(len(table))]
    table["when"] = pd.date_range("2024-01-01", periods=len(table))
    table["vector"] = [[float(n), 1.0] for n in range(len(table))]
    columns = Columns().fit(table)
    again = Columns.from_json(columns.to_json())
    assert again.columns_ == columns.columns_
    assert (again.transform(table) != columns.transform(table)).nnz == 0
    assert json.loads(columns.to_json())["version"] == 1
    with pytest.raises(ValueError, match="does not know columns of version 2"):
        Columns.from_json('{"version": 2, "columns": []}')


def test_empty_texts_are_empty_rows() -> None:
    columns = Columns({"a": "text", "b": "text"}).fit([{"a": "a text of words", "b": "more words here"}])
    assert columns.transform([{"a": "", "b": None}]).nnz == 0


def test_columns_of_the_same_name_are_refused() -> None:
    table = pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"])
    with pytest.raises(ValueError, match="column names must be distinct; 'x' appears twice"):
        Columns().fit(table)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0001-01-01T00:00+05:00", "date"),
        ("9999-12-31T23:00-05:00", "date"),
        ("[" * 100_000, "text"),
        (b"bytes", "category"),
        ("1_000", "category"),
    ],
)
def test_strange_values_are_read_as_something(value: Any, kind: str) -> None:
    columns = Columns().fit([{"x": value}])
    assert columns.describe()[0].kind == kind
    columns.transform([{"x": value}])


@pytest.mark.parametrize(
    ("values", "instead"),
    [
        ([1.0, 2.0], "its mean, 1.5, is"),
        (["2024-05-30", "2024-06-01"], "2024-05-31 00:00:00 is"),
        (["red", "blue"], "zeros are"),
        ([[1.0, 2.0], [3.0, 4.0]], "zeros are"),
    ],
)
def test_values_missing_only_later_are_reported_and_replaced_sensibly(values: list[Any], instead: str) -> None:
    columns = Columns().fit([{"x": value} for value in values])
    (sentence,) = columns.unforeseen([{"x": None}, {"x": values[0]}])
    assert (
        sentence == f"x is missing in 1 of 2 rows, but was in none when the columns were fitted; {instead} used instead"
    )
    with pytest.warns(UserWarning, match="x is missing in 1 of 2 rows"):
        X = columns.transform([{"x": None}, {"x": values[0]}])
    seen = columns.transform([{"x": value} for value in values])
    assert (X[1] == seen[0]).all()
    assert (X[0] <= seen.max(axis=0)).all(), "a day of the year 0 would be far below all others"
    if isinstance(values[0], str) and values[0][0] == "2":
        assert X[0].tolist() == columns.transform([{"x": "2024-05-31"}])[0].tolist()


@UNLEARNED
@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [("x", "2024-{0:04}", "shown"), ("x", "{0}{0}-A", "shown"), ("x", "4{0:045}", "shown"),
     ("order id", "{0}ml", "shown"), ("order no", "{0}ml", "text"), ("index", "{0}0", "shown"),
     ("heat index", "{0}0", "number"), ("id", "{0}", "shown"), ("PassengerId", "{0}", "shown"), ("row", "{0}", "shown"),
     ("Unnamed: 0", "{0}", "shown"), ("user_id", "{0}.0", "shown"), ("id", "{0}.5", "number"), ("age", "{0}", "number"),
     ("no", "{0}", "number"), ("key", "{0}", "number"), ("house_nr", "{0}", "number"), ("covid", "{0}", "number")],
)  # fmt: skip
def test_an_id_is_told_from_an_amount(name: str, value: str, kind: str) -> None:
    assert Columns().fit([{name: value.format(n)} for n in range(1, 13)]).columns_[0].kind == kind


TABLES = st.fixed_dictionaries(
    {
        name: st.lists(values, min_size=12, max_size=12)
        for name, values in {
            "id": st.integers(0, 30),
            "age": st.integers(20, 90),
            "no": st.integers(0, 30) | st.none(),
            "row": st.sampled_from([f"r{n}" for n in range(40)]),
            "price": st.floats(-1e6, 1e6) | st.just("NA") | st.decimals(0, 9, places=2) | st.just(Decimal("NaN")),
            "land": st.sampled_from(["NA", "DE", "FR", "", None]),
            "note": st.sampled_from(["NA", "a fine film", "what a bore, and so long", "good", "5%", "1,234"]),
            "when": st.dates(date(1990, 1, 1), date(2040, 1, 1)) | st.none(),
            "place": st.lists(st.integers(0, 9), min_size=2, max_size=2) | st.none(),
            "link": st.sampled_from([f"https://example.org/{n}" for n in range(3)]),
        }.items()
    }
)


@UNLEARNED
@given(TABLES, st.permutations(range(12)))
def test_what_a_column_is_does_not_depend_on_the_order_of_its_rows(table: dict[str, Any], order: list[int]) -> None:
    table |= {"count": list(range(5, 17))}

    def read(table: dict[str, Any]) -> list[Column]:
        return [column._replace(note="") for column in Columns().fit(table).columns_]  # hints name the first such value

    assert read({name: [values[row] for row in order] for name, values in table.items()}) == read(table)


@UNLEARNED
@given(TABLES)
def test_every_kind_that_is_described_can_be_given_and_makes_the_same_columns(table: dict[str, Any]) -> None:
    fitted = Columns({"land": ["NA", "DE", "FR"]}).fit(table)
    again = Columns({column.column: column.kind for column in fitted.describe()}).fit(table)
    assert [column._replace(note="") for column in again.columns_] == [
        column._replace(note="") for column in fitted.columns_
    ]
    given_order = fitted.describe()[list(table).index("land")].kind
    assert given_order == ["NA", "DE", "FR"]


def test_what_is_not_learned_from_is_said_once_and_how_to_change_it() -> None:
    table = pd.DataFrame({"id": range(60), "url": "https://example.org", "word": ["a", "b"] * 30, "n": np.arange(60.0)})
    said = (
        "nothing is learned from 'id' (it numbers the rows), 'url' (it is a link); to change that, use "
        "Columns(kinds={'id': 'number', 'url': 'text'})"
    )
    y = [1, 2] * 30
    calls: list[Callable[[], Any]] = [
        lambda: Columns().fit(table),
        lambda: NewtonLogit(levels=[1, 2], covariance="diagonal", random_state=0).fit(table, y),
        lambda: NewtonLogit(levels=[1, 2], covariance="diagonal", random_state=0).partial_fit(table, y),
        lambda: Pool(table, levels=[1, 2], random_state=0),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="nothing is learned from") as warned:
            call()
        assert [str(one.message) for one in warned] == [said]
        assert warned[0].filename == __file__, "the warning points at the caller"
    kinds = {"id": "number", "url": "shown"}
    assert Columns(kinds).fit(table).transform(table).shape == (60, 5), "nothing is said of what was asked for"


@pytest.mark.parametrize("order", [list(range(60)), np.random.default_rng(0).permutation(60).tolist()])
def test_a_column_that_the_rows_are_sorted_by_is_learned_from(order: list[int]) -> None:
    rows = [{"age": 20 + n, "town": ["Rome", "Oslo"][n % 2]} for n in order]
    y = [1 + n // 20 for n in order]
    model = Auto(levels=[1, 2, 3], random_state=0).fit(rows, y)
    for _ in range(4):
        model.partial_fit(rows, y)
    assert np.abs(model.predict(rows) - y).mean() < 0.3


def test_a_table_without_ids_warns_of_nothing() -> None:
    columns = Columns().fit([{"age": n, "no": n, "key": n, "word": "ab"[n % 2]} for n in range(60)])
    assert all(column.is_learned_from for column in columns.columns_)


@pytest.mark.parametrize("n", [4, 40])
def test_na_is_a_word_among_words_and_missing_among_numbers(n: int) -> None:
    lands = [["NA", "DE"][row % 2] if n == 4 else f"land {row // 2}" if row % 2 else "NA" for row in range(2 * n)]
    for kinds in ({}, {"land": "category"}, {"land": "text"}):
        columns = Columns(kinds).fit({"land": lands})
        assert not columns.columns_[0].missing
        rows = columns.features({"land": ["NA", "", None, lands[1]]})
        rows = rows.toarray() if columns.is_sparse_ else rows
        assert rows[0].any()
        assert not rows[1].any()
        assert not rows[2].any()
        assert (rows[0] != rows[3]).any()
        assert columns.unforeseen({"land": ["NA", "NA"]}) == []
        again = Columns.from_json(columns.to_json()).transform({"land": ["NA"]})
        assert ((again.toarray() if columns.is_sparse_ else again)[0] == rows[0]).all()
    numbers = Columns().fit({"x": ["1", "NA", "3"], "when": ["2024-05-31", "NA", "2024-05-31"]})
    assert [(column.kind, column.missing) for column in numbers.columns_] == [("number", True), ("date", True)]


def test_columns_of_earlier_versions_take_na_for_missing_as_they_did() -> None:
    for kind in ("category", "text"):
        stored = Columns({"c": kind}).fit({"c": [f"w{n}" for n in range(30)]})
        before = Columns.of([stored.columns_[0]._replace(made_by="spelling 1" if kind == "category" else "")])
        assert before.transform({"c": ["NA"]}).nnz == 0
        assert stored.transform({"c": ["NA"]}).nnz > 0
        assert (before.transform({"c": ["w7", "3.0"]}) != stored.transform({"c": ["w7", "3.0"]})).nnz == 0
    listed = Columns({"c": "category"}).fit({"c": ["a", "b", None]})
    assert listed.transform({"c": ["NA"]}).tolist() == [[0, 0, 0, 1]], "it was not among the categories"


def test_decimals_are_numbers_and_some_may_be_missing() -> None:
    values = [Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("2.5")]
    columns = Columns().fit({"price": values})
    assert columns.transform({"price": values}).tolist() == [[1.5, 0], [2, 1], [2, 1], [2.5, 0]]


@pytest.mark.parametrize("name", [0, 2019, ("a", 1)])
def test_names_that_are_not_text_are_read_as_text(name: Any) -> None:
    rows = [{name: 1.5, "b": "x"}, {name: 2.5, "b": "y"}]
    columns = Columns({name: "number"}).fit(rows)
    again = Columns.from_json(columns.to_json())
    for table in (rows, {name: [1.5, 2.5], "b": ["x", "y"]}, [{"b": "x", str(name): 1.5}, {name: 2.5, "b": "y"}]):
        if isinstance(table, list) and str(name) in table[0]:
            with pytest.raises(ValueError, match="column names must be distinct, but .* look the same"):
                columns.transform(table)
        else:
            assert (again.transform(table) == columns.transform(rows)).all()
    assert NewtonLogit(levels=[1, 2], random_state=0).fit(rows, [1, 2]).ask(rows[0]).level == 1


def test_codes_with_leading_zeros_are_not_numbers() -> None:
    assert Columns().fit([{"zip": code} for code in ["01234", "94110"] * 6]).describe()[0].kind == "category"


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (
            ["1,234", "999", "12,000"],
            "but '1,234' cannot be read as such; to have it learned from as numbers, write 1234.5, or nothing",
        ),
        (["3,5", "4,0", "2,25", "3,5"], "looks like numbers, but '3,5'"),
        (["5%", "12 %", "-3%"], "looks like numbers, but '5%'"),
        (["€ 12", "$3.50", "1.200,50 €"], "looks like numbers, but '€ 12'"),
        (["1'000", "12 000"], 'looks like numbers, but "1\'000"'),
        (["\x01" * 50, *["1:23:45"] * 20], "looks like times"),
        ([*map(str, range(19)), "unknown"], "looks like numbers, but 'unknown'"),
        *(
            ([*map(str, range(15)), *[absent] * 5], f"looks like numbers, but {absent!r}")
            for absent in ("N/A", "-", "?", "None", "NULL", "NAN")
        ),
        (["-", "?", "5"], ""),
        ([f"{n}_000" for n in range(1, 13)], "looks like numbers, but '1_000'"),
        ([f"{n}ml" for n in range(12)], "as numbers, write 1234.5 without the unit"),
        ([f"{'9' * n}ml" for n in range(27, 0, -1)], "as numbers, write 1234.5 without the unit"),
        ([f"{n}-5-2024" for n in range(1, 13)], "looks like dates, but '1-5-2024'"),
        ([f"2024-5-{n}" for n in range(1, 13)], "looks like dates, but '2024-5-1'"),
        (list(pd.period_range("2024-01", periods=12, freq="M")), "looks like dates, but '2024-01'"),
        ([f"{n}-{n + 9}" for n in range(0, 120, 10)], ""),
        (
            ["31.05.2024", "1.6.2024"],
            "but '31.05.2024' cannot be read as such; to have it learned from as dates, write 2024-05-31",
        ),
        (["05/31/2024", "06/01/24", None], "as dates"),
        (["2024/05/31", "2024-06-01", "2024/06/02 12:30"], "looks like dates, but '2024/05/31'"),
        (
            ["1:23:45", "12:30"],
            "looks like times, but '1:23:45' cannot be read as such; to have it learned from as numbers, write",
        ),
        (["1.2.3", "1.10.0"], ""),
        (["01234", "12345", "99999"], ""),
        (["+49 170 1234567", "+49 89 123"], ""),
        (["5 stars", "4 stars"], ""),
        (["1,234", "many", "a few"], ""),
        (["5", "2024-05-31"], ""),
    ],
)
def test_other_notations_are_reported_and_not_guessed(values: list[Any], hint: str) -> None:
    columns = Columns().fit([{"x": value} for value in values])
    column = columns.columns_[0]
    assert column.kind in {"text", "category"}
    assert hint in columns.describe()[0].sentence
    assert bool(column.note) == bool(hint)
    assert Columns.from_json(columns.to_json()).describe() == columns.describe()
    assert len(column.note) <= 200, "the longest that the service takes"


def test_no_hint_is_given_if_the_kind_was_given() -> None:
    assert Columns({"x": "category"}).fit([{"x": "5%"}, {"x": "6%"}]).columns_[0].note == ""


@pytest.mark.parametrize(
    ("values", "what"),
    [([1.5, None, math.inf, 3.0], "numbers, but row 3 has inf"), ([0.5, -math.inf], "numbers, but row 2 has -inf"),
     ([1.0, 1e41], "numbers, but row 2 has 1e.41"),
     ([[1.0, 2.0], [0.5, math.nan]], "vectors, but row 2 has .0.5, nan."),
     ([np.array([1.0, 2]), np.array([np.inf, 1])], "vectors, but row 2 has .inf  1.."),
     (["[1, 2]", "[1, null]"], "vectors, but row 2 has .1, null."),
     (["1", "inf", "2"], "numbers, but row 2 has inf"), (["1", "NA", "-Infinity"], "numbers, but row 3 has -Infinity"),
     (["1.5", "1e50"], "numbers, but row 2 has 1e50"), ([1, 10**50], "numbers, but row 2 has 10{39}"),
     ([Decimal("1.5"), Decimal("Infinity")], "numbers, but row 2 has Infinity"),
     ([1 + 2j, 2], "numbers, but row 1 has .1.2j."), (np.array([1, 1j]), "numbers, but row 1 has .1.0j.")],
)  # fmt: skip
def test_a_number_that_is_not_finite_never_turns_its_column_into_text(values: list[Any], what: str) -> None:
    with pytest.raises(ColumnError, match=f"column 'x' has {what}, which cannot be learned from"):
        Columns().fit({"x": values, "note": ["a word"] * len(values)})
    assert Columns({"x": "text"}).fit({"x": values}).columns_[0].kind == "text"


@pytest.mark.parametrize(
    "values", [[["a", "b"], [1, 2]], [math.inf, "many"], [[], [1]], ["inf", "1.5", "nine"], ["9" * 50, "1"] * 9]
)
def test_what_is_no_number_anyway_may_be_text(values: list[Any]) -> None:
    assert Columns().fit({"x": values}).columns_[0].kind in {"text", "category"}


def test_a_given_order_becomes_one_number() -> None:
    rows = [{"size": size} for size in ("S", "L", None, "S")]
    columns = Columns({"size": ["S", "M", "L"]}).fit(rows)
    assert columns.transform(rows).tolist() == [[0, 0], [2, 0], [2 / 3, 1], [0, 0]]
    assert columns.describe()[0].sentence.startswith("size: one of 3 ordered categories")
    with pytest.raises(ColumnError, match="column 'size' takes one of S, M; got 'L'"):
        Columns({"size": ["S", "M"]}).fit(rows)


@pytest.mark.parametrize("order", [{"S", "M", "L"}, ["S", "S", "M"], [1, 1.0], []])
def test_an_order_has_one_place_for_each_category(order: Any) -> None:
    with pytest.raises(ColumnError, match="column 'size' needs a list of distinct categories, lowest first; got"):
        Columns({"size": order}).fit([{"size": "S"}, {"size": "M"}])


@pytest.mark.parametrize("labels", [["size", "n"], [0, 1]])
def test_ordered_categories_keep_their_order_whatever_the_labels_and_values(labels: list[Any]) -> None:
    size = pd.Categorical([30, 10, 20] * 2, categories=[30, 10, 20], ordered=True)
    table = pd.DataFrame(dict(zip(labels, [size, np.arange(6) * 1.5], strict=True)))
    assert Columns().fit_transform(table)[:, 0].tolist() == [0, 1, 2] * 2


def test_columns_in_a_dict_go_by_position_and_are_equally_long() -> None:
    table = pd.DataFrame({"size": [1.0, 2.0, 4.0], "note": ["a", "b", "c"]})[::-1]
    columns = Columns({"note": ["a", "b", "c"]}).fit(table)
    assert columns.transform(dict(table)).tolist() == [[4, 2], [2, 1], [1, 0]]
    for wrong in ({"size": 1.0, "note": "a"}, table.to_dict()):
        with pytest.raises(ValueError, match="a dict must have a list of values for each column, but 'size' has"):
            columns.transform(wrong)
    with pytest.raises(ValueError, match="equally long, but 'size' has 2 values and 'note' 1$"):
        columns.transform({"size": [1, 2], "note": ["a"]})


@pytest.mark.parametrize(
    ("fitted", "later"),
    [(["true", "false"], [True, False]), ([True, "False"], ["TRUE", False]), (["1.0", "x"], [1.0, "x"]),
     ([1.0, "x"], ["1.0", "x"]), (["01", "1.0"], ["01", 1])],
)  # fmt: skip
def test_a_category_is_the_same_in_a_file_and_in_a_frame(fitted: list[Any], later: list[Any]) -> None:
    columns = Columns({"c": "category"}).fit({"c": fitted})
    assert columns.transform({"c": later}).tolist() == columns.transform({"c": fitted}).tolist()
    assert columns.features({"c": ["1.00.0", "yes", "001"]})[:, -1].tolist() == [1, 1, 1]


def test_one_of_many_categories_is_the_same_in_a_file_and_in_a_frame() -> None:
    codes = [str(code) for code in range(10_001, 10_031)] * 3
    columns = Columns({"zip": "category"}).fit({"zip": codes})
    X = columns.transform({"zip": codes})
    for later in ([f"{code}.0" for code in codes], [float(code) for code in codes]):
        assert (columns.transform({"zip": later}) != X).nnz == 0
    assert (columns.transform({"zip": ["010001"]}) != columns.transform({"zip": ["10001"]})).nnz == 2
    before = Columns.from_json(columns.to_json().replace(columns.columns_[0].made_by, ""))
    assert (before.transform({"zip": codes}) != X).nnz == 0
    assert before.transform({"zip": ["10001.0"]}).indices.tolist() == [zlib.crc32(b"zip=10001.0") % PLACES], (
        "what was stored before keeps its places"
    )


def test_a_column_without_any_known_category_is_reported() -> None:
    columns = Columns({"c": "category"}).fit([{"c": "red"}, {"c": "blue"}, {"c": None}])
    assert columns.unforeseen([{"c": "Red"}, {"c": None}, {"c": "Blue"}]) == [
        "none of the 2 values of c is one of its categories, such as 'blue'"
    ]
    assert columns.unforeseen([{"c": "Red"}, {"c": "blue"}]) == columns.unforeseen([{"c": "Red"}]) == []


COLUMN = Columns().fit([{"x": 1}]).columns_[0]._asdict()
OTHERS: list[dict[str, Any]] = [
    {"size": "x"}, {"size": -1}, {"mean": "x"}, {"mean": math.nan}, {"name": 5}, {"missing": 2}, {"kind": []},
    {"categories": [5]}, {"categories": 5}, {"surprise": 5},
]  # fmt: skip
SCALINGS: list[Any] = [
    5, {"mean": [1]}, {"mean": [1], "deviation": [1, 2]}, {"mean": [1], "deviation": [math.inf]},
    {"mean": "x", "deviation": [1]},
]  # fmt: skip


@pytest.mark.parametrize(
    "damaged",
    [
        5,
        None,
        "x",
        [5],
        {"version": 1},
        {"version": 1, "columns": 5},
        {"version": 1, "columns": [{"name": "x"}]},
        *({"version": 1, "columns": [COLUMN | other]} for other in OTHERS),
        *({"version": 1, "columns": [COLUMN], "scaling": scaling} for scaling in SCALINGS),
    ],
)
def test_damaged_columns_are_refused_in_one_sentence(damaged: Any) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        Columns.from_json(json.dumps(damaged))
    assert Columns.from_json(json.dumps({"version": 1, "columns": [COLUMN]})).columns_ == [Column(**COLUMN)]


def test_a_text_that_is_missing_everywhere_is_reported() -> None:
    columns = Columns({"text": "text"}).fit([{"text": "some words"}])
    assert columns.unforeseen([{"text": None}, {"text": "here"}]) == []
    assert columns.unforeseen([{"text": None}]) == []
    assert columns.unforeseen([{"text": None}, {"text": ""}]) == [
        "text is missing in all 2 rows, so its words say nothing here"
    ]
