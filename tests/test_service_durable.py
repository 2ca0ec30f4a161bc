"""What must survive: kills, a full disk, a file that cannot be written, any order of calls, later versions."""

import math
import os
import shutil
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dford.service.core import Service
from dford.service.learning.snapshots import snapshots_to_keep
from dford.service.learning.verify import verify
from dford.service.projects import settling
from dford.service.settings import Settings
from dford.service.store.database import Database
from killing import Server, kill_test
from serving import LEVELS, ROWS, caught_up, learned, ok, problem, question_for, replayed, serving, set_up

SAVED = Path(__file__).parent / "saved" / "0.1.0-service.db"


@pytest.mark.parametrize(("learner", "kills"), [("DFORD", 4), ("NewtonLogit", 3)])
def test_killed_at_random_moments_it_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, learner: str, kills: int
) -> None:
    kill_test(str(tmp_path / "log.db"), kills=kills, people=6, learner=learner, seconds=0.2)


def test_sigterm_ends_cleanly_and_the_next_start_has_nothing_to_replay(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    server = Server(str(file))
    import httpx

    with httpx.Client(base_url=server.url, timeout=600) as client:
        project = set_up(client)
        for _ in range(3):
            number = question_for(client, project)["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
        learned(client, project)
    begin = time.perf_counter()
    assert server.end(signal.SIGTERM) == 0
    assert time.perf_counter() - begin < 5
    server.close()
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT max(sequence) FROM snapshots").fetchone() == (3,)
    database.close()


def answer(client: Any, project: str, higher: bool = True) -> Any:
    number = client.post(f"{project}/questions").json().get("number", 0)
    return client.post(f"{project}/questions/{number}/answer", json={"higher": higher})


def pragma(database: Database, setting: str) -> None:
    """Set it on the one connection that the writer uses."""
    with closing(database._write_engine.raw_connection()) as connection:
        connection.cursor().execute(setting)


@pytest.mark.parametrize("trouble", ["PRAGMA max_page_count = 1", "PRAGMA query_only = ON"])
def test_a_full_disk_or_read_only_file_is_reported_clearly_and_the_server_stays_up(
    tmp_path: Path, trouble: str
) -> None:
    file = tmp_path / "log.db"
    service = Service(Settings(database=str(file)))
    database, writer = service.database, service.writer
    pragma(database, trouble)
    try:
        job = sa.text("CREATE TABLE large AS SELECT zeroblob(100000) AS bytes")
        waiting = [writer.submit(None, lambda connection: connection.execute(job)) for _ in range(5)]
        for one in waiting:
            with pytest.raises(ValueError, match="could not be written .*, so nothing was done"):
                one.result(10)
        pragma(database, "PRAGMA max_page_count = 1000000")
        pragma(database, "PRAGMA query_only = OFF")
        writer.submit(None, lambda connection: connection.execute(job)).result(10)
    finally:
        service.close()


def test_a_job_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    service = Service(Settings(database=str(tmp_path / "log.db")))
    writer, gate = service.writer, threading.Event()
    table = sa.text("CREATE TABLE t (a INTEGER UNIQUE)")
    writer.do(None, lambda connection: connection.execute(table))

    def add(a: int) -> Any:
        return lambda connection: connection.execute(sa.text(f"INSERT INTO t VALUES ({a})")).rowcount

    def defect(connection: sa.Connection) -> None:
        add(99)(connection)
        raise KeyError("a defect")

    try:
        first = writer.submit(None, lambda _: gate.wait(600))
        group = [writer.submit(None, job) for job in (add(1), defect, add(2), add(3))]
        gate.set()
        first.result(10)
        assert [group[i].result(10) for i in (0, 2, 3)] == [1, 1, 1]
        with pytest.raises(KeyError, match="a defect"):
            group[1].result(10)
        with service.database.reading() as connection:
            assert connection.scalars(sa.text("SELECT a FROM t ORDER BY a")).all() == [1, 2, 3]
    finally:
        service.close()


def test_waiting_writes_share_one_commit(tmp_path: Path) -> None:
    service = Service(Settings(database=str(tmp_path / "log.db")))
    writer, begun, gate = service.writer, threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        assert gate.wait(600)

    try:
        writer.submit(None, hold)
        assert begun.wait(600)
        group = [writer.submit(None, lambda connection: connection.scalar(sa.text("SELECT 7"))) for _ in range(50)]
        gate.set()
        assert [one.result(10) for one in group] == [7] * 50
        assert writer.commits == 2
    finally:
        service.close()


@hypothesis.given(st.lists(st.integers(1, 50), min_size=1, max_size=200))
def test_snapshots_are_few_and_a_retraction_relearns_at_most_twice_what_came_since(gaps: list[int]) -> None:
    kept: list[int] = []
    head = 0
    for gap in gaps:
        head += gap
        kept = snapshots_to_keep([head, *kept])
        assert kept[0] == head
        assert len(kept) <= 2 * math.log2(head) + 3
        for answer in range(1, head + 1):
            since = head - answer + 1
            learned_again = head - max((k for k in kept if k < answer), default=0)
            assert learned_again <= max(2 * since, since + max(gaps))


def test_a_snapshot_that_lies_is_found(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    with serving(file, snapshot_every=5) as client:
        project = set_up(client)
        for i in range(12):
            ok(answer(client, project, higher=bool(i % 2)))
        learned(client, project)
    with sqlite3.connect(file) as database:
        database.execute("UPDATE answers SET higher = 1 - higher WHERE sequence = 2")
    database.close()
    service = Service(Settings(database=str(file)))
    try:
        faults = verify(service.database, service.project("rain")).faults
        assert faults
        assert "is not the state that its answers lead to" in faults[0]
    finally:
        service.close()


def test_a_database_of_an_earlier_version_opens_and_continues(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    shutil.copy(SAVED, file)
    before = replayed(file)
    with serving(file) as client:
        state = learned(client, "/projects/rain")
        assert (state["answers"], state["retractions"], state["digest"]) == (11, 1, before)
        ok(answer(client, "/projects/rain"))
    assert replayed(file) != before


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    Service(Settings(database=str(file))).close()
    with sqlite3.connect(file) as database:
        database.execute("INSERT INTO schema_version VALUES (99)")
    database.close()
    with pytest.raises(ValueError, match="version 99, .* install a newer dford"):
        Service(Settings(database=str(file)))


class Rounds(RuleBasedStateMachine):
    """Any order of asking, answering (late, twice, differently), skipping, retracting and restarting."""

    said: ClassVar[dict[str, Any]] = {"learner": "DFORD"}

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "log.db"
        self.open()
        self.project = set_up(self.client, **self.said)
        self.settled: dict[int, str] = {}
        self.answers: dict[int, bool] = {}
        self.fates: dict[int, str] = {}
        self.items: dict[int, int] = {}

    def open(self) -> None:
        self.server = serving(self.file, snapshot_every=3, lease_seconds=1000)
        self.client = self.server.__enter__()

    @precondition(lambda self: list(self.fates.values()).count("open") + len(self.settled) < len(ROWS))
    @rule()
    def ask(self) -> None:
        question = ok(self.client.post(f"{self.project}/questions"))
        assert question["item"] not in {self.items[n] for n, fate in self.fates.items() if fate == "open"}
        self.fates[question["number"]] = "open"
        self.items[question["number"]] = question["item"]

    @precondition(lambda self: self.fates)
    @rule(data=st.data(), act=st.sampled_from(["yes", "no", "skip", "retract"]))
    def act(self, data: st.DataObject, act: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.fates)))
        fate, address = self.fates[number], f"{self.project}/questions/{number}"
        if act in {"yes", "no"}:
            higher = act == "yes"
            response = self.client.post(f"{address}/answer", json={"higher": higher})
            allowed = fate == "open" or (fate == "answered" and self.answers[number] == higher)
            new = "answered"
            if allowed:
                self.answers[number] = higher
        else:
            response = self.client.post(f"{address}/{act}")
            done = {"skip": "skipped", "retract": "retracted"}[act]
            allowed = fate in {{"skip": "open", "retract": "answered"}[act], done}
            new = done
        if allowed:
            ok(response)
            self.fates[number] = new
        else:
            assert problem(response)[0] == 409
        assert ok(self.client.get(address))["fate"] == self.fates[number]

    @rule()
    def restart(self) -> None:
        self.server.__exit__(None, None, None)
        self.open()

    @invariant()
    def counts_match_what_happened(self) -> None:
        if hasattr(self, "client"):
            state = caught_up(self.client, self.project)
            fates = list(self.fates.values())
            assert state["answers"] == fates.count("answered")
            assert state["open"] == fates.count("open")

    def teardown(self) -> None:
        if hasattr(self, "client"):
            state = learned(self.client, self.project)
            self.server.__exit__(None, None, None)
            assert state["digest"] == replayed(self.file)
            self.folder.cleanup()


class PlacedRounds(Rounds):
    """The same, while levels are settled and retracted, and judge whoever is asked about them."""

    said: ClassVar[dict[str, Any]] = {"learner": "NewtonLogit", "gold": 0.3}

    @rule(item=st.integers(1, 8), level=st.sampled_from([*LEVELS, None]))
    def settle(self, item: int, level: str | None) -> None:
        if level is None:
            assert self.client.delete(f"{self.project}/settled/{item}").status_code == 204
            self.settled.pop(item, None)
        else:
            ok(self.client.put(f"{self.project}/settled/{item}", json={"level": level}))
            self.settled[item] = level

    @invariant()
    def levels_are_settled_as_last_said(self) -> None:
        if hasattr(self, "client"):
            found = settling.in_force(self.client.service.database, self.client.service.project("rain"))
            assert {item: LEVELS[one.lowest - 1] for item, one in found.items()} == self.settled


# the same few sequences each time; in the long suite many, and others each time
_MANY = "DFORD_STREAMS" in os.environ
TestRounds = pytest.mark.slow(Rounds.TestCase)
TestPlacedRounds = pytest.mark.slow(PlacedRounds.TestCase)
TestRounds.settings = TestPlacedRounds.settings = hypothesis.settings(
    max_examples=30 if _MANY else 3, stateful_step_count=40 if _MANY else 15, deadline=None, derandomize=not _MANY
)
