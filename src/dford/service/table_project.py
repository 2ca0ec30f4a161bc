"""A project whose items are the rows of a table: created or continued."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy import Connection

from dford.columns import Columns
from dford.columns.values import is_missing
from dford.service.core import Service
from dford.service.http import models
from dford.service.http.routes.projects import new_rules
from dford.service.http.validation import in_words
from dford.service.projects import items, projects, rules, settling
from dford.service.projects.columns import check_columns, encode, find_columns
from dford.service.projects.item_files import ItemFiles
from dford.service.projects.keys import LOCAL
from dford.service.projects.projects import Project, make_learner
from dford.service.projects.rules import GoldColumn, Rules
from dford.service.refusal import Refusal, busy
from dford.service.store import schema


class TableProject(NamedTuple):
    """A table, and settings of the project for its rows; what is not given is taken from the existing project."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    levels: Sequence[str] = ()
    learner: str = ""
    kinds: Mapping[str, str] = {}
    """How columns are read, if not judged by their values. They are then not columns of ratings."""
    seed: int | None = None
    by_content: bool = False
    """Whether rows are identified by their content, not by their place: new ones come last."""
    target: float | None = None
    """The expected error, in levels, at which there are enough answers."""
    certify: bool | None = None
    """Whether an audit is to show that the target is reached."""
    gold: str = ""
    """The column of the table with known levels."""


def fill_project(service: Service, table: TableProject) -> tuple[Project, int]:
    """The project with the table's rows as its items, and how many are new: all in one commit, or nothing."""
    found = projects.find(service.database, table.name)
    new, asking = _described(table) if found is None else ({}, service.rules(found))
    if found is not None:
        _compare(found, table, asking)
    rows, gold = _without_gold(table, asking, new["levels"] if found is None else found.levels)
    images = service.image_source(found, is_everywhere=True).reader()
    levels, learner = (new["levels"], new["learner"]) if found is None else (found.levels, found.learner)
    scale = levels if projects.has_placements(learner) else ()
    columns = (found.columns if found is not None else []) or find_columns(
        rows, table.kinds, images, scale, unrated=table.kinds
    )
    check_columns(columns, service.settings.features_per_item)
    with service.database.reading() as connection:
        before = [] if found is None else list(connection.scalars(_SHOWN, {"project": found.id}))
    known = len(before)
    if table.by_content:
        there = set(before)
        rows = [json.loads(one) for one in before] + [row for row in rows if json.dumps(row) not in there]
    shown = [json.dumps(row) for row in rows]
    try:
        packed = encode(columns, rows[known:], "rows", images)  # before the transaction, as images take long
    except Refusal as refusal:
        number = known + 1 + int(str(refusal.field).split(".")[1])
        raise Refusal(refusal.status, refusal.code, f"row {number}: {refusal.sentence}", refusal.field) from None

    def job(connection: Connection) -> int:
        there = () if found is None else connection.scalars(_SHOWN, {"project": found.id}).all()
        _compare_rows(table.name, there, shown)
        if len(there) != known:
            raise busy(f"someone else just added items to project {table.name!r}; try again")
        added = list(zip(shown[known:], packed, strict=True))
        number = found.id if found is not None else projects.create(connection, **new)
        if found is None:
            rules.write(connection, number, asking)
        elif table.target is not None:
            projects.set_target(connection, number, table.target)
        if found is not None and table.certify is not None:
            rules.change(connection, number, found.choice, {"certify": table.certify})
        projects.set_columns(connection, number, columns)
        if added:
            items.add(connection, number, added)
        settled = {row + 1: (place, place) for row, place in gold.items() if row >= known}
        settling.settle_many(connection, number, settled, LOCAL.name)
        return len(added)

    count = service.write(found, job)
    return service.project(table.name), count


def image_rows(folder: Path) -> tuple[list[dict[str, str]], list[str]]:
    """One row for every image in a folder, and the names of the other files."""
    files = ItemFiles(folder).files()
    rows = [{"image": name} for name, is_image in files if is_image]
    if not rows:
        raise ValueError(f"{folder} has no PNG, JPEG, WebP or GIF file")
    return rows, [name for name, is_image in files if not is_image]


