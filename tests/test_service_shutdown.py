"""Requests that still wait when the server ends: told to try again, in the shape of all errors."""

import asyncio
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

import dford
from dford.service.client import operations
from forking import Command
from killing import Server
from serving import ok, problem, question_for, set_up

HANGING = """
import sys, time
from dford.cli import main
from dford.service.core import Service

def close(*_):
    print("closing", flush=True)
    time.sleep(60)
    print("closed after a minute", flush=True)

Service.close = close
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Nobody can write to the database."""
    with closing(sqlite3.connect(file, isolation_level=None)) as holding:
        holding.execute("BEGIN IMMEDIATE")
        yield
        holding.execute("ROLLBACK")


def until_waiting(client: httpx.Client, count: int) -> None:
    """Until so many writes wait, of which one or more cannot be written."""
    patience = time.monotonic() + 600
    while True:
        families = text_string_to_metric_families(client.get("/metrics").text)
        if [family.samples[0].value for family in families if family.name == "dford_writes_waiting"] == [count]:
            return
        assert time.monotonic() < patience, "they never arrived"
        time.sleep(0.01)


class Sent(threading.Thread):
    """A call in a thread, and what it returns."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self._call, self.outcome = call, None
        self.start()

    def run(self) -> None:
        self.outcome = self._call()

    def result(self) -> Any:
        self.join()
        return self.outcome


def test_requests_that_still_wait_when_the_server_ends_are_told_to_try_again(tmp_path: Path) -> None:
    server = Server(str(tmp_path / "log.db"), request_seconds=600)
    with httpx.Client(base_url=server.url, timeout=600) as client:
        project = set_up(client)
        first, second = (question_for(client, project)["number"] for _ in range(2))
        with locked(tmp_path / "log.db"):
            sent = [
                Sent(lambda: client.post(f"{project}/questions/{first}/answer", json={"higher": True})),
                Sent(lambda: client.post(f"{project}/questions/0{second}/answer", json={"higher": True})),
                Sent(lambda: client.post(f"{project}/release", json={"questions": [first]})),
            ]
            until_waiting(client, 3)
            assert server.end(signal.SIGTERM) == 0
            for one in sent:
                response = one.result()
                assert problem(response) == (503, "busy")
                assert "unknown whether this was done" in response.json()["sentence"]
                assert response.headers["Retry-After"] == "1"
    server.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_cannot_be_closed_ends_in_time_without(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    server = Command([str(tmp_path / "hanging.py"), "serve", "--database", "log.db", "--port", "0"], folder=tmp_path)
    url = server.stdout.readline().split(" on ")[1].split(",")[0]
    ok(httpx.get(f"{url}/health", timeout=600))  # now it serves
    server.send_signal(number)
    said, complaints = server.communicate()
    assert (server.returncode, said, complaints) == (0, "closing\n", "")
    server.close()


def tell(url: str, number: int) -> int:
    with dford.Client(url, "rain") as client:
        return client.tell(number, True)


def tell_async(url: str, number: int) -> int:
    async def run() -> int:
        async with dford.AsyncClient(url, "rain") as client:
            return await client.tell(number, True)

    return asyncio.run(run())


@pytest.mark.parametrize("tell", [tell, tell_async])
def test_a_client_whose_server_ends_sends_its_answer_again_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Callable[[str, int], int]
) -> None:
    monkeypatch.setattr(operations, "_PAUSES", [0.1] * 6000)
    file = tmp_path / "log.db"
    server = Server(str(file), request_seconds=600)
    with httpx.Client(base_url=server.url, timeout=600) as client:
        project = set_up(client)
        first, second = (question_for(client, project)["number"] for _ in range(2))
        with locked(file):
            plug = Sent(lambda: client.post(f"{project}/questions/{first}/skip"))
            told = Sent(lambda: tell(server.url, second))
            until_waiting(client, 2)
            assert server.end(signal.SIGTERM) == 0
            assert problem(plug.result()) == (503, "busy")
    server.close()
    after = Server(str(file), port=server.url.rpartition(":")[2])
    assert told.result() == 1
    assert ok(httpx.get(f"{after.url}{project}/state", timeout=600))["answers"] == 1
    assert after.end(signal.SIGTERM) == 0
    after.close()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_whose_server_restarts_is_asked_again(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    replies = [httpx.Response(status, text="<html>Bad Gateway</html>"), httpx.Response(200, json={"sequence": 7})]

    def request(*_: Any, **__: Any) -> httpx.Response:
        reply = replies.pop(0)
        reply.request = httpx.Request("POST", "http://127.0.0.1")
        return reply

    monkeypatch.setattr(operations, "_PAUSES", [0.0])
    monkeypatch.setattr(httpx.Client, "request", request)
    with dford.Client("http://127.0.0.1:1", "rain") as client:
        assert client.tell(1, True) == 7
