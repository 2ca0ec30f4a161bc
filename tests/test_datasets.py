"""Datasets: what is loaded, from where, and what is refused."""

import hashlib
import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dford.datasets import data_folder, load, load_movielens, load_mslr, make_synthetic, normalise
from dford.datasets._catalogue import CATALOGUE
from dford.datasets.rated_texts import TEXTS
from dford.datasets.registry import LOADERS
from small_data import ROWS, VOTES, make_known, without_last_row, write

IN_FILES = [name for name in LOADERS if name not in ("synthetic", "movielens", "offensive", *TEXTS)]
# the default would leave no viewer in the small files
OPTIONS: dict[str, dict[str, Any]] = {"eachmovie": {"min_votes": 1}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))
    return tmp_path


def small(name: str, **options: Any) -> Any:
    return load(name, **OPTIONS.get(name, {}), **options)


@pytest.mark.parametrize("name", [*IN_FILES, "synthetic"])
def test_every_loader_follows_scikit_learns_conventions(name: str, folder: Path) -> None:
    loaded = small(name)
    assert loaded.data.dtype == np.float64
    assert loaded.data.flags.c_contiguous
    assert loaded.data.shape == (len(loaded.target), len(loaded.feature_names))
    assert loaded.target.dtype == np.int64
    assert set(loaded.target) <= set(range(1, len(loaded.target_names) + 1))
    assert len(loaded.target_names) == (CATALOGUE[name].levels if name in CATALOGUE else 5)
    assert len(set(loaded.feature_names)) == len(loaded.feature_names)
    assert "levels" in loaded.DESCR

    X, y = small(name, return_X_y=True)
    np.testing.assert_array_equal(X, loaded.data)
    np.testing.assert_array_equal(y, loaded.target)

    frame = small(name, as_frame=True)
    assert list(frame.frame.columns) == [*loaded.feature_names, "target"]
    np.testing.assert_array_equal(frame.frame.drop(columns="target"), loaded.data)
    assert isinstance(frame.data, pd.DataFrame)
    assert isinstance(frame.target, pd.Series)

    np.testing.assert_array_equal(small(name, normalise="unit").data, normalise(loaded.data, "unit"))


@pytest.mark.parametrize("name", [*CATALOGUE, "synthetic"])
def test_every_dataset_has_a_name_and_a_loader(name: str) -> None:
    options = {"data", "normalise", "return_X_y", "as_frame"}
    assert options <= set(inspect.signature(LOADERS[name]).parameters)
    assert set(LOADERS) == {*CATALOGUE, "synthetic"}


def test_rows_keep_the_order_of_the_file(folder: Path) -> None:
    # the small files' targets fall from 20 to 1
    for name in ("california", "computer", "cpu_small", "bank8FM", "bank32nh"):
        assert load(name).target.tolist() == [level for level in range(10, 0, -1) for _ in (1, 2)]
    assert load("abalone").target.tolist() == [4] * 8 + [3] * 3 + [2] * 2 + [1] * 7
    assert load("mslr").target.tolist() == [1, 2, 3, 4, 5] * 4 + [2, 3, 4, 5, 1] * 4


def test_the_sex_of_an_abalone_is_one_of_three_columns(folder: Path) -> None:
    abalone = load("abalone", as_frame=True).frame
    np.testing.assert_array_equal(abalone[["male", "infant", "female"]][:4], [*np.eye(3), [1, 0, 0]])


def test_parkinsons_has_neither_the_person_nor_the_target_among_its_features(folder: Path) -> None:
    raw = np.loadtxt(folder / "parkinsons/parkinsons_updrs.data", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(load("parkinsons").data, raw[:, [1, 2, 3, 4, *range(6, 22)]])


def test_mslr_gives_its_parts_and_reads_the_full_fold_if_that_is_there(folder: Path) -> None:
    train, test, both = (load_mslr(part) for part in ("train", "test", "all"))
    np.testing.assert_array_equal(both.target, [*train.target, *test.target])
    assert train.query_id.tolist() == [n // 4 for n in range(ROWS)]
    np.testing.assert_allclose(train.data[0], np.arange(1, 137) / 10)

    (folder / "Fold1").mkdir()
    for part in ("train", "test"):
        shutil.move(folder / f"mslr_web10k_sample/msn1.fold1.{part}.5k.txt", folder / f"Fold1/{part}.txt")
    np.testing.assert_array_equal(load_mslr().data, both.data)


def test_each_row_is_a_film_with_the_other_viewers_centred_scores(folder: Path) -> None:
    # viewers 2 and 3 have the most votes, so the lower number is taken; films are in the order of the files
    loaded = load("eachmovie", min_votes=3)
    assert (loaded.viewer, loaded.movies.tolist(), loaded.target.tolist()) == (2, [10, 11, 12, 13], [2, 4, 5, 1])
    assert loaded.feature_names == ["viewer 1", "viewer 3"]
    expected = [[VOTES[viewer].get(film, 3.5) - 3.5 for viewer in (1, 3)] for film in VOTES[2]]
    assert loaded.data.tolist() == expected

    own = load("eachmovie", viewer=3, min_votes=4, sparse=True)
    assert own.movies.tolist() == [11, 13, 14, 10]
    assert own.data.toarray().ravel().tolist() == [VOTES[2].get(film, 3.5) - 3.5 for film in (11, 13, 14, 10)]


def test_an_unknown_viewer_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="no viewer 9; the file has 4, from 1 to 4"):
        load("eachmovie", viewer=9)
    with pytest.raises(ValueError, match="no other viewer has 200 votes, and the most is 4; lower min_votes"):
        load("eachmovie")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("ml-100k/u.data", "7\t30\t5\t8\n7\t20\t1\t8\n8\t20\t4\t8\n"),
        ("ml-1m/ratings.dat", "7::30::5::8\n7::20::1::8\n8::20::4::8\n"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n7,30,5.0,8\n7,20,1.0,8\n8,20,4.0,8\n"),
    ],
)
def test_movielens_is_read_in_all_its_forms(place: str, text: str, tmp_path: Path) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(text)
    loaded = load_movielens(data=tmp_path, min_votes=1)
    assert (loaded.viewer, loaded.movies.tolist(), loaded.target_names) == (7, [30, 20], ["1", "4", "5"])
    assert (loaded.target.tolist(), loaded.data.tolist()) == ([3, 1], [[0.0], [1.0]])


