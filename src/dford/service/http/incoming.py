"""Bodies as they arrive: how large each may be, and how much memory all of them may take."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from dford.service.projects.keys import Holder
from dford.service.refusal import Refusal, busy

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
SMALL = 16_384  # bytes of a body that is read in the event loop: more would hold up everyone
_PACE = 10_000_000  # bytes per second, of all refused requests, that are read only to be dropped
_AT_ONCE = 10  # times the largest body that may be in memory


class ClientGoneError(Exception):
    """The client left before its whole request had arrived: nothing is done, and there is nobody to tell."""


class BodyMemory:
    """The bytes of all bodies that are in memory, except small ones, for which there is always room.

    All keys of a project together have at most half of what the others leave, so that however many keys somebody
    makes, there is room for the others; one person in it has at most a quarter of all. A key for all projects has a
    share of its own, as if it were a project.
    """

    def __init__(self, largest: int) -> None:
        self._most = _AT_ONCE * largest
        self._held = Counter[Holder | None]()
        self.dropping = asyncio.Lock()

    def total(self) -> int:
        return self._held.total()

    def take(self, person: Holder | None, size: int) -> None:
        together = sum(held for one, held in self._held.items() if _sharer(one) == _sharer(person))
        share = (self._most - self.total() + together) // 2
        if together + size > share or (_sharer(person) != person and self._held[person] + size > self._most // 4):
            raise busy("too many large requests are arriving or waiting; try again in a moment")
        self._held[person] += size

    def free(self, person: Holder | None, size: int) -> None:
        self._held[person] -= size
        if not self._held[person]:
            del self._held[person]


def _sharer(person: Holder | None) -> Holder | int | None:
    return person if person is None or person.project is None else person.project


class IncomingBody:
    """The body of one request. Call `free` once the request is answered."""

    def __init__(self, scope: Message, receive: Receive, memory: BodyMemory) -> None:
        self._receive, self._memory = receive, memory
        headers = scope["headers"]
        lengths = (int(value) for name, value in headers if name == b"content-length" and value.isdigit())
        self._announced = max(lengths, default=0)
        self._person: Holder | None = None
        self._held = 0
        self.has_arrived = not self._announced and all(name != b"transfer-encoding" for name, _ in headers)

    async def read(self, most: int, person: Holder | None) -> bytes:
        """The whole body, counted in this person's share of the memory; refused at once if it is too large."""
        size, parts, self._person = 0, [], person
        too_large = Refusal(
            413, "too-large", f"the body is larger than {most:,} bytes, the most taken here; send less", "body"
        )
        if self._announced > most:
            raise too_large
        while True:
            part, more = await self._next()
            size += len(part)
            if size > most:
                raise too_large
            if size > SMALL:
                self._memory.take(person, size - self._held)
                self._held = size
            parts.append(part)
            if not more:
                return b"".join(parts)

    async def drop_rest(self, most: int, seconds: float) -> None:
        """Read on for a while, slowly: a client or proxy that is cut off while it sends loses the reply."""
        with suppress(ClientGoneError, TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.has_arrived and most > 0:
                    size = len((await self._next())[0])
                    most -= size
                    async with self._memory.dropping:
                        await asyncio.sleep(size / _PACE)

    def free(self) -> None:
        if self._held:
            self._memory.free(self._person, self._held)
            self._held = 0

    async def _next(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        self.has_arrived = not message.get("more_body")
        return message.get("body", b""), not self.has_arrived
