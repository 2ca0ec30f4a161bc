"""The images that a column names, as numbers."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dford.arrays import Floats

if TYPE_CHECKING:
    from dford.columns.encoders import Encoder


class ImageReader:
    """Turns images, given by name, into numbers: those of our own descriptor, or of an encoder.

    Parameters
    ----------
    read : function of a name
        Returns the bytes of the image, or raises ValueError or OSError if there is none.
    encoder : path, optional
        An ONNX model: see `dford.columns.encoders.Encoder`.
    """

    def __init__(self, read: Callable[[str], bytes], encoder: str | os.PathLike[str] | None = None) -> None:
        self._read, self._path = read, encoder
        self._encoder: Encoder | None = None

    @classmethod
    def of(cls, folder: str | os.PathLike[str], encoder: str | os.PathLike[str] | None = None) -> "ImageReader":
        """A reader of the images in a local folder."""
        return cls(lambda name: (Path(folder) / name).read_bytes(), encoder)

    @property
    def made_by(self) -> str:
        """What computes the numbers, and which version of it."""
        if self._path is not None:
            return f"encoder {self._model().digest[:16]}"
        from dford.columns import images

        return f"descriptor {images.VERSION}"

    @property
    def size(self) -> int:
        """How many numbers there are."""
        if self._path is not None:
            return self._model().width
        from dford.columns import images

        return len(images.FEATURES)

    def see(self, name: str) -> Floats | None:
        """The numbers of an image, or None if it cannot be read."""
        try:
            return self.numbers(name)
        except (ValueError, OSError):
            return None

    def numbers(self, name: str) -> Floats:
        """The same, but what is wrong with the image is raised."""
        from dford.columns import images

        data = self._read(name)
        return images.describe(data) if self._path is None else self._model().encode(data)

    def _model(self) -> "Encoder":
        if self._encoder is None:
            from dford.columns.encoders import Encoder

            assert self._path is not None
            self._encoder = Encoder(self._path)
        return self._encoder
