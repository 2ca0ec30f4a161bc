"""`dford predict`: a user's own table, texts and all, from `dford run --save` to the levels of new rows."""

import csv
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dford
from dford.cli import main
from dford.columns.values import is_missing
from dford.datasets import load_table
from dford.learners import loads

UNLEARNED = pytest.mark.filterwarnings("ignore:nothing is learned from 'id'")
LEVELS = ["bad", "ok", "good"]
TONES = {"awful": -2, "bad": -1, "dull": -1, "fine": 1, "good": 1, "superb": 2}
RUN = ["run", "old.csv", "--target", "rating", "--levels", "bad,ok,good", "--save", "model.dford"]


def rows(first: int, last: int) -> list[dict[str, Any]]:
    """Things whose rating depends on a text and a size, which is sometimes missing."""
    random, found = np.random.default_rng(first), []
    for n in range(first, last):
        one, other = random.choice(list(TONES), 2)
        z = random.normal()
        size = "" if random.random() < 0.1 else f"{100 + 3 * z:.2f}"
        rating = LEVELS[int(np.digitize(TONES[one] + TONES[other] + z, [-1, 1]))]
        review = f'It was {one}, I "said"; and then {other}'
        found.append({"id": f"item-{n}", "review": review, "size": size, "zip": f"0{n % 3}", "rating": rating})
    return found


def write(path: str, table: list[dict[str, Any]], delimiter: str = ",") -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(table[0]), delimiter=delimiter)
        out.writeheader()
        out.writerows(table)


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("old.csv", rows(0, 600))
    write("new.csv", rows(600, 800))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the command saves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("trained"))
        write("old.csv", rows(0, 600))
        assert main(RUN) == 0
        return Path("model.dford").read_bytes()


@pytest.fixture
def _model(_tables: None, trained: bytes) -> None:
    """There is a model already."""
    Path("model.dford").write_bytes(trained)


def error(levels: Any, right: Any) -> float:
    return float(np.abs(pd.Series(levels).map(LEVELS.index) - pd.Series(right).map(LEVELS.index)).mean())


def test_a_table_with_texts_ids_and_missing_values_is_learned_and_new_rows_are_placed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(RUN) == 0
    output = capsys.readouterr().out
    for words in (
        "id: shown, not learned from: it is the id of each row",
        "review: text, learned from through its words and their parts",
        "size: a number; missing values are learned from, too",
        "rating: shown, not learned from: it is the target",
    ):
        assert words in output
    assert main(["predict", "model.dford", "new.csv", "--out", "there/levels.csv"]) == 0
    assert "200 levels: there/levels.csv" in capsys.readouterr().out
    with open("there/levels.csv", newline="", encoding="utf-8") as file:
        placed = list(csv.DictReader(file))
    names = ["id", "review", "size", "zip", "rating"]
    assert list(placed[0]) == [*names, "level", "P(bad)", "P(ok)", "P(good)"]
    assert [{name: row[name] for name in names} for row in placed] == rows(600, 800), "as they were written"
    right = [row["rating"] for row in placed]
    assert error([row["level"] for row in placed], right) < 0.6 * min(error([k] * 200, right) for k in LEVELS)
    for row in placed:
        assert sum(float(row[f"P({level})"]) for level in LEVELS) == pytest.approx(1)


@pytest.mark.parametrize("learner", ["newton", "dford", "prank", "pril"])
@UNLEARNED
def test_learners_of_features_keep_their_columns_and_how_rows_were_scaled(learner: str) -> None:
    assert main([*RUN, "--learner", learner, "--kind", "zip=category"]) == 0
    assert main(["predict", "model.dford", "new.csv", "--out", "levels.parquet"]) == 0
    placed = pd.read_parquet("levels.parquet")
    assert placed["size"].dtype == np.float64
    assert placed["zip"].tolist()[:3] == ["00", "01", "02"]
    assert ("P(ok)" in placed) == (learner == "newton")
    if learner != "pril":  # asks only about its prediction, and ends at the top
        assert error(placed.level, placed.rating) < 0.8 * min(error([k] * 200, placed.rating) for k in LEVELS)
    model: Any = dford.load("model.dford")
    data = load_table("old.csv", "rating", levels=LEVELS, kinds={"zip": "category"})
    dense = data.data[:, : data.columns.n_dense_].toarray()
    np.testing.assert_allclose(model.columns_.scaling_.mean, dense.mean(axis=0))


