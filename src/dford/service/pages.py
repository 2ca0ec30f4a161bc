"""The page that people see, served from the package."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "page"


class _Fresh(StaticFiles):
    """Files that a browser asks about again each time, so that a new version is a new page."""

    def file_response(self, *arguments: Any, **named: Any) -> Response:
        response = super().file_response(*arguments, **named)
        response.headers["Cache-Control"] = "no-cache"
        return response


def add(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(FOLDER / "index.html", headers={"Cache-Control": "no-cache"})

    @app.get("/worker.js", include_in_schema=False)
    def worker() -> FileResponse:
        """At the top, as it serves the whole site where there is no network."""
        return FileResponse(FOLDER / "worker.js", headers={"Cache-Control": "no-cache"})

    app.mount("/page", _Fresh(directory=FOLDER))
