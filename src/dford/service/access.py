"""Who may call what."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Request, Security
from fastapi.security import HTTPBearer

from dford.service.core import Service
from dford.service.keys import Holder
from dford.service.projects import Project
from dford.service.refusal import Refusal

# for the OpenAPI document alone, where a function's scope is the role that it needs; the keys are checked below
_KEY = HTTPBearer(scheme_name="key", description="A key, as dford key makes it.", auto_error=False)


class Access(NamedTuple):
    """A request that is allowed: to which project, and by whom."""

    service: Service
    project: Project
    person: str
    admin: bool


async def holder(request: Request, _: Annotated[Any, Security(_KEY)]) -> Holder:
    """Who sends the request."""
    service: Service = request.app.state.service
    return service.keys.holder(request.headers.get("authorization"))


def access(role: str) -> Callable[..., Awaitable[Access]]:
    """What a function that needs this role, in the project of its path, depends on."""

    async def check(request: Request, project: str, by: Annotated[Holder, Security(holder, scopes=[role])]) -> Access:
        service: Service = request.app.state.service
        found = service.project(project)
        if not by.may(role, found.id):
            raise _forbidden(role)
        return Access(service, found, by.name, by.may("admin", found.id))

    return check


def whole_server(role: str) -> Callable[..., Awaitable[Service]]:
    """For what is no single project's: a key of the whole server."""

    async def check(request: Request, by: Annotated[Holder, Security(holder, scopes=[role])]) -> Service:
        service: Service = request.app.state.service
        if not by.may(role, None):
            raise _forbidden(role)
        return service

    return check


def _forbidden(role: str) -> Refusal:
    return Refusal(403, "not-allowed", f"this needs a key with the role {role}, here", "Authorization")
