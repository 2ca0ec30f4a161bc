"""Kill the server at random moments while people answer, and see that nothing acknowledged is lost or done twice."""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from postgres import BINARIES, new_database, temporary_cluster
from serving import learned, replayed, set_up

# Imports take seconds, so each server is a fork of a process that has them, and has compiled what it will call.
_NURSERY = """
import os, sys
import uvicorn
import dford.service.http.app
from dford import DFORD
from dford.cli import main
model = DFORD(levels=[1, 2, 3], random_state=0)
model.learn(model.question([1.0, 2.0], 0), True).predict([[1.0, 2.0]])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os._exit(main(["serve", *line.split()]))
    print("pid", child, flush=True)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Server:
    """`dford serve` on a database, as a process of its own, which can be started again."""

    def __init__(self, database: str, **flags: Any) -> None:
        given = {f"--{name.replace('_', '-')}": value for name, value in flags.items()}
        words = [word for flag, value in given.items() for word in ([flag] if value is True else [flag, str(value)])]
        self._line = " ".join(["--database", database, "--port", "0", *words]) + "\n"
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", _NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url, self.pid = "", 0
        self.start()

    def start(self) -> None:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(self._line)
        self._nursery.stdin.flush()
        self.url, self.pid = "", 0
        while not (self.url and self.pid):
            line = self._read()
            if line.startswith("pid "):
                self.pid = int(line.split()[1])
            else:
                assert " on http" in line, line
                self.url = line.split(" on ")[1].split(",")[0]

    def end(self, number: signal.Signals) -> int:
        """Send the signal; returns the exit status."""
        os.kill(self.pid, number)
        return int(self._read().split()[1])

    def close(self) -> None:
        """End the nursery too."""
        self._nursery.communicate()

    def _read(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline()


class Person(threading.Thread):
    """Answers what it is asked; when the line breaks it sends the same again, as it cannot know what was done."""

    def __init__(self, number: int, address: list[str], acknowledged: dict[int, tuple[bool, int]]) -> None:
        super().__init__()
        self.number, self._address, self._acknowledged = number, address, acknowledged
        self._random, self.stop = random.Random(number), False
        self.conflicts = 0

    def run(self) -> None:
        n = 0
        with httpx.Client(timeout=10) as client:
            while not self.stop:
                n += 1
                key = {"Idempotency-Key": f"{self.number}-{n}"}
                question = self._insist(client, "/questions", headers=key)
                if question is None or self.stop:
                    return
                higher = self._random.random() < 0.5
                told = self._insist(client, f"/questions/{question['number']}/answer", json={"higher": higher})
                if told is not None:
                    self._acknowledged[told["question"]] = told["higher"], told["sequence"]

    def _insist(self, client: httpx.Client, path: str, **request: Any) -> Any:
        while True:
            try:
                response = client.post(f"{self._address[0]}/projects/rain{path}", **request)
                if response.status_code == 200:
                    return response.json()
                if response.status_code == 409:
                    self.conflicts += 1
                    return None
            except httpx.TransportError:
                pass
            if self.stop:
                return None
            time.sleep(0.01)


def kill_test(database: str, kills: int, people: int, learner: str, seconds: float = 0.5, count: int = 1) -> str:
    """Run it, on one server or several, and say what was found; it raises where something is lost."""
    chance, acknowledged = random.Random(0), dict[int, tuple[bool, int]]()
    servers = [Server(database, lease_seconds=1, snapshot_every=50) for _ in range(count)]
    with httpx.Client(base_url=servers[0].url, timeout=30) as client:
        set_up(client, learner=learner)
        client.post("/projects/rain/items", json={"items": [{"size": float(i)} for i in range(200)]})
    addresses = [[server.url] for server in servers]
    crowd = [Person(n, addresses[n % count], acknowledged) for n in range(people)]
    for person in crowd:
        person.start()
    try:
        for _ in range(kills):
            if chance.random() < 0.8:  # or else before it has so much as begun
                before, patience = len(acknowledged), time.monotonic() + 60
                while len(acknowledged) == before and time.monotonic() < patience:
                    time.sleep(0.002)
            time.sleep(chance.uniform(0.0, seconds))
            unlucky = chance.randrange(count)
            servers[unlucky].end(signal.SIGKILL)
            servers[unlucky].start()
            addresses[unlucky][0] = servers[unlucky].url
    finally:
        for person in crowd:
            person.stop = True
        for person in crowd:
            person.join()
    states, closing = [], 0.0
    for server in servers:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            states.append(learned(client, "/projects/rain")["digest"])
            answers = _answers(client, acknowledged)
        began = time.perf_counter()
        assert server.end(signal.SIGTERM) == 0
        closing = max(closing, time.perf_counter() - began)
        server.close()
    clean = replayed(database)  # with integrity_check, and every snapshot against the log
    lost = [n for n, told in acknowledged.items() if answers.get(n) != told]
    assert len(acknowledged) > kills, "the server was killed before anybody could answer"
    assert not lost, f"{len(lost)} acknowledged answers are not in the log, among them question {lost[0]}"
    assert sum(person.conflicts for person in crowd) == 0
    assert states == [clean] * count
    assert closing < 5
    return (
        f"{kills} kills, {count} server(s), {people} people, {learner}: {len(acknowledged)} answers acknowledged, "
        f"0 lost, 0 twice; state equal to a clean replay; closed in {closing:.1f} s"
    )


def _answers(client: httpx.Client, acknowledged: dict[int, tuple[bool, int]]) -> dict[int, tuple[bool, int]]:
    """What the log says, asked for by repeating each answer; one applied twice would have two sequence numbers."""
    found = {}
    for number, (higher, _) in acknowledged.items():
        told = client.post(f"/projects/rain/questions/{number}/answer", json={"higher": higher})
        if told.status_code == 200:
            found[number] = told.json()["higher"], told.json()["sequence"]
    twice = [n for n, count in Counter(sequence for _, sequence in found.values()).items() if count > 1]
    assert not twice
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--learner", default="DFORD")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own, instead of SQLite")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder, ExitStack() as stack:
        place = str(Path(folder) / "log.db")
        if chosen.postgres:
            if not BINARIES:
                sys.exit("PostgreSQL is not installed")
            place = new_database(stack.enter_context(temporary_cluster()), "killed")
        print(kill_test(place, chosen.kills, chosen.people, chosen.learner, count=chosen.servers))