@pytest.mark.parametrize("learner", ["newton", "dford", "pril"])
@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "texts"])
def test_rows_mean_the_same_as_a_table_an_array_or_an_answered_question(learner: str, texts: bool) -> None:
    """A model that scales its features does so however they arrive, and logs have them as they were."""
    kinds = ["--kind", "zip=category", *([] if texts else ["--kind", "review=shown"])]
    assert main([*RUN, "--learner", learner, *kinds]) == 0
    model: Any = dford.load("model.dford")
    table = [{name: value for name, value in row.items() if name != "rating"} for row in rows(600, 650)]
    features = model.columns_.transform(table)
    expected = model.predict_projection(table)
    assert np.array_equal(model.predict_projection(features), expected)
    assert np.abs(features[:, 0]).max() > 1, "they are not scaled yet"
    log = dford.FeedbackLog(model.classes_.tolist(), model.columns_.feature_names())
    before = model.to_bytes()
    for row, one in enumerate(table):
        question = model.ask(one if row % 2 else features[row])
        assert (question.x != features[row]).sum() == 0
        model.tell(question, row % 3 == 0)
        log.append(question, row % 3 == 0)
    again: Any = loads(before, "model")
    again.replay(log)
    assert np.array_equal(again.predict_projection(table), model.predict_projection(table))


@pytest.mark.usefixtures("_model")
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_semicolons_and_tabs_are_recognised(delimiter: str) -> None:
    assert main(["predict", "model.dford", "new.csv", "--out", "commas.csv"]) == 0
    write("old.csv", rows(0, 600), delimiter)
    write("new.csv", rows(600, 800), delimiter)
    assert main([*RUN[:-1], "other.dford"]) == 0
    assert Path("other.dford").read_bytes() == Path("model.dford").read_bytes()
    assert main(["predict", "other.dford", "new.csv", "--out", "levels.csv"]) == 0
    assert Path("levels.csv").read_text() == Path("commas.csv").read_text()


def test_the_kind_of_a_column_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--kind", "review=shown", "--kind", "zip=category", "--learner", "boosting"]) == 0
    output = capsys.readouterr().out
    assert "review: shown, not learned from: as requested" in output
    assert "zip: one of 3 categories" in output
    assert main([*RUN, "--learner", "boosting"]) == 2
    assert "DirectionalBoosting does not learn from texts such as 'review'; use Auto" in capsys.readouterr().err


@pytest.mark.usefixtures("_model")
def test_columns_that_are_not_learned_from_need_not_be_there() -> None:
    write("new.csv", [{name: row[name] for name in ("zip", "size", "review")} for row in rows(600, 610)])
    assert main(["predict", "model.dford", "new.csv", "--out", "levels.csv"]) == 0


@pytest.mark.usefixtures("_model")
@pytest.mark.parametrize(
    ("change", "more", "about"),
    [
        (lambda row: row.pop("review"), [], "no column 'review'"),
        (lambda row: row.update(size="big"), [], "column 'size' takes a number; got 'big'"),
        (lambda row: row.update(price=1, weight=2), [], "columns 'price', 'weight' were not there"),
        (lambda row: row.update(stars=1, weight=2), ["--target", "stars"], "column 'weight' was not there"),
        (lambda row: row.update(level=1), ["--target", "level"], "already has a column 'level'"),
        (lambda row: row.clear(), [], "new.csv"),
    ],
)
def test_a_missing_or_strange_column_gets_one_sentence_and_nothing_is_written(
    change: Any, more: list[str], about: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = rows(600, 610)
    for row in table:
        change(row)
    write("new.csv", table)
    assert main(["predict", "model.dford", "new.csv", "--out", "levels.csv", *more]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"dford: [^\n]+\n", said)
    assert about in said
    assert not Path("levels.csv").exists()


@pytest.mark.usefixtures("_model")
@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["no.dford", "new.csv", "--out", "levels.csv"], "no model no.dford"),
        (["new.csv", "new.csv", "--out", "levels.csv"], "is not a dford file"),
        (["model.dford", "no.csv", "--out", "levels.csv"], "no file no.csv"),
        (["model.dford", "new.csv", "--out", "levels.txt"], "levels.txt"),
        (["model.dford", "new.csv"], "--out"),
        (["numbers.dford", "new.csv", "--out", "levels.csv"], "numbers.dford does not know its columns"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str], about: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dford.NewtonLogit(random_state=0).fit([[1.0], [2.0], [3.0]], [1, 2, 3]).save("numbers.dford")
    assert main(["predict", *arguments]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"dford: [^\n]+\n", said)
    assert about in said


