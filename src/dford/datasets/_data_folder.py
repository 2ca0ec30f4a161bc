"""Data files: where they are looked for, and how a wrong or truncated one is recognised."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dford.arrays import Floats

Folder = str | os.PathLike[str] | None


def data_folder(data: Folder = None) -> Path:
    """The folder in which datasets are looked for.

    Parameters
    ----------
    data : path, optional
        The folder itself. By default it is the one that the environment variable DFORD_DATA names, or else
        `~/.cache/dford`, or `dford` in the folder that XDG_CACHE_HOME names.
    """
    if data is not None:
        return Path(data)
    if named := os.environ.get("DFORD_DATA"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dford"


@dataclass(frozen=True)
class File:
    """A file of numbers, and what is known about it."""

    dataset: str
    places: tuple[str, ...]
    """Inside the folder; a download goes to the first. Each is also looked for by its name alone."""
    read: Callable[[bytes], Floats]
    sha256: str = ""
    rows: int = 0
    columns: int = 0
    target: int = -1
    mean: str = ""
    """Of the target, to the digits given."""
    url: str = ""
    member: str = ""
    """If the url is that of an archive: the file's path in it and, below, the archive's checksum."""
    archive_sum: str = ""
    by_hand: str = ""
    """How to get the file if it cannot be downloaded."""

    @property
    def name(self) -> str:
        return Path(self.places[0]).name

    def path(self, data: Folder = None) -> Path | None:
        """The path of the file, or None if it is missing."""
        folder = data_folder(data)
        places = (*self.places, *(Path(place).name for place in self.places))
        return next((folder / place for place in places if (folder / place).is_file()), None)

    def find(self, data: Folder = None) -> Path:
        """The path of the file; raises FileNotFoundError if it is missing."""
        if path := self.path(data):
            return path
        raise FileNotFoundError(f"there is no {self.name} in {data_folder(data)}; {self.remedy}")

    @property
    def remedy(self) -> str:
        """How to get the file, as the end of a sentence."""
        return self.by_hand or f"get it with dford data --fetch {self.dataset}"

    def load(self, data: Folder = None) -> Floats:
        """The numbers in the file, refused if they are not those of the dataset."""
        path = self.find(data)
        try:
            return self.checked(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path} is damaged or a different file ({error}); {self.remedy}") from error

    def original(self, raw: bytes) -> bool:
        """Whether these are the bytes of the file as published."""
        return bool(self.sha256) and hashlib.sha256(raw).hexdigest() == self.sha256

    def checked(self, raw: bytes) -> Floats:
        """The numbers in `raw`; ValueError says how they differ from what is known.

        Other bytes with the known rows, columns and mean pass: editions differ in line endings and spaces.
        """
        try:
            table = self.read(raw)
        except ValueError as error:
            raise ValueError(str(error).split(";")[0]) from error
        if self.original(raw) or not self.rows:
            return table
        found: dict[str, object] = {"rows": len(table), "columns": table.shape[1]}
        known: dict[str, object] = {"rows": self.rows, "columns": self.columns}
        if self.mean and table.shape[1] == self.columns:
            digits = len(self.mean.partition(".")[2])
            found["target mean"] = f"{table[:, self.target].mean():.{digits}f}"
            known["target mean"] = self.mean
        if wrong := [f"{what} {found[what]} instead of {known[what]}" for what in found if found[what] != known[what]]:
            raise ValueError(", ".join(wrong))
        return table
