"""`dford label --answer`: a program answers on the command line, is killed and interrupted, and people go on."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dford.cli import main
from dford.cli._answering import describe, program_name, progress_line
from dford.estimates import Estimate
from dford.pool.people import Person
from dford.service.program_run import Progress
from dford.service.store import schema
from dford.service.store.database import Database
from drawing import drawings
from forking import Command
from serving import LEVELS, caught_up, compiled, ok, replayed, serving
from test_program import is_alive, wait_until
from test_service_keys import bearer

SHEET = "größe,note\n" + "".join(f"{i % 7},日本 {i}\n" for i in range(30))
JUDGE = """
import json, os, subprocess, sys, time
print("the judge begins", file=sys.stderr)
for line in sys.stdin:
    asked = json.loads(line)
    with open("seen", "a") as seen:
        print(json.dumps([asked, os.getpid()]), file=seen)
    if len(sys.argv) > 1 and asked["id"] > int(sys.argv[1]):  # from here on it hangs, and has a child
        child = subprocess.Popen(["sleep", "1000"])
        with open("children", "a") as children:
            print(child.pid, file=children)
        time.sleep(1000)
    higher = float(asked["item"]["größe"]) / 2 > asked["levels"].index(asked["level"])
    print(json.dumps({"id": asked["id"], "higher": higher, "confidence": 0.875}))
