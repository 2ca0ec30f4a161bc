"""Items over HTTP."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response

from dford.service.core import Service
from dford.service.http import bodies, models
from dford.service.http.access import Access, Admin, Reading, Repeat, Server
from dford.service.http.routes.projects import column_out
from dford.service.projects import uploads
from dford.service.projects.projects import Project
from dford.service.store import idempotency
from dford.service.views import state

_BINARY = {"schema": {"type": "string", "format": "binary"}}
IMAGE: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/octet-stream": _BINARY}}}
_IMAGES: dict[int | str, dict[str, Any]] = {
    200: {"content": {f"image/{kind}": _BINARY for kind in ("png", "jpeg", "webp", "gif")}}
}
CSV: dict[str, Any] = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}


def add(app: FastAPI) -> None:
    @app.post(
        "/projects/{project}/items",
        status_code=201,
        response_model=models.Added,
        openapi_extra=bodies.described(models.Items),
    )
    def add_items(to: Admin, repeat: Repeat) -> Any:
        """Add items, all or none. If columns are not set yet, the first items decide how they are read.

        ```
        POST /projects/rain/items
        {"items": [{"size": 2.0, "colour": "red", "note": "Monday"}, {"size": 5.5, "note": "Tuesday"}]}
        → 201
        {"first": 1, "count": 2, "columns": ["size: a number", ...]}
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
        {"first": 3, "count": 2, "columns": [...]}
        ```
        """
        return _add(to, uploads.csv_items, repeat)

    @app.post("/projects/{project}/images", status_code=201, response_model=models.Added, openapi_extra=IMAGE)
    def add_images(
        to: Admin, repeat: Repeat, name: Annotated[str, Query(min_length=1, max_length=200)] = "image"
    ) -> Any:
        """Add an image as an item, or every image of a ZIP archive, all or none. They are kept beside the database.

        An item has the columns `image`, which is learned from, and `name`, which is shown.

        ```
        curl --data-binary @beach.jpg -H "Authorization: Bearer …" \
            "https://dford.example.org/projects/photos/images?name=beach.jpg"
        ```
        """
        return to.service.add_images(to.project, to.body, name, to.bounds(to.project), to.person, repeat)

    @app.get("/projects/{project}/items/{number}/images/{column}", response_class=Response, responses=_IMAGES)
    def image(to: Reading, number: Annotated[int, Path(ge=1, le=2**31 - 1)], column: str) -> Response:
        """Read the image that an item names in an image column.

        ```
        GET /projects/rain/items/1/images/photo
        → 404
        {"code": "no-image", "sentence": "there is no column of images called 'photo' in this project", ...}
        ```
        """
        content, media = to.service.read_image(to.project, number, column)
        return Response(content, media_type=media, headers={"Cache-Control": "private, max-age=3600"})

    @app.post("/projects/{project}/preview.csv", openapi_extra=CSV)
    def preview(to: Admin) -> models.Preview:
        """Preview how the columns of a CSV file would be read. Nothing is stored.

        ```
        POST /projects/rain/preview.csv
        size,colour,note
        1.5,blue,Wednesday
        → 200
        {"columns": [{"name": "size", "kind": "number", ...}, ...], "rows": [{"size": "1.5", ...}], "count": 1}
        ```
        """
        return _preview(to.service, to.project, to.body, to.bounds(to.project))

    @app.post("/preview.csv", openapi_extra=CSV)
    def preview_new(
        service: Server,
        request: Request,
        level: Annotated[list[str] | None, Query(max_length=100, description="The levels, lowest first.")] = None,
    ) -> models.Preview:
        """Preview how a new project would read the columns of a CSV file. Nothing is stored.

        ```
        POST /preview.csv
        size,colour
        1.5,blue
        2.5,red
        → 200
        {"columns": [{"name": "size", "kind": "number", "mean": 2.0, ...}, {"name": "colour", "kind": "category", ...}],
         "rows": [{"size": "1.5", "colour": "blue"}, ...], "count": 2}
        ```

        With the levels of the project, as in `/preview.csv?level=bad&level=fair&level=good`, columns of ratings on this
        scale are found, too.
        """
        bounds = service.bounds(images=service.image_source(None, is_everywhere=True))
        bounds = bounds._replace(levels=tuple(level or ()))
        return _preview(service, None, request.scope["dford"].body, bounds)

    @app.get("/projects/{project}/items", response_model=list[models.ItemOut])
    def items(
        to: Reading,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """List items by number, starting after a given one.

        There are fewer than `limit` if more would show over a million characters, but at least one. For all items, go
        on after the last one until the list is empty.

        ```
        GET /projects/rain/items?after=1&limit=10
        → 200
        [{"number": 2, "shown": {"size": 5.5, "note": "Tuesday"}, "turns": 0}]
        ```
        """
        content = state.some_items(to.service.database, to.project, after, limit)
        return Response(content, media_type="application/json")


def _add(to: Access, read: Callable[..., Any], repeat: idempotency.Request | None) -> Any:
    ready = to.service.parse(to.project, to.body, read, to.body, bounds=to.bounds(to.project))
    return to.service.add_items(to.project, ready, to.person, repeat)


def _preview(service: Service, project: Project | None, body: bytes, bounds: uploads.Bounds) -> models.Preview:
    seen = service.parse(project, body, uploads.preview_csv, body, bounds=bounds)
    return models.Preview(**{**seen, "columns": [column_out(column) for column in seen["columns"]]})
