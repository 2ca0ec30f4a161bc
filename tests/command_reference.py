"""The reference of the command line, as Markdown for the docs: `make docs/command-line.md`."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from dford.cli import _program

_HEAD = """# Command line

Every command, made from its own `--help`. `dford --version` names the version, and
`dford --install-completion` has your shell complete commands and options.

A command exits with 0 when it is done, 1 when it failed, 2 when it could not do what was asked (one sentence on stderr
says why), and 130 after Ctrl-C.
"""


def _commands(command: Any, context: Any) -> Iterator[str]:
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        own = type(context)(one, info_name=name, parent=context)
        if hasattr(one, "list_commands"):
            yield from _commands(one, own)
        else:
            yield _command(one, own)


def _command(one: Any, context: Any) -> str:
    about = re.sub(r"\s*\n(?!\n)(?<!\n\n)\s*", " ", inspect.cleandoc(one.help).replace("\b", ""))
    rows = [record for param in one.get_params(context) if (record := _entry(param, context)) is not None]
    lines = [
        f"## {context.command_path}",
        about,
        f"```\n{context.command_path} {' '.join(one.collect_usage_pieces(context))}\n```",
    ]
    return "\n\n".join(lines) + "\n\n" + "\n".join(rows)


def _entry(param: Any, context: Any) -> str | None:
    found = param.get_help_record(context)
    if found is None or "--help" in param.opts:
        return None
    name, about = found
    return f"- `{name}`: {' '.join(about.split())}"


def reference() -> str:
    import typer

    program: Any = typer.main.get_command(_program())
    return (
        _HEAD + "\n" + "\n\n".join(_commands(program, program.make_context("dford", [], resilient_parsing=True))) + "\n"
    )


if __name__ == "__main__":
    print(reference(), end="")
