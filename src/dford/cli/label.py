"""`dford label`: from a file to the page where its rows are put on a scale."""

import math
import re
import shlex
import threading
import unicodedata
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli import _tables
from dford.cli._names import LIVE_LEARNERS
from dford.cli._serving import DATABASE, learned, leave, listen, make_server, opened, patiently, run
from dford.cli._shared import check_ending, keep_whole, needs, read_levels, say, writing_to
from dford.document import printable
from dford.files import atomic_write

if TYPE_CHECKING:
    import socket

    import typer

    from dford.cli._answering import Answering
    from dford.pool.figures import Verdict
    from dford.service.core import Service
    from dford.service.projects.projects import Project
    from dford.service.settings import Settings
    from dford.service.table_project import TableProject

_HOST = "127.0.0.1"
_LEARNER = f"One of {', '.join(LIVE_LEARNERS)}; by default auto."
_KIND = f"{_tables.KIND} A column whose kind is given is not one of ratings."
_NAMED = 5  # unreadable images listed
_FILE = (
    "A .csv with a header line and one item per row, or a folder of images; vectors in a .npy file of the same name "
    "beside a .csv become a column."
)


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def label(
        file: Annotated[
            Path,
            typer.Argument(metavar="FILE", help=_FILE),
        ],
        levels: Annotated[str, typer.Option(metavar="A,B,C", help="The scale, lowest first.")] = "",
        project: Annotated[str, typer.Option(metavar="NAME", help="The project's name; by default the file's.")] = "",
        kind: Annotated[list[str] | None, typer.Option(metavar="COLUMN=KIND", help=_KIND)] = None,
        files: Annotated[
            Path | None,
            typer.Option(file_okay=False, metavar="DIR", help="The folder of the images that a column names."),
        ] = None,
        encoder: Annotated[
            Path | None,
            typer.Option(dir_okay=False, metavar="MODEL", help="An ONNX model that turns images into vectors."),
        ] = None,
        gold: Annotated[
            str,
            typer.Option(metavar="COLUMN", help="A column of known levels, neither shown nor learned from."),
        ] = "",
        learner: Annotated[str, typer.Option(metavar="NAME", help=_LEARNER)] = "",
        until: Annotated[
            float | None,
            typer.Option(
                metavar="ERROR",
                help="Enough when the levels are expected to be this far off on average. [default: 0.1] A program "
                "stops there only if this is given, and people have given 25 answers.",
            ),
        ] = None,
        certify: Annotated[
            bool | None,
            typer.Option(
                help="Have people check items drawn at random, once the levels are expected to be near enough, until "
                "it is shown that they are. Without it, as before, and in a new project no.",
            ),
        ] = None,
        out: Annotated[
            Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write every row's level here at the end.")
        ] = None,
        browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
        database: Annotated[str, typer.Option(help=DATABASE)] = "",
        answer: Annotated[
            str,
            typer.Option(
                metavar="COMMAND",
                help="A program that answers instead of people on a page: one line of JSON per question.",
            ),
        ] = "",
        name: Annotated[
            str,
            typer.Option(
                "--as", metavar="NAME", help="The name its answers are stored under; by default the program's."
            ),
        ] = "",
        budget: Annotated[
            int | None,
            typer.Option(
                min=1,
                max=10_000_000,
                metavar="N",
                help="The most questions it may be asked under this name in this project, including earlier runs.",
            ),
        ] = None,
        time_limit: Annotated[
            float,
            typer.Option(min=0.001, metavar="SECONDS", help="The longest it may take to answer, including its start."),
        ] = 60.0,
        threads: Annotated[
            int, typer.Option(min=1, max=64, metavar="N", help="How many copies of it run at once.")
        ] = 1,
    ) -> None:
        """Put the rows of a file on a scale with yes/no answers on a page.

        For example: dford label reviews.csv --levels "bad,ok,good" --out levels.csv

        The output shows how each column is read; change it with --kind.
        The same command continues where it stopped, and adds new rows at the end of the file.

        With --answer "python judge.py" --budget 500 a program answers under its own name.
        It reads lines like {"id": 7, "item": {"note": "dry"}, "question": "Is it above ok?", "level": "ok", "levels":
        ["bad", "ok", "good"]} and prints {"id": 7, "higher": true} for each, optionally with "confidence": 0.8.
        People can check it on the page, at the same time or later.
        """
        needs("service", "fastapi", "prometheus_client", "sqlalchemy", "uvicorn")
        from dford.columns.vectors import with_vectors
        from dford.service.csv_rows import read_rows
        from dford.service.projects.item_files import is_plain
        from dford.service.projects.projects import has_placements
        from dford.service.table_project import TableProject, image_rows

        if file.is_dir() and files is None:
            files, (rows, others) = file, image_rows(file)
            strange = [name for name in others if not is_plain(name)]
            for why, names in {
                "not being PNG, JPEG, WebP or GIF images": [name for name in others if is_plain(name)],
                "as names can have no control character, backslash or drive": strange,
            }.items():
                if names:
                    what = "file is" if len(names) == 1 else "files are"
                    say(f"{len(names):,} {what} left out, {why} ({_some(names)})")
        elif file.is_file():
            keep_whole(_tables.files_of(file), {"--out": out})
            rows = with_vectors(file, read_rows(file.read_bytes()))
        else:
            raise FileNotFoundError(f"there is no file {file}")
        if files is not None and not files.is_dir():
            raise FileNotFoundError(f"there is no folder {files}")
        if until is not None and not 0 <= until <= 100:
            raise typer.BadParameter(
                f"expected an error in levels, between 0 and 100; got {until:g}", param_hint="--until"
            )
        keep_whole({"the encoder": encoder} if encoder else {}, {"--database": Path(database), "--out": out})
        if out is not None:  # fail now, not after the work
            check_ending(out, "levels", (".csv",), "--out")
            folder = out.absolute().parent
            if not folder.is_dir():
                raise typer.BadParameter(f"there is no folder {folder}; create it first", param_hint="--out")
        learns = _class_name(learner)
        if certify and learns and not has_placements(learns):
            raise typer.BadParameter(f"{learner} has no probabilities, so nothing is audited", param_hint="--certify")
        table = TableProject(
            project or _name(file.stem),
            rows,
            read_levels(levels) if levels else [],
            learns,
            ({"image": "image"} if file.is_dir() else {}) | _tables.read_kinds(kind or ()),
            by_content=file.is_dir(),
            target=until,
            certify=certify,
            gold=gold,
        )
        given = {"database": database, "files": _path(files), "encoder": _path(encoder)}
        if answer and certify:
            raise typer.BadParameter(
                "the answers of a program cannot show how far off levels are; leave this to people on the page",
                param_hint="--certify",
            )
        if answer:
            from dford.cli._answering import read_answering

            folder_of_images = None if files == file else files
            said = {"project": project, "files": folder_of_images, "encoder": encoder, "database": database}
            options = [word for option, value in said.items() if value for word in (f"--{option}", str(value))]
            page = shlex.join(["dford", "label", str(file), *options])
            _answer(table, out, read_answering(answer, name, budget, time_limit, threads, until, page), given)
        elif name or budget is not None:
            raise typer.BadParameter(
                "this needs a program that answers; name one with --answer", param_hint="--as" if name else "--budget"
            )
        else:
            _label(table, out, browser, given)


