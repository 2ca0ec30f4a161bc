"""Who may call what."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import Request

from dford.service.core import Service
from dford.service.projects import Project
from dford.service.refusal import Refusal


class Access(NamedTuple):
    """A request that is allowed: to which project, and by whom."""

    service: Service
    project: Project
    person: str


def access(role: str) -> Callable[[Request, str], Awaitable[Access]]:
    """What a function that needs this role, in the project of its path, depends on."""

    async def check(request: Request, project: str) -> Access:
        service: Service = request.app.state.service
        holder = service.keys.holder(request.headers.get("authorization"))
        found = service.project(project)
        if not holder.may(role, found.id):
            raise _forbidden(role)
        return Access(service, found, holder.name)

    return check


async def whole_server(request: Request) -> Service:
    """For what is no single project's: an admin key of the whole server."""
    service: Service = request.app.state.service
    if not service.keys.holder(request.headers.get("authorization")).may("admin", None):
        raise _forbidden("admin")
    return service


def _forbidden(role: str) -> Refusal:
    return Refusal(403, "not-allowed", f"this needs a key with the role {role}, here", "Authorization")
