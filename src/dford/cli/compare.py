"""`dford compare`: what one bit per item can do, compared with labels."""

import os
import tempfile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

from dford.cli import _names, _tables
from dford.cli._shared import console, keep_whole, writing_to
from dford.files import atomic_write

if TYPE_CHECKING:
    import typer
    from rich.table import Table as RichTable

    from dford.experiments.studies.records import Record, Table, Task
    from dford.experiments.studies.running_error import Dataset


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def compare(
        table: Annotated[
            Path | None, typer.Argument(metavar="[FILE]", help="Your own table to compare on: a .csv or a .parquet.")
        ] = None,
        target: Annotated[str | None, typer.Option(metavar="NAME", help=f"With FILE. {_tables.TARGET}")] = None,
        levels: Annotated[str | None, typer.Option(metavar="A,B,C", help=_tables.LEVELS)] = None,
        equal_frequency: Annotated[int | None, typer.Option(min=2, metavar="K", help=_tables.EQUAL_FREQUENCY)] = None,
        cuts: Annotated[str | None, typer.Option(metavar="7,9,12", help=_tables.CUTS)] = None,
        steps: Annotated[float | None, typer.Option(metavar="S", help=_tables.STEPS)] = None,
        kind: Annotated[list[str] | None, typer.Option(metavar="COLUMN=KIND", help=_tables.KIND)] = None,
        study: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(_names.STUDIES)}, or all.")] = "pass",
        datasets: Annotated[
            str | None,
            typer.Option(metavar="A,B,…", help="Datasets; by default the study's, as far as their files are there."),
        ] = None,
        learners: Annotated[
            str | None,
            typer.Option(metavar="A,B,…", help=f"Learners, including {_tables.OWN}; by default the study's."),
        ] = None,
        rounds: Annotated[int, typer.Option(min=10, metavar="N", help="Items to learn from per run.")] = 10_000,
        runs: Annotated[
            int | None,
            typer.Option(min=1, max=1000, metavar="N", help="Shuffles to average over; by default the study's."),
        ] = None,
        jobs: Annotated[
            int, typer.Option(min=1, metavar="N", help="Number of processes; it does not change the figures.")
        ] = 1,
        data: Annotated[
            Path | None,
            typer.Option(
                file_okay=False, metavar="DIR", help="Folder of the data files; by default DFORD_DATA, or else a cache."
            ),
        ] = None,
        out: Annotated[
            Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for tables, figures and pictures.")
        ] = Path("dford-compare"),
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The same seed gives the same files.")
        ] = 0,
    ) -> None:
        """Compare learners that get one yes/no answer per item, and learners that get labels.

        pass: one pass, no item twice; the running error, and its estimate from the answers alone.

        split: the error on held-out rows, compared with other libraries that learn from labels.

        flips: some answers are wrong. drift: the scale turns around. reliability: are the probabilities right?

        pool: up to 2,000 items are placed, with all answers right and with one in ten wrong; where several people rated
        each item (movies, tweets), with their answers.

        people: several people answer, some of them often wrong; on raters, offensive, movies and tweets, real people.
        And a cheap judge.

        judges: what language models say of pairs whose level a person knows, as columns and as programs.

        On your own table: dford compare wines.csv --target rating --levels bad,ok,good

        Each study writes its tables (.md), all of its figures (.csv) and, except for split and judges, a picture
        (.png).
        """
        from dford.experiments.studies.running_error import ALL_DATASETS, gather
        from dford.experiments.studies.studies import STUDIES, pick

        chosen = list(STUDIES) if study == "all" else pick(study, STUDIES, "study")
        named = None if datasets is None else pick(datasets, ALL_DATASETS, "dataset")
        players = {name: _players(name, learners) for name in chosen}
        options = _tables.TableOptions(target or "", levels, equal_frequency, cuts, steps, kind or ())
        if table is not None:
            for name in chosen:
                keep_whole(_tables.files_of(table), {"--out": out / f"{name}.csv"})
        own = _own_table(table, options)
        by_default = named is None and table is None
        absent = _absent([d for name in chosen for d in STUDIES[name].datasets], data) if by_default else []
        plans: dict[str, list[Task]] = {}
        for name in chosen:
            one = STUDIES[name]
            wanted = [d for d in one.datasets if d not in absent] if by_default else named or []
            taken = own | gather(wanted, data, seed, rounds)
            plans[name] = _tasks(name, taken, players[name], learners is not None, rounds, runs or one.runs, seed)
            if taken and not plans[name]:
                raise ValueError(f"the study {name} runs none of {', '.join(players[name])} on {', '.join(taken)}")
        with writing_to(out):  # fail now, not after the work
            out.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=out).close()
        for name in chosen:
            _run(name, plans[name], jobs, out)
        if absent:
            print(
                f"Missing: {', '.join(absent)}. Name the folder of the files with --data, or get them with dford data"
            )


