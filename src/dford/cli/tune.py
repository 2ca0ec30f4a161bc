"""`dford tune`: the learner that suits a log best."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dford.cli import _tables
from dford.cli._names import LIVE_LEARNERS
from dford.cli._shared import POLICY, console, keep_whole, new_table, read_log, read_policy, writing_to

if TYPE_CHECKING:
    import typer

    from dford.learners import LiveLearner
    from dford.log import FeedbackLog
    from dford.policies import Policy


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command("tune")
    def command(
        log: Annotated[
            Path, typer.Argument(metavar="FILE", help="A .csv or .parquet log of answers; with --target, a table.")
        ],
        levels: Annotated[
            str | None, typer.Option(metavar="A,B,…", help="The levels, lowest first: --levels calm,mild,severe")
        ] = None,
        learners: Annotated[
            str | None,
            typer.Option(metavar="A,B,…", help=f"{', '.join(LIVE_LEARNERS)}, or {_tables.OWN}; by default a grid."),
        ] = None,
        policy: Annotated[str, typer.Option(metavar="NAME:SHARE", help=POLICY)] = "",
        save: Annotated[
            Path | None,
            typer.Option(dir_okay=False, metavar="FILE", help="Train the best one on the whole log and save it here."),
        ] = None,
        target: Annotated[str | None, typer.Option(metavar="NAME", help=f"With a table. {_tables.TARGET}")] = None,
        equal_frequency: Annotated[int | None, typer.Option(min=2, metavar="K", help=_tables.EQUAL_FREQUENCY)] = None,
        cuts: Annotated[str | None, typer.Option(metavar="7,9,12", help=_tables.CUTS)] = None,
        steps: Annotated[float | None, typer.Option(metavar="S", help=_tables.STEPS)] = None,
        kind: Annotated[list[str] | None, typer.Option(metavar="COLUMN=KIND", help=_tables.KIND)] = None,
    ) -> None:
        """Choose a learner from a log of answers. No label is needed.

        The log has the columns level, prediction, propensity, higher, and one for each feature, as written by
        FeedbackLog. Every candidate goes through it in order, predicting each row before it learns from the answer.

        A table with known levels is turned into such a log, one question per row, all levels equally likely:
        dford tune wines.csv --target rating --levels bad,ok,good
        """
        options = _tables.TableOptions(target or "", levels, equal_frequency, cuts, steps, kind or ())
        if target is not None and (policy or save):
            raise typer.BadParameter("--policy and --save need a log; for a model of a table, use dford run --save")
        if target is None:
            if levels is None:
                raise typer.BadParameter("name the levels of the log, lowest first", param_hint="--levels")
            if given := [name for name, value in options._asdict().items() if value and name != "levels"]:
                raise typer.BadParameter(f"--{given[0].replace('_', '-')} is about a table; give --target, too")
        keep_whole({"the log": log} | _tables.files_of_learners((learners or "").split(",")), {"--save": save})
        grid = _grid() if learners is None else _named(learners)
        if target is None:
            _tune(read_log(log, levels or ""), grid, learners is not None, read_policy(policy), save)
        else:
            answers = _log_of_table(log, options, grid)
            _tune(answers, grid, learners is not None, read_policy("uniform"), None)


def _named(learners: str) -> "list[LiveLearner]":
    """Learners by name, with their defaults."""
    import typer

    from dford.experiments.own_learner import is_own, new_own
    from dford.learners import LEARNERS, LiveLearner

    found = []
    for name in (one.strip() for one in learners.split(",")):
        _tables.check_learner(name, "--learners")
        learner = new_own(name, random_state=0) if is_own(name) else LEARNERS[name](random_state=0)
        if not isinstance(learner, LiveLearner):
            raise typer.BadParameter(
                f"{name} does not learn from answers; use one of {', '.join(LIVE_LEARNERS)}", param_hint="--learners"
            )
        found.append(learner)
    return found


def _log_of_table(path: Path, options: _tables.TableOptions, grid: "list[LiveLearner]") -> "FeedbackLog":
    """One question per row, about levels drawn evenly, each answered by the row's own level."""
    from dford.experiments.one_pass import one_pass
    from dford.learners import Auto
    from dford.policies import Uniform

    data = options.load(path)
    console().print("Columns:", _tables.describe(data.columns), "", sep="\n", markup=False, soft_wrap=True)
    log = one_pass(data.data, data.target, data.target_names, "newton", policy=Uniform()).log
    assert log is not None
    for learner in grid:
        if isinstance(learner, Auto) and data.columns.is_sparse_:
            learner.set_params(dense=data.columns.n_dense_)
    return log


def _grid() -> "list[LiveLearner]":
    from dford.learners import Auto, DirectionalBoosting, NewtonLogit

    return [
        Auto(random_state=0),
        NewtonLogit(),
        NewtonLogit(features="poly"),
        NewtonLogit(features="fourier"),
        NewtonLogit(forget=0.02),
        NewtonLogit(features="fourier", forget=0.02),
        DirectionalBoosting(random_state=0),
        DirectionalBoosting(max_leaf_nodes=7, random_state=0),
    ]


def _tune(
    log: "FeedbackLog", grid: "list[LiveLearner]", named: bool, policy: "Policy | None", save: Path | None
) -> None:
    from sklearn.utils import get_tags

    from dford.evaluation import tune

    if log.X.shape[1] > 30 and not named:  # too many products, and slow
        grid = [learner for learner in grid if learner.get_params().get("features") != "poly"]
    if log.is_sparse:
        unable = [learner for learner in grid if not get_tags(learner).input_tags.sparse]
        if unable and named:
            raise ValueError(f"{type(unable[0]).__name__} does not learn from texts, which this log has; use Auto")
        grid = [learner for learner in grid if learner not in unable]
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
        with writing_to(save.parent, "--save"):
            save.parent.mkdir(parents=True, exist_ok=True)
            tuning.best.fit_log(log, policy=policy).save(save)
        print(f"Saved: {save}")
