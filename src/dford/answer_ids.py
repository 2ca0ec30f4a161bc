"""The ids of answers, by which each counts once, wherever it comes from."""

import base64
import hashlib
import json
import re
from typing import Any

LONGEST = 100
OF_POOL = "pool."
"""What the ids of answers begin with whose items a pool chose."""
_ID = re.compile(f"[!-~]{{1,{LONGEST}}}")
_OF_CONTENT = re.compile("[a-z2-7]{24}")


def checked_id(given: Any) -> str:
    """The id as a text that any file holds unchanged."""
    if not _ID.fullmatch(text := str(given)):
        raise ValueError(
            f"an id must be 1 to {LONGEST} visible ASCII characters without spaces; got {text[: LONGEST + 1]!r}"
        )
    return text


def id_of(content: bytes, *facts: Any) -> str:
    """A short text that stands for these bytes and values, and for no others."""
    digest = hashlib.blake2b(content, digest_size=15)
    digest.update(json.dumps(facts).encode())
    return base64.b32encode(digest.digest()).decode().lower()  # 24 characters that no spreadsheet takes for a number


def may_be_of_content(id: str) -> bool:
    """Whether an id looks as if `id_of` had made it."""
    return _OF_CONTENT.fullmatch(id) is not None
