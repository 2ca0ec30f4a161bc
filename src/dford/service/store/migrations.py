"""How a database of an earlier version becomes one of this version."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from dford.service.store import schema
from dford.service.store.schema import schema_version

_LOCK = 7_246_015_203  # an arbitrary number that is ours: servers that start at the same time take turns


def _first(connection: Connection) -> None:
    """Nothing to do: a database of the first version already has its tables."""


def _expiry(connection: Connection) -> None:
    connection.execute(sa.text("CREATE INDEX IF NOT EXISTS leases_by_expiry ON leases (project, expires)"))


def _as_of(connection: Connection) -> None:
    """Snapshots say which retractions they know of, and leases whose they are. The log rebuilds old snapshots."""
    connection.execute(sa.text("DROP TABLE snapshots"))
    number = "project INTEGER NOT NULL, sequence INTEGER NOT NULL, as_of INTEGER NOT NULL"
    bytes_, double = ("BYTEA", "DOUBLE PRECISION") if connection.dialect.name == "postgresql" else ("BLOB", "DOUBLE")
    rest = f"versions TEXT NOT NULL, model {bytes_} NOT NULL, PRIMARY KEY (project, sequence)"
    connection.execute(sa.text(f"CREATE TABLE snapshots ({number}, {rest})"))
    connection.execute(sa.text("ALTER TABLE leases ADD COLUMN person TEXT NOT NULL DEFAULT ''"))
    who = "SELECT person FROM questions q WHERE q.project = leases.project AND q.number = leases.question"
    connection.execute(sa.text(f"UPDATE leases SET person = ({who})"))
    texts = ", ".join(f"{name} TEXT NOT NULL" for name in ("person", "key", "digest", "response"))
    rest = f"at {double} NOT NULL, PRIMARY KEY (person, key)"
    connection.execute(sa.text(f"CREATE TABLE requests ({texts}, {rest})"))


def _placements(connection: Connection) -> None:
    """Items know when they arrived, questions why they were asked. The log rebuilds old snapshots."""
    bytes_, double = ("BYTEA", "DOUBLE PRECISION") if connection.dialect.name == "postgresql" else ("BLOB", "DOUBLE")
    connection.execute(sa.text("DELETE FROM snapshots"))
    for table, column in (
        ("projects", "choice TEXT NOT NULL DEFAULT 'turns'"),
        ("projects", f"target {double} NOT NULL DEFAULT 0.1"),
        ("projects", "reveal BOOLEAN NOT NULL DEFAULT FALSE"),
        ("items", "sequence INTEGER NOT NULL DEFAULT 0"),
        ("questions", "purpose INTEGER NOT NULL DEFAULT 0"),
        ("questions", "checks INTEGER"),
        ("snapshots", f"placements {bytes_}"),
    ):
        connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _confidence(connection: Connection) -> None:
    """Answers may have a confidence."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    connection.execute(sa.text(f"ALTER TABLE answers ADD COLUMN confidence {double}"))


def _settlements(connection: Connection) -> None:
    """Levels of items can be settled."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    columns = "project INTEGER NOT NULL, sequence INTEGER NOT NULL, item INTEGER NOT NULL, lowest INTEGER"
    rest = f"highest INTEGER, person TEXT NOT NULL, at {double} NOT NULL, PRIMARY KEY (project, sequence)"
    connection.execute(sa.text(f"CREATE TABLE settlements ({columns}, {rest})"))
    connection.execute(sa.text("ALTER TABLE pool ADD COLUMN settled INTEGER"))


def _rules(connection: Connection) -> None:
    """Projects have rules on how people are asked."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    columns = f"project INTEGER NOT NULL, gold {double} NOT NULL, gold_column TEXT, answers_per_item INTEGER NOT NULL"
    rest = "auditors TEXT, own_figures BOOLEAN NOT NULL, PRIMARY KEY (project)"
    connection.execute(sa.text(f"CREATE TABLE rules ({columns}, {rest})"))


def _programs(connection: Connection) -> None:
    """Questions say whether a program was asked. Until then, only the keys of `dford label --answer` tell."""
    connection.execute(sa.text("ALTER TABLE questions ADD COLUMN program BOOLEAN NOT NULL DEFAULT FALSE"))
    connection.execute(sa.text("UPDATE questions SET program = TRUE WHERE key LIKE '--answer/%'"))


