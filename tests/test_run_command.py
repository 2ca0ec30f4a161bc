"""`dford run`: a user's own table."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dford
from dford import FeedbackLog
from dford.cli import main
from dford.columns.scaling import scaled_as_they_come
from dford.datasets import load_table
from dford.experiments.one_pass import SCALED, one_pass
from dford.files import csv_lines
from dford.learners import LEARNERS
from dford.service.client.rows import as_rows

WORDS = ["bad", "ok", "good"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    size, colour = random.normal(size=400), random.choice(["red", "blue"], size=400)
    score = size + (colour == "red") + 0.1 * random.normal(size=400)
    rating = np.array(WORDS)[np.digitize(score, [0.0, 1.0])]
    path = tmp_path / "things.csv"
    pd.DataFrame({"size": size, "colour": colour, "score": score, "rating": rating}).to_csv(path, index=False)
    return path


def without(table: Path, column: str) -> Path:
    path = table.with_name(f"no-{column}.parquet")
    pd.read_csv(table).drop(columns=column).to_parquet(path)
    return path


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns_a_table(learner: str, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", str(without(table, "score")), "--target", "rating", "--levels", "bad, ok, good"]
    assert main([*arguments, "--learner", learner]) == 0
    output = capsys.readouterr().out
    data = load_table(without(table, "score"), "rating", levels=WORDS)
    done = one_pass(data.data, data.target, WORDS, learner, columns=data.columns)
    last = re.findall(r"^ *400 +(\d\.\d{3})", output, re.MULTILINE)
    assert last == [f"{done.errors.mean():.3f}"]
    constant = float(re.findall(r"single best level: (\d\.\d{3})", output)[0])
    if learner != "pril":  # asks only about its prediction, and ends at the top
        assert done.errors[200:].mean() < constant


def test_words_become_columns_and_levels_keep_their_order(table: Path) -> None:
    data, frame = load_table(table, "rating", levels=WORDS), pd.read_csv(table)
    assert data.feature_names == ["size", "colour=blue", "colour=red", "colour is another", "score"]
    assert data.target_names == WORDS
    assert data.target.tolist() == frame["rating"].tolist()
    assert (data.data[:, 2] == (frame["colour"] == "red")).all()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--cuts", "7,9,12", [1, 1, 2, 3, 4, 4]),
        ("--steps", "5", [1, 2, 2, 2, 3, 4]),
        ("--equal-frequency", "3", [1, 1, 2, 2, 3, 3]),
        (None, None, [5, 7, 9, 10, 13, 20]),
    ],
)
def test_numbers_become_levels(
    option: str | None, value: str, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "six.csv"
    pd.DataFrame({"x": range(6), "y": [5, 7, 9, 10, 13, 20]}).to_csv(table, index=False)
    seen: list[Any] = []

    def noted(X: Any, y: Any, *rest: Any, **more: Any) -> Any:
        seen.append(y.tolist())
        return one_pass(X, y, *rest, **more)

    monkeypatch.setattr("dford.experiments.one_pass.one_pass", noted)
    assert main(["run", str(table), "--target", "y", *([option, value] if option else [])]) == 0
    assert seen == [expected]


def test_a_level_above_the_last_cut_is_one_even_if_it_never_occurs(tmp_path: Path) -> None:
    table, model = tmp_path / "six.csv", tmp_path / "model.dford"
    pd.DataFrame({"x": [0, 2, 1, 5, 3, 9], "y": [5, 7, 9, 10, 13, 20]}).to_csv(table, index=False)
    assert main(["run", str(table), "--target", "y", "--cuts", "7,9,12,40", "--save", str(model)]) == 0
    assert dford.load(model).classes_.tolist() == [1, 2, 3, 4, 5]


def test_levels_that_are_numbers_are_exact(tmp_path: Path) -> None:
    (file := tmp_path / "large.csv").write_text("".join(["x,y\n", *(f"{n * n},{2**53 + n}\n" for n in range(4))]))
    assert load_table(file, "y").target_names == [2**53 + n for n in range(4)]
    (file := tmp_path / "words.csv").write_text("x,y\n1,1_0\n2,20\n")
    with pytest.raises(ValueError, match="y contains words"):
        load_table(file, "y")


def test_a_saved_model_is_judged_by_answers(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, log = str(tmp_path / "model.dford"), str(tmp_path / "log.csv")
    options = ["--target", "rating", "--levels", "bad,ok,good", "--learner", "newton", "--save", model, "--log", log]
    assert main(["run", str(without(table, "score")), *options]) == 0
    capsys.readouterr()
    assert main(["evaluate", log, model]) == 0
    assert "mean absolute error" in capsys.readouterr().out


def test_model_and_answers_are_saved(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, log = tmp_path / "new" / "things.dford", tmp_path / "new" / "log.parquet"
    arguments = ["run", str(table), "--target", "rating", "--levels", "bad,ok,good", "--shuffle", "--seed", "3"]
    assert main([*arguments, "--save", str(model), "--log", str(log)]) == 0
    answers = FeedbackLog.read(log, WORDS)
    assert len(answers) == 400 == dford.load(model).rounds_
    data = load_table(table, "rating", levels=WORDS)
    order = np.random.RandomState(3).permutation(400)
    assert (data.data[order] == answers.X).all()
    labels, asked = (answers.scale.encode(names) for names in (data.target[order], answers.level))
    assert (answers.higher == (labels > asked)).all()
    assert f"Model: {model}" in capsys.readouterr().out


def test_whoever_reads_the_output_may_stop_and_nothing_is_lost(table: Path) -> None:
    words = ["run", table.name, "--target", "rating", "--levels", "bad,ok,good", "--learner", "newton"]
    command = [sys.executable, "-m", "dford", *words, "--save", "model.dford", "--log", "answers.csv"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=table.parent, **pipe) as process:  # type: ignore[call-overload]
        process.stdout.close()
        assert (process.stderr.read(), process.wait(600)) == (b"", 0)
    assert len(FeedbackLog.read(table.with_name("answers.csv"), WORDS)) == 400
    assert dford.load(table.with_name("model.dford")).rounds_ == 400


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["no.csv", "--target", "rating"], "no.csv"),
        (["things.csv"], "--target"),
        (["things.csv", "--target", "taste"], "taste"),
        (["things.csv", "--target", "rating"], "lowest first"),
        (["things.csv", "--target", "score"], "different numbers"),
        (["things.csv", "--target", "rating", "--levels", "bad,good"], "'ok'"),
        (["things.csv", "--target", "rating", "--levels", "bad,ok,good,"], "such as low,high; got 'bad,ok,good,'"),
        (["things.csv", "--target", "rating", "--levels", ""], "such as low,high; got ''"),
        (["things.csv", "--target", "score", "--cuts", "a,b"], "--cuts"),
        (["things.csv", "--target", "score", "--cuts", "2,1"], "cuts"),
        (["things.csv", "--target", "score", "--cuts", ",".join(map(str, range(100)))], "--cuts: this would make more"),
        (["things.csv", "--target", "score", "--equal-frequency", "101"], "more levels than the 100 that are possible"),
        (["things.csv", "--target", "score", "--equal-frequency", "1000000000000"], "--equal-frequency: this would"),
        (["things.csv", "--target", "score", "--steps", "1e-9"], "--steps: this would make more levels than the 100"),
        (["things.csv", "--target", "score", "--steps", "1e-320"], "--steps: this would make more levels than the 100"),
        (["hundred.csv", "--target", "y", "--steps", "1"], "--steps: this would make more levels than the 100"),
        (["things.csv", "--target", "score", "--steps", "0"], "--steps"),
        (["things.csv", "--target", "score", "--steps", "1", "--cuts", "1"], "--steps"),
        (["things.csv", "--target", "score", "--steps", "1", "--learner", "oracle"], "--learner"),
        (["things.csv", "--target", "score", "--steps", "1", "--learner", "no.py:Mine"], "no file no.py"),
        (["things.csv", "--target", "score", "--steps", "1", "--kind", "size"], "COLUMN=KIND"),
        (["things.csv", "--target", "score", "--steps", "1", "--kind", "size=big"], "COLUMN=KIND"),
        (["things.csv", "--target", "score", "--steps", "1", "--kind", "length=text"], "no column 'length'"),
        (["things.csv", "--target", "score", "--steps", "1", "--kind", "colour=number"], "should be numbers"),
        (["things.csv", "--target", "score", "--steps", "1", "--kind", "score=text"], "is the target"),
        (["things.csv", "--target", "score", "--steps", "1", "--learner", "prank", "--log", "l.csv"], "--log"),
        (["things.csv", "--target", "score", "--steps", "1", "--log", "l.txt"], "--log"),
        (["things.txt", "--target", "score"], "things.txt"),
        (["holes.csv", "--target", "y"], "missing in 1 of 3 rows"),
        (["ragged.csv", "--target", "y"], "row 1 has 1 values but the header has 2 columns"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str],
    about: str,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(table.parent)
    pd.DataFrame({"x": [1.0, 3.0, 2.0], "y": [1, None, 3]}).to_csv("holes.csv", index=False)
    Path("ragged.csv").write_text("x,y\n1\n")
    Path("hundred.csv").write_text("x,y\n1,0.5\n2,100.4\n")  # 101 levels
    before = sorted(table.parent.iterdir())
    assert main(["run", *arguments]) == 2
    output = capsys.readouterr()
    assert re.fullmatch(r"dford: [^\n]+\n", output.err)
    assert about in output.err
    assert sorted(table.parent.iterdir()) == before


def test_scaling_uses_nothing_from_the_future() -> None:
    X = np.random.default_rng(0).normal(loc=1e6, size=(50, 3))
    scaled = scaled_as_they_come(X)
    assert np.array_equal(scaled_as_they_come(X[:20]), scaled[:20])
    z = (X[29] - X[:30].mean(axis=0)) / X[:30].std(axis=0)
    np.testing.assert_allclose(scaled[29], z / np.linalg.norm(z), rtol=1e-6)
    assert set(SCALED) < set(LEARNERS)


def test_levels_are_named_as_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    for written, levels, expected in [
        (["None", "Mild", "NA"], ["None", "Mild", "NA"], ["None", "Mild", "NA"]),
        (["01", "02", "03"], ["01", "02", "03"], ["01", "02", "03"]),
        (["3", "1", "2"], ["3", "2", "1"], [3, 1, 2]),
        (["3.0", "1.0", "2.0"], ["3", "2", "1"], [3, 1, 2]),
        (["0.5", "1", "2"], ["0.5", "1", "2"], [0.5, 1, 2]),
    ]:
        file.write_text("x,rating\n" + "".join(f"{n},{name}\n" for n, name in enumerate(written)))
        assert load_table(file, "rating", levels=levels).target.tolist() == expected
    with pytest.raises(ValueError, match="has 0.5, which is not one of the levels 1, 2"):
        load_table(file, "rating", levels=["1", "2"])


def test_a_missing_word_is_a_feature_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("colour,rating\nred,1\n,2\nblue,1\n")
    data = load_table(file, "rating")
    assert data.feature_names == ["colour=blue", "colour=red", "colour is another", "colour is missing"]
    assert data.data.tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]


def test_a_feature_named_like_a_column_of_the_log_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.csv"
    file.write_text("level,rating\n" + "".join(f"{n},{1 + n % 2}\n" for n in range(9)))
    out = tmp_path / "log.csv"
    assert main(["run", str(file), "--target", "rating", "--learner", "newton", "--log", str(out)]) == 2
    assert "its own column 'level'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "ratings",
    [["1", "NA", "2"], ["1", " ", "2"], pd.array([1, None, 2], "Int64"), pd.array(["a", None, "b"], "string")],
)
def test_a_missing_level_is_called_missing(ratings: Any, tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pd.DataFrame({"x": [1, 2, 3], "rating": ratings}).to_parquet(file)
    with pytest.raises(ValueError, match="the rating is missing in 1 of 3 rows"):
        load_table(file, "rating", levels=["a", "b"])


def test_a_named_index_is_a_column_and_another_is_none(tmp_path: Path) -> None:
    file, table = tmp_path / "table.PARQUET", pd.DataFrame({"title": ["a", "b"], "x": [1.5, 2.5], "rating": [1, 2]})
    for indexed, expected in [
        (table, ["title", "x", "rating"]),
        (table.set_index("title"), ["x", "rating", "title"]),
        (table[::-1], ["title", "x", "rating"]),
        (table.rename_axis("n"), ["title", "x", "rating"]),
        (table.set_index(["title", [7, 9]]), ["x", "rating", "title"]),
        (table.set_index(pd.Index([7, 9], name="x")), ["title", "x", "rating"]),
    ]:
        indexed.to_parquet(file)
        columns = {one.column for one in load_table(file, "rating").columns.describe()}
        assert columns == set(expected)
        assert [list(row) for row in as_rows(file)] == [expected] * 2
    assert as_rows(file)[0] == {"title": "a", "x": 1.5, "rating": 1}


def test_a_dict_of_columns_is_sent_as_rows() -> None:
    columns = {"title": ["a", "NA"], "x": np.array([1.5, np.nan]), "price": [Decimal("sNaN"), Decimal("2.5")]}
    assert as_rows(columns) == [{"title": "a", "x": 1.5, "price": None}, {"title": "NA", "x": None, "price": 2.5}]
    with pytest.raises(TypeError, match=r"a LazyFrame has no rows yet; pass what its .collect\(\) returns"):
        as_rows(pl.LazyFrame(columns | {"price": [1, 2]}))


def test_the_columns_that_are_there_are_quoted(tmp_path: Path) -> None:
    file = tmp_path / "TABLE.CSV"
    file.write_text("size ,stars\n1.5,1\n")
    with pytest.raises(ValueError, match=r"TABLE.CSV has no column 'size'; it has 'size ', 'stars'"):
        load_table(file, "size")


def test_an_empty_line_is_a_missing_value_if_there_is_only_one_column() -> None:
    for end in ("\n", "\r\n"):
        lines = csv_lines(end.join(["x", "1", "", '""', "5", "", ""]).encode())
        assert list(lines) == [["x"], ["1"], [""], [""], ["5"]], "but none at the end of the file"
    assert list(csv_lines(b"x,y\n1,2\n\n3,4\n\n")) == [["x", "y"], ["1", "2"], ["3", "4"]]


def test_a_value_may_be_long_but_not_endless() -> None:
    (_, (value, _)) = csv_lines(b'x,y\n"' + b"a" * 1_000_000 + b'",2')
    assert len(value) == 1_000_000
    with pytest.raises(ValueError, match=r"^row 1 has a value of more than 10,000,000 characters; shorten it"):
        list(csv_lines(b'x,y\n"' + b"a" * 10_000_001))


def test_the_header_is_the_first_line_that_is_not_empty(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("\n\nsize;rating\n1.5;1\n2.5;2\n")
    assert load_table(file, "rating").feature_names == ["size"]


@pytest.mark.parametrize("learner", ["auto", "dford", "newton"])
def test_a_model_that_starts_over_reads_and_scales_its_table_as_before(
    learner: str, table: Path, tmp_path: Path
) -> None:
    file, answers = tmp_path / "model.dford", tmp_path / "log.csv"
    words = ["run", str(without(table, "score")), "--target", "rating", "--levels", "bad,ok,good"]
    assert main([*words, "--learner", learner, "--save", str(file), "--log", str(answers)]) == 0
    X = pd.read_csv(table)[["size", "colour"]]
    model, log = dford.load(file), FeedbackLog.read(answers, WORDS)
    again = dford.load(file).fit_log(log)
    assert again.rounds_ == 400
    assert (again.columns_.transform(X) == model.columns_.transform(X)).all()
    right = log.scale.encode(pd.read_csv(table)["rating"])
    error = np.abs(log.scale.encode(again.predict(X)) - right).mean()
    assert error < 0.75 * np.abs(2 - right).mean(), "better than always the same level"
    infinite = again.columns_.transform(X[:1])
    infinite[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        again.predict(infinite)
