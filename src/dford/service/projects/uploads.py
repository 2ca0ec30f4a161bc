"""What files and bodies become: items and rounds, ready to be written.

A few bytes can unpack to a lot. So columns, rows and sizes are counted before they are created, and all of this runs
where it may take long, and even fail, without holding anybody up.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dford import sparse_rows
from dford.answer_ids import LONGEST, may_be_of_content
from dford.columns import Column, Columns, ImageReader, Kind
from dford.columns.values import is_missing
from dford.log import FeedbackLog
from dford.log_columns import ABOUT, COLUMNS, ID, MAY_HAVE, About, about_columns, read_ids, read_rounds
from dford.service.csv_rows import read_rows
from dford.service.projects.answer_ids import ids_by_content
from dford.service.projects.columns import (
    PackedRow,
    check_columns,
    check_known,
    check_lacking,
    encode,
    find_columns,
    unforeseen,
)
from dford.service.projects.image_source import ImageSource
from dford.service.projects.items import Ready
from dford.service.projects.keys import name_problem
from dford.service.projects.projects import Project
from dford.service.projects.ratings import RatingToCheck
from dford.service.projects.rules import GoldColumn
from dford.service.refusal import Refusal


class ReadyRound(NamedTuple):
    """A round of a log; levels count from 1."""

    x: bytes
    level: int
    prediction: int
    propensity: float
    higher: bool
    about: About
    id: str
    has_own_id: bool = True
    """Whether the log gave the id, other than that which the rest gives; if not, it says no more than the rest."""
    number: int | None = None
    """Of the item in the log, which need not be the item of this number here."""


class Bounds(NamedTuple):
    """What one call may contain, where the images it names are, and which column has known levels."""

    rows: int
    features: int
    images: ImageSource = ImageSource()
    gold: GoldColumn | None = None
    reader: ImageReader | None = None
    """What turns the images into numbers; set where the work is done."""
    levels: tuple[str, ...] = ()
    """The scale on which columns may hold ratings; none if they are not looked for."""

    def without_gold(
        self, rows: Sequence[Mapping[str, Any]], field: str
    ) -> tuple[Sequence[Mapping[str, Any]], dict[int, int]]:  # fmt: skip
        """The rows as they are shown and learned from, and the places of the known levels, by row."""
        return (rows, {}) if self.gold is None else self.gold.take_from(rows, field)


class ReadyItems(NamedTuple):
    columns: list[Column]
    items: list[Ready]
    notes: list[str]
    """Sentences to show about them."""
    known: dict[int, int]
    """The place of the known level, from 1, by row, from 0."""


_TEXTS = ("level", "prediction", "person", "rating", "purpose")  # columns with few distinct texts
_FOOTER_OF_A_COLUMN = 2_000  # bytes that a Parquet file may spend on describing one column


def ready_items(
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Any]],
    field: str,
    bounds: Bounds,
    kinds: Mapping[str, Kind] | None = None,
) -> ReadyItems:
    """The items and their columns, which are read from these rows, with the given kinds, if none are set."""
    limit(len(rows), field, bounds)
    rows, known = bounds.without_gold(rows, field)
    kinds = {name: kind for name, kind in (kinds or {}).items() if bounds.gold is None or name != bounds.gold.name}
    chosen = list(columns) or find_columns(rows, kinds, bounds.reader, bounds.levels)
    check_columns(chosen, bounds.features)
    _check_images(chosen, rows, field, bounds)
    items = [(json.dumps(row), x) for row, x in zip(rows, encode(chosen, rows, field, bounds.reader), strict=True)]
    return ReadyItems(chosen, items, unforeseen(chosen, rows), known)


def _check_images(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], field: str, bounds: Bounds
) -> None:  # fmt: skip
    """Refuse names of images that are not this person's to name: whoever sees the items would see them, too."""
    if bounds.images.part is not None or bounds.reader is None:
        return
    for column in (column.name for column in columns if column.kind == "image"):
        for number, row in enumerate(rows):
            if not is_missing(name := row.get(column)) and bounds.reader.see(str(name)) is None:
                sentence = (
                    f"{str(name)[:200]!r} is not an image that was uploaded to this project; only an admin of all "
                    "projects can name other images, or give a new project its part of the image folder"
                )
                raise Refusal(403, "not-allowed", sentence, f"{field}.{number}.{column}")


def image_items(columns: Sequence[Column], kept: Sequence[tuple[str, str]], bounds: Bounds) -> ReadyItems:
    """An item for each uploaded image: the name it came with, and the one it is stored under."""
    # names that differ only in what cannot be printed are shown alike, and yet each is an item
    kept = [(_printable(given), stored) for given, stored in kept]
    chosen = list(columns) or find_columns(
        [{"image": stored, "name": given} for given, stored in kept],
        {"image": "image", "name": "shown"},
        bounds.reader,
    )
    column = image_column(chosen)
    has_name = column != "name" and any(one.name == "name" for one in chosen)
    rows = [{column: stored, **({"name": given} if has_name else {})} for given, stored in kept]
    return ready_items(chosen, rows, "images", bounds)


