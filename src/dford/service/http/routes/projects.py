"""Projects over HTTP."""

import sqlalchemy as sa
from fastapi import FastAPI

from dford.columns import Column, ImageReader
from dford.service.http import models
from dford.service.http.access import Admin, Reading, Repeat, Server
from dford.service.projects import projects
from dford.service.projects.columns import check, read_columns
from dford.service.projects.projects import Project


def add(app: FastAPI) -> None:
    @app.post("/projects", status_code=201)
    def create(service: Server, body: models.NewProject, repeat: Repeat) -> models.ProjectOut:
        """Create a project: its scale, and how it learns.

        ```
        POST /projects
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "seed": 5}
        → 201
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "columns": null, "learner": "Auto",
         "parameters": {}, "seed": 5, "choice": "pool", "target": 0.1, "reveal": false}
        ```
        """
        projects.make_learner(body.learner, body.parameters, body.levels, body.seed or 0)
        columns = [_column_in(column, service.images.reader()) for column in body.columns or ()]
        if columns:
            check(columns, service.settings.features_per_item)

        def job(connection: sa.Connection) -> int:
            number = projects.create(connection, **body.model_dump(exclude={"columns"}))
            if columns:
                projects.set_columns(connection, number, columns)
            return number

        service.add(None, job, repeat)
        return _out(service.project(body.name))

    @app.get("/projects")
    def all_projects(service: Server) -> list[models.ProjectOut]:
        """List all projects.

        ```
        GET /projects
        → 200
        [{"name": "rain", "levels": ["calm", ...], ...}]
        ```
        """
        return [_out(project) for project in projects.all_projects(service.database)]

    @app.get("/projects/{project}")
    def project(to: Reading) -> models.ProjectOut:
        """Read a project's description.

        ```
        GET /projects/rain
        → 200
        {"name": "rain", ..., "columns": null, ...}
        ```
        """
        return _out(to.project)

    @app.put("/projects/{project}/columns")
    def set_up_columns(to: Admin, body: models.Columns) -> models.ProjectOut:
        """Say how columns are read, once. The same again changes nothing; anything else is 409 `columns-set`.

        ```
        PUT /projects/rain/columns
        {"columns": [{"name": "size", "kind": "number", "mean": 3.0},
                     {"name": "colour", "kind": "category", "categories": ["blue", "red"]},
                     {"name": "note", "kind": "shown"}]}
        → 200
        {"name": "rain", ..., "columns": [{"name": "size", "kind": "number", "mean": 3.0, "categories": [], ...}, ...}
        ```
        """
        images = to.service.images.reader()
        return _out(to.service.set_columns(to.project, [_column_in(column, images) for column in body.columns]))


def _out(project: Project) -> models.ProjectOut:
    columns = [column_out(column) for column in project.columns] or None
    return models.ProjectOut(**{**project._asdict(), "columns": columns})


def column_out(column: Column) -> models.Column:
    known = column._asdict()
    return models.Column(
        **{name: known[name] for name in models.Column.model_fields} | {"categories": [*column.categories]}
    )


def _column_in(column: models.Column, images: ImageReader | None) -> Column:
    if column.kind == "image":
        return read_columns([{column.name: ""}], {column.name: "image"}, images)[0]
    return Column(**column.model_dump() | {"categories": tuple(column.categories)})
