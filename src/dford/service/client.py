"""A client with the library's own words: ask, tell, predict."""

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import httpx

_PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between attempts
_TRY_AGAIN = {408, 429, 503}
Row = Mapping[str, Any]


class Asked(NamedTuple):
    """ "Is the right level of this item above `level`?" """

    number: int
    item: int | None
    shown: Row
    level: str
    prediction: str
    propensity: float
    expires: float


class Call(NamedTuple):
    """A request that may be sent any number of times, and what its response becomes."""

    method: str
    path: str
    request: dict[str, Any]
    read: Callable[[Any], Any]


class ServiceError(ValueError):
    """The service refused; `code` says why to programs."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


def _ask(features: Row | None) -> Call:
    body = {} if features is None else {"features": dict(features)}
    # the key makes a second try, after a broken line, the same question
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    return Call(
        "POST", "/questions", {"json": body, "headers": headers}, lambda r: Asked(*(r[name] for name in Asked._fields))
    )


def _tell(question: Asked, higher: bool) -> Call:
    if higher is not True and higher is not False:
        raise TypeError(f"higher must be True or False; got {higher!r}")
    return Call("POST", f"/questions/{question.number}/answer", {"json": {"higher": higher}}, lambda r: r["sequence"])


def _tell_many(answers: Sequence[tuple[Asked, bool]]) -> Call:
    calls = [_tell(question, higher) for question, higher in answers]  # which refuse what is no bool
    told = [{"question": asked.number, **call.request["json"]} for (asked, _), call in zip(answers, calls, strict=True)]

    def read(response: Any) -> list[int | ServiceError]:
        return [
            one["answer"]["sequence"]
            if one["problem"] is None
            else ServiceError(one["status"], one["problem"]["code"], one["problem"]["sentence"])
            for one in response["outcomes"]
        ]

    return Call("POST", "/answers", {"json": {"answers": told}}, read)


def _drop(question: Asked) -> Call:
    return Call("POST", f"/questions/{question.number}/skip", {}, lambda _: None)


def _retract(question: Asked) -> Call:
    return Call("POST", f"/questions/{question.number}/retract", {}, lambda r: r["sequence"])


def _predict(rows: Sequence[Row], items: Sequence[int]) -> Call:
    body = {"rows": [dict(row) for row in rows], "items": list(items)}
    return Call("POST", "/predictions", {"json": body}, lambda r: r["predictions"])


def _state() -> Call:
    return Call("GET", "/state", {}, lambda r: r)


def _settings(url: str, project: str, key: str | None) -> dict[str, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": f"{url.rstrip('/')}/projects/{project}", "headers": headers, "timeout": 30.0}


def _read(call: Call, response: httpx.Response) -> Any:
    if response.is_success:
        return call.read(response.json())
    try:
        problem = response.json()
        raise ServiceError(response.status_code, problem["code"], problem["sentence"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ServiceError):
            raise
        sentence = f"the server answered {response.status_code}, and not as dford does"
        raise ServiceError(response.status_code, "not-dford", sentence) from None


class Client:
    """One project of a service. Requests that fail on the way are sent again; nothing is done twice by that.

    Parameters
    ----------
    url : str
        Where the service is, such as "http://127.0.0.1:8765".
    project : str
        The name of the project.
    key : str, optional
        A key with the role `answer`; `predict` is enough for predictions and the state.
    """

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        self._http = httpx.Client(**_settings(url, project, key))

    def ask(self, features: Row | None = None) -> Asked:
        """The next question of the pool, or one about features by name."""
        asked: Asked = self._do(_ask(features))
        return asked

    def tell(self, question: Asked, higher: bool) -> int:
        """Answer: is the right level above `question.level`? Returns once it is on the service's disk."""
        return int(self._do(_tell(question, higher)))

    def tell_many(self, answers: Sequence[tuple[Asked, bool]]) -> list[int | ServiceError]:
        """Answer many questions in one call: of each, what `tell` returns, or the error that it would raise."""
        return list(self._do(_tell_many(answers)))

    def drop(self, question: Asked) -> None:
        """Skip the question: nothing is learned."""
        self._do(_drop(question))

    def retract(self, question: Asked) -> int:
        """Take the answer back: the service learns again without it."""
        return int(self._do(_retract(question)))

    def predict(self, rows: Sequence[Row] = (), items: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Level, probabilities and score of items of the pool by number, then of rows."""
        return list(self._do(_predict(rows, items)))

    def state(self) -> dict[str, Any]:
        """Counts, thresholds, and the error that the answers alone show."""
        return dict(self._do(_state()))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, call: Call) -> Any:
        for pause in _PAUSES:
            with suppress(httpx.TransportError):
                response = self._http.request(call.method, call.path, **call.request)
                if response.status_code not in _TRY_AGAIN:
                    return _read(call, response)
            time.sleep(pause)
        return _read(call, self._http.request(call.method, call.path, **call.request))


class AsyncClient:
    """`Client`, to be awaited."""

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        self._http = httpx.AsyncClient(**_settings(url, project, key))

    async def ask(self, features: Row | None = None) -> Asked:
        asked: Asked = await self._do(_ask(features))
        return asked

    async def tell(self, question: Asked, higher: bool) -> int:
        return int(await self._do(_tell(question, higher)))

    async def tell_many(self, answers: Sequence[tuple[Asked, bool]]) -> list[int | ServiceError]:
        return list(await self._do(_tell_many(answers)))

    async def drop(self, question: Asked) -> None:
        await self._do(_drop(question))

    async def retract(self, question: Asked) -> int:
        return int(await self._do(_retract(question)))

    async def predict(self, rows: Sequence[Row] = (), items: Sequence[int] = ()) -> list[dict[str, Any]]:
        return list(await self._do(_predict(rows, items)))

    async def state(self) -> dict[str, Any]:
        return dict(await self._do(_state()))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _do(self, call: Call) -> Any:
        for pause in _PAUSES:
            with suppress(httpx.TransportError):
                response = await self._http.request(call.method, call.path, **call.request)
                if response.status_code not in _TRY_AGAIN:
                    return _read(call, response)
            await asyncio.sleep(pause)
        return _read(call, await self._http.request(call.method, call.path, **call.request))
