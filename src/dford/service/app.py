"""The service over HTTP."""

from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException

from dford.service import admin, models, pages, quick, reports
from dford.service.access import Access, access, holder, whole_server
from dford.service.core import Service
from dford.service.guard import Guard, refused
from dford.service.keys import Holder
from dford.service.metrics import metrics_text
from dford.service.overview import Overviews
from dford.service.refusal import Refusal
from dford.service.rounds import retract, skip

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": models.Problem} for status in (400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 503)
}
IdempotencyKey = Annotated[str | None, Header(pattern=r"^[!-~]{1,200}$")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Answering = Annotated[Access, Depends(access("answer"))]
Predicting = Annotated[Access, Depends(access("predict"))]


def make_app(service: Service, version: str) -> FastAPI:
    """The application; closing the service is the caller's part."""
    app = FastAPI(
        title="dford",
        version=version,
        description="Put things on an ordered scale by asking one yes/no question about each.",
        responses=PROBLEMS,
    )
    app.state.service, app.state.overviews = service, Overviews(service)
    guards: list[Guard] = []

    def guard(inner: Any) -> Guard:
        guards.append(Guard(inner, service))
        return guards[-1]

    app.add_middleware(guard)
    _add_errors(app)
    _add_rounds(app)
    admin.add(app)
    pages.add(app)

    @app.get("/health")
    def health() -> models.Health:
        service.store.head(0)  # the database answers
        return models.Health(status="ok", version=version)

    @app.get("/me")
    def me(by: Annotated[Holder, Depends(holder)]) -> models.Me:
        """Whose key this is, and what it opens."""
        name = None if by.project is None else service.store.project_name(by.project)
        return models.Me(name=by.name, role=by.role, project=name, open=not service.keys.any())

    text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @app.get("/metrics", response_class=Response, responses=text)
    def metrics(_: Annotated[Service, Depends(whole_server)]) -> Response:
        """Counts for Prometheus."""
        return PlainTextResponse(metrics_text(service, guards[-1]))

    return app


def _add_rounds(app: FastAPI) -> None:
    """Questions, answers and predictions."""

    @app.post("/projects/{project}/questions")
    def ask(
        to: Answering, body: Annotated[models.Ask | None, Body()] = None, idempotency_key: IdempotencyKey = None
    ) -> models.QuestionOut:
        """The next question: about an item of the pool that nobody else has before him, the next one or one by number;
        or about features sent along.

        With the same Idempotency-Key the same question comes again.
        """
        features, item = (None, None) if body is None else (body.features, body.item)
        number = to.service.ask(to.project, to.person, idempotency_key, features, item)
        return reports.question(to.service, to.project, number)

    @app.get("/projects/{project}/questions/{number}")
    def question(to: Answering, number: Number) -> models.QuestionOut:
        return reports.question(to.service, to.project, number)

    @app.post(quick.PATH)
    async def tell(to: Answering, number: Number, body: models.AnswerIn) -> models.AnswerOut:
        """Answer a question, once: the same answer again gives the first response, the other one 409.

        The response comes when the answer is on disk.
        """
        told = await to.service.tell(to.project, number, body.higher, to.person)
        return models.AnswerOut(**told._asdict())

    @app.post("/projects/{project}/questions/{number}/skip")
    def pass_over(to: Answering, number: Number) -> models.SkipOut:
        """Close a question without an answer."""
        to.service.write(to.project, lambda connection: skip(connection, to.project.id, number, to.person))
        return models.SkipOut(question=number)

    @app.post("/projects/{project}/questions/{number}/retract")
    def take_back(to: Answering, number: Number) -> models.RetractOut:
        """Take an answer back: the learner learns again without it, and the item is next again."""
        job = lambda connection: retract(connection, to.project.id, number, to.person)  # noqa: E731
        sequence = to.service.write(to.project, job)
        to.service.follow(to.project, sequence)
        return models.RetractOut(question=number, sequence=sequence)

    @app.post("/projects/{project}/predictions")
    def predict(to: Predicting, body: models.ToPredict) -> models.Predictions:
        """The levels of items by number, then of rows, by the latest state."""
        to.service.limit(len(body.items) + len(body.rows), "items")
        fold = to.service.fold(to.project)
        rows = to.service.features(to.project, body.items)
        return reports.predictions(fold, rows + to.service.encoded(to.project, body.rows, "rows"))

    @app.get("/projects/{project}/state")
    def state(to: Predicting, digest: Annotated[bool, Query()] = False) -> models.State:
        """Counts, thresholds, and the error that the answers alone show, now and over time."""
        return reports.state(to.service, to.project, digest)

    @app.get("/projects/{project}/levels")
    def levels(to: Predicting) -> models.Levels:
        """How many items are at each level, and which the learner is least sure of. It may be some seconds old."""
        found: models.Levels = app.state.overviews.levels(to.project)
        return found


def _add_errors(app: FastAPI) -> None:
    """Everything that goes wrong has one shape."""

    @app.exception_handler(Refusal)
    def refusal(_: Request, error: Refusal) -> Response:
        return refused(error)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        sentence = f"{place or 'the body'}: {first['msg']}".encode(errors="replace").decode()
        return refused(Refusal(422, "invalid", sentence, place.encode(errors="replace").decode() or "body"))

    @app.exception_handler(HTTPException)
    def other(_: Request, error: HTTPException) -> Response:
        response = refused(Refusal(error.status_code, f"http-{error.status_code}", str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    def defect(_: Request, error: Exception) -> Response:
        return refused(Refusal(500, "defect", "something is wrong with the server; its log says what"))
