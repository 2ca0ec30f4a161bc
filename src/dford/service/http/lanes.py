"""Lanes: no project takes all the threads, and no large work those that people wait for."""

import asyncio
import re
from typing import Any

from dford.service.http.guard import Caller, Message, Receive, Send
from dford.service.refusal import busy

_LARGE = re.compile(r".*/(predictions|levels|items|(levels|log|items|preview)\.(csv|parquet))")
_PLACES = {False: 8, True: 2}  # requests of one project at once: small ones, and large ones


class Lanes:
    """An ASGI layer in front of the routes, each of which takes a thread."""

    def __init__(self, app: Any, seconds: float) -> None:
        self._app, self._seconds = app, seconds
        self._lanes: dict[tuple[int | None, bool], asyncio.Semaphore] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get("dford")
        if caller is None:
            await self._app(scope, receive, send)
            return
        large = _LARGE.fullmatch(scope["path"]) is not None
        key = None if caller.project is None else caller.project.id, large
        lane = self._lanes.setdefault(key, asyncio.Semaphore(_PLACES[large]))
        try:
            async with asyncio.timeout(self._seconds):
                await lane.acquire()
        except TimeoutError:
            raise busy("too many requests of this project are waiting; try again in a moment") from None
        try:
            await self._app(scope, receive, send)
        finally:
            lane.release()
