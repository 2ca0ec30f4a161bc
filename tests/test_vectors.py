"""Vectors in a .npy file beside a table: one more column of it, for whatever reads the table."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dford.cli import label, main
from dford.columns import Columns
from dford.datasets import load_table
from dford.service.client.rows import as_rows

N = 60
X = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)
RATING = np.where(X[:, 0] > 0, "good", "bad")
LEVELS = ["--target", "rating", "--levels", "bad,good"]


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"name": [f"wine {n}" for n in range(N)], "rating": RATING})
    frame.to_csv("wines.csv", index=False)
    frame.to_parquet("wines.parquet")
    np.save("wines.npy", X)


@pytest.mark.parametrize("file", ["wines.csv", "wines.parquet"])
def test_vectors_beside_a_file_are_a_column_of_its_table(file: str) -> None:
    data = load_table(file, "rating", levels=["bad", "good"], kinds={"name": "shown"})
    assert data.feature_names == [f"vector[{i}]" for i in range(4)]
    assert (data.data == X).all()
    assert "vector: a vector of 4 numbers" in [one.sentence for one in data.columns.describe()]


@pytest.mark.parametrize("command", ["run", "tune", "compare"])
def test_commands_that_read_a_table_see_its_vectors(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"tune": ["--learners", "newton"], "compare": ["--learners", "newton", "--runs", "1", "--out", "out"]}
    assert main([command, "wines.csv", *LEVELS, *more.get(command, [])]) == 0
    assert "vector: a vector of 4 numbers" in capsys.readouterr().out


def test_new_rows_are_placed_by_their_vectors_which_are_not_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "wines.csv", *LEVELS, "--learner", "newton", "--kind", "name=shown", "--save", "model.dford"]
    assert main(run) == 0
    Path("new.csv").write_text("name\nplain\nfine\n")
    predict = ["predict", "model.dford", "new.csv", "--out", "levels.csv"]
    capsys.readouterr()
    assert main(predict) == 2
    said = capsys.readouterr().err
    assert "there is no column 'vector'; the columns are 'name'; vectors go into new.npy beside it" in said
    np.save("new.npy", [[-3.0, 0, 0, 0], [3.0, 0, 0, 0]])
    assert main(predict) == 0
    with open("levels.csv", newline="") as file:
        placed = list(csv.DictReader(file))
    assert [row["level"] for row in placed] == ["bad", "good"]
    assert list(placed[0]) == ["name", "level", "P(bad)", "P(good)"]


@pytest.mark.parametrize("file", ["wines.csv", "wines.parquet"])
def test_items_that_are_labelled_or_sent_have_vectors(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = [as_rows(file)]
    if file == "wines.csv":
        monkeypatch.setattr(label, "_label", lambda table, *_: seen.append(table.rows))
        assert main(["label", file, "--levels", "bad,good"]) == 0
    for rows in seen:
        columns = Columns({"name": "shown", "rating": "shown"}).fit(rows)
        assert (columns.transform(rows) == X).all()


class Runs:
    """What a pickle could do."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("run"),)


@pytest.mark.parametrize(
    ("vectors", "match"),
    [
        (X[:-1], "wines.npy beside wines.csv has 59 rows, but the table has 60"),
        (X[:, 0], r"has float32 values of the shape \(60,\)"),
        (X[:, :0], r"of the shape \(60, 0\)"),
        (X[..., None], r"of the shape \(60, 4, 1\)"),
        (X.astype("U4"), "has <U4"),
        (np.where(np.arange(N)[:, None] == 6, np.nan, X), "row 7 that are missing, infinite or too large"),
        (np.full((N, 1), -np.inf), "row 1 that are missing"),
        *(
            (damaged, r"cannot be read as numbers; write a whole array of them with numpy.save\('wines.npy', …\)$")
            for damaged in (np.array([[Runs()]] * N, dtype=object), b"PK\x03\x04", b"", b"\x93NUMPY\x01\0\x02\0{\n")
        ),
    ],
)
@pytest.mark.parametrize(
    "read", [lambda: load_table("wines.csv", "rating", levels=["bad", "good"]), lambda: as_rows("wines.csv")]
)
def test_a_file_that_does_not_fit_gets_one_sentence_and_nothing_in_it_is_run(
    vectors: Any, match: str, read: Any
) -> None:
    if isinstance(vectors, bytes):
        Path("wines.npy").write_bytes(vectors)
    else:
        np.save("wines.npy", vectors, allow_pickle=True)
    with pytest.raises(ValueError, match=match):
        read()
    assert not Path("run").exists()


def test_a_table_that_already_has_such_a_column_is_refused() -> None:
    pd.read_csv("wines.csv").assign(vector=1).to_csv("wines.csv", index=False)
    with pytest.raises(ValueError, match="becomes a column 'vector', but the table already has one; rename either"):
        load_table("wines.csv", "rating", levels=["bad", "good"])