"""


@contextmanager
def answering(folder: Path, *more: str, judge: str = "judge.py", items: str = "items.csv") -> Iterator[Any]:
    """`dford label --answer` on a small file, as a process."""
    (folder / "items.csv").write_text(SHEET)
    (folder / "judge.py").write_text(JUDGE)
    words = ["label", items, "--levels", ",".join(LEVELS), "--learner", "NewtonLogit", "--database", "log.db"]
    process = Command([*words, "--answer", f"{sys.executable} {judge}", *more], ["NewtonLogit"], folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.close()


def ended(process: Any, status: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=600)
    assert process.returncode == status, (out, err)
    return out, err


def stored(folder: Path, table: sa.Table) -> list[Any]:
    database = Database(str(folder / "log.db"))
    with database.reading() as connection:
        found = list(connection.execute(sa.select(table)).all())
    database.close()
    return found


def lines(file: Path) -> list[str]:
    """Its whole lines; the one that a process is writing may be there in part."""
    return file.read_text().split("\n")[:-1] if file.exists() else []


def seen(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line)[0] for line in lines(folder / "seen")]


def test_a_program_gets_from_a_file_to_levels_and_people_continue(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    more = "--threads", "2", "--out", "levels.csv", "--files", "photos"
    with answering(tmp_path, "--budget", "55", *more) as process:
        out, err = ended(process)
    assert err == ""
    assert "judge answers up to 55 questions; press Ctrl-C to stop\n" in out
    assert re.search(r"55 answers in \d+ s; 55 of 55 questions in the budget asked\n", out)
    assert "It is unknown how often judge is wrong: no person has answered yet. A program alone only informs.\n" in out
    assert "nobody can tell before people have given 25 answers on the page\n" in out
    assert "expected" not in out, "nothing says what a program alone is worth"
    assert "yourself: dford label items.csv --files photos --database log.db. " in out
    assert out.endswith("Levels: levels.csv\n")
    asked = seen(tmp_path)
    assert sorted(one["id"] for one in asked) == list(range(1, 56))
    assert {"id", "item", "question", "level", "levels"} == set(asked[0])
    assert asked[0]["item"]["note"].startswith("日本")
    assert asked[0]["question"] == f"Is it above {asked[0]['level']}?"
    assert {one.confidence for one in stored(tmp_path, schema.answers)} == {0.875}
    with open(tmp_path / "levels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    right = [LEVELS[sum(i % 7 / 2 > n for n in range(3))] for i in range(30)]
    assert sum(row["level"] == level for row, level in zip(rows, right, strict=True)) >= 10

    with serving(tmp_path / "log.db") as client:  # as on the page
        assert caught_up(client, "/projects/items")["people"] == {"judge": 55}
        for _ in range(60):
            question = ok(client.post("/projects/items/questions"))
            above = float(question["shown"]["größe"]) / 2 > LEVELS.index(question["level"])
            ok(client.post(f"/projects/items/questions/{question['number']}/answer", json={"higher": above}))
        # at the same time, on a database that a server has open
        with answering(tmp_path, "--budget", "58") as process:
            out, err = ended(process)
        assert err == ""
        assert "up to 58 questions, 55 of them already asked" in out
        assert re.search(r"3 answers in \d+ s; 58 of 58 questions", out)
        assert re.search(r"The levels are expected to be [\d.]+ off on average: about \d+ more answers by people", out)
        assert re.search(r"\d+ of its 58 answers can be judged|Too early to tell how often judge is wrong", out)
        assert re.search(r"Of the (\d+) questions that others answered too, it answered \d+ like most of them \(", out)
        assert "More answers from people make this more certain: dford label items.csv --database log.db\n" in out
        assert caught_up(client, "/projects/items")["people"] == {"judge": 58, "local": 60}
    with answering(tmp_path, "--budget", "58") as process:
        assert (
            "judge has already been asked 58 questions, so its budget is used up; raise --budget\n" in ended(process)[0]
        )
    replayed(tmp_path / "log.db", "items")


def test_whoever_reads_the_output_may_stop_after_the_first_line_and_nothing_is_lost(tmp_path: Path) -> None:
    with answering(tmp_path, "--budget", "5", "--out", "levels.csv") as process:
        assert process.stdout.readline() == "Project items: 30 items, 30 of them new\n"
        process.stdout.close()
        assert process.wait(600) == 0
        assert process.stderr.read() == ""
    assert len(stored(tmp_path, schema.answers)) == 5
    assert len(lines(tmp_path / "levels.csv")) == 31


def test_after_a_kill_at_any_moment_nothing_answered_is_asked_again_and_the_budget_holds(tmp_path: Path) -> None:
    budget = 60
    for kills, least in enumerate((3, 25), 1):
        with answering(tmp_path, "--budget", str(budget), "--threads", "2") as process:
            wait_until(lambda: len(seen(tmp_path)) >= least or process.poll() is not None)  # noqa: B023
            assert process.poll() is None
            process.kill()
        told = {one.question for one in stored(tmp_path, schema.answers)}
        assert len(told) >= least - 2 * kills, "those that were open are lost at most"
    with answering(tmp_path, "--budget", str(budget), "--threads", "2") as process:
        ended(process)
    asked = [one["id"] for one in seen(tmp_path)]
    assert len(asked) == len(set(asked)), "asked twice"
    assert len(stored(tmp_path, schema.questions)) == budget
    assert budget - 2 * 2 <= len(asked) <= budget, "killed between the question and the program, one is asked of nobody"
    assert budget - 2 * 2 <= len(stored(tmp_path, schema.answers)) <= len(asked)
    assert stored(tmp_path, schema.leases) == []
    replayed(tmp_path / "log.db", "items")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process_and_keeps_all_answers(tmp_path: Path, number: signal.Signals) -> None:
    more = ["--budget", "50", "--threads", "2", "--out", "levels.csv"]
    with answering(tmp_path, *more, judge="judge.py 5") as process:
        wait_until(lambda: len(lines(tmp_path / "children")) == 2)
        process.send_signal(number)
        out, err = ended(process, 130)
    assert err == "dford: stopped; the answers are kept, and the same command continues from here\n"
    assert "5 answers in " in out
    assert (tmp_path / "levels.csv").exists()
    assert len(stored(tmp_path, schema.answers)) == 5
    assert stored(tmp_path, schema.leases) == []
    judges = [json.loads(line)[1] for line in lines(tmp_path / "seen")]
    children = [int(pid) for pid in lines(tmp_path / "children")]
    wait_until(lambda: not any(map(is_alive, judges + children)))


def test_a_program_that_keeps_failing_ends_the_run_in_one_sentence_with_its_last_words(tmp_path: Path) -> None:
    broken = "import sys\nprint('it begins', file=sys.stderr)\ninput()\nsys.exit('no model')\n"
    (tmp_path / "broken.py").write_text(broken)
    with answering(tmp_path, "--budget", "50", "--as", "Dr. Ümit", judge="broken.py") as process:
        out, err = ended(process, 1)
    assert err.splitlines() == [
        "dford: Dr. Ümit was stopped after failing 5 times in a row (the last time: it ended with status 1); its "
        "answers so far are kept",
        "The last lines of its stderr:",
        "it begins",
        "no model",
    ]
    assert "5 questions failed and were dropped: it ended with status 1 (5)\n" in out
    assert {one.person for one in stored(tmp_path, schema.skips)} == {"Dr. Ümit"}


def test_the_judge_in_the_docs_answers_as_they_say(tmp_path: Path) -> None:
    """Program and command to the letter."""
    text = (Path(__file__).parent.parent / "docs" / "people.md").read_text().partition("### On the command line")[2]
    (tmp_path / "judge.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    command = shlex.split(text.partition("```\ndford ")[2].partition("```")[0])
    shown = json.loads(text.partition("```text\n")[2].partition("```")[0])
    reviews = [
        "A great lamp, and I love it",
        "Slow and broken",
        "It is a lamp",
        "Good lamp",
        "Awful",
        "perfect and great",
    ]
    (tmp_path / "reviews.csv").write_text("review\n" + "".join(f'"{one}, {n}"\n' for n in range(5) for one in reviews))
    compiled()
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "dford", *command, "--database", "log.db"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    count = re.search(r"\b(\d+) answers in \d+ s; \1 of 500 questions", done.stdout)
    assert count is not None
    assert 30 <= int(count[1]) <= 30 * 3, "it is asked nothing twice, so with few items it is done before its budget"
    assert "There is nothing left to ask judge now: it has answered all it can" in done.stdout
    told = stored(tmp_path, schema.answers)
    assert {one.person for one in told} == {"judge"}
    assert {0.625, 0.875} <= {one.confidence for one in told}
    with open(tmp_path / "levels.csv", newline="") as file:
        levels = {row["review"]: row["level"] for row in csv.DictReader(file)}
    # questions are asked ahead, so which ones there are depends on how fast each side is
    great, broken = (
        [levels[f"{one}, {n}"] for n in range(5)] for one in ("A great lamp, and I love it", "Slow and broken")
    )
    # the last answers of a program take effect later, so some items may not be where it says
    assert sum(map(shown["levels"].index, great)) > sum(map(shown["levels"].index, broken))
    assert (shown.keys(), shown["item"].keys()) == ({"id", "item", "question", "level", "levels"}, {"review"})


def test_a_program_gets_the_paths_of_images(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for n, content in enumerate(drawings(8)[0]):
        (photos / f"{n}.png").write_bytes(content)
    (tmp_path / "look.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    path = asked['item']['image']\n"
        "    higher = open(path, 'rb').read().startswith(b'\\x89PNG') and path[0] == '/'\n"
        "    print(json.dumps({'id': asked['id'], 'higher': higher}))\n"
    )
    with answering(tmp_path, "--budget", "6", judge="look.py", items="photos") as process:
        out, _ = ended(process)
    assert "6 answers" in out
    assert [one.higher for one in stored(tmp_path, schema.answers)] == [True] * 6


@pytest.mark.parametrize(
    ("more", "about"),
    [
        (["--answer", "python judge.py"], "--answer needs --budget"),
        (["--answer", " ", "--budget", "5"], "--answer needs a command"),
        (["--answer", "python 'judge", "--budget", "5"], "no closing quotation"),
        (["--answer", "judge", "--budget", "0"], "--budget"),
        (["--answer", "judge", "--budget", "5", "--time-limit", "0"], "--time-limit"),
        (["--answer", "judge", "--budget", "5", "--threads", "0"], "--threads"),
        (["--answer", "judge", "--budget", "5", "--as", "local"], "choose another name"),
        (["--answer", "judge", "--budget", "5", "--as", "a\nb"], "printable"),
        (["--budget", "5"], "name one with --answer"),
        (["--as", "judge"], "name one with --answer"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    more: list[str], about: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(SHEET)
    assert main(["label", "items.csv", "--levels", "a,b", "--database", "log.db", *more]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"dford: [^\n]+\n", output.err)
    assert about in output.err
    assert not Path("log.db").exists()


def test_a_missing_program_is_named_and_costs_nothing(tmp_path: Path) -> None:
    with answering(tmp_path, "--budget", "5", "--answer", "no-such-judge") as process:
        _, err = ended(process, 2)
    assert err == "dford: cannot start 'no-such-judge': No such file or directory\n"
    assert stored(tmp_path, schema.questions) == []


def test_a_program_is_named_after_its_script_or_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("judge.v2.py").touch()
    for words, name in [
        (["python", "-u", "judge.v2.py", "--fast"], "judge.v2"),
        (["python", "-m", "judges"], "judges"),
        (["/usr/bin/ask-it", "--fast"], "ask-it"),
        (["node", "nowhere.js"], "node"),
    ]:
        assert program_name(words) == name


def test_a_program_is_asked_nothing_more_once_the_levels_are_good_enough(tmp_path: Path) -> None:
    """Which nobody can tell before people have answered."""
    with answering(tmp_path, "--budget", "5", "--until", "0.85") as process:
        out = ended(process)[0]
    assert "--until 0.85 counts once people have given 25 answers on the page: a program alone only informs\n" in out
    assert len(stored(tmp_path, schema.answers)) == 5
    with serving(tmp_path / "log.db") as client:
        for _ in range(40):
            question = ok(client.post("/projects/items/questions"))
            above = float(question["shown"]["größe"]) / 2 > LEVELS.index(question["level"])
            ok(client.post(f"/projects/items/questions/{question['number']}/answer", json={"higher": above}))
    for _ in range(2):  # it is asked nothing at all
        with answering(tmp_path, "--budget", "90", "--until", "0.85") as process:
            out = ended(process)[0]
        assert "--until" not in out
        assert "The levels are expected to be at most 0.85 off, so judge is asked nothing more\n" in out
        assert len(stored(tmp_path, schema.answers)) == 45
        assert float(re.findall(r"expected to be ([\d.]+) off on average", out)[0]) <= 0.85


def test_a_program_does_not_answer_as_a_person(tmp_path: Path) -> None:
    with answering(tmp_path, "--budget", "1") as process:
        ended(process)
    with serving(tmp_path / "log.db") as client:
        root = bearer(ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"])
        ok(client.post("/projects/items/questions", headers=root))
    with answering(tmp_path, "--budget", "5", "--as", "root") as process:
        assert "--as root is the name of a person who was asked before; choose another" in ended(process, 2)[1]


def test_progress_and_what_is_known_of_a_program_are_put_in_words() -> None:
    line = progress_line(Progress(120, 500, 117, Counter({"no answer within 60 s": 3}), 754.0), 0.314)
    assert line == "120 of 500 questions, 117 answers, 3 failed, expected error 0.31, 12:34 left"
    rate = Estimate(0.08, 0.02, 0.17)
    judge = Person("judge", 40, rate, Estimate(-0.2, -0.5, 0.1), 12, Estimate(0.9, 0.8, 0.95), None)
    same = {"calm": (7, 8), "mild": (4, 4)}
    assert describe(judge, 30, same, "dford label items.csv") == [
        "12 of its 40 answers can be judged. According to these, judge is wrong 8% of the time (95%: 2% to 17%), and "
        "0.20 levels more lenient than the others (95%: -0.10 to +0.50).",
        "Where the others leave little doubt, it agrees with them 90% of the time (95%: 80% to 95%).",
        "Of the 12 questions that others answered too, it answered 11 like most of them (calm 7 of 8, mild 4 of 4).",
        "More answers from people make this more certain: dford label items.csv",
    ]
    vague = judge._replace(judged=0, error_rate=Estimate(0.2, 0.0, 0.5))
    assert "no person has answered" in describe(vague, 0, {}, "")[0]
    assert "than it should be" in describe(judge, 0, {}, "")[0], "known levels judge it too"
    assert "Too early to tell how often judge is wrong: 0 of its answers" in describe(vague, 30, {}, "")[0]
