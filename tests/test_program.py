"""A program that answers: what it may do wrong, and that no process is left."""

import asyncio
import re
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from dford.cli import _answering
from dford.service import program as program_module
from dford.service.core import Service
from dford.service.program import Program, ProgramFailure, Said, _Process, read_answer
from dford.service.program_run import BrokenProgramError, ProgramRun, same_answers
from dford.service.projects.answering import SentAnswer
from dford.service.projects.asking import QuestionRequest
from dford.service.settings import Settings
from dford.service.store import schema
from dford.service.table_project import TableProject, fill_project
from serving import LEVELS, compiled

T = TypeVar("T")
READS = """import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    ANSWER = b'{"id": %d, "higher": true}\\n' % asked["id"]
"""


def run(awaited: Callable[[], Awaitable[T]]) -> T:
    """In a thread of its own, as a browser of other tests may have an event loop in this one."""

    async def going() -> T:
        return await awaited()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(going())).result()


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(met: Callable[[], Any]) -> None:
    patience = time.monotonic() + 600
    while not met():
        assert time.monotonic() < patience
        time.sleep(0.01)


def program(body: str, seconds: float = 30.0) -> Program:
    return Program([sys.executable, "-c", READS + textwrap.indent(textwrap.dedent(body), "    ")], seconds)


def ask(one: Program, count: int = 1) -> list[Said | str]:
    """What becomes of so many questions; no process is left at the end."""

    async def going() -> list[Said | str]:
        found: list[Said | str] = []
        try:
            for number in range(1, count + 1):
                try:
                    found.append(await one.ask(number, {"id": number, "item": {"note": "naïve 日本 \u2028"}}))
                except ProgramFailure as failure:
                    found.append(str(failure))
        finally:
            await one.close()
        return found

    return run(going)


def test_questions_and_answers_may_be_in_any_script() -> None:
    body = """
    assert asked["item"]["note"] == "naïve 日本 \\u2028"
    print(json.dumps({"higher": asked["id"] == 2, "confidence": 0.75, "why": "日本", "id": asked["id"]}))
    """
    assert ask(program(body), 3) == [Said(False, 0.75), Said(True, 0.75), Said(False, 0.75)]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit(3)", "it ended with status 3"),
        ("os.kill(os.getpid(), 9)", "it was ended by signal 9"),
        ("os.close(1); time.sleep(60)", "it closed its output"),
        ("print('oh')", "'oh' is not JSON"),
        ("print()", "'' is not JSON"),
        ("os.write(1, b'\\xff\\n')", "'�' is not JSON"),
        ("print('[' * 5000)", " is not JSON"),
        ("print('{}')", """'{}' does not say "higher": true or false"""),
        ("print('[true]')", """'[true]' does not say "higher": true or false"""),
        ("""print('{"higher": 1}')""", "does not say"),
        ("""print('{"higher": true}')""", """'{"higher": true}' does not repeat the "id" of its question"""),
        ("""print('{"higher": true, "id": null}')""", "does not repeat the "),
        (
            """print('{"id": %d, "higher": true, "confidence": 0.2}' % asked["id"])""",
            "has a confidence that is not between 0.5 and 1",
        ),
        (
            """print('{"id": %d, "higher": true, "confidence": NaN}' % asked["id"])""",
            "has a confidence that is not between 0.5 and 1",
        ),
        ("""print('{"higher": true, "id": 99}')""", "has another id than the question, which is "),
        ("os.write(1, 2 * ANSWER)", "it printed more than one line for a question"),
        ("os.write(1, b'x' * 200_000 + b'\\n')", "the answer was longer than 100,000 bytes"),
        ("[os.write(1, b'x' * 10_000) for _ in iter(int, 1)]", "the answer was longer than 100,000 bytes"),
    ],
)
def test_rubbish_and_death_cost_the_question_and_the_next_goes_to_a_new_copy(body: str, why: str) -> None:
    once = "if asked['id'] == 2:\n    os.write(1, ANSWER)\n    continue\n"
    first, second, third = ask(program(once + textwrap.dedent(body)), 3)
    assert isinstance(first, str), "a failure"
    assert why in first
    assert second == Said(True)
    assert isinstance(third, str)
    assert why in third


