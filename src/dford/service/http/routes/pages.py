"""The page that people see, served from the package."""

import mimetypes
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response

from dford.service.refusal import no_page

FOLDER = Path(__file__).parents[2] / "page"
_FRESH = {"Cache-Control": "no-cache"}  # browsers check for a new version every time


@cache
def _files() -> dict[str, bytes]:
    """All files, in memory: they are few, and served even if no thread is free to read the disk."""
    return {file.name: file.read_bytes() for file in FOLDER.iterdir() if file.is_file()}


def _response(name: str) -> Response:
    content = _files().get(name)
    if content is None:
        raise no_page()
    return Response(content, media_type=mimetypes.guess_type(name)[0], headers=_FRESH)


def add(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return _response("index.html")

    @app.get("/worker.js", include_in_schema=False)
    async def worker() -> Response:
        """At the root, because it serves the whole site when there is no network."""
        return _response("worker.js")

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        return _response(name)