def image_column(columns: Sequence[Column]) -> str:
    """The name of the column of images; without one, uploaded images are refused."""
    for column in columns:
        if column.kind == "image":
            return column.name
    sentence = "this project has no image column, and its columns cannot be changed; create another project for images"
    raise Refusal(422, "bad-columns", sentence, "columns")


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in name)


def csv_items(columns: Sequence[Column], content: bytes, bounds: Bounds) -> ReadyItems:
    return ready_items(columns, read_rows(content, bounds.rows), "body", bounds)


def sent_features(columns: Sequence[Column], features: Mapping[str, Any], bounds: Bounds) -> tuple[str, PackedRow]:
    """Features sent with a question: as they are shown, and as they are stored."""
    packed = encode(columns, [features], "features", bounds.reader)[0]
    check_lacking(columns, [features], "features")
    return json.dumps(features, sort_keys=True), packed


def preview_csv(columns: Sequence[Column], content: bytes, bounds: Bounds) -> dict[str, Any]:
    """How a file would be read."""
    rows, _ = bounds.without_gold(read_rows(content, bounds.rows), "body")
    chosen = list(columns) or find_columns(rows, images=bounds.reader, levels=bounds.levels)
    check_known(chosen, rows, "body")
    return {
        "columns": chosen,
        "rows": rows[:5],
        "count": len(rows),
    }


def limit(count: int, field: str, bounds: Bounds) -> None:
    if not 1 <= count <= bounds.rows:
        sentence = f"{count:,} were sent; send between 1 and {bounds.rows:,} at a time"
        raise Refusal(422, "too-many", sentence, field)


def _limit_rounds(count: int, bounds: Bounds) -> None:
    if not count:
        raise _bad_log("the file has the header of a log but no answers; a log has a row for each answer")
    limit(count, "body", bounds)


def uploaded_log(project: Project, content: bytes, suffix: str, bounds: Bounds) -> list[ReadyRound]:
    """The rounds of a log; its columns must be the features of this project, by name."""
    read = _csv_frame if suffix == ".csv" else _parquet_frame
    try:
        frame = read(content, project, bounds)
        log = FeedbackLog.from_frame(frame, project.levels)
    except Refusal:
        raise
    except UnicodeError as error:
        raise Refusal(422, "not-text", str(error), "body") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise _bad_log(" ".join(str(error).split())[:500]) from None
    except MemoryError:
        raise _bad_log("the file needs more memory than a log of its length can") from None
    if not (abs(log.X.data if log.is_sparse else log.X) <= 1e40).all():
        raise _bad_log("the log has numbers that are missing, infinite or beyond 1e40; leave those rows out")
    for person in set(log.person.tolist()):
        if person is not None and (problem := name_problem(person, is_new=False)):
            raise _bad_log(problem)
    given = set(read_ids(frame[ID])) if ID in frame else set()
    rounds = list(zip(log, log.rounds(), log.id.tolist(), strict=True))
    # a project that got answers without ids exports those that it gave them
    given -= ids_by_content(
        project.levels, ((x, *one[1:]) for (x, *_), one, id in rounds if id in given and may_be_of_content(id))
    )
    return [ReadyRound(*one, id, id in given, one[5].item) for _, one, id in rounds]


def uploaded_ratings(content: bytes, bounds: Bounds) -> list[RatingToCheck]:
    """The ratings in a table with the columns item, level and, if it is known, person."""
    rows = read_rows(content, bounds.rows)
    if not {"item", "level"} <= set(rows[0]) <= {"item", "level", "person"}:
        columns = ", ".join(rows[0])[:200]
        raise _bad_log(f"a table of ratings has the columns item, level and, if it is known, person; got {columns}")
    found = []
    for number, row in enumerate(rows, 1):
        item = row["item"].strip()
        if not item.isdecimal() or not item.isascii() or not 0 < len(item) < 10:
            raise _bad_log(f"row {number}: an item must be a whole number, 1 or more; got {item[:40]!r}")
        found.append(RatingToCheck(int(item), row["level"], row.get("person") or None))
    return found


def is_table_of_ratings(content: bytes) -> bool:
    """Whether a CSV file has a table of ratings, and no log."""
    header = content.partition(b"\n")[0].decode(errors="replace").removeprefix("\ufeff")
    return {"item", "level"} <= {name.strip().strip('"') for name in header.split(",")} <= {"item", "level", "person"}


def _bad_log(sentence: str) -> Refusal:
    return Refusal(422, "bad-log", sentence, "body")


