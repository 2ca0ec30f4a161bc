"""`dford export` and `dford import`: a project's files, from its database, whether or not a server is using it."""

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
        new: Annotated[
            bool, typer.Option("--new", help="Add all answers, also those that the project seems to have.")
        ] = False,
    ) -> None:
        """Add the answers of another log to a project with the same columns, all or none.

        A .csv with the columns item, level and, if it is known, person has ratings: the levels that people gave.
        An answer that the project has, from here or from another file, is not added again: its id tells.
        """
        check_ending(file, "the log")
        if not file.is_file():
            raise FileNotFoundError(f"there is no log {file}")
        _import(project, file, database, new)


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


def _import(name: str, file: Path, database: str, are_new: bool) -> None:
    with existing(database, items_per_call=2**31 - 1) as service:  # the limit is for strangers over HTTP
        from dford.service.projects import keys, ratings, uploads

        project = service.project(name)
        service.with_columns(project)
        with naming(file):
            content = file.read_bytes()
            if file.suffix == ".csv" and uploads.is_table_of_ratings(content):
                given = uploads.uploaded_ratings(content, service.bounds())
                sent = ratings.checked(project, given, keys.LOCAL.name, True, "body")
                found = service.rate(project, sent, program=False)
                print(f"{len(sent):,} ratings: {found['count']:,} new, {found['known']:,} already there")
                return
            log = uploads.uploaded_log(project, content, file.suffix, service.bounds())
            added = service.add_log(project, log, keys.LOCAL.name, are_new=are_new)
        print(
            f"{len(log):,} answers: {added['count']:,} new, {added['known']:,} already there; {added['about_items']:,} "
            f"of the new ones are about items of project {name}"
        )
