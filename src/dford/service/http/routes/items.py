"""Items over HTTP."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request

from dford.service.core import Service
from dford.service.http import bodies, models
from dford.service.http.access import Access, Admin, Reading, Repeat, Server
from dford.service.http.routes.projects import column_out
from dford.service.projects import uploads
from dford.service.projects.columns import Column
from dford.service.store import idempotency
from dford.service.views import state

CSV: dict[str, Any] = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}


def add(app: FastAPI) -> None:
    @app.post(
        "/projects/{project}/items",
        status_code=201,
        response_model=models.Added,
        openapi_extra=bodies.described(models.Items),
    )
    def add_items(to: Admin, repeat: Repeat) -> Any:
        """Add items, all or none. The first ones also say how columns are read, where nobody has.

        ```
        POST /projects/rain/items
        {"items": [{"size": 2.0, "colour": "red", "note": "Monday"}, {"size": 5.5, "note": "Tuesday"}]}
        → 201
        {"first": 1, "count": 2}
        ```
        """
        return _add(to, bodies.json_items, repeat)

    @app.post("/projects/{project}/items.csv", status_code=201, response_model=models.Added, openapi_extra=CSV)
    def add_csv(to: Admin, repeat: Repeat) -> Any:
        """Add the rows of a CSV file as items, all or none.

        ```
        POST /projects/rain/items.csv
        size,colour,note
        1.5,blue,Wednesday
        ,red,"Thursday, size unknown"
        → 201
        {"first": 3, "count": 2}
        ```
        """
        return _add(to, uploads.csv_items, repeat)

    @app.post("/projects/{project}/preview.csv", openapi_extra=CSV)
    def preview(to: Admin) -> models.Preview:
        """Preview a CSV file: how its columns would be read. Nothing is stored.

        ```
        POST /projects/rain/preview.csv
        size,colour,note
        1.5,blue,Wednesday
        → 200
        {"columns": [{"name": "size", "kind": "number", ...}, ...], "rows": [{"size": "1.5", ...}], "count": 1}
        ```
        """
        return _preview(to.service, to.project.columns, to.body)

    @app.post("/preview.csv", openapi_extra=CSV)
    def preview_new(service: Server, request: Request) -> models.Preview:
        """Preview a CSV file in a new project: how its columns would be read. Nothing is stored.

        ```
        POST /preview.csv
        size,colour
        1.5,blue
        2.5,red
        → 200
        {"columns": [{"name": "size", "kind": "number", "mean": 2.0, ...}, {"name": "colour", "kind": "category", ...}],
         "rows": [{"size": "1.5", "colour": "blue"}, ...], "count": 2}
        ```
        """
        return _preview(service, [], request.scope["dford"].body)

    @app.get("/projects/{project}/items", response_model=list[models.ItemOut])
    def items(
        to: Reading,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Any:
        """List items by number, those after one.

        ```
        GET /projects/rain/items?after=1&limit=10
        → 200
        [{"number": 2, "shown": {"size": 5.5, "note": "Tuesday"}, "turns": 0}]
        ```
        """
        return state.some_items(to.service.database, to.project, after, limit)


def _add(to: Access, read: Callable[..., Any], repeat: idempotency.Request | None) -> Any:
    ready = to.service.parse(to.body, read, to.project.columns, to.body, to.service.bounds())
    return to.service.add_items(to.project, ready, repeat)


def _preview(service: Service, columns: Sequence[Column], body: bytes) -> models.Preview:
    seen = service.parse(body, uploads.preview_csv, columns, body, service.bounds())
    return models.Preview(**{**seen, "columns": [column_out(column) for column in seen["columns"]]})
