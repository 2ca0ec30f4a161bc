"""One column of a table: what it is, and the numbers it becomes."""

import math
import re
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Bools, Floats
from dford.columns import texts, values
from dford.columns.image_reader import ImageReader
from dford.columns.values import ColumnError, Values

KINDS = ("number", "category", "text", "vector", "image", "date", "shown")
Kind = str | Sequence[str]
"""One of these, or the categories of a column in order."""
_PARTS = ("day", "year", "month", "weekday", "hour")
SPELLED_ALIKE = "spelling 2"
"""Makes the places of words without a list: those of categories are the same for 3 and 3.0, and NA is a word.

Earlier versions hashed categories as written, and then ("spelling 1") took NA for a missing value.
"""


class Column(NamedTuple):
    """One column. What is stored here never changes, so a stored row means the same forever.

    - number: the number itself. A missing one becomes `mean`, the mean of the others. If some were `missing` when the
      column was first read, another feature says which ones are.
    - order: the place of its name among `categories`, which are in order.
    - category: a 1 in its place among `categories`, or in a place for all others. If there are very many, no list is
      kept, and the place is a hash of the name.
    - text: the runs of 3 to 5 characters within its words, hashed, scaled to length 1.
    - vector: its `size` numbers.
    - date: its parts; if it is missing, those of the `mean` day.
    - image: its `size` numbers, made by an encoder.
    - shown: nothing is learned from it, for the reason in `note`.
    - words: 256 hashed words, in projects of early versions.

    For other kinds, `note` may tell people how to write the values so that they are read as what they look like.
    """

    name: str
    kind: str
    mean: float = 0.0
    categories: tuple[str, ...] = ()
    missing: bool = False
    """Whether a feature says that the value is missing."""
    other: bool = False
    """Whether a feature stands for all other categories."""
    size: int = 0
    note: str = ""
    made_by: str = ""
    """What computed the numbers of an image, or the places of categories without a list."""
    ratings: tuple[float, ...] = ()
    """If its values are ratings on the scale: what stands for each level, lowest first."""

    @property
    def is_sparse(self) -> bool:
        return self.kind == "text" or (self.kind == "category" and not self.categories)

    @property
    def is_learned_from(self) -> bool:
        return self.kind != "shown"

    @property
    def width(self) -> int:
        """How many numbers it becomes, not counting the places of texts."""
        own = {"number": 1, "order": 1, "category": len(self.categories) + self.other, "date": len(_PARTS)}
        return {**own, "words": _WORDS}.get(self.kind, self.size) + self.missing

    @property
    def instead(self) -> str:
        """What a missing value becomes, in words."""
        return {
            "number": f"its mean, {self.mean:g}, is",
            "order": f"its mean, {self.mean:g}, is",
            "date": f"{_date(self.mean)} is",
        }.get(self.kind, "zeros are")

    def features(self) -> list[str]:
        """The names of its numbers, except for those of texts, which share one block of places."""
        names = {
            "number": lambda: [self.name],
            "order": lambda: [self.name],
            "category": lambda: [
                *(f"{self.name}={value}" for value in self.categories),
                *([f"{self.name} is another"] if self.other else []),
            ],
            "date": lambda: [f"{self.name}.{part}" for part in _PARTS],
            "words": lambda: [f"{self.name}#{place}" for place in range(_WORDS)],
        }.get(self.kind, lambda: [f"{self.name}[{i}]" for i in range(self.size)])()
        return [*names, *([f"{self.name} is missing"] if self.missing else [])]

    def dense(self, given: Values, images: ImageReader | None = None) -> Floats:
        """The numbers of these values; a value that the column cannot take is refused.

        An image that cannot be read counts as missing.
        """
        if self.kind == "image":
            return self._seen(given, images)
        rows, lost = np.zeros((len(given), self.width)), self.is_lost(given)
        if self.kind == "number" and isinstance(given, np.ndarray) and given.dtype.kind in "iufb":  # a shortcut
            rows[:, 0] = given
            if not (is_right := lost | (np.abs(rows[:, 0]) <= values.LARGEST)).all():
                strange = int(np.argmin(is_right))
                raise self._strange(given[strange], strange, "a number", "not-a-number")
        elif self.kind == "number":
            there = np.flatnonzero(~lost)
            rows[there, 0] = [values.number(given[r]) for r in there.tolist()]
            if (are_nan := np.isnan(rows[:, 0])).any():
                strange = int(np.argmax(are_nan))
                raise self._strange(given[strange], strange, "a number", "not-a-number")
        else:
            places = self._places(given)
            for r in np.flatnonzero(~lost).tolist():
                self._fill(rows[r], given[r], r, places)
        if self.kind in {"number", "order"}:
            rows[lost, 0] = self.mean
        elif self.kind == "date":
            rows[lost, : len(_PARTS)] = _parts(_date(self.mean))
        if self.missing:
            rows[:, -1] = lost
        return rows

    def is_lost(self, given: Values) -> Bools:
        """Which of these values are missing."""
        if isinstance(given, np.ndarray) and given.dtype.kind in "iufb":
            return np.isnan(given) if given.dtype.kind == "f" else np.zeros(len(given), np.bool_)
        return np.array([values.is_missing(value) and not self._names(value) for value in given], dtype=np.bool_)

    def _names(self, value: Any) -> bool:
        """Whether a text that would say elsewhere that a value is missing is a word here."""
        if self.categories:
            return isinstance(value, str) and self.place(value) is not None
        return self.is_sparse and self.made_by == SPELLED_ALIKE and values.is_na(value)

    def _places(self, given: Values) -> dict[str, int | None]:
        """The places of all words among these values; few are different."""
        words = {value for value in given if type(value) is str} if self.categories else ()
        return {word: self.place(word) for word in words}

    def _fill(self, row: Floats, value: Any, r: int, places: dict[str, int | None]) -> None:
        if self.categories:
            place = places[value] if type(value) is str else self.place(value)
        if self.kind == "order":
            if place is None:
                raise self._strange(value, r, f"one of {', '.join(self.categories)}", "not-a-category")
            row[0] = place
        elif self.kind == "category" and self.categories:
            if place is not None:
                row[place] = 1.0
            elif self.other:
                row[len(self.categories)] = 1.0
        elif self.kind == "vector":
            numbers = values.vector(value)
            if numbers is None or len(numbers) != self.size:
                raise self._strange(value, r, f"a list of {self.size} numbers", "not-a-vector")
            row[: self.size] = numbers
        elif self.kind == "date":
            moment = values.moment(value)
            if moment is None:
                raise self._strange(value, r, "a date such as 2024-05-31", "not-a-date")
            row[: len(_PARTS)] = _parts(moment)
        elif self.kind == "words":
            row[:] = _counts(str(value))

    def place(self, value: Any) -> int | None:
        """Where its category is in the list; a file may write true or 1.0 where a frame has True or 1."""
        if self.kind == "category" and not self.other:  # as before there was a place for others
            return self.categories.index(str(value)) if str(value) in self.categories else None
        word = values.word(value)
        if word not in self.categories:
            word = values.spelled_alike(word)
            return next((i for i, one in enumerate(self.categories) if values.spelled_alike(one) == word), None)
        return self.categories.index(word)

    def _seen(self, given: Values, images: ImageReader | None) -> Floats:
        if images is None or images.made_by != self.made_by:
            now = "nothing here reads images" if images is None else f"here it is {images.made_by}"
            raise ColumnError(f"the images of {self.name!r} were encoded by {self.made_by}, but {now}", "no-encoder")
        rows, seen = np.zeros((len(given), self.size + 1)), dict[str, int]()
        for r, value in enumerate(given):
            name = None if values.is_missing(value) else str(value)
            if name in seen:  # decoding takes long
                rows[r] = rows[seen[name]]
                continue
            found = None if name is None else images.see(name)
            rows[r, -1] = found is None
            if found is not None:
                rows[r, :-1] = found
            if name is not None:
                seen[name] = r
        return rows

    def sparse(self, given: Values) -> sparse.csr_matrix:
        """The places of texts and of categories without a list."""
        lost = self.is_lost(given).tolist()
        found = ["" if missing else values.word(value) for value, missing in zip(given, lost, strict=True)]
        if self.kind == "category" and self.made_by:
            found = [values.spelled_alike(word) for word in found]
        return (texts.text_rows if self.kind == "text" else texts.token_rows)(found, self.name)

    def _strange(self, value: Any, r: int, expected: str, code: str) -> ColumnError:
        return ColumnError(f"column {self.name!r} takes {expected}; got {str(value)[:40]!r}", code, self.name, r)


_WORDS = 256


def _parts(moment: datetime) -> tuple[float, ...]:
    days = moment.toordinal() + (moment.hour + moment.minute / 60) / 24
    return days, moment.year, moment.month, moment.isoweekday(), moment.hour


def _date(mean: float) -> datetime:
    """The day of this mean, or the first day there is if there was none."""
    return datetime.fromordinal(max(round(mean), 1))


def _counts(text: str) -> Floats:
    """How often the words of each place occur, scaled to length 1."""
    counts = np.zeros(_WORDS)
    for word in re.findall(r"\w+", text.lower()):
        counts[zlib.crc32(word.encode(errors="replace")) % _WORDS] += 1
    length = math.sqrt(sum(count * count for count in counts.tolist())) or 1.0
    return np.array([count / length for count in counts.tolist()])
