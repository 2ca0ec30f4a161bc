"""The columns of a log: their names, what they may contain, and how they are read from a file."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.answer_ids import checked_id
from dford.files import read_csv
from dford.scale import Scale
from dford.sparse_rows import find_column

COLUMNS = ("level", "prediction", "propensity", "higher")
ABOUT = ("item", "person", "time")
CONFIDENCE = "confidence"
RATING = "rating"
PROGRAM = "program"
PURPOSE = "purpose"
MAY_HAVE = (*ABOUT, CONFIDENCE, RATING, PROGRAM, PURPOSE)
PURPOSES = ("place", "check", "audit", "gold")
"""Why a question is asked: to place its item, to see how often answers differ, or to judge placements or people."""
ID = "id"


class About(NamedTuple):
    """What else may be known about an answer."""

    item: int | None = None
    """The number of the item it is about, as numbered by the one who asked."""
    person: str | None = None
    time: float | None = None
    """When it was given, in seconds since 1970, to the microsecond."""
    confidence: float | None = None
    """How sure the person is that it is right, from 0.5 to 1."""
    rating: Any = None
    """The level that the person gave, if they did not answer with yes or no."""
    program: bool = False
    """Whether the person is a program."""
    purpose: str | None = None
    """Why the question was asked: one of `PURPOSES`."""


UNKNOWN = About()


LEAST_SURE = 0.5 + 1 / 32
"""Below this, an answer is a guess, and says nothing: 0.5, to the nearest sixteenth."""


def is_guess(confidence: Any) -> Any:
    """Whether answers that people are this sure of are guesses; NaN is not."""
    return np.asarray(confidence) < LEAST_SURE


def about_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns that describe a log's answers: all three, perhaps with confidences and ratings, or none."""
    names = set(names)
    return tuple(name for name in MAY_HAVE if name in names) if set(ABOUT) <= names else ()


def check_feature_names(names: Iterable[str], has_more: bool = False) -> None:
    """Refuse features with the names of a log's own columns; with `has_more`, also those of items, people and times."""
    names = list(names)
    own = [*COLUMNS, ID, *(MAY_HAVE if has_more else about_columns(names))]
    if taken := [name for name in names if name in own or find_column([name]) is not None]:
        raise ValueError(f"a log has its own column {taken[0]!r}, so no feature can have that name; rename the feature")


def check_level_names(scale: Scale, suffix: str) -> None:
    """Refuse names that would not come back from a file as they were."""
    if suffix == ".csv":
        known: dict[str, Any] = {}
        for name in scale.names:
            if (other := known.setdefault(_text(name), name)) is not name:
                raise ValueError(f"the levels {other!r} and {name!r} look the same in a CSV file; rename one of them")
    elif scale.array.dtype == object and all(isinstance(name, (str, int, float)) for name in scale.names):
        raise ValueError(
            f"the levels {scale.names!r} do not fit into one column of a Parquet file, which has one type; write a "
            ".csv file, or rename them"
        )


def invented(n_features: int) -> list[str]:
    """The names in a file of features that have none."""
    return [f"x{j}" for j in range(n_features)]


@contextmanager
def _in_words() -> Iterator[None]:
    """Say in our words what pandas says about a file that is no table at all."""
    from pandas.errors import EmptyDataError

    try:
        yield
    except EmptyDataError:
        raise ValueError(
            f"the file is empty; a log begins with the names of its columns: {','.join(COLUMNS)},…"
        ) from None
    except UnicodeDecodeError:
        raise UnicodeError("the file is not UTF-8 text; save it as UTF-8") from None