def test_a_program_that_hangs_is_ended_in_time_with_all_its_children(tmp_path: Path) -> None:
    body = f"""
    import subprocess
    child = subprocess.Popen(["sleep", "1000"])
    open({str(tmp_path / "pids")!r}, "a").write(f"{{os.getpid()}} {{child.pid}}\\n")
    if asked["id"] == 1:
        time.sleep(1000)
    os.write(1, ANSWER)
    """
    assert ask(program(body, seconds=3.0), 2) == ["no answer within 3 s", Said(True)]
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    wait_until(lambda: not any(map(is_alive, pids)))


def test_no_process_of_a_program_outlives_it_wherever_it_went(tmp_path: Path) -> None:
    """Not one in a session of its own, nor a daemon whose parent has ended, nor a child without the environment."""
    body = f"""
    import subprocess
    own_session = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    environment = {{}} if asked["id"] == 1 else None
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True, env=environment)
    read, write = os.pipe()
    if not (middle := os.fork()):
        os.setsid()
        if not os.fork():
            os.write(write, b"%d" % os.getpid())
            time.sleep(1000)
        os._exit(0)
    os.waitpid(middle, 0)
    daemon = os.read(read, 20).decode()
    with open({str(tmp_path / "pids")!r}, "a") as pids:
        print(os.getpid(), own_session.pid, child.pid, daemon, file=pids)
    if asked["id"] == 1:
        time.sleep(1000)
    os.write(1, ANSWER)
    if asked["id"] == 3:
        sys.exit()
    """
    assert ask(program(body, seconds=5.0), 3) == ["no answer within 5 s", Said(True), Said(True)]
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 12
    assert not any(map(is_alive, pids))


def test_a_child_without_session_or_environment_ends_with_a_program_that_ends_by_itself(tmp_path: Path) -> None:
    body = f"""
    import subprocess
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={{}})
    open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
    os.write(1, ANSWER)
    """
    assert ask(program(body), 1) == [Said(True)]
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_output_on_stderr_holds_nothing_up_and_its_end_is_kept() -> None:
    body = """
    for n in range(20_000):
        print("line", n, file=sys.stderr)
    if asked["id"] == 2:
        sys.exit(1)
    os.write(1, ANSWER)
    """
    one = program(body)
    assert ask(one, 2) == [Said(True), "it ended with status 1"]
    assert one.last_words.splitlines()[-1] == "line 19999"
    assert len(one.last_words.splitlines()) == 5


def test_a_long_question_that_nobody_reads_causes_no_deadlock() -> None:
    deaf = Program([sys.executable, "-c", "import time; time.sleep(1000)"], 2.0)

    async def going() -> None:
        with pytest.raises(ProgramFailure, match="no answer within 2 s"):
            await deaf.ask(1, {"item": "x" * 5_000_000})
        await deaf.close()

    run(going)


def test_a_program_that_repeats_its_first_answer_has_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every other question would be lost to it."""
    monkeypatch.setattr(program_module, "_PAUSE", 60.0)
    found = ask(program("os.write(1, ANSWER); time.sleep(0.02); os.write(1, ANSWER)"), 2)
    assert found == ["it printed more than one line for a question"] * 2


def test_a_line_that_nobody_asked_for_is_never_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "_PAUSE", 0.0)
    body = """
    os.write(1, ANSWER)
    time.sleep(0.2)
    os.write(1, b'{"id": 2, "higher": false}\\n')
    """
    one = program(body)

    async def going() -> None:
        assert await one.ask(1, {"id": 1}) == Said(True)
        process: Any = one._process
        while not process._said:
            await asyncio.sleep(0.01)
        with pytest.raises(ProgramFailure, match="without being asked"):
            await one.ask(2, {"id": 2})
        await one.close()

    run(going)


@pytest.mark.parametrize("late", ['{"id": 1, "higher": false}', '{"higher": false}'])
def test_a_late_line_is_never_taken_for_the_answer_to_the_next_question(
    late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if it comes when the next question is waiting for its answer."""
    monkeypatch.setattr(program_module, "_PAUSE", 0.0)
    first, second, third = ask(program(f"print({late!r}) if asked['id'] == 2 else os.write(1, ANSWER)"), 3)
    assert (first, third) == (Said(True), Said(True))
    assert isinstance(second, str), "a failure"
    assert "id" in second


