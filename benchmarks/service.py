"""What the service does per second: `make bench-service`. One run, on one disk: ratios count, not absolute figures.

Bare commits and the service take turns, because the speed of a shared disk changes from second to second.
"""

import io
import json
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
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import postgres
from dford.cli._serving import tune_interpreter
from dford.columns import Column
from dford.log_columns import UNKNOWN
from dford.service.core import Service
from dford.service.projects import items, projects
from dford.service.projects.answering import retract
from dford.service.projects.asking import QuestionRequest
from dford.service.projects.uploads import ReadyRound, sent_features
from dford.service.settings import Settings
from killing import Server
from loading import answers, ask_many, many_answers, resident_bytes, send_all
from serving import LEVELS

PEOPLE, PRESS = 8, 0.5  # seconds from a question to its answer, on average
CLIENTS, ANSWERS, TOGETHER, TURNS, STORED, POOL, LEASED = 64, 4_000, 50, 5, 200_000, 10_000, 4_000
WORDS, LARGE = 50_000, 300_000
SLOW_DISK = 1_000  # extra microseconds for a sync, as over a network or without a cache that survives a power cut
_SLOW_SYNC = """
#include <dlfcn.h>
#include <unistd.h>
#define SLOW(name) int name(int file) { usleep(DELAY); return ((int (*)(int)) dlsym(RTLD_NEXT, #name))(file); }
SLOW(fsync) SLOW(fdatasync)
"""


def goal(what: str, reached: bool) -> None:
    print(f"  goal {'reached' if reached else 'NOT REACHED'}: {what}", flush=True)


def bare_commits(folder: Path, count: int = 300) -> float:
    """One commit per answer, in plain SQLite, with nothing around it."""
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
    """Many people answering `at_once` questions per request, and bare commits, in turns.

    Single answers go both ways: plain, and by the documented route, which a zero before the number leads to.
    """
    folder.mkdir()
    count = ANSWERS if at_once == 1 else 5 * ANSWERS  # per turn
    ways = ["plain", "documented"] if at_once == 1 else ["plain"]
    ask_many(folder / "log.db", len(ways) * TURNS * count)
    server = Server(str(folder / "log.db"))
    bare: list[float] = []
    rates: dict[str, list[float]] = {way: [] for way in ways}
    slowest: dict[str, list[float]] = {way: [] for way in ways}
    numbers = iter(range(1, len(ways) * TURNS * count + 1))
    with multiprocessing.get_context("spawn").Pool(1) as other:
        for _ in range(TURNS):
            bare.append(other.apply(bare_commits, (folder,)))
            for way in ways:
                some = [next(numbers) for _ in range(count)]
                requests = (
                    answers(some, "0" if way == "documented" else "") if at_once == 1 else many_answers(some, at_once)
                )
                took, seconds = other.apply(send_all, (server.url, requests, CLIENTS))
                rates[way].append(count / took)
                slowest[way].append(1e3 * float(np.quantile(seconds, 0.99)))
    commits = statistics.median(bare)
    for way in ways:
        ratio = statistics.median(rate / one for rate, one in zip(rates[way], bare, strict=True))
        rate, p99 = statistics.median(rates[way]), statistics.median(slowest[way])
        print(f"durable answers, {CLIENTS} clients, {at_once} a request, {way}, {disk}: {rate:,.0f} a second", end=", ")
        print(f"p99 of a request {p99:.0f} ms; bare commits {commits:,.0f} a second; ratio {ratio:.1f}", flush=True)
    server.end(signal.SIGKILL)
    server.close()


