"""The published files, where the environment variable DFORD_DATA names a folder that has them."""

import os
from dataclasses import replace

import numpy as np
import pytest

import naive_people
from dford import Auto, NewtonLogit
from dford.arrays import Floats
from dford.datasets import load, load_judges, load_offensive, load_rated_texts, load_raters
from dford.datasets._catalogue import CATALOGUE
from dford.datasets.rated_texts import TEXTS

pytestmark = pytest.mark.skipif("DFORD_DATA" not in os.environ, reason="DFORD_DATA names no folder of real data")


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("abalone", (4177, 10), [839, 1257, 1388, 693]),
        ("parkinsons", (5875, 20), [191, 316, 769, 912, 1153, 937, 591, 562, 231, 213]),
        ("california", (20640, 8), [2066, 2063, 2064, 2065, 2065, 2067, 2058, 2067, 2062, 2063]),
        ("computer", (8192, 21), [881, 812, 784, 1127, 760, 907, 837, 826, 820, 438]),
        ("cpu_small", (8192, 12), [881, 812, 784, 1127, 760, 907, 837, 826, 820, 438]),
        ("bank8FM", (8192, 8), [820, 819, 819, 819, 819, 820, 819, 819, 819, 819]),
        ("bank32nh", (8192, 32), [820, 819, 819, 819, 819, 820, 819, 819, 819, 819]),
        ("mslr", (10000, 136), [5639, 2900, 1244, 153, 64]),
        ("eachmovie", (1455, 1812), [1150, 45, 42, 101, 73, 44]),
        ("judges", (2781, 20), [1123, 843, 531, 284]),
    ],
)
def test_real_data_have_the_documented_rows_and_levels(name: str, shape: tuple[int, int], counts: list[int]) -> None:
    loaded = load(name)
    assert loaded.data.shape == shape
    assert np.bincount(loaded.target)[1:].tolist() == counts


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in ("movielens", "offensive", *TEXTS)])
def test_real_files_are_those_published_and_have_the_known_figures(name: str) -> None:
    for file in CATALOGUE[name].files:
        raw = file.find().read_bytes()
        assert file.original(raw)
        replace(file, sha256="").checked(raw)  # the figures alone would have passed them
    assert CATALOGUE[name].shape == " × ".join(f"{n:,}" for n in load(name).data.shape)


def test_real_files_have_the_known_details() -> None:
    def table(name: str, part: int = 0) -> Floats:
        return CATALOGUE[name].files[part].load()

    abalone, parkinsons, california = table("abalone"), table("parkinsons"), table("california")
    assert np.bincount(abalone[:, 0].astype(int)).tolist() == [1528, 1342, 1307]
    assert (abalone[:, 3] == 0).sum() == 2
    assert (parkinsons[:, 5].min(), parkinsons[:, 5].max()) == (7, 54.992)
    assert f"{parkinsons[:, 4].mean():.6f}" == "21.296229"
    assert len(np.unique(parkinsons[:, 0])) == 42
    assert california[:, -1].max() == 500001
    computer = table("computer")
    assert (computer[:, -1].min(), computer[:, -1].max()) == (0, 99)
    assert round((table("bank32nh")[:, -1] == 0).mean(), 3) == 0.203
    for part, counts in enumerate(([2792, 1458, 665, 55, 30], [2847, 1442, 579, 98, 34])):
        assert np.bincount(table("mslr", part)[:, 0].astype(int)).tolist() == counts
    votes = np.concatenate([table("eachmovie", 0), table("eachmovie", 1)])
    viewers, each = np.unique(votes[:, 0], return_counts=True)
    assert (len(viewers), each.min(), len(np.unique(votes[:, 1]))) == (5055, 121, 1619)


@pytest.mark.parametrize(
    ("name", "counts"),
    [("movies", [3598, 1617, 276, 1445, 3669]), ("tweets", [552, 532, 776, 1124, 1216])],
)
def test_rated_texts_have_the_documented_levels(name: str, counts: list[int]) -> None:
    loaded = load_rated_texts(name)
    assert np.bincount(loaded.target)[1:].tolist() == counts
    assert not set(loaded.cuts) & {rating for some in loaded.ratings for rating in some.tolist()}


@pytest.mark.parametrize("learner", [Auto(random_state=0), NewtonLogit(covariance="diagonal", random_state=0)])
def test_a_learner_of_texts_is_far_better_than_the_best_constant(learner: Auto | NewtonLogit) -> None:
    loaded = load_rated_texts("movies")
    order = np.random.RandomState(0).permutation(len(loaded.target))
    first, rest = order[:4000], order[4000:7000]
    learner.fit([loaded.data[i] for i in first], loaded.target[first])
    hidden = loaded.target[rest]
    constant = min(np.abs(hidden - level).mean() for level in range(1, 6))
    assert np.abs(learner.predict([loaded.data[i] for i in rest]) - hidden).mean() < 0.75 * constant


def test_raters_have_the_documented_labels_and_their_median_is_as_far_off_as_documented() -> None:
    loaded = load_raters()
    item, person, level = loaded.labels.T
    assert (len(item), len(np.unique(item)), len(loaded.people), len(loaded.gold)) == (55522, 6624, 817, 201)
    assert np.bincount(level)[1:].tolist() == [42211, 6329, 2672, 4310]
    known, right = np.array(list(loaded.gold)), np.array(list(loaded.gold.values()))
    assert np.abs(loaded.target[known] - right).mean() == pytest.approx(53 / 201), "0.264"
    beliefs = naive_people.dawid_skene_of_levels(item, person, level - 1, added=0.1)
    assert np.abs(1 + beliefs.argmax(axis=1)[known] - right).mean() == pytest.approx(62 / 201), "0.308"


def test_offensive_texts_have_the_documented_ratings() -> None:
    loaded = load_offensive()
    item, person, level = loaded.labels.T
    assert (len(item), len(loaded.data), len(loaded.people)) == (7831, 900, 262)
    assert len(np.unique(item * len(loaded.people) + person)) == len(item), "nobody rated a text twice"
    assert (np.bincount(person).min(), np.bincount(person).max()) == (16, 39)
    assert np.bincount(level, minlength=6)[1:].sum() == len(item)


def test_judges_stay_on_the_scale_and_agree_with_the_person() -> None:
    loaded = load_judges()
    assert set(loaded.data.ravel()) == {1, 2, 3, 4}, "a 5 and two 10s are the highest level"
    assert len(np.unique(loaded.query)) == 15
    correlations = [np.corrcoef(judge, loaded.target)[0, 1] for judge in loaded.data.T]
    assert min(correlations) > 0
