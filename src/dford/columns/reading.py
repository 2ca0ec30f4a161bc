"""What a column is, judged by its values."""

import math
import re
from collections.abc import Callable, Sequence, Set
from itertools import islice, takewhile
from typing import Any

from dford.columns import values
from dford.columns.column import KINDS, SPELLED_ALIKE, Column, Kind
from dford.columns.image_reader import ImageReader
from dford.columns.values import ColumnError, Values

AS_REQUESTED = "as requested"
_NUMBERS_ROWS, _IS_ID, _IS_LINK = "it numbers the rows", "it is the id of each row", "it is a link"
INSTEAD = {_NUMBERS_ROWS: "number", _IS_ID: "text", _IS_LINK: "text"}
"""As what a column could be learned from that is not, for these reasons."""
_ENOUGH = 10  # rows that show an id
_MOST_CATEGORIES = 20
_LONGEST_CATEGORY = 64
_IMAGE = re.compile(r".+\.(png|jpe?g|webp|gif)", re.IGNORECASE)
_WORDS = ("category", "text")
_ID_NAME = re.compile(  # surely an id; a key may be that of a song, a no nitric oxide, and a heat index is measured
    r"(?i:(.*[_ -])?(id|uuid|guid)|index|row([_ -]?(index|id|number|num|nr|no))?|unnamed: \d+)|.*[a-z]I[dD]"
)
_CODE = re.compile(r"0\d+")
_ID = re.compile(r"[A-Za-z_-]*\d[\w-]*|[0-9a-fA-F-]{8,}")
_RANGE = re.compile(r"(0|[1-9]\d*)-(0|[1-9]\d*)")
_ABSENT = {"n/a", "na", "nan", "null", "none", "-", "--", "–", "?", "."}  # as people write that a value is missing
_NEARLY_ALL = 0.9
_DIGITS = r"((0|[1-9]\d*)([.,]\d+)?|[1-9]\d{0,2}([.,_'’\s]\d{3})+([.,]\d+)?)"
_LONGEST_AMOUNT = 30  # longer numbers are ids
_UNIT = r"(?i:[kmcdµ]?[glmwvahs]|[kmgt]b|k?hz|min|lbs?|oz|in|ft|mi)"
_MEANT = {  # as people write them, and how they should be written
    "numbers": (re.compile(rf"[-+−]?[€$£¥₹]?\s?{_DIGITS}\s?[%‰€$£¥₹]?"), "1234.5"),
    "quantities": (re.compile(rf"[-+−]?{_DIGITS}\s?{_UNIT}"), "1234.5 without the unit"),
    "dates": (
        re.compile(
            r"(\d{1,2}([./-])\d{1,2}\2\d{2}(\d\d)?|\d{4}([./-])\d{1,2}\4\d{1,2})([T ].*)?|\d{4}-(0?[1-9]|1[0-2])"
        ),
        "2024-05-31",
    ),
    "times": (re.compile(r"\d+:\d\d(:\d\d([.,]\d+)?)?"), "a number of seconds, such as 5025"),
}


def read_column(
    name: str,
    given: Values,
    kind: Kind | None = None,
    images: ImageReader | None = None,
) -> Column:
    """The column of these values, of the given kind, or of the kind they look like.

    If the kind is a list of ordered categories, the column has the kind "order".
    """
    if isinstance(kind, str) and kind not in KINDS:
        raise ColumnError(f"{kind!r} is not a kind of column; expected one of {', '.join(KINDS)}", column=name)
    if kind is not None and not isinstance(kind, str):
        return _ordered(name, given, kind)
    note = ""
    if kind is None:
        kind, note = _guess(name, given)
        if kind in _WORDS:
            _refuse_gaps(name, given)
        if kind == "image" and (
            images is None or all(images.see(word) is None for word in dict.fromkeys(_there(given)))
        ):
            what = "no image folder is given" if images is None else "none of them can be read from the image folder"
            kind, note = "shown", f"it names images, but {what}"
    if kind == "shown":
        return Column(name, kind, note=note or AS_REQUESTED)
    if kind == "image":
        if images is None:
            raise ColumnError(f"column {name!r} should be images, but no image folder is given", column=name)
        return Column(name, kind, size=images.size, missing=True, made_by=images.made_by)
    return _make(name, kind, given)._replace(note=note)