def _players(study: str, learners: str | None) -> list[str]:
    """The learners of a study: its usual ones, or those that were named."""
    from dford.experiments.own_learner import is_own
    from dford.experiments.studies.studies import STUDIES, pick

    one = STUDIES[study]
    if learners is None:
        return list(one.usual)
    names = [name.strip() for name in learners.split(",")]
    for name in filter(is_own, names):
        if not one.takes_own:
            able = " and ".join(other for other, its in STUDIES.items() if its.takes_own)
            raise ValueError(f"the study {study} does not take your own learners; {able} do")
        _tables.check_learner(name, "--learners")
    known = [*one.learners, *filter(is_own, names)]
    return pick(learners, known, "learner")


def _own_table(path: Path | None, options: _tables.TableOptions) -> "dict[str, Dataset]":
    """The user's table as a dataset, with its levels from 1."""
    import numpy as np
    import typer

    from dford.experiments.studies.running_error import Dataset
    from dford.scale import Scale

    if path is None:
        if given := [name for name, value in options._asdict().items() if value]:
            raise typer.BadParameter(f"--{given[0].replace('_', '-')} is about your own table; name its file, too")
        return {}
    if not options.target:
        raise typer.BadParameter(f"name the column of {path.name} that has the levels", param_hint="--target")
    data = options.load(path)
    console().print(
        f"Columns of {path.name}:", _tables.describe(data.columns), "", sep="\n", markup=False, soft_wrap=True
    )
    dense = data.columns.n_dense_ if data.columns.is_sparse_ else None
    y = Scale(data.target_names).encode(data.target)
    counts = np.bincount(y, minlength=1 + len(data.target_names))[1:]
    if absent := [name for name, count in zip(data.target_names, counts, strict=True) if not count]:
        raise typer.BadParameter(
            f"no row of {path.name} has the level {absent[0]!r}, so learners cannot be compared on it; "
            "use a scale all of whose levels have rows"
        )
    return {path.stem: Dataset(data.data, y, dense)}


def _tasks(
    study: str, data: "dict[str, Dataset]", learners: list[str], named: bool, rounds: int, runs: int, seed: int
) -> "list[Task]":
    """The tasks of a study. Learners that cannot learn from texts get none on datasets of texts."""
    from sklearn.utils import get_tags

    from dford.experiments.own_learner import is_own, new_own
    from dford.experiments.studies.studies import STUDIES

    one = STUDIES[study]
    texts = [name for name, given in data.items() if given.dense is not None]
    unable = [k for k in learners if k in one.dense or (is_own(k) and not get_tags(new_own(k)).input_tags.sparse)]
    if named and texts and unable:
        raise ValueError(f"{unable[0]} does not learn from texts, and {texts[0]} has texts; use auto or newton")
    if labels := [name for name, given in data.items() if not given.X.shape[1] and not one.takes_labels]:
        raise ValueError(f"{labels[0]} has no features, so the study {study} does not take it; use people")
    able = [k for k in learners if k not in unable]
    plain = {name: given for name, given in data.items() if name not in texts}
    return [
        *one.tasks(plain, learners, rounds, runs, seed),
        *one.tasks({name: data[name] for name in texts}, able, rounds, runs, seed),
    ]


def _absent(names: list[str], data: Path | None) -> list[str]:
    """The datasets whose files are missing."""
    from dford.datasets import data_folder
    from dford.datasets._catalogue import CATALOGUE

    place = data_folder(data)
    if not place.is_dir() and (data or os.environ.get("DFORD_DATA")):
        raise FileNotFoundError(f"there is no folder {place}; name the folder of the data")
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
    # runs take equally long, but the tasks within a run do not: estimate the time left from all tasks so far
    with Progress(*columns, console=screen, transient=True, speed_estimate_period=1e9) as progress:
        bar = progress.add_task(f"{name}: compiling", total=len(tasks))
        if jobs > 1:
            warm_up()
        progress.update(bar, description=name)
        for some in run_tasks(tasks, jobs):
            records += some
            progress.advance(bar)
    tables = STUDIES[name].tables(records)
    with writing_to(out):
        write_csv(out / f"{name}.csv", records)
        with atomic_write(out / f"{name}.md") as draft:
            draft.write_text("\n".join(table.markdown() for table in tables), encoding="utf-8")
        if name in PICTURES:
            PICTURES[name](records, out / f"{name}.png")
    for table in tables:
        screen.print(_shown(table, screen.width), "")
        if table.note:
            screen.print(table.note, "", markup=False)
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
        # if column names do not fit the screen they are broken into lines; figures never are
        if whole > screen_width:
            lines = [piece for line in lines for piece in wrap(line, width or len(line))]
        shown.add_column("\n".join(lines), justify="right" if place else "left", min_width=width)
    for row in table.rows:
        shown.add_row(*map(_broken, row))
    return shown


def _broken(name: str) -> str:
    return name.replace("- ", "-\n")
