"""People over HTTP: what their answers say about them."""

from typing import Any

from fastapi import FastAPI

from dford.service.http import people_models as models
from dford.service.http.access import Access, Admin, Answering
from dford.service.projects.projects import require_columns, require_placements
from dford.service.refusal import Refusal
from dford.service.views.figures import figures


def add(app: FastAPI) -> None:
    @app.get("/projects/{project}/people", response_model=models.People)
    def people(to: Admin) -> Any:
        """Read what the answers say about each person. It takes a while to compute, so it may be a minute old.

        ```
        GET /projects/rain/people
        → 200
        {"sequence": 1, "stale": false, "people": [{"name": "root", "answers": 1, "seconds_per_answer": null,
         "latest": ..., "judged": 0, "error_rate": {"value": ..., "low": ..., "high": ...}, "strictness": {...},
         "agreement": null, "gold": null, "flag": null}]}
        ```

        Error rate and strictness are based on the `judged` answers: those to audit questions, to repeated questions,
        and about settled items. With few of them, the figures are those of a typical person and the intervals are wide.
        If the learner has no probabilities, this is 409 `no-placements`.
        """
        require_columns(to.project)
        require_placements(to.project)
        return _figures(to)

    @app.get("/projects/{project}/people/mine", response_model=models.Mine)
    def mine(to: Answering) -> Any:
        """Read what your answers say about you, if the project shows it. It may be a minute old.

        ```
        GET /projects/rain/people/mine
        → 403
        {"code": "not-shown", "sentence": "this project does not show people their own figures", ...}
        ```

        `figures` is null if you have not answered yet.
        """
        require_columns(to.project)
        require_placements(to.project)
        if not to.service.rules(to.project).own_figures:
            raise Refusal(403, "not-shown", "this project does not show people their own figures", "project")
        found = _figures(to)
        own = next((one for one in found["people"] if one["name"] == to.person), None)
        return {"sequence": found["sequence"], "stale": found["stale"], "figures": own}


def _figures(to: Access) -> dict[str, Any]:
    service, project = to.service, to.project

    def make() -> dict[str, Any]:
        fold = service.fold(project).near()
        stale = fold.is_stale()  # first, because the state may be replaced at any moment
        still, sequence = fold.look(lambda model, sequence: (model.still(), sequence))
        return figures(service.database, project, still.read_people(), sequence, stale)

    return service.overviews.latest(f"{project.name}/people", make)
