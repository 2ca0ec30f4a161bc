"""Answers that are written together, or take the fast path through HTTP: nothing is different for any of them."""

import json
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from dford.columns import Column
from dford.service.core import Service
from dford.service.projects import projects
from dford.service.projects.answering import RecordedAnswer, SentAnswer, record, retract, skip
from dford.service.projects.asking import QuestionRequest
from dford.service.projects.uploads import Bounds, ready_items, sent_features
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.store import schema
from loading import connect, is_complete, request
from serving import LEVELS, ROWS, ok, problem, question_for, serving, set_up

_TOLD = st.builds(
    SentAnswer,
    st.integers(1, 13),
    st.booleans(),
    st.sampled_from(["anna", 'b "ö" \\', "c'; --"]),
    st.booleans(),
    confidence=st.none() | st.floats(0.5, 1.0),
)


class _Undone(Exception):  # noqa: N818
    """Carries what was found out of a transaction that leaves nothing behind."""


def prepare(database: str) -> tuple[Service, int]:
    """Twelve questions: answered (1, 2), skipped (3), retracted (4), two about the same item (5, 6), and open ones."""
    service = Service(Settings(database=database, lease_seconds=0.01))
    number = service.write(None, lambda c: projects.create(c, "rain", LEVELS, "DFORD", {}, 5))
    columns = [Column("size", "number"), Column("colour", "category", categories=("blue", "red"))]
    columns.append(Column("note", "text"))
    service.write(None, lambda c: projects.set_columns(c, number, columns))
    project = service.project("rain")
    service.add_items(project, ready_items(columns, ROWS, "items", service.bounds()), "somebody", None)
    for n in range(1, 13):
        sent = sent_features(columns, ROWS[n], Bounds(10, 10)) if n > 9 else None
        service.ask(project, QuestionRequest("anna", None, sent, 5 if n in {5, 6} else None))
        if n == 5:
            time.sleep(0.02)
    service.write(project, lambda c: record(c, number, [SentAnswer(1, True, "anna"), SentAnswer(2, False, "anna")]))
    service.write(project, lambda c: skip(c, number, 3, "anna", anybodys=False))
    service.write(project, lambda c: record(c, number, [SentAnswer(4, True, "anna")]))
    service.write(project, lambda c: retract(c, number, 4, "anna", anybodys=False))
    return service, number


def compare(service: Service, project: int, sent: Sequence[SentAnswer]) -> None:
    """One call for all must say and leave what one call for each does."""

    def found(do: Callable[[Connection], list[Any]]) -> tuple[list[Any], dict[str, list[Any]]]:
        def job(connection: Connection) -> None:
            said = [_plain(one) for one in do(connection)]
            names = ("answers", "leases", "pool", "heads")
            left = {
                name: [
                    {key: value for key, value in row._mapping.items() if key != "at"}
                    for row in connection.execute(sa.select(table).order_by(*table.primary_key))
                ]
                for name in names
                for table in [schema.metadata.tables[name]]
            }
            raise _Undone(said, left)

        with pytest.raises(_Undone) as undone:
            service.writer.do(project, job)
        said, left = undone.value.args
        return said, left

    together = found(lambda connection: list(record(connection, project, sent)))
    apart = found(lambda connection: [record(connection, project, [one])[0] for one in sent])
    assert together == apart


def _plain(outcome: RecordedAnswer | Refusal) -> Any:
    if isinstance(outcome, Refusal):
        return outcome.status, outcome.code, outcome.sentence
    return outcome._replace(at=0.0 if outcome.sequence > 4 else outcome.at)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    service, project = prepare(str(tmp_path_factory.mktemp("together") / "log.db"))
    yield service, project
    service.close()


