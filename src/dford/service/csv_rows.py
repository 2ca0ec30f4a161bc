"""CSV files of items, as the service and its client read them: every value is text."""

import csv
import io
import re

from dford.service.refusal import Refusal

_MOST_COLUMNS = 10_000


def read_rows(content: bytes, most: int | None = None) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, at most so many."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(422, "not-text", "the file is not UTF-8 text; save it as UTF-8", "body") from None
    if re.split("[\r\n]", text, maxsplit=1)[0].count(",") >= _MOST_COLUMNS:
        raise Refusal(422, "not-csv", f"the file has more than {_MOST_COLUMNS:,} columns", "body")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[dict[str, str]] = []
    try:
        names = next(reader, [])
        for values in reader:
            if not values:
                continue
            if len(values) != len(names):
                number = len(rows) + 1
                raise _not_csv(f"row {number} has {len(values)} values but the header has {len(names)} columns")
            rows.append(dict(zip(names, values, strict=True)))
            if most is not None and len(rows) > most:
                raise Refusal(422, "too-many", f"the file has more than {most:,} rows; send it in parts", "body")
    except csv.Error as error:
        raise _not_csv(f"the file is not CSV: {error}") from None
    if not rows or not all(names) or len(set(names)) < len(names):
        raise _not_csv("the file needs a header line of distinct column names, then at least one row")
    return rows


def _not_csv(sentence: str) -> Refusal:
    return Refusal(422, "not-csv", sentence, "body")
