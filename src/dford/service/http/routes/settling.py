"""Settling levels over HTTP."""

from typing import Any

from fastapi import FastAPI

from dford.service.http import people_models as models
from dford.service.http.access import Admin
from dford.service.http.models import Number
from dford.service.projects.projects import require_columns, require_placements
from dford.service.refusal import Refusal
from dford.service.views import contested as views


def add(app: FastAPI) -> None:
    @app.get("/projects/{project}/contested", response_model=models.Contested)
    def contested(to: Admin) -> Any:
        """List the items with the most contradictory answers, and those settled most recently.

        ```
        GET /projects/rain/contested
        → 200
        {"sequence": 1, "stale": false, "contested": [], "settled": []}
        ```

        It may be some seconds old. Answers are weighted by how reliable each person is, so guesses contest nothing.
        """
        service, project = to.service, to.project
        require_columns(project)
        require_placements(project)

        def make() -> dict[str, Any]:
            fold = service.fold(project).near()
            stale = fold.is_stale()  # first, because the state may be replaced at any moment
            still, sequence = fold.look(lambda model, sequence: (model.still(), sequence))
            return views.contested(service.database, project, still, sequence, stale)

        return service.overviews.latest(f"{project.name}/contested", make)

    @app.put("/projects/{project}/settled/{item}")
    def settle(to: Admin, item: Number, body: models.Settle) -> models.Settled:
        """Settle the level of an item, or the lowest and highest it can have.

        ```
        PUT /projects/rain/settled/4
        {"level": "strong"}
        → 200
        {"item": 4, "lowest": "strong", "highest": "strong", "sequence": 2, "person": "root", "at": ...}
        ```

        It stands, whatever the answers say, until an admin settles another level or undoes it. An item whose level is
        settled gets no more questions to place it. Sending the same again changes nothing. The log records who settled
        it and when; what is learned from answers does not change.
        """
        try:
            settled = to.service.settle(to.project, item, *body.bounds(), to.person)
        except Refusal as refused:
            if refused.field == "lowest" and body.level is not None:
                refused.field = "level"
            raise
        return models.Settled(**views.settled_out(to.project, settled))

    @app.delete("/projects/{project}/settled/{item}", status_code=204)
    def unsettle(to: Admin, item: Number) -> None:
        """Undo the settling of an item, so that its answers place it again. The log keeps both.

        ```
        DELETE /projects/rain/settled/4
        → 204
        ```
        """
        to.service.unsettle(to.project, item, to.person)
