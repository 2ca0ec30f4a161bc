"""Keys over HTTP."""

from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI

from dford.service.core import Service
from dford.service.http import models
from dford.service.http.access import Admin, Repeat, Server
from dford.service.projects import keys
from dford.service.store import idempotency


def add(app: FastAPI) -> None:
    @app.post("/projects/{project}/keys", status_code=201)
    def create_key(to: Admin, body: models.NewKey, repeat: Repeat) -> models.KeyShown:
        """Create a key for this project. It is shown only once.

        ```
        POST /projects/rain/keys
        {"role": "answer", "name": "ben"}
        → 201
        {"id": "4f0c2a91b6d3", "key": "4f0c2a91b6d3..."}
        ```

        The first key of a server must be an admin key for all projects; until then this is 409 `first-key`.
        """
        return _create(to.service, to.project.id, body, repeat)

    @app.get("/projects/{project}/keys", response_model=list[models.KeyOut])
    def all_keys(to: Admin) -> Any:
        """List the keys of this project, including revoked ones, without their secrets.

        ```
        GET /projects/rain/keys
        → 200
        [{"id": "4f0c2a91b6d3", "role": "answer", "name": "ben", "revoked": false}]
        ```
        """
        return keys.listed(to.service.database, to.project.id)

    @app.delete("/projects/{project}/keys/{key}", status_code=204)
    def revoke_key(to: Admin, key: str) -> None:
        """Revoke a key. From then on it gives no access.

        ```
        DELETE /projects/rain/keys/4f0c2a91b6d3
        → 204
        ```
        """
        _revoke(to.service, to.project.id, key)

    @app.post("/keys", status_code=201)
    def create_server_key(service: Server, body: models.NewKey, repeat: Repeat) -> models.KeyShown:
        """Create a key for all projects. It is shown only once.

        ```
        POST /keys
        {"role": "predict", "name": "prometheus"}
        → 201
        {"id": "4f0c2a91b6d4", "key": "4f0c2a91b6d4..."}
        ```

        The first one must be an admin key. From then on, every request needs a key.
        """
        return _create(service, None, body, repeat)

    @app.get("/keys", response_model=list[models.KeyOut])
    def all_server_keys(service: Server) -> Any:
        """List the keys for all projects, including revoked ones, without their secrets.

        ```
        GET /keys
        → 200
        [{"id": "...", "role": "admin", "name": "root", "revoked": false},
         {"id": "4f0c2a91b6d4", "role": "predict", "name": "prometheus", "revoked": false}]
        ```
        """
        return keys.listed(service.database, None)

    @app.delete("/keys/{key}", status_code=204)
    def revoke_server_key(service: Server, key: str) -> None:
        """Revoke a key for all projects. From then on it gives no access.

        ```
        DELETE /keys/4f0c2a91b6d4
        → 204
        ```
        """
        _revoke(service, None, key)


def _create(
    service: Service, project: int | None, body: models.NewKey, repeat: idempotency.Request | None
) -> models.KeyShown:  # fmt: skip
    def job(connection: sa.Connection) -> tuple[str, str]:
        made: list[str] = []

        def create(connection: sa.Connection) -> str:
            number, key = keys.create(connection, project, body.role, body.name)
            made.append(key)
            return number

        number: str = idempotency.once(connection, repeat, create)
        # a request that is sent again gets the same key with a new secret, because the first may never have arrived
        return number, made[0] if made else keys.renew(connection, number)

    number, key = service.write(None, job)
    service.keys.forget()
    return models.KeyShown(id=number, key=key)


def _revoke(service: Service, project: int | None, key: str) -> None:
    service.write(None, lambda connection: keys.revoke(connection, project, key))
    service.keys.forget()