def _there(given: Values, with_na: bool = False) -> list[Any]:
    """The values that are not missing; NA counts as missing, except among words."""
    return [value for value in given if not values.is_missing(value) or (with_na and values.is_na(value))]


def _ordered(name: str, given: Values, order: Sequence[str]) -> Column:
    categories = tuple(map(values.word, order))
    if isinstance(order, Set) or not 0 < len(set(categories)) == len(categories):
        sentence = f"column {name!r} needs a list of distinct categories, lowest first; got {order!r:.80}"
        raise ColumnError(sentence, column=name)
    column = Column(name, "order", categories=categories)
    lost = column.is_lost(given)
    places = column.dense(given)[~lost, 0]
    return column._replace(mean=float(places.mean()) if len(places) else 0.0, missing=bool(lost.any()))


def _make(name: str, kind: str, given: Values) -> Column:
    if kind == "text":
        return Column(name, kind, made_by=SPELLED_ALIKE)
    there = _there(given, with_na=kind in _WORDS)
    lost = len(there) < len(given)
    if kind == "number":
        numbers = [values.number(value) for value in there]
        if any(map(math.isnan, numbers)):
            strange = next(value for value, one in zip(there, numbers, strict=True) if math.isnan(one))
            sentence = f"column {name!r} should be numbers, but has {str(strange)[:40]!r}"
            raise ColumnError(sentence, "not-a-number", name)
        return Column(name, kind, mean=math.fsum(numbers) / max(len(numbers), 1), missing=lost)
    if kind == "category":
        different = sorted({values.word(value) for value in there})
        if len(different) > _MOST_CATEGORIES:
            return Column(name, kind, made_by=SPELLED_ALIKE)
        return Column(name, kind, categories=tuple(different), missing=lost, other=True)
    if kind == "vector":
        sizes = {len(values.vector(value) or ()) for value in there}
        if len(sizes) != 1 or 0 in sizes:
            sentence = (
                f"column {name!r} should be vectors, but not all of its values are lists of numbers of the same length"
            )
            raise ColumnError(sentence, "not-a-vector", name)
        return Column(name, kind, size=sizes.pop(), missing=lost)
    moments = [values.moment(value) for value in there]
    days = [moment.toordinal() for moment in moments if moment is not None]
    return Column(name, kind, mean=sum(days) / max(len(days), 1), missing=lost)


