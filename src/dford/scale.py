"""The scale: K levels in order, 1..K inside and the user's names outside."""

import math
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets


class Scale:
    """An ordered list of levels.

    >>> scale = Scale(["poor", "fair", "good"])
    >>> scale.encode(["good", "poor"])
    array([3, 1])
    >>> scale.names[2]
    'good'
    """

    def __init__(self, levels: Iterable[Any]) -> None:
        # a set has no order: for names it even differs between processes
        if not isinstance(levels, Iterable):
            raise TypeError(f"levels must be a list or an array, lowest first; got {levels!r}")
        if isinstance(levels, (str, bytes, set, frozenset, Mapping)):
            kind = type(levels).__name__
            raise TypeError(f"levels must be a list or an array, lowest first, not a {kind}; got {levels!r}")
        self.names: list[Any] = [_plain(level) for level in levels]
        for name in self.names:
            if name is None or (is_na := type(name).__name__ == "NAType") or name != name:  # NA equals nothing
                what = "None" if name is None else "NA" if is_na else "NaN"
                raise ValueError(f"{what} is not a level; remove it from levels, or the rows that have it")
            is_infinite = isinstance(name, float) and math.isinf(name)
            if is_infinite or not isinstance(name, (str, int, float)):
                raise ValueError(
                    f"levels must be text, numbers or booleans, and finite; got {name!r}; use str() on each"
                )
        self.index = {name: i + 1 for i, name in enumerate(self.names)}
        if len(self.index) < len(self.names):
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise ValueError(f"levels must be distinct; {twice!r} appears twice")
        words = [name for name in self.names if isinstance(name, str)]
        if any(unicodedata.category(letter) == "Cc" and letter not in "\t\n\r" for name in words for letter in name):
            raise ValueError(f"the name of a level cannot contain a control character; got {self.names!r}")
        if any(name.encode(errors="ignore").decode() != name for name in words):
            raise ValueError(
                f"levels must be text that can be written to a file; got {self.names!r}"
            )  # half a surrogate
        alike = dict[str, Any]()
        for name in self.names if words else ():  # numbers alone that differ look different
            for seen in _looks(name):
                if (other := alike.setdefault(seen, name)) is not name:
                    raise ValueError(f"levels must look different; {other!r} and {name!r} do not; rename one of them")
        if len(self.names) < 2:
            raise ValueError(f"a scale needs at least two levels; got {len(self.names)} class(es): {self.names!r}")
        self.array = np.array(self.names)
        is_mixed = len({type(name) for name in self.names}) > 1 and self.array.dtype.kind not in "fc"
        if is_mixed or self.array.tolist() != self.names:
            # numpy would turn 1 and "a" both into text, and 2**53 and 2**53 + 1 next to 0.5 into the same number
            self.array = np.array(self.names, dtype=object)

    def __len__(self) -> int:
        return len(self.names)

    def number(self, level: Any) -> int:
        """The place of one level, from 1."""
        level = _plain(level)
        try:
            return self.index[level]
        except (KeyError, TypeError):
            raise ValueError(f"{level!r} is not a level of this scale; expected one of {self.names}") from None

    def labels(self, y: Any) -> NDArray[Any]:
        """Levels as an array, each still what it was."""
        return np.array(y, dtype=object) if self.array.dtype == object and isinstance(y, list) else np.asarray(y)

    def encode(self, y: Any) -> NDArray[np.int64]:
        """The places of many levels, from 1."""
        y = self.labels(y)
        numbers: NDArray[np.int64]
        if y.size and y.dtype.kind in "iu" and self.array.dtype.kind in "iu" and _is_narrow(self.array):
            lowest, highest = int(self.array.min()), int(self.array.max())
            if not lowest <= y.min() <= y.max() <= highest:
                self.number(y[(y < lowest) | (y > highest)][0])
            table = np.zeros(highest - lowest + 1, np.int64)
            table[_above(self.array, lowest)] = np.arange(1, len(self) + 1)
            numbers = table[_above(y, lowest)]
            if not numbers.all():
                self.number(y[numbers == 0][0])
            return numbers
        if y.dtype.kind in "biuf" and self.array.dtype.kind in "biuf":
            order = np.argsort(self.array)
            ranks = np.searchsorted(self.array, y, sorter=order)
            numbers = order[np.minimum(ranks, len(self) - 1)]
            wrong = self.array[numbers] != y
            if wrong.any():
                self.number(y[wrong][0])
            return numbers + 1
        index = self.index
        try:
            flat = [index[level] for level in y.ravel().tolist()]
        except (KeyError, TypeError):
            flat = [self.number(level) for level in y.ravel().tolist()]
        return np.array(flat, dtype=np.int64).reshape(y.shape)

    @classmethod
    def infer(cls, y: Any, levels: Sequence[Any] | None, classes: Sequence[Any] | None = None) -> "Scale":
        """The scale of labels y: `levels`, else `classes`, else the order of a categorical, else sorted.

        Sorting is right for numbers. For other labels it is a guess, and there is a warning.
        """
        for given in (levels, classes, _categories(y)):
            if given is not None:
                return cls(given)
        y = np.asarray(y)
        if y.dtype.kind in "iu" and _is_narrow(y):
            lowest = int(y.min())
            return cls(lowest + place for place in np.flatnonzero(np.bincount(_above(y, lowest).ravel())).tolist())
        if y.dtype != object:
            assert_all_finite(y, input_name="y")
        else:
            names = cls(list(dict.fromkeys(y.ravel().tolist()))).names
            if (kinds := {type(name) for name in names}) == {int}:
                return cls(sorted(names))
            if len(kinds) > 1 and kinds != {int, float}:
                raise ValueError(
                    f"labels of several types, such as {names[0]!r} and "
                    f"{next(name for name in names if type(name) is not type(names[0]))!r}, cannot be sorted; pass "
                    "levels=[...], lowest first"
                )
            y = y if str in kinds else np.array(y.tolist())
        check_classification_targets(y.ravel())
        scale = cls(np.unique(y))
        scale.warn_if_guessed(stacklevel=5)
        return scale

    def warn_if_guessed(self, stacklevel: int) -> None:
        """Warn which order names were put in, if they could only be sorted."""
        if not all(isinstance(name, Real) for name in self.names):
            warnings.warn(
                f"the levels were sorted by name, {' < '.join(map(str, self.names))}; for another order pass "
                "levels=[...], lowest first, or labels that are an ordered categorical",
                stacklevel=stacklevel,
            )


