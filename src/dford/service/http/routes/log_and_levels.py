"""Files over HTTP: exporting and importing the log, exporting the levels."""

import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response

from dford.service.http import models
from dford.service.http.access import Access, Admin, Repeat
from dford.service.http.routes.items import CSV
from dford.service.learning.learned import Learned
from dford.service.learning.log_reader import head_of
from dford.service.projects import uploads
from dford.service.store import idempotency
from dford.service.views import exports, state
from dford.service.views.worker_views import SMALL

_BINARY = {"schema": {"type": "string", "format": "binary"}}
PARQUET: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/octet-stream": _BINARY}}}


def add(app: FastAPI) -> None:
    csv: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
    parquet: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": _BINARY}}}

    @app.get("/projects/{project}/log.csv", response_class=Response, responses=csv)
    def log_csv(to: Admin) -> Response:
        """Export the answers in order, except those taken back, in the format of `dford tune` and `dford evaluate`.

        Each row has the number of its item, if it is about one, who answered, when, and the id of the answer. The log
        of a pool that several people answered has questions without an alternative, by which those commands cannot
        judge.

        ```
        GET /projects/rain/log.csv
        → 200
        level,prediction,propensity,higher,item,person,time,purpose,id,size,colour=blue,colour=red
        mild,mild,...
        ```
        """
        return Response(_log(to, ".csv"), media_type="text/csv")

    @app.get("/projects/{project}/log.parquet", response_class=Response, responses=parquet)
    def log_parquet(to: Admin) -> Response:
        """Export the same as a Parquet file.

        ```
        GET /projects/rain/log.parquet
        → 200
        ```
        """
        return Response(_log(to, ".parquet"), media_type="application/octet-stream")

    @app.get("/projects/{project}/levels.csv", response_class=Response, responses=csv)
    def levels_csv(to: Admin, final: Annotated[bool, Query()] = False) -> Response:
        """Export every item with its level, probabilities, the range its answers leave, and how many answers it has.

        If the level is settled, `settled_by` says by whom, and `lowest` and `highest` are the settled range. Else they
        are what the item's own answers leave if none of them is wrong: `level` may lie outside.

        The whole file is of one moment: the header `Dford-Sequence` is the sequence number of the last answer,
        retraction or settlement in it, and `Dford-Stale` is `true` if it still includes an answer that was taken back
        since. With `final=true`, it has everything up to now, and is 503 `catching-up` until that is learned.

        ```
        GET /projects/rain/levels.csv
        → 200
        item,size,colour,note,level,P(calm),P(mild),P(strong),P(severe),lowest,highest,answers,settled_by
        1,2.0,red,Monday,...,severe,1,
        ...
        ```
        """
        fold = (to.service.final if final else to.service.latest)(to.project)
        packed, standing = fold.packed(Learned.standing)
        is_large = state.has_large_items(to.service.database, to.project)
        content = to.service.view(is_large, exports.levels_file, to.project, packed, standing)
        headers = {"Dford-Sequence": str(packed.sequence), "Dford-Stale": json.dumps(packed.stale)}
        return Response(content, media_type="text/csv", headers=headers)

    @app.post("/projects/{project}/log.csv", status_code=201, response_model=models.Imported, openapi_extra=CSV)
    def import_csv(to: Admin, repeat: Repeat, new: Annotated[bool, Query()] = False) -> Any:
        """Import the rounds of another log, all or none, and each once.

        The columns item, person and time may be left out, all three together. A round counts for an item of this
        project that has the same number and features; `about_items` says how many do. A round whose id the project has,
        its own or from an earlier import, is not added again, even if it was taken back; `known` says how many there
        are. Without a column id, the same file has the same ids each time. With `?new=true`, all rounds are added.

        ```
        POST /projects/rain/log.csv
        level,prediction,propensity,higher,size,colour=blue,colour=red
        calm,calm,0.5,True,4.0,1,0
        → 201
        {"count": 1, "known": 0, "about_items": 0, "sequence": 4}
        ```
        """
        return _import(to, ".csv", repeat, new)

    @app.post("/projects/{project}/log.parquet", status_code=201, response_model=models.Imported, openapi_extra=PARQUET)
    def import_parquet(to: Admin, repeat: Repeat, new: Annotated[bool, Query()] = False) -> Any:
        """Import the rounds of another log from a Parquet file, all or none, and each once.

        ```
        curl --data-binary @log.parquet -H "Authorization: Bearer …" https://dford.example.org/projects/rain/log.parquet
        ```
        """
        return _import(to, ".parquet", repeat, new)


def _log(to: Access, suffix: str) -> bytes:
    to.service.with_columns(to.project)
    is_large = head_of(to.service.database, to.project.id) > SMALL
    return to.service.view(is_large, exports.log_file, to.project, suffix)


def _import(to: Access, suffix: str, repeat: idempotency.Request | None, are_new: bool) -> Any:
    to.service.with_columns(to.project)
    log = to.service.workers.run(to.project.id, uploads.uploaded_log, to.project, to.body, suffix, to.service.bounds())
    return to.service.add_log(to.project, log, to.person, repeat, are_new)
