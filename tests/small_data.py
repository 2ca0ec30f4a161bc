"""Small files in the formats of the datasets, and what is known about them."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dford.datasets._catalogue import CATALOGUE

ROWS = 20


def _table(width: int, end: str = "\n", header: str = "") -> str:
    numbers = np.random.default_rng(width).integers(1, 60, size=(ROWS, width)) / 2
    numbers[:, -1] = np.arange(1, ROWS + 1)[::-1]
    return header + "".join(",".join(f"{value:g}" for value in row) + end for row in numbers)


def _abalone() -> str:
    return "".join(f"{'MIF'[n % 3]},{line}\n" for n, line in enumerate(_table(8).splitlines()))


def _arff(width: int, end: str) -> str:
    return "% words\r\n@relation x\r\n@attribute y numeric\r\n\r\n@DATA\r\n" + _table(width, end)


def _mslr(first: int) -> str:
    features = " ".join(f"{n}:{n / 10:g}" for n in range(1, 137))
    return "".join(f"{(first + n) % 5} qid:{n // 4} {features}\n" for n in range(ROWS))


VOTES = {  # viewer: {film: score}
    1: {10: 6, 11: 1, 12: 3},
    2: {10: 2, 11: 4, 12: 5, 13: 1},
    3: {11: 6, 13: 2, 14: 3, 10: 4},
    4: {14: 1},
}


def _votes(viewers: tuple[int, ...]) -> bytes:
    rows = [(film, viewer, score) for viewer in viewers for film, score in VOTES[viewer].items()]
    lines = [f'"{n}",{film},{viewer},{score}\n' for n, (film, viewer, score) in enumerate(rows, 1)]
    return gzip.compress(('"","Movie","User","Score"\n' + "".join(lines)).encode())


TONES = {"awful": -3, "bad": -1, "so-so": 0, "good": 1, "superb": 3}


def _rated() -> str:
    """Texts, each rated by five people who agree by and large, and by one who does not."""
    lines = []
    for n in range(300):
        tone = TONES[word := list(TONES)[n % 5]]
        ratings = [tone, tone, tone, min(tone + 1, 4), max(tone - 1, -4), -tone]
        lines.append(f'{n},"Film {n * 7919 % 1000}, seen twice, is {word}","{" ".join(map(str, ratings))}"\n')
    return "id,text,ratings\n" + "".join(lines)


def _labels() -> str:
    """Ten items in reverse order, labelled by two people who agree and one who never goes above 2."""
    lines = [f"{person},{100 - item},{min(1 + item % 4, most)}\n" for item in range(10) for person, most in RATERS]
    return "person,item,level\n" + "".join([*lines, "3,100,2\n"])


def _judged() -> str:
    """Pairs of two queries, and twenty judges of whom half say what is right, and half a level less."""
    lines = [
        ",".join(map(str, [n % 2, n, level, *([level] * 10), *([max(level - 1, 0)] * 10)]))
        for n in range(60)
        for level in [n // 2 % 4]
    ]
    return "\n".join([f"query,passage,level,{','.join(f'judge{n}' for n in range(1, 21))}", *lines]) + "\n"


def _offensive_texts() -> str:
    return "item,text\n" + "".join(f'{n},"This is, all in all, {word}"\n' for n, word in OFFENSIVE.items())


def _offensive_ratings() -> str:
    """Four people who say the same, and a fifth who always says 1."""
    places = dict(zip(OFFENSIVE, (5, 1, 3, 2, 4, 1), strict=True))
    rows = [(item, person, level if person < 24 else 1) for item, level in places.items() for person in range(20, 25)]
    return "item,person,level\n" + "".join(f"{item},{person},{level}\n" for item, person, level in rows)


OFFENSIVE = {6: "vile", 5: "lovely", 4: "rude", 3: "blunt", 2: "nasty", 1: "kind"}
RATERS = ((7, 4), (3, 2), (5, 4))


CONTENT: dict[str, Callable[[], str | bytes]] = {
    "abalone/abalone.data": _abalone,
    "parkinsons/parkinsons_updrs.data": lambda: _table(22, header="subject#,age\n").rstrip("\n"),
    "california_housing/cal_housing.data": lambda: _table(9, "\r\n"),
    "computer_activity/cpu.act.arff": lambda: _arff(22, "\r\n").replace(",", ", "),
    "computer_activity/cpu.small.arff": lambda: _arff(13, "\r\n").replace(",", ", "),
    "bank/bank8FM.arff": lambda: _arff(9, ",\n"),
    "bank/bank32nh.arff": lambda: _arff(33, ",\n"),
    "mslr_web10k_sample/msn1.fold1.train.5k.txt": lambda: _mslr(0),
    "mslr_web10k_sample/msn1.fold1.test.5k.txt": lambda: _mslr(1),
    "eachmovie_sample/data_train.csv.gz": lambda: _votes((1, 3)),
    "eachmovie_sample/data_test.csv.gz": lambda: _votes((2, 4)),
    "rated_texts/movies.csv": _rated,
    "rated_texts/tweets.csv": _rated,
    "judges/judges.csv": _judged,
    "offensive/texts.csv": _offensive_texts,
    "offensive/ratings.csv": _offensive_ratings,
    "raters/labels.csv": _labels,
    "raters/gold.csv": lambda: "item,level\n98,3\n97,4\n12,1\n",
}


def content(place: str) -> bytes:
    made = CONTENT[place]()
    return made if isinstance(made, bytes) else made.encode()


def write(folder: Path) -> None:
    for place in CONTENT:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content(place))


def make_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalogue know the small files' rows, columns and means, and no sums."""
    for name, entry in CATALOGUE.items():
        files = []
        for file in entry.files:
            if file.rows:
                table = file.read(content(file.places[0]))
                mean = f"{table[:, file.target].mean():.6f}"
                file = replace(file, sha256="", rows=len(table), mean=mean)
            files.append(file)
        monkeypatch.setitem(CATALOGUE, name, replace(entry, files=tuple(files)))


def without_last_row(raw: bytes) -> bytes:
    return raw[: raw.rstrip().rindex(b"\n") + 1]
