"""`dford data`: which datasets are present, and how to get the others."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli._names import KEPT
from dford.cli._shared import console, new_table, writing_to

if TYPE_CHECKING:
    import typer


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def data(
        folder: Annotated[
            Path | None,
            typer.Option(
                "--data",
                file_okay=False,
                metavar="DIR",
                help="Folder of the data files; by default DFORD_DATA, or else a cache.",
            ),
        ] = None,
        fetch: Annotated[
            list[str] | None,
            typer.Option(
                metavar="NAME",
                help="Download this dataset; may be repeated.",
                autocompletion=_names,
            ),
        ] = None,
    ) -> None:
        """Show which datasets are there, or download them.

        If you have the files, put them into a folder and name it with --data or the environment variable DFORD_DATA.

        To download: dford data --fetch abalone --fetch parkinsons

        Nothing is ever downloaded without --fetch.
        """
        from dford.datasets.registry import check_name

        for name in fetch or ():
            check_name(name, KEPT)  # fail before the first download begins
        if fetch:
            for name in fetch:
                _fetch(name, folder)
        else:
            _show(folder)


def _names(incomplete: str) -> list[str]:
    return [name for name in KEPT if name.startswith(incomplete)]


def _fetch(name: str, folder: Path | None) -> None:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from dford.datasets import data_folder, download
    from dford.datasets._catalogue import CATALOGUE

    place = data_folder(folder)
    if CATALOGUE[name].files[0].url:
        with writing_to(place, "--data"):  # fail now, not after the download
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
    screen = console()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task(name, total=None)
        paths = download(name, folder, lambda done, total: progress.update(task, completed=done, total=total))
    for path in paths:
        print(f"{name}: {path}")


def _show(folder: Path | None) -> None:
    from dford.datasets import data_folder
    from dford.datasets._catalogue import CATALOGUE
    from dford.datasets.registry import look

    place = data_folder(folder)
    if not place.is_dir() and (folder or os.environ.get("DFORD_DATA")):
        raise FileNotFoundError(f"there is no folder {place}; name the folder of the data, or --fetch into a new one")
    rows = new_table(f"Data in {place}")
    for header in ("Name", "Rows × features", "Levels", "State", "MB", "Licence"):
        right = header in ("Rows × features", "Levels", "MB")
        rows.add_column(header, justify="right" if right else "left", no_wrap=True)
    missing, remarks = [], []
    for name, entry in CATALOGUE.items():
        state, size, note = look(entry, folder)
        if state == "missing" and entry.files[0].url:
            missing.append(name)
        elif note:
            remarks.append(f"{name}: {note}.")
        megabytes = f"{size / 1e6:.1f}" if size else ""
        rows.add_row(name, entry.shape, str(entry.levels), state, megabytes, entry.licence)
    rows.add_row("synthetic", "any × 2", "5", "needs no file")
    screen = console()
    screen.print(rows, "")
    if missing:
        remarks.append("To download what is missing: dford data" + "".join(f" --fetch {name}" for name in missing))
    for remark in remarks:
        screen.print(remark, soft_wrap=True, markup=False)
