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
from dford.service.refusal import Refusal
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


async def holder(request: Request, _: Annotated[Any, Security(_KEY)]) -> Holder:
    """The holder of the request's key."""
    caller: Caller = request.scope["dford"]
    return caller.holder


def access(role: str) -> Callable[..., Awaitable[Access]]:
    """The dependency of a function that needs this role in the project of its path."""

    async def check(request: Request, project: str, by: Annotated[Holder, Security(holder, scopes=[role])]) -> Access:
        caller: Caller = request.scope["dford"]
        assert caller.project is not None
        if not by.may(role, caller.project.id):
            raise _forbidden(role, "this project")
        admin = by.may("admin", caller.project.id)
        is_asked = by.may("answer", caller.project.id) and not admin
        return Access(request.app.state.service, caller.project, by.name, admin, caller.body, is_asked)

    return check


def whole_server(role: str) -> Callable[..., Awaitable[Service]]:
    """The dependency of a function that concerns no single project: a key for all projects."""

    async def check(request: Request, by: Annotated[Holder, Security(holder, scopes=[role])]) -> Service:
        service: Service = request.app.state.service
        if not by.may(role, None):
            raise _forbidden(role, "all projects")
        return service

    return check


async def _repeat(
    request: Request, idempotency_key: Annotated[str | None, Header(pattern=IDEMPOTENCY_KEY)] = None
) -> idempotency.Request | None:
    if idempotency_key is None:
        return None
    caller: Caller = request.scope["dford"]
    sent = f"{request.method} {request.scope['path']}\n".encode() + caller.body
    return idempotency.Request(caller.holder.name, idempotency_key, hashlib.sha256(sent).hexdigest())


Repeat = Annotated[idempotency.Request | None, Depends(_repeat)]
"""The request's Idempotency-Key: with it, a request that is sent again is applied once."""
Admin = Annotated[Access, Depends(access("admin"))]
Answering = Annotated[Access, Depends(access("answer"))]
Reading = Annotated[Access, Depends(access("predict"))]
Server = Annotated[Service, Depends(whole_server("admin"))]


def _forbidden(role: str, where: str) -> Refusal:
    return Refusal(403, "not-allowed", f"this needs a key with the role {role} for {where}", "Authorization")
