"""The datasets: their files, what is known about them, and where they come from.

No test reaches these addresses. A download is checked against the checksums and figures here, so a file that has moved
or changed is reported, never used.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dford.arrays import Floats
from dford.datasets import _readers as readers
from dford.datasets._data_folder import File, Folder

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
# Torgo's own archives split bank into two files of another format; this collection has each dataset in one file.
_ARFF = "https://raw.githubusercontent.com/renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73/regression"


@dataclass(frozen=True)
class Entry:
    """One dataset."""

    files: tuple[File, ...]
    shape: str
    """Rows and features as loaded by default, to show to people."""
    levels: int
    licence: str
    otherwise: tuple[File, ...] = ()
    """Read if the folder does not have `files`."""

    def present(self, data: Folder = None, parts: slice = slice(None)) -> tuple[File, ...]:
        """The files to read: all of `files` if they are there, or else `otherwise`, if there is any."""
        files = self.files[parts]
        return files if all(file.path(data) for file in files) else self.otherwise[parts] or files


def _one(name: str, place: str, sha256: str, shape: tuple[int, int], mean: str, url: str, target: int = -1) -> File:
    read = {"arff": readers.arff, "data": readers.csv}[place.rpartition(".")[2]]
    return File(name, (place,), read, sha256, *shape, target, mean, url)


_ABALONE = File(
    "abalone",
    ("abalone/abalone.data",),
    readers.abalone,
    "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    rows=4177,
    columns=9,
    mean="9.933684",
    url=f"{_UCI}/abalone/abalone.data",
)
_PARKINSONS = _one(
    "parkinsons",
    "parkinsons/parkinsons_updrs.data",
    "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
    (5875, 22),
    "29.018942",
    f"{_UCI}/parkinsons/telemonitoring/parkinsons_updrs.data",
    target=5,
)
_CALIFORNIA = File(
    "california",
    ("california_housing/cal_housing.data", "CaliforniaHousing/cal_housing.data"),
    readers.csv,
    "d3d8a1a722ae78f91134862727d27a70b1415e7d512a89140406248687f4b902",
    rows=20640,
    columns=9,
    mean="206855.8169",
    url="https://ndownloader.figshare.com/files/5976036",
    member="CaliforniaHousing/cal_housing.data",
    archive_sum="sha256:aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
)
_COMPUTER = _one(
    "computer",
    "computer_activity/cpu.act.arff",
    "bd0f33e9bbdb02b8124d69b7f67bcea21b998d02dba0a306b3a95fdad9188918",
    (8192, 22),
    "83.968872",
    f"{_ARFF}/cpu.act.arff",
)
_CPU_SMALL = _one(
    "cpu_small",
    "computer_activity/cpu.small.arff",
    "be6a626bd91804c81cc2f26d015f8df23afcce7af952c522c8dfe06bc187203c",
    (8192, 13),
    "83.968872",
    f"{_ARFF}/cpu.small.arff",
)
_BANK8FM = _one(
    "bank8FM",
    "bank/bank8FM.arff",
    "1d5f11ba3e69f537180dc5973bafee8574927041779e3146d487888e3cd3f81e",
    (8192, 9),
    "0.161525",
    f"{_ARFF}/bank8FM.arff",
)
_BANK32NH = _one(
    "bank32nh",
    "bank/bank32nh.arff",
    "981ee722b3d562d454ecaba52b0eb2fa5b145f43b8dd986dcc9beefe70f988e0",
    (8192, 33),
    "0.083621",
    f"{_ARFF}/bank32nh.arff",
)


_FROM_MICROSOFT = "download MSLR-WEB10K (1.2 GB) from Microsoft Research yourself and put its folder Fold1 there"
_WITHDRAWN = "EachMovie was withdrawn in 2004, so put your own copy there, or use its successor, movielens"


def _mslr(part: str, sha256: str, mean: str) -> File:
    place = f"mslr_web10k_sample/msn1.fold1.{part}.5k.txt"
    return File(
        "mslr", (place,), readers.svmlight, sha256, rows=5000, columns=138, target=0, mean=mean, by_hand=_FROM_MICROSOFT
    )


_MSLR = (
    _mslr("train", "6d1721de961a35fbaef7085dc5b41e2940f0ddb04bab5f7a8566cf7db4158fa6", "0.6146"),
    _mslr("test", "13d3c638edd23e482c38f4316c2680c938c2eaedbe096970ab30a48e364463d3", "0.6060"),
)
_MSLR_FOLD = tuple(
    File("mslr", (f"Fold1/{part}.txt", f"MSLR-WEB10K/Fold1/{part}.txt"), readers.svmlight, by_hand=_FROM_MICROSOFT)
    for part in ("train", "test")
)


def _eachmovie(part: str, sha256: str, rows: int) -> File:
    place = f"eachmovie_sample/data_{part}.csv.gz"
    return File("eachmovie", (place,), readers.votes, sha256, rows=rows, columns=3, by_hand=_WITHDRAWN)


_EACHMOVIE = (
    _eachmovie("train", "8f786504143ec03e44e1cf3370c4769d4d71652efc8849f263f57c24ce98d526", 809526),
    _eachmovie("test", "8d6170974d845c6383acf1f2c3269f1261da7264bb120f5f8bf6aa35c11f152d", 199876),
)
_MOVIELENS = File(
    "movielens",
    ("ml-100k/u.data", "ml-1m/ratings.dat", "ml-latest-small/ratings.csv", "ml-32m/ratings.csv"),
    readers.votes,
    url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
    member="ml-100k/u.data",
    archive_sum="md5:0e33842e24a9c977be4e0107933c0723",
)


def _rated(name: str) -> File:
    by_hand = "put your own file there, with the columns id, text and ratings"
    return File(name, (f"rated_texts/{name}.csv",), readers.medians, by_hand=by_hand)


def _raters(name: str, sha256: str, shape: tuple[int, int], mean: str) -> File:
    by_hand = "make labels.csv (person, item, level) and gold.csv (item, level) from Get-Another-Label's data yourself"
    return File("raters", (f"raters/{name}.csv",), readers.csv, sha256, *shape, mean=mean, by_hand=by_hand)


_RATERS = (
    _raters("labels", "17378330d711fa30cb901406f2618ab6de00c9767ef382db543669d23737ee7e", (55522, 3), "1.443122"),
    _raters("gold", "759f85013a700eceb32a3df49330c8e4a9081de62e1905824073174e4f04eb44", (911, 2), "2.316136"),
)


def _offensive(name: str, read: Callable[[bytes], Floats], sha256: str, shape: tuple[int, int], mean: str) -> File:
    by_hand = "make texts.csv (item, text) and ratings.csv (item, person, level) from POPQUORN's ratings yourself"
    return File("offensive", (f"offensive/{name}.csv",), read, sha256, *shape, mean=mean, by_hand=by_hand)


_OFFENSIVE = (
    _offensive(
        "texts",
        readers.text_numbers,
        "5b321be26cd081d41861ac251291926bf612c15745f349460b8983e4c0306580",
        (900, 1),
        "450.5",
    ),
    _offensive(
        "ratings",
        readers.csv,
        "1391e14aceb66570419a63e1265c3584edfaa90f0e3b46b34caff94fd86aea9e",
        (7831, 3),
        "1.858766",
    ),
)
_JUDGES = File(
    "judges",
    ("judges/judges.csv",),
    readers.csv,
    "308d318a296a3b93448176fdf4d87640662cb4f6158d2e9fa8706da7d11920ad",
    rows=2781,
    columns=23,
    target=2,
    mean="0.991370",
    by_hand="make judges.csv (query, passage, level, judge1 to judge20) from the LLMJudge challenge's files yourself",
)

CATALOGUE = {
    "abalone": Entry((_ABALONE,), "4,177 × 10", 4, "CC BY 4.0"),
    "parkinsons": Entry((_PARKINSONS,), "5,875 × 20", 10, "CC BY 4.0"),
    "california": Entry((_CALIFORNIA,), "20,640 × 8", 10, "none stated"),
    "computer": Entry((_COMPUTER,), "8,192 × 21", 10, "none stated"),
    "cpu_small": Entry((_CPU_SMALL,), "8,192 × 12", 10, "none stated"),
    "bank8FM": Entry((_BANK8FM,), "8,192 × 8", 10, "none stated"),
    "bank32nh": Entry((_BANK32NH,), "8,192 × 32", 10, "none stated"),
    "mslr": Entry(_MSLR, "10,000 × 136", 5, "research only", otherwise=_MSLR_FOLD),
    "eachmovie": Entry(_EACHMOVIE, "1,455 × 1,812", 6, "research only"),
    "movielens": Entry((_MOVIELENS,), "by viewer", 5, "not for profit"),
    "movies": Entry((_rated("movies"),), "texts", 5, "the file's own"),
    "tweets": Entry((_rated("tweets"),), "texts", 5, "the file's own"),
    "raters": Entry(_RATERS, "6,624 × 0", 4, "Apache 2.0"),
    "offensive": Entry(_OFFENSIVE, "texts", 5, "none stated"),
    "judges": Entry((_JUDGES,), "2,781 × 20", 4, "MIT (scores)"),
}
