"""From the bytes of a file to a table of numbers. What cannot be read raises ValueError."""

import gzip
import io
import re
import zlib
from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_svmlight_file

from dford.arrays import Floats
from dford.files import csv_lines

SEXES = "MIF"
MSLR_FEATURES = 136


def csv(raw: bytes) -> Floats:
    """Numbers separated by commas; a first line of names is skipped."""
    lines = _lines(raw)
    return _numbers(lines[1:] if lines and re.search(r"[A-Za-z]{2}", lines[0]) else lines)


def abalone(raw: bytes) -> Floats:
    """Like `csv`, with the sex at the start of each line as its place in "MIF"."""
    lines = _lines(raw)
    if wrong := [n for n, line in enumerate(lines, 1) if line[0] not in SEXES]:
        raise ValueError(f"line {wrong[0]} does not begin with M, I or F")
    return _numbers([str(SEXES.index(line[0])) + line[1:] for line in lines])


def arff(raw: bytes) -> Floats:
    """The lines after @data; some files end each with a comma."""
    lines = _lines(raw)
    begin = [line.strip().lower() for line in lines].index("@data") + 1
    return _numbers([line.rstrip(", ") for line in lines[begin:]])


def rated_texts(raw: bytes) -> tuple[list[str], list[str], list[Floats]]:
    """The ids, the texts, and the ratings of each text."""
    ids, texts, given = _columns(raw, ("id", "text", "ratings"))
    ratings = [_ratings(one, number) for number, one in enumerate(given, 1)]
    return ids, texts, ratings


def medians(raw: bytes) -> Floats:
    """The median rating of each text."""
    return np.array([[np.median(some)] for some in rated_texts(raw)[2]])


def _ratings(given: str, row: int) -> Floats:
    try:
        numbers = np.array([float(one) for one in given.split()])
    except ValueError:
        numbers = np.empty(0)
    if not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"row {row} has the ratings {given[:40]!r}, which are not numbers separated by spaces")
    return numbers


def numbered_texts(raw: bytes) -> tuple[Floats, list[str]]:
    """The number of each text, and the texts."""
    numbers, texts = _columns(raw, ("item", "text"))
    return _numbers(numbers), texts


def text_numbers(raw: bytes) -> Floats:
    """The number of each text."""
    return numbered_texts(raw)[0]


def _columns(raw: bytes, wanted: Sequence[str]) -> list[list[str]]:
    names, *rows = [*csv_lines(raw)] or [[]]
    if lacking := [name for name in wanted if name not in names]:
        raise ValueError(f"it has no column {lacking[0]}")
    return [[row[names.index(name)] for row in rows] for name in wanted]


def svmlight(raw: bytes) -> Floats:
    """Label, query and the features of MSLR, one column each."""
    if not raw.endswith(b"\n"):
        raise ValueError("its last line is cut off")
    X, y, query = load_svmlight_file(io.BytesIO(raw), n_features=MSLR_FEATURES, query_id=True)
    return np.column_stack([y, query, X.toarray()])


def votes(raw: bytes) -> Floats:
    """Viewer, film and score, found by column name, or in this order if there are no names.

    Reads the csv of MovieLens and of EachMovie, the tabs of ml-100k and the double colons of ml-1m, zipped or not.
    """
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(str(error)) from error
    lines = _lines(raw.replace(b"::", b",").replace(b"\t", b","))
    columns = [0, 1, 2]
    if lines and re.search("[A-Za-z]", lines[0]):
        names = [name.strip('" ').lower() for name in lines.pop(0).split(",")]
        wanted = (("user", "userid"), ("movie", "movieid"), ("rating", "score"))
        try:
            columns = [next(i for i, name in enumerate(names) if name in choice) for choice in wanted]
        except StopIteration:
            raise ValueError(f"its columns are {', '.join(names)}, not user, movie and rating") from None
    return _numbers(lines, columns)


def _lines(raw: bytes) -> list[str]:
    lines = [line for line in raw.decode("utf-8").splitlines() if line.strip() and not line.startswith("%")]
    if not lines:
        raise ValueError("it is empty")
    return lines


def _numbers(lines: list[str], columns: list[int] | None = None) -> Floats:
    if not lines:
        raise ValueError("it has no rows")
    return np.loadtxt(lines, delimiter=",", usecols=columns, quotechar='"', ndmin=2)
