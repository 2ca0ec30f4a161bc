"""The short way of a plain answer, past the layers that cost more than the answer itself.

It does what the documented route does (a test compares them), and leaves to it whatever is not plain. Answers come in
numbers: with 64 clients most of the server's time went into taking the request apart.
"""

import asyncio
import logging
import re
import time
from functools import partial
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from dford.service.core import Service
from dford.service.guard import HEADERS, refused, trusted
from dford.service.projects import Project
from dford.service.refusal import Refusal, defect
from dford.service.rounds import Answered, Told
from dford.service.writer import Work

PATH = "/projects/{project}/questions/{number}/answer"
_URL = re.compile(rb"/projects/([a-z0-9-]{1,64})/questions/([1-9][0-9]{0,8})/answer")
_BODIES = {b'{"higher":true}': True, b'{"higher": true}': True, b'{"higher":false}': False, b'{"higher": false}': False}
_LONGEST = max(map(len, _BODIES))
_LOG = logging.getLogger(__name__)


class _Cycle:
    """A plain answer, in the place where uvicorn keeps the request that it is about to answer."""

    def __init__(self) -> None:
        self.response_complete = self.disconnected = False
        self.keep_alive, self.message_event = True, self

    def set(self) -> None:
        """Nobody waits for this event."""


class QuickProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, for whatever is not a plain answer."""

    def __init__(self, service: Service, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._service = service
        self._body: bytes | None = None  # so far, while a request may become a plain answer
        self._found: re.Match[bytes] | None = None
        self._slow: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
        if self._body is not None:  # the rest of the body is to come, and whoever waits for it has a limit
            self._slow = self.loop.call_later(self._service.settings.request_seconds, self._not_plain)

    def connection_lost(self, exc: Exception | None) -> None:
        self._body = None
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self._found = _URL.fullmatch(self.url) if self.parser.get_method() == b"POST" else None
        idle = self.cycle is None or self.cycle.response_complete
        if self._found is not None and idle and not self.flow.write_paused and self._may_be_plain():
            self._body = b""
        else:
            super().on_headers_complete()

    def _may_be_plain(self) -> bool:
        headers = dict(self.headers)
        return (
            headers.get(b"content-type") == b"application/json"
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
            and (self._service.keys.any() or trusted(headers))
        )

    def on_body(self, body: bytes) -> None:
        if self._body is None:
            super().on_body(body)
            return
        self._body += body
        if len(self._body) > _LONGEST:
            self._not_plain()

    def on_message_complete(self) -> None:
        if self._body is not None and self._answer(self._body):
            self._body = None
            return
        self._not_plain()
        super().on_message_complete()

    def _not_plain(self) -> None:
        """Go on as if nothing had been held back."""
        if self._body is not None:
            body, self._body = self._body, None
            super().on_headers_complete()
            if body:
                super().on_body(body)

    def _answer(self, body: bytes) -> bool:
        """Have the answer written, if it is a plain one that is allowed."""
        higher, begin, service = _BODIES.get(body), time.perf_counter(), self._service
        if higher is None or self._found is None:
            return False
        authorization = dict(self.headers).get(b"authorization")
        try:
            holder = service.keys.holder(None if authorization is None else authorization.decode("latin-1"))
            project = service.project(self._found[1].decode())
            if not holder.may("answer", project.id):
                return False
            told, cycle = Told(int(self._found[2]), higher, holder.name), _Cycle()
            service.begin_telling(project, told, self.loop, partial(self._told, cycle, project, begin))
        except Refusal:  # the documented route says why
            return False
        self.cycle = cycle  # type: ignore[assignment]
        return True

    def _told(self, cycle: _Cycle, project: Project, begin: float, work: Work[Answered]) -> None:
        try:
            told = self._service.told(project, work)
            higher = "true" if told.higher else "false"
            body = f'{{"question":{told.question},"higher":{higher},"sequence":{told.sequence},"at":{told.at!r}}}'
            status, content = 200, body.encode()
            headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json")]
        except Exception as error:
            response = _refused(error)
            status, content, headers = response.status_code, bytes(response.body), response.raw_headers
        if not cycle.keep_alive:  # the server is closing
            headers.append((b"connection", b"close"))
        lines = [STATUS_LINE[status]]
        for name, value in (*self.server_state.default_headers, *headers, *HEADERS):
            lines += (name, b": ", value, b"\r\n")
        if not cycle.disconnected:
            self.transport.write(b"".join((*lines, b"\r\n", content)))
            cycle.response_complete = True
            if not cycle.keep_alive:
                self.transport.close()
            self.on_response_complete()
        self._service.count("POST", PATH, status, begin)


def _refused(error: Exception) -> Response:
    if isinstance(error, Refusal):
        return refused(error)
    _LOG.error("an answer could not be taken", exc_info=error)
    return refused(defect())
