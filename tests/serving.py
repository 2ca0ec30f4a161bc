"""What the tests of the service share: a service on a file, its HTTP client, and a small project."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn
from prometheus_client.parser import text_string_to_metric_families

from dford import DFORD, Auto, NewtonLogit
from dford.service.core import Service
from dford.service.http.server import configured
from dford.service.learning.verify import verify
from dford.service.settings import Settings

LEVELS = ["calm", "mild", "strong", "severe"]
ROWS = [{"size": float(i % 7), "colour": ["red", "blue"][i % 2], "note": f"item-{i}"} for i in range(30)]
COLUMNS = [
    {"name": "size", "kind": "number", "mean": 3.0},
    {"name": "colour", "kind": "category", "categories": ["blue", "red"]},
    {"name": "note", "kind": "shown"},
]


@cache
def compiled() -> None:
    """Compile what a server calls, once, and keep it on disk for other processes: no test waits for it."""
    for learner in (Auto, DFORD, NewtonLogit):
        model: Any = learner(levels=LEVELS, random_state=0)
        rows = np.arange(660.0).reshape(220, 3) % 7  # trees, too
        for n, x in enumerate(rows):
            model.learn(model.question(x, n), bool(n % 4 > 1))
        model.learn_many(rows, *np.full((2, 220), LEVELS[0]), np.full(220, 1 / 3), np.arange(220) % 4 > 1)
        model.predict(rows)
        model.to_bytes()


@contextmanager
def serving(file: Path | str, port: int = 0, **settings: Any) -> Iterator[Any]:
    """A client of a real server on this file, closed at the end."""
    compiled()
    service = Service(Settings(database=str(file), **settings))
    config = configured(service, "test", port=port, log_level="error", timeout_graceful_shutdown=1)
    server, socket = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        address = f"http://127.0.0.1:{socket.getsockname()[1]}"
        with httpx.Client(base_url=address, timeout=600, verify=False) as client:  # certificates take time to read
            client.service = service  # type: ignore[attr-defined]  # for tests that look behind HTTP
            client.app = config.app  # type: ignore[attr-defined]
            yield client
    finally:
        server.should_exit = True
        thread.join()
        socket.close()
        service.close()
        service._folds.threads.shutdown()


def set_up(client: Any, name: str = "rain", learner: str = "DFORD", **more: Any) -> str:
    """A project with thirty items; returns its address."""
    body = {"name": name, "levels": LEVELS, "columns": COLUMNS, "learner": learner, "seed": 5, **more}
    assert client.post("/projects", json=body).status_code == 201
    assert client.post(f"/projects/{name}/items", json={"items": ROWS}).status_code == 201
    return f"/projects/{name}"


def ok(response: Any) -> Any:
    assert response.status_code in {200, 201}, response.text
    return response.json()


def requests(client: Any, method: str, path: str, status: int) -> float:
    """How many such requests the server has counted."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    labels = {"method": method, "path": path, "status": str(status)}
    samples = [sample for family in families if family.name == "dford_requests" for sample in family.samples]
    return sum(sample.value for sample in samples if sample.labels == labels)


def problem(response: Any) -> tuple[int, str]:
    """The status and the code of an error, which has the shape that all errors have."""
    body = response.json()
    assert set(body) == {"code", "sentence", "field"}
    assert body["sentence"]
    return response.status_code, body["code"]


def caught_up(client: Any, project: str, **request: Any) -> dict[str, Any]:
    """The state, once there is one: a server that has just started, or is busy, may say to try again in a moment."""
    patience = time.monotonic() + 600
    while (response := client.get(f"{project}/state", **request)).status_code == 503:
        assert problem(response)[1] in {"catching-up", "busy"}
        assert time.monotonic() < patience, response.text
        time.sleep(0.01)
    state: dict[str, Any] = ok(response)
    return state


def learned(client: Any, project: str) -> dict[str, Any]:
    """The state, once all answers are learned, and none that was taken back."""
    patience = time.monotonic() + 600
    while time.monotonic() < patience:
        state = caught_up(client, project, params={"digest": True})
        if state["learned"] == state["sequence"] and not state["stale"]:
            return state
        time.sleep(0.01)  # a digest takes time, and asking for one holds up the learning
    raise AssertionError("the answers were not learned")


def replayed(file: Path | str, name: str = "rain") -> str:
    """The digest of a clean replay of the whole log, which must find nothing wrong."""
    service = Service(Settings(database=str(file)))
    try:
        report = verify(service.database, service.project(name))
        assert report.faults == report.remarks == []
        assert service.database.integrity() == "ok"
        return report.digest
    finally:
        service.close()


def above(question: dict[str, Any]) -> bool:
    return bool(question["shown"]["size"] / 2 > LEVELS.index(question["level"]))


def question_for(client: Any, project: str, **request: Any) -> dict[str, Any]:
    """A question, once there is one: a server whose learner is being loaded or behind says to try again in a moment."""
    patience = time.monotonic() + 600
    while (response := client.post(f"{project}/questions", **request)).status_code == 503:
        assert problem(response)[1] in {"catching-up", "busy"}
        assert time.monotonic() < patience, response.text
        time.sleep(0.01)
    question: dict[str, Any] = ok(response)
    return question


def answer_some(client: Any, project: str, count: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(count):
        question = question_for(client, project)
        ok(client.post(f"{project}/questions/{question['number']}/answer", json={"higher": above(question)}))
        asked.append(question)
    return asked
