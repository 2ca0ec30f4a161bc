"""Language models as judges: what is loaded, and the study of what they are worth."""

import csv
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dford.cli import main
from dford.datasets import load, load_judges
from dford.datasets._catalogue import CATALOGUE
from dford.experiments.studies import judges
from dford.experiments.studies.running_error import Dataset, gather
from small_data import make_known, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))


@pytest.fixture
def given() -> Dataset:
    return gather(["judges"])["judges"]


def test_levels_of_the_person_and_the_judges_are_on_one_scale_and_queries_are_kept() -> None:
    loaded = load("judges")
    assert loaded.target[:8].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert loaded.data[:8, 0].tolist() == loaded.target[:8].tolist()
    assert loaded.data[:8, -1].tolist() == [1, 1, 1, 1, 2, 2, 3, 3]
    assert loaded.query[:3].tolist() == [0, 1, 0]
    assert loaded.passage[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("old", "new", "refused"), [("0,0,0,0", "0,0,4,0", True), ("0,0,0,0", "0,0,0,9", False)])
def test_a_judge_beyond_the_scale_counts_as_its_end_and_a_person_is_refused(old: str, new: str, refused: bool) -> None:
    object.__setattr__(CATALOGUE["judges"].files[0], "mean", "")  # it would be noticed too
    path = Path("judges/judges.csv")
    path.write_text(path.read_text().replace(old, new, 1))
    if refused:
        with pytest.raises(ValueError, match=r"judges.csv is damaged or a different file \(row 1 has no whole numbers"):
            load_judges()
    else:
        assert load_judges().data[0, 0] == 4


def test_which_judges_take_part_and_how() -> None:
    names = [f"judge{n}" for n in range(20)]
    assert judges._taking_part("none", names) == ([], [])
    assert judges._taking_part("one-columns", names) == (names[:1], [])
    assert judges._taking_part("alike-programs", names) == ([], names[:5])
    assert judges._taking_part("twenty-both", names) == (names, names[:5])


@pytest.mark.parametrize("way", ["none", "five-columns", "five-programs", "twenty-both", "trees", "boosting"])
def test_right_answers_bring_pairs_to_their_levels(way: str, given: Dataset) -> None:
    with threadpool_limits(1):
        records = judges.place("judges", way, given, True, 40, 0, 0)
    assert [record["answers"] for record in records] == [0, 0.25, 0.5, 1, 1.5]
    errors = [record["mae"] for record in records]
    assert errors[-1] < 0.4
    if way != "none":
        assert errors[0] < 1, "judges are at most a level off"


def test_labels_cost_two_answers_each_of_four_levels_and_halving_needs_two(given: Dataset) -> None:
    y = np.tile([1, 2, 3, 4], 10)
    said = {f"judge{n}": y.copy() for n in range(3)}
    pairs = judges.Judged(said, y, None, 4, 0)
    for way in (judges.TREES, judges.BOOSTING):
        *_, half, all_bought = judges._by_labels(pairs, way, [0, 40, 80])
        assert half[:20].tolist() == y[:20].tolist(), "labels that are bought are right"
        assert all_bought.tolist() == y.tolist()
    start, *_, end = judges._by_bisection(pairs, [0, 40, 80])
    assert len(set(start.tolist())) == 1
    assert end.tolist() == y.tolist()


def test_the_command_writes_a_row_for_every_way_with_and_without_the_query() -> None:
    words = ["compare", "--study", "judges", "--rounds", "24", "--runs", "1", "--out", "out"]
    assert main([*words, "--learners", "bisection,trees,five-programs"]) == 0
    with open("out/judges.csv", encoding="utf-8") as file:
        cells = {(row["way"], row["query"]) for row in csv.DictReader(file)}
    assert cells == {("bisection", "False")} | {
        (way, query) for way in ("trees", "five-programs") for query in ("False", "True")
    }
    assert "| five | programs | yes |" in Path("out/judges.md").read_text()
