"""The command `dford`: one module per command, each adding itself to the program."""

import _thread
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import dford
from dford.cli import compare, data, demo, evaluate, export_import, label, place, predict, reproduce, run, serve, tune
from dford.cli._mistakes import failure_in_words, in_words
from dford.cli._shared import refuse
from dford.document import printable

# Only the extra "lab" brings typer, rich and matplotlib, so they are imported where they are used.
if TYPE_CHECKING:
    import typer

_COMPLETION = "_DFORD_COMPLETE"  # set when the shell asks for completions
COMMANDS = (demo, run, predict, compare, tune, evaluate, data, reproduce, place, label, serve, export_import)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 when it failed, 2 after a user's mistake, 130 after Ctrl-C."""
    try:
        with _patience(), _plain_warnings(), _readers_may_leave():
            return _run(arguments)
    except KeyboardInterrupt:
        return 130


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"dford {dford.__version__}")
        return 0
    if missing := [name for name in ("matplotlib", "rich", "typer") if find_spec(name) is None]:
        return refuse(f'the command line needs {" and ".join(missing)}: run pip install "dford[lab]".')
    import typer

    # Depending on its version, Typer raises the UsageError of click or of its own copy of click.
    UsageError: Any = typer.BadParameter.__base__
    try:
        return _program(_names_a_command(words))(words, prog_name="dford", standalone_mode=False) or 0
    except UsageError as mistake:
        return refuse(in_words(mistake))
    except ValueError as mistake:  # what the library raises for bad input
        return refuse(str(mistake))
    except OSError as failure:
        return refuse(failure_in_words(failure), status=2 if isinstance(failure, FileNotFoundError) else 1)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show the library's warnings on one line, without their place in the code."""
    usual = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"dford: {printable(message)}\n"
    try:
        yield
    finally:
        warnings.formatwarning = usual


@contextmanager
def _readers_may_leave() -> Iterator[None]:
    """Whoever reads the output may stop, as `| head` does: then nothing more is shown, and the work goes on."""
    out, err = _Output(sys.stdout), _Output(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            out.flush()
            err.flush()


class _Output:
    def __init__(self, stream: Any) -> None:
        self._stream = io.StringIO() if stream is None else stream  # closed before the start, as by >&-

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._unread():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._unread():
            self._stream.flush()

    @contextmanager
    def _unread(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # what is still in the buffer needs somewhere to go, too
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())


@contextmanager
def _patience() -> Iterator[None]:
    """Ctrl-C as always, except during a compilation, where it would break LLVM: there it is delayed a moment."""
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # not ours to handle
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_globals.get("__name__", "").partition(".")[0] in {"numba", "llvmlite"}:
                again = threading.Timer(0.05, _thread.interrupt_main)
                again.daemon = True
                again.start()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _names_a_command(words: list[str]) -> bool:
    if _COMPLETION in os.environ:
        words = os.environ.get("COMP_WORDS", "").split()[1:]
    return any(not word.startswith("-") for word in words)


def _program(bare: bool = False) -> "typer.Typer":
    """All commands and, unless `bare`, the options of the program itself.

    Typer imports a lot to read even one option, and Rich to draw a frame around help: together twice all the rest.
    """
    import typer

    program = typer.Typer(
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=not bare or _COMPLETION in os.environ,
        add_help_option=not bare,
    )
    for command in COMMANDS:
        command.add(program)
    if bare:
        return program

    @program.callback(invoke_without_command=True)
    def _root(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    ) -> None:
        """Put things on an ordered scale by asking one yes/no question at a time.

        Start with: dford demo
        """
        typer.echo(f"dford {dford.__version__}" if version else context.get_help())
        raise typer.Exit

    return program