@hypothesis.given(st.lists(_TOLD, min_size=1, max_size=12))
@hypothesis.example(
    [
        SentAnswer(7, True, "anna"),
        SentAnswer(7, True, "anna"),
        SentAnswer(7, False, "anna"),
        SentAnswer(5, True, "anna"),
    ]
)
@hypothesis.example([SentAnswer(5, True, "anna"), SentAnswer(6, True, "anna")])
def test_answers_written_together_are_those_written_one_by_one(prepared: Any, sent: list[SentAnswer]) -> None:
    service, project = prepared
    compare(service, project, sent)


def test_the_first_of_two_that_come_together_stands(tmp_path: Path) -> None:
    service, project = prepare(str(tmp_path / "log.db"))
    sent = [SentAnswer(8, True, "anna"), SentAnswer(8, False, "b", True), SentAnswer(8, True, "c", True)]
    first, other, again = service.writer.do(project, lambda c: record(c, project, sent))
    assert isinstance(first, RecordedAnswer)
    assert isinstance(other, Refusal)
    assert other.code == "answered-otherwise"
    assert again == first
    service.close()


def receive(line: socket.socket) -> list[tuple[int, dict[str, str], Any]]:
    """All responses that came."""
    got, responses = b"", list[tuple[int, dict[str, str], Any]]()
    line.settimeout(5)
    while not responses or got:
        got += line.recv(65536)
        while is_complete(got):
            head, _, rest = got.partition(b"\r\n\r\n")
            status, *lines = head.decode().split("\r\n")
            headers = dict(one.lower().split(": ", 1) for one in lines)
            length = int(headers["content-length"])
            responses.append((int(status.split()[1]), headers, json.loads(rest[:length])))
            got = rest[length:]
    return responses


def test_a_plain_answer_may_come_in_pieces_or_with_others_behind_it(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        project = set_up(client)
        numbers = [question_for(client, project)["number"] for _ in range(6)]
        plain = [request("POST", f"{project}/questions/{n}/answer", '{"higher":true}') for n in numbers]
        with connect(str(client.base_url).rstrip("/")) as line:
            for byte in plain[0]:
                line.sendall(bytes([byte]))
            assert receive(line)[0][2]["question"] == numbers[0]
            line.sendall(b"".join(plain[1:4]) + request("GET", "/health") + plain[4])
            responses: list[tuple[int, dict[str, str], Any]] = []
            while len(responses) < 5:
                responses += receive(line)
            assert [status for status, _, _ in responses] == [200] * 5
            answered = [body.get("question") for _, _, body in responses]
            assert answered == [*numbers[1:4], None, numbers[4]]  # in the order in which they were asked for
            for wrong in ('{"higher":1}', '{"higher":true', '{"higher":true,"more":"and more, and more"}', ""):
                line.sendall(request("POST", f"{project}/questions/{numbers[5]}/answer", wrong))
                assert receive(line)[0][0] == 422
            line.sendall(plain[5])
            assert receive(line)[0][0] == 200


def test_the_fast_path_has_the_headers_of_the_documented_one(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        project = set_up(client)
        number = question_for(client, project)["number"]
        for higher in ("true", "false"):  # accepted, and refused
            both = [
                client.post(
                    f"{project}/questions/{number}/answer", content=text, headers={"Content-Type": "application/json"}
                )
                for text in (f'{{"higher":{higher}}}', f'{{ "higher" : {higher} }}')
            ]
            first, second = ({k: v for k, v in one.headers.items() if k != "date"} for one in both)
            assert first == second


def test_a_body_that_never_comes_is_given_up(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", request_seconds=3.0) as client:
        project = set_up(client)
        number = question_for(client, project)["number"]
        whole = request("POST", f"{project}/questions/{number}/answer", '{"higher":true}')
        with connect(str(client.base_url).rstrip("/")) as line:
            line.sendall(whole[:-3])
            assert receive(line)[0][0] == 408
        assert ok(client.get(f"{project}/questions/{number}"))["fate"] == "open"
        assert problem(client.post(f"{project}/questions/99/answer", json={"higher": True})) == (404, "no-question")
