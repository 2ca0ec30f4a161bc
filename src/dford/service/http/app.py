"""The service over HTTP."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from dford.service.core import Service
from dford.service.http import models, reference, validation
from dford.service.http.access import holder, whole_server
from dford.service.http.concurrency import ConcurrencyLimits
from dford.service.http.connections import Connections
from dford.service.http.fast_answers import FastAnswers
from dford.service.http.guard import Guard, refused
from dford.service.http.incoming import BodyMemory
from dford.service.http.metrics import Metrics
from dford.service.http.needs import RouteNeeds
from dford.service.http.routes import items, keys, log_and_levels, pages, people, projects, questions, ratings, settling
from dford.service.learning.log_reader import head_of
from dford.service.projects.keys import Holder
from dford.service.projects.projects import name_of
from dford.service.refusal import Refusal, defect, no_page

# The model is named once: FastAPI would build a validator for each status of each route, which would slow the start.
_PROBLEM = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": models.Problem},
    **dict.fromkeys((401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 503), _PROBLEM),
}


def make_app(service: Service, version: str, connections: Connections) -> FastAPI:
    """The application; the caller closes the service.

    A request passes the guard first, then the shortcut of fast answers, then the limits on concurrency.
    """
    app = FastAPI(
        title="dford",
        version=version,
        description="Put things on an ordered scale by asking one yes/no question at a time.",
        responses=PROBLEMS,
        openapi_url=None,  # would be written again for each request
        docs_url=None,  # would load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # would redirect away from a proxy's https
    )
    app.state.service, app.state.metrics = service, Metrics(service)
    app.add_middleware(ConcurrencyLimits, settings=service.settings)
    app.add_middleware(FastAnswers, service=service)
    largest = service.settings.body_bytes
    app.state.body_memory = BodyMemory(largest)
    needs = RouteNeeds(app.router.routes, largest)
    guarded = {"connections": connections, "metrics": app.state.metrics, "needs": needs}
    app.add_middleware(Guard, service=service, memory=app.state.body_memory, **guarded)
    _add_errors(app)
    app.router.routes.extend(_routes_of_projects())
    answers = _probe(service)

    @app.get("/health")
    async def health() -> models.Health:
        """Check that the server and its database respond; 503 `not-read`, without delay, if the database does not.

        ```
        GET /health
        → 200
        {"status": "ok", "version": "..."}
        ```
        """
        await answers()
        return models.Health(status="ok", version=version)

    @app.get("/me")
    def me(by: Annotated[Holder, Depends(holder)]) -> models.Me:
        """Read whose key this is and what it allows.

        ```
        GET /me
        → 200
        {"name": "root", "role": "admin", "project": null, "open": false}
        ```
        """
        name = None if by.project is None else name_of(service.database, by.project)
        return models.Me(name=by.name, role=by.role, project=name, open=not service.keys.exist())

    text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @app.get("/metrics", response_class=Response, responses=text)
    def metrics(_: Annotated[Service, Depends(whole_server("predict"))]) -> Response:
        """Read request counts and durations, in the text format of Prometheus.

        ```
        GET /metrics
        → 200
        ...
        dford_snapshots_failed_total{project="rain"} 0.0
        ...
        ```
        """
        return Response(app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    reference.add(app)
    return app


@cache
def _routes_of_projects() -> list[BaseRoute]:
    """They are made once, as they take the service from the request: a second application starts faster."""
    made = FastAPI(responses=PROBLEMS, openapi_url=None, docs_url=None, redoc_url=None)
    made.router.route_class = _TextRoute
    for part in (projects, items, questions, ratings, people, settling, keys, log_and_levels, pages):
        part.add(made)
    return made.router.routes


class _TextRoute(APIRoute):
    """A route that refuses half a surrogate pair, which could be stored but not sent again, anywhere in its JSON.

    Routes that parse their own body use a parser that refuses it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_text(request: Request) -> Response:
            try:
                body = await request.body()
                if not body.isascii() or b"\\u" in body or b"\0" in body:  # escaped, as bytes, or in UTF-16
                    json.dumps(await request.json(), ensure_ascii=False).encode()
            except UnicodeEncodeError:
                sentence = "the body has half of a surrogate pair, which is not a character; leave it out"
                raise Refusal(422, "invalid", sentence, "body") from None
            except (ValueError, RecursionError):
                pass  # not JSON, as the route itself will say
            return await handle(request)

        return handle_text


def _probe(service: Service) -> Callable[[], Awaitable[None]]:
    """Checks within a second whether the database responds; requests at the same time share one look at it."""
    looking: asyncio.Future[int] | None = None
    thread = ThreadPoolExecutor(1, "dford-health")

    async def answers() -> None:
        nonlocal looking
        if looking is None or looking.done():
            looking = asyncio.get_running_loop().run_in_executor(thread, head_of, service.database, 0)
        try:
            await asyncio.wait_for(asyncio.shield(looking), timeout=1.0)
        except TimeoutError:
            raise Refusal(
                503, "not-read", "the database does not respond; try again in a few seconds", retry_after=5
            ) from None

    return answers


def _add_errors(app: FastAPI) -> None:
    """Give all errors the same shape."""

    @app.exception_handler(Refusal)
    def refusal(_: Request, error: Refusal) -> Response:
        return refused(error)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        return refused(validation.invalid(error.errors()))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        sentences = {  # instead of the framework's own
            400: "the request cannot be read; send JSON in UTF-8",
            404: no_page().sentence,
            405: f"this path does not take {request.method}; see the HTTP reference at /docs",
        }
        sentence = sentences.get(error.status_code, str(error.detail))
        response = refused(Refusal(error.status_code, f"http-{error.status_code}", sentence))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    def unknown(_: Request, error: Exception) -> Response:
        return refused(defect())
