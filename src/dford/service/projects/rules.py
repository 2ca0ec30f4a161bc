"""How the people of a project are asked: what an admin may change at any time."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.columns.values import is_missing
from dford.service.projects.projects import find_level
from dford.service.refusal import Refusal
from dford.service.store.schema import rules


class Rules(NamedTuple):
    gold: float = 0.0
    """The share of questions about items whose level is known, to judge people."""
    gold_column: str | None = None
    """The column of uploaded tables with known levels. It is set when the project is created."""
    answers_per_item: int = 1
    """How many people should answer about an item before others come up again."""
    auditors: list[str] | None = None
    """Who may get audit questions; None for everyone."""
    own_figures: bool = False
    """Whether people may see their own figures."""
    ratings: bool = False
    """Whether the page offers people to give an item's level, instead of yes or no."""
    certify: bool = False
    """Whether an audit is to show that the target is reached."""

    def may_audit(self, person: str) -> bool:
        return self.auditors is None or person in self.auditors


def read(connection: Connection, project: int) -> Rules:
    row = connection.execute(_ROW, {"project": project}).first()
    if row is None:
        return Rules()
    found: dict[str, Any] = {name: getattr(row, name) for name in Rules._fields}
    return Rules(**found | {"auditors": None if row.auditors is None else json.loads(row.auditors)})


def write(connection: Connection, project: int, new: Rules) -> None:
    """Replace the rules; a job for the writer."""
    connection.execute(rules.delete().where(rules.c.project == project))
    values = new._asdict() | {"auditors": None if new.auditors is None else json.dumps(new.auditors)}
    connection.execute(rules.insert().values(project=project, **values))


def change(connection: Connection, project: int, choice: str, changes: Mapping[str, Any]) -> Rules:
    """Change some of the rules, and return them all; a job for the writer, so that two changes at once both hold."""
    new = read(connection, project)._replace(**changes)
    check(choice, new)
    write(connection, project, new)
    return new


def check(choice: str, new: Rules) -> None:
    """Refuse rules that a project with this choice of the next item cannot follow."""
    asked = {"gold": new.gold > 0, "answers_per_item": new.answers_per_item > 1, "certify": new.certify}
    asked["auditors"] = new.auditors is not None
    for name, is_asked in asked.items():
        if is_asked and choice != "pool":
            sentence = f"{name} needs a project with the choice 'pool'; this one has {choice!r}"
            raise Refusal(422, "bad-rules", sentence, name)


class GoldColumn(NamedTuple):
    """The column of tables with known levels, and the scale."""

    name: str
    levels: list[str]

    def take_from(
        self, rows: Sequence[Mapping[str, Any]], field: str
    ) -> tuple[list[dict[str, Any]], dict[int, int]]:  # fmt: skip
        """The rows without the column, and the places of the known levels, from 1, by row."""
        known = dict[int, int]()
        for i, row in enumerate(rows):
            value = row.get(self.name)
            place = find_level(self.levels, str(value))
            if place is not None:
                known[i] = place
            elif not is_missing(value):
                said = f"{str(value)[:64]!r} in row {i + 1} of the column {self.name!r} of known levels is not one of "
                raise Refusal(422, "not-a-level", said + ", ".join(self.levels), f"{field}.{i}.{self.name}")
        return [{name: value for name, value in row.items() if name != self.name} for row in rows], known


_ROW = sa.select(rules).where(rules.c.project == sa.bindparam("project"))
