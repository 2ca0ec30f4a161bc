"""Kill the server at random moments while people answer, and check that nothing acknowledged is lost or done twice."""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import sqlalchemy as sa

from dford.service.store import schema
from dford.service.store.database import Database
from forking import Command
from postgres import BINARIES, new_database, temporary_cluster
from serving import LEVELS, learned, replayed, set_up


class Server:
    """`dford serve` on a database, in a process of its own that can be started again."""

    def __init__(self, database: str, learners: str = "DFORD", **flags: Any) -> None:
        given = {f"--{name.replace('_', '-')}": value for name, value in flags.items()}
        words = [word for flag, value in given.items() for word in ([flag] if value is True else [flag, str(value)])]
        self._words, self._learners = ["serve", "--database", database, "--port", "0", *words], learners.split(",")
        self.start()

    def start(self) -> None:
        self._command = Command(self._words, self._learners, keeps_stderr=True)
        self.pid, line = self._command.pid, self._command.stdout.readline()
        assert " on http" in line, (line, self._command.communicate())
        self.url = line.split(" on ")[1].split(",")[0]

    def end(self, number: signal.Signals) -> int:
        """Send the signal; returns the exit status."""
        self._command.send_signal(number)
        status = self._command.wait()
        assert status is not None
        return status

    def close(self) -> None:
        self._command.close()


class Told(NamedTuple):
    """What was acknowledged, by question: answers and retractions with their place in the log, and skips.

    And by their place in the log, what was settled: items and their lowest possible levels; and ratings of items.
    """

    answers: dict[int, tuple[bool, int]]
    retractions: dict[int, int]
    skips: dict[int, bool]
    settled: dict[int, tuple[int, int]]
    rated: dict[int, tuple[int, int]]


class Person(threading.Thread):
    """Answers questions, skips some and retracts some, and settles levels where they are known; when the connection
    breaks it sends the same again, as it cannot know what was done."""

    def __init__(self, number: int, address: list[str], told: Told, settles: bool) -> None:
        super().__init__()
        self.number, self._address, self._told, self._settles = number, address, told, settles
        self._random, self.stop = random.Random(number), False
        self.conflicts: list[str] = []

    def run(self) -> None:
        n = 0
        with httpx.Client(timeout=10) as client:
            while not self.stop:
                n += 1
                key = {"Idempotency-Key": f"{self.number}-{n}"}
                question = self._insist(client, "/questions", headers=key)
                if question is not None:
                    self._play(client, question["number"])

    def _play(self, client: httpx.Client, number: int) -> None:
        path, act = f"/questions/{number}", self._random.random()
        if act < 0.05:
            if self._insist(client, f"{path}/skip") is not None:
                self._told.skips[number] = True
            return
        said = {"rating": self._random.choice(LEVELS)} if act < 0.1 else {"higher": self._random.random() < 0.5}
        told = self._insist(client, f"{path}/answer", json=said)
        if told is None:
            return
        self._told.answers[number] = told["higher"], told["sequence"]
        if act > 0.95:
            back = self._insist(client, f"{path}/retract")
            if back is not None:
                self._told.retractions[number] = back["sequence"]

        if self._settles and 0.9 < act < 0.95:
            self._settle(client)
        if self._settles and 0.8 < act < 0.85:
            self._rate(client)

    def _rate(self, client: httpx.Client) -> None:
        given = [(self._random.randrange(1, 231), self._random.randrange(4)) for _ in range(3)]
        body = {"ratings": [{"item": item, "level": LEVELS[place]} for item, place in given]}
        said = self._insist(client, "/ratings", json=body)
        if said is not None:
            self._told.rated.update(
                {number: (item, place + 1) for number, (item, place) in zip(said["ratings"], given, strict=True)}
            )

    def _settle(self, client: httpx.Client) -> None:
        # 30 of 230 items, so that most are left to ask about
        path, lowest = f"/settled/{self._random.randrange(1, 31)}", self._random.randrange(3)
        ends = {"lowest": LEVELS[lowest], "highest": LEVELS[lowest + 1]}
        said = self._insist(client, path, "PUT", json=ends)
        if said is not None:
            self._told.settled[said["sequence"]] = said["item"], lowest + 1
        if self._random.random() < 0.3:
            self._insist(client, path, "DELETE")

    def _insist(self, client: httpx.Client, path: str, method: str = "POST", **request: Any) -> Any:
        while not self.stop:
            try:
                response = client.request(method, f"{self._address[0]}/projects/rain{path}", **request)
                if response.is_success:
                    return response.json() if response.content else None
                if response.status_code == 409:
                    self.conflicts.append(response.text)
                    return None
            except httpx.TransportError:
                pass
            time.sleep(0.01)
        return None


