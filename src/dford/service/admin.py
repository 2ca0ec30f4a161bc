"""Setting up over HTTP: projects, columns, items, keys, files."""

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Body, Depends, FastAPI, Query, Response

from dford.service import exports, keys, models, reports
from dford.service.access import Access, access, whole_server
from dford.service.columns import ColumnOf, check, read_columns, read_csv
from dford.service.core import Service
from dford.service.jobs import create_project, set_columns
from dford.service.projects import Project, make_learner
from dford.service.refusal import Refusal
from dford.service.tables import keys as key_table

Admin = Annotated[Access, Depends(access("admin"))]
Reading = Annotated[Access, Depends(access("predict"))]
Server = Annotated[Service, Depends(whole_server)]
Csv = Annotated[bytes, Body(media_type="text/csv")]
Binary = Annotated[bytes, Body(media_type="application/octet-stream")]


def add(app: FastAPI) -> None:
    _add_projects(app)
    _add_items(app)
    _add_keys(app)
    _add_files(app)


def _out(project: Project) -> models.ProjectOut:
    columns = [_column_out(column) for column in project.columns] or None
    return models.ProjectOut(**{**project._asdict(), "columns": columns})


def _column_out(column: ColumnOf) -> models.Column:
    return models.Column(**{**column._asdict(), "categories": list(column.categories)})


def _column_in(column: models.Column) -> ColumnOf:
    return ColumnOf(column.name, column.kind, column.mean, tuple(column.categories))


def _add_projects(app: FastAPI) -> None:
    @app.post("/projects", status_code=201)
    def create(service: Server, body: models.NewProject) -> models.ProjectOut:
        """A new project: its scale, and how it learns."""
        make_learner(body.learner, body.parameters, body.levels, body.seed or 0)
        columns = [_column_in(column) for column in body.columns or ()]
        if columns:
            check(columns, service.settings.features_per_item)

        def job(connection: sa.Connection) -> None:
            number = create_project(connection, body.name, body.levels, body.learner, body.parameters, body.seed)
            if columns:
                set_columns(connection, number, columns)

        service.write(None, job)
        return _out(service.project(body.name))

    @app.get("/projects")
    def projects(service: Server) -> list[models.ProjectOut]:
        return [_out(project) for project in service.store.projects()]

    @app.get("/projects/{project}")
    def project(to: Reading) -> models.ProjectOut:
        return _out(to.project)

    @app.put("/projects/{project}/columns")
    def set_up_columns(to: Admin, body: models.Columns) -> models.ProjectOut:
        """Say how columns are read, once."""
        return _out(to.service.set_columns(to.project, [_column_in(column) for column in body.columns]))


def _preview(rows: list[dict[str, str]], columns: list[ColumnOf]) -> models.Preview:
    columns = columns or read_columns(rows)
    return models.Preview(columns=[_column_out(column) for column in columns], rows=rows[:5], count=len(rows))