@UNLEARNED
def test_a_model_trained_on_a_frame_places_rows_too() -> None:
    table = pd.DataFrame(rows(0, 300))
    dford.Auto(levels=LEVELS, random_state=0).fit(table.drop(columns="rating"), table.rating).save("model.dford")
    assert main(["predict", "model.dford", "new.csv", "--out", "levels.csv", "--target", "rating"]) == 0
    new = pd.DataFrame(rows(600, 800))
    expected = dford.load("model.dford").predict(new.drop(columns="rating"))
    assert pd.read_csv("levels.csv").level.tolist() == expected.tolist()


def save_model(table: dict[str, list[Any]]) -> None:
    n = len(next(iter(table.values())))
    dford.NewtonLogit(random_state=0).fit(
        [{name: table[name][i] for name in table} for i in range(n)], [1, 2] * (n // 2)
    ).save("model.dford")


def test_what_has_a_type_in_parquet_keeps_it() -> None:
    exact = [Decimal(f"12345678901234567.{i:03}") for i in range(20)]
    flags = [None if i % 5 == 0 else bool(i % 2) for i in range(20)]
    texts = {"phone": [f"+49170{i * i}" for i in range(20)], "size": [f"{i * 7 % 5}.20" for i in range(20)]}
    table: dict[str, list[Any]] = {"price": exact, **texts, "flag": flags, "c": ["u", "v"] * 10}
    save_model(table)
    parquet.write_table(pa.table(table), "new.parquet")
    assert main(["predict", "model.dford", "new.parquet", "--out", "levels.parquet"]) == 0
    assert parquet.read_table("levels.parquet").select(list(table)).to_pydict() == table


@pytest.mark.parametrize(("most", "kind"), [(2**63 - 1, "int64"), (2**64 - 1, "uint64"), (2**64, "str")])
def test_whole_numbers_in_a_csv_file_stay_exact_in_parquet(most: int, kind: str) -> None:
    save_model({"n": [n * n for n in range(12)], "c": ["u", "v"] * 6})
    Path("new.csv").write_text(f"n,c\n{most},u\n3,v\n")
    assert main(["predict", "model.dford", "new.csv", "--out", "levels.parquet"]) == 0
    placed = pd.read_parquet("levels.parquet")["n"]
    assert list(map(str, placed)) == [str(most), "3"]
    assert kind == "str" or placed.dtype == kind


def test_vectors_and_carriage_returns_are_read_again_from_csv() -> None:
    random = np.random.default_rng(0)
    table = {
        "v": random.normal(size=(20, 1_100)).tolist(),
        "note": [f"line {i}\rand another of {i}" for i in range(20)],
    }
    save_model(table)
    parquet.write_table(pa.table(table), "new.parquet")
    assert main(["predict", "model.dford", "new.parquet", "--out", "levels.csv"]) == 0
    with open("levels.csv", newline="", encoding="utf-8") as file:
        placed = list(csv.DictReader(file))
    assert [json.loads(row["v"]) for row in placed] == table["v"]
    assert [row["note"] for row in placed] == table["note"]


@pytest.mark.filterwarnings("ignore:n is missing in 1 of 3 rows")
@pytest.mark.parametrize("out", ["levels.csv", "levels.parquet"])
@pytest.mark.parametrize(("file", "indexed"), [("new.csv", False), ("new.parquet", False), ("new.parquet", True)])
@UNLEARNED
def test_whole_numbers_stay_exact_even_where_some_are_missing(file: str, indexed: bool, out: str) -> None:
    table = [{"n": 2 * n, "id": f"x{n}"} for n in range(12)]
    dford.NewtonLogit(random_state=0).fit(table, [1, 2] * 6).save("model.dford")
    large = 2**53 + 1
    Path("new.csv").write_text(f"n,id\n{large},7\nNA,{large}\n\u0663,\n", encoding="utf-8")
    parquet.write_table(pa.table({"n": [large, None, 3], "id": [7, large, None]}), "new.parquet")
    if indexed:
        pd.read_parquet("new.parquet", dtype_backend="numpy_nullable").set_index("id").to_parquet("new.parquet")
    assert main(["predict", "model.dford", file, "--out", out]) == 0
    placed = pd.read_csv(out, dtype=str) if out == "levels.csv" else pd.read_parquet(out)
    three = "\u0663" if (file, out) == ("new.csv", "levels.csv") else "3"  # as it was written, or as a number
    for column, expected in ((placed["n"], [str(large), None, three]), (placed["id"], ["7", str(large), None])):
        assert [None if is_missing(value) else str(value) for value in column] == expected