def _is_narrow(y: NDArray[Any]) -> bool:
    """Whether whole numbers can be looked up in a table of their range: much faster than sorting them."""
    return y.size > 0 and int(y.max()) - int(y.min()) < 2**16


def _above(y: NDArray[Any], lowest: int) -> NDArray[np.int64]:
    """How far each is above `lowest`, which none is below; types of few bits would overflow."""
    if y.dtype.kind == "i" or lowest < 0:
        return y.astype(np.int64, copy=False) - lowest
    above: NDArray[Any] = y - y.dtype.type(lowest)  # may be more than an int64 holds before, never after
    return above.astype(np.int64, copy=False)


def _looks(name: Any) -> set[str]:
    """The texts as which a level is shown or written, without what cannot be seen in them: 1.0 may be written 1."""
    texts = {str(name), f"{name:.17g}" if isinstance(name, float) else str(name)}
    visible = ("".join(letter for letter in text if unicodedata.category(letter) != "Cf") for text in texts)
    return {" ".join(unicodedata.normalize("NFC", text).split()) for text in visible}


def _plain(level: Any) -> Any:
    is_plain = isinstance(level, (np.bool_, np.integer, np.floating, np.str_))
    return level.item() if is_plain else level


def _categories(y: Any) -> list[Any] | None:
    """The levels that an ordered pandas categorical or a polars Enum carries, seen or not."""
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
        return list(dtype.categories)  # type: ignore[union-attr]
    return None
