"""The service over HTTP."""

from functools import partial
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from dford.service import admin, files, models, pages, reference, reports
from dford.service.access import Access, access, holder, whole_server
from dford.service.core import Service
from dford.service.guard import Guard, refused
from dford.service.keys import Holder
from dford.service.metrics import metrics_text
from dford.service.overview import Overviews
from dford.service.quick import PATH
from dford.service.refusal import Refusal, defect
from dford.service.rounds import Answered, Told, retract, skip

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
        docs_url=None,  # it loads scripts from elsewhere
        redoc_url=None,
    )
    app.state.service, app.state.overviews = service, Overviews(service)
    app.add_middleware(Guard, service=service)
    _add_errors(app)
    _add_rounds(app)
    admin.add(app)
    files.add(app)
    pages.add(app)

    @app.get("/health")
    def health() -> models.Health:
        """Say that the server answers, and its database too.

        ```
        GET /health
        → 200
        {"status": "ok", "version": "..."}
        ```
        """
        service.store.head(0)  # the database answers
        return models.Health(status="ok", version=version)

    @app.get("/me")
    def me(by: Annotated[Holder, Depends(holder)]) -> models.Me:
        """Say whose key this is, and what it opens.

        ```
        GET /me
        → 200
        {"name": "root", "role": "admin", "project": null, "open": false}
        ```
        """
        name = None if by.project is None else service.store.project_name(by.project)
        return models.Me(name=by.name, role=by.role, project=name, open=not service.keys.any())

    text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @app.get("/metrics", response_class=Response, responses=text)
    def metrics(_: Annotated[Service, Depends(whole_server("predict"))]) -> Response:
        """Read counts, in the text format of Prometheus.

        ```
        GET /metrics
        → 200
        ...
        dford_writes_waiting 0
        ...
        ```
        """
        return PlainTextResponse(metrics_text(service))

    reference.add(app)
    return app


