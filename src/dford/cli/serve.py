"""`dford serve`: the service, for this machine or for others; and the commands that use its database."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import dford
from dford.cli._serving import DATABASE, leave, listen, make_server, open_database, opened, patiently, run
from dford.cli._shared import console, needs, new_table, refuse, say

if TYPE_CHECKING:
    import typer

    from dford.service.core import Service
    from dford.service.settings import Settings
    from dford.service.store.database import Database


def add(program: "typer.Typer") -> None:
    """Add the commands to the program."""
    import typer

    from dford.service.settings import Settings

    def serve(config: Path | None = None, demo: bool = False, **flags: Any) -> None:
        """Serve projects over HTTP: questions, answers, predictions."""
        needs("service", "fastapi", "prometheus_client", "sqlalchemy", "uvicorn")
        _serve(Settings.read(flags, file=config), demo)

    # one flag per setting, described beside the setting
    parameters: dict[str, Any] = {
        "config": Annotated[Path | None, typer.Option(help="A TOML file of settings.", dir_okay=False)],
        "demo": Annotated[bool, typer.Option("--demo", help="Add two projects to try out: demo and demo-answered.")],
    }
    for one in fields(Settings):
        parameters[one.name] = Annotated[Optional[one.type], typer.Option(help=one.metadata["help"])]  # noqa: UP045
    kind = inspect.Parameter.KEYWORD_ONLY
    signature = [
        inspect.Parameter(name, kind, default=False if name == "demo" else None, annotation=kept)
        for name, kept in parameters.items()
    ]
    serve.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    serve.__annotations__ = dict(parameters)
    program.command()(serve)

    Database = Annotated[str, typer.Option(help=DATABASE)]

    @program.command()
    def verify(database: Database = "") -> None:
        """Replay every project's log from the beginning, and check that all saved states match it bit by bit."""
        with open_database(database) as found:
            raise typer.Exit(_verify(found))

    @program.command()
    def key(
        name: Annotated[str, typer.Argument(help="The person the key is for.")],
        database: Database = "",
        role: Annotated[str, typer.Option(help="predict, answer or admin.")] = "admin",
        project: Annotated[str, typer.Option(help="The project it is for; by default all projects.")] = "",
    ) -> None:
        """Create a key and show it, only this once. Once there is a key, every request needs one."""
        with open_database(database, may_create=True) as found:
            _key(found, name, role, project)

    @program.command()
    def backup(file: Annotated[Path, typer.Argument(help="The file to write.")], database: Database = "") -> None:
        """Copy a SQLite database while it is in use. To restore it, serve the copy."""
        with open_database(database) as found:
            found.backup(file)


def _serve(settings: "Settings", demo: bool) -> None:
    from dford.service.demo_projects import add_demo_projects

    _check_images(settings)
    if demo:
        with patiently(settings) as service:
            _refuse_strangers(service)
            add_demo_projects(service)
    with opened(settings) as service:
        _refuse_strangers(service)
        server, listening = make_server(service), listen(settings.host, settings.port)
        port = listening.getsockname()[1]
        print(f"dford {dford.__version__} on http://{settings.host}:{port}, log in {service.database.url}", flush=True)
        run(server, listening)
    leave()


def _check_images(settings: "Settings") -> None:
    """Refuse a folder or an encoder that is not there: otherwise, each image would be refused later."""
    if settings.files and not Path(settings.files).is_dir():
        raise FileNotFoundError(f"there is no folder {settings.files}; --files names the folder of the images")
    if settings.encoder:
        needs("images", "onnxruntime")
        from dford.columns.encoders import Encoder

        Encoder(settings.encoder)


def _refuse_strangers(service: "Service") -> None:
    from dford.service.http.guard import LOOPBACK

    host, database = service.settings.host, service.settings.database
    if host not in LOOPBACK and not service.keys.exist():
        raise ValueError(
            f"without a key, anyone who can reach {host} could do anything; make one with dford key NAME --database "
            f"{database}, or serve on 127.0.0.1"
        )


def _verify(database: "Database") -> int:
    from dford.service.learning.verify import verify_all

    rows = new_table(f"{database.url}", "Project", "Answers", "Snapshots", "State")
    verified = verify_all(database)
    faults = [f"{one.project}: {fault}" for one in verified for fault in one.faults]
    if (integrity := database.integrity()) != "ok":
        faults.append(f"the file is damaged: {integrity}")
    for one in verified:
        rows.add_row(one.project, f"{one.answers:,}", str(one.snapshots), one.digest[:16])
    console().print(rows)
    for one in verified:
        for remark in one.remarks:
            say(f"{one.project}: {remark}")
    return refuse("; ".join(faults), status=1) if faults else 0


def _key(database: "Database", name: str, role: str, project: str) -> None:
    from dford.service.projects import keys, projects

    if role not in keys.ROLES:
        raise ValueError(f"a role must be one of {', '.join(keys.ROLES)}; got {role!r}")
    found = projects.find(database, project) if project else None
    if project and found is None:
        raise projects.no_project(project)
    with database.writing() as connection:
        made = keys.create(connection, None if found is None else found.id, role, name)
    print(made[1])
