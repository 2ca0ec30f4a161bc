"""The command `dford`."""

import _thread
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import dford
from dford.experiments.demo import FEEDBACK, Progress, reading, run_demo

# Only the extra "lab" brings typer, rich and matplotlib, so they are imported where they are used.
if TYPE_CHECKING:
    import typer
    from rich.table import Table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 2 after a user's mistake, 130 after Ctrl-C."""
    if missing := [name for name in ("matplotlib", "rich", "typer") if find_spec(name) is None]:
        return _refuse(f'the command line needs {" and ".join(missing)}: run pip install "dford[lab]".')
    hook, sys.unraisablehook = sys.unraisablehook, _insist
    try:
        import typer

        # Typer raises the UsageError of click, or of its own copy of click, by version.
        UsageError: Any = typer.BadParameter.__base__
        try:
            return _program()(arguments, prog_name="dford", standalone_mode=False) or 0
        except UsageError as mistake:
            return _refuse(mistake.format_message())
    except KeyboardInterrupt:
        return 130
    finally:
        sys.unraisablehook = hook


def _insist(unraisable: "sys.UnraisableHookArgs") -> None:
    """Press Ctrl-C again, once out of here, where it was lost.

    LLVM calls back into Python while it compiles, and an exception raised there goes no further.
    """
    if unraisable.exc_type is KeyboardInterrupt:
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


def _refuse(sentence: str) -> int:
    print(f"dford: {sentence}", file=sys.stderr)
    return 2


def _program() -> "typer.Typer":
    """The sub-commands and their options."""
    import typer

    program = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @program.callback(invoke_without_command=True)
    def _root(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    ) -> None:
        """Put things on an ordered scale by asking one yes/no question about each.

        Start with: dford demo
        """
        if version:
            typer.echo(f"dford {dford.__version__}")
        elif context.invoked_subcommand is None:
            typer.echo(context.get_help())
        else:
            return
        raise typer.Exit

    @program.command()
    def demo(
        rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Items each learner sees in a run.")] = 1_000_000,
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

        DFORD hears one yes/no answer about each item.
        PRank sees each item's exact level.
        PRIL hears one answer, always about its own prediction.
        The items are the DFORD paper's synthetic stream.
        """
        _demo(rounds, runs, seed, out)

    return program


def _demo(rounds: int, runs: int, seed: int, out: Path) -> None:
    from rich.console import Console
    from rich.live import Live

    from dford.plotting import draw_curves

    with _writing_to(out):
        # a folder that cannot be written is told now, not after the work
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()

    averaged = f"mean of {runs} runs" if runs > 1 else "one run"
    title = f"Three learners on the synthetic stream: {rounds:,} rounds, {averaged}"
    console = Console(highlight=False)
    table = _table(title, rounds, None)
    with Live(table, console=console, refresh_per_second=8, transient=True) as live:
        for progress in run_demo(rounds, runs, seed):
            table = _table(title, rounds, progress)
            live.update(table)
    # where there is no terminal, this is all that shows
    console.print(table, "", reading(progress), sep="\n")

    picture = out / "curves.png"
    with _writing_to(out):
        draw_curves(
            {f"{name} ({FEEDBACK[name]})": trace for name, trace in progress.traces.items()}, picture, title=title
        )
    print(f"Curves: {picture}")


def _table(title: str, rounds: int, progress: Progress | None) -> "Table":
    from rich import box
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    # narrow enough for the 80 columns of a log
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
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


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Make a failure to write the user's to mend."""
    import typer

    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise typer.BadParameter(f"cannot write into {folder} ({reason})", param_hint="--out") from error
