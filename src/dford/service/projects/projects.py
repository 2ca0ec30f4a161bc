"""A project: its scale, its columns, and its learner before any answer."""

import json
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.answer_ids import id_of
from dford.columns import Column, Columns
from dford.learners import CLASSES, Auto, LiveLearner
from dford.policies import Boundary, Greedy, Nearby, Policy, Triangular, Uniform
from dford.scale import Scale
from dford.service.projects.columns import PackedRow, decode, from_json, to_json
from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.schema import columns, heads, projects

LIVE = sorted(name for name, learner in CLASSES.items() if issubclass(learner, LiveLearner))
POLICIES = {policy.__name__: policy for policy in (Boundary, Greedy, Nearby, Triangular, Uniform)}
# limits on what one project costs in memory and time
_LARGEST = {"degree": 4, "n_components": 1000, "max_iter": 1000}
_LARGEST_OTHER = 10_000
# not for a project to choose
_OWN = {"levels", "random_state", "checkpoints", "feedback", "categorical_features", "dense"}


class Project(NamedTuple):
    """What is known about a project besides its rounds. `columns` is empty until they are set."""

    id: int
    name: str
    levels: list[str]
    learner: str
    parameters: dict[str, Any]
    seed: int
    columns: list[Column]
    choice: str
    """Which item is asked about next: the one that tells most ("pool"), or the one asked least often ("turns")."""
    target: float
    """The expected error of its items, in levels, at which there are enough answers."""
    reveal: bool
    """Whether people see the placement of an item before they answer."""
    key: str
    """Identifies it among all projects anywhere, in the ids of its answers."""
    files: str | None = None
    """Its part of the server's image folder: a folder in it, or "." for all of it."""

    def new_learner(self) -> LiveLearner:
        """The learner before any answer."""
        learner = make_learner(self.learner, self.parameters, self.levels, self.seed)
        fitted = Columns.of(self.columns)
        if fitted.is_sparse_ and isinstance(learner, Auto):
            learner.set_params(dense=fitted.n_dense_)
        return learner

    def width(self) -> int:
        """The number of features."""
        return Columns.of(self.columns).width_

    def scale_of_ratings(self) -> tuple[str, ...]:
        """The scale on which columns may hold ratings; none if its items are not placed."""
        return tuple(self.levels) if has_placements(self.learner) else ()

    def blank(self) -> PackedRow:
        """The features of a row of zeros."""
        fitted = Columns.of(self.columns)
        return b"" if fitted.is_sparse_ else bytes(8 * fitted.width_)

    def rows(self, packed: Sequence[PackedRow]) -> Any:
        """The features of items or questions, as the learner takes them."""
        return decode(self.columns, packed)


def make_learner(name: str, parameters: dict[str, Any], levels: list[str], seed: int) -> LiveLearner:
    """The learner described; raises a refusal that says what is wrong with it."""
    if name not in LIVE:
        raise Refusal(422, "bad-learner", f"{name!r} is not one of {', '.join(LIVE)}", "learner")
    try:
        scale = Scale(levels)
    except (TypeError, ValueError) as error:
        raise Refusal(422, "invalid", str(error), "levels") from None
    chosen = dict(parameters)
    try:
        if chosen.get("policy") is not None:
            chosen["policy"] = _policy(chosen["policy"])
            chosen["policy"].table(len(scale))
        learner = cast(LiveLearner, CLASSES[name](levels=scale.names, random_state=seed))
        allowed = set(learner.get_params(deep=False)) - _OWN
        for key, value in chosen.items():
            if key not in allowed:
                raise ValueError(f"{name} has no parameter {key!r} that a project may set")
            largest = _LARGEST.get(key, _LARGEST_OTHER)
            if isinstance(value, (int, float)) and not abs(value) <= largest:
                raise ValueError(f"{key} must be at most {largest}; got {value!r}")
        learner.set_params(**chosen)
        learner._validate_params()
    except (TypeError, ValueError) as error:
        raise Refusal(422, "bad-learner", " ".join(str(error).split()), "parameters") from None
    return learner


def _policy(description: Any) -> Policy:
    name = description.get("policy") if isinstance(description, dict) else None
    if not isinstance(name, str) or name not in POLICIES:
        raise ValueError(f'policy must be {{"policy": name, ...}}, with one of the names {", ".join(sorted(POLICIES))}')
    return POLICIES[name](**{key: value for key, value in description.items() if key != "policy"})


def names(database: Database) -> list[str]:
    """The names of all projects, even of those whose rows cannot be read."""
    with database.reading() as connection:
        return list(connection.scalars(sa.select(projects.c.name).order_by(projects.c.id)))


def all_projects(database: Database) -> list[Project]:
    with database.reading() as connection:
        return [_project(row) for row in connection.execute(_PROJECTS.order_by(projects.c.id))]


def find(database: Database, name: str) -> Project | None:
    if not _NAME.fullmatch(name):
        return None
    with database.reading() as connection:
        row = connection.execute(_PROJECTS.where(projects.c.name == name)).first()
    return None if row is None else _project(row)


