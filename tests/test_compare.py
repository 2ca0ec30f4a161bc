"""The comparison and the command that shows it."""

import csv
import io
import math
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from dford.cli import compare, main
from dford.columns.scaling import scaled_as_they_come
from dford.datasets import make_synthetic
from dford.experiments.studies import held_out, noise_and_drift, placement_error, running_error
from dford.experiments.studies.records import Table
from dford.learners import NewtonLogit
from dford.learners._trace import Trace
from dford.plotting import PICTURES

X, Y = make_synthetic(600, random_state=1)
QUARTERS = slice(10, 20), slice(20, 30)  # the second and the third, of 40 windows
SMALL = ["compare", "--rounds", "300", "--runs", "2", "--datasets", "synthetic-poly"]


@pytest.fixture(autouse=True)
def _no_data_and_a_log_of_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "DFORD_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def records_of(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    words = {"dataset", "learner", "setting", "model"}
    return [{key: value if key in words else float(value) for key, value in row.items()} for row in rows]


def cells(markdown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if "|" in line]


def test_no_item_comes_twice_and_every_run_has_its_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Recorder:
        def partial_fit(self, rows: Any, y: Any, classes: Any) -> Any:
            assert classes == [1, 2, 3, 4, 5], "the scale is known beforehand, whatever comes"
            seen.append(rows)
            return SimpleNamespace(trace_=Trace(np.ones(1, dtype=np.int64), *[np.ones(1)] * 8))

    monkeypatch.setattr(running_error, "settings", lambda *_: [("", Recorder(), "none")])
    for run in range(2):
        running_error.play("synthetic", "newton", X, Y, 500, run, 0)
    rows = {tuple(row) for row in X.tolist()}
    for stream in seen:
        assert len(stream) == len({tuple(row) for row in stream.tolist()} & rows) == 500
    assert not np.array_equal(*seen)


@pytest.mark.parametrize("learner", running_error.TITLES)
def test_later_items_change_no_earlier_figure(learner: str) -> None:
    later = np.r_[:400, np.random.default_rng(0).permutation(np.arange(400, 600))]
    first, second = (
        [
            r
            for r in running_error.checkpoints(learner, False, X[order], Y[order], [1, 2, 3, 4, 5], 3)
            if r["answers"] <= 400
        ]
        for order in (np.arange(600), later)
    )
    assert str(first) == str(second), "as text, where NaN equals NaN"
    assert first[-1]["answers"] == 398


def test_rows_are_scaled_by_those_seen_so_far() -> None:
    rows = np.column_stack([X * [1.0, 1e6] + [0.0, 1e9], np.full(600, 7.0)])
    scaled = scaled_as_they_come(rows, unit=False)
    for n in (2, 10, 599):
        np.testing.assert_allclose(
            scaled[n], StandardScaler().fit(rows[: n + 1]).transform(rows[n : n + 1])[0], atol=1e-6
        )
    assert not scaled[0].any(), "nothing has varied yet"
    np.testing.assert_allclose(np.linalg.norm(scaled_as_they_come(rows, unit=True)[1:], axis=1), 1.0)


def test_the_best_setting_has_the_best_mean_at_the_end() -> None:
    def ends(setting: str, *errors: float) -> list[dict[str, Any]]:
        common = {"dataset": "d", "learner": "dford", "setting": setting, "low": 0.5, "high": 2.0, "estimate": 1.0}
        return [
            common | {"run": run + 1, "answers": n, "mae": e}
            for run, error in enumerate(errors)
            for n, e in ((10, 3.0 - error), (20, error))
        ]

    figure = running_error.figure(ends("a", 0.6, 1.6) + ends("b", 1.2, 0.9), "d", "dford")
    assert figure.setting == "b"
    assert figure.mae == pytest.approx(1.05)
    assert figure.spread == pytest.approx(0.3 / 2**0.5)
    assert figure.held == 1, "at 10 answers the second run had 2.1, above 2.0"


