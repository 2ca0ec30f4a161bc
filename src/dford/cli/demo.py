"""`dford demo`: three learners, live in the terminal."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli._shared import console, new_table, writing_to

if TYPE_CHECKING:
    import typer
    from rich.table import Table

    from dford.experiments.reproduction.synthetic_run import Progress


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def demo(
        rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Items each learner sees per run.")] = 1_000_000,
        runs: Annotated[
            int, typer.Option(min=1, max=1000, metavar="N", help="Runs to average over, each with new items.")
        ] = 5,
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The same seed gives the same figures.")
        ] = 0,
        out: Annotated[
            Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for the picture, curves.png.")
        ] = Path("dford-demo"),
    ) -> None:
        """Watch three learners learn an ordered scale, and draw their curves.

        DFORD gets one yes/no answer about each item.
        PRank sees each item's exact level.
        PRIL gets one answer, always about its own prediction.
        The items are the DFORD paper's synthetic stream.
        """
        _demo(rounds, runs, seed, out)


def _demo(rounds: int, runs: int, seed: int, out: Path) -> None:
    from rich.live import Live

    from dford.experiments.reproduction.synthetic_run import FEEDBACK, run_demo, summary
    from dford.plotting import draw_curves

    with writing_to(out):
        # fail now if the folder cannot be written, not after the work
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()

    averaged = f"mean of {runs} runs" if runs > 1 else "one run"
    title = f"Three learners on the synthetic stream: {rounds:,} rounds, {averaged}"
    screen = console()
    table = _table(title, rounds, None)
    with Live(table, console=screen, refresh_per_second=8, transient=True) as live:
        for progress in run_demo(rounds, runs, seed):
            table = _table(title, rounds, progress)
            live.update(table)

    picture = out / "curves.png"
    with writing_to(out):
        draw_curves(
            {f"{name} ({FEEDBACK[name]})": trace for name, trace in progress.traces.items()}, picture, title=title
        )
    # without a terminal, this is all that appears
    screen.print(table, "", summary(progress), sep="\n")
    print(f"Curves: {picture}")


def _table(title: str, rounds: int, progress: "Progress | None") -> "Table":
    from rich.progress_bar import ProgressBar

    from dford.experiments.reproduction.synthetic_run import FEEDBACK

    # narrow enough for a log of 80 columns
    table = new_table(title)
    table.add_column("Learner")
    table.add_column("Feedback it sees")
    table.add_column("Progress", width=9)
    for header, width in (("", 4), ("Rounds/s", 9), ("Running\nMAE", 7), ("Crossings\nper round", 9)):
        table.add_column(header, justify="right", min_width=width)
    for name, feedback in FEEDBACK.items():
        if progress is None:
            table.add_row(name, feedback, "compiling")
            continue
        trace = progress.traces[name]
        table.add_row(
            name,
            feedback,
            ProgressBar(total=rounds, completed=progress.rounds),
            f"{progress.rounds / rounds:.0%}",
            f"{progress.speeds[name]:,.0f}",
            f"{trace.mae[-1]:.3f}",
            f"{trace.crossings[-1]:.3f}",
        )
    return table
