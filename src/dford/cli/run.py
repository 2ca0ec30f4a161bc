"""`dford run`: a learner on your own table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dford.cli import _tables
from dford.cli._names import LEARNERS
from dford.cli._shared import check_ending, console, keep_whole, new_table, writing_to

if TYPE_CHECKING:
    import typer

    from dford.experiments.one_pass import Pass


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def run(
        table: Annotated[Path, typer.Argument(metavar="FILE", help=_tables.FILE)],
        target: Annotated[str, typer.Option(metavar="NAME", help=_tables.TARGET)],
        levels: Annotated[str | None, typer.Option(metavar="A,B,C", help=_tables.LEVELS)] = None,
        equal_frequency: Annotated[int | None, typer.Option(min=2, metavar="K", help=_tables.EQUAL_FREQUENCY)] = None,
        cuts: Annotated[str | None, typer.Option(metavar="7,9,12", help=_tables.CUTS)] = None,
        steps: Annotated[float | None, typer.Option(metavar="S", help=_tables.STEPS)] = None,
        kind: Annotated[list[str] | None, typer.Option(metavar="COLUMN=KIND", help=_tables.KIND)] = None,
        learner: Annotated[
            str, typer.Option(metavar="NAME", help=f"{', '.join(LEARNERS)}, or {_tables.OWN}.")
        ] = "auto",
        shuffle: Annotated[
            bool, typer.Option("--shuffle", help="Play the rows in random order instead of the file's.")
        ] = False,
        seed: Annotated[
            int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="The seed of questions and shuffling.")
        ] = 0,
        save: Annotated[Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write the model here.")] = None,
        log: Annotated[
            Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write all answers here: .csv or .parquet.")
        ] = None,
    ) -> None:
        """Learn from a table, one yes/no question per row, and see how the error falls.

        For example: dford run wines.csv --target rating --levels bad,ok,good --save wines.dford

        The label of a row is only used to answer the question about it.
        Numbers, categories, dates and texts are learned from; ids are not. The output shows how each column is read.
        Numeric targets are cut with --cuts, --steps or --equal-frequency.
        dford, pril and prank see rows scaled on the fly, the others see them as they are. The log has them as they are.

        To place new rows with the saved model: dford predict wines.dford new.csv --out levels.csv
        """
        _tables.check_learner(learner)
        if log and learner == "prank":
            raise typer.BadParameter(
                "prank sees the labels and asks no questions, so there is nothing to log", param_hint="--log"
            )
        if log:
            check_ending(log, "a log", option="--log")
        keep_whole(_tables.files_of(table) | _tables.files_of_learners([learner]), {"--save": save, "--log": log})
        options = _tables.TableOptions(target, levels, equal_frequency, cuts, steps, kind or ())
        _run(table, options, learner, shuffle, seed, save, log)


def _run(
    table: Path,
    options: _tables.TableOptions,
    learner: str,
    shuffle: bool,
    seed: int,
    save: Path | None,
    log: Path | None,
) -> None:
    import numpy as np
    from rich.progress import Progress

    from dford.experiments.one_pass import one_pass
    from dford.log_columns import check_feature_names
    from dford.scale import Scale

    data = options.load(table)
    X, y = data.data, data.target
    if log is not None:
        check_feature_names(data.columns.feature_names()[: data.columns.n_dense_])  # those of texts have no column
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
            columns=data.columns,
            seed=seed,
            on_progress=lambda rows: progress.update(task, completed=rows),
        )
    if save is not None:
        with writing_to(save.parent, "--save"):
            save.parent.mkdir(parents=True, exist_ok=True)
            done.model.save(save)
    if log is not None and done.log is not None:
        with writing_to(log.parent, "--log"):
            log.parent.mkdir(parents=True, exist_ok=True)
            done.log.write(log)
    screen.print("Columns:", _tables.describe(data.columns), "", sep="\n", markup=False, soft_wrap=True)
    title = f"{learner} on {table.name}: {len(y):,} rows, {X.shape[1]} features, {len(data.target_names)} levels"
    _show(title, done, Scale(data.target_names).encode(y))
    if save is not None:
        print(f"Model: {save}")
    if log is not None and done.log is not None:
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
    screen.print(shown, "", f"Always predicting the single best level: {constant:.3f}.", sep="\n")
