"""Databases of this version, of an earlier one and of a later one."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import dford
from dford.cli import main
from dford.service.learning import snapshots
from dford.service.learning.verify import verify
from dford.service.store import migrations, schema
from dford.service.store.database import Database
from postgres import BINARIES, new_database
from serving import answer_some, learned, ok, replayed, serving, set_up

SAVED = Path(__file__).parent / "saved" / "0.1.0-service.db"


def shape(database: Database) -> Any:
    """The tables, their columns and indices."""
    found = sa.inspect(database._read_engine)
    return {
        table: (
            sorted((one["name"], str(one["type"]), one["nullable"]) for one in found.get_columns(table)),
            sorted(found.get_pk_constraint(table)["constrained_columns"]),
            sorted((str(one["name"]), one["column_names"], bool(one["unique"])) for one in found.get_indexes(table)),
        )
        for table in found.get_table_names()
    }


def test_an_old_database_gets_the_schema_of_a_new_one(tmp_path: Path) -> None:
    shutil.copy(SAVED, tmp_path / "old.db")
    old, new = (Database(str(tmp_path / f"{name}.db")).prepare() for name in ("old", "new"))
    assert shape(old) == shape(new)
    old.close()
    new.close()


def test_questions_that_a_program_was_asked_in_an_old_database_are_still_a_programs(tmp_path: Path) -> None:
    shutil.copy(SAVED, tmp_path / "old.db")
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("UPDATE questions SET key = '--answer/' || number WHERE number % 2 = 0")
        connection.commit()
    database, questions = Database(str(tmp_path / "old.db")).prepare(), schema.questions
    with database.reading() as connection_:
        found = connection_.execute(sa.select(questions.c.number, questions.c.program)).all()
    database.close()
    assert found
    assert all(row.program == (row.number % 2 == 0) for row in found)


@pytest.fixture
def with_another_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version: items have a colour."""
    later = sa.MetaData()
    for table in schema.metadata.tables.values():
        copy = table.to_metadata(later)
        if table.name == "items":
            copy.append_column(sa.Column("colour", sa.Text, nullable=False, server_default="grey"))

    def colour(connection: sa.Connection) -> None:
        connection.execute(sa.text("ALTER TABLE items ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'"))

    monkeypatch.setattr(schema, "metadata", later)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS, colour])


def both(fresh: str, old: str) -> None:
    made = [Database(address).prepare() for address in (fresh, old)]
    assert [one["name"] for one in sa.inspect(made[0]._read_engine).get_columns("items")][-1] == "colour"
    assert shape(made[0]) == shape(made[1])
    for database in made:
        with database.reading() as connection:
            versions = connection.scalars(sa.select(schema.schema_version.c.version)).all()
            assert max(versions) == len(migrations.MIGRATIONS)
        database.close()


def test_a_column_added_later_is_in_fresh_and_in_old_databases(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    old = str(tmp_path / "old.db")
    with serving(old) as client:
        answer_some(client, set_up(client), 2)
    request.getfixturevalue("with_another_column")
    both(str(tmp_path / "new.db"), old)


@pytest.mark.skipif(not BINARIES, reason="there is no PostgreSQL on this machine")
def test_a_column_added_later_is_in_fresh_and_in_old_databases_of_postgresql(
    cluster: str, request: pytest.FixtureRequest
) -> None:
    old = new_database(cluster, "old")
    Database(old).prepare().close()
    request.getfixturevalue("with_another_column")
    both(new_database(cluster, "new"), old)


def test_a_snapshot_of_other_versions_is_reported_as_such_and_not_as_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log.db"
    with serving(file, snapshot_every=5) as client:
        answer_some(client, set_up(client), 12)
        learned(client, "/projects/rain")
    with closing(sqlite3.connect(file)) as database, database:
        other = '{"numpy": "1.26.0"}'
        database.execute("UPDATE snapshots SET model = substr(model, 1, 100), versions = ?", [other])
    assert main(["verify", "--database", str(file)]) == 0
    output = capsys.readouterr().out
    assert "differs, and was made by other versions" in output
    assert "1.26.0" in output
    with serving(file) as client:  # one that cannot be read is made again
        assert learned(client, "/projects/rain")["answers"] == 12
        ok(client.post("/projects/rain/questions"))
    with closing(sqlite3.connect(file)) as database:
        kept = [versions for (versions,) in database.execute("SELECT versions FROM snapshots")]
    assert snapshots.versions() in kept


@pytest.mark.parametrize("part", ["engine", "learners", "columns", "pool"])
def test_other_code_of_the_same_version_is_told_from_this_one(part: str, tmp_path: Path) -> None:
    copy = shutil.copytree(Path(dford.__file__).parent, tmp_path / "dford", ignore=shutil.ignore_patterns("*.pyc"))
    assert snapshots.code_version(copy) == json.loads(snapshots.versions())["code"]
    changed = max((copy / part).glob("*.py"))
    changed.write_text(changed.read_text() + "# changed\n")
    assert snapshots.code_version(copy) != json.loads(snapshots.versions())["code"]


def test_a_snapshot_of_these_versions_that_differs_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    with serving(file, snapshot_every=5) as client:
        answer_some(client, set_up(client), 12)
        learned(client, "/projects/rain")
    assert replayed(file)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE snapshots SET model = substr(model, 1, 100)")
    database_ = Database(str(file)).prepare()
    from dford.service.projects.projects import find

    project = find(database_, "rain")
    assert project is not None
    assert "is not the state that its answers lead to" in verify(database_, project).faults[0]
    database_.close()