def check_learner(learner: LiveLearner, chosen: Sequence[Column]) -> None:
    """Refuse texts if the learner cannot learn from them."""
    texts = [column.name for column in chosen if column.is_sparse]
    if texts and not learner._takes_sparse():
        sentence = (
            f"{type(learner).__name__} does not learn from texts such as column {texts[0]!r}; create the project with "
            "Auto, or set the column's kind to 'shown'"
        )
        raise Refusal(422, "bad-columns", sentence, "columns")


def require_columns(project: Project) -> None:
    """Refuse what only a project with columns can do."""
    if not project.columns:
        raise Refusal(409, "no-columns", "the project has no columns yet; set them or add items", "columns")


def has_placements(learner: str) -> bool:
    """Whether items are placed with this learner."""
    return hasattr(CLASSES[learner], "predict_proba")


def require_placements(project: Project) -> None:
    """Refuse what only a project whose items are placed can do."""
    if not has_placements(project.learner):
        sentence = f"{project.learner} has no probabilities, so items are not placed; use another learner"
        raise Refusal(409, "no-placements", sentence, "project")


def no_project(name: str) -> Refusal:
    return Refusal(404, "no-project", f"there is no project {name[:64]!r}", "project")


def name_of(database: Database, project: int) -> str:
    with database.reading() as connection:
        return str(connection.scalar(sa.select(projects.c.name).where(projects.c.id == project)))


def create(
    connection: Connection,
    name: str,
    levels: list[str],
    learner: str,
    parameters: dict[str, Any],
    seed: int | None,
    choice: str | None = None,
    target: float = 0.1,
    reveal: bool = False,
    files: str | None = None,
) -> int:
    """Create a project and return its number. By default, the choice is "pool" if the learner has probabilities."""
    if choice == "pool" and not has_placements(learner):
        sentence = f"the choice 'pool' needs probabilities, and {learner} has none; use 'turns' or another learner"
        raise Refusal(422, "bad-learner", sentence, "choice")
    if connection.scalar(sa.select(projects.c.id).where(projects.c.name == name)) is not None:
        raise Refusal(409, "project-exists", f"there is already a project {name!r}; use another name", "name")
    created = connection.execute(
        projects.insert().values(
            name=name,
            levels=json.dumps(levels),
            learner=learner,
            parameters=json.dumps(parameters),
            seed=secrets.randbits(32) if seed is None else seed,
            at=time.time(),
            choice=choice_of(choice, learner),
            target=target,
            reveal=reveal,
            files=files,
        )
    )
    assert created.inserted_primary_key is not None
    number = int(created.inserted_primary_key[0])
    connection.execute(heads.insert().values(project=number, item=0, question=0, sequence=0))
    return number


def choice_of(choice: str | None, learner: str) -> str:
    """The given choice, or else "pool" if the learner has probabilities."""
    return choice or ("pool" if has_placements(learner) else "turns")


def find_level(levels: Sequence[str], name: str) -> int | None:
    """The place of a level on the scale, from 1. White space around it does not count, unless an old level has it."""
    found = name if name in levels else name.strip()
    return levels.index(found) + 1 if found in levels else None


def place_of(project: Project, level: str, field: str) -> int:
    """The same; refused if there is no such level."""
    place = find_level(project.levels, level)
    if place is None:
        sentence = f"there is no level {level[:64]!r}; the scale is {', '.join(project.levels)}"
        raise Refusal(422, "not-a-level", sentence, field)
    return place


def set_columns(connection: Connection, project: int, chosen: Sequence[Column]) -> None:
    before = connection.scalar(sa.select(columns.c.columns).where(columns.c.project == project))
    if before is None:
        connection.execute(columns.insert().values(project=project, columns=to_json(chosen)))
    elif [*map(_as_described, from_json(before))] != [*map(_as_described, chosen)]:
        raise Refusal(409, "columns-set", "the columns of this project are set and cannot be changed", "columns")


def _as_described(column: Column) -> Column:
    """Without what requests do not describe, and versions do differently: how words without a list are spelled."""
    return column._replace(made_by="") if column.is_sparse else column


def set_target(connection: Connection, project: int, target: float) -> None:
    connection.execute(projects.update().where(projects.c.id == project).values(target=target))


_LENGTH_OF_KEY = 12  # 60 bits
NAME = "[a-z0-9][a-z0-9-]{0,63}"
_NAME = re.compile(NAME)
_PROJECTS = sa.select(projects, columns.c.columns).join(columns, columns.c.project == projects.c.id, isouter=True)


def _project(row: Any) -> Project:
    table = "projects"
    try:
        levels, parameters = json.loads(row.levels), json.loads(row.parameters)
        table = "columns"
        chosen = [] if row.columns is None else from_json(row.columns)
    except ValueError as error:
        raise ValueError(f"project {row.name}: its row in the table {table} cannot be read: {error}") from None
    key = id_of(b"", row.id, row.seed, row.at)[:_LENGTH_OF_KEY]
    return Project(
        row.id,
        row.name,
        levels,
        row.learner,
        parameters,
        row.seed,
        chosen,
        row.choice,
        row.target,
        row.reveal,
        key,
        row.files,
    )
