"""Two runs of the benchmark: what changed is what moved by more than its noise."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run(commit: str, fit: tuple[float, float, float], window: tuple[float, float, float]) -> dict[str, Any]:
    """A line of the history, of one goal where more is better and of one where less is."""
    goals = {
        name: {"ratios": [ratio], "lowest": [lowest], "highest": [highest], "less_is_better": name == "window"}
        for name, (lowest, ratio, highest) in (("fit", fit), ("window", window))
    }
    return {"date": "", "commit": commit, "machine": "one", "python": "3", "turns": 7, "goals": goals}


LINES = [
    run("aaa", (2.8, 3.0, 3.1), (1.0, 1.1, 1.2)),
    run("bbb", (2.5, 2.7, 2.9), (1.1, 1.15, 1.3)),  # within the noise
    run("ccc", (2.2, 2.3, 2.4), (0.8, 0.85, 0.9)),
]


def compare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    command = [sys.executable, str(BENCHMARKS / "compare.py"), "--history", str(folder / "history.jsonl"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def words(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [" ".join(line.split()) for line in result.stdout.splitlines()[2:]]


def test_a_move_within_the_noise_is_no_change(tmp_path: Path) -> None:
    result = compare(tmp_path, "aaa", "2")
    assert (result.returncode, words(result)) == (0, ["fit 3 → 2.7", "window 1.1 → 1.15"])


def test_a_larger_move_is_better_or_worse_by_its_goal(tmp_path: Path) -> None:
    result = compare(tmp_path)
    assert (result.returncode, words(result)) == (1, ["fit 2.7 → 2.3 worse", "window 1.15 → 0.85 better"])
    back = compare(tmp_path, "ccc", "bbb")
    assert (back.returncode, words(back)) == (1, ["fit 2.3 → 2.7 better", "window 0.85 → 1.15 worse"])


def test_a_missing_run_is_reported_in_one_sentence(tmp_path: Path) -> None:
    result = compare(tmp_path, "aaa", "ddd")
    assert result.returncode == 1
    assert result.stderr.startswith("ddd is neither a commit nor the number of a run: the history has 3 runs")


def test_the_noise_of_a_ratio_is_how_far_it_moves_without_one_turn(monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench

    turns = {("", "ours", ""): [2.0, 1.0, 4.0], ("", "theirs", ""): [6.0, 8.0, 5.0]}
    monkeypatch.setattr(
        bench,
        "goals_of",
        lambda best: [bench.Goal("faster", [best["", "theirs", ""] / best["", "ours", ""]], True)],
    )
    assert bench.note(turns)["goals"] == {
        "faster": {"ratios": [5.0], "lowest": [2.5], "highest": [6.0], "less_is_better": False}
    }
