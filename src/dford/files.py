"""Files: written whole or not at all, and read to the last bit."""

import csv
import io
import os
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal


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


def quoting(texts: Iterable[str]) -> Literal[0, 2]:
    """How pandas should quote these in a CSV file: it would leave a lone carriage return bare, which ends a line."""
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


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
    """The frame that pandas reads; a damaged file is a ValueError or an OSError.

    A named index is a column like any other; one without a name is none, nor one that counts the rows.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('reading a Parquet file needs pandas: run pip install "dford[lab]"') from None
    try:
        _refuse_twice(path)
        frame = pd.read_parquet(path)
    except (LookupError, NotImplementedError, RuntimeError, TypeError) as error:
        raise ValueError(f"{Path(path).name} cannot be read as Parquet: {error!r}") from None
    index: Any = frame.index
    frame = frame.reset_index(drop=True)
    for name in () if isinstance(index, pd.RangeIndex) else index.names:
        if name is not None and name not in frame:
            frame[name] = index.get_level_values(name)
    return frame[[name for name in frame if not is_index(str(name))]].rename(columns=str)


def _refuse_twice(path: str | os.PathLike[str]) -> None:
    from pyarrow import parquet

    counts = Counter(parquet.read_schema(path).names)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"{Path(path).name} has the column {twice[0]!r} twice; remove or rename one")


def read_parquet_rows(path: str | os.PathLike[str]) -> Any:
    """The same, with whole numbers exact even where some are missing."""
    frame = read_parquet(path)
    import pandas as pd
    from pyarrow import parquet, types

    for field in parquet.read_schema(path):
        if types.is_integer(field.type) and field.name in frame and frame[field.name].dtype.kind == "f":
            exact = parquet.read_table(path, columns=[field.name])[field.name].to_pylist()
            frame[field.name] = pd.array(exact, "UInt64" if types.is_unsigned_integer(field.type) else "Int64")
    return frame


def is_index(name: str) -> bool:
    """Whether pandas gives this name to an index without one."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


_DELIMITERS = (",", ";", "\t")  # the first one wins a tie
_LONGEST_VALUE = 10_000_000


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
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_VALUE))  # of the whole process, so it only ever grows
    reader = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), delimiter=delimiter, strict=True)
    width = number = 0
    try:
        for values in reader:
            if width == 1:
                values = values or [""]  # a missing value, and not an empty line
            elif not values:
                continue
            width = width or len(values)
            if len(values) != width:
                raise ValueError(f"row {number} has {len(values)} values but the header has {width} columns")
            yield values
            number += 1
    except csv.Error as error:
        if "field limit" in str(error):
            most = f"{csv.field_size_limit():,} characters"
            raise ValueError(f"row {number} has a value of more than {most}; shorten it, or close its quotes") from None
        raise ValueError(f"the file is not CSV: {error}") from None
