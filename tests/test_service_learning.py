"""Learning after a start, after a retraction, after a kill: what answers has learned what it says it has."""

import csv
import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dford.columns import Column
from dford.log_columns import About
from dford.service.core import Service
from dford.service.learning import fold as folding
from dford.service.learning import keeping, log_reader, snapshots, states
from dford.service.learning.learned import Learned, new
from dford.service.projects import projects
from dford.service.projects.uploads import ReadyRound
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store import schema
from killing import Server
from serving import LEVELS, answer_some, learned, ok, problem, question_for, replayed, serving, set_up

STATE_DEPENDENT = [
    ("GET", "/state", None),
    ("POST", "/questions", None),
    ("POST", "/predictions", {"items": [1]}),
    ("GET", "/levels", None),
    ("GET", "/levels.csv", None),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


class Gate:
    """Learning that stops where a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.learned, self.at, learn = threading.Event(), 0, 10**9, Learned.learn

        def learn_here(model: Learned, page: Any, part: slice, *between: Any) -> None:
            if self.learned >= self.at:
                assert self.open.wait(600)
            learn(model, page, part, *between)
            self.learned += len(page.level[part])

        monkeypatch.setattr(Learned, "learn", learn_here)


def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a learner is refused at once, long before the request has taken too long."""
    ready, wait = folding.Fold.ready, folding.Fold.wait
    monkeypatch.setattr(folding.Fold, "ready", lambda fold, _: ready(fold, 0.1))
    monkeypatch.setattr(folding.Fold, "wait", lambda fold, head, _, *more, **how: wait(fold, head, 0.1, *more, **how))


def forget_snapshots(file: Path) -> None:
    service = Service(Settings(database=str(file)))
    with service.database.writing() as connection:
        connection.execute(schema.snapshots.delete())
    service.close()


def levels_of(client: Any) -> list[str]:
    response = client.get("/projects/rain/levels.csv")
    assert response.status_code == 200, response.text
    return [row["level"] for row in csv.DictReader(io.StringIO(response.text))]


@pytest.mark.parametrize("learner", ["NewtonLogit", "Auto"])
def test_a_state_that_has_not_caught_up_answers_nobody(
    file: Path, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(file) as client:
        answer_some(client, set_up(client, learner=learner), 60)
        trained, digest = levels_of(client), learned(client, "/projects/rain")["digest"]
    forget_snapshots(file)  # as if it had been killed before the first
    monkeypatch.setattr(log_reader, "PAGE", 10)
    monkeypatch.setattr(log_reader, "MANY", 10)
    gate = Gate(monkeypatch)
    gate.at = 30
    without_patience(monkeypatch)
    with serving(file) as client:
        patience = time.monotonic() + 600
        while "30 of 60" not in client.get("/projects/rain/state").text:
            assert time.monotonic() < patience
        for method, path, body in STATE_DEPENDENT:
            response = client.request(method, f"/projects/rain{path}", json=body)
            assert problem(response) == (503, "catching-up"), path
            assert "30 of 60 answers learned" in response.json()["sentence"]
            assert response.headers["Retry-After"]
        assert ok(client.get("/projects/rain"))["name"] == "rain"
        gate.open.set()
        assert learned(client, "/projects/rain")["digest"] == digest
        assert levels_of(client) == trained


def test_until_a_retraction_is_unlearned_it_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file) as client:
        project = set_up(client, learner="NewtonLogit")
        asked = answer_some(client, project, 40)
        learned(client, project)
        without_patience(monkeypatch)
        gate = Gate(monkeypatch)
        gate.at = 0
        ok(client.post(f"{project}/questions/{asked[2]['number']}/retract"))
        patience = time.monotonic() + 600
        while not ok(client.get(f"{project}/state"))["stale"]:
            assert time.monotonic() < patience
        assert ok(client.post(f"{project}/predictions", json={"items": [1]}))["stale"]
        assert ok(client.get(f"{project}/levels"))["stale"]
        table = client.get(f"{project}/levels.csv")
        assert table.status_code == 200, table.text
        assert table.headers["Dford-Stale"] == "true"
        assert table.headers["Dford-Sequence"] in {"40", "41"}  # the retraction has a number, too
        counts = [int(row["answers"]) for row in csv.DictReader(io.StringIO(table.text))]
        assert sum(counts) == 40, "it is what the answers led to that the levels come from"
        assert problem(client.get(f"{project}/levels.csv", params={"final": True})) == (503, "catching-up")
        question_for(client, project)
        gate.open.set()
        state = learned(client, "/projects/rain")
        assert not ok(client.post(f"{project}/predictions", json={"items": [1]}))["stale"]
        assert len(levels_of(client)) == 30
    assert replayed(file) == state["digest"]


class DuringReplacement:
    """Does something before each page that a state which is not in use learns."""

    def __init__(self, fold: folding.Fold, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages, learn = 0, Learned.learn
        self.do: Callable[[], None] = lambda: None

        def learn_here(model: Learned, page: Any, part: slice, *between: Any) -> None:
            if fold._state is not None and model is not fold._state.model:
                self.pages += 1
                self.do()
            learn(model, page, part, *between)

        monkeypatch.setattr(Learned, "learn", learn_here)


@pytest.fixture
def long_ago(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a project with sixty answers, of which each page has five, and its questions."""
    with serving(file) as client:
        asked = answer_some(client, set_up(client, learner="NewtonLogit"), 60)
        learned(client, "/projects/rain")
        forget_snapshots(file)
        monkeypatch.setattr(log_reader, "PAGE", 5)
        yield client, [one["number"] for one in asked]


def test_while_an_answer_is_unlearned_new_ones_are_learned(
    file: Path, long_ago: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, asked = long_ago
    fold = client.service.fold(client.service.project("rain"))
    during, heads, seen = DuringReplacement(fold, monkeypatch), list[int](), list[int]()

    def answer() -> None:
        seen.append(fold.sequence)
        if len(heads) < 5:
            number = question_for(client, "/projects/rain")["number"]
            told = ok(client.post(f"/projects/rain/questions/{number}/answer", json={"higher": True}))
            heads.append(told["sequence"])

    during.do = answer
    ok(client.post(f"/projects/rain/questions/{asked[1]}/retract"))
    state = learned(client, "/projects/rain")
    assert heads == [62, 63, 64, 65, 66]
    assert seen[:6] == [61, *heads]
    assert state["answers"] == 64
    assert replayed(file) == state["digest"]


def test_an_undo_is_unlearned_however_many_others_follow(
    file: Path, long_ago: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, asked = long_ago
    fold = client.service.fold(client.service.project("rain"))
    during, seen = DuringReplacement(fold, monkeypatch), list[int]()

    def undo() -> None:
        seen.append(fold._state.as_of)
        if len(seen) < 30:  # before the next five of sixty are learned
            ok(client.post(f"/projects/rain/questions/{asked[len(seen)]}/retract"))

    during.do = undo
    ok(client.post(f"/projects/rain/questions/{asked[0]}/retract"))
    state = learned(client, "/projects/rain")
    assert len(set(seen[:29])) > 1, "while there was always another undo, no state without an earlier one was in use"
    assert (state["answers"], state["retractions"]) == (30, 30)
    assert replayed(file) == state["digest"]


def test_a_replacement_that_fails_is_begun_again_and_the_old_state_stays_in_use(
    file: Path, long_ago: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, asked = long_ago
    fold = client.service.fold(client.service.project("rain"))
    during = DuringReplacement(fold, monkeypatch)

    def fail() -> None:
        if during.pages == 3:
            raise MemoryError("no room")

    during.do = fail
    ok(client.post(f"/projects/rain/questions/{asked[0]}/retract"))
    patience = time.monotonic() + 600
    while fold.failure is None and during.pages <= 3:
        assert time.monotonic() < patience
        time.sleep(0.01)
    assert client.get("/projects/rain/levels.csv").status_code == 200
    assert replayed(file) == learned(client, "/projects/rain")["digest"]


def test_what_another_server_was_told_is_learned_or_reported(file: Path) -> None:
    """Predictions and levels look at the log, and not at what this server alone has heard."""
    with serving(file) as here, serving(file) as there:
        project = set_up(here, learner="NewtonLogit")
        for client in (here, there):
            ok(client.get(f"{project}/state"))
        asked = answer_some(here, project, 20)

        def seen(client: Any) -> int:
            return int(ok(client.post(f"{project}/predictions", json={"items": [1]}))["sequence"])

        patience = time.monotonic() + 600
        while min(seen(here), seen(there)) < 20:
            assert time.monotonic() < patience
        for n, question in enumerate(asked[:5], 21):
            ok(here.post(f"{project}/questions/{question['number']}/retract"))
            for client in (here, there):
                shown = ok(client.post(f"{project}/predictions", json={"items": [1]}))
                assert shown["stale"] or shown["sequence"] == n


def test_a_rebuilt_state_is_not_taken_for_the_old_one_of_the_same_number(file: Path) -> None:
    service = Service(Settings(database=str(file)))
    try:
        build(file, 30, 2, "NewtonLogit")
        fold = service.fold(service.project("rain"))
        assert fold.wait(30, 600)
        before = fold.packed(id)[0]
        other = new(service.project("rain"))
        fold._state = states.State(other, 30, 30)
        assert fold.packed(id)[0].model == other.learner.packing(log=False)() != before.model
    finally:
        service.close()


def died(*_: Any) -> None:
    raise SystemExit("killed")


@pytest.mark.parametrize("retracted", [False, True])
def test_catching_up_makes_lasting_progress_whatever_is_killed(
    file: Path, retracted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "PAGE", 10)
    monkeypatch.setattr(log_reader, "MANY", 10)
    monkeypatch.setattr(keeping, "_KEPT", 0.0)
    monkeypatch.setattr(keeping, "_SHARE", 0)
    with serving(file) as client:
        project = set_up(client, learner="NewtonLogit")
        asked = answer_some(client, project, 100)
        if retracted:
            ok(client.post(f"{project}/questions/{asked[1]['number']}/retract"))
        digest = learned(client, "/projects/rain")["digest"]
    forget_snapshots(file)
    learn, count, lives = Learned.learn, 0, 0
    while True:
        lives += 1
        service = Service(Settings(database=str(file)))
        pages = 0

        def two_pages(model: Learned, page: Any, part: slice, *between: Any) -> None:
            nonlocal pages, count
            pages += 1
            if pages > 2:
                died()
            learn(model, page, part, *between)
            count += len(page.level[part])

        monkeypatch.setattr(Learned, "learn", two_pages)
        monkeypatch.setattr(folding.Fold, "close", lambda self: None)  # a kill keeps nothing
        fold = folding.Fold(service.database, service.writer, service.project("rain"), service._folds.threads, 10**9)
        try:
            fold._catch_up()
            done = fold._state is not None and fold.sequence >= 100 and not fold.is_replaced
            if done:
                assert fold.digest()[1] == digest
        finally:
            service.close()
        if done:
            break
        assert lives < 12
    assert count <= 100 + 10 * lives


def test_a_snapshot_that_is_not_written_is_counted_and_reported(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from dford.service.refusal import Refusal

    def full(*_: Any, **__: Any) -> None:
        raise Refusal(503, "not-written", "the disk is full")

    monkeypatch.setattr(snapshots, "keep", full)
    with serving(file, snapshot_every=5) as client:
        answer_some(client, set_up(client), 12)
        learned(client, "/projects/rain")
        assert client.service.folds()[0].keeping.failed >= 1
        assert "dford_snapshots_failed_total" in client.get("/metrics").text
    assert "was not kept: the disk is full" in caplog.text


def test_what_was_taken_back_is_told_from_what_is_not_learned_yet(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    with serving(file) as client:
        answer_some(client, set_up(client), 3)
        learned(client, "/projects/rain")
        fold = client.service.folds()[0]
        monkeypatch.setattr(fold, "_apart", states.State(fold._state.model, 0, 0))
        sentence = "project rain is learning again without what was taken back: 0 of 3 answers learned; try again"
        assert sentence in fold.catching_up().sentence


def build(file: Path, count: int, width: int, learner: str) -> None:
    """A log of many answers about rows of mostly zeros."""
    import numpy as np

    random = np.random.default_rng(0)
    X = np.where(random.random((count, width)) < 0.06, random.random((count, width)), 0.0)
    service = Service(Settings(database=str(file), request_seconds=600))
    number = service.write(None, lambda c: projects.create(c, "rain", LEVELS, learner, {}, 0))
    columns = [Column(f"c{i}", "number") for i in range(width)]
    service.write(None, lambda c: projects.set_columns(c, number, columns))
    weights = random.standard_normal(width)
    level = random.integers(1, 4, count)
    higher = X @ weights > level - 2.0
    ready = [
        ReadyRound(x.tobytes(), int(k), int(k), 1 / 3, bool(h), About(), f"{n}")
        for n, (x, k, h) in enumerate(zip(X, level, higher, strict=True))
    ]
    service.add_log(service.project("rain"), ready, "somebody")
    service.close()


@pytest.mark.parametrize("read", ["arrivals", "count"])
def test_a_snapshot_is_kept_if_the_database_cannot_be_read_for_a_moment(
    file: Path, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(file) as client:
        answer_some(client, set_up(client, learner="Auto"), 60)
        digest = learned(client, "/projects/rain")["digest"]
    reads, broken = getattr(log_reader, read), [Refusal(503, "not-read", "the connection broke", retry_after=5)]

    def breaks_once(*given: Any) -> Any:
        if broken:
            raise broken.pop()
        return reads(*given)

    monkeypatch.setattr(log_reader, read, breaks_once)
    gate = Gate(monkeypatch)  # counts what is learned
    with serving(file) as client:
        assert problem(client.get("/projects/rain/state")) == (503, "not-read")
        assert learned(client, "/projects/rain")["digest"] == digest
    assert not broken
    assert gate.learned == 0, "it learned again what a sound snapshot holds"


def test_snapshots_hold_what_the_log_cannot_reproduce_and_nothing_else(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "MANY", 500)
    build(file, 3_000, 50, "Auto")
    service = Service(Settings(database=str(file), snapshot_every=500, request_seconds=600))
    fold = service.fold(service.project("rain"))
    assert fold.wait(3_000, 600)
    service.close()
    service = Service(Settings(database=str(file)))
    with service.database.reading() as connection:
        sizes = connection.scalars(sa.select(sa.func.length(schema.snapshots.c.model))).all()
    service.close()
    # the rows alone would be 3,000 * 50 * 8 bytes in the last of them
    assert len(sizes) > 2
    assert max(sizes) < 3_000 * 50 * 8


def test_auto_keeps_learning_past_its_first_trees_through_kills_and_retractions(file: Path) -> None:
    """At 204 answers the first trees take effect; here some of the answers before are taken back afterwards."""
    import signal

    import httpx

    def play(client: Any, count: int) -> list[int]:
        return [one["number"] for one in answer_some(client, "/projects/rain", count)]

    server = Server(str(file), "Auto", snapshot_every=40)
    try:
        with httpx.Client(base_url=server.url, timeout=600) as client:
            set_up(client, learner="Auto")
            client.post("/projects/rain/items", json={"items": [{"size": float(i % 9)} for i in range(300)]})
            numbers = play(client, 190)
        server.end(signal.SIGKILL)
        server.start()
        with httpx.Client(base_url=server.url, timeout=600) as client:
            learned(client, "/projects/rain")
            numbers += play(client, 30)
            for number in (numbers[3], numbers[150], numbers[-1]):
                ok(client.post(f"/projects/rain/questions/{number}/retract"))
        server.end(signal.SIGKILL)
        server.start()
        with httpx.Client(base_url=server.url, timeout=600) as client:
            learned(client, "/projects/rain")
            play(client, 60)
            state = learned(client, "/projects/rain")
            assert state["answers"] == 277
        server.end(signal.SIGTERM)
    finally:
        server.close()
    assert replayed(file) == state["digest"]


def test_one_project_that_learns_a_lot_holds_up_no_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question in one project does not wait for what another one learns, however long that takes."""
    build(file, 400, 100, "Auto")
    learn, go_on, learning = Learned.learn, threading.Event(), threading.Event()

    def slowly(model: Learned, page: Any, part: slice, *between: Any) -> None:
        if page.X.shape[1] == 100:
            learning.set()
            assert go_on.wait(600)
        learn(model, page, part, *between)

    monkeypatch.setattr(Learned, "learn", slowly)
    with serving(file) as client:
        try:
            set_up(client, "snow", learner="NewtonLogit")
            assert problem(client.get("/projects/rain/state")) == (503, "catching-up")
            assert learning.wait(600)
            assert len(answer_some(client, "/projects/snow", 20)) == 20
            learned(client, "/projects/snow")
        finally:
            go_on.set()
        assert learned(client, "/projects/rain")["answers"] == 400
