"""What the commands share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def refuse(sentence: str, status: int = 2) -> int:
    """Say on one line of stderr why the command ends, and return its exit status."""
    print(f"dford: {' '.join(sentence.split())}", file=sys.stderr)
    return status


def console() -> "Console":
    """Where tables go: plain, so that numbers are not coloured by guess."""
    from rich.console import Console

    return Console(highlight=False)


@contextmanager
def writing_to(folder: Path, option: str = "--out") -> Iterator[None]:
    """Make a failure to write the user's to mend."""
    import typer

    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise typer.BadParameter(f"cannot write into {folder} ({reason})", param_hint=option) from error
