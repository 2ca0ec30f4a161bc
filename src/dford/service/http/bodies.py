"""Bodies that may be large: read in threads and processes, not in the loop that serves everyone."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from dford.columns import Column
from dford.service.http import models
from dford.service.http.validation import invalid
from dford.service.projects.columns import PackedRow, check_lacking, encode
from dford.service.projects.uploads import Bounds, ReadyItems, limit, ready_items, sent_features
from dford.service.refusal import Refusal

M = TypeVar("M", bound=BaseModel)
MOST_BYTES = "x-most-bytes"
"""What OpenAPI says of the largest body of an operation, if it is not the server's largest."""
_MOST_MISTAKES = 2_000  # that are listed to describe the first one


def described(model: type[BaseModel], most: int | None = None, required: bool = True) -> dict[str, Any]:
    """What OpenAPI says about a body that a route parses itself, of at most so many bytes."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})
    content = {"application/json": {"schema": _whole(schema, parts)}}
    limit = {} if most is None else {MOST_BYTES: most}
    return {"requestBody": {"required": required, "content": content}, **limit}


def _whole(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_whole(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and schema["$ref"].endswith("/Column"):  # which is in the document, as responses have it
        return {"$ref": "#/components/schemas/Column"}
    if "$ref" in schema:
        return _whole(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _whole(value, parts) for key, value in schema.items()}


def parsed(model: type[M], body: bytes) -> M:
    if not body:
        raise Refusal(422, "invalid", "the body is missing; send it", "body")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if (count := error.error_count()) > _MOST_MISTAKES:  # listing them would take longer than finding them
            sentence = f"the body has {count:,} mistakes; compare it with the HTTP reference at /docs"
            raise Refusal(422, "invalid", sentence, "body") from None
        raise invalid(error.errors(include_url=False)) from None


def json_items(columns: Sequence[Column], body: bytes, bounds: Bounds) -> ReadyItems:
    sent = parsed(models.Items, body)
    kinds = {name: order or "category" for name, order in sent.categories.items()}
    return ready_items(columns, sent.items, "items", bounds, kinds)


class Asking(NamedTuple):
    """What a request for a question is about."""

    sent: tuple[str, PackedRow] | None = None
    item: int | None = None
    program: bool = False


def to_ask(columns: Sequence[Column], body: bytes, bounds: Bounds) -> Asking:
    if body.strip() in {b"", b"null"}:
        return Asking()
    wanted = parsed(models.Ask, body)
    sent = None if wanted.features is None else sent_features(columns, wanted.features, bounds)
    return Asking(sent, wanted.item, wanted.program)


def to_predict(
    columns: Sequence[Column], body: bytes, bounds: Bounds
) -> tuple[list[int], list[PackedRow]]:  # fmt: skip
    """The numbers of items, and rows as the learner sees them."""
    wanted = parsed(models.ToPredict, body)
    limit(len(wanted.items) + len(wanted.rows), "items", bounds)
    rows = encode(columns, wanted.rows, "rows", bounds.reader)
    check_lacking(columns, wanted.rows, "rows")
    return wanted.items, rows