def _guess(name: str, given: Values) -> tuple[str, str]:
    """A kind, and a note: why nothing can be learned from the column, or what it may be meant to be.

    If in doubt, it is learned from. What it is does not depend on the order of the rows.
    """
    there = _there(given)
    if not there:
        return "shown", "it is empty"
    if all(values.vector(value) is not None for value in there):
        return ("vector", "") if len({len(values.vector(one) or ()) for one in there}) == 1 else ("text", "")
    numbers = list(takewhile(lambda number: not math.isnan(number), map(values.number, there)))
    if len(numbers) == len(there) and not any(map(_is_code, there)):
        return ("shown", _NUMBERS_ROWS) if _numbers_rows(name, numbers) else ("number", "")
    if all(values.moment(value) is not None for value in there):
        return "date", ""
    words = [values.word(value) for value in there]
    different = len(set(words))
    if all(word.startswith(("http://", "https://")) for word in words):
        return "shown", _IS_LINK
    if all(_IMAGE.fullmatch(word) for word in words):
        return "image", ""
    if len(words) >= _ENOUGH and different == len(words) and _is_id(name, words):
        return "shown", _IS_ID
    hint = _hint(words)
    words += ["NA"] * (len(_there(given, with_na=True)) - len(there))
    different, longest = len(set(words)), max(map(len, words))
    are_sentences = different == len(words) and any(len(word.split()) > 2 for word in words)
    repeats = different <= max(2, len(words) // 2) and not are_sentences
    if repeats and longest <= _LONGEST_CATEGORY and (different <= _MOST_CATEGORIES or not any(map(_is_prose, words))):
        return "category", hint
    return "text", hint


_FINITE: Sequence[tuple[str, Callable[[Any], bool], Callable[[Any], bool]]] = (
    ("numbers", values.is_meant_as_number, lambda value: not math.isnan(values.number(value))),
    ("vectors", values.is_meant_as_vector, lambda value: values.vector(value) is not None),
)


def _is_code(value: Any) -> bool:
    """Whether it begins with a zero that a number would not have, as 01234 does."""
    return isinstance(value, str) and value.lstrip()[:1] == "0" and _CODE.fullmatch(value.strip()) is not None


def _refuse_gaps(name: str, given: Values) -> None:
    """Refuse what would be numbers or vectors, if each of them were finite: as text, that would be lost in silence."""
    there = [(row, value) for row, value in enumerate(given) if not values.is_missing(value)]
    for what, is_meant, is_read in _FINITE:
        are_meant = all(is_meant(value) for _, value in there)  # which most words are not
        strange = next(((row, value) for row, value in there if not is_read(value)), None) if are_meant else None
        if strange is not None:
            row, value = strange
            sentence = (
                f"column {name!r} has {what}, but row {row + 1} has {str(value)[:40]}, which cannot be learned from; "
                "correct it, or leave it empty"
            )
            raise ColumnError(sentence, f"not-a-{what[:-1]}", name, row)


def _hint(words: Sequence[str]) -> str:
    """How to write what nearly all of them seem to mean; the column is not read that way on a guess."""
    there = [word.strip() for word in words if word.strip().lower() not in _ABSENT]
    if any(map(_CODE.fullmatch, words)) or len(there) < len(words) / 2:
        return ""
    for what, (pattern, how) in _MEANT.items():
        if _are_nearly_all(pattern, there):
            strange = next((word for word in words if math.isnan(values.number(word)) and not values.moment(word)), "")
            return (
                f"it looks like {what}, but {repr(strange)[:30]} cannot be read as such; to have it learned from as "
                f"{'dates' if what == 'dates' else 'numbers'}, write {how}, or nothing where it is missing"
            )
    return ""


def _are_nearly_all(pattern: re.Pattern[str], words: Sequence[str]) -> bool:
    """Whether nearly all of them are written like this; it looks no further than it must."""
    others = (word for word in words if pattern.fullmatch(word) is None)
    return next(islice(others, len(words) - math.ceil(_NEARLY_ALL * len(words)), None), None) is None


def _numbers_rows(name: str, numbers: Sequence[float]) -> bool:
    """Whether these just number the rows, and so say nothing about them."""
    if len(numbers) < _ENOUGH or _ID_NAME.fullmatch(name) is None:
        return False
    return len(set(numbers)) == len(numbers) and all(one.is_integer() for one in numbers)


def _is_id(name: str, words: Sequence[str]) -> bool:
    if any(" " in word for word in words):
        return False
    return _ID_NAME.fullmatch(name) is not None or (all(map(_ID.fullmatch, words)) and not _are_amounts(words))


def _are_amounts(words: Sequence[str]) -> bool:
    """Whether all are numbers, dates or ranges as people write them, which say more than which row it is."""
    ranges = [_RANGE.fullmatch(word) for word in words]
    if all(found and int(found[1]) < int(found[2]) for found in ranges):
        return True
    return max(map(len, words)) <= _LONGEST_AMOUNT and any(
        all(map(pattern.fullmatch, words)) for pattern, _ in _MEANT.values()
    )


def _is_prose(word: str) -> bool:
    return len(word.split()) > 4
