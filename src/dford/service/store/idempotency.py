"""Requests that add something, sent with a key: applied once, however often they are sent."""

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.refusal import Refusal, key_reused
from dford.service.store.schema import requests

_KEPT = 30 * 24 * 3600.0  # seconds that a key is remembered
_UNKNOWN = -1  # the project of requests that an earlier version wrote down


class Request(NamedTuple):
    """Who sent what, and where; the same key with another digest is a mistake."""

    project: int
    """0 if it is for no single one."""
    person: str
    key: str
    digest: str


def once(connection: Connection, request: Request | None, job: Callable[[Connection], Any]) -> Any:
    """What the job returns, as JSON represents it; for a repeated request, what it returned then."""
    if request is None:
        return job(connection)
    same_key = (requests.c.person == request.person, requests.c.key == request.key)
    own = (requests.c.project == request.project, *same_key)
    rows = connection.execute(
        sa.select(requests).where(requests.c.project.in_([request.project, _UNKNOWN]), *same_key)
    ).all()
    before = next((row for row in rows if row.project != _UNKNOWN or row.digest == request.digest), None)
    if before is not None:
        if before.digest != request.digest:
            raise key_reused()
        return json.loads(before.response)
    now = time.time()
    connection.execute(requests.delete().where(requests.c.at < now - _KEPT))
    # the key comes first: if another server is at the same request, this waits for it, fails, and is run again
    connection.execute(requests.insert(), {**request._asdict(), "response": "", "at": now})
    try:
        response = job(connection)
    except Refusal:
        connection.execute(requests.delete().where(*own))
        raise
    connection.execute(requests.update().where(*own).values(response=json.dumps(response)))
    return response