def _files(connection: Connection) -> None:
    """Projects may have a part of the image folder."""
    connection.execute(sa.text("ALTER TABLE projects ADD COLUMN files TEXT"))


def _answer_ids(connection: Connection) -> None:
    """Imported answers keep their ids, so that none is imported twice."""
    connection.execute(sa.text("ALTER TABLE answers ADD COLUMN id TEXT"))
    index = "CREATE UNIQUE INDEX answers_by_id ON answers (project, id) WHERE id IS NOT NULL"
    connection.execute(sa.text(index))


def _requests_by_project(connection: Connection) -> None:
    """Two people of the same name, in two projects, may use the same Idempotency-Key."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    names = "person, key, digest, response, at"
    texts = ", ".join(f"{name} TEXT NOT NULL" for name in ("person", "key", "digest", "response"))
    rest = f"{texts}, at {double} NOT NULL, PRIMARY KEY (project, person, key)"
    connection.execute(sa.text("ALTER TABLE requests RENAME TO requests_before"))
    connection.execute(sa.text(f"CREATE TABLE requests (project INTEGER NOT NULL, {rest})"))
    connection.execute(sa.text(f"INSERT INTO requests (project, {names}) SELECT -1, {names} FROM requests_before"))
    connection.execute(sa.text("DROP TABLE requests_before"))


def _begin_of_leases(connection: Connection) -> None:
    """Leases say when they began."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "DOUBLE"
    connection.execute(sa.text(f"ALTER TABLE leases ADD COLUMN at {double} NOT NULL DEFAULT 0"))
    begin = "SELECT at FROM questions q WHERE q.project = leases.project AND q.number = leases.question"
    connection.execute(sa.text(f"UPDATE leases SET at = ({begin})"))


def _ratings(connection: Connection) -> None:
    """Answers may be whole ratings, and rules say whether people are offered that."""
    connection.execute(sa.text("ALTER TABLE answers ADD COLUMN rating INTEGER"))
    index = "CREATE INDEX answers_with_ratings ON answers (project, person) WHERE rating IS NOT NULL"
    connection.execute(sa.text(index))
    connection.execute(sa.text("ALTER TABLE rules ADD COLUMN ratings BOOLEAN NOT NULL DEFAULT FALSE"))


def _wanted(connection: Connection) -> None:
    """Questions say whether their item was asked for, which a request that is repeated must do, too."""
    connection.execute(sa.text("ALTER TABLE questions ADD COLUMN wanted BOOLEAN"))


def _certify(connection: Connection) -> None:
    """Rules say whether the target is to be shown by an audit."""
    connection.execute(sa.text("ALTER TABLE rules ADD COLUMN certify BOOLEAN NOT NULL DEFAULT FALSE"))


# Number n turns version n - 1 into n, in fixed SQL: schema.py has the result of them all, and may change later.
MIGRATIONS: list[Callable[[Connection], None]] = [
    _first, _expiry, _as_of, _placements, _confidence, _settlements, _rules, _programs, _files, _answer_ids,
    _requests_by_project, _begin_of_leases, _ratings, _wanted, _certify,
]  # fmt: skip


def migrate(connection: Connection, may_create: bool = True) -> None:
    """Bring a database to this version: a new one in one step, if it may be created, an old one step by step."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    is_new = not sa.inspect(connection).has_table(schema_version.name)
    if is_new and not may_create:
        raise ValueError("the database has no tables of dford; name another one, or let dford serve create them")
    if is_new:
        schema.metadata.create_all(connection)
        version, missing = len(MIGRATIONS), [len(MIGRATIONS)]
    else:
        version = connection.scalar(sa.select(sa.func.max(schema_version.c.version))) or 0
        missing = list(range(version + 1, len(MIGRATIONS) + 1))
    if version > len(MIGRATIONS):
        raise ValueError(
            f"the database has version {version}, but this dford only knows versions up to {len(MIGRATIONS)}; "
            "install a newer dford"
        )
    for number in missing:
        if not is_new:
            _step(connection, number)
        connection.execute(schema_version.insert().values(version=number))


def _step(connection: Connection, number: int) -> None:
    try:
        MIGRATIONS[number - 1](connection)
    except DBAPIError as error:
        raise ValueError(
            f"the database cannot be brought from version {number - 1} to {number}: {error.orig}; if somebody changed "
            "its tables, restore a backup"
        ) from error