def _add_rounds(app: FastAPI) -> None:
    """Questions, answers and predictions."""

    @app.post("/projects/{project}/questions")
    def ask(
        to: Answering, body: Annotated[models.Ask | None, Body()] = None, idempotency_key: IdempotencyKey = None
    ) -> models.QuestionOut:
        """Ask the next question: about an item of the pool that nobody else has before him, or about features sent.

        ```
        POST /projects/rain/questions
        → 200
        {"number": 1, "item": 1, "shown": {"size": 2.0, "colour": "red", "note": "Monday"}, "level": "strong",
         "prediction": "mild", "propensity": 0.13..., "expires": ..., "fate": "open"}
        ```

        With the same Idempotency-Key the same question comes again. About features that are no item:

        ```
        POST /projects/rain/questions
        Idempotency-Key: visit-27
        {"features": {"size": 4.5, "colour": "blue"}}
        → 200
        {"number": 2, "item": null, "shown": {"colour": "blue", "size": 4.5}, ...}
        ```

        `{"item": 3}` asks about that one, if nobody has it before him: 409 `item-taken` otherwise. Where every item is
        before somebody, it is 404 `nothing-to-ask`.
        """
        features, item = (None, None) if body is None else (body.features, body.item)
        asked = to.service.ask(to.project, to.person, idempotency_key, features, item)
        if isinstance(asked, int):
            return reports.question(to.service, to.project, asked)
        return reports.asked(to.project, asked)

    @app.get("/projects/{project}/questions/{number}")
    def question(to: Answering, number: Number) -> models.QuestionOut:
        """Read a question again, and what became of it.

        ```
        GET /projects/rain/questions/1
        → 200
        {"number": 1, "item": 1, ..., "fate": "open"}
        ```
        """
        return reports.question(to.service, to.project, number)

    @app.post(PATH)
    async def tell(to: Answering, number: Number, body: models.AnswerIn) -> models.AnswerOut:
        """Answer a question, once: the same answer again gives the first response, the other one 409.

        The response comes when the answer is on disk. An answer that comes late, after `expires`, counts too.

        ```
        POST /projects/rain/questions/1/answer
        {"higher": true}
        → 200
        {"question": 1, "higher": true, "sequence": 1, "at": ...}
        ```
        """
        told = await to.service.tell(to.project, Told(number, body.higher, to.person))
        return models.AnswerOut(**told._asdict())

    @app.post("/projects/{project}/answers", response_model=models.Outcomes)
    def tell_many(to: Answering, body: models.Answers) -> Response:
        """Answer many questions at once: each as if it had come alone, and all on disk when the response comes.

        ```
        POST /projects/rain/answers
        {"answers": [{"question": 1, "higher": true}, {"question": 1, "higher": false}]}
        → 200
        {"outcomes": [{"question": 1, "status": 200,
         "answer": {"question": 1, "higher": true, "sequence": 1, "at": ...}, "problem": null},
         {"question": 1, "status": 409, "answer": null, "problem": {"code": "answered-otherwise", ...}}]}
        ```

        Sent again, it is done once. One that is refused does not hold up the others.
        """
        to.service.limit(len(body.answers), "answers")
        told = [Told(one.question, one.higher, to.person) for one in body.answers]
        said = to.service.tell_many(to.project, told)
        # as it is: to check thousands of outcomes of our own takes longer than to write them down
        return JSONResponse({"outcomes": [_outcome(*pair) for pair in zip(told, said, strict=True)]})

    @app.post("/projects/{project}/questions/{number}/skip")
    def pass_over(to: Answering, number: Number) -> models.SkipOut:
        """Skip: close a question without an answer. Nothing is learned, and its item waits for its next turn.

        ```
        POST /projects/rain/questions/2/skip
        → 200
        {"question": 2}
        ```
        """
        to.service.write(to.project, lambda connection: skip(connection, to.project.id, number, to.person))
        return models.SkipOut(question=number)

    @app.post("/projects/{project}/questions/{number}/retract")
    def take_back(to: Answering, number: Number) -> models.RetractOut:
        """Take an answer back: the learner learns again without it, and the item is next again.

        ```
        POST /projects/rain/questions/1/retract
        → 200
        {"question": 1, "sequence": 3}
        ```

        The log keeps both. The question takes no other answer: ask again. Another person's answer needs the role
        `admin`.
        """
        job = partial(retract, project=to.project.id, number=number, person=to.person, anybodys=to.admin)
        sequence = to.service.write(to.project, job)
        to.service.follow(to.project, sequence)
        return models.RetractOut(question=number, sequence=sequence)

    @app.post("/projects/{project}/predictions")
    def predict(to: Predicting, body: models.ToPredict) -> models.Predictions:
        """Predict the levels of items by number, then of rows, by the latest state.

        ```
        POST /projects/rain/predictions
        {"items": [1], "rows": [{"size": 6.0, "colour": "blue"}]}
        → 200
        {"sequence": 1, "thresholds": [...],
         "predictions": [{"level": ..., "probabilities": {"calm": ...}, "score": ...}, {...}]}
        ```
        """
        to.service.limit(len(body.items) + len(body.rows), "items")
        fold = to.service.fold(to.project)
        rows = to.service.features(to.project, body.items)
        return reports.predictions(fold, rows + to.service.encoded(to.project, body.rows, "rows"))

    @app.get("/projects/{project}/state")
    def state(to: Predicting, digest: Annotated[bool, Query()] = False) -> models.State:
        """Read counts, thresholds, and the error that the answers alone show, now and over time.

        ```
        GET /projects/rain/state
        → 200
        {"items": 4, "items_done": 1, "questions": 2, "open": 0, "answers": 1, "retractions": 0, "sequence": 1,
         "learned": 1, "thresholds": ..., "history": ..., "people": {"root": 1}, "digest": null}
        ```
        """
        return reports.state(to.service, to.project, digest)

    @app.get("/projects/{project}/levels")
    def levels(to: Predicting) -> models.Levels:
        """Count the items at each level, and show those that the learner is least sure of. It may be some seconds old.

        ```
        GET /projects/rain/levels
        → 200
        {"sequence": 1, "items": 4, "counts": {"calm": ...}, "unsure": [{"item": ..., "sureness": ...}, ...]}
        ```
        """
        found: models.Levels = app.state.overviews.levels(to.project)
        return found


def _outcome(told: Told, said: Answered | Refusal) -> dict[str, Any]:
    if isinstance(said, Refusal):
        problem = {"code": said.code, "sentence": said.sentence, "field": said.field}
        return {"question": told.number, "status": said.status, "answer": None, "problem": problem}
    return {"question": told.number, "status": 200, "answer": said._asdict(), "problem": None}


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
    def unknown(_: Request, error: Exception) -> Response:
        return refused(defect())
