"""Files: written whole or not at all, and read to the last bit."""

import csv
import io
import os
import re
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_write(path: str | os.PathLike[str], follow: bool = True) -> Iterator[Path]:
    """A draft beside `path` to write to. It replaces `path` once it is on disk, so a crash leaves one whole file.

    A link stays one, to the new file, and a device or a pipe is written to; unless `follow` is false, for folders that
    others can write to: then whatever is there is replaced.
    """
    path = Path(path)
    is_special = follow and path.exists() and not path.is_file() and not path.is_dir()
    if follow and not is_special:
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; create it first")
    folder = tempfile.gettempdir() if is_special else path.parent
    draft = Path(folder, f".dford-{os.getpid()}-{uuid.uuid4().hex}{path.suffix}")
    try:
        yield draft
        if is_special:
            path.write_bytes(draft.read_bytes())
            return
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    if os.name == "posix":  # the new name itself must reach the disk too
        parent = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)


def read_csv(source: Any, as_text: Sequence[str] = (), **options: Any) -> Any:
    """The frame that pandas reads, with every number exact to the bit, and the columns in `as_text` as written."""
    import pandas as pd

    # before version 3, pandas reads exactly only on request
    exact: Any = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
    # pandas would read the text NA as missing, and "1" as a number, so it gets codes instead of texts
    texts: dict[str, int] = {}
    converters: Any = dict.fromkeys(as_text, lambda text: texts.setdefault(text, len(texts)))
    frame = pd.read_csv(source, converters=converters, **exact, **options)
    known = list(texts)
    for name in as_text:
        if name in frame:
            frame[name] = pd.Series([known[code] for code in frame[name]], frame.index, dtype=object)
    return frame


def read_parquet(path: str | os.PathLike[str]) -> Any:
    """The frame that pandas reads; a damaged file is a ValueError or an OSError."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('reading a Parquet file needs pandas: run pip install "dford[lab]"') from None
    try:
        return pd.read_parquet(path)
    except (LookupError, NotImplementedError, RuntimeError, TypeError) as error:
        raise ValueError(f"{Path(path).name} cannot be read as Parquet: {error!r}") from None


_DELIMITERS = (",", ";", "\t")  # the first one wins a tie


def csv_lines(content: bytes, most_columns: int | None = None) -> Iterator[list[str]]:
    """The values of each line of a CSV file, all of them as text: the header first, then rows as long as it is.

    They are separated by commas, semicolons or tabs: whichever the header has most of outside quotes.
    """
    try:
        text = content.decode("utf-8-sig").lstrip("\r\n")  # the header is the first non-empty line
    except UnicodeDecodeError:
        raise UnicodeError("the file is not UTF-8 text; save it as UTF-8") from None
    header = re.sub(r'"[^"]*"', "", re.split("[\r\n]", text, maxsplit=1)[0])
    delimiter = max(_DELIMITERS, key=header.count)
    if most_columns is not None and header.count(delimiter) >= most_columns:
        raise ValueError(f"the file has more than {most_columns:,} columns")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width = 0
    try:
        for number, values in enumerate(line for line in reader if line):
            width = width or len(values)
            if len(values) != width:
                raise ValueError(f"row {number} has {len(values)} values but the header has {width} columns")
            yield values
    except csv.Error as error:
        raise ValueError(f"the file is not CSV: {error}") from None
