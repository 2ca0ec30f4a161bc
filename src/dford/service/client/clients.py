"""The two clients: one that blocks until the service has responded, and one to await."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from dford.service.client.operations import Operations

P = ParamSpec("P")
T = TypeVar("T")


class AsyncClient(Operations):
    """`Client` with methods to await.

    Parameters
    ----------
    url : str
        The address of the service, such as "http://127.0.0.1:8765".
    project : str
        The name of the project.
    key : str, optional
        A key with the role that the methods you call need, as in `Client`.
    """

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        super().__init__(url, project, key)
        self._http = httpx.AsyncClient(**self._settings)

    @classmethod
    async def create(
        cls, url: str, project: str, levels: Iterable[Any], key: str | None = None, **settings: Any
    ) -> Self:  # fmt: skip
        """Create the project and return a client for it, as `Client.create` does."""
        async with cls(url, project, key) as client:
            await client._create(levels, settings)
        return cls(url, project, key)

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        return await self._http.request(method, path, **request)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Blocking(Operations):
    """Operations that never yield to an event loop: each runs to its end in one step."""

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        super().__init__(url, project, key)
        self.http = httpx.Client(**self._settings)

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        return self.http.request(method, path, **request)

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)


def _blocking(
    operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Client", P], T]:  # fmt: skip
    @wraps(operation)
    def run(client: "Client", /, *given: P.args, **named: P.kwargs) -> T:
        try:
            operation(client._operations, *given, **named).send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise AssertionError("it waits for something")

    return run


class Client:
    """One project of a service. Requests that get lost are sent again, and nothing is done twice.

    Parameters
    ----------
    url : str
        The address of the service, such as "http://127.0.0.1:8765".
    project : str
        The name of the project.
    key : str, optional
        A key with the role `answer`; `predict` is enough for predictions and the state, and setting up a project needs
        `admin`.
    """

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        self._operations = _Blocking(url, project, key)

    @classmethod
    def create(cls, url: str, project: str, levels: Iterable[Any], key: str | None = None, **settings: Any) -> Self:
        """Create the project and return a client for it. Needs a key for all projects with the role `admin`.

        Parameters
        ----------
        url, project : str
            As for the client itself.
        levels : list
            The scale, lowest first. Numbers become their names: 1 is "1".
        key : str, optional
            As for the client itself.
        **settings
            columns, learner, parameters, seed, choice, target, reveal, gold, gold_column, answers_per_item, auditors,
            own_figures, ratings and certify, as `POST /projects` takes them.
        """
        with cls(url, project, key) as client:
            _create(client, levels, settings)
        return cls(url, project, key)

    add = _blocking(Operations.add)
    invite = _blocking(Operations.invite)
    ask = _blocking(Operations.ask)
    tell = _blocking(Operations.tell)
    tell_many = _blocking(Operations.tell_many)
    rate = _blocking(Operations.rate)
    unrate = _blocking(Operations.unrate)
    drop = _blocking(Operations.drop)
    retract = _blocking(Operations.retract)
    predict = _blocking(Operations.predict)
    levels = _blocking(Operations.levels)
    state = _blocking(Operations.state)
    settings = _blocking(Operations.settings)
    people = _blocking(Operations.people)
    settle = _blocking(Operations.settle)
    unsettle = _blocking(Operations.unsettle)

    def close(self) -> None:
        """Close the connections to the server."""
        self._operations.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_create = _blocking(Operations._create)
