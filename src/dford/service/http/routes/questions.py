"""Questions, answers and predictions over HTTP."""

from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Response
from fastapi.responses import JSONResponse

from dford.service.http import bodies, models
from dford.service.http.access import Access, Answering, Reading
from dford.service.http.fast_answers import PATH
from dford.service.http.validation import IDEMPOTENCY_KEY
from dford.service.learning.learned import Learned
from dford.service.projects import answering
from dford.service.projects.answering import RecordedAnswer, SentAnswer
from dford.service.projects.asking import PROGRAM_KEY, QuestionRequest, item_taken, release
from dford.service.projects.items import features
from dford.service.projects.projects import place_of, require_placements
from dford.service.projects.uploads import limit
from dford.service.refusal import Refusal
from dford.service.views import levels as all_levels
from dford.service.views import predictions, state
from dford.service.views.worker_views import SMALL

IdempotencyKey = Annotated[str | None, Header(pattern=IDEMPOTENCY_KEY)]


def add(app: FastAPI) -> None:
    @app.post(
        "/projects/{project}/questions",
        response_model=models.QuestionOut,
        openapi_extra=bodies.described(models.Ask, 1_000_000, required=False),
    )
    def ask(to: Answering, idempotency_key: IdempotencyKey = None) -> Any:
        """Get the next question: about an item that nobody else has right now, or about the features sent.

        ```
        POST /projects/rain/questions
        → 200
        {"number": 1, "item": 2, "turns": 0, "shown": {"size": 5.5, "note": "Tuesday"},
         "level": "mild", "prediction": "mild", "propensity": 0.98..., "expires": ..., "fate": "open"}
        ```

        The same Idempotency-Key gets the same question again. To ask about features that are not an item:

        ```
        POST /projects/rain/questions
        Idempotency-Key: visit-27
        {"features": {"size": 4.5, "colour": "blue"}}
        → 200
        {"number": 2, "item": null, "turns": null, "shown": {"colour": "blue", "size": 4.5}, ...}
        ```

        A program sends `{"program": true}` and never gets audit questions, which are for people.

        `{"item": 3}` asks about that item, or is 409 `item-taken` while a question about it is open. If every item is
        assigned to someone, this is 404 `nothing-to-ask`.
        """
        if idempotency_key is not None and idempotency_key.startswith(PROGRAM_KEY):
            sentence = f"keys that begin with {PROGRAM_KEY} are those of dford label --answer; use another one"
            raise Refusal(422, "invalid", sentence, "Idempotency-Key")
        to.service.with_columns(to.project)
        has_features = b"features" in to.body or b"\\" in to.body  # which could spell it differently
        sent, item, program = to.service.parse(
            to.project, to.body, bodies.to_ask, to.body, bounds=to.bounds(), has_rows=has_features
        )  # fmt: skip
        try:
            asked = to.service.ask(to.project, QuestionRequest(to.person, idempotency_key, sent, item, program))
        except Refusal as refusal:
            # knowing which levels are settled would give gold questions away
            raise item_taken(item) if item and refusal.code == "settled" and not to.admin else refusal from None
        if isinstance(asked, int):
            return state.question(to.service.database, to.project, asked, to.person, to.admin)
        return state.asked(to.project, asked)

    @app.get("/projects/{project}/questions/{number}", response_model=models.QuestionOut)
    def question(to: Answering, number: models.Number) -> Any:
        """Read a question of yours and what happened to it; those of others need the role `admin`.

        ```
        GET /projects/rain/questions/1
        → 200
        {"number": 1, "item": 2, ..., "fate": "open"}
        ```
        """
        return state.question(to.service.database, to.project, number, to.person, to.admin)

    @app.post(PATH, openapi_extra={bodies.MOST_BYTES: 4_096})
    async def tell(to: Answering, number: models.Number, body: models.AnswerIn) -> models.AnswerOut:
        """Answer a question, once: the same answer again gets the first response, the opposite one 409.

        The response is sent once the answer is on disk. A late answer, after `expires`, counts too.

        ```
        POST /projects/rain/questions/1/answer
        {"higher": true}
        → 200
        {"question": 1, "higher": true, "sequence": 1, "at": ...}
        ```

        The person who was asked may answer; answering for someone else needs the role `admin`. `"confidence": 0.8` says
        how sure they are of the answer. Instead of `higher`, `"rating": "strong"` says what the right level is.
        """
        recorded = await to.service.tell(to.project, _sent(to, number, body))
        return models.AnswerOut(**recorded._asdict())

    @app.post(
        "/projects/{project}/answers", response_model=models.Outcomes, openapi_extra=bodies.described(models.Answers)
    )
    def tell_many(to: Answering) -> Response:
        """Answer many questions at once, each as if sent alone. All are on disk when the response is sent.

        ```
        POST /projects/rain/answers
        {"answers": [{"question": 1, "higher": true}, {"question": 1, "higher": false}]}
        → 200
        {"outcomes": [{"question": 1, "status": 200,
         "answer": {"question": 1, "higher": true, "sequence": 1, "at": ...}, "problem": null},
         {"question": 1, "status": 409, "answer": null, "problem": {"code": "answered-otherwise", ...}}]}
        ```

        Each answer is applied exactly once, however often it is sent. A refused one does not stop the others.
        """
        sent = to.service.read(to.project, to.body, bodies.parsed, models.Answers, to.body).answers
        limit(len(sent), "answers", to.service.bounds())
        answers = [_sent(to, one.question, one, f"answers.{i}.") for i, one in enumerate(sent)]
        said = to.service.tell_many(to.project, answers)
        # not validated: checking thousands of our own outcomes takes longer than writing them
        return JSONResponse({"outcomes": [_outcome(*pair) for pair in zip(answers, said, strict=True)]})

    @app.post("/projects/{project}/questions/{number}/skip")
    def skip(to: Answering, number: models.Number) -> models.SkipOut:
        """Skip a question: close it without an answer. Nothing is learned, and its item waits for its next turn.

        ```
        POST /projects/rain/questions/2/skip
        → 200
        {"question": 2}
        ```
        """
        job = partial(answering.skip, project=to.project.id, number=number, person=to.person, anybodys=to.admin)
        to.service.write(to.project, job)
        return models.SkipOut(question=number)

    @app.post("/projects/{project}/release")
    def let_go(to: Answering, body: models.Release) -> models.Released:
        """Release questions of yours, so that others can be asked about their items right away.

        The page does this when it is closed. An answer that arrives anyway still counts.

        ```
        POST /projects/rain/release
        {"questions": [1, 2]}
        → 200
        {"released": 0}
        ```
        """
        job = partial(release, project=to.project.id, numbers=body.questions, person=to.person)
        return models.Released(released=to.service.write(to.project, job))

    @app.post("/projects/{project}/questions/{number}/retract")
    def retract(to: Answering, number: models.Number) -> models.RetractOut:
        """Take an answer back: the learner learns again without it, and its item comes up next again.

        ```
        POST /projects/rain/questions/1/retract
        → 200
        {"question": 1, "sequence": 10}
        ```

        The log keeps both. The question takes no other answer, so ask again. Taking back another person's answer needs
        the role `admin`.
        """
        job = partial(answering.retract, project=to.project.id, number=number, person=to.person, anybodys=to.admin)
        sequence = to.service.write(to.project, job)
        to.service.follow(to.project, sequence)
        return models.RetractOut(question=number, sequence=sequence)

    @app.post(
        "/projects/{project}/predictions",
        response_model=models.Predictions,
        openapi_extra=bodies.described(models.ToPredict),
    )
    def predict(to: Reading) -> Response:
        """Predict the levels of items by number, then of rows, with the latest state.

        ```
        POST /projects/rain/predictions
        {"items": [1], "rows": [{"size": 6.0, "colour": "blue"}]}
        → 200
        {"sequence": 1, "stale": false, "thresholds": [...],
         "predictions": [{"level": ..., "probabilities": {"calm": ...}, "score": ...}, {...}]}
        ```

        Settled levels are shown only to the roles `admin` and `predict`, because people may get gold questions about
        them.
        """
        service, project = to.service, to.project
        fold = service.fold(project).near()
        has_rows = b"rows" in to.body or b"\\" in to.body  # which could spell it differently
        numbers, rows = service.parse(
            project, to.body, bodies.to_predict, to.body, bounds=to.bounds(), has_rows=has_rows
        )  # fmt: skip
        if len(numbers) + len(rows) <= SMALL // 5:  # too few to keep others waiting for the model
            X = [*features(service.database, project, numbers), *rows]
            stale = fold.is_stale()
            content = fold.look(
                lambda model, sequence: predictions.body(
                    model.learner, sequence, stale, project, X, model.place(numbers, not to.is_asked)
                )
            )
        else:
            packed, placed = fold.packed(lambda model: model.place(numbers, not to.is_asked))
            given = project, packed.model, packed.sequence, packed.stale, numbers, rows, placed
            content = service.view(len(numbers) + len(rows) > SMALL, predictions.response, *given)
        return Response(content, media_type="application/json")

    @app.get("/projects/{project}/state", response_model=models.State)
    def read_state(to: Reading, digest: Annotated[bool, Query()] = False) -> Any:
        """Read counts, thresholds, and the error estimated from the answers alone, now and over time.

        ```
        GET /projects/rain/state
        → 200
        {"items": 4, "items_done": 1, "questions": 2, "open": 0, "answers": 1, "retractions": 0, "sequence": 1,
         "learned": 1, "stale": false, "thresholds": ..., "history": ..., "people": {"root": 1}, "digest": null}
        ```
        """
        counts = state.counts(to.service.database, to.project, to.service.people)
        if not to.project.columns:
            return counts | state.NOTHING_LEARNED
        fold = to.service.fold(to.project)
        fold.follow(counts["sequence"], counts["items"])
        return counts | state.learned(fold, digest)

    @app.get("/projects/{project}/levels", response_model=models.Levels)
    def levels(to: Reading) -> Any:
        """Read the number of items at each level, the least certain ones, and the error. It may be some seconds old.

        ```
        GET /projects/rain/levels
        → 200
        {"sequence": 1, "stale": false, "items": 4, "counts": {"calm": ...},
         "unsure": [{"item": ..., "sureness": ...}, ...], "settled": 0, "programs": 0.0, "expected_error": ...,
         "audit": null, "error_rate": ...}
        ```
        """
        service, project = to.service, to.project
        if not project.columns:
            return all_levels.nothing(project)

        def make() -> dict[str, Any]:
            fold = service.fold(project).near()
            packed, standing = fold.packed(Learned.standing)
            is_large = state.has_large_items(service.database, project)
            given = project, packed.model, packed.sequence, packed.stale, standing
            return service.view(is_large, all_levels.overview, *given)

        return service.overviews.latest(f"{project.name}/levels", make)

    @app.get("/projects/{project}/remaining", response_model=models.Remaining)
    def remaining(to: Reading, target: Annotated[float | None, Query(ge=0, le=100)] = None) -> Any:
        """Estimate how many more answers bring the expected error down to a target, or show that it is.

        If not given, the target is the project's. It may be some seconds old.

        ```
        GET /projects/rain/remaining?target=0.5
        → 200
        {"target": 0.5, "expected_error": ..., "answers": {"value": ..., "low": ..., "high": ...}, "certified": null,
         "unchecked": 0.0}
        ```

        If the learner has no probabilities, this is 409 `no-placements`.
        """
        to.service.with_columns(to.project)
        require_placements(to.project)
        latest = to.service.look_up(to.project.name) or to.project  # dford label may have changed its target
        aim, certify = latest.target if target is None else target, to.service.rules(to.project).certify

        def make() -> dict[str, Any]:
            fold = to.service.fold(to.project).near()
            forecast, is_audited = fold.look(lambda model, _: (model.forecast(aim, certify), model.is_audited()))
            assert forecast is not None
            expected, answers, certified, _ = forecast()
            unchecked = all_levels.unchecked(to.service.database, to.project, is_audited)
            return {
                "target": aim,
                "expected_error": expected,
                "answers": answers._asdict(),
                "certified": certified,
                "unchecked": unchecked,
            }

        return to.service.overviews.latest(f"{to.project.name}/remaining/{aim!r}/{certify}", make)


def _sent(to: Access, number: int, said: models.AnswerIn, field: str = "") -> SentAnswer:
    rating = None if said.rating is None else place_of(to.project, said.rating, f"{field}rating")
    return SentAnswer(number, said.higher, to.person, to.admin, said.confidence, rating)


def _outcome(answer: SentAnswer, said: RecordedAnswer | Refusal) -> dict[str, Any]:
    if isinstance(said, Refusal):
        problem = {"code": said.code, "sentence": said.sentence, "field": said.field}
        return {"question": answer.number, "status": said.status, "answer": None, "problem": problem}
    return {"question": answer.number, "status": 200, "answer": said._asdict(), "problem": None}
