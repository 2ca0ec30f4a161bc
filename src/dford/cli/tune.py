"""`dford tune`: the learner that suits a log best."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli._shared import POLICY, console, new_table, read_log, read_policy

if TYPE_CHECKING:
    import typer

    from dford.learners import LiveLearner
    from dford.policies import Policy


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command("tune")
    def command(
        log: Annotated[Path, typer.Argument(metavar="LOG", help="A .csv or .parquet file of answers.")],
        levels: Annotated[
            str, typer.Option(metavar="A,B,…", help="The levels, lowest first: --levels calm,mild,severe")
        ],
        policy: Annotated[str, typer.Option(metavar="NAME:SHARE", help=POLICY)] = "",
        save: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Train the best one on the whole log and save it here.")
        ] = None,
    ) -> None:
        """Choose a learner from a log of answers. No label is needed.

        The log has the columns level, prediction, propensity, higher, and one for each feature, as FeedbackLog writes
        it. Every candidate goes through it in order and predicts each row before it learns the answer about it.
        """
        _tune(log, levels, read_policy(policy), save)


def _tune(path: Path, levels: str, policy: "Policy | None", save: Path | None) -> None:
    from dford.evaluation import tune
    from dford.learners import Auto, DirectionalBoosting, NewtonLogit

    log = read_log(path, levels)
    grid: list[LiveLearner] = [
        Auto(random_state=0),
        NewtonLogit(),
        NewtonLogit(features="poly"),
        NewtonLogit(features="fourier"),
        NewtonLogit(forget=0.02),
        NewtonLogit(features="fourier", forget=0.02),
        DirectionalBoosting(random_state=0),
        DirectionalBoosting(max_leaf_nodes=7, random_state=0),
    ]
    if log.X.shape[1] > 30:  # its products would be many and take long
        grid = [learner for learner in grid if learner.get_params().get("features") != "poly"]
    screen = console()
    with screen.status("replaying") as status:
        tuning = tune(
            log,
            grid,
            policy=policy,
            progress=lambda n, learner: status.update(f"replaying {n + 1} of {len(grid)}: {learner}"),
        )
    rows = new_table(f"{len(log):,} answers", "Learner", "MAE", "95% interval", "Behind the best")
    for candidate in tuning.candidates:
        mae, behind = candidate.mae, candidate.behind
        gap = "" if candidate.learner is tuning.best else f"{behind.value:.3f} ({behind.low:.3f} to {behind.high:.3f})"
        rows.add_row(candidate.name, f"{mae.value:.3f}", f"{mae.low:.3f} to {mae.high:.3f}", gap)
    screen.print(rows, "", str(tuning), sep="\n")
    if save is not None:
        tuning.best.fit_log(log, policy=policy).save(save)
        print(f"Saved: {save}")