def test_the_number_of_processes_changes_no_file(tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert main([*SMALL, "--learners", "newton,dford,boosting", "--jobs", jobs, "--out", str(tmp_path / jobs)]) == 0
    files = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert files == ["pass.csv", "pass.md", "pass.png"] == sorted(path.name for path in (tmp_path / "2").iterdir())
    for name in files:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert main([*SMALL, "--learners", "newton", "--seed", "1", "--out", str(tmp_path / "3")]) == 0
    assert (tmp_path / "3" / "pass.csv").read_text() not in (tmp_path / "1" / "pass.csv").read_text()


def test_the_table_holds_the_figures_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--learners", "newton,prank", "--out", str(tmp_path)]) == 0
    records = records_of(tmp_path / "pass.csv")
    error, free = (cells(part) for part in (tmp_path / "pass.md").read_text().split("The same"))
    assert error[0] == ["dataset", "NewtonLogit", "PRank, labels"]
    ends = [r["mae"] for r in records if (r["learner"], r["answers"]) == ("newton", 300)]
    assert len(ends) == 2
    assert error[2][1] == f"{np.mean(ends):.3f}±{np.std(ends, ddof=1):.3f}".replace("±0", "±")
    estimates = [r["estimate"] for r in records if (r["learner"], r["answers"]) == ("newton", 300)]
    assert free[0] == ["dataset", "answers", "NewtonLogit"], "what sees labels has nothing to guess"
    assert free[2][:2] == ["synthetic-poly", "300"]
    assert free[2][2].split()[0] == f"{np.mean(estimates):.3f}"
    output = capsys.readouterr().out
    assert error[2][1] in output
    assert max(map(len, output.splitlines()[:12])) <= 80


def test_without_files_it_plays_the_synthetic_streams_and_says_what_to_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["compare", "--rounds", "50", "--runs", "1", "--learners", "newton", "--out", out]) == 0
    output = capsys.readouterr().out
    assert {r["dataset"] for r in records_of(tmp_path / "out" / "pass.csv")} == {"synthetic", "synthetic-poly"}
    assert re.search(r"Missing: abalone, .*mslr\. .*--data", output)