def kill_test(database: str, kills: int, people: int, learner: str, seconds: float = 0.5, count: int = 1) -> str:
    """Run it, on one server or several, and report what was found; raises if anything is lost."""
    chance, told = random.Random(0), Told({}, {}, {}, {}, {})
    servers = [Server(database, learner, lease_seconds=1, snapshot_every=50) for _ in range(count)]
    with httpx.Client(base_url=servers[0].url, timeout=600) as client:
        set_up(client, learner=learner)
        client.post("/projects/rain/items", json={"items": [{"size": float(i)} for i in range(200)]})
    addresses = [[server.url] for server in servers]
    crowd = [Person(n, addresses[n % count], told, learner != "DFORD") for n in range(people)]
    for person in crowd:
        person.start()
    try:
        for _ in range(kills):
            if chance.random() < 0.8:  # otherwise before it has even begun
                before, patience = len(told.answers), time.monotonic() + 6000
                while len(told.answers) == before and time.monotonic() < patience:
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
        with httpx.Client(base_url=server.url, timeout=600) as client:
            states.append(learned(client, "/projects/rain")["digest"])
        began = time.perf_counter()
        assert server.end(signal.SIGTERM) == 0
        closing = max(closing, time.perf_counter() - began)
        server.close()
    clean = replayed(database)  # with integrity_check, and every snapshot against the log
    assert len(told.answers) > kills, "the server was killed before anybody could answer"
    assert [one for person in crowd for one in person.conflicts] == []
    _compare(database, told)
    assert states == [clean] * count
    assert closing < 5
    return (
        f"{kills} kills, {count} server(s), {people} people, {learner}: {len(told.answers):,} answers, "
        f"{len(told.retractions):,} retractions, {len(told.skips):,} skips, {len(told.settled):,} settled levels "
        f"and {len(told.rated):,} ratings acknowledged, 0 lost, 0 twice; "
        f"state equal to a clean replay; closed in {closing:.1f} s"
    )


def _compare(database: str, told: Told) -> None:
    """All that was acknowledged is in the log, once and as acknowledged. (There may be more.)"""
    opened = Database(database)
    with opened.reading() as connection:
        answers = connection.execute(sa.select(schema.answers)).all()
        retractions = connection.execute(sa.select(schema.retractions)).all()
        skips = connection.execute(sa.select(schema.skips)).all()
        settled = connection.execute(sa.select(schema.settlements)).all()
        asked = connection.execute(sa.select(schema.questions.c.number, schema.questions.c.item)).all()
    opened.close()
    items = {row.number: row.item for row in asked}
    rated = {row.sequence: (items[row.question], row.rating) for row in answers if row.rating is not None}
    unasked = [rated[row.sequence] for row in answers if row.question < 0]
    assert len(set(unasked)) == len(unasked), "applied twice"  # all by the same person
    for rows in (answers, retractions, skips):
        assert len({row.question for row in rows}) == len(rows), "applied twice"
    kept = Told(
        {row.question: (bool(row.higher), row.sequence) for row in answers},
        {row.question: row.sequence for row in retractions},
        {row.question: True for row in skips},
        {row.sequence: (row.item, row.lowest) for row in settled},
        rated,
    )
    pairs: Iterator[tuple[dict[int, Any], dict[int, Any]]] = zip(told, kept, strict=True)
    for acknowledged, there in pairs:
        lost = [number for number, what in acknowledged.items() if there.get(number) != what]
        assert not lost, f"{len(lost)} acknowledged are not in the log, such as {lost[0]}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--learner", default="Auto")
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