def test_a_file_may_be_directly_in_the_folder(folder: Path) -> None:
    before = load("abalone").data
    shutil.move(folder / "abalone/abalone.data", folder / "abalone.data")
    np.testing.assert_array_equal(load("abalone").data, before)


def test_the_folder_is_the_argument_then_the_environment_then_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DFORD_DATA", "of-the-environment")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder("given") == Path("given")
    assert data_folder() == Path("of-the-environment")
    monkeypatch.delenv("DFORD_DATA")
    assert data_folder() == tmp_path / "dford"


@pytest.mark.parametrize("name", [*IN_FILES, "movielens"])
def test_a_missing_file_is_reported_with_the_folder_and_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        load(name, tmp_path)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert str(tmp_path) in sentence
    assert f"dford data --fetch {name}" in sentence or "yourself" in sentence or "withdrawn" in sentence


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (without_last_row, "rows 19 instead of 20, target mean 11.000000 instead of 10.500000"),
        (lambda raw: raw[:-5], r"damaged or a different file \(.*column"),
        (lambda raw: raw.replace(b"F,", b"X,", 1), "line 3 does not begin with M, I or F"),
        (lambda raw: re.sub(rb",20\n", b",21\n", raw, count=1), "target mean 10.550000 instead of 10.500000"),
        (lambda raw: b"", "it is empty"),
        (lambda raw: b"\xff\xfe" + raw, "utf-8"),
    ],
)
def test_a_damaged_file_is_refused_with_what_differs(damage: Any, what: str, folder: Path) -> None:
    path = folder / "abalone/abalone.data"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=what) as raised:
        load("abalone")
    assert str(path) in str(raised.value)
    assert str(raised.value).endswith("get it with dford data --fetch abalone")


def test_truncated_archives_and_rows_are_refused(folder: Path) -> None:
    for place, name in (
        ("eachmovie_sample/data_train.csv.gz", "eachmovie"),
        ("mslr_web10k_sample/msn1.fold1.test.5k.txt", "mslr"),
        ("bank/bank8FM.arff", "bank8FM"),
    ):
        path = folder / place
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(ValueError, match=f"{path} is damaged or a different file"):
            load(name)


def test_other_line_endings_are_accepted_and_a_checksum_outweighs_the_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "abalone/abalone.data"
    before = load("abalone").data
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    np.testing.assert_array_equal(load("abalone").data, before)

    entry = CATALOGUE["abalone"]
    known = replace(entry.files[0], rows=1, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setitem(CATALOGUE, "abalone", replace(entry, files=(known,)))
    np.testing.assert_array_equal(load("abalone").data, before)


def test_a_vote_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("7\t30\t5\n7\t30\t4\n")
    with pytest.raises(ValueError, match="votes twice"):
        load_movielens(data=tmp_path)


def test_an_unknown_name_or_variant_is_refused_with_those_that_exist(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no dataset 'abalon' \(did you mean abalone\?\); choose from abalone, "):
        load("abalon")
    for name, option in (("computer", "variant"), ("mslr", "subset")):
        with pytest.raises(ValueError, match=f"{option} must be .*; got 'big'"):
            load(name, **{option: "big"})


def test_synthetic_by_name_is_make_synthetic() -> None:
    X, y = make_synthetic(50, random_state=3)
    loaded = load("synthetic", n_samples=50, random_state=3)
    np.testing.assert_array_equal(loaded.data, X)
    np.testing.assert_array_equal(loaded.target, y)


def test_loading_needs_only_the_base_install(folder: Path) -> None:
    code = """
import sys
for name in ("pandas", "rich", "typer", "matplotlib"):
    sys.modules[name] = None
from dford.datasets import load
from dford.datasets._catalogue import CATALOGUE
object.__setattr__(CATALOGUE["abalone"].files[0], "rows", 0)  # nothing is known of it, so the small file will do
print(len(load("abalone").data))
try:
    load("abalone", as_frame=True)
except ImportError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["20", 'as_frame=True needs pandas: run pip install "dford[lab]"']
