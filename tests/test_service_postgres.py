"""The same guarantees on PostgreSQL, from two server processes at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa

from dford.cli import main
from dford.service.projects.answering import SentAnswer
from dford.service.store import schema
from killing import kill_test
from postgres import BINARIES, new_database
from serving import learned, ok, problem, question_for, replayed, serving, set_up
from test_service_together import compare, prepare

pytestmark = pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed")


@pytest.fixture
def database(cluster: str, request: pytest.FixtureRequest) -> str:
    return new_database(cluster, f"d{abs(hash(request.node.name)) % 10**8}")


def test_two_servers_on_one_store_have_one_state(database: str) -> None:
    with serving(database, snapshot_every=5) as one, serving(database, snapshot_every=5) as two:
        project = set_up(one)
        for i in range(24):
            question = ok((one, two)[i % 2].post(f"{project}/questions"))
            address = f"{project}/questions/{question['number']}/answer"
            told = [ok(client.post(address, json={"higher": i % 3 == 0})) for client in (two, one)]
            assert told[0] == told[1]
        ok(two.post(f"{project}/questions/4/retract"))
        states = [learned(client, project)["digest"] for client in (one, two)]
    assert states == [replayed(database)] * 2


def test_what_is_settled_and_set_on_one_server_holds_on_the_other(database: str) -> None:
    with serving(database, snapshot_every=5) as one, serving(database, snapshot_every=5) as two:
        project = set_up(one, learner="NewtonLogit", gold_column="truth", answers_per_item=2)
        known = [{"size": 1.0, "truth": "mild"}, {"size": 2.0, "truth": ""}]
        ok(one.post(f"{project}/items", json={"items": known}))
        assert ok(two.put(f"{project}/settled/3", json={"level": "calm"}))["sequence"] == 2
        for item in (3, 31):
            assert problem(one.post(f"{project}/questions", json={"item": item})) == (409, "settled")
        ok(two.put(f"{project}/settings", json={"gold": 0.5}))
        assert ok(one.get(f"{project}/settings"))["gold"] == 0.5
        for i in range(24):
            question = ok((one, two)[i % 2].post(f"{project}/questions"))
            ok((two, one)[i % 2].post(f"{project}/questions/{question['number']}/answer", json={"higher": i % 3 == 0}))
        assert one.delete(f"{project}/settled/3").status_code == 204
        states = [learned(client, project)["digest"] for client in (one, two)]
        assert [one.get(f"{project}/people").json()["people"][0]["gold"] is not None] == [True]
    assert states == [replayed(database)] * 2


def test_data_that_the_database_cannot_hold_is_no_database_that_is_down(database: str) -> None:
    with serving(database) as client:
        set_up(client)
        project = {"name": "other", "levels": ["a", "b"], "gold_column": "a\0b"}
        assert problem(client.post("/projects", json=project)) == (422, "invalid")
        null = schema.projects.update().values(files="a\0b")
        with pytest.raises(sa.exc.DataError):
            client.service.write(None, lambda connection: connection.execute(null).rowcount)


@pytest.mark.parametrize("keys", [("same", "same"), ("one", "other")])
def test_two_servers_that_create_the_same_thing_at_once_create_it_once(database: str, keys: tuple[str, str]) -> None:
    """The second waits for the first, and then sees what it did."""
    body = {"name": "rain", "levels": ["low", "high"], "seed": 5}
    created, go = threading.Event(), threading.Event()

    def hold(*given: Any) -> None:
        created.set()
        assert go.wait(60)

    with serving(database) as one, serving(database) as two, ThreadPoolExecutor(2) as both:
        sa.event.listen(one.service.database._write_engine, "commit", hold)

        def create(client: Any, key: str) -> Any:
            return client.post("/projects", json=body, headers={"Idempotency-Key": key})

        first = both.submit(create, one, keys[0])
        assert created.wait(60)
        second = both.submit(create, two, keys[1])
        try:
            waiting = sa.text("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
            while True:
                with two.service.database.reading() as connection:
                    if connection.scalar(waiting):
                        break
                time.sleep(0.01)
        finally:
            go.set()
        if keys[0] == keys[1]:
            assert ok(second.result()) == ok(first.result())
        else:
            assert (ok(first.result())["name"], problem(second.result())) == ("rain", (409, "project-exists"))


def test_two_servers_one_killed_at_random_moments_lose_nothing(database: str) -> None:
    kill_test(database, kills=3, people=4, learner="NewtonLogit", seconds=0.2, count=2)


def test_a_database_that_goes_away_is_a_clear_503_and_nothing_is_lost(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import psycopg

    cluster, _, name = database.replace("+psycopg", "").rpartition("/")
    with serving(database) as client, psycopg.connect(f"{cluster}/postgres", autocommit=True) as operator:
        project = set_up(client)
        question = question_for(client, project)
        answer = f"{project}/questions/{question['number']}/answer"
        operator.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        while operator.execute(end, [name]).fetchall():  # they end some time after they are told to
            time.sleep(0.01)
        for response in (
            client.get("/health"),
            client.post(answer, json={"higher": True}),
            client.post(f"{project}/questions"),
        ):
            assert problem(response) in {(503, "not-read"), (503, "not-written")}
            assert response.headers["Retry-After"]
        assert main(["verify", "--database", database]) == 2
        assert "cannot be opened" in capsys.readouterr().err
        operator.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert client.get("/health").status_code == 200
        while (response := client.post(answer, json={"higher": True})).status_code == 503:
            assert problem(response) == (503, "not-written")  # a connection is trusted for a second after its last use
        assert ok(response)["sequence"] == 1


def test_answers_written_together_are_those_written_one_by_one_here_too(database: str) -> None:
    service, project = prepare(database)
    try:
        for told in product([1, 2, 3, 4, 5, 6, 7, 13], [True, False]):
            compare(
                service, project, [SentAnswer(*told, "anna"), SentAnswer(5, True, "b"), SentAnswer(7, True, 'c "ö" \\')]
            )
    finally:
        service.close()
