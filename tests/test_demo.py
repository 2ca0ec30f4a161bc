"""The demonstration and the command that shows it."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from dford.cli import main
from dford.datasets import make_synthetic
from dford.experiments.reproduction.synthetic_run import CHUNK, FEEDBACK, Progress, run_demo, summary
from dford.learners import Trace
from dford.plotting import draw_curves


@pytest.fixture(autouse=True)
def _a_log_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def end_of(rounds: int, runs: int = 1, seed: int = 0) -> Progress:
    *_, end = run_demo(rounds, runs, seed)
    return end


def trace_of(mae: float) -> Trace:
    nothing = np.zeros(1)
    return Trace(np.ones(1, dtype=np.int64), np.array([mae]), *[nothing] * 7)


def table_rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines() if line.split()[:1] in [[name] for name in FEEDBACK]]


def test_every_chunk_is_reported_and_the_last_is_the_end() -> None:
    assert [progress.rounds for progress in run_demo(2 * CHUNK + 5)] == [CHUNK, 2 * CHUNK, 2 * CHUNK + 5]


def test_every_learner_learns_every_round() -> None:
    end = end_of(2_000)
    assert list(end.traces) == list(FEEDBACK)
    assert all(trace.round[-1] == 2_000 for trace in end.traces.values())


def test_same_seed_gives_the_same_figures() -> None:
    first, second, other = end_of(2_000, seed=3), end_of(2_000, seed=3), end_of(2_000, seed=4)
    for name in FEEDBACK:
        np.testing.assert_array_equal(first.traces[name].mae, second.traces[name].mae)
        assert not np.array_equal(first.traces[name].mae, other.traces[name].mae)


def test_figures_are_means_over_the_runs() -> None:
    one, two = end_of(2_000, runs=1), end_of(2_000, runs=2)
    alone = {name: float(trace.mae[-1]) for name, trace in one.traces.items()}
    # the first of two runs is the one run, so the second is what is left of twice the mean
    left = {name: 2 * float(trace.mae[-1]) - alone[name] for name, trace in two.traces.items()}
    for name in FEEDBACK:
        errors = 2_000 * left[name]
        assert left[name] != alone[name]
        assert errors == pytest.approx(round(errors), abs=1e-6), "an MAE over 2,000 rounds is a whole number of levels"
        assert 0 < left[name] < 4


def test_exact_labels_teach_more_than_greedy_bits() -> None:
    mae = {name: trace.mae[-1] for name, trace in end_of(20_000).traces.items()}
    assert mae["PRank"] < mae["DFORD"] < mae["PRIL"]


def test_the_constant_is_the_best_one_in_hindsight() -> None:
    _, y = make_synthetic(200_000, random_state=7)
    best = min(np.abs(y - level).mean() for level in range(1, 6))
    assert end_of(20_000).constant_mae == pytest.approx(best, abs=0.03)


@pytest.mark.parametrize("best", list(FEEDBACK))
def test_the_summary_names_the_best_learner(best: str) -> None:
    traces = {name: trace_of(1.0 if name == best else 1.25) for name in FEEDBACK}
    sentence = summary(Progress(1_000, traces, dict.fromkeys(FEEDBACK, 1.0), 0.75))
    assert sentence.startswith(f"After 1,000 rounds {best} ({FEEDBACK[best]}) has the lowest running MAE, 1.000;")
    assert sentence.count("is 0.250 above it") == 2
    assert sentence.endswith("0.750.")


def test_the_command_shows_the_table_and_draws_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["demo", "--rounds", "2000", "--runs", "2", "--seed", "5", "--out", str(out)]) == 0
    output = capsys.readouterr().out
    rows = table_rows(output)
    assert [row[0] for row in rows] == list(FEEDBACK), "once each: a log gets the table once"
    for row, trace in zip(rows, end_of(2_000, runs=2, seed=5).traces.values(), strict=True):
        assert row[-2:] == [f"{trace.mae[-1]:.3f}", f"{trace.crossings[-1]:.3f}"]
    assert "After 2,000 rounds" in output
    assert str(out / "curves.png") in output
    assert [path.name for path in out.iterdir()] == ["curves.png"]
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_one_round_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--rounds", "1", "--runs", "1", "--out", str(tmp_path)]) == 0
    assert len(table_rows(capsys.readouterr().out)) == 3


def test_a_picture_that_cannot_be_written_gets_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "curves.png").mkdir()
    assert main(["demo", "--rounds", "10", "--out", str(tmp_path)]) == 2
    assert re.fullmatch(r"dford: --out: [^\n]+\n", capsys.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == ["curves.png"], "nothing half-written is left"


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_leads_to_the_demo(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "dford demo" in capsys.readouterr().out


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"dford \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["matplotlib", "rich", "typer"])
def test_without_the_lab_extra_the_command_says_how_to_get_it(name: str) -> None:
    absent = f"import sys; sys.modules[{name!r}] = None; from dford.cli import main; sys.exit(main(['demo']))"
    result = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True, timeout=600)
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.fullmatch(rf'dford: [^\n]*{name}[^\n]*pip install "dford\[lab\]"[^\n]*\n', result.stderr)


def test_importing_dford_imports_nothing_from_the_lab_extra() -> None:
    code = "import dford, sys; print(*sorted({'matplotlib', 'rich', 'typer'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_ctrl_c_ends_quietly_with_130(tmp_path: Path) -> None:
    # a shell may have started pytest with SIGINT ignored, which children inherit
    listening = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = listening + "from dford.cli import main; sys.exit(main(sys.argv[1:]))"
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "demo", "--rounds", str(10**12), "--out", str(out)], stderr=subprocess.PIPE
    )
    try:
        while not out.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, b"")
    assert list(out.iterdir()) == []


def test_ctrl_c_waits_for_the_compiler_which_it_would_break(tmp_path: Path) -> None:
    """Raised inside LLVM's binding, it caused double frees and half-made functions."""
    code = """
import signal, sys, time
import dford.cli

source = "def compile():\\n signal.raise_signal(signal.SIGINT)\\n time.sleep(0.3)\\n print('compiled', end='')"
module = {"__name__": "llvmlite.binding", "signal": signal, "time": time}
exec(source, module)

def compiling(*_):
    module["compile"]()
    for _ in range(1000):
        time.sleep(0.01)
    yield

signal.signal(signal.SIGINT, signal.default_int_handler)
import dford.experiments.reproduction.synthetic_run
dford.experiments.reproduction.synthetic_run.run_demo = compiling
sys.exit(dford.cli.main(sys.argv[1:]))
"""
    command = [sys.executable, "-c", code, "demo", "--out", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout, result.stderr) == (130, "compiled", "")


def test_a_picture_replaces_the_old_one_completely_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(_: Figure, path: Path, **options: object) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    picture = tmp_path / "curves.png"
    picture.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", half)
        with pytest.raises(OSError, match="disk full"):
            draw_curves({"a": trace_of(1.0)}, picture, title="x")
    assert (list(tmp_path.iterdir()), picture.read_bytes()) == ([picture], b"old")

    draw_curves({"a": trace_of(1.0)}, picture, title="x")
    assert list(tmp_path.iterdir()) == [picture]
    assert picture.read_bytes().startswith(b"\x89PNG")
