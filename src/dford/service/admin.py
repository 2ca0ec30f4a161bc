"""Setting up over HTTP: projects, columns, items, keys."""

from typing import Annotated

import sqlalchemy as sa
from fastapi import Body, Depends, FastAPI, Query

from dford.service import keys, models, reports
from dford.service.access import Access, access, whole_server
from dford.service.columns import ColumnOf, check, read_columns, read_csv
from dford.service.core import Service
from dford.service.jobs import create_project, set_columns
from dford.service.projects import Project, make_learner
from dford.service.refusal import Refusal
from dford.service.tables import keys as key_table

Admin = Annotated[Access, Depends(access("admin"))]
Reading = Annotated[Access, Depends(access("predict"))]
Server = Annotated[Service, Depends(whole_server("admin"))]
Csv = Annotated[bytes, Body(media_type="text/csv")]


def add(app: FastAPI) -> None:
    _add_projects(app)
    _add_items(app)
    _add_keys(app)


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
        """Create a project: its scale, and how it learns.

        ```
        POST /projects
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "seed": 5}
        → 201
        {"name": "rain", "levels": ["calm", "mild", "strong", "severe"], "columns": null, "learner": "Auto",
         "parameters": {}, "seed": 5}
        ```
        """
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
        """List all projects.

        ```
        GET /projects
        → 200
        [{"name": "rain", "levels": ["calm", ...], ...}]
        ```
        """
        return [_out(project) for project in service.store.projects()]

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
                     {"name": "note", "kind": "text"}]}
        → 200
        {"name": "rain", ..., "columns": [{"name": "size", "kind": "number", "mean": 3.0, "categories": []}, ...}
        ```
        """
        return _out(to.service.set_columns(to.project, [_column_in(column) for column in body.columns]))


def _preview(rows: list[dict[str, str]], columns: list[ColumnOf]) -> models.Preview:
    columns = columns or read_columns(rows)
    return models.Preview(columns=[_column_out(column) for column in columns], rows=rows[:5], count=len(rows))


def _add_items(app: FastAPI) -> None:
    @app.post("/projects/{project}/items", status_code=201)
    def add_items(to: Admin, body: models.Items) -> models.Added:
        """Add items, all or none. The first ones also say how columns are read, where nobody has.

        ```
        POST /projects/rain/items
        {"items": [{"size": 2.0, "colour": "red", "note": "Monday"}, {"size": 5.5, "note": "Tuesday"}]}
        → 201
        {"first": 1, "count": 2}
        ```
        """
        first = to.service.add_items(to.project, body.items, "items")
        return models.Added(first=first, count=len(body.items))

    @app.post("/projects/{project}/items.csv", status_code=201)
    def add_csv(to: Admin, body: Csv) -> models.Added:
        """Add the rows of a CSV file as items, all or none.

        ```
        POST /projects/rain/items.csv
        size,colour,note
        1.5,blue,Wednesday
        ,red,"Thursday, size unknown"
        → 201
        {"first": 3, "count": 2}
        ```
        """
        rows = read_csv(body)
        return models.Added(first=to.service.add_items(to.project, rows, "body"), count=len(rows))

    @app.post("/projects/{project}/preview.csv")
    def preview(to: Admin, body: Csv) -> models.Preview:
        """Preview a CSV file: how its columns would be read. Nothing is stored.

        ```
        POST /projects/rain/preview.csv
        size,colour,note
        1.5,blue,Wednesday
        → 200
        {"columns": [{"name": "size", "kind": "number", ...}, ...], "rows": [{"size": "1.5", ...}], "count": 1}
        ```
        """
        return _preview(read_csv(body), to.project.columns)

    @app.post("/preview.csv")
    def preview_new(_: Server, body: Csv) -> models.Preview:
        """Preview a CSV file in a new project: how its columns would be read. Nothing is stored.

        ```
        POST /preview.csv
        size,colour
        1.5,blue
        2.5,red
        → 200
        {"columns": [{"name": "size", "kind": "number", "mean": 2.0, ...}, {"name": "colour", "kind": "category", ...}],
         "rows": [{"size": "1.5", "colour": "blue"}, ...], "count": 2}
        ```
        """
        return _preview(read_csv(body), [])

    @app.get("/projects/{project}/items")
    def items(
        to: Reading,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> list[models.ItemOut]:
        """List items by number, those after one.

        ```
        GET /projects/rain/items?after=1&limit=10
        → 200
        [{"number": 2, "shown": {"size": 5.5, "note": "Tuesday"}, "turns": 0}]
        ```
        """
        return reports.some_items(to.service, to.project, after, limit)


def _add_keys(app: FastAPI) -> None:
    @app.post("/projects/{project}/keys", status_code=201)
    def create_key(to: Admin, body: models.NewKey) -> models.KeyShown:
        """Make a key for this project. It is shown this once.

        ```
        POST /projects/rain/keys
        {"role": "answer", "name": "ben"}
        → 201
        {"id": "4f0c2a91b6d3", "key": "4f0c2a91b6d3..."}
        ```

        The first key of a server is an admin's, for all projects: 409 `first-key` before that.
        """
        if not to.service.keys.any():
            sentence = "make an admin key for the whole server first: from the first key on, every request needs one"
            raise Refusal(409, "first-key", sentence, "role")
        return _create_key(to.service, to.project.id, body)

    @app.get("/projects/{project}/keys")
    def all_keys(to: Admin) -> list[models.KeyOut]:
        """List the keys of this project, those revoked too, without what opens it.

        ```
        GET /projects/rain/keys
        → 200
        [{"id": "4f0c2a91b6d3", "role": "answer", "name": "ben", "revoked": false}]
        ```
        """
        return _list_keys(to.service, to.project.id)

    @app.delete("/projects/{project}/keys/{key}", status_code=204)
    def revoke_key(to: Admin, key: str) -> None:
        """Revoke a key: from now on it opens nothing.

        ```
        DELETE /projects/rain/keys/4f0c2a91b6d3
        → 204
        ```
        """
        _revoke_key(to.service, to.project.id, key)

    @app.post("/keys", status_code=201)
    def create_server_key(service: Server, body: models.NewKey) -> models.KeyShown:
        """Make a key for all projects. It is shown this once.

        ```
        POST /keys
        {"role": "predict", "name": "prometheus"}
        → 201
        {"id": "4f0c2a91b6d4", "key": "4f0c2a91b6d4..."}
        ```

        From the first one on, an admin's, every request needs one.
        """
        if not service.keys.any() and body.role != "admin":
            raise Refusal(409, "first-key", "the first key must be an admin's, or nobody could set up more", "role")
        return _create_key(service, None, body)

    @app.get("/keys")
    def all_server_keys(service: Server) -> list[models.KeyOut]:
        """List the keys for all projects, those revoked too, without what opens them.

        ```
        GET /keys
        → 200
        [{"id": "...", "role": "admin", "name": "root", "revoked": false},
         {"id": "4f0c2a91b6d4", "role": "predict", "name": "prometheus", "revoked": false}]
        ```
        """
        return _list_keys(service, None)

    @app.delete("/keys/{key}", status_code=204)
    def revoke_server_key(service: Server, key: str) -> None:
        """Revoke a key for all projects: from now on it opens nothing.

        ```
        DELETE /keys/4f0c2a91b6d4
        → 204
        ```
        """
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
