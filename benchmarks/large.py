"""How large a project may be: `make bench-large`, in some minutes.

Seconds of processor time say more than those of the clock on a machine that does something else, too; the load before
each measurement is printed beside them. Servers are processes of their own, started as anybody would start them.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx
import numpy as np

from dford.columns import Column
from dford.log_columns import About
from dford.service.core import Service
from dford.service.projects import items, projects
from dford.service.projects.uploads import ReadyRound
from dford.service.settings import Settings

LEVELS = ["1", "2", "3", "4", "5"]
ITEMS, ANSWERS, WIDTH, EARLY, WRONG = 2_000, 50_000, 6, 5, 0.05
ROWS = 300_000
_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE = 5.0  # seconds between two downloads, each of which takes the server about half a second


class Used(NamedTuple):
    """What processes have used: seconds of the clock and of processors, and in GB the most memory at once."""

    wall: float
    cpu: float
    memory: float
    others: float
    """The memory of its worker processes, pages that they share counted for each."""

    def __str__(self) -> str:
        workers = f" and {self.others:.2f} GB in workers" if self.others else ""
        return f"{self.cpu:.1f} s of CPU, {self.wall:.1f} s by the clock, at most {self.memory:.2f} GB{workers}"


class Process:
    """A dford command, with what it and its children use since it started or since `mark`."""

    def __init__(self, *words: str) -> None:
        command, environment = [sys.executable, "-m", "dford", *words], dict(os.environ)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # to compile Python takes longer than the rest of a start
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self._since, self._cpu = time.perf_counter(), 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def address(self, before: str) -> str:
        """The address that the command prints after these words."""
        assert self._process.stdout is not None
        line = next(line for line in self._process.stdout if before in line)
        return line.split(before)[1].split("/#/")[0].split()[0].rstrip(",;")

    def mark(self) -> None:
        """Measure from now on."""
        for pid in self._family():
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts again
        self._since, self._cpu = time.perf_counter(), self._seconds()

    def used(self) -> Used:
        peaks = []
        for pid in self._family():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            peaks += [int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM")]
        return Used(time.perf_counter() - self._since, self._seconds() - self._cpu, peaks[0], sum(peaks[1:]))

    def _family(self) -> list[int]:
        found = [self._process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        return found

    def _seconds(self) -> float:
        """The seconds of processors of all, and of those that have ended."""
        total = 0.0
        for pid in self._family():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, fields[11:15])) / _TICKS
        return total


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def goal(what: str, reached: bool) -> None:
    print(f"  goal {'reached' if reached else 'NOT REACHED'}: {what}", flush=True)


def answered(file: Path, people: int) -> None:
    """A project with items of six columns and answers about cuts near where they stand, of which some are wrong."""
    random, service = np.random.default_rng(0), Service(Settings(database=str(file), request_seconds=3600))
    create = partial(projects.create, name="large", levels=LEVELS, learner="Auto", parameters={}, seed=0)
    number = service.write(None, create)
    columns = [Column(f"c{i}", "number") for i in range(WIDTH)]
    service.write(None, partial(projects.set_columns, project=number, chosen=columns))
    X = random.normal(size=(ITEMS, WIDTH)).round(3)
    score = X @ np.linspace(1.0, 0.2, WIDTH) + np.abs(X[:, 0]) + 0.3 * random.normal(size=ITEMS)
    level = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)
    ready = [(json.dumps(dict(zip("abcdef", x, strict=True))), np.array(x).tobytes()) for x in X.tolist()]
    service.write(None, partial(items.add, project=number, ready=ready))
    item = np.concatenate([random.permutation(ITEMS) for _ in range(ANSWERS // ITEMS)])
    near = np.clip(level[item] - random.integers(0, 2, len(item)), 0, len(LEVELS) - 2)
    cut = np.where(random.random(len(item)) < 0.2, random.integers(0, len(LEVELS) - 1, len(item)), near)
    higher = (level[item] > cut) != (random.random(len(item)) < WRONG)
    log = [
        ReadyRound(ready[i][1], c + 1, k + 1, 0.5, yes, About(i + 1, f"person {n % people}", float(n)), str(n))
        for n, (i, c, k, yes) in enumerate(
            zip(item.tolist(), cut.tolist(), level[item].tolist(), higher.tolist(), strict=True)
        )
    ]
    project = service.project("large")
    for begin in range(0, len(log), 10_000):
        service.add_log(project, log[begin : begin + 10_000], "bench")
    service.close()


def undo(folder: Path, people: int) -> None:
    """Take back an early answer of many, and download the levels until they are without it."""
    file = folder / f"undo{people}.db"
    answered(file, people)
    with Process("serve", "--database", str(file), "--port", "0") as server:
        url = server.address(" on ") + "/projects/large"
        with httpx.Client(base_url=url, timeout=600) as client:
            learned(client, ANSWERS)
            print(f"{ANSWERS:,} answers by {people} about {ITEMS:,} items: learned with {server.used()}", flush=True)
            client.get("/levels.csv").raise_for_status()  # which starts the process that makes it
            before, waits, is_stale = load(), list[float](), True
            server.mark()
            client.post(f"/questions/{EARLY}/retract").raise_for_status()
            while is_stale:
                time.sleep(_PAUSE)
                begin = time.perf_counter()
                headers = client.get("/levels.csv").raise_for_status().headers
                waits.append(time.perf_counter() - begin)
                is_stale = json.loads(headers["Dford-Stale"]) or int(headers["Dford-Sequence"]) <= ANSWERS
        used = server.used()
        print(f"an early one taken back: learned again with {used} ({before})")
        downloads = f"{len(waits)} downloads of levels.csv, median {np.median(waits):.1f} s"
        print(f"meanwhile {downloads}, at most {max(waits):.1f} s")
        goal("learned again within 60 s", used.wall <= 60)
        goal("downloads are served at once, within 2 s", max(waits) < 2)


def learned(client: httpx.Client, count: int) -> None:
    while True:
        response = client.get("/state")
        if response.status_code == 200 and response.json()["learned"] >= count:
            return
        time.sleep(1.0)


def table(file: Path) -> None:
    """Four columns of numbers, one of colours, and one to be shown."""
    random = np.random.default_rng(0)
    numbers, colours = random.normal(size=(ROWS, 4)).round(3).tolist(), random.integers(0, 5, ROWS).tolist()
    with file.open("w") as out:
        out.write("a,b,c,d,colour,note\n")
        for n, (row, colour) in enumerate(zip(numbers, colours, strict=True)):
            out.write(f"{','.join(map(str, row))},colour {colour},item {n}\n")


def many_items(folder: Path) -> None:
    """Many items over HTTP: the first question, and the first one after a restart."""
    table(folder / "large.csv")
    head, *rows = (folder / "large.csv").read_text().splitlines()
    words, before = ("serve", "--database", str(folder / "items.db"), "--port", "0"), load()
    with Process(*words) as server, httpx.Client(base_url=server.address(" on "), timeout=600) as client:
        client.post("/projects", json={"name": "large", "levels": LEVELS}).raise_for_status()
        for first in range(0, ROWS, 10_000):
            text = "\n".join([head, *rows[first : first + 10_000]])
            client.post("/projects/large/items.csv", content=text).raise_for_status()
        print(f"{ROWS:,} items of six columns: added with {server.used()} ({before})", flush=True)
        before = load()
        server.mark()
        first_question(client, "/projects/large")
        said("the first question", server.used(), 5, before)
    before = load()
    with Process(*words) as server:
        with httpx.Client(base_url=server.address(" on "), timeout=600) as client:
            first_question(client, "/projects/large")
        said("from the start of a server to the first question", server.used(), 10, before)


def first_question(client: httpx.Client, project: str) -> None:
    while client.post(f"{project}/questions").status_code == 503:  # catching up
        time.sleep(0.02)


def said(what: str, used: Used, most: float, before: str) -> None:
    print(f"{what}: {used} ({before})")
    goal(f"within {most:g} s, with 1 GB at most", used.wall <= most and used.memory <= 1)


def labelled(folder: Path) -> None:
    """`dford label` of a large file, from the command to the first question."""
    table(folder / "big.csv")
    before = load()
    words = ("label", str(folder / "big.csv"), "--levels", ",".join(LEVELS), "--no-browser")
    with Process(*words, "--database", str(folder / "label.db")) as command:
        with httpx.Client(base_url=command.address("Answer at "), timeout=600) as client:
            first_question(client, "/projects/big")
        print(f"dford label of {ROWS:,} rows, until the first question: {command.used()} ({before})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["undo", "items", "label"], help="undo, people, items or label")
    wanted = parser.parse_args().what
    (cache := Path(__file__).parent.parent / ".cache").mkdir(exist_ok=True)  # on the project's own disk
    with tempfile.TemporaryDirectory(dir=cache) as place:
        work: dict[str, Any] = {
            "undo": partial(undo, people=1),
            "people": partial(undo, people=3),
            "items": many_items,
            "label": labelled,
        }
        for name in wanted:
            work[name](Path(place))
