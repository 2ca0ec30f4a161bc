"""Sixteen people who answer and undo at the same time, while someone downloads: nothing fails, nothing is lost."""

import csv
import io
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from postgres import BINARIES, new_database
from serving import COLUMNS, LEVELS, above, learned, ok, problem, replayed, serving
from test_service_people import bearer, invited, locked

PEOPLE, STEPS, ITEMS = 16, 20, 120
HONEST = {"catching-up", "busy"}  # refusals for now, of a server that is learning


class Crowd:
    """What all of them did, and what they were told."""

    def __init__(self, address: str) -> None:
        self._address, self._lock = address, threading.Lock()
        self.statuses: Counter[tuple[int, str]] = Counter()
        self.kept: set[int] = set()
        """Questions whose answers were acknowledged and not taken back."""
        self.busy = PEOPLE

    def send(self, client: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response:
        """The response, once the server is ready for it."""
        patience = time.monotonic() + 600
        while True:
            response = client.request(method, f"/projects/rain{path}", **more)
            code = "" if response.status_code < 400 else problem(response)[1]
            with self._lock:
                self.statuses[response.status_code, code] += 1
            if response.status_code != 503:
                return response
            assert time.monotonic() < patience, response.text
            time.sleep(0.02)

    def answer_and_undo(self, person: int, key: dict[str, str]) -> None:
        random, own = np.random.default_rng(person), list[int]()
        try:
            self._answer_and_undo(random, own, key)
        finally:
            with self._lock:
                self.kept |= set(own)
                self.busy -= 1

    def _answer_and_undo(self, random: Any, own: list[int], key: dict[str, str]) -> None:
        with httpx.Client(base_url=self._address, headers=key, timeout=600, verify=False) as client:
            for _ in range(STEPS):
                question = self.send(client, "POST", "/questions").json()
                wrong = bool(random.random() < 0.1)
                body = {"higher": above(question) != wrong}
                ok(self.send(client, "POST", f"/questions/{question['number']}/answer", json=body))
                own.append(question["number"])
                if random.random() < 0.15:
                    ok(self.send(client, "POST", f"/questions/{own.pop(int(random.integers(len(own))))}/retract"))

    def download(self, key: dict[str, str]) -> int:
        """Download until all others are done; returns how many files there were. Each must be of one moment."""
        files = 0
        with httpx.Client(base_url=self._address, headers=key, timeout=600, verify=False) as client:
            while self.busy:
                for path in ("/levels", "/state", "/contested", "/people", f"/remaining?target={files / 100}"):
                    ok(self.send(client, "GET", path))
                table = self.send(client, "GET", "/levels.csv")
                assert table.status_code == 200, table.text
                rows = list(csv.DictReader(io.StringIO(table.text)))
                assert len(rows) == ITEMS
                assert sum(int(row["answers"]) for row in rows) <= int(table.headers["Dford-Sequence"])
                files += 1
        return files


def crowd(file: Path | str) -> None:
    items = [{"size": float(i % 7), "colour": ["red", "blue"][i % 2], "note": f"item-{i}"} for i in range(ITEMS)]
    with serving(file, snapshot_every=50, lease_seconds=600) as client:
        body = {"name": "rain", "levels": LEVELS, "columns": COLUMNS, "learner": "Auto", "seed": 5}
        ok(client.post("/projects", json=body))
        ok(client.post("/projects/rain/items", json={"items": items}))
        people, root = Crowd(str(client.base_url)), bearer(locked(client))
        keys = invited(client, "/projects/rain", [f"person {n}" for n in range(PEOPLE)])
        with ThreadPoolExecutor(PEOPLE + 1) as threads:
            downloads = threads.submit(people.download, root)
            for done in [threads.submit(people.answer_and_undo, n, key) for n, key in enumerate(keys.values())]:
                done.result()
            assert downloads.result() > 0
        defects = {found: n for found, n in people.statuses.items() if found[0] >= 400 and found[1] not in HONEST}
        assert not defects, "each is the status and the code of a refusal"
        state = learned(client, "/projects/rain")
        assert state["answers"] == len(people.kept)
        assert state["answers"] + state["retractions"] == PEOPLE * STEPS
        final = client.get("/projects/rain/levels.csv", params={"final": True})
        assert (final.headers["Dford-Sequence"], final.headers["Dford-Stale"]) == (str(state["sequence"]), "false")
    assert replayed(file) == state["digest"]


def test_sixteen_people_answer_and_undo_while_someone_downloads(tmp_path: Path) -> None:
    crowd(tmp_path / "log.db")


@pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed")
def test_the_same_on_postgresql(cluster: str) -> None:
    crowd(new_database(cluster, "crowd"))
