"""What the commands that use the service's database share."""

import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import dford
from dford.cli._shared import needs

if TYPE_CHECKING:
    import uvicorn

    from dford.service.core import Service
    from dford.service.learning.fold import Packed
    from dford.service.learning.learned import Standing
    from dford.service.projects.projects import Project
    from dford.service.settings import Settings
    from dford.service.store.database import Database


_PATIENT = 600.0  # seconds that a command waits for the database: nothing else waits for the command
_LAST = 4.5  # seconds from a signal to the end, whatever hangs: what was acknowledged is on disk
_CLOSING = 2.0  # seconds to wait for pending writes
_last = threading.Timer(_LAST, os._exit, (0,))
_last.daemon = True
DATABASE = "A SQLite file or a database URL; by default a file in the user's home."


@contextmanager
def open_database(database: str, may_create: bool = False) -> Iterator["Database"]:
    """An existing database, closed at the end; the default one, or one of PostgreSQL, may be created."""
    needs("service", "fastapi", "sqlalchemy")
    from dford.service.store.database import Database

    with _in_words("opened"):
        found = Database(_there(database, may_create), _PATIENT).prepare(may_create)
    with closing(found), _in_words("used"):
        yield found


@contextmanager
def existing(database: str, **more: Any) -> Iterator["Service"]:
    """The service on an existing database, without a server."""
    needs("service", "fastapi", "sqlalchemy")
    from dford.service.settings import Settings

    with _in_words("opened"):
        place = _there(database)
    with opened(Settings.read({"database": place, "request_seconds": _PATIENT, **more})) as service:
        yield service


@contextmanager
def patiently(settings: "Settings") -> Iterator["Service"]:
    """The service for filling a database before it is served, which may take long on a busy machine."""
    with opened(replace(settings, request_seconds=_PATIENT)) as service:
        yield service


def _there(database: str, may_create: bool = False) -> str:
    from sqlalchemy import make_url

    from dford.service.settings import default_database

    database = os.path.expanduser(database or os.environ.get("DFORD_DATABASE", ""))
    name = database
    if "://" in database:
        url = make_url(database)
        name = (url.database or "") if url.get_backend_name() == "sqlite" else ""
        if name in {"", ":memory:"}:
            return database
    file = Path(name or default_database())
    if not file.is_file() and (database or not may_create):
        raise FileNotFoundError(f"there is no database {file}; dford serve --database {database or file} creates it")
    if file.is_file() and not file.stat().st_size:  # SQLite would make a new database of it
        raise ValueError(f"{file} is empty, so it is not a database, and there are no answers in it; name another file")
    return _or_default(database)


def _or_default(database: str) -> str:
    from dford.service.settings import default_database

    if database:
        return database
    default_database().parent.mkdir(parents=True, exist_ok=True)
    return str(default_database())


@contextmanager
def opened(settings: "Settings") -> Iterator["Service"]:
    """The service, closed at the end."""
    from dford.service.core import Service

    with _in_words("opened"):
        service = Service(replace(settings, database=_or_default(settings.database)))
    try:
        yield service
    finally:
        service.close(_CLOSING)


@contextmanager
def _in_words(done: str) -> Iterator[None]:
    """Turn a database that cannot be used into a message the user can act on."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        raise ValueError(f"the database cannot be {done}: {getattr(error, 'orig', error)}") from None


def learned(service: "Service", project: "Project") -> tuple["Packed", "Standing | None"]:
    """The learner of a project, packed, and where its items stand, once all answers up to now are learned."""
    from dford.service.learning.learned import Learned
    from dford.service.refusal import Refusal

    while True:
        with suppress(Refusal):
            fold = service.fold(project)
            head, items = fold.head()
            while not fold.wait(head, 1.0, items):
                if fold.failure is not None:
                    raise ValueError(f"project {project.name} could not learn: {fold.failure}")
            return fold.packed(Learned.standing)


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections, which wait until they are served."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}") from None


def make_server(service: "Service") -> "uvicorn.Server":
    """A server to run. From now on, Ctrl-C and SIGTERM shut it down cleanly, within five seconds."""
    import uvicorn

    from dford.service.http.server import configured

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """On a signal: before it serves, while it does, and after, when uvicorn raises it again."""
            with suppress(RuntimeError):  # started by the signal before
                _last.start()
            super().handle_exit(sig, frame)

    server = Server(configured(service, dford.__version__))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)
    return server


def tune_interpreter() -> None:
    """Keep pauses short, for a process that serves and has loaded what it needs."""
    gc.collect()
    gc.freeze()  # modules and routes stay, so later collections need not look at them
    sys.setswitchinterval(0.0005)  # the loop, the writer and the learners take turns; the default makes each wait 5 ms


def run(server: "uvicorn.Server", listening: socket.socket, more: bool = False) -> None:
    """Serve until a signal arrives. With `more`, whatever is left to do then has no time limit."""
    tune_interpreter()
    server.run(sockets=[listening])
    if more:
        _last.cancel()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C ends what is left to do


def leave(status: int = 0) -> NoReturn:
    """Exit at once: everything is closed, and a normal exit would only wait for trees still growing in a thread."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
