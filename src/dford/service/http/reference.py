"""The whole HTTP reference, from the OpenAPI document: as a page, and as Markdown for the docs.

The document becomes blocks once, and the blocks are written in both forms.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from dford.document import Block, Entries, Heading, Paragraph, id_of, page, prose
from dford.service.http.bodies import MOST_BYTES
from dford.service.refusal import CODES

Schema = Mapping[str, Any]

_ABOUT = """
Bodies are JSON in UTF-8 unless stated otherwise. Times are seconds since 1970, UTC. Items and questions are numbered
from 1 in each project. Its answers, retractions and settlements share one `sequence`, also from 1 and without gaps.
The values of an item are strings, numbers, booleans or null.

`{project}` in a path is the name of a project. This page is generated from `/openapi.json`.
"""
_ROLES = """
A server without keys serves only its own machine, and needs no key. Once it has a first key, every request needs a key
with the role that each operation names:

```
Authorization: Bearer 4f0c2a91b6d3.…
```

A key is for all projects (`dford key anna` makes one) or for one of them. Each role includes the ones before it.
"""
_ROLE_ENTRIES = [
    ("`predict`", "reads the state, items and predictions of a project; a key for all projects also reads metrics."),
    ("`answer`", "gets questions, answers, skips and retracts. The name of the key is the person who answered."),
    ("`admin`", "sets up columns, items, keys and files; a key for all projects also lists and creates projects."),
]
_AGAIN = """
If the connection breaks, you cannot know whether a request was done. Send it again:

Every request that adds something (projects, items, questions, keys and imported logs) takes the header
`Idempotency-Key`: 1 to 200 visible characters, new for each request. In one project, the same person and key get the
first response again, for at least thirty days (for questions, forever), and nothing is added twice. Repeating a request
for a new access key returns the same key with a new secret, because the first may have been lost with the response. The
same `Idempotency-Key` with a different request is refused with 409 `key-reused`.

Everything else is safe to repeat. The same answer gets the first response, the opposite one 409. Repeating a skip, a
retraction, a release, columns, a settled level or the revoking of a key changes nothing.

After 408, 429 and 503 nothing was done, unless the sentence says that this is unknown, and the same request may
succeed later; the header `Retry-After` of 429 and 503 says in how many seconds.
"""
_ERRORS = """
Every response with a status of 400 or above has the same shape, except that a request that is not HTTP gets plain text:

