"""`dford compare`: what one bit an item can do, beside what labels can."""

import os
import tempfile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

from dford.cli import _names
from dford.cli._shared import console, writing_to
from dford.files import atomic_write

if TYPE_CHECKING:
    import typer
    from rich.table import Table as RichTable

    from dford.experiments.studies.records import Record, Table, Task


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def compare(
        study: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(_names.STUDIES)}, or all.")] = "pass",
        datasets: Annotated[
            str | None,
            typer.Option(metavar="A,B,…", help="Datasets; if not given, the study's whose files are there."),
        ] = None,
        learners: Annotated[
            str | None, typer.Option(metavar="A,B,…", help="Learners; if not given, the study's.")
        ] = None,
        rounds: Annotated[int, typer.Option(min=10, metavar="N", help="Items to learn from in a run.")] = 10_000,
        runs: Annotated[
            int | None,
            typer.Option(min=1, max=1000, metavar="N", help="Shuffles to average over; if not given, the study's."),
        ] = None,
        jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Processes; they change no figure.")] = 1,
        data: Annotated[
            Path | None,
            typer.Option(file_okay=False, metavar="DIR", help="Folder of the files; else DFORD_DATA, else a cache."),
        ] = None,
        out: Annotated[
            Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for tables, figures and pictures.")
        ] = Path("dford-compare"),
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The same seed gives the same files.")
        ] = 0,
    ) -> None:
        """Compare what learners make of one yes/no answer an item, and of labels.

        pass: one pass, no item twice; the running error, and what the answers alone know of it.

        split: the error on rows held out, beside what other libraries make of labels.

        flips: some answers are wrong. drift: the scale turns round. reliability: are probabilities true?

        pool: up to 2,000 items are placed, with all answers right and with one in ten wrong.

        Each study writes its tables (.md), all of its figures (.csv) and, but for split, a picture (.png).
        """
        from dford.experiments.studies.running_error import DATASETS, gather
        from dford.experiments.studies.studies import STUDIES, pick

        chosen = list(STUDIES) if study == "all" else pick(study, STUDIES, "study")
        named = None if datasets is None else pick(datasets, DATASETS, "dataset")
        players = {
            name: STUDIES[name].usual if learners is None else pick(learners, STUDIES[name].learners, "learner")
            for name in chosen
        }
        absent = [] if named else _absent([d for name in chosen for d in STUDIES[name].datasets], data)
        plans: dict[str, list[Task]] = {}
        for name in chosen:
            one = STUDIES[name]
            taken = gather(named or [d for d in one.datasets if d not in absent], data, seed, rounds)
            plans[name] = one.tasks(taken, players[name], rounds, runs or one.runs, seed)
        with writing_to(out):  # told now, not after the work
            out.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=out).close()
        for name in chosen:
            _run(name, plans[name], jobs, out)
        if absent:
            print(f"Not there: {', '.join(absent)}. Name the folder of the files by --data, or get them: dford data")


def _absent(names: list[str], data: Path | None) -> list[str]:
    """Those of the datasets whose files are not there."""
    from dford.datasets import data_folder
    from dford.datasets._catalogue import CATALOGUE

    place = data_folder(data)
    if not place.is_dir() and (data or os.environ.get("DFORD_DATA")):
        raise FileNotFoundError(f"no folder {place}; name the one that holds the data")
    return [
        name
        for name in dict.fromkeys(names)
        if name in CATALOGUE and any(file.path(data) is None for file in CATALOGUE[name].present(data))
    ]


def _run(name: str, tasks: "list[Task]", jobs: int, out: Path) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from dford.experiments.studies.records import run_tasks, write_csv
    from dford.experiments.studies.running_error import warm_up
    from dford.experiments.studies.studies import STUDIES
    from dford.plotting import PICTURES

    screen = console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    records: list[Record] = []
    # runs differ little and tasks of a run much, so what is left is told from all so far
    with Progress(*columns, console=screen, transient=True, speed_estimate_period=1e9) as progress:
        bar = progress.add_task(f"{name}: compiling", total=len(tasks))
        if jobs > 1:
            warm_up()
        progress.update(bar, description=name)
        for some in run_tasks(tasks, jobs):
            records += some
            progress.advance(bar)
    tables = STUDIES[name].tables(records)
    for table in tables:
        screen.print(_shown(table, screen.width), "")
        if table.note:
            screen.print(table.note, "", markup=False)
    with writing_to(out):
        write_csv(out / f"{name}.csv", records)
        with atomic_write(out / f"{name}.md") as draft:
            draft.write_text("\n".join(table.markdown() for table in tables), encoding="utf-8")
        if name in PICTURES:
            PICTURES[name](records, out / f"{name}.png")
    print(f"Written: {', '.join(str(out / path) for path in sorted(os.listdir(out)) if path.startswith(f'{name}.'))}")


def _shown(table: "Table", screen_width: int) -> "RichTable":
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(
        title=table.title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0
    )
    columns = [[_broken(cell).split("\n") for cell in column] for column in zip(*table.rows, strict=True)]
    widths = [max(len(line) for cell in column for line in cell) for column in columns]
    headers = [_broken(header).replace(", ", ",\n").split("\n") for header in table.header]
    whole = sum(max(width, *map(len, lines)) + 1 for width, lines in zip(widths, headers, strict=True)) - 1
    for place, (width, lines) in enumerate(zip(widths, headers, strict=True)):
        # where names of columns do not fit the screen they are broken, and figures never
        pieces = lines if whole <= screen_width else [piece for line in lines for piece in wrap(line, width)]
        shown.add_column("\n".join(pieces), justify="right" if place else "left", min_width=width)
    for row in table.rows:
        shown.add_row(*map(_broken, row))
    return shown


def _broken(name: str) -> str:
    return name.replace("- ", "-\n")
