"""The images that items name: read from one folder and nothing outside it, and uploads stored there."""

import hashlib
import io
import os
import stat
import threading
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dford.columns import images
from dford.files import atomic_write
from dford.service.refusal import Refusal

_FLAGS = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY")  # follow no link, and do not wait for a FIFO
_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _FLAGS)
_FOLDER = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0)
_DEEPEST = 50  # levels of folders that are searched
_writing = threading.Lock()  # drafts are named by process, so two threads would share one


class FileLimits(NamedTuple):
    """What a folder and an archive may contain."""

    file_bytes: int = 20_000_000
    names: int = 100_000
    """How many files of a folder are searched."""
    entries: int = 10_000
    archive_bytes: int = 500_000_000
    """The size of all entries, unpacked."""


_LIMITS = FileLimits()


class ItemFiles:
    """The images below a folder, by the names in items: relative, with /, and compared exactly.

    Links are never followed, wherever they lead; the folder itself may be one.
    """

    def __init__(self, folder: str | os.PathLike[str], limits: FileLimits = _LIMITS) -> None:
        if os.open not in os.supports_dir_fd:
            raise NotImplementedError("an image folder needs Linux or macOS, where links can be told apart from files")
        self.folder, self.limits = Path(folder), limits

    def read(self, name: str) -> tuple[bytes, str]:
        """The content of an image and its media type, which the content decides. The name may come from anyone."""
        content = None
        if _is_plain(name):
            *folders, last = name.split("/")
            try:
                with _opened(self.folder, folders) as folder:
                    content = self._content(last, folder)
            except (OSError, ValueError):  # ValueError: not a valid name on this system
                pass
        kind = images.image_type(content or b"")
        if content is None or kind is None:
            # the same reply for anything outside, so that nobody learns what exists there
            most = f"{self.limits.file_bytes / 1e6:g} MB"
            sentence = f"the folder has no PNG, JPEG, WebP or GIF file of up to {most} named {name[:200]!r}"
            raise Refusal(404, "no-image", sentence)
        return content, kind.media

    def names(self) -> list[str]:
        """All images of the folder and the folders in it, sorted; hidden ones are left out."""
        return [name for name, is_image in self.files() if is_image]

    def files(self) -> list[tuple[str, bool]]:
        """The names of all files there, and which are images."""
        with suppress(FileNotFoundError), _opened(self.folder, []) as root:
            return sorted(self._search(root))
        return []

    def put(self, content: bytes) -> str:
        """Store an image and return its name: the same image has the same name, and is stored once.

        It is decoded, which may take seconds and 500 MB.
        """
        name = self._name(content, "the file")
        self._write(name, content)
        return name

    def put_zip(self, content: bytes) -> dict[str, str]:
        """Store the images of a ZIP archive, all or none; returns the stored name of each, by its name in the archive.

        Folders, hidden files and what file managers add are skipped; anything else that is not an image is refused.
        """
        kept = {}
        for entry, image in self._entries(content):
            if entry in kept:
                raise Refusal(
                    422, "bad-archive", f"the archive has two files named {entry[:200]!r}; rename one", "body"
                )
            kept[entry] = self._name(image, repr(entry[:200]))
        if not kept:
            raise Refusal(422, "bad-archive", "the archive has no images; add PNG, JPEG, WebP or GIF files", "body")
        for entry, image in self._entries(content):  # unpacked again, as they may not all fit in memory
            self._write(kept[entry], image)
        return kept

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
                    yield name, _is_plain(name) and self._is_image(file, folder)

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

    def _name(self, content: bytes, called: str) -> str:
        """The name an image is stored under; anything but an image is refused."""
        if len(content) > self.limits.file_bytes:
            sentence = f"{called} has {len(content):,} bytes; an image may have at most {self.limits.file_bytes:,}"
            raise Refusal(422, "not-an-image", sentence, "body")
        try:
            kind = images.decode(content, images.SIDE).kind
        except ValueError as error:
            raise Refusal(422, "not-an-image", f"{called} was refused: {error}", "body") from None
        return f"{hashlib.sha256(content).hexdigest()}.{kind.ending}"

    def _write(self, name: str, content: bytes) -> None:
        with _writing:
            try:
                if self.read(name)[0] == content:
                    return
            except Refusal:
                pass  # missing or incomplete
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with atomic_write(self.folder / name, follow=False) as draft:
                    draft.write_bytes(content)
            except OSError as error:
                sentence = f"the image could not be written: {error.strerror or error}; try again later"
                raise Refusal(503, "not-written", sentence, retry_after=5) from error

    def _entries(self, content: bytes) -> Iterator[tuple[str, bytes]]:
        """The names and the contents of the files in an archive, counted while they are unpacked."""
        try:
            archive = zipfile.ZipFile(io.BytesIO(content))
        except _BROKEN:
            raise Refusal(422, "bad-archive", "the file is not a ZIP archive, or it is damaged", "body") from None
        if len(archive.infolist()) > self.limits.entries:
            sentence = f"the archive has more than {self.limits.entries:,} entries; send it in parts"
            raise Refusal(422, "bad-archive", sentence, "body")
        left = self.limits.archive_bytes
        for entry in archive.infolist():
            if not _is_extra(entry):
                image = self._unpack(archive, entry)
                if (left := left - len(image)) < 0:
                    most = f"{self.limits.archive_bytes / 1e6:g} MB"
                    sentence = f"the archive is larger than {most} when unpacked; send it in parts"
                    raise Refusal(422, "bad-archive", sentence, "body")
                yield entry.filename, image

    def _unpack(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
        called = repr(entry.filename[:200])
        if entry.flag_bits & _ENCRYPTED:
            raise Refusal(422, "bad-archive", f"{called} is encrypted; send the archive without a password", "body")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            sentence = f"{called} is compressed in an unusual way; create an ordinary ZIP archive"
            raise Refusal(422, "bad-archive", sentence, "body")
        try:
            with archive.open(entry) as file:
                return file.read(self.limits.file_bytes + 1)
        except _BROKEN as error:
            sentence = f"{called} cannot be unpacked; create the archive again"
            raise Refusal(422, "bad-archive", sentence, "body") from error


# what reading a broken archive may raise
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
_ENCRYPTED = 0x1 | 0x40


def _is_plain(name: str) -> bool:
    """Whether it can only be a name inside a folder, on any system."""
    drive = name[1:2] == ":" and name[0].isascii() and name[0].isalpha()
    hidden = any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name)  # control, or half a surrogate pair
    return not drive and not hidden and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


def _is_extra(entry: zipfile.ZipInfo) -> bool:
    *folders, last = entry.filename.split("/")
    return entry.is_dir() or last.startswith(".") or "__MACOSX" in folders or last in ("Thumbs.db", "desktop.ini")


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
