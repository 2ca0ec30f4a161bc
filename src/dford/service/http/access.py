"""Who may call what, and what a route gets."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPBearer

from dford.service.core import Service
from dford.service.http.guard import Caller
from dford.service.http.validation import IDEMPOTENCY_KEY
from dford.service.projects.keys import Holder
from dford.service.projects.projects import Project
from dford.service.projects.uploads import Bounds
from dford.service.store import idempotency

# only for the OpenAPI document, where a function's scope is the role it needs; the guard has checked the key
_KEY = HTTPBearer(scheme_name="key", description="A key, as dford key makes it.", auto_error=False)


class Access(NamedTuple):
    """An allowed request: for which project, and from whom."""

    service: Service
    project: Project
    person: str
    admin: bool
    body: bytes
    is_asked: bool
    """Whether the person is asked questions here, and must not know which ones judge them."""
    is_everywhere: bool
    """Whether the key is an admin key for all projects, whose holder may name any image of the server's folder."""

    def bounds(self, project: Project | None = None) -> Bounds:
        """What one call may contain, including images this person may name; for a project, with its known levels."""
        return self.service.bounds(project, self.service.image_source(self.project, self.is_everywhere))


async def holder(request: Request, _: Annotated[Any, Security(_KEY)]) -> Holder:
    """The holder of the request's key."""
    caller: Caller = request.scope["dford"]
    return caller.holder


ROLES_NEEDED: dict[Any, str] = {}
"""The roles of the dependencies below. The guard has refused everyone else before it read the body."""


def access(role: str) -> Callable[..., Awaitable[Access]]:
    """The dependency of a function that needs this role in the project of its path."""

    async def check(request: Request, project: str, by: Annotated[Holder, Security(holder, scopes=[role])]) -> Access:
        caller: Caller = request.scope["dford"]
        assert caller.project is not None
        admin = by.may("admin", caller.project.id)
        is_asked = by.may("answer", caller.project.id) and not admin
        everywhere = by.may("admin", None)
        return Access(request.app.state.service, caller.project, by.name, admin, caller.body, is_asked, everywhere)

    ROLES_NEEDED[check] = role
    return check


def whole_server(role: str) -> Callable[..., Awaitable[Service]]:
    """The dependency of a function that concerns no single project: a key for all projects."""

    async def check(request: Request, _: Annotated[Holder, Security(holder, scopes=[role])]) -> Service:
        service: Service = request.app.state.service
        return service

    ROLES_NEEDED[check] = role
    return check


async def _repeat(
    request: Request, idempotency_key: Annotated[str | None, Header(pattern=IDEMPOTENCY_KEY)] = None
) -> idempotency.Request | None:
    if idempotency_key is None:
        return None
    caller: Caller = request.scope["dford"]
    query = request.scope["query_string"]
    path = request.scope["path"].encode(errors="surrogateescape") + (b"?" + query if query else b"")
    sent = request.method.encode() + b" " + path + b"\n" + caller.body
    project = 0 if caller.project is None else caller.project.id
    return idempotency.Request(project, caller.holder.name, idempotency_key, hashlib.sha256(sent).hexdigest())


Repeat = Annotated[idempotency.Request | None, Depends(_repeat)]
"""The request's Idempotency-Key: with it, a request that is sent again is applied once."""
Admin = Annotated[Access, Depends(access("admin"))]
Answering = Annotated[Access, Depends(access("answer"))]
Reading = Annotated[Access, Depends(access("predict"))]
Server = Annotated[Service, Depends(whole_server("admin"))]
