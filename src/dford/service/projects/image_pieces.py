"""Work that needs images, in pieces: between two of them, other projects have their turn."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dford.arrays import Floats
from dford.columns import Column, ImageReader
from dford.service.projects.image_source import ImageSource

Seen = Mapping[str, Floats | str]
"""The numbers of images by name, or why one cannot be read."""
SLICE = 1.0  # seconds after which a piece ends, once it has done something
LONGEST = 30.0  # seconds for a piece: the largest image takes 3, on a machine with other work some more


class Run(Protocol):
    """Runs one piece, in some process."""

    def __call__(self, function: Callable[..., Any], *given: Any, most: float = ...) -> Any: ...


def in_pieces(
    run: Run, function: Callable[..., Any], columns: Sequence[Column], *given: Any, seen: Seen | None = None
) -> Any:  # fmt: skip
    """What a function returns for these columns, and arguments of which the last are `Bounds`.

    It runs with the images that were `seen`. If it asks for others, these are looked at, each once, and it runs again.
    """
    seen, patience = dict(seen or {}), 1
    while True:
        attempt: Attempt = run(try_with, seen, patience, function, columns, *given)
        if not attempt.wanted:
            return attempt.result
        seen |= look_at(run, given[-1].images, attempt.wanted)
        patience *= 10


def look_at(run: Run, source: ImageSource, names: Sequence[str]) -> Seen:
    """The numbers of these images, a piece at a time."""
    seen = dict[str, Floats | str]()
    while len(seen) < len(names):
        seen |= run(look_at_some, source, names[len(seen) :], most=LONGEST)
    return seen


class Attempt(NamedTuple):
    result: Any
    wanted: list[str]
    """Images that must be known first; if there are any, there is no result."""


def try_with(
    seen: Seen, patience: int, function: Callable[..., Any], columns: Sequence[Column], *given: Any
) -> Attempt:  # fmt: skip
    """Call the function, to see which images it needs."""
    *rest, bounds = given
    reader = bounds.images.reader()
    known = None if reader is None else _KnownImages(reader, seen, patience)
    try:
        result = function(columns, *rest, bounds._replace(reader=known))
    except Exception:
        if known is None or not known.wanted:
            raise
        result = None  # it may only have failed because it knew too little
    wanted = [] if known is None else list(known.wanted)
    return Attempt(None if wanted else result, wanted)


def look_at_some(source: ImageSource, names: Sequence[str]) -> Seen:
    """The first of these images: as many as fit into a piece, but at least one."""
    reader, seen, until = source.reader(), dict[str, Floats | str](), time.monotonic() + SLICE
    assert reader is not None
    for name in names:
        try:
            seen[name] = reader.numbers(name)
        except (ValueError, OSError) as error:
            seen[name] = str(error)
        if time.monotonic() > until:
            break
    return seen


class _KnownImages(ImageReader):
    """Decodes nothing, and notes what is not known yet.

    A guess at a column stops at the first image that can be read. So what is not known counts as unreadable until
    `patience` images are wanted, and as readable from then on: a few attempts are enough, and do not want them all.
    """

    def __init__(self, reader: ImageReader, seen: Seen, patience: int) -> None:
        self._reader, self._seen, self._patience = reader, seen, patience
        self.wanted: dict[str, None] = {}

    @property
    def made_by(self) -> str:
        return self._reader.made_by

    @property
    def size(self) -> int:
        return self._reader.size

    def see(self, name: str) -> Floats | None:
        if name in self._seen:
            numbers = self._seen[name]
            return None if isinstance(numbers, str) else numbers
        self.wanted[name] = None
        return np.zeros(self.size) if len(self.wanted) >= self._patience else None
