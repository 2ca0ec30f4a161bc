"""What the commands share."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dford.cli._names import BACKENDS
from dford.document import printable

# A command imports what it uses when it runs, so that help and the version appear at once.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dford.log import FeedbackLog
    from dford.policies import Policy


def refuse(sentence: str, status: int = 2) -> int:
    """Say on one line of stderr why the command ends, and return its exit status."""
    print(f"dford: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    return status


def say(text: str, file: "TextIO | None" = None) -> None:
    """Print lines that contain texts of others: names of files, columns and people, and what programs say."""
    print("\n".join(map(printable, text.split("\n"))), file=file)


def needs(extra: str, *packages: str) -> None:
    """Raise an error if packages of an extra are missing."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise ValueError(f'this needs {" and ".join(missing)}: run pip install "dford[{extra}]"')


def console() -> "Console":
    """Where tables are printed: plain, so that rich does not guess which numbers to colour."""
    from rich.console import Console

    return Console(highlight=False)


@contextmanager
def writing_to(folder: Path, option: str = "--out") -> Iterator[None]:
    """Turn a write error into a message the user can act on."""
    import typer

    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise typer.BadParameter(f"cannot write into {folder} ({reason})", param_hint=option) from error


def keep_whole(read: Mapping[str, Path], written: Mapping[str, Path | None]) -> None:
    """Refuse to write over a file that is read, or two outputs to one file, also through links."""
    import typer

    held = {what: path for what, path in read.items() if os.path.exists(path)}
    for option, path in written.items():
        if path is None:
            continue
        if same := [what for what, other in held.items() if _is_same(path, other)]:
            raise typer.BadParameter(f"{path.name} holds {same[0]}; write somewhere else", param_hint=option)
        held[f"what {option} writes"] = path


def check_ending(path: Path, what: str, endings: Sequence[str] = (".csv", ".parquet"), option: str = "FILE") -> None:
    """Refuse a file whose name does not say that it is what will be in it."""
    import typer

    if path.suffix not in endings:
        raise typer.BadParameter(
            f"{what} must be in a file that ends in {' or '.join(endings)}; got {path.name!r}", param_hint=option
        )


def _is_same(one: Path, other: Path) -> bool:
    if os.path.exists(one) and os.path.exists(other):
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


JOBS = "Number of processes; -1 for one per core, or the whole cluster."
BACKEND = "processes (this machine), ray or dask (your cluster)."


def check_backend(jobs: int, backend: str) -> None:
    """Refuse jobs and backends that nothing can run on."""
    import typer

    if jobs == 0:
        raise typer.BadParameter("0 processes would do nothing; give 1 or more, or -1", param_hint="--jobs")
    if backend not in BACKENDS:
        raise typer.BadParameter(f"{backend!r} is not one of {', '.join(BACKENDS)}", param_hint="--backend")


def new_table(title: str, *headers: str) -> "Table":
    """An empty table whose first column holds names and whose other columns hold figures."""
    from rich import box
    from rich.table import Table

    class Printable(Table):
        def add_row(self, *cells: Any, **how: Any) -> None:
            super().add_row(*(printable(cell) if isinstance(cell, str) else cell for cell in cells), **how)

    empty = Printable(
        title=printable(title), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for place, header in enumerate(headers):
        empty.add_column(printable(header), justify="right" if place else "left", overflow="fold")
    return empty


POLICY = "What chose the questions: uniform, nearby:0.1, boundary:0.2, triangular:0.4."


def read_policy(text: str) -> "Policy | None":
    """A policy as typed, or none."""
    from dford import policies

    name, _, exploration = text.partition(":")
    known: dict[str, Any] = {
        one.__name__.lower(): one for one in (policies.Nearby, policies.Boundary, policies.Triangular)
    }
    try:
        if name == "uniform" and not exploration:
            return policies.Uniform()
        return known[name](float(exploration)) if text else None
    except (KeyError, ValueError):
        raise ValueError(f"{text!r} is not a policy; give one like uniform, nearby:0.1 or boundary:0.2") from None


def read_levels(text: str) -> list[str]:
    """The names of levels as typed, with commas between them."""
    import typer

    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise typer.BadParameter(
            f"expected names with one comma between two of them, such as low,high; got {text!r}", param_hint="--levels"
        )
    return names


def read_log(path: Path, levels: str | list[Any]) -> "FeedbackLog":
    """The log in a file, without guesses, and with levels as typed: numbers where the file has numbers."""
    import typer

    if not path.is_file():
        raise FileNotFoundError(f"there is no log {path}")
    with naming(path):
        whole = _read_log(path, levels)
    log = whole.without_guesses()
    if count := len(whole) - len(log):
        typer.echo(f"{count} of {len(whole)} answers are guesses (confidence 0.5), which are left out.", err=True)
    return log


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Say which file is wrong, where the sentence does not."""
    try:
        yield
    except ValueError as error:
        raise error if file.name in str(error) else ValueError(f"{file.name}: {error}") from None


def _read_log(path: Path, levels: str | list[Any]) -> "FeedbackLog":
    from dford.log import FeedbackLog

    if not isinstance(levels, str):
        return FeedbackLog.read(path, levels)
    names: list[Any] = read_levels(levels)
    try:
        numbers: list[Any] = [int(name) for name in names]
    except ValueError:
        return FeedbackLog.read(path, names)
    try:
        return FeedbackLog.read(path, numbers)
    except ValueError:
        return FeedbackLog.read(path, names)
