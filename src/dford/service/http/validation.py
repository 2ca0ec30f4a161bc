"""What is wrong with a request, in one sentence."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dford.service.projects.projects import NAME
from dford.service.refusal import Refusal

IDEMPOTENCY_KEY = r"^[!-~]{1,200}$"
_FORMS = {
    f"^{NAME}$": "1 to 64 lowercase letters, digits or hyphens, starting with a letter or digit",
    IDEMPOTENCY_KEY: "1 to 200 visible ASCII characters",
}
# by pydantic's error type, with its context
_MUST_BE = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than_equal": "at least {ge}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_attributes_type": "a JSON object",
    "model_type": "a JSON object",
    "string_pattern_mismatch": "{form}",
    "string_too_long": "{max_length} or fewer characters long",
    "string_too_short": "{min_length} or more characters long",
    "string_type": "a string",
    "too_long": "a list of {max_length} or fewer",
    "too_short": "a list of {min_length} or more",
    "value_of_item": "a string, a number, true, false or null",
}


def invalid(errors: Sequence[Any]) -> Refusal:
    """The refusal of a request with these errors, as pydantic lists them. It describes the first one."""
    place, sentence = in_words(errors)
    return Refusal(422, "invalid", sentence, place or "body")


def in_words(errors: Sequence[Any]) -> tuple[str, str]:
    """The field that is wrong (empty for the whole body), and what is wrong with it."""
    first = errors[0]
    kind, path, context = first["type"], first["loc"], first.get("ctx", {})
    if kind == "json_invalid":
        where = f" (character {path[-1]})" if path else ""  # the reason does not always say
        return "", f"the body is not valid JSON: {context['error']}{where}"
    place = _place(path)
    what = place or "the body"
    if kind == "missing":
        return place, f"{what} is missing; send it"
    if kind == "extra_forbidden":
        return place, f"{what} is not a known field; leave it out, or check how it is spelled"
    if kind == "value_error":
        return place, f"{place}: {context['error']}" if place else str(context["error"])
    form = _FORMS.get(context.get("pattern", ""), "of another form")
    expected = _MUST_BE.get(kind, "as the HTTP reference says").format(**context, form=form)
    if not place:
        expected += ", sent as application/json"
    return place, _printable(f"{what} must be {expected}; got {context.get('actual_length', _short(first['input']))}")


def _place(path: Sequence[Any]) -> str:
    return _printable(".".join(str(part) for part in path if part != "body"))


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, bytes):
        value = value[:80].decode(errors="replace")
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value[:80] if isinstance(value, str) else value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()
