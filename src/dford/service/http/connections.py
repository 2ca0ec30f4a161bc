"""Connections: how many from one address, and how long one may be open without a request.

uvicorn waits forever for the headers of a request, and accepts any number of connections. So its protocol is wrapped in
one that watches the clock and counts; the guard, inside, reports when a request begins and ends.
"""

import asyncio
import time
from collections import defaultdict
from typing import Any

import uvicorn

try:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol  # the only undocumented part that is used
except ImportError as error:
    raise ImportError(
        f"dford does not work with uvicorn {uvicorn.__version__} ({error}); it is tested with 0.54: "
        "pip install 'uvicorn<0.55'"
    ) from error

_LOOK = 1.0  # seconds between looks at the clock


class TrackedConnection(asyncio.Protocol):
    """One connection."""

    def __init__(self, inner: asyncio.Protocol, connections: "Connections") -> None:
        self._inner, self._connections = inner, connections
        self.transport: asyncio.Transport
        self.client: Any = None
        self.requests = 0  # in progress
        self.since = time.monotonic()  # when it was opened, or its last request ended
        self.begun = False  # whether part of the next request has arrived
        self.is_paused = False  # whether the client has yet to read what was sent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.client = transport, transport.get_extra_info("peername")  # type: ignore[assignment]
        self._inner.connection_made(transport)
        self._connections.opened(self)

    def data_received(self, data: bytes) -> None:
        if not self.begun and not self.requests:
            self.begun, self.since = True, time.monotonic()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.is_paused = True
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self.is_paused = False
        self._inner.resume_writing()


class Connections:
    """All connections of a server. An address with too many loses the one idle longest, or gets no new one."""

    def __init__(self, most: int, header_seconds: float, idle_seconds: float) -> None:
        self._most, self._header_seconds, self._idle_seconds = most, header_seconds, idle_seconds
        self._by_address: defaultdict[str, dict[Any, TrackedConnection]] = defaultdict(dict)
        self._looks = False

    def protocol(self, **given: Any) -> TrackedConnection:
        """The protocol that uvicorn creates for each connection."""
        return TrackedConnection(AutoHTTPProtocol(**given), self)

    def opened(self, connection: TrackedConnection) -> None:
        own = self._by_address[_address(connection.client)]
        if len(own) >= self._most:
            idle = [other for other in own.values() if not other.requests]
            unwanted = min(idle, key=lambda other: other.since) if idle else connection
            unwanted.transport.abort()
            if unwanted is connection:
                return
            own.pop(unwanted.client, None)
        own[connection.client] = connection
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(_LOOK, self._look)

    def closed(self, connection: TrackedConnection) -> None:
        own = self._by_address[_address(connection.client)]
        if own.get(connection.client) is connection:
            del own[connection.client]
        if not own:
            del self._by_address[_address(connection.client)]

    def begin(self, client: Any) -> TrackedConnection | None:
        """A request of this client has arrived, except for its body."""
        connection = self._by_address.get(_address(client), {}).get(client)
        if connection is not None:
            connection.requests += 1
        return connection

    def end(self, connection: TrackedConnection | None) -> None:
        if connection is not None:
            connection.requests -= 1
            connection.begun, connection.since = False, time.monotonic()

    def _look(self) -> None:
        now = time.monotonic()
        for own in list(self._by_address.values()):
            for connection in list(own.values()):
                limit = self._header_seconds if connection.begun else self._idle_seconds
                if not connection.requests and now > connection.since + limit:
                    connection.transport.abort()
        self._looks = bool(self._by_address)
        if self._looks:
            asyncio.get_running_loop().call_later(_LOOK, self._look)


def _address(client: Any) -> str:
    return str(client[0]) if isinstance(client, tuple) else ""
