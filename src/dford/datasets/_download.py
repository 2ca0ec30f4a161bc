"""Downloads, only on request: resumed after a lost connection, and kept only if they match what is known."""

import hashlib
import io
import os
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import File, Folder, data_folder
from dford.datasets.registry import check_name

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and, if the server says it, the total."""

TRIES = 4
PAUSE = 1.0
"""Seconds before the second try; doubled before each further one."""
_BLOCK = 1 << 16


def download(name: str, data: Folder = None, progress: Progress | None = None) -> list[Path]:
    """Download the files of a dataset into the folder, and return their paths.

    Files that are there and right are left alone. A lost connection is resumed. What was fetched is checked against the
    known checksum or figures before it is put in place, and thrown away if it is something else.

    Parameters
    ----------
    name : str
        The name of a dataset: see `load`.
    data : path, optional
        The folder, created if it is missing; by default DFORD_DATA, or else the user's cache.
    progress : callable, optional
        Called with the bytes so far and the total, or None if it is unknown.

    Raises
    ------
    ValueError
        If the dataset cannot be downloaded; the message says how to get it.
    OSError
        If the download fails.
    """
    check_name(name, CATALOGUE)
    return [_get(file, data, progress) for file in CATALOGUE[name].files]


def _get(file: File, data: Folder, progress: Progress | None) -> Path:
    try:
        path = file.find(data)
        file.load(data)
        return path
    except (FileNotFoundError, ValueError):
        pass
    if not file.url:
        raise ValueError(f"{file.dataset} cannot be downloaded into {data_folder(data)}; {file.remedy}")
    path = data_folder(data) / file.places[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    fetch(file.url, part, progress)
    try:
        raw = part.read_bytes()
        raw = _member(raw, file) if file.member else raw
        file.checked(raw)
        part.write_bytes(raw)
        os.replace(part, path)
    except ValueError as error:
        raise OSError(f"{file.url} did not return {file.name} ({error}); nothing was kept") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _member(raw: bytes, file: File) -> bytes:
    kind, _, known = file.archive_sum.partition(":")
    if hashlib.new(kind, raw, usedforsecurity=False).hexdigest() != known:
        raise ValueError(f"the archive's {kind} differs")
    if zipfile.is_zipfile(io.BytesIO(raw)):
        return zipfile.ZipFile(io.BytesIO(raw)).read(file.member)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        content = archive.extractfile(file.member)
        return content.read() if content else b""


def fetch(url: str, part: Path, progress: Progress | None = None) -> None:
    """Fetch `url` into the file `part`, continuing an earlier attempt; raises OSError if that fails."""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            return _go_on(url, part, progress)
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            if error.code == 416:  # the part is not the beginning of this file
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                break
        except urllib.error.URLError as error:
            reason = str(error.reason)
        except (OSError, HTTPException) as error:
            reason = str(error) or type(error).__name__
    raise OSError(f"cannot download {url} ({reason}); try again later, or put the file into the folder yourself")


def _go_on(url: str, part: Path, progress: Progress | None) -> None:
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "dford"} | ({"Range": f"bytes={done}-"} if done else {})
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        if answer.status != 206:  # a server without ranges starts over
            done = 0
        length = answer.headers.get("Content-Length")
        total = done + int(length) if length is not None else None
        with part.open("ab" if done else "wb") as file:
            while block := answer.read(_BLOCK):
                file.write(block)
                done += len(block)
                if progress:
                    progress(done, total)
    if total is not None and done < total:
        raise OSError(f"the connection was lost after {done} of {total} bytes")
