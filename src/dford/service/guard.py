"""What every request passes first: size, time, and on an open server that it comes from this machine."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

from dford.service.core import Service
from dford.service.refusal import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# a page may use this server's own files and nothing else: no inline script, no third party, no frame around it
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


def refused(refusal: Refusal) -> JSONResponse:
    """The one shape of all errors."""
    body = {"code": refusal.code, "sentence": refusal.sentence, "field": refusal.field}
    headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, refusal.status, headers)


class Guard:
    """An ASGI layer. A body is read whole before anything is done, so that nothing is half done."""

    def __init__(self, app: Any, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        try:
            self._check_origin(scope)
            async with asyncio.timeout(self._service.settings.request_seconds):
                body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), sending)
        except Refusal as refusal:
            await refused(refusal)(scope, receive, sending)
        except TimeoutError:
            slow = Refusal(408, "slow", "the request took too long to arrive, and nothing was done")
            await refused(slow)(scope, receive, sending)
        finally:
            path = getattr(scope.get("route"), "path", "")
            self._service.count(scope["method"], path, status, begin)

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        most, parts, size = self._service.settings.body_bytes, [], 0
        too_large = Refusal(413, "too-large", f"the body is larger than {most} bytes", "body")
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > most:
                raise too_large
        while True:
            message = await receive()
            if message["type"] != "http.request":  # gone
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise too_large
            if not message.get("more_body"):
                return b"".join(parts)

    def _check_origin(self, scope: Message) -> None:
        """Without keys, whoever reaches the server may do all: so it must not be another site's page in a browser, nor
        somebody behind a proxy. A proxy that tells neither the host asked for nor of itself looks like this machine.
        """
        if not self._service.keys.any() and not trusted(dict(scope["headers"])):
            sentence = "a server without keys answers its own machine alone, and no proxy or other site's page"
            raise Refusal(403, "foreign", sentence, "Host")


def trusted(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request comes from this machine, and from no proxy or other site's page."""
    host, origin = headers.get(b"host", b"localhost").decode("latin-1"), headers.get(b"origin")
    if _BY_PROXY & headers.keys():
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
