"""Single values of a table: which are missing, and which numbers, dates, lists and words they stand for."""

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = Any  # a sequence, or an array of one dimension
LARGEST = 1e40  # squares of larger ones could not be summed
_NOTHING = {"", "NA", "NaN", "nan", "null"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")


class ColumnError(ValueError):
    """A value that a column cannot take."""

    def __init__(self, sentence: str, code: str = "bad-columns", column: str = "", row: int = 0) -> None:
        super().__init__(sentence)
        self.code, self.column, self.row = code, column, row


def is_missing(value: Any) -> bool:
    """Whether there is no value; a column of words tells the word NA from that, see `is_na`."""
    if isinstance(value, str):
        return value.strip() in _NOTHING
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def is_na(value: Any) -> bool:
    """Whether it is the text NA: among numbers it says that one is missing, among words it may be Namibia."""
    return isinstance(value, str) and value.strip() == "NA"


def number(value: Any) -> float:
    """The number, or NaN if it is not one that can be learned from."""
    if "_" in value if isinstance(value, str) else isinstance(value, (dict, list, complex, np.complexfloating)):
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if abs(found) <= LARGEST else math.nan


def whole(value: Any, what: str) -> int:
    """A whole number, be it a float, as tables with gaps have it, or in words."""
    found = number(value)
    if found != found // 1 or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{what} must be a whole number; got {value!r}")
    return int(found)


def moment(value: Any) -> datetime | None:
    """The date, or date and time, that it stands for."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        if not _DATE.fullmatch(value.strip()):
            return None
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)  # local time, as the clock there shows it
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else None


def vector(value: Any) -> list[float] | None:
    """The numbers of a list, of an array, or of a text such as [0.5, 1]."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iuf":  # a shortcut
        return value.tolist() if len(value) and (abs(value) <= LARGEST).all() else None
    numbers = [number(one) for one in _listed(value)]
    return numbers if numbers and not any(map(math.isnan, numbers)) else None


def _listed(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    return () if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) else value


def is_meant_as_number(value: Any) -> bool:
    """Whether it is a number, or would be if it were not missing, infinite, too large or complex."""
    return is_missing(value) or isinstance(value, Number) or not math.isnan(number(value)) or _is_too_large(value)


def _is_too_large(value: Any) -> bool:
    """Whether it is the text of an infinite or very large number; many digits are a code."""
    if not isinstance(value, str) or "_" in value or value.strip().isdigit():
        return False
    try:
        return abs(float(value)) > LARGEST
    except ValueError:
        return False


def is_meant_as_vector(value: Any) -> bool:
    """The same for all of a list."""
    return len(_listed(value)) > 0 and all(map(is_meant_as_number, _listed(value)))


def word(value: Any) -> str:
    """As text, the same for 3, 3.0 and their NumPy types."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value)


def spelled_alike(word: str) -> str:
    """The same for True and true, and for 3 and 3.0, as files write what frames hold."""
    return word.lower() if word.lower() in {"true", "false"} else re.sub(r"^(-?\d+)\.0+$", r"\1", word)
