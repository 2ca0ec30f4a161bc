"""Files over HTTP: the log out and in, the levels out."""

from typing import Annotated, Any

from fastapi import Body, FastAPI, Response

from dford.service import exports, models
from dford.service.admin import Admin, Csv

Binary = Annotated[bytes, Body(media_type="application/octet-stream")]


def add(app: FastAPI) -> None:
    csv: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
    binary = {"schema": {"type": "string", "format": "binary"}}
    parquet: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": binary}}}

    @app.get("/projects/{project}/log.csv", response_class=Response, responses=csv)
    def log_csv(to: Admin) -> Response:
        """Export the answers in order, without those taken back, as `dford tune` and `dford evaluate` read them.

        ```
        GET /projects/rain/log.csv
        → 200
        level,prediction,propensity,higher,size,colour=blue,colour=red
        strong,mild,...
        ```
        """
        return Response(exports.log_file(to.service, to.project, ".csv"), media_type="text/csv")

    @app.get("/projects/{project}/log.parquet", response_class=Response, responses=parquet)
    def log_parquet(to: Admin) -> Response:
        """Export the same as a Parquet file.

        ```
        GET /projects/rain/log.parquet
        → 200
        ```
        """
        content = exports.log_file(to.service, to.project, ".parquet")
        return Response(content, media_type="application/octet-stream")

    @app.get("/projects/{project}/levels.csv", response_class=Response, responses=csv)
    def levels_csv(to: Admin) -> Response:
        """Export every item with its level, the probabilities, and the interval that its own answers leave.

        ```
        GET /projects/rain/levels.csv
        → 200
        item,size,colour,note,level,P(calm),P(mild),P(strong),P(severe),lowest,highest
        1,2.0,red,Monday,...,severe,severe
        ...
        ```
        """
        return Response(exports.levels_file(to.service, to.project), media_type="text/csv")

    @app.post("/projects/{project}/log.csv", status_code=201)
    def import_csv(to: Admin, body: Csv) -> models.Imported:
        """Import the rounds of another log, all or none.

        ```
        POST /projects/rain/log.csv
        level,prediction,propensity,higher,size,colour=blue,colour=red
        calm,calm,0.5,True,4.0,1,0
        → 201
        {"count": 1, "sequence": 2}
        ```
        """
        count, sequence = exports.import_log(to.service, to.project, body, ".csv", to.person)
        return models.Imported(count=count, sequence=sequence)

    @app.post("/projects/{project}/log.parquet", status_code=201)
    def import_parquet(to: Admin, body: Binary) -> models.Imported:
        """Import the rounds of another log from a Parquet file, all or none.

        ```
        curl --data-binary @log.parquet -H "Authorization: Bearer …" https://dford.example.org/projects/rain/log.parquet
        ```
        """
        count, sequence = exports.import_log(to.service, to.project, body, ".parquet", to.person)
        return models.Imported(count=count, sequence=sequence)
