"""The client of the service: the library's words over HTTP, sent again when the line breaks, done once."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import dford
from dford.service import client as client_module
from serving import ROWS, serving, set_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_the_client_asks_and_tells_in_the_librarys_words(file: Path) -> None:
    with serving(file) as http:
        set_up(http)
        url = str(http.base_url)
        with dford.Client(url, "rain") as client:
            question = client.ask()
            assert client.tell(question, True) == client.tell(question, True) == 1
            with pytest.raises(client_module.ServiceError, match="the first answer stands") as refused:
                client.tell(question, False)
            assert refused.value.code == "answered-otherwise"
            with pytest.raises(TypeError, match="must be True or False"):
                client.tell(question, 1)
            client.retract(question)
            client.drop(client.ask({"size": 1.0}))
            later = [client.ask({"size": float(size)}) for size in range(3)]
            told = client.tell_many([(later[0], True), (later[0], False), (later[2], False), (question, True)])
            assert told[::2] == [3, 4]
            assert [(one.status, one.code) for one in told if isinstance(one, client_module.ServiceError)] == [
                (409, "answered-otherwise"),
                (409, "retracted"),
            ]
            with pytest.raises(TypeError, match="must be True or False"):
                client.tell_many([(later[1], 1)])
            assert client.state()["retractions"] == 1
            assert len(client.predict([ROWS[0]], items=[1, 2])) == 3

        async def both() -> int:
            async with dford.AsyncClient(url, "rain") as client:
                asked = await asyncio.gather(client.ask(), client.ask())
                assert asked[0].item != asked[1].item
                assert await client.tell_many([(question, True) for question in asked]) == [5, 6]
                await client.drop(await client.ask())
                await client.retract(asked[0])
                return len(await client.predict(items=[1])) + int((await client.state())["answers"])

        assert asyncio.run(both()) == 4


def test_a_broken_line_asks_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response is lost after the request was done: what is sent again must not be done again."""
    monkeypatch.setattr(client_module, "_PAUSES", (0.0, 0.0))
    with serving(file) as http:
        set_up(http)
        client = dford.Client(str(http.base_url), "rain")
        send: Any = client._http.request
        lost: list[int] = []

        def losing(*arguments: Any, **request: Any) -> Any:
            response = send(*arguments, **request)
            if len(lost) % 3 < 2:
                lost.append(1)
                raise httpx.ReadError("the line broke")
            lost.append(0)
            return response

        monkeypatch.setattr(client._http, "request", losing)
        question = client.ask()
        client.tell(question, True)
        monkeypatch.undo()
        state = client.state()
        client.close()
        assert sum(lost) == 4
        assert (state["questions"], state["answers"]) == (1, 1)


def test_the_base_import_brings_nothing_of_the_service() -> None:
    code = "import sys, dford; print([m for m in ('httpx', 'fastapi', 'sqlalchemy', 'uvicorn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
