"""Where the images of items are: the folder that the user named, and the one for uploads."""

import os
from functools import lru_cache
from typing import NamedTuple

from dford.columns import ImageReader
from dford.service.projects.item_files import ItemFiles
from dford.service.refusal import Refusal


class ImageSource(NamedTuple):
    """Only names, so that it can be passed to another process."""

    files: str = ""
    """The user's folder, which is never written to."""
    uploads: str = ""
    encoder: str = ""

    def read(self, name: str) -> tuple[bytes, str]:
        """An image and its media type; 404 if there is none with this name."""
        folders = [folder for folder in (self.files, self.uploads) if folder]
        for folder in folders[:-1]:
            try:
                return ItemFiles(folder).read(name)
            except Refusal:
                continue
        if not folders:
            raise Refusal(404, "no-image", "this server has no image folder; name one with --files")
        return ItemFiles(folders[-1]).read(name)

    def put(self, content: bytes, name: str) -> dict[str, str]:
        """Store an image, or those of a ZIP archive; returns their stored names, by the names they came with."""
        if not self.uploads:
            sentence = "this server stores no uploads, as its database is not a file; put images into its image folder"
            raise Refusal(404, "no-image", sentence, "body")
        files = ItemFiles(self.uploads)
        return files.put_zip(content) if content.startswith(b"PK") else {name: files.put(content)}

    def may_have(self) -> bool:
        """Whether there can be any."""
        return any(os.path.isdir(folder) for folder in (self.files, self.uploads) if folder)

    def reader(self) -> ImageReader | None:
        """What turns them into numbers."""
        return _reader(self) if self.files or self.uploads else None


@lru_cache(maxsize=8)
def _reader(source: ImageSource) -> ImageReader:
    def read(name: str) -> bytes:
        try:
            return source.read(name)[0]
        except Refusal as refusal:
            raise ValueError(refusal.sentence) from None

    return ImageReader(read, source.encoder or None)
