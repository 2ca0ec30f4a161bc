"""The database: opening it, reading and writing it, and what happens if it does not respond."""

import logging
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from dford.files import atomic_write
from dford.service.refusal import Refusal
from dford.service.store import schema
from dford.service.store.migrations import migrate

_LOG = logging.getLogger(__name__)
_LOOK = 0.1  # seconds between checks whether something hangs
_REST = 1.0  # seconds between attempts to reach a database that does not respond
_FRESH = 1.0  # seconds for which a connection is trusted after it was used


class Database:
    """One SQLite file or PostgreSQL database. Whatever takes longer than `seconds` is cut off and fails.

    While the database does not respond, one call tries it now and then, and the others are refused at once: they would
    only block the threads that everything else needs.
    """

    def __init__(self, url: str, seconds: float = 5.0) -> None:
        self.url = make_url(url if "://" in url else f"sqlite:///{Path(url).expanduser().absolute()}")
        self.seconds = seconds
        self._deadlines = _Deadlines()
        self._silent, self._trial, self._next_trial = False, threading.Lock(), 0.0
        self._write_engine = _engine(self.url, "BEGIN IMMEDIATE", seconds)
        self._read_engine = _engine(self.url, "BEGIN", seconds)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    def prepare(self, may_create: bool = True) -> "Database":
        """Bring the tables to this version, and check that they can be written."""
        try:
            with self.writing() as connection:
                migrate(connection, may_create)
                connection.execute(_WRITE_NOTHING)
        except BaseException:
            self.close()
            raise
        return self

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment (SQLite), or what is committed (PostgreSQL)."""
        try:
            with self._used(self._read_engine) as connection:
                yield connection
        except (OperationalError, InterfaceError, NoConnection, Silence) as error:
            sentence = f"the database could not be read ({told_to_others(error)}); try again in a moment"
            raise Refusal(503, "not-read", sentence, retry_after=5) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at the end. SQLite has one at a time."""
        with self._used(self._write_engine) as connection:
            yield connection

    def close(self) -> None:
        self._deadlines.close()
        self._write_engine.dispose()
        self._read_engine.dispose()

    def integrity(self) -> str:
        """What the database says about its own file: "ok" if all is well."""
        if not self.is_sqlite:
            return "ok"
        with self.reading() as connection:
            return str(connection.exec_driver_sql("PRAGMA integrity_check").scalar())

    def backup(self, file: Path) -> None:
        """Copy a SQLite database to a new file, as of one moment, while others write."""
        if not self.is_sqlite:
            raise ValueError("this is a PostgreSQL database; back it up with pg_dump")
        if file.exists():
            raise ValueError(f"{file} already exists; name a new file")
        try:
            with (
                atomic_write(file) as draft,
                self._read_engine.connect() as connection,
                closing(sqlite3.connect(draft)) as copy,
            ):
                copy.execute("PRAGMA journal_mode = OFF")  # a draft that fails is removed, and its journal with it
                connection.connection.dbapi_connection.backup(copy)  # type: ignore[union-attr]
        except sqlite3.Error as error:
            raise OSError(f"{file} could not be written: {error}") from None

    @contextmanager
    def _used(self, engine: Engine) -> Iterator[Connection]:
        begin, trial = time.monotonic(), self._silent
        if trial and (begin < self._next_trial or not self._trial.acquire(blocking=False)):
            raise Silence("it does not respond")
        try:
            with self._connected(engine) as connection, self._limited(connection), connection.begin():
                yield connection
            self._silent = False
        except (OperationalError, InterfaceError, NoConnection):
            # a locked SQLite file can still be read
            self._silent = not self.is_sqlite and time.monotonic() - begin >= self.seconds
            self._next_trial = time.monotonic() + _REST
            raise
        finally:
            if trial:
                self._trial.release()

    def _connected(self, engine: Engine) -> Connection:
        """A connection; one that broke while it was idle is replaced."""
        connection = engine.connect()
        now, last = time.monotonic(), connection.info.get("used", 0.0)
        connection.info["used"] = now
        if self.is_sqlite or now < last + _FRESH:
            return connection
        try:
            with self._limited(connection):
                connection.exec_driver_sql("SELECT 1")
                connection.rollback()
            return connection
        except OperationalError:
            connection.close()
            if time.monotonic() > now + self.seconds / 2:
                raise
            return engine.connect()

    def _limited(self, connection: Connection) -> AbstractContextManager[None]:
        return self._deadlines.within(self.seconds, connection.connection.dbapi_connection)


class Silence(Exception):  # noqa: N818
    """The database did not respond to another call just now, and that call tries again."""


class _Deadlines:
    """A thread that cuts off connections which take too long.

    A server that was stopped keeps its connections open, and its own time-outs cannot help. So the socket is shut down
    here, and the thread that waits for it gets an error at once.
    """

    def __init__(self) -> None:
        self._used: dict[int, tuple[float, Any]] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="dford-deadlines", daemon=True).start()

    @contextmanager
    def within(self, seconds: float, connection: Any) -> Iterator[None]:
        self._used[id(connection)] = time.monotonic() + seconds, connection
        try:
            yield
        finally:
            del self._used[id(connection)]

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK):
            now = time.monotonic()
            for deadline, connection in list(self._used.values()):
                if now > deadline:
                    _cut(connection)


def _cut(connection: Any) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.interrupt()
        return
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def reason(error: BaseException) -> str:
    """What the database said, on one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())


def told_to_others(error: BaseException) -> str:
    """The same for a response: what SQLite says names nothing, but others name hosts and users. That is logged."""
    if isinstance(error, Silence) or isinstance(getattr(error, "orig", None), sqlite3.Error):
        return reason(error)
    _LOG.warning("the database failed: %s", reason(error))
    return "it does not respond; the server's log has the details"


def is_down(error: BaseException) -> bool:
    """Whether the database itself is at fault, so that no other write would succeed now either."""
    if isinstance(error, (NoConnection, Silence)) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
    return code in {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }


# SQLite opens a read-only file for writing without complaint; only an update fails, even of no row
_WRITE_NOTHING = schema.schema_version.update().where(sa.false()).values(version=0)


def _engine(url: sa.URL, begin: str, seconds: float) -> Engine:
    pool: dict[str, Any] = {"pool_timeout": seconds, "pool_size": 20, "max_overflow": 20}
    if url.get_backend_name() != "sqlite":
        patience = {"connect_timeout": max(2, int(seconds))}
        return sa.create_engine(url, connect_args=patience, pool_recycle=300, **pool)
    if url.database in {None, "", ":memory:"}:
        raise ValueError("an in-memory database would lose the log; name a file for it")
    engine = sa.create_engine(url, connect_args={"timeout": seconds}, **pool)

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin only where we say
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