def unread_images(service: Service, project: Project) -> list[str]:
    """The names of the images that could not be read when their items were added."""
    features = Columns.of(project.columns).feature_names()
    places = {one.name: features.index(one.features()[-1]) for one in project.columns if one.kind == "image"}
    if not places:
        return []
    found = []
    for page in items.pages(service.database, project.id):
        X = project.rows([row.x for row in page])
        for row, shown in enumerate(json.loads(one.shown) for one in page):
            unread = [shown.get(name) for name, place in places.items() if X[row, place]]
            found += [name for name in unread if not is_missing(name)]
    return found


_SHOWN = (
    sa.select(schema.items.c.shown)
    .where(schema.items.c.project == sa.bindparam("project"))
    .order_by(schema.items.c.number)
)


def _without_gold(
    table: TableProject, asking: Rules, levels: list[str]
) -> tuple[list[Mapping[str, Any]], dict[int, int]]:  # fmt: skip
    """The rows without the column of known levels, and the places of these levels, by row."""
    column, names = asking.gold_column, list(table.rows[0]) if table.rows else []
    if column is None:
        return list(table.rows), {}
    if column not in names:
        raise ValueError(f"the file has no column {column!r} of known levels; its columns are {', '.join(names)}")
    rows, known = GoldColumn(column, levels).take_from(table.rows, "rows")
    return list(rows), known


def _described(table: TableProject) -> tuple[dict[str, Any], Rules]:
    """The fields of a new project, checked as over HTTP, and its rules."""
    if not table.levels:
        raise ValueError(f"there is no project {table.name!r} yet; give --levels, lowest first, to create it")
    said: dict[str, Any] = {
        "name": table.name,
        "levels": table.levels,
        "learner": table.learner or "Auto",
        "seed": table.seed,
        "gold_column": table.gold or None,
        "certify": bool(table.certify),
    }
    if table.target is not None:
        said["target"] = table.target
    try:
        new = models.NewProject.model_validate(said)
    except ValidationError as error:
        raise ValueError(in_words(error.errors())[1]) from None
    make_learner(new.learner, new.parameters, new.levels, 0)
    return new.model_dump(exclude={"columns", *Rules._fields}), new_rules(new)


def _compare(project: Project, table: TableProject, asking: Rules) -> None:
    if table.levels and list(table.levels) != project.levels:
        raise _differs(project.name, f"has the levels {', '.join(project.levels)}")
    if table.learner and table.learner != project.learner:
        raise _differs(project.name, f"has the learner {project.learner}")
    if table.gold and table.gold != asking.gold_column:
        column = "no column" if asking.gold_column is None else f"the column {asking.gold_column!r}"
        raise _differs(project.name, f"has {column} of known levels")
    read = {column.name: "ratings" if column.ratings else column.kind for column in project.columns}
    for name, kind in table.kinds.items() if read else ():
        if read.get(name) != kind:
            raise _differs(
                project.name,
                f"reads the column {name!r} as {read[name]}" if name in read else f"has no column {name!r}",
            )


def _compare_rows(name: str, there: Sequence[str], shown: Sequence[str]) -> None:
    if len(shown) < len(there):
        raise _differs(name, f"has {len(there)} items, but the file has {len(shown)} rows")
    for number, (old, row) in enumerate(zip(there, shown, strict=False), 1):
        if old != row and (change := _change(json.loads(old), json.loads(row))):
            raise _differs(name, f"has an item {number} that differs from row {number} of the file: {change}")


def _change(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """What is different, if anything is."""
    if old.keys() != new.keys():
        return f"the columns were {', '.join(map(repr, old))}, and are {', '.join(map(repr, new))}"
    return next((f"its {key!r} was {old[key]!r}, and is {new[key]!r}" for key in old if old[key] != new[key]), None)


def _differs(name: str, what: str) -> Refusal:
    return Refusal(409, "differs", f"project {name!r} {what}; choose another one with --project")