@_in_words()
def read_rounds(source: Any, levels: Sequence[Any], **options: Any) -> Any:
    """The frame in a CSV file of rounds, with the names of the levels."""
    header = _header(source)
    _check_lengths(source, len(header), options.get("nrows"))
    more = about_columns(header)
    columns = (*COLUMNS[:2], *([RATING] if RATING in more else []))
    options["dtype"] = {"item": str, "time": str} if more else {}
    features = [name for name in header if name not in (*COLUMNS, ID, *more)]
    kinds: dict[str, type] = dict.fromkeys(features, np.float64)
    if (sparse := find_column(features)) is not None:
        kinds[sparse[0]] = str
    texts = [*columns, *([ID] if ID in header else []), *(["person"] if more else [])]
    try:  # features as floats: pandas would read whole numbers as integers, and -0 as 0
        frame = read_csv(source, as_text=texts, **{**options, "dtype": options["dtype"] | kinds})
    except ValueError:  # such as True and False
        if hasattr(source, "seek"):
            source.seek(0)
        frame = read_csv(source, as_text=texts, **options)
    frame.columns = header  # pandas would invent a name for an empty one
    known = {_text(name): name for name in Scale(levels).names}
    names = {text: _read_name(text, known) for column in columns if column in frame for text in set(frame[column])}
    names |= {"": None} if RATING in more and "" not in known else {}
    for column in columns:
        if column in frame:
            frame[column] = np.fromiter((names[text] for text in frame[column]), dtype=object)
    return frame


def checked_about(
    item: Any,
    person: Any,
    time: Any,
    confidence: Any = None,
    rating: Any = None,
    program: Any = False,
    purpose: Any = None,
) -> About:
    """What is known about an answer; raises an error that says what is impossible."""
    if item is not None and (not _is_number(item) or not 0 <= item < 2**63 or item != int(item)):
        raise ValueError(f"an item must be a whole number, 0 or more; got {item}")
    if person is not None and not isinstance(person, str):
        raise TypeError(f"a person must be a name; got {person!r}")
    if person is not None and person.encode(errors="ignore").decode() != person:  # half of a pair of surrogates
        raise ValueError(f"the name of a person must be text that can be written to a file; got {person!r}")
    if not isinstance(program, (bool, np.bool_)):
        raise TypeError(f"program must be True or False; got {program!r}")
    if purpose is not None and purpose not in PURPOSES:
        raise ValueError(f"a purpose must be one of {', '.join(PURPOSES)}; got {purpose!r}")
    return About(
        None if item is None else int(item),
        person or None,
        None if time is None else _checked_time(time),
        checked_confidence(confidence),
        rating,
        bool(program),
        purpose,
    )


def _checked_time(given: Any) -> float:
    """A time in seconds since 1970, to the microsecond."""
    is_moment = isinstance(given, datetime) and given.tzinfo is not None
    seconds = given.timestamp() if is_moment else given
    if not _is_number(seconds) or not 0 <= seconds < 1e11:
        raise ValueError(f"a time must be in seconds since 1970, or a datetime with a time zone; got {given!r}")
    return round(float(seconds), 6)


def _is_number(given: Any) -> bool:
    return isinstance(given, (Real, Decimal)) and not isinstance(given, bool)


def checked_confidence(given: Any) -> float | None:
    """How sure a person is of an answer, if they say so."""
    if given is None:
        return None
    if not _is_number(given) or not 0.5 <= given <= 1:
        raise ValueError(f"a confidence must be between 0.5 (a guess) and 1 (certain); got {given!r}")
    return float(given)


def read_ids(column: Any) -> list[str | None]:
    """The ids in a column of a file or frame; None where there is none."""
    import pandas as pd

    found = list[str | None]()
    for row, given in enumerate(column, 1):
        try:
            found.append(None if pd.isna(given) or given == "" else checked_id(given))
        except ValueError as error:
            raise ValueError(f"row {row} of the log: {error}") from None
    return found


def read_about(columns: Mapping[str, Any]) -> list[About]:
    """What is known about every answer, from those columns of a file or frame that `about_columns` names."""
    import pandas as pd

    items, people, times = (columns[name] for name in ABOUT)
    confidences, ratings = columns.get(CONFIDENCE), columns.get(RATING)
    when = _read_times(np.asarray(times))
    micro = when.dt.as_unit("us").astype("int64")
    sure = np.full(len(when), np.nan) if confidences is None else read_numbers(np.asarray(confidences), CONFIDENCE)
    found = []
    rated = [None] * len(when) if ratings is None else [None if pd.isna(level) else level for level in ratings]
    programs = read_yes_or_no(np.asarray(columns[PROGRAM])) if PROGRAM in columns else [False] * len(when)
    given = columns.get(PURPOSE)
    purposes = [None] * len(when) if given is None else [None if pd.isna(one) or one == "" else one for one in given]
    # items as they are, not rounded
    rows = zip(items, people, micro, when.isna(), sure, rated, programs, purposes, strict=True)
    for row, (item, person, one, missing, confidence, rating, program, purpose) in enumerate(rows, 1):
        try:
            about = checked_about(
                None if pd.isna(item) else _read_item(item),
                None if pd.isna(person) or person == "" else str(person),
                None if missing else one / 1e6,
                None if np.isnan(confidence) else confidence,
                rating,
                program,
                purpose,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"row {row} of the log: {error}") from None
        found.append(about)
    return found