def on_a_slow_disk(folder: Path) -> None:
    """The same with slower syncs, for the service and for bare commits alike."""
    if (compiler := shutil.which("cc")) is None:
        print("a slower disk is not measured: there is no C compiler")
        return
    (folder / "slow.c").write_text(_SLOW_SYNC)
    library = str(folder / "slow.so")
    flags = ["-D_GNU_SOURCE", f"-DDELAY={SLOW_DISK}", "-shared", "-fPIC", "-o", library]
    subprocess.run([compiler, str(folder / "slow.c"), *flags, "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = library  # for the processes started from here on
    try:
        answers_per_second(folder / "slow", f"a sync {SLOW_DISK / 1000:g} ms slower")
    finally:
        del os.environ["LD_PRELOAD"]


def questions_and_predictions(folder: Path) -> None:
    server = Server(str(folder / "questions.db"), open_questions=100_000, open_per_person=100_000)
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


def people(urls: list[str], project: str, each: int) -> list[float]:
    """Several people answering at once, as fast as keys are pressed: how long each waited for every question.

    If there are several servers, they use them in turns.
    """

    def person(number: int) -> list[float]:
        random, waits = np.random.default_rng(number), []
        url = f"{urls[number % len(urls)]}/projects/{project}"
        with httpx.Client(base_url=url, timeout=600) as client:
            for _ in range(each):
                begin = time.perf_counter()
                asked = client.post("/questions").raise_for_status().json()
                waits.append(time.perf_counter() - begin)
                time.sleep(PRESS * random.random() * 2)
                higher = bool(asked["shown"]["c0"] + 2 > LEVELS.index(asked["level"]) + 1)
                client.post(f"/questions/{asked['number']}/answer", json={"higher": higher}).raise_for_status()
        return waits

    with ThreadPoolExecutor(PEOPLE) as all_of_them:
        return [wait for waits in all_of_them.map(person, range(PEOPLE)) for wait in waits]


def placing(folder: Path) -> None:
    """Questions that the pool chooses, while people answer: one server on SQLite, and two on PostgreSQL."""
    for count, most in ((POOL, 10), (10 * POOL, 20)):
        placing_on(str(folder / f"placing{count}.db"), 1, count, most)
    if not postgres.BINARIES:
        print("two servers are not measured: PostgreSQL is not installed")
        return
    with postgres.temporary_cluster() as cluster:
        for count, most in ((POOL, 10), (10 * POOL, 20)):
            placing_on(postgres.new_database(cluster, f"placing{count}"), 2, count, most)


def placing_on(database: str, n_servers: int, count: int, most: int) -> None:
    """Answers come first, so that there are trees."""
    service = Service(Settings(database=database, request_seconds=3600))
    number, X = new_project(service, "large", "Auto", 20), np.random.default_rng(0).normal(size=(count, 20))
    shown = [json.dumps({f"c{i}": value for i, value in enumerate(row)}) for row in X.round(3).tolist()]
    ready = [(text, row.tobytes()) for text, row in zip(shown, X.round(3), strict=True)]
    for begin in range(0, count, 5_000):
        service.write(None, partial(items.add, project=number, ready=ready[begin : begin + 5_000]))
    service.close()
    servers = [Server(database, "DFORD,Auto") for _ in range(n_servers)]
    urls = [server.url for server in servers]
    with multiprocessing.get_context("spawn").Pool(1) as other:
        other.apply(people, (urls, "large", 50))
        waits = other.apply(people, (urls, "large", 100))
    median, p99 = 1e3 * statistics.median(waits), 1e3 * float(np.quantile(waits, 0.99))
    where = "one server" if n_servers == 1 else f"{n_servers} servers on PostgreSQL"
    print(
        f"a question that the pool chooses, {count:,} items, {PEOPLE} people, {where}: median {median:.1f} ms", end=", "
    )
    print(f"p99 {p99:.0f} ms")
    goal(f"a question in under {most} ms", median < most)
    for server in servers:
        server.end(signal.SIGKILL)
        server.close()


def memory(folder: Path) -> None:
    """Over HTTP, of a server in its own process."""
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


def new_project(service: Service, name: str, learner: str, width: int) -> int:
    columns = [Column(f"c{i}", "number") for i in range(width)]
    number = service.write(None, lambda c: projects.create(c, name, LEVELS, learner, {}, 0))
    service.write(None, lambda c: projects.set_columns(c, number, columns))
    return number


def log_of(count: int, width: int, seed: int, filled: float = 1.0) -> list[Any]:
    """Rounds ready to be added, answered by a rule: the first feature decides, or all of them if most are zero."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((count, width)) < filled, random.standard_normal((count, width)), 0.0)
    score = X[:, 0] if filled == 1.0 else X @ np.random.default_rng(0).standard_normal(width)
    level = random.integers(1, 4, count)
    told = (score + 2 > level).tolist()
    return [
        ReadyRound(x.tobytes(), int(k), int(k), 1 / 3, higher, UNKNOWN, f"{seed}-{n}")
        for n, (x, k, higher) in enumerate(zip(X, level, told, strict=True))
    ]


def start(folder: Path, learner: str) -> None:
    """A log of many answers, imported; then the time from opening to the first question, from a snapshot."""
    settings = Settings(database=str(folder / f"{learner}.db"), request_seconds=3600)
    service = Service(settings)
    new_project(service, "rain", learner, 5)
    project = service.project("rain")
    for part in range(STORED // 10_000):
        service.add_log(project, log_of(10_000, 5, part), "bench")
    begin = time.perf_counter()
    assert service.fold(project).wait(STORED, 3600)
    folded = time.perf_counter() - begin
    service.close()
    begin = time.perf_counter()
    service = Service(settings)
    project = service.project("rain")
    sent = sent_features(project.columns, {"c0": 1.0}, service.bounds())
    assert service.ask(project, QuestionRequest("bench", None, sent))
    took = time.perf_counter() - begin
    print(f"start with {STORED:,} answers, {learner}: {took:.2f} s to the first question", end=" ")
    print(f"(to learn them took {folded:.0f} s)")
    goal("a start within 3 s", took < 3)
    service.close()


class _Timed:
    """A lock that knows how long it was held."""

    def __init__(self, lock: Any) -> None:
        self._lock, self.longest = lock, 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.longest = max(self.longest, time.perf_counter() - self._since)
        self._lock.release()


def words(folder: Path) -> None:
    """Answers about texts, 256 features each: retract an early one; then how much is stored, and how long it locks."""
    settings = Settings(database=str(folder / "words.db"), request_seconds=3600)
    service = Service(settings)
    new_project(service, "words", "Auto", 256)
    project = service.project("words")
    fold: Any = service.fold(project)
    for part in range(STORED // 10_000):
        service.add_log(project, log_of(10_000, 256, part, filled=0.06), "bench")
        if (part + 1) * 10_000 == WORDS:
            assert fold.wait(WORDS, 3600)
            service.write(project, lambda c: retract(c, project.id, 5, "bench", anybodys=True))
            begin = time.perf_counter()
            assert fold.wait(WORDS + 1, 3600)
            took = time.perf_counter() - begin
            print(f"{WORDS:,} answers of 256 features, an early one taken back: learned again in {took:.1f} s")
            goal("within 20 s", took < 20)
            fold._lock = timed = _Timed(fold._lock)
    assert fold.wait(STORED + 1, 3600)
    service.close()
    with sqlite3.connect(settings.database) as connection:
        (kept,) = connection.execute("select sum(length(model)) from snapshots").fetchone()
        (own,) = connection.execute("select sum(length(x)) from questions").fetchone()
    size = Path(settings.database).stat().st_size
    print(f"{STORED:,} answers of 256 features, {own / 1e6:.0f} MB: snapshots {kept / 1e6:.0f} MB", end=", ")
    print(f"the file {size / 1e6:.0f} MB; the model was locked for {1e3 * timed.longest:.0f} ms at most")
    goal("snapshots below 100 MB", kept < 100e6)
    goal("a file below 3 times the answers", size < 3 * own)
    goal("never over 50 ms", timed.longest < 0.05)


def large(folder: Path) -> None:
    """Many items of six columns: the first question, and the first one after a restart, over HTTP."""
    server, random = Server(str(folder / "large.db"), "Auto", request_seconds=60), np.random.default_rng(0)
    httpx.post(f"{server.url}/projects", json={"name": "large", "levels": LEVELS}, timeout=600).raise_for_status()
    begin, goals = time.perf_counter(), list[tuple[str, bool]]()
    for first in range(0, LARGE, 10_000):
        numbers, colours = random.normal(size=(10_000, 4)).round(3).tolist(), random.integers(0, 5, 10_000).tolist()
        rows = (
            f"{','.join(map(str, row))},colour {colour},item {first + i}"
            for i, (row, colour) in enumerate(zip(numbers, colours, strict=True))
        )
        text = "\n".join(["a,b,c,d,colour,note", *rows])
        httpx.post(f"{server.url}/projects/large/items.csv", content=text, timeout=600).raise_for_status()
    print(f"{LARGE:,} items of six columns: added in {time.perf_counter() - begin:.0f} s", end="")
    for when, most in (("the first question", 5), ("after a restart", 10)):
        begin = time.perf_counter()
        if most == 10:
            server.end(signal.SIGTERM)
            server.close()
            server.start()
        while httpx.post(f"{server.url}/projects/large/questions", timeout=600).status_code == 503:  # catching up
            time.sleep(0.05)
        took, size = time.perf_counter() - begin, resident_bytes(server.pid) / 2**30
        print(f"; {when} in {took:.1f} s, with {size:.2f} GB", end="")
        goals.append((f"{when} within {most} s, below 1 GB", took < most and size < 1))
    print()
    for what, reached in goals:
        goal(what, reached)
    server.end(signal.SIGKILL)
    server.close()


def uploads(folder: Path) -> None:
    """The upload of an image to one project while two others send the worst archives, in turns with a quiet server."""
    server, stop = Server(str(folder / "uploads.db")), multiprocessing.get_context("spawn").Event()
    for name in ("one", "two", "other"):
        httpx.post(f"{server.url}/projects", json={"name": name, "levels": LEVELS}, timeout=600).raise_for_status()
    small, worst, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    Image.new("RGB", (64, 64)).save(small, "PNG")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            worst.seek(0)
            Image.new("RGBA", (7_000, 7_000), (number, 0, 0, 9)).save(worst, "PNG")
            archive.writestr(f"{number}.png", worst.getvalue())

    def upload() -> float:
        begin = time.perf_counter()
        url = f"{server.url}/projects/other/images"
        httpx.post(url, content=small.getvalue(), timeout=600).raise_for_status()
        return time.perf_counter() - begin

    upload()
    quiet = [upload() for _ in range(2 * TURNS)]
    requests = [
        {"method": "POST", "url": f"{server.url}/projects/{name}/images", "content": packed.getvalue()}
        for name in ("one", "two")
    ]
    spawn = multiprocessing.get_context("spawn")
    busy = [spawn.Process(target=again_and_again, args=(request, stop, False)) for request in requests]
    for process in busy:
        process.start()
    time.sleep(5)  # for their imports, and the first pieces
    near = [upload() for _ in range(2 * TURNS)]
    stop.set()
    for process in busy:
        process.kill()
        process.join()
    ratio = statistics.median(near) / statistics.median(quiet)
    print(f"an image beside two archives of 20 images of 49 megapixels: {statistics.median(near):.2f} s", end=", ")
    print(f"at most {max(near):.1f} s, of a quiet server {statistics.median(quiet):.3f} s; ratio {ratio:.0f}")
    goal("never longer than two pieces of work, of 3 s each", max(near) < 6)
    server.end(signal.SIGKILL)
    server.close()


def again_and_again(request: dict[str, Any], stop: Any, once: bool) -> None:
    with httpx.Client(timeout=600) as client:
        while not stop.is_set():
            client.request(**request)
            if once:
                stop.wait()


if __name__ == "__main__":
    (cache := Path(__file__).parent.parent / ".cache").mkdir(exist_ok=True)  # on the project's own disk
    with tempfile.TemporaryDirectory(dir=cache) as place:
        answers_per_second(Path(place) / "disk", "this disk")
        answers_per_second(Path(place) / "many", "this disk", TOGETHER)
        on_a_slow_disk(Path(place))
        questions_and_predictions(Path(place))
        placing(Path(place))
        memory(Path(place))
        for name in ("DFORD", "Auto"):
            start(Path(place), name)
        tune_interpreter()  # as a server does
        words(Path(place))
        uploads(Path(place))
        large(Path(place))