```
{"code": "no-project", "sentence": "there is no project 'snow'", "field": "project"}
```
"""
_OTHER_CODES = """
In addition, `http-405` means that the path does not take the method, and `http-400` that the request cannot be read.
"""
# the part of a path after the project, or the first part, in the order in which they are needed
_GROUPS = {
    "Projects": {"", "columns", "settings"},
    "Items": {"items", "items.csv", "images", "preview.csv"},
    "Questions and answers": {"questions", "answers", "release"},
    "Predictions and state": {"predictions", "state", "levels", "remaining"},
    "People": {"people", "contested", "settled"},
    "Keys": {"keys"},
    "Files": {"log.csv", "log.parquet", "levels.csv"},
    "Ratings": {"ratings", "ratings.csv"},
}
_SERVER = "The server"
_HEAD = '<link rel="icon" href="/page/icon.svg">\n<link rel="stylesheet" href="/page/reference.css">'
_METHODS = ("post", "put", "get", "delete")


def add(app: FastAPI) -> None:
    """Serve the page; call it after everything else is added."""
    for route in app.routes:
        if isinstance(route, APIRoute):  # a docstring's first line says more than the function's name
            route.summary = inspect.cleandoc(route.endpoint.__doc__ or "").partition("\n")[0]

    @cache
    def document() -> bytes:
        return json.dumps(app.openapi(), ensure_ascii=False).encode()

    @cache
    def html() -> str:
        title = f"{app.title} {app.version}: HTTP reference"
        return page(list(reference(app.openapi())), title, _HEAD, contents=True)

    @app.get("/openapi.json", include_in_schema=False)
    def openapi() -> Response:
        return Response(document(), media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(html())


def reference(document: Schema) -> Iterator[Block]:
    """The whole reference, in order."""
    groups = _grouped(document)
    common = set.intersection(*(_refusals(one) for group in groups.values() for _, _, one in group))
    yield Heading(1, "HTTP reference")
    yield from prose(document["info"].get("description", "") + "\n\n" + _ABOUT)
    yield Heading(2, "Keys and roles", "roles")
    yield from prose(_ROLES)
    yield Entries(_ROLE_ENTRIES)
    yield Heading(2, "Sending a request again", "again")
    yield from prose(_AGAIN)
    yield Heading(2, "Errors", "errors")
    yield from prose(_ERRORS)
    yield Entries(_fields(document, {"$ref": "#/components/schemas/Problem"}, given=False))
    yield Paragraph(f"Any operation may respond with {', '.join(sorted(common))}. The codes are:")
    yield Entries([(f"`{status}` `{code}`", meaning) for (status, code), meaning in CODES.items()])
    yield from prose(_OTHER_CODES)
    for title, operations in groups.items():
        yield Heading(2, title, id_of(title))
        for method, path, one in operations:
            yield from _operation(document, method, path, one, common)
    yield Heading(2, "Objects", "objects")
    yield Paragraph("The objects that the fields above contain.")
    for name in _nested(document):
        schema = document["components"]["schemas"][name]
        yield Heading(3, name, id_of(name))
        yield from prose(schema.get("description", ""))
        yield Entries(_fields(document, schema, given=False))


def _grouped(document: Schema) -> dict[str, list[tuple[str, str, Schema]]]:
    groups: dict[str, list[tuple[str, str, Schema]]] = {title: [] for title in (*_GROUPS, _SERVER)}
    for path, methods in document["paths"].items():
        about = re.sub(r"^/(projects(/{project})?/?)?", "", path).partition("/")[0]
        title = next((title for title, group in _GROUPS.items() if about in group), _SERVER)
        groups[title] += [(method.upper(), path, methods[method]) for method in _METHODS if method in methods]
    return groups


def _operation(document: Schema, method: str, path: str, one: Schema, common: set[str]) -> Iterator[Block]:
    yield Heading(3, f"`{method} {path}`", id_of(f"{method} {path}"))
    first, *rest = prose(one.get("description", one["summary"]))
    yield first
    roles = [role for way in one.get("security", ()) for role in way["key"] or ["any"]]
    where = "" if "{project}" in path or roles in ([], ["any"]) else ", with a key for all projects"
    yield Paragraph("Role: " + (", ".join(f"`{role}`" for role in roles) or "none") + where + ".")
    yield from rest
    if parameters := [each for each in one.get("parameters", ()) if (each["in"], each["name"]) != ("path", "project")]:
        yield Heading(4, "Parameters")
        yield Entries(
            [_entry(p["name"], p["schema"], p["required"] and p["in"] != "path", p["in"]) for p in parameters]
        )
    if "requestBody" in one:
        yield from _content(document, "Body", one["requestBody"]["content"], given=True)
        optional = [] if one["requestBody"].get("required") else ["Optional."]
        most = [f"At most {one[MOST_BYTES]:,} bytes."] if MOST_BYTES in one else []
        if said := " ".join(optional + most):
            yield Paragraph(said)
    done = next(status for status in one["responses"] if status < "400")
    yield from _content(document, f"Response {done}", one["responses"][done].get("content", {}), given=False)
    if others := sorted(_refusals(one) - common):
        yield Paragraph(f"Also responds with {', '.join(others)}.")


def _content(document: Schema, title: str, content: Schema, given: bool) -> Iterator[Block]:
    empty: tuple[str, Schema] = "", {}
    media, schema = next(((media, body["schema"]) for media, body in content.items()), empty)
    yield Heading(4, title)
    if schema.get("type") == "array":
        yield Paragraph("A list of objects with:")
        schema = schema["items"]
    if fields := _fields(document, schema, given):
        yield Entries(fields)
    else:
        yield Paragraph(f"`{media}`." if media else "Empty.")


def _fields(document: Schema, schema: Schema, given: bool) -> list[tuple[str, str]]:
    """The fields of an object; with `given`, also which of them are required."""
    schema = document["components"]["schemas"][_name(schema)] if "$ref" in schema else schema
    needed = schema.get("required", ())
    return [
        _entry(name, each, (name in needed) if given else None) for name, each in schema.get("properties", {}).items()
    ]


def _entry(name: str, schema: Schema, needed: bool | None, where: str = "") -> tuple[str, str]:
    parts = [_kind(schema) + (where and f" in the {where}"), *_limits(schema), *(["required"] if needed else [])]
    return f"`{name}`", f"{', '.join(parts)}. {schema.get('description', '')}".strip()


def _kind(schema: Schema) -> str:
    if "$ref" in schema:
        return f"[{_name(schema)}](#{id_of(_name(schema))})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return " or ".join(f'`"{value}"`' for value in values)
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        values = schema["additionalProperties"]
        return "object of values by name" if "anyOf" in values else f"object of {values['type']} by name"
    return str(schema.get("type", "anything"))


_WORDS = {
    "minimum": "from {}",
    "maximum": "up to {}",
    "exclusiveMaximum": "below {}",
    "minLength": "{} or more characters",
    "maxLength": "{} or fewer characters",
    "minItems": "{} or more entries",
    "maxItems": "{} or fewer entries",
    "pattern": "of the form `{}`",
    "default": "`{}` if not given",
}


def _limits(schema: Schema) -> Iterator[str]:
    for key, words in _WORDS.items():
        if (value := schema.get(key)) is not None:
            short = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
            yield words.format(short if key == "pattern" else json.dumps(short))
    for way in schema.get("anyOf", ()):
        yield from _limits(way)


def _refusals(one: Schema) -> set[str]:
    return {status for status in one["responses"] if status >= "400"}


def _nested(document: Schema) -> list[str]:
    """The names of the objects that fields contain."""
    fields = [each for schema in document["components"]["schemas"].values() for each in schema["properties"].values()]
    return sorted(set(re.findall(r"schemas/(\w+)", str(fields))))


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
