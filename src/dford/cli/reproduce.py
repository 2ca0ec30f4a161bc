"""`dford reproduce`: the paper's experiments, and a report."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import dford
from dford.cli._names import EXPERIMENTS, PLAYED
from dford.cli._shared import BACKEND, JOBS, check_backend, console, refuse, writing_to

if TYPE_CHECKING:
    import typer


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def reproduce(
        experiment: Annotated[
            str,
            typer.Argument(
                metavar="[EXPERIMENT]",
                help=f"{', '.join(EXPERIMENTS)} or all.",
                autocompletion=_names,
            ),
        ] = "all",
        datasets: Annotated[
            str | None,
            typer.Option(
                metavar="A,B", help=f"Some of {', '.join(PLAYED)}; by default all of the paper's that are there."
            ),
        ] = None,
        quick: Annotated[bool, typer.Option("--quick", help="Few runs and rounds: under a minute.")] = False,
        full: Annotated[bool, typer.Option("--full", help="The paper's runs and rounds: some minutes.")] = False,
        jobs: Annotated[int, typer.Option(min=-1, metavar="N", help=JOBS)] = -1,
        backend: Annotated[str, typer.Option(metavar="NAME", help=BACKEND)] = "processes",
        data: Annotated[
            Path | None,
            typer.Option(
                file_okay=False, metavar="DIR", help="Folder of the data files; by default DFORD_DATA, or else a cache."
            ),
        ] = None,
        out: Annotated[
            Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for the report and all results.")
        ] = Path("dford-reproduction"),
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The same seed gives the same figures.")
        ] = 0,
        demonstrate_lambda: Annotated[
            bool, typer.Option("--demonstrate-lambda", help="Play all six λ of the grid, to show that they are equal.")
        ] = False,
    ) -> None:
        """Run the paper's experiments again and write a report.

        First: dford reproduce --quick

        Then with real data: dford data --fetch abalone, and dford reproduce.

        Without --quick or --full, it plays a tenth of the paper's rounds.
        Ctrl-C stops it, and the same command continues where it stopped.
        The exit status is 0, 1 if some part failed, or 2 after a mistake.
        """
        if quick and full:
            raise typer.BadParameter("give only one of --quick and --full")
        check_backend(jobs, backend)
        if experiment != "all" and experiment not in EXPERIMENTS:
            raise typer.BadParameter(f"{experiment!r} is not one of {', '.join(EXPERIMENTS)}, all")
        size = "quick" if quick else "full" if full else "middle"
        chosen = [experiment] if experiment != "all" else list(EXPERIMENTS)
        names = [name.strip() for name in datasets.split(",")] if datasets else None
        try:
            raise typer.Exit(_reproduce(chosen, names, size, jobs, backend, data, out, seed, demonstrate_lambda))
        except KeyboardInterrupt:
            raise typer.Exit(refuse("stopped; the same command continues from here", status=130)) from None


def _names(incomplete: str) -> list[str]:
    return [name for name in (*EXPERIMENTS, "all") if name.startswith(incomplete)]


def _reproduce(
    experiments: list[str],
    datasets: list[str] | None,
    size: str,
    jobs: int,
    backend: str,
    data: Path | None,
    out: Path,
    seed: int,
    demonstrate_lambda: bool,
) -> int:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from dford.experiments import plan, reading, run_cells
    from dford.experiments.reproduction.rows import files
    from dford.report import About, write_report

    cells, missing = plan(experiments, datasets, size, seed, data, demonstrate_lambda)
    with writing_to(out):  # fail now, not after the work
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    screen = console()
    if missing:
        screen.print(f"Left out because their files are missing: {', '.join(missing)}. To see which: dford data")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task(f"{len(cells)} cells", total=sum(cell.cost for cell in cells))
        results = run_cells(
            cells,
            out / "cells",
            data=data,
            jobs=jobs,
            backend=backend,
            on_progress=lambda cell: progress.update(
                task, advance=cell.cost, description=f"{cell.experiment} {cell.dataset}"
            ),
        )
    used = dict.fromkeys(cell.dataset for cell in cells)
    about = About(dford.__version__, size, seed, experiments, {name: files(name, data) for name in used}, missing)
    with writing_to(out):
        page = write_report(results, about, out)
    screen.print(reading(results), soft_wrap=True, markup=False)
    print(f"Report: {page}")
    for cell, reason in results.failures.items():
        refuse(f"failed: {cell} ({reason})")
    return 1 if results.failures else 0
