"""Bodies that may be large: read in threads and processes, not in the loop that serves everyone."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dford.columns import Column
from dford.service.http import models
from dford.service.http.validation import invalid
from dford.service.projects.columns import PackedRow, check_lacking, encode
from dford.service.projects.uploads import Bounds, ReadyItems, limit, ready_items

M = TypeVar("M", bound=BaseModel)


def described(model: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI says about a body that a route parses itself."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})
    content = {"application/json": {"schema": _whole(schema, parts)}}
    return {"requestBody": {"required": True, "content": content}}


def _whole(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_whole(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _whole(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _whole(value, parts) for key, value in schema.items()}


def parsed(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error.errors()) from None


def json_items(columns: Sequence[Column], body: bytes, bounds: Bounds) -> ReadyItems:
    sent = parsed(models.Items, body)
    kinds = {name: order or "category" for name, order in sent.categories.items()}
    return ready_items(columns, sent.items, "items", bounds, kinds)


def to_predict(
    columns: Sequence[Column], body: bytes, bounds: Bounds
) -> tuple[list[int], list[PackedRow]]:  # fmt: skip
    """The numbers of items, and rows as the learner sees them."""
    wanted = parsed(models.ToPredict, body)
    limit(len(wanted.items) + len(wanted.rows), "items", bounds)
    rows = encode(columns, wanted.rows, "rows", bounds.images.reader())
    check_lacking(columns, wanted.rows, "rows")
    return wanted.items, rows
