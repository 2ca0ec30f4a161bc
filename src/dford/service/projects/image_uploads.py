"""Uploaded images: unpacked into a draft folder, which is gone if they are refused, and kept once they are items."""

import hashlib
import io
import json
import os
import shutil
import time
import uuid
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dford.columns import images
from dford.service.projects import items
from dford.service.projects.image_pieces import SLICE, Run, Seen, look_at
from dford.service.projects.image_source import ImageSource
from dford.service.projects.item_files import LIMITS, FileLimits
from dford.service.refusal import Refusal
from dford.service.store.database import Database

_DRAFT = ".draft-"


class Upload:
    """The images of one upload, in a draft folder inside the project's folder of images.

    The folder is locked as long as its process lives. So another process can tell what a killed one left behind.
    """

    def __init__(self, folder: str) -> None:
        if not folder:
            sentence = "this server stores no uploads, as its database is not a file; put images into its image folder"
            raise Refusal(404, "no-image", sentence, "body")
        self._draft, self._is_kept = Path(folder, f"{_DRAFT}{uuid.uuid4().hex}"), False

    def __enter__(self) -> "Upload":
        with _written():
            self._draft.mkdir(parents=True)
            self._lock = _locked(self._draft)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_kept:
            shutil.rmtree(self._draft, ignore_errors=True)
        os.close(self._lock)

    def unpack(
        self, run: Run, content: bytes, name: str, source: ImageSource, limits: FileLimits = LIMITS
    ) -> tuple[list[tuple[str, str]], Seen]:  # fmt: skip
        """The stored name of each image, beside the name it came with, and the numbers of each; refused if one is bad.

        The body is an image or a ZIP archive. Of an archive, folders, hidden files and what file managers add are
        skipped; anything else that is not an image is refused.
        """
        kept, at = list[tuple[str, str]](), Progress(0, limits.archive_bytes)
        while at.entry is not None:
            some, at = run(unpack_some, content, name, str(self._draft), limits, at)
            kept += some
        seen = look_at(
            run, source._replace(uploads=str(self._draft)), list(dict.fromkeys(stored for _, stored in kept))
        )
        for given, stored in kept:
            if isinstance(problem := seen[stored], str):
                raise _not_an_image(given if _is_archive(content) else None, problem)
        return kept, seen

    def keep(self) -> None:
        """Move the images to where items name them. If this fails, `recover` does it at the next start."""
        self._is_kept = True
        _keep(self._draft, {file.name for file in self._draft.iterdir()})


class Progress(NamedTuple):
    """Where to go on with an archive: at which entry (None: it is done), and how many bytes may still come out."""

    entry: int | None
    left: int


def unpack_some(
    content: bytes, name: str, draft: str, limits: FileLimits, at: Progress
) -> tuple[list[tuple[str, str]], Progress]:  # fmt: skip
    """Write the next images to the draft, as many as fit into a piece, but at least one."""
    kept, until = list[tuple[str, str]](), time.monotonic() + SLICE
    is_archive = _is_archive(content)
    for entry, given, image, left in _entries(content, limits, at) if is_archive else [(0, name, content, 0)]:
        called = given if is_archive else None
        if len(image) > limits.file_bytes:
            raise _not_an_image(called, f"it is too large; an image may have at most {limits.file_bytes:,} bytes")
        try:
            kind = images.check(image)
        except ValueError as error:
            raise _not_an_image(called, str(error)) from None
        kept.append((given, f"{hashlib.sha256(image).hexdigest()}.{kind.ending}"))
        with _written(), open(Path(draft, kept[-1][1]), "wb") as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())
        if is_archive and time.monotonic() > until:
            return kept, Progress(entry + 1, left)
    return kept, Progress(None, 0)


def recover(database: Database, root: str) -> None:
    """Keep or remove what killed processes left behind, by whether their items are in the database."""
    for draft in Path(root).glob(f"*/{_DRAFT}*"):
        with suppress(OSError, ValueError):
            lock = _locked(draft)  # an OSError if its process lives
            try:
                _keep(draft, _named(database, int(draft.parent.name), {file.name for file in draft.iterdir()}))
            finally:
                os.close(lock)


def _locked(folder: Path) -> int:
    """A descriptor that locks the folder until it is closed, by whatever ends this process."""
    import fcntl  # of Linux and macOS, as are image folders

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _named(database: Database, project: int, files: set[str]) -> set[str]:
    """Which of these files the items of a project name."""
    shown = (json.loads(item.shown) for page in items.pages(database, project) for item in page) if files else ()
    return {value for one in shown for value in one.values() if isinstance(value, str)} & files


def _keep(draft: Path, files: set[str]) -> None:
    """Move these files out of a draft, and remove the rest."""
    with _written():
        for file in files:
            os.replace(draft / file, draft.parent / file)
        shutil.rmtree(draft)
        folder = os.open(draft.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _written() -> Iterator[None]:
    """Turn a write error into a refusal."""
    try:
        yield
    except OSError as error:
        sentence = f"the image could not be written: {error.strerror or error}; try again later"
        raise Refusal(503, "not-written", sentence, retry_after=5) from error


def _not_an_image(entry: str | None, problem: str) -> Refusal:
    called = "the file" if entry is None else repr(entry[:200])
    return Refusal(422, "not-an-image", f"{called} was refused: {problem}", "body")


def _bad_archive(sentence: str) -> Refusal:
    return Refusal(422, "bad-archive", sentence, "body")


def _is_archive(content: bytes) -> bool:
    return content.startswith(b"PK")


def _entries(content: bytes, limits: FileLimits, at: Progress) -> Iterator[tuple[int, str, bytes, int]]:
    """The files in an archive from an entry on: number, name, content, and how many bytes may still come out."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _BROKEN:
        raise _bad_archive("the file is not a ZIP archive, or it is damaged") from None
    if len(archive.infolist()) > limits.entries:
        raise _bad_archive(f"the archive has more than {limits.entries:,} entries; send it in parts")
    files = [entry for entry in archive.infolist() if not _is_extra(entry)]
    if not files:
        raise _bad_archive("the archive has no images; add PNG, JPEG, WebP or GIF files")
    name, count = Counter(entry.filename for entry in files).most_common(1)[0]
    if count > 1:
        raise _bad_archive(f"the archive has two files named {name[:200]!r}; rename one")
    left = at.left
    for number, entry in list(enumerate(files))[at.entry or 0 :]:
        image = _unpacked(archive, entry, limits)
        if (left := left - len(image)) < 0:
            most = f"{limits.archive_bytes / 1e6:g} MB"
            raise _bad_archive(f"the archive is larger than {most} when unpacked; send it in parts")
        yield number, entry.filename, image, left


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: FileLimits) -> bytes:
    called = repr(entry.filename[:200])
    if entry.flag_bits & _ENCRYPTED:
        raise _bad_archive(f"{called} is encrypted; send the archive without a password")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad_archive(f"{called} is compressed in an unusual way; create an ordinary ZIP archive")
    try:
        with archive.open(entry) as file:
            return file.read(limits.file_bytes + 1)
    except _BROKEN as error:
        raise _bad_archive(f"{called} cannot be unpacked; create the archive again") from error


# what reading a broken archive may raise
_BROKEN: Any = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
_ENCRYPTED = 0x1 | 0x40


def _is_extra(entry: zipfile.ZipInfo) -> bool:
    *folders, last = entry.filename.split("/")
    return entry.is_dir() or last.startswith(".") or "__MACOSX" in folders or last in ("Thumbs.db", "desktop.ini")
