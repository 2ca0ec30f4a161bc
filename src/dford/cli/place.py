"""`dford place`: the levels of items in a file that may be larger than memory."""

import operator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli._shared import BACKEND, JOBS, check_backend, console, keep_whole, read_log, refuse

if TYPE_CHECKING:
    import typer


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def place(
        items: Annotated[Path, typer.Argument(metavar="ITEMS", help="A .parquet file with one item per row.")],
        levels: Annotated[str, typer.Option(metavar="A,B,C", help="The levels by name, lowest first.")],
        answers: Annotated[
            list[Path],
            typer.Option(
                metavar="LOG",
                help="A .csv or .parquet log of answers with the column item; may be repeated, and logs may overlap.",
            ),
        ],
        out: Annotated[Path, typer.Option(dir_okay=False, metavar="FILE", help="The .parquet file to write.")],
        first: Annotated[
            int, typer.Option(min=0, metavar="N", help="The number of the first item; in the service it is 1.")
        ] = 0,
        error_rate: Annotated[
            float | None,
            typer.Option(
                min=0.0, max=0.499, metavar="E", help="How often an answer is wrong; by default it is learned."
            ),
        ] = None,
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The same seed gives the same levels.")
        ] = 0,
        jobs: Annotated[int, typer.Option(min=-1, metavar="N", help=JOBS)] = -1,
        backend: Annotated[str, typer.Option(metavar="NAME", help=BACKEND)] = "processes",
    ) -> None:
        """Give every item of a Parquet file a level, from answers about some of them.

        For example: dford place items.parquet --levels bad,ok,good --answers log.parquet --out levels.parquet

        The file may be larger than memory: it is read row group by row group.
        It needs a column of numbers for each feature of the log.
        The result is the same with any number of processes and on any cluster.
        """
        from dford.experiments.processes import WorkerDiedError

        check_backend(jobs, backend)
        try:
            _place(items, levels, answers, out, first, error_rate, seed, jobs, backend)
        except WorkerDiedError as error:
            raise typer.Exit(refuse(f"a part failed ({error}); nothing was written", status=1)) from None
        except KeyboardInterrupt:
            raise typer.Exit(refuse("stopped; nothing was written", status=130)) from None


def _place(
    items: Path,
    levels: str,
    answers: list[Path],
    out: Path,
    first: int,
    error_rate: float | None,
    seed: int,
    jobs: int,
    backend: str,
) -> None:
    from rich.progress import Progress

    from dford.placing import place

    for file in answers:
        keep_whole({"the items": items, "the answers": file}, {"--out": out})
    logs, screen = [read_log(file, levels) for file in answers], console()
    for file, part in zip(answers, logs, strict=True):
        if len(part) and all(item is None for item in part.item):
            raise ValueError(
                f"{file.name} does not say which items its answers are about; it needs the columns item, person and "
                "time"
            )
    log = reduce(operator.add, logs)
    with Progress(console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task("placing", total=None)
        found = place(
            items, log, out, error_rate=error_rate, random_state=seed, first=first, jobs=jobs, backend=backend,
            on_progress=lambda done, of: progress.update(task, completed=done, total=of),
        )  # fmt: skip
    screen.print(
        f"{found.items:,} items placed by {len(log):,} answers about {found.answered:,} of them; the levels are "
        f"expected to be {found.expected_error:.2f} off, if {found.error_rate:.1%} of the answers are wrong",
        soft_wrap=True,
    )
