"""The images that items name: read from one folder, or a part of it, and nothing outside."""

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dford.columns import images
from dford.service.refusal import Refusal

_FLAGS = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY")  # follow no link, and do not wait for a FIFO
_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _FLAGS)
_FOLDER = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0)
_DEEPEST = 50  # levels of folders that are searched


class FileLimits(NamedTuple):
    """What a folder and an archive may contain."""

    file_bytes: int = 20_000_000
    names: int = 100_000
    """How many files of a folder are searched."""
    entries: int = 10_000
    archive_bytes: int = 500_000_000
    """The size of all entries, unpacked."""


LIMITS = FileLimits()


class ItemFiles:
    """The images below a folder, or a part of it, by the names in items: relative, with /, and compared exactly.

    Links are never followed, wherever they lead; the folder itself may be one, but not its part.
    """

    def __init__(self, folder: str | os.PathLike[str], part: str = ".", limits: FileLimits = LIMITS) -> None:
        if os.open not in os.supports_dir_fd:
            raise NotImplementedError("an image folder needs Linux or macOS, where links can be told apart from files")
        self.folder, self.limits = Path(folder), limits
        self._part = [] if part == "." else part.split("/")

    def read(self, name: str) -> tuple[bytes, str]:
        """The content of an image and its media type, which the content decides. The name may come from anyone."""
        content = self._found(name)
        kind = images.image_type(content or b"")
        if content is None or kind is None:
            # the same reply for anything outside, so that nobody learns what exists there
            most = f"{self.limits.file_bytes / 1e6:g} MB"
            sentence = f"the folder has no PNG, JPEG, WebP or GIF file of up to {most} named {name[:200]!r}"
            raise Refusal(404, "no-image", sentence)
        return content, kind.media

    def path(self, name: str) -> Path | None:
        """The file that would be read, if there is one."""
        return None if self._found(name, 0) is None else Path(self.folder, *self._part, name).absolute()

    def is_there(self) -> bool:
        """Whether there is such a folder, and its part can only be inside."""
        if self._part and not is_plain("/".join(self._part)):
            return False
        with suppress(OSError, ValueError), _opened(self.folder, self._part):
            return True
        return False

    def names(self) -> list[str]:
        """All images of the folder and the folders in it, sorted; hidden ones are left out."""
        return [name for name, is_image in self.files() if is_image]

    def files(self) -> list[tuple[str, bool]]:
        """The names of all files there, and which are images."""
        with suppress(FileNotFoundError), _opened(self.folder, self._part) as root:
            return sorted(self._search(root))
        return []

    def _found(self, name: str, most: int | None = None) -> bytes | None:
        """The content of a file, or its start, whoever named it; None if there is no such file."""
        if not is_plain(name):
            return None
        *folders, last = name.split("/")
        with suppress(OSError, ValueError), _opened(self.folder, [*self._part, *folders]) as folder:
            return self._content(last, folder, most)
        return None  # ValueError: not a valid name on this system

    def _search(self, root: int) -> Iterator[tuple[str, bool]]:
        seen = 0
        for at, folders, files, folder in os.fwalk(".", dir_fd=root):  # fwalk follows no links
            deep = at.count("/") >= _DEEPEST
            folders[:] = [] if deep else [one for one in folders if not one.startswith(".")]
            for file in files:
                if (seen := seen + 1) > self.limits.names:
                    sentence = f"the folder has more than {self.limits.names:,} files; choose one with fewer"
                    raise Refusal(422, "too-many", sentence)
                name = f"{at}/{file}".removeprefix("./")
                if not file.startswith("."):
                    yield name, is_plain(name) and self._is_image(file, folder)

    def _content(self, file: str, folder: int, most: int | None = None) -> bytes | None:
        """The content of a file in an open folder, or its start; None if it is not a regular file or is too large."""
        with open(os.open(file, _READ, dir_fd=folder), "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > self.limits.file_bytes:
                return None
            content = opened.read(self.limits.file_bytes + 1 if most is None else most)
        return content if len(content) <= self.limits.file_bytes else None  # it may grow while it is read

    def _is_image(self, file: str, folder: int) -> bool:
        try:
            return images.image_type(self._content(file, folder, images.START) or b"") is not None
        except OSError:
            return False


def is_plain(name: str) -> bool:
    """Whether it can only be a name inside a folder, on any system."""
    drive = name[1:2] == ":" and name[0].isascii() and name[0].isalpha()
    hidden = any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name)  # control, or half a surrogate pair
    return not drive and not hidden and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


@contextmanager
def _opened(root: Path, folders: list[str]) -> Iterator[int]:
    """A descriptor of a folder below the root, opened step by step, so that no link is followed, even a new one."""
    descriptor = os.open(root, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _READ | _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)
