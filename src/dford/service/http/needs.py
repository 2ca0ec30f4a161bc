"""What each route needs, known before a body is read: a role, and room for a body."""

from collections.abc import Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match

from dford.service.http.access import ROLES_NEEDED
from dford.service.http.bodies import MOST_BYTES
from dford.service.http.fast_answers import PATH
from dford.service.http.guard import Need
from dford.service.http.incoming import SMALL, Message


class RouteNeeds:
    """Finds the needs of a request by the same routes, in the same order, as the router that calls them."""

    def __init__(self, routes: Sequence[BaseRoute], largest: int) -> None:
        self._routes, self._largest = routes, largest
        self._ordered: list[tuple[BaseRoute, Need]] = []

    def __call__(self, scope: Message) -> Need:
        if len(self._ordered) != len(self._routes):  # answers first, as most requests are answers
            first = sorted(self._routes, key=lambda route: getattr(route, "path", "") != PATH)
            self._ordered = [(route, self._of(route)) for route in first]
        for route, need in self._ordered:
            if route.matches(scope)[0] is Match.FULL:
                return need
        return Need(None, SMALL)

    def _of(self, route: BaseRoute) -> Need:
        if not isinstance(route, APIRoute):
            return Need(None, SMALL)
        roles = [ROLES_NEEDED[part.call] for part in route.dependant.dependencies if part.call in ROLES_NEEDED]
        told = route.openapi_extra or {}
        most = told.get(MOST_BYTES, self._largest if "requestBody" in told else SMALL)
        return Need(roles[0] if roles else None, min(most, self._largest))
