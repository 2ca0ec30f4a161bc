"""Answers without the layers that cost more than the answer itself.

The documented route does the same (a test compares them), and anything out of the ordinary is left to it.
"""

import json
import re
from typing import Any

from starlette.responses import JSONResponse

from dford.service.core import Service
from dford.service.http.guard import Caller, Send
from dford.service.http.incoming import Message, Receive
from dford.service.projects.answering import SentAnswer

PATH = "/projects/{project}/questions/{number}/answer"
_PATH = re.compile(r"/projects/[^/]+/questions/([1-9][0-9]{0,8})/answer")


class FastAnswers:
    """An ASGI layer in front of the application."""

    def __init__(self, app: Any, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer = _fast(scope) if scope["type"] == "http" else None
        if answer is None:
            await self._app(scope, receive, send)
            return
        scope["dford.path"] = PATH
        answered = await self._service.tell(scope["dford"].project, answer)
        await JSONResponse(answered._asdict())(scope, receive, send)


def _fast(scope: Message) -> SentAnswer | None:
    found = _PATH.fullmatch(scope["path"]) if scope["method"] == "POST" else None
    if found is None or (b"content-type", b"application/json") not in scope["headers"]:
        return None
    caller: Caller = scope["dford"]
    if caller.project is None or not caller.holder.may("answer", caller.project.id):
        return None
    try:
        body = json.loads(caller.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or not body.keys() <= {"higher", "confidence"}:
        return None
    higher, sure, holder = body.get("higher"), body.get("confidence"), caller.holder
    if not isinstance(higher, bool) or (sure is not None and (type(sure) is not float or not 0.5 <= sure <= 1)):
        return None
    return SentAnswer(int(found[1]), higher, holder.name, holder.may("admin", caller.project.id), sure)