def test_an_answer_that_comes_after_its_time_is_never_read() -> None:
    """The program is ended first, so the next question goes to a copy that knows nothing of it."""
    body = """
    if asked["id"] == 1:
        time.sleep(1000)
    os.write(1, ANSWER)
    """
    one = program(body, seconds=1.0)

    async def going() -> None:
        with pytest.raises(ProgramFailure, match="no answer within 1 s"):
            await one.ask(1, {"id": 1})
        assert one._process is None
        one._seconds = 30.0
        assert await one.ask(2, {"id": 2}) == Said(True)
        await one.close()

    run(going)


def test_a_program_that_answers_and_ends_has_answered_and_one_that_cannot_start_is_named() -> None:
    one = Program([sys.executable, "-c", 'input(); print(\'{"id": 1, "higher": false}\')'], 30.0)
    assert ask(one, 1) == [Said(False)]
    with pytest.raises(ValueError, match="cannot start 'no-such-program': No such file"):
        ask(Program(["no-such-program"], 1.0))


@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_what_is_not_an_answer_gets_one_short_sentence(line: bytes) -> None:
    with pytest.raises(ProgramFailure) as failure:
        read_answer(line, 1)
    assert len(str(failure.value)) < 400
    assert "\n" not in str(failure.value)


@given(st.lists(st.binary(max_size=8).map(lambda part: part.replace(b"\n", b"")), max_size=8))
def test_a_line_is_the_same_however_it_is_split_on_the_way(parts: list[bytes]) -> None:
    async def going() -> None:
        process = _Process("a mark")
        process._answer = asyncio.get_running_loop().create_future()
        for part in parts:
            process.pipe_data_received(1, part)
            process.pipe_data_received(2, part)
            assert not process._answer.done()
        process.pipe_data_received(1, b"\n")
        assert process._answer.result() == b"".join(parts)
        assert not process._said

    run(going)


ROWS = tuple({"size": str(i % 7), "note": f"item {i}"} for i in range(12))
GOOD = """higher = float(asked["item"]["size"]) / 2 > asked["levels"].index(asked["level"])
print(json.dumps({"id": asked["id"], "higher": higher}))"""


@contextmanager
def labelled(file: Path, learner: str = "NewtonLogit") -> Iterator[tuple[Service, Any]]:
    compiled()
    service = Service(Settings(database=str(file), request_seconds=120))
    try:
        yield service, fill_project(service, TableProject("rain", ROWS, LEVELS, learner, seed=5))[0]
    finally:
        service.close()


def rows(service: Service, table: sa.Table) -> list[Any]:
    with service.database.reading() as connection:
        return list(connection.execute(sa.select(table)).all())


def go(service: Service, project: Any, body: str, budget: int, copies: int = 1, seconds: float = 30.0) -> ProgramRun:
    async def going() -> ProgramRun:
        one = ProgramRun(service, project, "judge", budget)
        await one.go([program(body, seconds) for _ in range(copies)])
        return one

    return run(going)


@pytest.mark.parametrize("copies", [1, 3])
def test_the_budget_is_spent_and_never_exceeded_through_all_runs(tmp_path: Path, copies: int) -> None:
    seen = tmp_path / "seen"
    body = f"open({str(seen)!r}, 'a').write(f\"{{asked['id']}}\\n\")\n{GOOD}"
    with labelled(tmp_path / "log.db") as (service, project):
        for budget, asked in ((10, 10), (10, 10), (20, 20), (5, 20)):
            done = go(service, project, body, budget, copies).progress()
            assert (done.asked, done.failures) == (asked, {})
            assert len(set(seen.read_text().split())) == len(seen.read_text().split()) == asked
        answers = rows(service, schema.answers)
        assert len(answers) == 20
        assert {one.person for one in answers} == {"judge"}
        right = {
            one.number: float(ROWS[one.item - 1]["size"]) / 2 > one.level - 1 for one in rows(service, schema.questions)
        }
        assert all(one.higher == right[one.question] for one in answers)
        assert rows(service, schema.leases) == []


def test_two_runs_at_once_with_one_name_share_the_budget(tmp_path: Path) -> None:
    with labelled(tmp_path / "log.db") as (service, project):

        async def going() -> None:
            runs = [ProgramRun(service, project, "judge", 20) for _ in range(2)]
            await asyncio.gather(*(one.go([program(GOOD)]) for one in runs))
            assert [one.progress().asked for one in runs] == [20, 20]
            assert sum(one.progress().answers for one in runs) == 20

        run(going)
        assert len(rows(service, schema.questions)) == 20