def _columns(project: Project, there: Iterable[str]) -> list[str]:
    """The columns of a log of this project in a file with these columns: with items, people and times, or without."""
    there = list(there)
    more = (*about_columns(there), *([ID] if ID in there else []))
    features = feature_names(project)  # as exports name them
    if not set(features) <= set(there):
        features = feature_names(project, more)
    names = [*COLUMNS, *more, *features, *_sparse_column(project)]
    if some := [name for name in ABOUT if name in there and name not in names]:
        lacking = " and ".join(name for name in ABOUT if name not in there)
        raise _bad_log(
            f"the file has {' and '.join(some)} but not {lacking}; a log has all of {', '.join(ABOUT)}, or none"
        )
    if missing := sorted(set(names) - set(there), key=names.index):
        raise _bad_log(f"the file has no column {missing[0]!r}; a log of this project has {', '.join(names[:50])}")
    return names


def _sparse_column(project: Project) -> list[str]:
    """The column that holds the features of texts, if there are any."""
    fitted = Columns.of(project.columns)
    return [sparse_rows.column_name(fitted.width_ - fitted.n_dense_)] if fitted.is_sparse_ else []


def _csv_frame(content: bytes, project: Project, bounds: Bounds) -> Any:
    header, width = content.partition(b"\n")[0], len(COLUMNS) + project.width()
    if header.count(b",") > 2 * width + 1000:
        raise _bad_log(f"the file has {header.count(b',') + 1:,} columns; a log of this project has {width:,}")
    frame = read_rounds(io.BytesIO(content), project.levels, nrows=bounds.rows + 1)
    names = _columns(project, frame.columns)
    _limit_rounds(len(frame), bounds)
    return frame[names]


def _parquet_frame(content: bytes, project: Project, bounds: Bounds) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    footer = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != b"PAR1" or footer > _FOOTER_OF_A_COLUMN * (project.width() + 20):
        raise ValueError("the file is not Parquet, or has more columns than a log of this project")
    count, batches = 0, []
    try:
        there = parquet.read_schema(pa.BufferReader(content)).names
        texts = [name for name in _TEXTS if name in there]
        with parquet.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as file:
            names = _columns(project, file.schema_arrow.names)
            _check_types(file.schema_arrow, names)
            _check_sizes(file.metadata, names, bounds, len(content))
            for batch in file.iter_batches(1000, columns=names):
                count += batch.num_rows
                limit(count, "body", bounds)
                batches.append(batch)
        table = pa.Table.from_batches(batches)
        table.validate(full=True)  # texts that are not UTF-8 would fail later, as something else
        return table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"the Parquet file cannot be read: {error}") from None


def _is_right(kind: Any, name: str) -> bool:
    from pyarrow import types

    if name in _TEXTS:
        is_text = types.is_dictionary(kind) and (types.is_string(kind.value_type) or name != "person")
        return bool(is_text or (name == "person" and types.is_null(kind)))
    if name in ("higher", "program"):
        return bool(types.is_boolean(kind))
    if name == ID or sparse_rows.find_column([name]) is not None:
        return bool(types.is_string(kind) or types.is_large_string(kind) or (name == ID and types.is_integer(kind)))
    if name == "time":
        return bool(types.is_timestamp(kind))
    return bool(types.is_floating(kind) or types.is_integer(kind))


def _check_types(schema: Any, names: list[str]) -> None:
    for name in names:
        if schema.names.count(name) != 1:
            raise ValueError(f"the column {name!r} appears {schema.names.count(name)} times; it must appear once")
        kind = schema.field(name).type
        if not _is_right(kind, name):
            raise ValueError(f"the column {name!r} has the type {kind}, which a log does not have there")


def _check_sizes(metadata: Any, names: list[str], bounds: Bounds, size: int) -> None:
    """Check the unpacked sizes that the file claims. If it lies, the memory limit of this process stops it."""
    _limit_rounds(metadata.num_rows, bounds)
    most = 1_000_000 + 16 * metadata.num_rows  # bytes of one column, including the names of levels
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            name = column.path_in_schema
            # features of texts do not compress much better than this
            own = max(most, 20 * size) if sparse_rows.find_column([name]) is not None else most
            if name == ID:
                own += LONGEST * metadata.num_rows
            if name in names and column.total_uncompressed_size > own:
                raise ValueError(f"the column {name!r} is larger than {own:,} bytes when unpacked")


def feature_names(project: Project, taken: Iterable[str] = (*MAY_HAVE, ID)) -> list[str]:
    """The features of a project, named differently from these columns and those that every log has."""
    return apart([name for column in project.columns for name in column.features()], [*COLUMNS, *taken])


def apart(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names, with a mark on those that would be in a file twice."""
    kept, seen = list[str](), set(taken)
    for name in names:
        while name in seen or sparse_rows.find_column([name]) is not None:  # the name of a log's column for texts
            name += "'"
        kept.append(name)
        seen.add(name)
    return kept
