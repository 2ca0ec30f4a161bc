"""Where the images of items are: a project's part of the folder that the user named, and the one for its uploads."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from dford.columns import ImageReader
from dford.columns.encoders import Encoder
from dford.service.projects.item_files import ItemFiles
from dford.service.refusal import Refusal


class ImageSource(NamedTuple):
    """What one person may name in one project. Only names, so that it can be passed to another process."""

    files: str = ""
    """The user's folder, which is never written to."""
    part: str | None = None
    """The folder inside it that may be read from, or "." for all of it; None: nothing."""
    uploads: str = ""
    encoder: str = ""

    def read(self, name: str) -> tuple[bytes, str]:
        """An image and its media type; 404 if there is none with this name."""
        refused = Refusal(404, "no-image", "this project has no image folder; upload images, or name it with its files")
        for folder in self._folders():
            try:
                return folder.read(name)
            except Refusal as refusal:
                refused = refusal
        raise refused

    def check_part(self, part: str) -> None:
        """Refuse a part of the folder that does not exist, or may be outside."""
        if not self.files or not ItemFiles(self.files, part).is_there():
            sentence = f"the server's image folder has no folder {part[:200]!r} in it; create it there, or name another"
            raise Refusal(422, "no-folder", sentence, "files")

    def path(self, name: str) -> Path | None:
        """The file of an image, if there is one."""
        return next((path for folder in self._folders() if (path := folder.path(name)) is not None), None)

    def may_have(self) -> bool:
        """Whether there can be any."""
        return any(folder.folder.is_dir() for folder in self._folders())

    def reader(self) -> ImageReader | None:
        """What turns them into numbers, if this server can have images at all."""
        return _SourceReader(self) if self.files or self.uploads else None

    def _folders(self) -> Iterator[ItemFiles]:
        if self.uploads:
            yield ItemFiles(self.uploads)
        if self.files and self.part is not None:
            yield ItemFiles(self.files, self.part)


class _SourceReader(ImageReader):
    def __init__(self, source: ImageSource) -> None:
        super().__init__(lambda name: source.read(name)[0], source.encoder or None)  # a refusal is a ValueError

    def _model(self) -> Encoder:
        assert self._path is not None
        return _encoder(str(self._path))


@lru_cache(maxsize=2)
def _encoder(path: str) -> Encoder:
    """Loaded once in each process."""
    return Encoder(path)
