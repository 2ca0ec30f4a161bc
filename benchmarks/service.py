"""What the service does in a second: `make bench-service`. One run, on one disk: ratios count, not absolute figures."""

import asyncio
import multiprocessing
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from dford.service import jobs
from dford.service.columns import ColumnOf
from dford.service.core import Service
from dford.service.settings import Settings
from killing import Server
from serving import LEVELS

CLIENTS, ANSWERS, STORED, POOL = 64, 4_000, 200_000, 10_000


def bare_commits(folder: Path, count: int = 300) -> float:
    """One commit an answer, in plain SQLite, with nothing around it."""
    with sqlite3.connect(folder / "bare.db", isolation_level=None) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE answers (sequence INTEGER PRIMARY KEY, question INTEGER, higher INTEGER)")
        begin = time.perf_counter()
        for n in range(count):
            database.execute("INSERT INTO answers VALUES (?, ?, ?)", (n, n, 1))
        rate = count / (time.perf_counter() - begin)
    database.close()
    return rate


def make_project(client: httpx.Client, learner: str, items: int) -> None:
    columns = [{"name": f"c{i}", "kind": "number"} for i in range(5)]
    body = {"name": "rain", "levels": LEVELS, "columns": columns, "learner": learner, "seed": 0}
    client.post("/projects", json=body).raise_for_status()
    rows = np.random.default_rng(0).normal(size=(items, 5)).round(3).tolist()
    named = [{f"c{i}": value for i, value in enumerate(row)} for row in rows]
    for begin in range(0, items, 5_000):
        client.post("/projects/rain/items", json={"items": named[begin : begin + 5_000]}).raise_for_status()


async def _tell(url: str, numbers: list[int], clients: int) -> list[float]:
    seconds: list[float] = []

    async def person(mine: list[int]) -> None:
        # bare HTTP: the machine's time should go to the server, not to a comfortable client
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = b'{"higher":true}'
        for number in mine:
            head = (
                f"POST /projects/rain/questions/{number}/answer HTTP/1.1\r\nHost: {host}:{port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            begin = time.perf_counter()
            writer.write(head.encode() + body)
            status = await reader.readline()
            assert b" 200 " in status, status
            length = 0
            while (line := await reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            await reader.readexactly(length)
            seconds.append(time.perf_counter() - begin)
        writer.close()

    await asyncio.gather(*(person(numbers[k::clients]) for k in range(clients)))
    return seconds


def _tell_all(url: str, numbers: list[int], clients: int) -> tuple[float, list[float]]:
    begin = time.perf_counter()
    seconds = asyncio.run(_tell(url, numbers, clients))
    return time.perf_counter() - begin, seconds


def answers_per_second(folder: Path) -> None:
    server = Server(str(folder / "answers.db"), open_questions=100_000)
    with httpx.Client(base_url=server.url, timeout=60) as client:
        make_project(client, "DFORD", POOL)
        asking = []
        for _ in range(500):
            begin = time.perf_counter()
            number = client.post("/projects/rain/questions").json()["number"]
            asking.append(time.perf_counter() - begin)
            client.post(f"/projects/rain/questions/{number}/answer", json={"higher": True})
        print(f"a question, {POOL:,} items in the pool: median {1e3 * statistics.median(asking):.1f} ms, DFORD")
        features = {"features": {"c0": 1.0}}  # no item is leased by these, so that the pool stays as it is
        numbers = [client.post("/projects/rain/questions", json=features).json()["number"] for _ in range(ANSWERS)]
        before = bare_commits(folder)
        with multiprocessing.get_context("spawn").Pool(1) as other:
            took, seconds = other.apply(_tell_all, (server.url, numbers, CLIENTS))
        rate, p99 = ANSWERS / took, np.quantile(seconds, 0.99)
        print(f"durable answers: {rate:,.0f} a second with {CLIENTS} clients, p99 {1e3 * p99:.0f} ms")
        print(f"bare commits, one an answer: {before:,.0f} a second; ratio {rate / before:.1f}")
        body: dict[str, Any] = {"items": list(range(1, 1001))}
        begin = time.perf_counter()
        for _ in range(20):
            client.post("/projects/rain/predictions", json=body).raise_for_status()
        print(f"predictions: {20_000 / (time.perf_counter() - begin):,.0f} a second, a thousand in a call")
    server.end(signal.SIGKILL)
    server.close()


def start(folder: Path, learner: str) -> None:
    """A log of many answers, imported; then the time from opening to the first question, from a snapshot."""
    settings = Settings(database=str(folder / f"{learner}.db"))
    service = Service(settings)
    columns = [ColumnOf(f"c{i}", "number") for i in range(5)]
    project = service.write(None, lambda c: jobs.create_project(c, "rain", LEVELS, learner, {}, 0))
    service.write(None, lambda c: jobs.set_columns(c, project, columns))
    from dford.log import FeedbackLog

    random = np.random.default_rng(0)
    for _ in range(STORED // 10_000):
        log = FeedbackLog(LEVELS)
        for x in random.normal(size=(10_000, 5)):
            level = int(random.integers(1, 4))
            log._add(x, LEVELS[level - 1], LEVELS[level - 1], 1 / 3, bool(x[0] + 2 > level))
        service.write(None, lambda c, log=log: jobs.add_log(c, project, log, "bench"))  # type: ignore[misc]
    fold = service.fold(service.project("rain"))
    begin = time.perf_counter()
    assert fold.wait(STORED, 3600)
    folded = time.perf_counter() - begin
    service.close()
    begin = time.perf_counter()
    service = Service(settings)
    number = service.ask(service.project("rain"), "bench", None, {"c0": 1.0})
    took = time.perf_counter() - begin
    assert number
    print(
        f"start with {STORED:,} answers, {learner}: {took:.2f} s to the first question (learning them: {folded:.0f} s)"
    )
    service.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent.parent) as place:
        answers_per_second(Path(place))
        for name in sys.argv[1:] or ["DFORD", "Auto"]:
            start(Path(place), name)
