"""How the columns of items are read: as numbers, categories or words, or as text that is shown but not learned from."""

import itertools
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.service.refusal import Refusal

_MOST_CATEGORIES = 20
_WORDS = 256  # features of a text; two words in one place are told apart by the words around them


class Column(NamedTuple):
    """One column. What is stored here never changes, so that an item means the same for ever.

    A number that is missing becomes `mean`, that of the rows in which the column was first read. A category becomes
    a 1 in its place among `categories`; one that was not among those rows becomes zeros. Words are counted, each in
    the place that its hash gives, and the counts scaled to length 1.
    """

    name: str
    kind: str
    mean: float = 0.0
    categories: tuple[str, ...] = ()

    def width(self) -> int:
        return len(self.features())

    def features(self) -> list[str]:
        """What its numbers are called."""
        if self.kind == "words":
            return [f"{self.name}#{place}" for place in range(_WORDS)]
        if self.kind == "category":
            return [f"{self.name}={value}" for value in self.categories]
        return [self.name] if self.kind == "number" else []


def encode(columns: Sequence[Column], row: Mapping[str, Any], field: str) -> NDArray[np.float64]:
    """The numbers that a row is to the learner."""
    unknown = set(row) - {column.name for column in columns}
    if unknown:
        raise Refusal(422, "unknown-column", f"there is no column {min(unknown)!r} in this project", field)
    numbers: list[float] = []
    for column in columns:
        value = row.get(column.name)
        if column.kind == "number":
            numbers.append(column.mean if _missing(value) else _number(value, f"{field}.{column.name}"))
        elif column.kind == "category":
            numbers.extend(float(value is not None and str(value) == category) for category in column.categories)
        elif column.kind == "words":
            numbers.extend(_counts(value))
    return np.array(numbers)


def encode_sent(columns: Sequence[Column], features: Mapping[str, Any]) -> tuple[str, NDArray[np.float64]]:
    """Features that came with a question: as they are shown, and as the learner sees them."""
    return json.dumps(features, sort_keys=True), encode(columns, features, "features")


def read_columns(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str] | None = None) -> list[Column]:
    """The columns of rows, of kinds that were said, or else: number if all are, category if few differ, text otherwise.

    Numbers that only number the rows are text. Where that leaves nothing to learn from, the text with the most words is
    learned from by its words.
    """
    said = kinds or {}
    values = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    if unknown := set(said) - set(values):
        raise Refusal(422, "unknown-column", f"there is no column {min(unknown)!r}", "columns")
    columns = {name: _read(name, given, said.get(name)) for name, given in values.items()}
    if not any(column.width() for column in columns.values()):
        texts = {name: sum(len(_words(one)) for one in values[name]) for name in values if name not in said}
        if any(texts.values()):
            longest = max(texts, key=lambda name: texts[name])
            columns[longest] = Column(longest, "words")
    return list(columns.values())


def _read(name: str, values: list[Any], kind: str | None) -> Column:
    given = [value for value in values if not _missing(value)]
    if kind in {"text", "words"}:
        return Column(name, kind)
    different = sorted({str(value) for value in given})
    if kind == "category":
        return Column(name, "category", categories=tuple(different))
    try:
        numbers = [_number(value, name) for value in given]
    except Refusal as refusal:
        if kind == "number":
            raise Refusal(422, refusal.code, f"column {name!r}: {refusal.sentence}", "columns") from None
        if len(different) <= min(_MOST_CATEGORIES, max(2, len(given) // 2)) and max(map(len, different)) <= 64:
            return Column(name, "category", categories=tuple(different))
        return Column(name, "text")
    if kind is None and (not numbers or _counts_rows(numbers)):
        return Column(name, "text")
    return Column(name, "number", mean=math.fsum(numbers) / max(len(numbers), 1))


def _counts_rows(numbers: list[float]) -> bool:
    """Whether these number the rows, one after the other, and so say nothing of them."""
    return len(numbers) >= 10 and all(after - before == 1 for before, after in itertools.pairwise(numbers))


def _words(value: Any) -> list[str]:
    return re.findall(r"\w+", str(value).lower()) if not _missing(value) else []


def _counts(value: Any) -> list[float]:
    """How often each place's words occur, as a direction: a long text weighs no more than a short one.

    Sums of whole numbers, a root and a division are the same bits on every machine.
    """
    counts = [0] * _WORDS
    for word in _words(value):
        counts[zlib.crc32(word.encode(errors="replace")) % _WORDS] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def check(columns: Sequence[Column], most: int) -> None:
    """Refuse columns that cannot be learned from."""
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise Refusal(422, "bad-columns", "columns must have different names", "columns")
    for column in columns:
        if column.kind == "category" and len(set(column.categories)) != max(len(column.categories), 1):
            sentence = f"column {column.name!r} needs categories that differ"
            raise Refusal(422, "bad-columns", sentence, "columns")
    width = sum(column.width() for column in columns)
    if not 1 <= width <= most:
        sentence = f"the columns make {width} features to learn from; there must be between 1 and {most}"
        if not width:
            sentence = "there is nothing to learn from: add a column of numbers, of categories, or of words"
        raise Refusal(422, "bad-columns", sentence, "columns")


def to_json(columns: Sequence[Column]) -> str:
    return json.dumps([column._asdict() for column in columns])


def from_json(text: str) -> list[Column]:
    return [Column(**{**one, "categories": tuple(one["categories"])}) for one in json.loads(text)]


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in {"", "NA", "NaN", "nan", "null"})


def _number(value: Any, field: str) -> float:
    try:
        number = float(value) if not isinstance(value, (bool, dict, list)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= 1e40:  # more could not be squared and summed
        shown = str(value)[:40]
        raise Refusal(422, "not-a-number", f"{shown!r} is not a number of a size that can be learned from", field)
    return number
