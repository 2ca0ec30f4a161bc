"""Files out and in: the log, the levels of all items."""

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from dford.feedback import Question
from dford.log import COLUMNS, FeedbackLog, read_csv
from dford.service import jobs, reports
from dford.service.core import Service
from dford.service.projects import Project
from dford.service.refusal import Refusal
from dford.service.tables import answers, items, questions, retractions

_PAGE = 5000


def read_log(service: Service, project: Project) -> FeedbackLog:
    """The answers that count, in order."""
    log, names = FeedbackLog(project.levels), project.levels
    for one in service.store.rounds(project.id, 0, service.store.head(project.id)):
        asked = Question("", one.x, names[one.level - 1], names[one.prediction - 1], one.propensity, one.number)
        log.append(asked, bool(one.higher))
    return log


def log_file(service: Service, project: Project, suffix: str) -> bytes:
    service.fold(project)  # which refuses a project without columns
    log = read_log(service, project)
    if not len(log):
        raise Refusal(409, "no-answers", "there are no answers to export yet", "project")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log{suffix}"
        log.write(path, feature_names(project))
        return path.read_bytes()


def feature_names(project: Project) -> list[str]:
    return _apart([name for column in project.columns for name in column.features()], COLUMNS)


def _apart(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names, with a mark on those that a file would have twice."""
    kept, seen = list[str](), set(taken)
    for name in names:
        while name in seen:
            name += "'"
        kept.append(name)
        seen.add(name)
    return kept


def import_log(service: Service, project: Project, content: bytes, suffix: str, person: str) -> tuple[int, int]:
    """Add another log's rounds, all or none; its columns must be the features of this project, by name."""
    service.fold(project)
    read = _read_csv if suffix == ".csv" else _read_parquet
    try:
        frame = read(service, content, [*COLUMNS, *feature_names(project)])
        log = FeedbackLog.from_frame(frame, project.levels)
    except Refusal:
        raise
    except KeyError as error:
        raise Refusal(422, "bad-log", f"a log of this project has other columns: {error.args[0]}", "body") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise Refusal(422, "bad-log", " ".join(str(error).split())[:500], "body") from None
    if not (np.abs(log.X) <= 1e40).all():
        raise Refusal(422, "bad-log", "a log must have finite numbers alone", "body")
    sequence = service.write(project, lambda connection: jobs.add_log(connection, project.id, log, person))
    service.follow(project, sequence)
    return len(log), sequence


def _read_csv(service: Service, content: bytes, names: list[str]) -> Any:
    # a level may be called NA
    frame = read_csv(io.BytesIO(content), dtype={"level": str, "prediction": str}, keep_default_na=False)
    service.limit(len(frame), "body")
    return frame[names]


def _read_parquet(service: Service, content: bytes, names: list[str]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    count, batches = 0, []
    try:
        # A few bytes can stand for very much: each level's name is kept once, and rows are counted as they come.
        with parquet.ParquetFile(pa.BufferReader(content), read_dictionary=["level", "prediction"]) as file:
            _check_types(file.schema_arrow, names)
            for batch in file.iter_batches(1000, columns=names):
                count += batch.num_rows
                service.limit(count, "body")
                batches.append(batch)
        return pa.Table.from_batches(batches).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"the file is not Parquet that can be read: {error}") from None


def _check_types(schema: Any, names: list[str]) -> None:
    from pyarrow import types

    for name in names:
        if schema.names.count(name) != 1:
            raise KeyError(f"{name!r} is there {schema.names.count(name)} times")
        kind = schema.field(name).type
        if name in {"level", "prediction"}:
            right = types.is_dictionary(kind)
        else:
            right = types.is_boolean(kind) if name == "higher" else types.is_floating(kind) or types.is_integer(kind)
        if not right:
            raise ValueError(f"the column {name!r} is of type {kind}")


def final_levels(service: Service, project: Project) -> bytes:
    """`levels_file`, once all answers up to now are learned."""
    fold, head = service.fold(project), service.store.head(project.id)
    while not fold.wait(head, seconds=1.0):
        if fold.failure is not None:
            raise ValueError(f"project {project.name} could not learn: {fold.failure}")
    return levels_file(service, project)


def levels_file(service: Service, project: Project) -> bytes:
    """A line an item: its number, what was shown, its level, the probabilities, and what its answers leave."""
    fold, known = service.fold(project), _intervals(service, project)
    shown = [column.name for column in project.columns]
    text = io.StringIO(newline="")
    out = csv.writer(text)
    shares = [f"P({level})" for level in project.levels]
    own = ["level", *shares, "lowest", "highest"]
    out.writerow(["item", *_apart(shown, ["item", *own]), *own])
    after = 0
    while rows := _page(service, project, after):
        predicted = reports.predictions(fold, [np.frombuffer(row.x) for row in rows])
        for row, one in zip(rows, predicted.predictions, strict=True):
            values = json.loads(row.shown)
            low, high = known.get(row.number, (1, len(project.levels)))
            # answers may contradict each other: then nothing is known
            interval = [project.levels[low - 1], project.levels[high - 1]] if low <= high else ["", ""]
            chances = one.probabilities or {}
            out.writerow(
                [row.number, *(values.get(name) for name in shown), one.level]
                + [chances.get(level, "") for level in project.levels]
                + interval
            )
        after = rows[-1].number
    return text.getvalue().encode()


def _page(service: Service, project: Project, after: int) -> Sequence[Any]:
    rows = sa.select(items.c.number, items.c.shown, items.c.x).where(
        items.c.project == project.id, items.c.number > after
    )
    with service.store.reading() as connection:
        return connection.execute(rows.order_by(items.c.number).limit(_PAGE)).all()


def _intervals(service: Service, project: Project) -> dict[int, tuple[int, int]]:
    """[lowest, highest] of every item that was answered."""
    told = (
        sa.select(questions.c.item, questions.c.level, answers.c.higher)
        .join(answers, (answers.c.project == questions.c.project) & (answers.c.question == questions.c.number))
        .join(
            retractions,
            (retractions.c.project == answers.c.project) & (retractions.c.question == answers.c.question),
            isouter=True,
        )
        .where(questions.c.project == project.id, questions.c.item.is_not(None), retractions.c.sequence.is_(None))
    )
    known: dict[int, tuple[int, int]] = {}
    with service.store.reading() as connection:
        for item, level, higher in connection.execute(told):
            low, high = known.get(item, (1, len(project.levels)))
            known[item] = (max(low, level + 1), high) if higher else (low, min(high, level))
    return known
