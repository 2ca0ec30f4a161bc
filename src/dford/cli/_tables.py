"""What the commands that read the user's table share: its target, its columns, and its learner."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dford.cli._names import LEARNERS
from dford.cli._shared import read_levels
from dford.document import printable

if TYPE_CHECKING:
    from dford.learners import OrdinalLearner

FILE = "A .csv with a header line, or a .parquet; vectors in a .npy file of the same name beside it become a column."
TARGET = "The column with the levels."
LEVELS = "The levels by name, lowest first."
EQUAL_FREQUENCY = "Cut numbers into K levels with equally many rows."
CUTS = "Cut numbers at these values; each belongs to the level below."
STEPS = "Cut numbers at every multiple of S."
KIND = "How to read a column: number, category, text, vector, image, date or shown; may be repeated."
OWN = "your own as file.py:Class or package.module:Class"
MODEL = f"The model's class, if it is {OWN}."

Discretise = Callable[[Any], Any] | None


class TableOptions(NamedTuple):
    """The options that describe a table."""

    target: str
    levels: str | None
    equal_frequency: int | None
    cuts: str | None
    steps: float | None
    kind: Sequence[str]

    def load(self, path: Path) -> Any:
        """The table's features and levels."""
        import typer

        from dford.datasets import load_table

        ways = {
            "--levels": self.levels,
            "--equal-frequency": self.equal_frequency,
            "--cuts": self.cuts,
            "--steps": self.steps,
        }
        if len(given := [name for name, value in ways.items() if value is not None]) > 1:
            raise typer.BadParameter(f"give only one of {' and '.join(given)}")
        names = None if self.levels is None else read_levels(self.levels)
        discretise = _discretiser(self.equal_frequency, self.cuts, self.steps)
        if self.cuts is not None:  # one that never occurs is still a level
            names = [str(level) for level in range(1, self.cuts.count(",") + 3)]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "nothing is learned from")  # which the commands print of each column
            return load_table(path, self.target, levels=names, discretise=discretise, kinds=read_kinds(self.kind))


def files_of(table: Path) -> dict[str, Path]:
    """What is read with a table."""
    from dford.columns.vectors import vectors_file

    return {"the table": table, "the vectors of the table": vectors_file(table)}


def files_of_learners(names: Iterable[str]) -> dict[str, Path]:
    """What is read if some of these are the user's own."""
    own = (name.strip().rpartition(":") for name in names if ":" in name)
    return {f"the learner {of}": Path(place) for place, _, of in own}


def describe(columns: Any) -> str:
    """What each column became, one per line."""
    return "\n".join(f"  {printable(one.sentence)}" for one in columns.describe())


def check_learner(name: str, option: str = "--learner") -> None:
    """Refuse a learner that is neither built in nor the user's own."""
    import typer

    from dford.experiments.own_learner import is_own, own_learner

    if is_own(name):
        try:
            own_learner(name)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=option) from None
    elif name not in LEARNERS:
        raise typer.BadParameter(
            f"{name!r} is not one of {', '.join(LEARNERS)}; you can also give {OWN}", param_hint=option
        )


def load_model(path: Path, learner: str | None) -> "OrdinalLearner":
    """A saved model, perhaps of the user's own class."""
    from dford.experiments.own_learner import is_own, own_learner
    from dford.learners import load

    if learner is not None:
        check_learner(learner)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model {path}")
    return load(path, learner=own_learner(learner) if learner and is_own(learner) else None)


def read_kinds(said: Sequence[str]) -> dict[str, str]:
    """The kinds of columns by name."""
    import typer

    from dford.columns import KINDS

    pairs = [one.rpartition("=") for one in said]
    for one, (name, _, kind) in zip(said, pairs, strict=True):
        if not name or kind not in KINDS:
            raise typer.BadParameter(
                f"expected COLUMN=KIND, with one of the kinds {', '.join(KINDS)}; got {one!r}", param_hint="--kind"
            )
    if len(kinds := {name: kind for name, _, kind in pairs}) < len(pairs):
        raise typer.BadParameter("a column is named twice; give each column one kind", param_hint="--kind")
    return kinds


def _discretiser(tenths: int | None, cuts: str | None, steps: float | None) -> Discretise:
    import typer

    from dford.datasets import at_cuts, equal_frequency

    if tenths is not None:
        _check_count(tenths, "--equal-frequency")
        return partial(equal_frequency, n_levels=tenths)
    if cuts is not None:
        _check_count(cuts.count(",") + 2, "--cuts")
        try:
            return partial(at_cuts, cuts=[float(cut) for cut in cuts.split(",")])
        except ValueError:
            raise typer.BadParameter(
                f"expected numbers separated by commas; got {cuts!r}", param_hint="--cuts"
            ) from None
    if steps is not None:
        if not (steps > 0 and math.isfinite(steps)):
            raise typer.BadParameter(f"expected a number greater than 0; got {steps}", param_hint="--steps")
        return partial(_in_steps, step=steps)
    return None


def _in_steps(values: Any, step: float) -> Any:
    from dford.datasets import in_steps
    from dford.datasets.discretise import ROUNDING

    lowest, highest = float(values.min()), float(values.max())
    _check_count(highest / step - lowest / step, "--steps")  # infinite or NaN if the step is tiny
    first, last = (math.ceil(ratio - ROUNDING * abs(ratio)) for ratio in (lowest / step, highest / step))
    n_levels = max(2, last - first + 1)
    _check_count(n_levels, "--steps")
    return in_steps(values, step, start=step * (first - 1), n_levels=n_levels)


def _check_count(levels: float, option: str) -> None:
    import typer

    from dford.datasets.user_table import MOST_LEVELS

    if not levels <= MOST_LEVELS:
        raise typer.BadParameter(
            f"this would make more levels than the {MOST_LEVELS} that are possible; make fewer", param_hint=option
        )
