"""CSV files of items, as the service and its client read them: every value is text."""

from dford.files import csv_lines
from dford.service.refusal import Refusal

_MOST_COLUMNS = 10_000


def read_rows(content: bytes, most: int | None = None) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, `most` at most."""
    names: list[str] = []
    rows: list[dict[str, str]] = []
    try:
        lines = csv_lines(content, _MOST_COLUMNS)
        names = next(lines, [])
        for values in lines:
            rows.append(dict(zip(names, values, strict=True)))
            if most is not None and len(rows) > most:
                break
    except UnicodeError as error:
        raise Refusal(422, "not-text", str(error), "body") from None
    except ValueError as error:
        raise _not_csv(str(error)) from None
    if most is not None and len(rows) > most:
        raise Refusal(422, "too-many", f"the file has more than {most:,} rows; send it in parts", "body")
    if not rows or not all(names) or len(set(names)) < len(names):
        raise _not_csv("the file needs a header line of distinct column names, then at least one row")
    return rows


def _not_csv(sentence: str) -> Refusal:
    return Refusal(422, "not-csv", sentence, "body")
