"""What every request passes first: who sends it, for which project, whether they may, and whether it has arrived."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

from dford.service.core import Service
from dford.service.http.connections import Connections
from dford.service.http.incoming import BodyMemory, ClientGoneError, IncomingBody, Message, Receive
from dford.service.http.metrics import Metrics
from dford.service.projects.keys import LOCAL, Holder
from dford.service.projects.projects import Project, no_project
from dford.service.refusal import Refusal, no_page

T = TypeVar("T")
Send = Callable[[Message], Awaitable[None]]
# a page may only use this server's own files: no inline scripts, no third parties, no frame around it
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_BY_PROXY = {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"}
_PUBLIC = re.compile(r"/|/health|/docs|/openapi\.json|/worker\.js|/page/.*")
_PROJECT = re.compile(r"/projects/([^/]+)(?:/.*)?")
_SLOWEST = 2.0  # the most seconds until a wrong key is refused
_pause = asyncio.sleep
_LOG = logging.getLogger(__name__)


class Caller(NamedTuple):
    """Who sends a request, and to which project."""

    holder: Holder
    project: Project | None
    body: bytes
    deadline: float
    """When a small request must be answered, on the clock of time.monotonic."""

    def seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.1)


class Need(NamedTuple):
    """What a route needs."""

    role: str | None
    """The role in the project of the path, or for all projects; None if any key will do, or none."""
    most: int
    """The largest body, in bytes."""


def refused(refusal: Refusal) -> JSONResponse:
    """The one shape of all errors."""
    body = {"code": refusal.code, "sentence": refusal.sentence, "field": refusal.field}
    headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, refusal.status, headers)


class Guard:
    """An ASGI layer that checks key and role before it reads the body, and reads all of it before anything is done."""

    def __init__(
        self,
        app: Any,
        service: Service,
        connections: Connections,
        metrics: Metrics,
        needs: Callable[[Message], Need],
        memory: BodyMemory,
    ) -> None:
        self._app, self._service, self._connections, self._metrics = app, service, connections, metrics
        self._needs, self._memory = needs, memory
        self._lookups = ThreadPoolExecutor(4, "dford-keys")
        self._failures = _Failures()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500
        seconds = self._service.settings.request_seconds
        body = IncomingBody(scope, receive, self._memory)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
                if not body.has_arrived:  # do not wait for the rest of it
                    message["headers"].append((b"connection", b"close"))
            if connection is not None and not connection.is_paused:  # nothing to wait for, and a timer takes a while
                await send(message)
                return
            async with asyncio.timeout(seconds):  # a client that does not read must not hold us up
                await send(message)

        async def sending_early(message: Message) -> None:
            if message["type"] == "http.response.body" and not body.has_arrived:
                await sending({**message, "more_body": True})
                await body.drop_rest(2 * self._service.settings.body_bytes, seconds)
                message = {"type": "http.response.body"}
            await sending(message)

        connection = self._connections.begin(scope["client"])
        try:
            need = self._needs(scope)
            who = None if _PUBLIC.fullmatch(scope["path"]) else await self._caller(scope, need)
            looked_up = time.perf_counter() - begin
            async with asyncio.timeout(seconds):
                content = await body.read(need.most, who and who.holder)
            if who is not None:
                left = max(seconds - looked_up, seconds / 2)
                scope["dford"] = who._replace(body=content, deadline=time.monotonic() + left)
            await self._app(scope, _replay(content, receive), sending)
        except ClientGoneError:
            status = 0
        except Refusal as refusal:
            await refused(refusal)(scope, receive, sending_early)
        except TimeoutError:
            slow = Refusal(408, "slow", "the request took too long to arrive, so nothing was done; send it again")
            if status == 500:
                await refused(slow)(scope, receive, sending)
        except asyncio.CancelledError:  # the server shuts down, and has waited long enough
            if status != 500:
                raise
            await refused(_shutting_down())(scope, receive, sending)
        finally:
            body.free()
            self._connections.end(connection)
            path = str(scope.get("dford.path") or getattr(scope.get("route"), "path", ""))
            self._metrics.count(scope["method"], path, status, time.perf_counter() - begin)

    async def _caller(self, scope: Message, need: Need) -> Caller:
        if not scope["path"].isprintable():
            raise no_page()
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) > 1:
            raise Refusal(401, "no-key", "there are several Authorization headers; send one", "Authorization")
        authorization = given[0].decode("latin-1") if given else None
        keys, address = self._service.keys, str((scope["client"] or ("",))[0])
        holder = keys.known(authorization)
        if holder is None:
            try:
                holder = await self._look_up(keys.holder, authorization)
            except Refusal as refusal:
                if refusal.status == 401:
                    await self._failures.slow_down(address, authorization)
                raise
        if holder is LOCAL and not trusted(dict(scope["headers"])):
            # Without keys, anyone who reaches the server may do everything. So it must not be another site's page in a
            # browser, or someone behind a proxy. A proxy that passes on neither the requested host nor its own headers
            # looks like this machine.
            sentence = (
                "a server without keys serves only its own machine, and no proxy or page of another site; "
                "make a key with dford key"
            )
            raise Refusal(403, "foreign", sentence, "Host")
        project = await self._project(scope["path"], holder)
        if need.role is not None and not holder.may(need.role, project and project.id):
            where = "all projects" if project is None else "this project"
            sentence = f"this needs a key with the role {need.role} for {where}"
            raise Refusal(403, "not-allowed", sentence, "Authorization")
        return Caller(holder, project, b"", 0.0)

    async def _project(self, path: str, holder: Holder) -> Project | None:
        found = _PROJECT.fullmatch(path)
        if found is None:
            return None
        project = self._service.known(found[1])
        if project is None or not holder.may("predict", project.id):  # takes as long whether it exists or not
            project = await self._look_up(self._service.look_up, found[1])
        if project is None or not holder.may("predict", project.id):
            raise no_project(found[1])  # the same for others' projects: nobody can tell which exist
        return project

    async def _look_up(self, function: Callable[..., T], *given: Any) -> T:
        """Query the database in a thread, because the event loop must never wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._lookups, function, *given)


def _shutting_down() -> Refusal:
    sentence = "the server is shutting down, and it is unknown whether this was done; send it again"
    return Refusal(503, "busy", sentence, retry_after=1)


class _Failures:
    """Wrong keys, by address: each is refused more slowly than the last, and logged."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    async def slow_down(self, address: str, authorization: str | None) -> None:
        if authorization is None:
            return  # not a wrong key, but none at all
        count, last = self._seen.pop(address, (0, 0.0))
        count = 1 + (count if time.monotonic() < last + 60 else 0)
        self._seen[address] = count, time.monotonic()
        if len(self._seen) > 10_000:
            del self._seen[next(iter(self._seen))]  # the one seen least recently
        if count & (count - 1) == 0:  # 1, 2, 4, 8, ...
            _LOG.warning("a key was refused: %d in a row from %s", count, address)
        await _pause(min(_SLOWEST, 0.05 * 2 ** min(count, 10)))


def trusted(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request comes from this machine, and not through a proxy or from another site's page."""
    host, origin = headers.get(b"host", b"localhost").decode("latin-1"), headers.get(b"origin")
    if _BY_PROXY & headers.keys() or headers.get(b"sec-fetch-site", b"none") not in {b"none", b"same-origin"}:
        return False
    if origin is None and host.rpartition(":")[0] in LOOPBACK:
        return True
    try:
        same = origin is None or urlsplit(origin.decode("latin-1")).netloc == host
        return same and urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
