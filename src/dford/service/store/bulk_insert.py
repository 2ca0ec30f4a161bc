"""Many rows in few statements.

Each statement releases the interpreter lock, and under load a thread waits long to get it back, with the database
locked for everybody meanwhile. So rows must not be inserted one statement each.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table

_MOST_VALUES = 30_000  # in one statement; SQLite allows 32,766, PostgreSQL twice that


def insert_rows(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    row = f"({', '.join([mark] * len(columns))})"
    step = _MOST_VALUES // len(columns)
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([row] * len(some))}"
        connection.exec_driver_sql(statement, tuple(value for values in some for value in values))
