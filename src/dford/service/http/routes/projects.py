"""Projects over HTTP."""

import sqlalchemy as sa
from fastapi import FastAPI, Request

from dford.columns import SPELLED_ALIKE, Column, ImageReader
from dford.service.core import Service
from dford.service.http import bodies, models
from dford.service.http.access import Admin, Reading, Repeat, Server
from dford.service.projects import projects, rules
from dford.service.projects.columns import check_columns, find_columns
from dford.service.projects.projects import Project
from dford.service.projects.rules import Rules
from dford.service.refusal import Refusal


def add(app: FastAPI) -> None:
    @app.post("/projects", status_code=201, openapi_extra=bodies.described(models.NewProject))
    def create(service: Server, request: Request, repeat: Repeat) -> models.ProjectOut:
        """Create a project with a scale and a learner.

        ```
        POST /projects
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "seed": 5}
        → 201
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "columns": null, "learner": "Auto",
         "parameters": {}, "seed": 5, "choice": "pool", "target": 0.1, "reveal": false,
         "own_figures": false, "ratings": false, "files": null}
        ```
        """
        sent = request.scope["dford"].body
        body = service.read(None, sent, bodies.parsed, models.NewProject, sent)
        learner = projects.make_learner(body.learner, body.parameters, body.levels, body.seed or 0)
        images = service.image_source(None, is_everywhere=True)
        if body.files is not None:
            images.check_part(body.files)
        columns = [_column_in(column, images.reader()) for column in body.columns or ()]
        if columns:
            check_columns(columns, service.settings.features_per_item, len(body.levels))
            projects.check_learner(learner, columns)

        chosen = new_rules(body)

        def job(connection: sa.Connection) -> int:
            number = projects.create(connection, **body.model_dump(exclude={"columns", *Rules._fields}))
            rules.write(connection, number, chosen)
            if columns:
                projects.set_columns(connection, number, columns)
            return number

        service.add(None, job, repeat)
        return _out(service, service.project(body.name))

    @app.get("/projects")
    def all_projects(service: Server) -> list[models.ProjectOut]:
        """List all projects.

        ```
        GET /projects
        → 200
        [{"name": "rain", "levels": ["calm", ...], ...}]
        ```
        """
        return [_out(service, project) for project in projects.all_projects(service.database)]

    @app.get("/projects/{project}")
    def project(to: Reading) -> models.ProjectOut:
        """Read a project's description.

        ```
        GET /projects/rain
        → 200
        {"name": "rain", ..., "columns": null, ...}
        ```
        """
        return _out(to.service, to.service.look_up(to.project.name) or to.project)  # its target may have changed

    @app.get("/projects/{project}/settings")
    def settings(to: Admin) -> models.RulesOut:
        """Read how people are asked.

        ```
        GET /projects/rain/settings
        → 200
        {"gold": 0.0, "answers_per_item": 1, "auditors": ["anna", "root"], "own_figures": false, "ratings": false,
         "certify": false, "gold_column": null}
        ```
        """
        return models.RulesOut(**to.service.rules(to.project)._asdict())

    @app.put("/projects/{project}/settings", openapi_extra=bodies.described(models.NewRules, 1_000_000))
    def change_settings(to: Admin) -> models.RulesOut:
        """Change how people are asked, from the next question on. Fields that are left out stay as they are.

        ```
        PUT /projects/rain/settings
        {"auditors": ["anna", "root"]}
        → 200
        {"gold": 0.0, "answers_per_item": 1, "auditors": ["anna", "root"], "own_figures": false, "ratings": false,
         "certify": false, "gold_column": null}
        ```
        """
        body = to.service.read(to.project, to.body, bodies.parsed, models.NewRules, to.body)
        new = to.service.change_rules(to.project, body.model_dump(exclude_unset=True))
        return models.RulesOut(**new._asdict())

    @app.put("/projects/{project}/columns", openapi_extra=bodies.described(models.Columns))
    def set_up_columns(to: Admin) -> models.ProjectOut:
        """Set how columns are read, once. Sending the same again changes nothing; anything else is 409 `columns-set`.

        ```
        PUT /projects/rain/columns
        {"columns": [{"name": "size", "kind": "number", "mean": 3.0},
                     {"name": "colour", "kind": "category", "categories": ["blue", "red"]},
                     {"name": "note", "kind": "shown"}]}
        → 200
        {"name": "rain", ..., "columns": [{"name": "size", "kind": "number", "mean": 3.0, "categories": [], ...}, ...}
        ```
        """
        body = to.service.read(to.project, to.body, bodies.parsed, models.Columns, to.body)
        images = to.service.image_source(to.project, to.is_everywhere).reader()
        columns = [_column_in(column, images) for column in body.columns]
        return _out(to.service, to.service.set_columns(to.project, columns))


def new_rules(body: models.NewProject) -> Rules:
    """The rules of a new project."""
    found = Rules(**body.model_dump(include=set(Rules._fields)))
    rules.check(projects.choice_of(body.choice, body.learner), found)
    if any(column.name == found.gold_column for column in body.columns or ()):
        sentence = (
            f"{found.gold_column!r} is the column of known levels, which is not learned from; leave it out of columns"
        )
        raise Refusal(422, "bad-columns", sentence, "columns")
    return found


def _out(service: Service, project: Project) -> models.ProjectOut:
    columns = [column_out(column) for column in project.columns] or None
    own = service.rules(project)
    shown = {"own_figures": own.own_figures, "ratings": own.ratings}
    return models.ProjectOut(**{**project._asdict(), "columns": columns, **shown})


def column_out(column: Column) -> models.Column:
    known = column._asdict()
    return models.Column(
        **{name: known[name] for name in models.Column.model_fields}
        | {"categories": [*column.categories], "ratings": [*column.ratings]}
    )


def _column_in(column: models.Column, images: ImageReader | None) -> Column:
    if column.kind == "image":
        return find_columns([{column.name: ""}], {column.name: "image"}, images)[0]
    lists = {"categories": tuple(column.categories), "ratings": tuple(column.ratings)}
    found = Column(**column.model_dump() | lists)
    return found._replace(made_by=SPELLED_ALIKE) if found.is_sparse else found