def _add_items(app: FastAPI) -> None:
    @app.post("/projects/{project}/items", status_code=201)
    def add_items(to: Admin, body: models.Items) -> models.Added:
        """Add items, all or none. The first ones also say how columns are read, where nobody has."""
        first = to.service.add_items(to.project, body.items, "items")
        return models.Added(first=first, count=len(body.items))

    @app.post("/projects/{project}/items.csv", status_code=201)
    def add_csv(to: Admin, body: Csv) -> models.Added:
        """Add the rows of a CSV file as items, all or none."""
        rows = read_csv(body)
        return models.Added(first=to.service.add_items(to.project, rows, "body"), count=len(rows))

    @app.post("/projects/{project}/preview.csv")
    def preview(to: Admin, body: Csv) -> models.Preview:
        """How the columns of a CSV file would be read. Nothing is stored."""
        return _preview(read_csv(body), to.project.columns)

    @app.post("/preview.csv")
    def preview_new(_: Server, body: Csv) -> models.Preview:
        """How the columns of a CSV file would be read in a new project. Nothing is stored."""
        return _preview(read_csv(body), [])

    @app.get("/projects/{project}/items")
    def items(
        to: Reading,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> list[models.ItemOut]:
        """Items by number, those after one."""
        return reports.some_items(to.service, to.project, after, limit)


def _add_keys(app: FastAPI) -> None:
    @app.post("/projects/{project}/keys", status_code=201)
    def create_key(to: Admin, body: models.NewKey) -> models.KeyShown:
        """A new key for this project. It is shown this once."""
        if not to.service.keys.any():
            sentence = "make an admin key for the whole server first: from the first key on, every request needs one"
            raise Refusal(409, "first-key", sentence, "role")
        return _create_key(to.service, to.project.id, body)

    @app.get("/projects/{project}/keys")
    def all_keys(to: Admin) -> list[models.KeyOut]:
        """The keys of this project, without what opens it."""
        return _list_keys(to.service, to.project.id)

    @app.delete("/projects/{project}/keys/{key}", status_code=204)
    def revoke_key(to: Admin, key: str) -> None:
        """From now on the key opens nothing."""
        _revoke_key(to.service, to.project.id, key)

    @app.post("/keys", status_code=201)
    def create_server_key(service: Server, body: models.NewKey) -> models.KeyShown:
        """A new key for all projects, shown this once. From the first one on, an admin's, every request needs one."""
        if not service.keys.any() and body.role != "admin":
            raise Refusal(409, "first-key", "the first key must be an admin's, or nobody could set up more", "role")
        return _create_key(service, None, body)

    @app.get("/keys")
    def all_server_keys(service: Server) -> list[models.KeyOut]:
        """The keys that open all projects, without what opens them."""
        return _list_keys(service, None)

    @app.delete("/keys/{key}", status_code=204)
    def revoke_server_key(service: Server, key: str) -> None:
        """From now on the key opens nothing."""
        _revoke_key(service, None, key)


def _create_key(service: Service, project: int | None, body: models.NewKey) -> models.KeyShown:
    number, key = service.write(None, lambda connection: keys.create(connection, project, body.role, body.name))
    service.keys.forget()
    return models.KeyShown(id=number, key=key)


def _list_keys(service: Service, project: int | None) -> list[models.KeyOut]:
    own = sa.select(key_table).where(key_table.c.project == project).order_by(key_table.c.at)
    with service.store.reading() as connection:
        rows = connection.execute(own).all()
    return [models.KeyOut(id=r.id, role=r.role, name=r.name, revoked=r.revoked is not None) for r in rows]


def _revoke_key(service: Service, project: int | None, key: str) -> None:
    service.write(None, lambda connection: keys.revoke(connection, project, key))
    service.keys.forget()


def _add_files(app: FastAPI) -> None:
    csv: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
    binary = {"schema": {"type": "string", "format": "binary"}}
    parquet: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": binary}}}

    @app.get("/projects/{project}/log.csv", response_class=Response, responses=csv)
    def log_csv(to: Admin) -> Response:
        """The answers in order, without those taken back, in the form that `dford tune` and `evaluate` read."""
        return Response(exports.log_file(to.service, to.project, ".csv"), media_type="text/csv")

    @app.get("/projects/{project}/log.parquet", response_class=Response, responses=parquet)
    def log_parquet(to: Admin) -> Response:
        content = exports.log_file(to.service, to.project, ".parquet")
        return Response(content, media_type="application/octet-stream")

    @app.get("/projects/{project}/levels.csv", response_class=Response, responses=csv)
    def levels_csv(to: Admin) -> Response:
        """Every item with its level, the probabilities, and the interval that its own answers leave."""
        return Response(exports.levels_file(to.service, to.project), media_type="text/csv")

    @app.post("/projects/{project}/log.csv", status_code=201)
    def import_csv(to: Admin, body: Csv) -> models.Imported:
        """Add the rounds of another log, all or none."""
        count, sequence = exports.import_log(to.service, to.project, body, ".csv", to.person)
        return models.Imported(count=count, sequence=sequence)

    @app.post("/projects/{project}/log.parquet", status_code=201)
    def import_parquet(to: Admin, body: Binary) -> models.Imported:
        """Add the rounds of another log, all or none."""
        count, sequence = exports.import_log(to.service, to.project, body, ".parquet", to.person)
        return models.Imported(count=count, sequence=sequence)
