"""`dford export` and `dford import`: a project's files, from its database, whether or not a server is using it."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli._serving import DATABASE, existing, learned
from dford.cli._shared import check_ending, keep_whole, naming, writing_to
from dford.files import atomic_write

if TYPE_CHECKING:
    import typer


def add(program: "typer.Typer") -> None:
    """Add the commands to the program."""
    import typer

    Project = Annotated[str, typer.Argument(metavar="PROJECT")]
    Database = Annotated[str, typer.Option(help=DATABASE)]

    @program.command()
    def export(
        project: Project,
        file: Annotated[
            Path, typer.Argument(dir_okay=False, metavar="FILE", help="The file to write: .csv, or .parquet for a log.")
        ],
        what: Annotated[str, typer.Option(metavar="log|levels", help="All answers, or every item's level.")] = "log",
        database: Database = "",
    ) -> None:
        """Write a project's answers, or the levels of its items, to a file."""
        endings = {"log": (".csv", ".parquet"), "levels": (".csv",)}
        if what not in endings:
            raise typer.BadParameter(f"{what!r} is not one of {', '.join(endings)}", param_hint="--what")
        check_ending(file, f"the {what}", endings[what])
        keep_whole({"the database": Path(database)}, {"FILE": file})
        _export(project, file, what, database)

    @program.command("import")
    def import_(
        project: Project,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="A log, .csv or .parquet.")],
        database: Database = "",
    ) -> None:
        """Add the answers of another log to a project with the same columns, all or none.

        Importing the same file again within 30 days adds nothing.
        """
        check_ending(file, "the log")
        if not file.is_file():
            raise FileNotFoundError(f"there is no log {file}")
        _import(project, file, database)


def _export(name: str, file: Path, what: str, database: str) -> None:
    with existing(database) as service:
        from dford.service.views import exports

        project = service.project(name)
        service.with_columns(project)
        if what == "log":
            read = exports.log_file(service.database, project, file.suffix)
        else:
            read = exports.levels_file(service.database, project, *learned(service, project))
        with writing_to(file.parent, "FILE"), atomic_write(file) as draft:
            draft.write_bytes(read)


def _import(name: str, file: Path, database: str) -> None:
    with existing(database, items_per_call=2**31 - 1) as service:  # the limit is for strangers over HTTP
        from dford.service.learning.log_reader import head_of
        from dford.service.projects import keys, uploads
        from dford.service.store.idempotency import Request

        project, content = service.project(name), file.read_bytes()
        service.with_columns(project)
        with naming(file):
            log = uploads.uploaded_log(project, content, file.suffix, service.bounds())
        digest = hashlib.sha256(content).hexdigest()
        before, request = head_of(service.database, project.id), Request("", f"import {project.id} {digest}", digest)
        added = service.add_log(project, log, keys.LOCAL.name, request)
        if added["sequence"] <= before:
            print(f"{file.name} was imported before; its {added['count']:,} answers are already in project {name}")
        else:
            print(
                f"{added['count']:,} answers added to project {name}, {added['about_items']:,} of them about its items"
            )
