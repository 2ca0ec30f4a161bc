"""Load: many questions in a log at once, and many people who answer them at once."""

import json
import select
import socket
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dford.columns import Column
from dford.service.core import Service
from dford.service.projects import projects
from dford.service.settings import Settings
from dford.service.store.schema import heads, leases, questions
from serving import LEVELS

WIDTH = 5


def ask_many(file: Path | str, count: int, learner: str = "DFORD") -> None:
    """A new log with the project rain and `count` open questions about features sent along, numbered from 1.

    They are those that the service would ask if asked that often before any answer.
    """
    service = Service(Settings(database=str(file), request_seconds=1000))
    columns = [Column(f"c{i}", "number") for i in range(WIDTH)]
    number = service.write(None, lambda c: projects.create(c, "rain", LEVELS, learner, {}, 0))
    service.write(None, lambda c: projects.set_columns(c, number, columns))
    fold, now = service.fold(service.project("rain")), time.time()
    asked = []
    for n, x in enumerate(np.random.default_rng(0).normal(size=(count, WIDTH)), 1):
        question = fold.propose(x).question(n)
        level, prediction = LEVELS.index(question.level) + 1, LEVELS.index(question.prediction) + 1
        how = {"level": level, "prediction": prediction, "propensity": question.propensity, "expires": now + 3600}
        asked.append({"project": number, "number": n, "shown": "{}", "x": x.tobytes(), **how, "person": "", "at": now})
    leased = [{"project": number, "question": n, "expires": now + 3600} for n in range(1, count + 1)]
    with service.database.writing() as connection:
        connection.execute(questions.insert(), asked)
        connection.execute(leases.insert(), leased)
        connection.execute(heads.update().values(question=count))
    service.close()


def request(method: str, path: str, body: str = "", key: str = "") -> bytes:
    """The bytes of a request on a connection that is kept open."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {key}\r\n" if key else ""
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def answers(numbers: Iterable[int], zero: str = "", key: str = "") -> list[bytes]:
    return [request("POST", f"/projects/rain/questions/{zero}{n}/answer", '{"higher":true}', key) for n in numbers]


def many_answers(numbers: Sequence[int], at_once: int) -> list[bytes]:
    """The same, `at_once` per request."""
    found = []
    for begin in range(0, len(numbers), at_once):
        told = [{"question": number, "higher": True} for number in numbers[begin : begin + at_once]]
        found.append(request("POST", "/projects/rain/answers", json.dumps({"answers": told})))
    return found


def connect(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)), timeout=600)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def is_complete(response: bytes) -> bool:
    head, blank, body = response.partition(b"\r\n\r\n")
    return bool(blank) and len(body) >= int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


def send_all(url: str, requests: list[bytes], clients: int) -> tuple[float, list[float]]:
    """Send them over so many connections, the next when the last is answered: the seconds in all, and of each.

    A minimal client: the machine's time should go to the server.
    """
    lines = {line.fileno(): line for line in (connect(url) for _ in range(clients))}
    waiting, sent, got, seconds = iter(requests), dict[int, float](), dict[int, bytes](), list[float]()
    with select.epoll() as ready:
        begin = time.perf_counter()
        for number, line in lines.items():
            ready.register(number, select.EPOLLIN)
            sent[number] = time.perf_counter()
            line.sendall(next(waiting))
        while len(seconds) < len(requests):
            for number, _ in ready.poll(60):
                got[number] = got.get(number, b"") + lines[number].recv(65536)
                if not is_complete(got[number]):
                    assert got[number], "the server hung up"
                    continue
                assert got.pop(number).startswith(b"HTTP/1.1 200"), "refused"
                now = time.perf_counter()
                seconds.append(now - sent[number])
                if (following := next(waiting, None)) is not None:
                    sent[number] = now
                    lines[number].sendall(following)
        took = time.perf_counter() - begin
    for line in lines.values():
        line.close()
    return took, seconds


def resident_bytes(pid: int) -> int:
    """What a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
