"""What the service does in a second: `make bench-service`. One run, on one disk: ratios count, not absolute figures.

Bare commits and the service take turns, as a shared disk is not the same from one second to the next.
"""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from dford.log import FeedbackLog
from dford.service.projects.columns import ColumnOf
from dford.service.core import Service
from dford.service.settings import Settings
from killing import Server
from loading import answers, ask_many, many_answers, resident_bytes, send_all
from serving import LEVELS

CLIENTS, ANSWERS, TOGETHER, TURNS, STORED, POOL, LEASED = 64, 4_000, 50, 5, 200_000, 10_000, 4_000
SLOW_DISK = 1_000  # microseconds more for a sync, as over a network or without a cache that survives a power cut
_SLOW_SYNC = """
#include <dlfcn.h>
#include <unistd.h>
#define SLOW(name) int name(int file) { usleep(DELAY); return ((int (*)(int)) dlsym(RTLD_NEXT, #name))(file); }
SLOW(fsync) SLOW(fdatasync)
"""


def goal(what: str, reached: bool) -> None:
    print(f"  goal {'reached' if reached else 'NOT REACHED'}: {what}", flush=True)


def bare_commits(folder: Path, count: int = 300) -> float:
    """One commit an answer, in plain SQLite, with nothing around it."""
    file = folder / "bare.db"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file, isolation_level=None) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE answers (sequence INTEGER PRIMARY KEY, question INTEGER, higher INTEGER)")
        begin = time.perf_counter()
        for n in range(count):
            database.execute("INSERT INTO answers VALUES (?, ?, ?)", (n, n, 1))
        rate = count / (time.perf_counter() - begin)
    database.close()
    return rate


def answers_per_second(folder: Path, disk: str, at_once: int = 1) -> None:
    """Many people who answer, so many questions in a request, and bare commits, in turns."""
    folder.mkdir()
    count = ANSWERS if at_once == 1 else 5 * ANSWERS  # in a turn
    ask_many(folder / "log.db", TURNS * count)
    server = Server(str(folder / "log.db"))
    bare, rates, slowest = [], [], []
    with multiprocessing.get_context("spawn").Pool(1) as other:
        for turn in range(TURNS):
            bare.append(other.apply(bare_commits, (folder,)))
            numbers = range(turn * count + 1, (turn + 1) * count + 1)
            requests = answers(numbers) if at_once == 1 else many_answers(numbers, at_once)
            took, seconds = other.apply(send_all, (server.url, requests, CLIENTS))
            rates.append(count / took)
            slowest.append(1e3 * np.quantile(seconds, 0.99))
    ratio = statistics.median(rate / one for rate, one in zip(rates, bare, strict=True))
    middle = [statistics.median(figures) for figures in (rates, slowest, bare)]
    print(f"durable answers, {CLIENTS} clients, {at_once} a request, {disk}: {middle[0]:,.0f} a second", end=", ")
    print(f"p99 of a request {middle[1]:.0f} ms", end="; ")
    print(f"bare commits, one an answer: {middle[2]:,.0f} a second; ratio {ratio:.1f} (medians of {TURNS} turns)")
    if at_once == 1:
        goal("5 times bare commits", ratio >= 5)
    server.end(signal.SIGKILL)
    server.close()


def on_a_slow_disk(folder: Path) -> None:
    """The same where each sync takes longer, for the service and for bare commits alike."""
    if (compiler := shutil.which("cc")) is None:
        print("a slower disk is not measured: there is no C compiler")
        return
    (folder / "slow.c").write_text(_SLOW_SYNC)
    library = str(folder / "slow.so")
    flags = ["-D_GNU_SOURCE", f"-DDELAY={SLOW_DISK}", "-shared", "-fPIC", "-o", library]
    subprocess.run([compiler, str(folder / "slow.c"), *flags, "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = library  # for the processes that are started now
    try:
        answers_per_second(folder / "slow", f"a sync {SLOW_DISK / 1000:g} ms slower")
    finally:
        del os.environ["LD_PRELOAD"]


def questions_and_predictions(folder: Path) -> None:
    server = Server(str(folder / "questions.db"), open_questions=100_000)
    with httpx.Client(base_url=server.url, timeout=60) as client:
        columns = [{"name": f"c{i}", "kind": "number"} for i in range(5)]
        body: dict[str, Any] = {"name": "rain", "levels": LEVELS, "columns": columns, "learner": "DFORD", "seed": 0}
        client.post("/projects", json=body).raise_for_status()
        rows = np.random.default_rng(0).normal(size=(POOL, 5)).round(3).tolist()
        named = [{f"c{i}": value for i, value in enumerate(row)} for row in rows]
        for begin in range(0, POOL, 5_000):
            client.post("/projects/rain/items", json={"items": named[begin : begin + 5_000]}).raise_for_status()

        def ask() -> tuple[float, int]:
            begin = time.perf_counter()
            number = client.post("/projects/rain/questions").json()["number"]
            return time.perf_counter() - begin, number

        for leased in (0, LEASED):
            asking = []
            for _ in range(leased):
                ask()
            for _ in range(500):
                seconds, number = ask()
                asking.append(seconds)
                client.post(f"/projects/rain/questions/{number}/answer", json={"higher": True})
            median = 1e3 * statistics.median(asking)
            print(f"a question, {POOL:,} items in the pool, {leased:,} before others: median {median:.1f} ms")
            goal("a question in under 10 ms", median < 10)
        body, moment = {"items": list(range(1, 1001))}, time.perf_counter()
        for _ in range(20):
            client.post("/projects/rain/predictions", json=body).raise_for_status()
        print(f"predictions: {20_000 / (time.perf_counter() - moment):,.0f} a second, a thousand in a call")
    server.end(signal.SIGKILL)
    server.close()


def memory(folder: Path) -> None:
    """Through HTTP, in a server's own process."""
    ask_many(folder / "memory.db", STORED)
    server, step = Server(str(folder / "memory.db")), STORED // 10
    sizes = []
    for begin in range(0, STORED, step):
        send_all(server.url, answers(range(begin + 1, begin + step + 1)), CLIENTS)
        sizes.append(resident_bytes(server.pid) / 2**20)
    print(f"memory over {STORED:,} answers: {sizes[0]:.0f} MB after the first {step:,}, {sizes[-1]:.0f} MB at the end")
    goal("memory is flat, to a tenth", sizes[-1] < 1.1 * sizes[0])
    server.end(signal.SIGTERM)
    server.close()


def start(folder: Path, learner: str) -> None:
    """A log of many answers, imported; then the time from opening to the first question, from a snapshot."""
    settings = Settings(database=str(folder / f"{learner}.db"))
    service = Service(settings)
    columns = [ColumnOf(f"c{i}", "number") for i in range(5)]
    project = service.write(None, lambda c: projects.create(c, "rain", LEVELS, learner, {}, 0))
    service.write(None, lambda c: projects.set_columns(c, project, columns))
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
    assert service.ask(service.project("rain"), "bench", None, {"c0": 1.0})
    took = time.perf_counter() - begin
    print(f"start with {STORED:,} answers, {learner}: {took:.2f} s to the first question", end=" ")
    print(f"(to learn them took {folded:.0f} s)")
    goal("a start within 3 s", took < 3)
    service.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent.parent) as place:
        answers_per_second(Path(place) / "disk", "this disk")
        answers_per_second(Path(place) / "many", "this disk", TOGETHER)
        on_a_slow_disk(Path(place))
        questions_and_predictions(Path(place))
        memory(Path(place))
        for name in sys.argv[1:] or ["DFORD", "Auto"]:
            start(Path(place), name)
