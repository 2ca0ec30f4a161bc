"""How long others wait beside somebody who asks a lot of a server: part of `make bench-service`.

A busy server and a quiet one take turns, because the speed of a shared machine changes from second to second.
"""

import itertools
import multiprocessing
import signal
import statistics
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from dford.service.core import Service
from dford.service.settings import Settings
from killing import Server
from loading import answers, ask_many, send_all
from service import POOL, TURNS, goal, log_of, new_project
from serving import LEVELS

NEAR = 2_000  # answers in one turn


def neighbours(folder: Path) -> None:
    """Answers in one project while another project does something large, in turns with a quiet server."""
    ask_many(folder / "two.db", 2 * TURNS * 6 * NEAR)
    service = Service(Settings(database=str(folder / "two.db"), request_seconds=600))
    new_project(service, "large", "Auto", 20)
    project = service.project("large")
    service.add_log(project, log_of(10_000, 20, 0), "bench")
    assert service.fold(project).wait(10_000, 3600)
    service.close()
    server = Server(str(folder / "two.db"), "DFORD,Auto")
    rows = np.random.default_rng(0).normal(size=(POOL, 20)).round(3)
    text = "\n".join([",".join(f"c{i}" for i in range(20)), *(",".join(map(str, row)) for row in rows)])
    path = f"{server.url}/projects/large"
    httpx.post(f"{path}/items.csv", content=text, timeout=600).raise_for_status()
    numbers = {"items": list(range(1, POOL + 1))}
    acts: dict[str, Any] = {
        f"predictions of {POOL:,}": {"method": "POST", "url": f"{path}/predictions", "json": numbers},
        f"levels.csv of {POOL:,}": {"method": "GET", "url": f"{path}/levels.csv"},
        f"log.parquet of {POOL:,}": {"method": "GET", "url": f"{path}/log.parquet"},
        f"items.csv of {POOL:,}": {"method": "POST", "url": f"{path}/items.csv", "content": text},
        f"retract one of {POOL:,} and learn again": {"method": "POST", "url": f"{path}/questions/{{turn}}/retract"},
    }
    beside(server, acts)
    server.end(signal.SIGKILL)
    server.close()


def the_worst(folder: Path) -> None:
    """Answers in one project while somebody with a key for another one sends what costs the most."""
    ask_many(folder / "worst.db", 2 * TURNS * 8 * NEAR)
    server = Server(str(folder / "worst.db"), "DFORD,Auto")
    with httpx.Client(base_url=server.url, timeout=600) as client:

        def post(path: str, **body: Any) -> Any:
            return client.post(path, json=body).raise_for_status().json()

        columns = [{"name": "size", "kind": "number"}, {"name": "note", "kind": "shown"}]
        post("/projects", name="snow", levels=LEVELS, columns=columns)
        post("/projects/snow/items", items=[{"size": float(n), "note": "x" * 9_000} for n in range(1_000)])
        root = post("/keys", role="admin", name="root")["key"]
        client.headers["Authorization"] = f"Bearer {root}"
        keys = {role: post("/projects/snow/keys", role=role, name=role)["key"] for role in ("answer", "admin")}
        keys["predict"] = post("/projects/snow/keys", role="predict", name="reader")["key"]

    def send(role: str, path: str, content: str | None, method: str = "POST") -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {keys[role]}", "Content-Type": "application/json"}
        return {"method": method, "url": f"{server.url}/projects/snow{path}", "content": content, "headers": headers}

    many = ",".join(["{}"] * 3_000_000)
    wrong, fewer = (",".join(f'"c{n}":[]' for n in range(count)) for count in (80_000, 8_000))
    beside(
        server,
        {
            "an answer of 9 MB": send("answer", "/questions/1/answer", f'{{"higher":[{many}]}}'),
            "an answer of 9 MB without the role": send("predict", "/questions/1/answer", f'{{"higher":[{many}]}}'),
            "a question about 80,000 wrong values": send("answer", "/questions", f'{{"features":{{{wrong}}}}}'),
            "3,000,000 wrong answers": send("answer", "/answers", f'{{"answers":[{many}]}}'),
            "predictions of 8,000 wrong values": send("predict", "/predictions", f'{{"rows":[{{{fewer}}}]}}'),
            "columns of 9 MB": send("admin", "/columns", f'{{"columns":[{many}]}}', "PUT"),
            "9 MB of items read": send("predict", "/items?limit=1000", None, "GET"),
        },
        root,
    )
    server.end(signal.SIGKILL)
    server.close()


def beside(server: Server, acts: dict[str, dict[str, Any]], key: str = "") -> None:
    """The p99 of answers while somebody else does each act again and again, in turns with a quiet server.

    What names its turn in its path is done once per turn.
    """
    waiting, spawn = itertools.count(1), multiprocessing.get_context("spawn")

    def p99(other: Any) -> float:
        some = [next(waiting) for _ in range(NEAR)]
        sent = other.apply(send_all, (server.url, answers(some, key=key), 8))[1]
        return 1e3 * float(np.quantile(sent, 0.99))

    with spawn.Pool(1) as other:
        p99(other)
        for act, request in acts.items():
            quiet, near = [], []
            for turn in range(TURNS):
                quiet.append(p99(other))
                begun, stop = spawn.Event(), spawn.Event()
                given = request | {"url": request["url"].format(turn=turn + 5)}, begun, stop, "{turn}" in request["url"]
                busy = spawn.Process(target=again_and_again, args=given)
                busy.start()
                begun.wait()
                near.append(p99(other))
                stop.set()
                busy.join()
            ratio = statistics.median(n / q for n, q in zip(near, quiet, strict=True))
            print(f"answers beside {act}: p99 {statistics.median(near):.0f} ms", end=", ")
            print(f"of a quiet server {statistics.median(quiet):.0f} ms; ratio {ratio:.1f}")
            goal("at most 3 times a quiet server's", ratio <= 3)


def again_and_again(request: dict[str, Any], begun: Any, stop: Any, once: bool) -> None:
    with httpx.Client(timeout=600) as client:
        begun.set()
        while not stop.is_set():
            with suppress(httpx.TransportError):  # refused while it still sends
                client.request(**request)
            if once:
                stop.wait()


if __name__ == "__main__":
    (cache := Path(__file__).parent.parent / ".cache").mkdir(exist_ok=True)  # on the project's own disk
    with tempfile.TemporaryDirectory(dir=cache) as place:
        neighbours(Path(place))
        the_worst(Path(place))
