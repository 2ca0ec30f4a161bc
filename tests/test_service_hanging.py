"""A database that hangs: it keeps its connections and does not answer. Nothing else may hang with it."""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from killing import Server
from postgres import BINARIES, frozen, new_database
from serving import answer_some, learned, ok, problem, question_for, serving, set_up

pytestmark = pytest.mark.skipif(not BINARIES, reason="there is no PostgreSQL on this machine")


SECONDS = 4.0  # that a request may take, here
LATE = 20.0  # more seconds on a busy machine; what hangs takes forever


@pytest.mark.parametrize("learner", ["DFORD", "NewtonLogit"])  # whose items take turns, and whose pool chooses
def test_a_database_that_hangs_is_a_503_in_time_while_health_and_the_page_answer(cluster: str, learner: str) -> None:
    address = new_database(cluster, f"hangs{learner.lower()}")
    with serving(address) as client:
        project = set_up(client, learner=learner)
        answer_some(client, project, 3)
    with serving(address, request_seconds=SECONDS) as client:
        number = question_for(client, project)["number"]
        shared = httpx.Client(base_url=client.base_url, timeout=600, limits=httpx.Limits(max_connections=None))

        def get(method: str, path: str, **more: Any) -> tuple[int, float]:
            begin = time.monotonic()
            response = shared.request(method, path, **more)
            return response.status_code, time.monotonic() - begin

        requests: list[Any] = [
            ("GET", f"{project}/state"),
            ("GET", "/projects"),
            ("POST", f"{project}/questions"),
            ("POST", f"{project}/questions/{number}/skip"),
            ("POST", f"{project}/items"),
            ("GET", f"{project}/log.csv"),
        ]
        with frozen(), shared, ThreadPoolExecutor(100) as many:
            waiting = [many.submit(get, *one) for one in requests * 10]
            told = [
                many.submit(get, "POST", f"{project}/questions/{number}/answer", json={"higher": True})
                for _ in range(10)
            ]
            for _ in range(5):
                status, took = get("GET", "/health")
                assert status == 503
                assert took < LATE
                for path in ("/", "/page/main.js"):
                    status, took = get("GET", path)
                    assert status == 200
                    assert took < LATE
            found = [one.result() for one in (*waiting, *told)]
            assert {status for status, _ in found} <= {503, 422}  # 422: it had no body, which needs no database
            assert max(took for _, took in found) < SECONDS + LATE
        patience = time.monotonic() + 600
        while client.get("/health").status_code != 200:
            assert time.monotonic() < patience
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": True}))
        assert learned(client, project)["answers"] == 4


def test_a_server_whose_database_hangs_still_ends(cluster: str) -> None:
    server = Server(new_database(cluster, "ends"), request_seconds=60)
    with httpx.Client(base_url=server.url, timeout=600) as client:
        project = set_up(client)
        answer_some(client, project, 3)
        number = question_for(client, project)["number"]

        def tell() -> None:
            with suppress(httpx.TransportError):
                httpx.post(f"{server.url}{project}/questions/{number}/answer", json={"higher": True}, timeout=600)

        def look() -> None:
            with suppress(httpx.TransportError):
                httpx.get(f"{server.url}{project}/state", timeout=600)

        with frozen():
            people = [threading.Thread(target=one) for one in (tell, look, look)]
            for person in people:
                person.start()
            time.sleep(0.5)  # they wait for the database
            begin = time.monotonic()
            server.end(signal.SIGTERM)
            took = time.monotonic() - begin
        for person in people:
            person.join()
    server.close()
    assert took < LATE, "and not the 60 seconds that requests may wait for it"


def test_a_start_on_a_database_that_hangs_is_given_up(cluster: str) -> None:
    address = new_database(cluster, "starts")
    code = "from dford.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "serve", "--database", address, "--port", "0", "--request-seconds", "2"]
    with frozen():
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 2
    assert result.stderr.startswith("dford: the database cannot be opened: ")
    assert result.stderr.count("\n") == 1


def test_servers_that_start_at_once_on_an_empty_database_all_serve(cluster: str) -> None:
    for n in range(3):
        address = new_database(cluster, f"all{n}")
        code = "from dford.service.store.database import Database; import sys; Database(sys.argv[1]).prepare().close()"
        all_at_once = [
            subprocess.Popen([sys.executable, "-c", code, address], stderr=subprocess.PIPE, text=True) for _ in range(3)
        ]
        assert [(one.communicate(timeout=600)[1], one.returncode) for one in all_at_once] == [("", 0)] * 3
    with serving(address) as client, serving(address) as other:
        project = set_up(client)
        assert ok(other.get(f"{project}/state")) == ok(client.get(f"{project}/state"))


def test_a_nul_in_a_path_is_refused_here_too(cluster: str) -> None:
    with serving(new_database(cluster, "nul")) as client:
        set_up(client)
        for path in ("/projects/%00", "/projects/rain%00/state", "/projects/rain/keys/%00", "/keys/%00"):
            for method in ("GET", "POST", "DELETE"):
                assert client.request(method, path).status_code in {404, 405}


def test_connections_that_broke_while_nobody_used_them_are_replaced(cluster: str, tmp_path: Path) -> None:
    import psycopg

    address = new_database(cluster, "breaks")
    with serving(address) as client:
        project = set_up(client)
        answer_some(client, project, 2)
        time.sleep(1.1)  # long enough not to be trusted
        plain = address.replace("+psycopg", "").replace("/breaks", "/postgres")
        with closing(psycopg.connect(plain, autocommit=True)) as other:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'breaks'"
            while other.execute(end).fetchall():  # they end some time after they are told to
                time.sleep(0.01)
        assert ok(client.get(f"{project}/state"))["answers"] == 2
        answer_some(client, project, 2)
        assert learned(client, project)["answers"] == 4


def test_a_frozen_database_is_thawed(cluster: str) -> None:
    """What the tests above rely on."""
    with serving(new_database(cluster, "thawed"), request_seconds=SECONDS) as client:
        with frozen():
            assert problem(client.get("/projects")) == (503, "not-read")
        patience = time.monotonic() + 600
        while client.get("/projects").status_code != 200:
            assert time.monotonic() < patience
