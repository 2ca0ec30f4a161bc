"""A long life: no file left open, memory that does not grow, and disks that fill up or cannot be written."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dford.cli import main
from killing import Server
from loading import WIDTH, answers, ask_many, connect, is_complete, request, resident_bytes, send_all
from serving import learned, ok, problem, question_for, replayed, serving, set_up

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at what Linux tells of a process")


@contextmanager
def process(file: Path, **flags: Any) -> Iterator[Server]:
    """`dford serve` as a process of its own."""
    server = Server(str(file), **flags)
    try:
        yield server
    finally:
        server.end(signal.SIGTERM)
        server.close()


def test_thousands_of_requests_leave_no_file_open(tmp_path: Path) -> None:
    ask_many(tmp_path / "log.db", 23)
    with process(tmp_path / "log.db") as server:

        def count(most: int) -> int:
            """How many files are open, once the last connections are closed."""
            patience = time.monotonic() + 600
            while (now := len(os.listdir(f"/proc/{server.pid}/fd"))) > most and time.monotonic() < patience:
                time.sleep(0.05)
            return now

        def on_new_connections(requests: list[bytes]) -> None:
            for n, one in enumerate(requests):
                with connect(server.url) as line:
                    line.sendall(one)
                    got = b""
                    while n % 7 and not is_complete(got):  # one in seven hangs up before the answer
                        got += line.recv(65536)

        mixed = [request("GET", "/health"), request("GET", "/projects/rain/state"), *answers(range(1, 24))]
        send_all(server.url, mixed, 16)
        time.sleep(0.2)
        before = count(10**6)
        send_all(server.url, mixed * 60, 16)
        on_new_connections(mixed * 60)
        # five connections to the database may have been opened meanwhile, with three files each
        assert count(before + 15) <= before + 15
        with httpx.Client(base_url=server.url, timeout=600) as client:
            assert learned(client, "/projects/rain")["answers"] == 23


def test_memory_does_not_grow_while_thousands_answer(tmp_path: Path) -> None:
    warm, counted = 2_000, 3_000
    ask_many(tmp_path / "log.db", warm + counted)
    with process(tmp_path / "log.db") as server:
        send_all(server.url, answers(range(1, warm + 1)), 16)
        before = resident_bytes(server.pid)
        send_all(server.url, answers(range(warm + 1, warm + counted + 1)), 16)
        growth = resident_bytes(server.pid) - before
    # clients and their buffers may come and go; answers that are kept would take more than this each
    assert growth < counted * 400


def told(client: httpx.Client, number: int) -> Any:
    return client.post(f"/projects/rain/questions/{number}/answer", json={"higher": True})


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of two megabytes."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fails_and_recovers(server: Server, fail: Callable[[], None], recover: Callable[[], None]) -> None:
    """What is promised of a server whose disk fails while people answer."""
    with httpx.Client(base_url=server.url, timeout=600) as client:
        acknowledged = {n: ok(told(client, n)) for n in range(1, 21)}
        fail()
        refused = [n for n in range(21, 200) if told(client, n).status_code != 200]
        assert refused, "nothing failed"
        response = told(client, refused[-1])
        assert problem(response) == (503, "not-written")
        assert "so nothing was done" in response.json()["sentence"]
        assert response.headers["retry-after"]
        features = {f"c{i}": 1.0 for i in range(WIDTH)}
        assert problem(client.post("/projects/rain/questions", json={"features": features}))[0] == 503
        state = ok(client.get("/projects/rain/state"))  # reading goes on
        assert {n: ok(told(client, n)) for n in acknowledged} == acknowledged
        recover()
        assert ok(told(client, refused[-1]))["sequence"] == state["sequence"] + 1
        assert {n: ok(told(client, n)) for n in acknowledged} == acknowledged
        assert learned(client, "/projects/rain")["answers"] == state["answers"] + 1


def test_a_full_disk_refuses_answers_until_there_is_room(tmp_path: Path) -> None:
    """A real file system with no byte left; as root, as only root can mount a small one."""
    with small_disk(tmp_path):
        ask_many(tmp_path / "log.db", 300)
        filler = tmp_path / "filler"

        def fill() -> None:
            with filler.open("wb", buffering=0) as file:
                while os.statvfs(tmp_path).f_bavail:
                    file.write(bytes(4096))

        with process(tmp_path / "log.db") as server:
            fails_and_recovers(server, fill, filler.unlink)
        assert replayed(tmp_path / "log.db")


def test_a_file_that_may_not_grow_refuses_answers_until_it_may(tmp_path: Path) -> None:
    """Like a full disk, but without root: the kernel lets the server write no file beyond what the log has."""
    file = tmp_path / "log.db"
    ask_many(file, 300)
    with process(file) as server:

        def limit(size: int) -> None:
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        fails_and_recovers(server, lambda: limit(4096), lambda: limit(resource.RLIM_INFINITY))
    assert replayed(file)


@contextmanager
def unwritable(file: Path) -> Iterator[None]:
    """Make a file read-only. Root may write whatever its mode says, so for root it is made immutable."""
    if os.getuid() == 0:
        if subprocess.run(["chattr", "+i", str(file)], capture_output=True).returncode:
            pytest.skip("root can write everything here")
    else:
        file.chmod(0o400)
    try:
        yield
    finally:
        if os.getuid() == 0:
            subprocess.run(["chattr", "-i", str(file)], check=True)
        else:
            file.chmod(0o600)


def test_a_database_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    """In a process of its own: in one that had the file open before, SQLite may reuse that handle, and write."""
    file = tmp_path / "log.db"
    ask_many(file, 1)
    code = f"from dford.cli import main; raise SystemExit(main(['serve', '--database', {str(file)!r}, '--port', '0']))"
    with unwritable(file):
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert result.returncode == 2
    assert "the database cannot be opened" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 2  # one sentence, wrapped


@pytest.mark.parametrize("place", ["no/such/folder/log.db", "text.txt", "."])
def test_a_place_that_is_not_a_database_is_refused_at_the_start(
    tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("This is no database. " * 100)
    assert main(["serve", "--database", str(tmp_path / place), "--port", "0"]) == 2
    assert "the database cannot be opened" in capsys.readouterr().err


def test_a_read_only_connection_refuses_answers_and_recovers_afterwards(tmp_path: Path) -> None:
    """Through HTTP, with the writer's connection set read-only: a file that is open stays writable, whatever becomes
    of its mode, so this is how a store turns read-only under a server."""
    file = tmp_path / "log.db"
    with serving(file) as client:
        project = set_up(client)
        numbers = [question_for(client, project)["number"] for _ in range(3)]
        first = ok(told(client, numbers[0]))

        def set_read_only(value: str) -> None:  # on the one connection that the writer uses
            with closing(client.service.database._write_engine.raw_connection()) as connection:
                connection.cursor().execute(f"PRAGMA query_only = {value}")

        set_read_only("ON")
        assert problem(told(client, numbers[1])) == (503, "not-written")
        assert ok(client.get(f"{project}/state"))["answers"] == 1
        set_read_only("OFF")
        assert ok(told(client, numbers[0])) == first
        assert ok(told(client, numbers[1]))["sequence"] == 2
    assert replayed(file)