def _path(given: Path | None) -> str:
    return "" if given is None else str(given.absolute())


def _name(stem: str) -> str:
    """The closest valid project name."""
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:64].strip("-") or "items"


def _label(table: "TableProject", out: Path | None, browser: bool, given: dict[str, str]) -> None:
    settings = _settings(given)
    project = _filled(settings, table)
    with opened(settings) as service:
        server = make_server(service)
        with _key(service, project.id) as key:
            listening = _listen(settings.port)
            address = f"http://{_HOST}:{listening.getsockname()[1]}/#/{project.name}/answer{key}"
            _say_what_it_takes(service, project)
            print(f"Answer at {address}; press Ctrl-C to stop", flush=True)
            if browser:  # in a thread, as a text browser in the terminal would not return
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            run(server, listening, more=True)
        _finish(service, project, out, given)
    leave()


def _answer(table: "TableProject", out: Path | None, how: "Answering", given: dict[str, str]) -> None:
    """The same, answered by a program, directly on the database, which a server may have open too."""
    from dford.cli import _answering

    settings = _settings(given)
    settings = replace(settings, lease_seconds=max(settings.lease_seconds, 2 * how.seconds))
    project = _filled(settings, table)
    with patiently(settings) as service:
        ending = _answering.answer(service, project, how)
        _finish(service, project, out, given)
    leave(ending.say())


def _settings(given: dict[str, str]) -> "Settings":
    from dford.service.settings import Settings

    return replace(Settings.read({name: value for name, value in given.items() if value}), host=_HOST)


