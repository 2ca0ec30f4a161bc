"""The projects that `dford serve --demo` brings."""

import signal
from collections import Counter
from pathlib import Path

import httpx
import pytest

from dford.service import demo_projects
from dford.service.core import Service
from dford.service.learning import log_reader
from dford.service.settings import Settings
from killing import Server
from serving import caught_up, ok, replayed


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that was served twice with --demo."""
    path = tmp_path_factory.mktemp("demo") / "log.db"
    server = Server(str(path), demo=True)
    assert server.end(signal.SIGTERM) == 0
    server.start()
    assert server.end(signal.SIGTERM) == 0
    server.close()
    return path


def test_the_days_are_always_the_same_and_of_all_levels() -> None:
    days = demo_projects.days()
    assert days == demo_projects.days()
    assert len(days) == 200
    counts = Counter(demo_projects.severity(day) for day in days)
    assert sorted(counts) == [1, 2, 3, 4]
    assert min(counts.values()) >= 20


def test_there_is_one_project_to_answer_and_one_to_watch(file: Path) -> None:
    server = Server(str(file))
    try:
        with httpx.Client(base_url=server.url, timeout=600) as client:
            projects = {project["name"]: project for project in ok(client.get("/projects"))}
            assert list(projects) == ["demo", "demo-answered"]
            kinds = [column["kind"] for column in projects["demo"]["columns"]]
            assert kinds == ["number"] * 4 + ["category", "text"]
            waiting = caught_up(client, "/projects/demo")
            assert (waiting["items"], waiting["questions"]) == (200, 0)
            watched = caught_up(client, "/projects/demo-answered")
            assert (watched["answers"], watched["people"]) == (400, {"simulated": 400})
            assert watched["learned"] == 400
            assert watched["curve"][-1]["answers"] == 400
            predicted = ok(client.post("/projects/demo-answered/predictions", json={"items": list(range(1, 201))}))
    finally:
        assert server.end(signal.SIGTERM) == 0
        server.close()
    levels = [demo_projects.LEVELS.index(one["level"]) + 1 for one in predicted["predictions"]]
    true = [demo_projects.severity(day) for day in demo_projects.days()]
    error = sum(abs(a - b) for a, b in zip(levels, true, strict=True))
    constant = min(sum(abs(level - b) for b in true) for level in (1, 2, 3, 4))
    assert error < constant / 2, "the answers were learned from"


def test_a_replay_reproduces_the_simulated_log(file: Path) -> None:
    assert replayed(file, "demo-answered")


def test_the_simulated_answers_follow_the_rule_except_one_in_twenty(file: Path) -> None:
    service = Service(Settings(database=str(file)))
    project, days = service.project("demo-answered"), demo_projects.days()
    (told,) = log_reader.pages(service.database, project, 0, 400)
    service.close()
    right = [demo_projects.severity(days[i - 1]) > level for i, level in zip(told.item, told.level, strict=True)]
    wrong = sum(a != b for a, b in zip(right, told.higher, strict=True))
    assert 5 <= wrong <= 40  # of 400, at one in twenty: 20 give or take 4
