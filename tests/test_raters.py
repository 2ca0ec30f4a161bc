"""Labels by people who are told apart: what is loaded, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from dford.datasets import load, load_offensive, load_raters
from dford.datasets._catalogue import CATALOGUE
from small_data import make_known, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))


def test_items_count_from_0_in_the_order_of_their_numbers_and_people_keep_their_names() -> None:
    loaded = load("raters")  # of items 91 to 100, in the file from the last to the first
    assert loaded.people == ["3", "5", "7"]
    assert loaded.labels[:4].tolist() == [[9, 2, 1], [9, 0, 1], [9, 1, 1], [8, 2, 2]]
    assert loaded.labels[-1].tolist() == [9, 0, 2], "a second label of the same person"
    assert loaded.gold == {7: 3, 6: 4}, "of items that somebody labelled"
    assert loaded.data.shape == (10, 0)
    assert loaded.target.tolist() == [2, 1, 4, 3, 2, 1, 4, 3, 2, 1], "for 1, 1, 1 and 2 it is 1"


def test_files_are_also_found_directly_in_the_folder() -> None:
    for name in ("labels.csv", "gold.csv"):
        Path("raters", name).rename(name)
    np.testing.assert_array_equal(load_raters(data=".").labels[0], [9, 2, 1])


@pytest.mark.parametrize(("old", "new"), [("7,100,1\n", "7,100,1.5\n"), ("7,100,1\n", "7,100,5\n")])
def test_what_is_not_a_label_is_refused_with_its_row(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dford.datasets import _catalogue

    for file in _catalogue.CATALOGUE["raters"].files:
        object.__setattr__(file, "mean", "")  # it would be noticed too
    path = Path("raters/labels.csv")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=r"labels.csv is damaged or a different file \(row 1 has no whole numbers"):
        load_raters()


def test_a_file_with_other_rows_is_refused_and_a_missing_one_reported() -> None:
    path = Path("raters/gold.csv")
    path.write_text(path.read_text() + "100,1\n")
    with pytest.raises(ValueError, match="rows 4 instead of 3"):
        load_raters()
    path.unlink()
    with pytest.raises(FileNotFoundError, match="no gold.csv in .*; make labels.csv"):
        load_raters()


def test_offensive_texts_are_in_the_order_of_their_numbers_and_the_level_is_the_median() -> None:
    loaded = load("offensive")
    assert [row["text"].split()[-1] for row in loaded.data] == ["kind", "nasty", "blunt", "rude", "lovely", "vile"]
    assert loaded.target.tolist() == [1, 4, 2, 3, 1, 5]
    assert loaded.people == ["20", "21", "22", "23", "24"]
    assert loaded.labels[:5].tolist() == [[5, 0, 5], [5, 1, 5], [5, 2, 5], [5, 3, 5], [5, 4, 1]]
    assert load_offensive(as_frame=True).data.text[0].endswith("kind")


def test_offensive_ratings_of_texts_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in CATALOGUE["offensive"].files:
        object.__setattr__(file, "mean", "")  # it would be noticed too
    path = Path("offensive/texts.csv")
    path.write_text(path.read_text().replace("\n6,", "\n7,"))
    with pytest.raises(ValueError, match=r"texts.csv and ratings.csv in .* are not about the same texts"):
        load_offensive()