def test_learners_that_a_study_runs_on_none_of_the_datasets_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rated` takes ratings by people, and there are none."""
    assert main([*SMALL, "--study", "people", "--learners", "rated", "--out", str(tmp_path / "out")]) == 2
    assert "the study people runs none of rated on synthetic-poly" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_split_shares_no_row_and_leaves_out_what_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    A, B, known, hidden, _ = held_out.parts(X, Y, 400, 0, 0)
    assert (len(A), len(B), len(known), len(hidden)) == (400, 100, 400, 100)
    assert not {tuple(row) for row in A.tolist()} & {tuple(row) for row in B.tolist()}

    monkeypatch.setattr(held_out, "find_spec", lambda name: None)
    learners = "boosting,boosting-label,histogram,mord,ELMOP"
    assert main([*SMALL, "--study", "split", "--learners", learners, "--out", str(tmp_path)]) == 0
    assert 'mord, skordinal (pip install "dford[peers]")' in " ".join(capsys.readouterr().out.split())
    records = records_of(tmp_path / "split.csv")
    assert [r["model"] for r in records[:3]] == ["boosting", "boosting-label", "histogram"]
    rows = cells((tmp_path / "split.md").read_text())
    assert rows[2] == ["DirectionalBoosting", "one bit", f"{np.mean([r['mae'] for r in records[::3]]):.3f}"]


def test_without_wrong_answers_a_flipped_pass_is_the_plain_one() -> None:
    flipped = {
        flip: noise_and_drift.play_flipped("synthetic-poly", "newton", X, Y, flip, 500, 0, 7) for flip in (0.0, 0.5)
    }
    *_, end = running_error.play("synthetic-poly", "newton", X, Y, 500, 0, 7)
    assert flipped[0.0][0]["mae"] == end["mae"]
    assert flipped[0.5][0]["mae"] > 2 * end["mae"], "coin tosses teach nothing"


def test_after_the_scale_turns_a_learner_that_forgets_soon_recovers() -> None:
    rows, labels = make_synthetic(4000, random_state=2)
    plays = {k: noise_and_drift.drift("synthetic-poly", k, rows, labels, 4000, 0, 0) for k in noise_and_drift.FORGETS}
    before, after = ({k: np.mean([r["mae"] for r in play[part]]) for k, play in plays.items()} for part in QUARTERS)
    assert before["newton-forget"] < 1.5 * before["newton"]
    assert after["newton-forget"] < 0.5 * after["newton"]


def test_every_probability_falls_into_one_bin() -> None:
    records = held_out.bins("synthetic-poly", "newton", X, Y, 400, 0, 0)
    assert sum(r["count"] for r in records) == 100 * 4
    A, B, known, hidden, seed = held_out.parts(X, Y, 400, 0, 0)
    model = NewtonLogit(features="poly", random_state=seed).fit(A, known)
    expected = (model.predict_proba(B) @ np.arange(5)).sum()  # the mean number of cuts below a level
    assert sum(r["predicted"] for r in records) == pytest.approx(expected)
    assert sum(r["true"] for r in records) == (hidden - 1).sum()


@pytest.mark.parametrize("study", ["flips", "drift", "reliability"])
def test_every_study_writes_its_table_its_figures_and_its_picture(study: str, tmp_path: Path) -> None:
    assert main([*SMALL, "--study", study, "--learners", "newton", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{study}.csv", f"{study}.md", f"{study}.png"]
    assert cells((tmp_path / f"{study}.md").read_text())[2][0] == "synthetic-poly"
    assert (tmp_path / f"{study}.png").read_bytes().startswith(b"\x89PNG")


def test_a_level_that_no_row_has_is_refused_as_the_others_would_move_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gap.csv").write_text(
        "a,level\n" + "".join(f"{n % 7},{'bad' if n % 2 else 'good'}\n" for n in range(60))
    )
    command = ["compare", str(tmp_path / "gap.csv"), "--out", str(tmp_path / "out"), "--target"]
    assert main([*command, "level", "--levels", "bad,ok,good"]) == 2
    assert "dford: no row of gap.csv has the level 'ok'" in " ".join(capsys.readouterr().err.split())
    assert main([*command, "a", "--cuts", "1,2.2,2.8"]) == 2
    assert "dford: no row of gap.csv has the level 3" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_a_pool_is_compared_with_ways_that_know_less_and_a_limit(tmp_path: Path) -> None:
    data = {"synthetic": running_error.Dataset(*make_synthetic(200, random_state=0))}
    ways = list(placement_error.WAYS)
    with threadpool_limits(1):  # as studies do: threads on busy cores wait for each other
        records = [record for task, given in placement_error.tasks(data, ways, 120, 1) for record in task(*given)]
    right = {(r["way"], r["answers"]): r["mae"] for r in records if r["wrong"] == 0}
    assert right["pool", 4.0] == right["bisection", 4.0] == right["labels", 4.0] == 0
    assert right["pool", 2.0] < right["learner", 2.0]
    assert {(way, share) for way in ways for share in placement_error.SHARES} <= set(right)
    limits = {r["wrong"]: r["answers"] for r in records if r["way"] == "limit"}
    assert 0 < limits[0.0] <= math.log2(5)
    assert limits[0.1] == pytest.approx(limits[0.0] / (1 - 0.4689956), rel=1e-6), (
        "divided by the capacity of such a channel"
    )
    table, other, reached = placement_error.tables(records)
    others = ["Pool, no audit", "answers alone", "Auto alone", "labels for as many bits"]
    assert table.header == ["dataset", "Pool", "Pool expects", *others]
    assert "10% of them wrong" in other.title
    first = min(answers for (way, answers), mae in right.items() if way == "pool" and mae <= 0.05)
    assert dict(zip(reached.header, reached.rows[0], strict=True))["Pool, 0%"] == f"{first:.2f}"
    PICTURES["pool"](records, tmp_path / "pool.png")
    assert (tmp_path / "pool.png").read_bytes().startswith(b"\x89PNG")


def process_groups(session: int) -> set[int]:
    """Those of a session: each worker has its own."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _, _, group, its_session, *_ = file.read_text().rpartition(")")[2].split()
            if int(its_session) == session:
                found.add(int(group))
    return found


def test_ctrl_c_ends_quietly_with_130_and_writes_nothing(tmp_path: Path) -> None:
    # a shell may have started pytest with SIGINT ignored, which children inherit
    listening = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = listening + "from dford.cli import main; sys.exit(main(sys.argv[1:]))"
    out = tmp_path / "out"
    words = ["compare", "--learners", "boosting", "--jobs", "2", "--runs", "99", "--out", str(out)]  # no end in sight
    command = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        while not process_groups(process.pid) - {process.pid} and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, b"")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("said", [b"", b"\x80\x04\x95"])
def test_a_worker_whose_parent_ends_at_once_ends_quietly(said: bytes) -> None:
    code = "from dford.experiments.processes import serve; serve()"
    done = subprocess.run([sys.executable, "-c", code], input=said, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_column_without_figures_is_shown_on_a_narrow_screen() -> None:
    screen = Console(width=20, file=(file := io.StringIO()))
    screen.print(compare._shown(Table("", ["dataset", "times the limit"], [["computer", ""]]), 20))
    assert "computer" in file.getvalue()
    assert "times the" in file.getvalue()


def test_what_was_computed_is_written_before_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise BrokenPipeError("whoever read has stopped")

    monkeypatch.setattr(compare, "_shown", gone)
    main([*SMALL, "--study", "pass", "--learners", "prank", "--out", str(tmp_path / "out")])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"pass.csv", "pass.md", "pass.png"}
