"""How much runs at once: no project takes all threads, large work does not hold people up, nobody waits too long."""

import asyncio
import re
from typing import Any

from dford.service.http.guard import Caller, Send
from dford.service.http.incoming import Message, Receive
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.worker import SMALL

_LARGE = re.compile(
    r".*/(predictions|levels|people(/mine)?|contested|items|images|ratings|(levels|log|items|preview|ratings)\.(csv|parquet))"
)
_PLACES = {False: 8, True: 2}  # requests of one project at once: small ones, and large ones


class ConcurrencyLimits:
    """An ASGI layer in front of the routes, each of which takes a thread.

    A thread that waits for something cannot be stopped. So when its time is up, a request is answered without it, and
    what the thread returns later is dropped.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._limits: dict[tuple[int | None, bool], asyncio.Semaphore] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get("dford")
        if caller is None or scope["path"].endswith("/answer"):  # public pages and answers take no thread
            await self._app(scope, receive, send)
            return
        large = len(caller.body) > SMALL or _LARGE.fullmatch(scope["path"]) is not None
        key = None if caller.project is None else caller.project.id, large
        limit = self._limits.setdefault(key, asyncio.Semaphore(_PLACES[large]))
        seconds = caller.seconds_left() + (self._settings.work_seconds if large else 0.0)
        begun = answered = given_up = False

        async def sending(message: Message) -> None:
            nonlocal answered
            answered = True
            if not given_up:
                await send(message)

        async def play() -> None:
            nonlocal begun
            async with limit:
                begun = True
                await self._app(scope, receive, sending)

        task = asyncio.create_task(play())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:  # also if the server shuts down
            given_up = not task.done() and not answered
        if not given_up:
            await task
            return
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # keeps asyncio from complaining
        if not begun:
            task.cancel()  # otherwise its body would wait on
        done = "it is unknown whether it was done" if begun else "nothing was done"
        raise Refusal(503, "busy", f"this took longer than {seconds:.0f} s, and {done}; send it again", retry_after=5)