def test_a_failure_costs_its_question_and_too_many_in_a_row_end_the_run(tmp_path: Path) -> None:
    body = f"if asked['id'] % 3 == 0:\n    sys.exit('no idea')\n{GOOD}"
    with labelled(tmp_path / "log.db") as (service, project):
        done = go(service, project, body, 12).progress()
        assert (done.asked, done.answers, done.failures) == (12, 8, {"it ended with status 1": 4})
        assert len(rows(service, schema.skips)) == 4
        with pytest.raises(
            BrokenProgramError, match="5 times in a row .the last time: it ended with status 1"
        ) as broken:
            go(service, project, "sys.exit('no idea')", 100)
        assert broken.value.last_words == "no idea"
        assert len(rows(service, schema.questions)) == 17
        assert rows(service, schema.leases) == []


def test_if_everything_is_taken_it_waits_for_its_own_and_then_ends(tmp_path: Path) -> None:
    with labelled(tmp_path / "log.db") as (service, project):
        done = go(service, project, GOOD, 16, copies=14).progress()  # for 12 items
        assert done.answers == 16
        for _ in ROWS:
            service.ask(project, QuestionRequest("ann"))
        dry = go(service, project, GOOD, 40)
        assert (dry.progress().asked, dry.progress().answers, dry.ran_dry) == (16, 0, True), "and nothing was spent"


def test_nobody_is_asked_whether_something_is_above_the_highest_level(tmp_path: Path) -> None:
    body = f"assert asked['level'] != asked['levels'][-1]\n{GOOD}"
    with labelled(tmp_path / "log.db", "DFORD") as (service, project):
        assert go(service, project, body, 40).progress().answers == 40
        highest = {one.number for one in rows(service, schema.questions) if one.level == len(LEVELS)}
        assert highest, "its policy asks about all levels"
        assert {one.higher for one in rows(service, schema.answers) if one.question in highest} == {False}


def test_it_shows_progress_and_ends_when_the_levels_are_close_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, line = tmp_path / "shown", _answering.progress_line
    monkeypatch.setattr(_answering, "_SELDOM", 0.05)

    def show(now: Any, expected: float | None) -> str:
        if expected is not None:
            shown.touch()
        return line(now, expected)

    monkeypatch.setattr(_answering, "progress_line", show)
    waits = f"    while not os.path.exists({str(shown)!r}):\n        time.sleep(0.01)\n"
    (tmp_path / "judge.py").write_text(f"{READS}{waits}{textwrap.indent(GOOD, '    ')}\n")
    command = f"{sys.executable} {tmp_path / 'judge.py'}"
    with labelled(tmp_path / "log.db") as (service, project):
        how = _answering.read_answering(command, "", 5_000, 30.0, 1, 0.6, "dford label items.csv")
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(_answering.answer, service, project, how)
            wait_until(lambda: rows(service, schema.questions))
            for _ in range(30):  # before people answer, nobody can tell
                asked: Any = service.ask(project, QuestionRequest("ann"))
                right = float(ROWS[asked.subject.item - 1]["size"]) / 2 > asked.wording.level - 1
                service.tell_many(project, [SentAnswer(asked.number, right, "ann")])
            assert running.result().status == 0
        assert Counter(one.person for one in rows(service, schema.answers)) == {"ann": 30, "judge": 1}
        assert rows(service, schema.leases) == []
    said = capsys.readouterr()
    assert "\n1 of 5,000 questions, 0 answers, 0 failed\n" in said.out
    assert re.search(r"\n1 of 5,000 questions, \d answers, 0 failed, expected error \d\.\d\d", said.out)
    assert "The levels are expected to be at most 0.6 off, so judge is asked nothing more\n" in said.out
    assert said.err == ""


def test_what_others_were_asked_too_is_compared_by_level(tmp_path: Path) -> None:
    with labelled(tmp_path / "log.db") as (service, project):
        go(service, project, GOOD, 30)
        for _ in range(30):  # the opposite, of whatever is asked
            asked: Any = service.ask(project, QuestionRequest("ann"))
            right = float(ROWS[asked.subject.item - 1]["size"]) / 2 > asked.wording.level - 1
            service.tell_many(project, [SentAnswer(asked.number, not right, "ann")])
        same = same_answers(service.database, project, "judge")
        assert sum(count for _, count in same.values()) > 0
        assert {says for says, _ in same.values()} == {0}
        assert list(same) == [level for level in LEVELS if level in same]
        assert same_answers(service.database, project, "nobody") == {}