def _read_times(times: NDArray[Any]) -> Any:
    import pandas as pd

    texts = pd.Series(times)
    when = pd.to_datetime(texts, utc=True, errors="coerce", format=None if times.dtype.kind == "M" else "ISO8601")
    # numbers, too, could be read as some date
    is_odd = [isinstance(one, (int, float)) or not str(one)[:4].isdigit() for one in texts]
    bad = texts.notna() & (when.isna() | np.array(is_odd, dtype=bool))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"row {row + 1} of the log: a time in a file must be a date such as 2026-11-16 12:30:00+00:00; "
            f"got {str(texts[row])!r}"
        )
    return when


def _read_item(given: Any) -> Any:
    """The number of an item, from a text or a number."""
    if isinstance(given, str) and given.isdecimal():
        return int(given)
    try:
        number = float(given) if isinstance(given, str) else given
    except ValueError:
        return given  # refused as what it is
    if isinstance(number, (float, np.floating)) and not number < 2**53:
        raise ValueError(f"an item from 2**53 on must be written without a decimal point; got {given}")
    return number


def read_yes_or_no(answers: NDArray[Any]) -> list[Any]:
    """Answers from a column of a file. With anything else among them, pandas reads them all as texts."""
    words = {"true": True, "false": False}
    return [words.get(one.lower(), one) if isinstance(one, str) else one for one in answers.tolist()]


def read_numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Numbers from a column of a file, likewise; NaN where there is none."""
    if column.dtype.kind not in "ObU":
        return column.astype(np.float64)
    numbers = np.empty(len(column))
    for row, one in enumerate(column.tolist()):
        try:
            if isinstance(one, bool) or (isinstance(one, str) and "_" in one):
                raise ValueError
            numbers[row] = np.nan if one is None else one
        except (TypeError, ValueError):
            raise ValueError(f"row {row + 1} of the log: {name} must be a number; got {one!r}") from None
    return numbers


def _header(source: Any) -> list[str]:
    """The column names, which must be distinct."""
    names: list[str] = read_csv(source, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    if hasattr(source, "seek"):
        source.seek(0)
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ValueError(f"the file has the column {twice[0]!r} twice; remove or rename one")
    if not names[0]:  # a log begins with its own columns
        raise ValueError("the first column has no name, as if it were an index; remove it, or write with index=False")
    return names


def _check_lengths(source: Any, width: int, most: int | None) -> None:
    """Refuse a row of another length: pandas would fill it up, or take its start for an index."""
    file = source if hasattr(source, "seek") else open(source, "rb")  # noqa: SIM115
    lines = io.TextIOWrapper(file, "utf-8", "replace", newline="")
    try:
        for row, values in enumerate(islice(filter(None, csv.reader(lines)), most)):
            if len(values) != width:
                raise ValueError(
                    f"row {row} of the log has {len(values)} values, but the header has {width}; was the file cut?"
                )
    except csv.Error:  # a text that is too long for it
        pass
    finally:
        lines.detach()
        if file is source:
            source.seek(0)
        else:
            file.close()


def _text(name: Any) -> str:
    """A name as `write` puts it into a CSV file."""
    return f"{name:.17g}" if isinstance(name, float) else str(name)


def _read_name(text: str, names: dict[str, Any]) -> Any:
    if text in names:
        return names[text]
    try:
        return float(text)  # 2 may be written 2.0
    except ValueError:
        return text