def _filled(settings: "Settings", table: "TableProject") -> "Project":
    """The project, filled with the table's rows; prints how they are read."""
    from dford.columns import Columns
    from dford.service.projects.columns import unforeseen
    from dford.service.table_project import fill_project, unread_images
    from dford.service.views.state import count_items

    with patiently(settings) as service:
        project, count = fill_project(service, table)
        print(f"Project {project.name}: {count_items(service.database, project):,} items, {count:,} of them new")
        for column in Columns.of(project.columns).describe():
            say(f"  {column.sentence}")
        for note in unforeseen(project.columns, table.rows[-count:]) if count else ():
            say(f"  {note}")
        rules = service.rules(project)
        if rules.gold_column is not None and not rules.gold:
            say(
                f"  {rules.gold_column}: known levels; to check people with them, set a share of gold questions on the "
                "page, under Set up"
            )
        if unread := unread_images(service, project):
            what, verb = ("image", "it counts") if len(unread) == 1 else ("images", "they count")
            say(f"{len(unread):,} {what} could not be read ({_some(unread)}); {verb} as missing")
    return project


def _finish(service: "Service", project: "Project", out: Path | None, given: dict[str, str]) -> None:
    """Print how far off the levels are, and where they are stored."""
    from dford.service.views.exports import levels_file

    _say_how_far(service, project)
    if out is not None:
        with writing_to(out.parent), atomic_write(out) as draft:
            draft.write_bytes(levels_file(service.database, project, *learned(service, project)))
        print(f"Levels: {out}")
    else:
        where = f" --database {given['database']}" if given["database"] else ""
        print(f"Saved. To write the levels so far: dford export {project.name} levels.csv --what levels{where}")


def _say_how_far(service: "Service", project: "Project") -> None:
    """Print how far off the levels are expected to be, and about how many more answers they need."""
    from dford.service.views.levels import share_of_programs

    learned(service, project)
    certify = service.rules(project).certify
    forecast, is_start, standing = service.fold(project).look(
        lambda model, _: (model.forecast(project.target, certify), model.is_start(), model.standing())
    )
    if forecast is None:
        return
    by = " by people" if share_of_programs(service.database, project) else ""
    if by and is_start:
        print(
            "The levels start from what programs say; how far off they are, nobody can tell before people have given "
            "25 answers on the page"
        )
        return
    expected, more, certified, _ = forecast()
    count, verb = math.ceil(more.value), "reach" if certified is None else "show"
    answers = f"{count:,} more answer{'' if count == 1 else 's'}{by}"
    enough = f"it is shown that they are at most {project.target:g} off" if certified else "enough answers"
    left = f"about {answers} to {verb} {project.target:g}" if count else enough
    print(f"The levels are expected to be {expected:.2f} off on average: {left}")
    if standing is not None and standing.verdict.checked:
        print(_checked(standing.verdict))


def _checked(verdict: "Verdict") -> str:
    """What the audit says, as a person would sign it."""
    share, wrong = math.floor(100 * verdict.right.low), f"{verdict.wrong:,}" if verdict.wrong else "none"
    return (
        f"At least {share}% of the items are at their right level, and the mean of all errors is at most "
        f"{verdict.error.high:.2f} (95% confidence; {verdict.checked:,} drawn at random and checked, {wrong} wrong)"
    )


def _say_what_it_takes(service: "Service", project: "Project") -> None:
    """If it is to be shown how far off the levels are, print about how many answers the check takes."""
    if not service.rules(project).certify:
        return
    learned(service, project)
    forecast = service.fold(project).look(lambda model, _: model.forecast(project.target, True))
    if forecast is not None:
        _, _, is_certified, (least, most) = forecast()
        print(
            f"The audit shows that the levels are at most {project.target:g} off on average"
            if is_certified
            else "Once the levels are expected to be near enough, a check of items drawn at random shows that they are "
            f"at most {project.target:g} off on average: about {math.ceil(least):,} answers if none is wrong, and "
            f"{math.ceil(most):,} if as many are as is expected"
        )


def _some(names: list[str]) -> str:
    """The first of them."""
    return ", ".join(map(printable, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")


def _class_name(learner: str) -> str:
    """The name that the service has for a learner."""
    import typer

    from dford.learners import CLASSES, LEARNERS

    if learner in LIVE_LEARNERS:
        return LEARNERS[learner].__name__
    if learner and learner not in CLASSES:
        raise typer.BadParameter(f"{learner!r} is not one of {', '.join(LIVE_LEARNERS)}", param_hint="--learner")
    return learner


@contextmanager
def _key(service: "Service", project: int) -> Iterator[str]:
    """What the address needs to open the page: nothing or, if there are keys, one that is valid while this runs."""
    from dford.service.projects import keys

    if not service.keys.exist():
        yield ""
        return
    number, key = service.write(None, lambda connection: keys.create(connection, project, "admin", keys.LOCAL.name))
    try:
        yield f"?key={key}"
    finally:
        service.write(None, lambda connection: keys.revoke(connection, project, number))


def _listen(port: int) -> "socket.socket":
    try:
        return listen(_HOST, port)
    except OSError as taken:
        listening = listen(_HOST, 0)
        print(f"{taken}; serving on port {listening.getsockname()[1]} instead")
        return listening
