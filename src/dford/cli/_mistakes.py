"""What went wrong with a command, in one sentence."""

from typing import Any

# by pydantic's error type, with its context: newer versions of Typer check values with pydantic
_MUST_BE = {
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge:g}",
    "int_parsing": "a whole number",
    "less_than_equal": "at most {le:g}",
}
_PATHS = {"is a file": "name a folder", "is a directory": "name a file"}


def in_words(mistake: Any) -> str:
    """The sentence for a UsageError of Click or Typer, whose own wording differs by version."""
    kind, message = type(mistake).__name__, str(mistake.message).rstrip(".")
    more = "" if mistake.ctx is None else f"; see {mistake.ctx.command_path} --help"
    if kind == "MissingParameter":
        return f"{_name(mistake)} is missing{more}"
    if kind == "NoSuchOption":
        similar = " or ".join(mistake.possibilities or ())
        return f"there is no option {mistake.option_name}" + (f"; did you mean {similar}?" if similar else more)
    if kind == "BadParameter" and hasattr(mistake.__cause__, "errors"):
        first = mistake.__cause__.errors()[0]
        expected = _MUST_BE.get(first["type"], "another value").format(**first.get("ctx", {}))
        return f"{_name(mistake)} must be {expected}; got {first['input']!r}"
    if kind == "BadParameter":
        for end, advice in _PATHS.items():
            if message.endswith(end):
                message = f"{message.partition(' ')[2]}; {advice}"
        return f"{_name(mistake)}: {message}".removeprefix(": ")
    if kind == "BadOptionUsage":
        return f"{mistake.option_name} {'needs a' if 'requires' in message else 'takes no'} value{more}"
    if message.startswith("Got unexpected extra"):
        return f"there are too many arguments: {message.rpartition('(')[2].rstrip(')')}{more}"
    message = message.replace("No such", "there is no", 1).replace(". Did you", "; did you")
    return message if message.endswith("?") else message + more


def failure_in_words(error: OSError) -> str:
    """The sentence for a file that could not be opened, or anything else the system refused."""
    if error.strerror is None:
        return str(error)
    what = f"cannot open {error.filename}: " if error.filename else ""
    return f"{what}{error.strerror[:1].lower()}{error.strerror[1:]}"


def _name(mistake: Any) -> str:
    if mistake.param_hint or mistake.param is None:
        return str(mistake.param_hint or "")
    option: str = max(mistake.param.opts, key=len)
    return option if option.startswith("-") else str(mistake.param.metavar or option).upper()
