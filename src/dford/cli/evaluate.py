"""`dford evaluate`: how good a saved model is, judged by answers alone."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dford.cli import _tables
from dford.cli._shared import POLICY, console, new_table, read_log, read_policy, say

if TYPE_CHECKING:
    import typer

    from dford.learners import Overlap
    from dford.policies import Policy


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def evaluate(
        log: Annotated[Path, typer.Argument(metavar="LOG", help="A .csv or .parquet file of answers.")],
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that save() wrote.")],
        policy: Annotated[str, typer.Option(metavar="NAME:SHARE", help=POLICY)] = "",
        learner: Annotated[str | None, typer.Option(metavar="NAME", help=_tables.MODEL)] = None,
    ) -> None:
        """Estimate the error of a saved model from a log of answers. No label is needed.

        The questions may come from another model. The answers must not be ones that this model learned from, or it
        looks better than it is; if they are, the output says so first.
        """
        _evaluate(log, model, _tables.load_model(model, learner), read_policy(policy))


def _warning(overlap: "Overlap", name: str) -> str:
    """What to know about a model before reading the figures, or "" for nothing."""
    if not overlap.checked:
        return f"{name} cannot show whether it learned from these answers; if it did, it looks better here than it is"
    if not overlap.found:
        return ""
    count = f"{overlap.found:,}" if overlap.checked == overlap.answers else f"about {overlap.share:.0%}"
    return (
        f"{count} of the log's {overlap.answers:,} answers match, in features, level and answer, ones that {name} "
        "learned from, so the figures look better than they are"
    )


def _evaluate(path: Path, model_path: Path, model: Any, policy: "Policy | None") -> None:
    from dford.evaluation import offpolicy

    if not hasattr(model, "classes_"):
        raise ValueError(f"{model_path} holds a learner that has not learned anything yet")
    log = read_log(path, model.classes_.tolist())
    rows = model._log_rows(log)
    if hasattr(model, "feature_names_in_") and not hasattr(model, "columns_"):  # checked to be the log's
        import pandas as pd

        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    if warning := _warning(model.learned_from(log), model_path.name):
        say(f"dford: {warning}", file=sys.stderr)
    predictions = model.predict(rows)
    figures = {
        "mean absolute error": offpolicy.mae(log, predictions, policy=policy),
        "the same, normalised": offpolicy.mae(log, predictions, method="normalised", policy=policy),
    }
    if hasattr(model, "predict_proba"):
        figures["the same, doubly robust"] = offpolicy.mae(
            log, predictions, method="robust", probabilities=model.predict_proba(rows), policy=policy
        )
    figures["share of right levels"] = offpolicy.accuracy(log, predictions, policy=policy)
    figures["at most one level off"] = offpolicy.accuracy(log, predictions, within=1, policy=policy)
    rows = new_table(f"{model_path.name} on {len(log):,} answers", "Figure", "Estimate", "95% interval")
    for name, estimate in figures.items():
        rows.add_row(name, f"{estimate.value:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}")
    console().print(rows)
