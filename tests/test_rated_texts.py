"""Texts that several people rated: loaded, learned from and placed by their own answers."""

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dford import Auto
from dford.cli import main
from dford.datasets import load, load_rated_texts
from dford.experiments.studies import placement_error
from dford.experiments.studies.running_error import Dataset, Raters, gather
from small_data import TONES, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))


@pytest.mark.parametrize("name", ["movies", "tweets"])
def test_the_level_is_that_of_the_median_and_every_rating_is_kept(name: str) -> None:
    loaded = load(name)
    words = [row["text"].split()[-1] for row in loaded.data]
    assert loaded.target.tolist() == [1 + list(TONES).index(word) for word in words]
    assert loaded.ratings[0].tolist() == [-3, -3, -3, -2, -4, 3]
    assert len(loaded.ratings) == len(loaded.ids) == len(loaded.data) == 300
    frame = load_rated_texts(name, as_frame=True)
    assert isinstance(frame.data, pd.DataFrame)
    assert frame.data.text.tolist() == [row["text"] for row in loaded.data]
    predicted = Auto(random_state=0).fit(loaded.data, loaded.target).predict(frame.data)
    constant = np.abs(loaded.target - 3).mean()
    assert np.abs(predicted - loaded.target).mean() < constant / 2


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("id,text\n1,good\n", "no column ratings"),
        ("id,text,ratings\n1,good,3 x\n", "row 1 has the ratings '3 x'"),
        ("id,text,ratings\n1,good,\n", "row 1 has the ratings ''"),
        ("id,text,ratings\n1,good\n", "row 1 has 2 values but the header has 3 columns"),
    ],
)
def test_a_bad_file_is_refused_with_what_is_wrong(content: str, about: str) -> None:
    Path("rated_texts/movies.csv").write_text(content)
    with pytest.raises(ValueError, match=about):
        load_rated_texts("movies")


def test_a_missing_file_or_an_unknown_name_is_reported() -> None:
    with pytest.raises(ValueError, match="no rated texts 'poems'; choose from movies, tweets"):
        load_rated_texts("poems")
    Path("rated_texts/movies.csv").unlink()
    with pytest.raises(FileNotFoundError, match="no movies.csv in .*; put your own file there, with the columns"):
        load_rated_texts("movies")


def test_an_answer_is_one_persons_and_people_differ() -> None:
    raters = Raters([np.array([-1.0, 2.0, 2.0, 2.0])], [-1.75, -0.25, 0.25, 1.75])
    random = np.random.default_rng(0)
    said = [[raters.say_above(0, level, random) for _ in range(400)] for level in (1, 2, 3, 4)]
    assert all(said[0])
    for level in said[1:]:
        assert abs(np.mean(level) - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 400)


def test_texts_are_compared_and_placed_by_people_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--datasets", "movies,synthetic", "--rounds", "300", "--runs", "1", "--out", "out"]) == 0
    with open("out/pass.csv", encoding="utf-8") as file:
        played = {(row["dataset"], row["learner"]) for row in csv.DictReader(file)}
    assert ("synthetic", "boosting") in played
    assert ("movies", "boosting") not in played, "trees alone do not learn from texts"
    assert {("movies", "auto"), ("movies", "newton")} <= played
    words = ["compare", "--study", "pool", "--datasets", "movies", "--rounds", "60", "--runs", "1", "--out", "out"]
    assert main(words) == 0
    with open("out/pool.csv", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    assert {row["wrong"] for row in records} == {"people"}
    assert {row["way"] for row in records} == {"pool", "bisection", "learner"}
    assert "each by one of the people who rated it" in Path("out/pool.md").read_text()
    assert Path("out/pool.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert main([*words, "--learners", "oracle"]) == 2


def test_more_answers_from_people_place_texts_better() -> None:
    given: Dataset = gather(["movies"])["movies"]
    records = placement_error.place("movies", "pool", given, 100, placement_error.PEOPLE, 0, 0)
    errors = {record["answers"]: record["mae"] for record in records}
    assert errors[4.0] < 0.5 * errors[0.5]
    assert errors[4.0] < 0.5
