"""`dford run`: a learner over a table of one's own."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dford.cli._names import LEARNERS
from dford.cli._shared import console, new_table, writing_to

if TYPE_CHECKING:
    import typer

    from dford.experiments.one_pass import Pass

Discretise = Callable[[Any], Any] | None


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def run(
        table: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv with a line of names, or a .parquet.")],
        target: Annotated[str, typer.Option(metavar="NAME", help="The column with the levels.")],
        levels: Annotated[str | None, typer.Option(metavar="A,B,C", help="The levels by name, lowest first.")] = None,
        equal_frequency: Annotated[
            int | None, typer.Option(min=2, metavar="K", help="Cut numbers into K levels of equally many rows.")
        ] = None,
        cuts: Annotated[
            str | None, typer.Option(metavar="7,9,12", help="Cut numbers here; a cut belongs below.")
        ] = None,
        steps: Annotated[float | None, typer.Option(metavar="S", help="Cut numbers at every multiple of S.")] = None,
        learner: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(LEARNERS)}.")] = "auto",
        shuffle: Annotated[
            bool, typer.Option("--shuffle", help="Play the rows in random order, not the file's.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="Of questions and shuffle.")] = 0,
        save: Annotated[Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write the model here.")] = None,
        log: Annotated[
            Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write all answers here: .csv or .parquet.")
        ] = None,
    ) -> None:
        """Learn from a table of yours, one yes/no question a row, and see how the error falls.

        For example: dford run wines.csv --target rating --levels bad,ok,good

        The label of a row only answers the question about it.
        Columns of numbers are features; one of words becomes a 0/1 column a word.
        Targets of numbers are cut by --cuts, --steps or --equal-frequency.
        dford, pril and prank see rows scaled as they come, the others as they are.
        """
        from dford.experiments.one_pass import SCALED

        if learner not in LEARNERS:
            raise typer.BadParameter(f"{learner!r} is none of {', '.join(LEARNERS)}", param_hint="--learner")
        if save and learner in SCALED:
            raise typer.BadParameter(
                f"a saved {learner} could not scale new rows as it saw them here; save newton, boosting or auto",
                param_hint="--save",
            )
        if log and learner == "prank":
            raise typer.BadParameter("prank sees the labels and asks nothing that a log could hold", param_hint="--log")
        if log and log.suffix not in (".csv", ".parquet"):
            raise typer.BadParameter(f"a log is a .csv or a .parquet file; got {log.name!r}", param_hint="--log")
        ways = {"--levels": levels, "--equal-frequency": equal_frequency, "--cuts": cuts, "--steps": steps}
        if len(given := [name for name, value in ways.items() if value is not None]) > 1:
            raise typer.BadParameter(f"give one of {' and '.join(given)}, not both")
        names = [name.strip() for name in levels.split(",")] if levels else None
        _run(table, target, names, _discretiser(equal_frequency, cuts, steps), learner, shuffle, seed, save, log)


def _discretiser(tenths: int | None, cuts: str | None, steps: float | None) -> Discretise:
    import typer

    from dford.datasets import at_cuts, equal_frequency

    if tenths is not None:
        return partial(equal_frequency, n_levels=tenths)
    if cuts is not None:
        try:
            return partial(at_cuts, cuts=[float(cut) for cut in cuts.split(",")])
        except ValueError:
            raise typer.BadParameter(f"{cuts!r} are not numbers with commas between", param_hint="--cuts") from None
    if steps is not None:
        if not (steps > 0 and math.isfinite(steps)):
            raise typer.BadParameter(f"{steps} is not a number above 0", param_hint="--steps")
        return partial(_in_steps, step=steps)
    return None


def _in_steps(values: Any, step: float) -> Any:
    from dford.datasets import in_steps

    start = step * (math.ceil(values.min() / step) - 1)
    return in_steps(values, step, start=start, n_levels=max(2, math.ceil((values.max() - start) / step)))


def _run(
    table: Path,
    target: str,
    levels: list[str] | None,
    discretise: Discretise,
    learner: str,
    shuffle: bool,
    seed: int,
    save: Path | None,
    log: Path | None,
) -> None:
    import numpy as np
    from rich.progress import Progress

    from dford.datasets import load_table
    from dford.experiments.one_pass import one_pass
    from dford.log_columns import check_feature_names
    from dford.scale import Scale

    data = load_table(table, target, levels=levels, discretise=discretise)
    X, y = data.data, data.target
    if log is not None:
        check_feature_names(data.feature_names)
    if np.isnan(X).any() and learner != "boosting":
        column = data.feature_names[int(np.isnan(X).any(axis=0).argmax())]
        raise ValueError(f"{column} has empty places; fill them in, or take --learner boosting, which can do without")
    if shuffle:
        order = np.random.RandomState(seed).permutation(len(y))
        X, y = X[order], y[order]
    screen = console()
    with Progress(console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task(learner, total=len(y))
        done = one_pass(
            X,
            y,
            data.target_names,
            learner,
            feature_names=data.feature_names,
            seed=seed,
            on_progress=lambda rows: progress.update(task, completed=rows),
        )
    title = f"{learner} on {table.name}: {len(y):,} rows, {X.shape[1]} features, {len(data.target_names)} levels"
    _show(title, done, Scale(data.target_names).encode(y))
    if save is not None:
        with writing_to(save.parent, "--save"):
            save.parent.mkdir(parents=True, exist_ok=True)
            done.model.save(save)
        print(f"Model: {save}")
    if log is not None and done.log is not None:
        with writing_to(log.parent, "--log"):
            log.parent.mkdir(parents=True, exist_ok=True)
            done.log.write(log)
        print(f"Answers: {log}")


def _show(title: str, done: "Pass", places: Any) -> None:
    shown = new_table(title)
    for header in ("Rows", "Running MAE", "MAE since", "Answers yes"):
        shown.add_column(header, justify="right")
    before, rows = 0, len(done.errors)
    marks = [mark * 10**power for power in range(1, 12) for mark in (1, 2, 5) if mark * 10**power < rows]
    for row in [*marks, rows]:
        yes = f"{done.log.higher[:row].mean():.0%}" if done.log else ""
        shown.add_row(f"{row:,}", f"{done.errors[:row].mean():.3f}", f"{done.errors[before:row].mean():.3f}", yes)
        before = row
    constant = min(abs(places - place).mean() for place in range(1, int(places.max()) + 1))
    screen = console()
    screen.print(shown, "", f"Always the one best level: {constant:.3f}.", sep="\n")
