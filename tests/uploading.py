"""Uploads of images without a server: what the tests of folders and archives share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dford.service.projects.image_source import ImageSource
from dford.service.projects.image_uploads import Upload
from dford.service.projects.item_files import LIMITS, FileLimits


def here(function: Callable[..., Any], *given: Any, most: float = 0.0) -> Any:
    """Run a piece of work in this process."""
    return function(*given)


def put_zip(folder: Path, content: bytes, limits: FileLimits = LIMITS, name: str = "image") -> dict[str, str]:
    """Store the images of an upload; returns their stored names, by the names they came with."""
    with Upload(str(folder)) as upload:
        kept, _ = upload.unpack(here, content, name, ImageSource(uploads=str(folder)), limits)
        upload.keep()
    return dict(kept)


def put(folder: Path, content: bytes, limits: FileLimits = LIMITS) -> str:
    return put_zip(folder, content, limits)["image"]
