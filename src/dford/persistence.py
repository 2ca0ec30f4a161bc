"""Files of arrays with a JSON header: no pickle, written atomically.

Two lines of text, then the arrays' bytes in the header's order:

    dford 1 <sha256 of all that follows this line> <its length in bytes>
    {"arrays": [["name", "<f8", [3, 2]], ...], ...}
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.files import atomic_write

FORMAT = 1
_DTYPES = {"<f8", "<i8", "|u1"}


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    data = pack(header, arrays)
    with atomic_write(path) as draft:
        draft.write_bytes(data)


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of a file with this header and these arrays."""
    plain = {name: np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    index = [[name, a.dtype.str, list(a.shape)] for name, a in plain.items()]
    try:
        text = json.dumps({**header, "arrays": index}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot save: {error}; levels and parameters must be text, numbers or booleans") from None
    body = text.encode() + b"\n" + b"".join(a.tobytes() for a in plain.values())
    digest = hashlib.sha256(body).hexdigest()
    return f"dford {FORMAT} {digest} {len(body)}\n".encode() + body


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a single ValueError says what is wrong with it."""
    return unpack(Path(path).read_bytes(), path)


def unpack(content: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Like `read`, from a file's content; `path` names the file in errors."""
    first, _, body = content.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 4 or words[0] != b"dford" or not _is_number(words[1]) or not _is_number(words[3]):
        raise ValueError(f"{path} is not a dford file; expected one written by save()")
    if int(words[1]) > FORMAT:
        raise ValueError(
            f"{path} has format {int(words[1])}, but this dford reads only up to format {FORMAT}; install a newer dford"
        )
    if len(body) < int(words[3]):
        raise ValueError(f"{path} is incomplete: it has {len(body)} of {int(words[3])} bytes; save it again")
    if hashlib.sha256(body).hexdigest().encode() != words[2]:
        raise ValueError(f"{path} was changed after it was saved: its checksum does not match; use an untouched copy")
    text, _, data = body.partition(b"\n")
    try:
        header = json.loads(text, parse_constant=_refuse)
        arrays = {}
        for name, dtype, shape in header.pop("arrays"):
            size = math.prod(shape) * 8 if dtype != "|u1" else math.prod(shape)
            if dtype not in _DTYPES or min(shape, default=0) < 0 or size > len(data):
                raise ValueError(name)
            arrays[name] = np.frombuffer(data[:size], dtype=dtype).reshape(shape).astype(np.dtype(dtype[1:]))
            data = data[size:]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} has a header that dford cannot read ({error!r}); use an untouched copy") from None
    return header, arrays


def _is_number(word: bytes) -> bool:
    return word.isdigit() and len(word) < 20  # Python does not read numbers of thousands of digits


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")  # nor is it ever saved
