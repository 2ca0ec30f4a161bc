"""`dford reproduce`: kept, resumed, fanned out, reported."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dford.experiments.reproduction.cells as cells
import dford.experiments.reproduction.plans as plans
import test_structure
from dford.cli import main
from dford.experiments import EXPERIMENTS, plan, run_cells
from dford.experiments.reproduction.cells import Cell, play
from dford.experiments.reproduction.plans import SIZES, Size
from dford.experiments.reproduction.rows import source
from small_data import make_known, write

TINY = Size((2, 300), (2, 300), (2, 400), (2, 10_000), (2, 300))
LONG = TINY._replace(curves=(20, 600_000))


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(SIZES, "quick", TINY)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path / "no data"))


def cell(**changes: Any) -> Cell:
    given: dict[str, Any] = {
        "experiment": "curves", "dataset": "synthetic", "source": source("synthetic"), "learner": "DFORD",
        "parameters": (("exploration", 0.4),), "rounds": 200, "run": 0, "seed": 0,
    }  # fmt: skip
    return Cell(**given | changes)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells that are really played, in this process."""
    seen = []

    def noted(cell: Cell, data: Any) -> Any:
        seen.append(cell)
        return play(cell, data)

    monkeypatch.setattr("dford.experiments.reproduction.results.play", noted)
    return seen


def test_one_job_and_two_give_the_same_files(tmp_path: Path) -> None:
    cells = plan(["curves", "truncation"], ["synthetic"]).cells
    one = run_cells(cells, tmp_path / "one", jobs=1)
    two = run_cells(cells, tmp_path / "two", jobs=2)
    assert one == two
    assert len(one.traces) == len(cells) > 10
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_second_start_plays_only_what_is_missing_or_damaged(tmp_path: Path, played: list[Cell]) -> None:
    cells = plan(["curves"], ["synthetic"]).cells
    first = run_cells(cells, tmp_path)
    assert len(played) == len(cells)
    whole = contents(tmp_path)
    (tmp_path / f"{cells[1].key}.json").unlink()
    (tmp_path / f"{cells[3].key}.json").write_text('{"trace": {"round": [1, 2')
    played.clear()
    assert run_cells(cells, tmp_path) == first
    assert played == [cells[1], cells[3]]
    assert contents(tmp_path) == whole


@pytest.mark.parametrize(
    "changes",
    [
        {"experiment": "regret"}, {"source": "another file"}, {"learner": "PRank"}, {"rounds": 201}, {"run": 1},
        {"seed": 1}, {"every": 10}, {"parameters": (("exploration", 0.5),)},
    ],
)  # fmt: skip
def test_whatever_determines_a_result_is_in_its_name(changes: dict[str, Any]) -> None:
    assert cell(**changes).key != cell().key == cell().key


def test_other_code_names_results_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cell().key
    monkeypatch.setattr("dford.experiments.reproduction.cells.code_version", lambda: "other code")
    assert cell().key != before


def test_all_code_that_cells_import_names_results_and_nothing_that_only_shows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, waiting = "dford.experiments.reproduction.cells", ["dford.experiments.reproduction.cells"]
    imported = {name}
    while waiting:
        new = test_structure.imports(waiting.pop()) - imported - {"dford"}
        imported |= new
        waiting += new
    assert set(cells.code_files()) == {test_structure.MODULES[one] for one in imported}
    assert {"dford.experiments.reproduction.paper", "dford.engine.newton", "dford.columns.texts"} <= imported
    assert not {"dford.experiments.reproduction.claims", "dford.plotting.curves", "dford.pool.pool"} & imported

    read, before = Path.read_bytes, cells.code_version.__wrapped__()
    changed = test_structure.MODULES["dford.experiments.reproduction.paper"]
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path == changed else b""))
    assert cells.code_version.__wrapped__() != before


def test_lambda_changes_no_error(tmp_path: Path) -> None:
    results = run_cells(plan(["grid"], ["synthetic"], demonstrate_lambda=True).cells, tmp_path)
    errors: dict[tuple[Any, int], set[str]] = {}
    for one, trace in results.traces.items():
        errors.setdefault((one["exploration"], one.run), set()).add(json.dumps(trace["mae"]))
    assert len(results.traces) == 6 * 4 * 2
    assert all(len(different) == 1 for different in errors.values())
    assert len({min(each) for each in errors.values()}) == 4 * 2, "as γ and the run do"


def test_a_cell_that_fails_takes_no_other_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def variants(name: str, _: object) -> Any:
        yield "DFORD", {"clip": 5.0}
        yield "DFORD", {"clip": -5.0}

    monkeypatch.setitem(plans.EXPERIMENTS, "regret", variants)
    arguments = ["reproduce", "regret", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert len(re.findall(r"^dford: failed: regret: .*clip=-5.0.*run \d \(.*\)$", output.err, re.MULTILINE)) == 2
    assert len(list((tmp_path / "cells").iterdir())) == 2
    assert "clip=-5.0" in (tmp_path / "report.html").read_text()


def test_a_cell_that_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    class Deadly(Cell):
        def __reduce__(self) -> Any:
            return os._exit, (1,)  # where a worker unpacks it

    deadly = Deadly(**vars(cell(experiment="grid")))
    others = plan(["curves"], ["synthetic"]).cells
    results = run_cells([others[0], deadly, *others[1:]], tmp_path, jobs=2)
    assert list(results.traces) == others
    assert list(results.failures) == [deadly]
    assert "process died" in results.failures[deadly]


def test_files_that_change_after_planning_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(monkeypatch)
    write(tmp_path)
    (planned,) = [one for one in plan(["curves"], ["bank8FM"], data=tmp_path).cells if one.run == 0][:1]
    with (tmp_path / "bank/bank8FM.arff").open("a") as file:
        file.write("\n")
    results = run_cells([planned], tmp_path / "out", data=tmp_path)
    assert "have changed since the experiment was planned" in results.failures[planned]


def test_missing_data_is_left_out_unless_it_was_named() -> None:
    cells, missing = plan(list(EXPERIMENTS))
    assert {one.dataset for one in cells} == {"synthetic"}
    assert set(missing) == {"abalone", "parkinsons", "california", "computer", "bank8FM", "mslr", "eachmovie"}
    with pytest.raises(FileNotFoundError, match="abalone.data"):
        plan(["curves"], ["abalone"])


def test_ctrl_c_leaves_no_process_and_the_next_start_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a shell may have started pytest with SIGINT ignored, which children inherit
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    # one cell is done soon, and all of them long after
    code += f"from dford.experiments.reproduction.plans import SIZES, Size; SIZES['full'] = {LONG!r}; "
    code += "from dford.cli import main; sys.exit(main(sys.argv[1:]))"
    monkeypatch.setitem(SIZES, "full", LONG)
    options = ["curves", "--datasets", "synthetic", "--jobs", "2", "--full", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "reproduce", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        while process.poll() is None and not list(tmp_path.glob("cells/[!.]*.json")):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        start = time.monotonic()
        output, errors = process.communicate(timeout=600)
        took = time.monotonic() - start
    finally:
        process.kill()
    assert (process.returncode, output) == (130, "")
    assert errors == "dford: stopped; the same command continues from here\n"
    assert took < 30, "a second, unless the machine is busy"
    assert _living(process.pid) == []
    kept = contents(tmp_path / "cells")
    assert 0 < len(kept) < 60
    assert all(json.loads(each)["trace"]["round"][-1] == 600_000 for each in kept.values()), "nothing half-done"

    cells = plan(["curves"], ["synthetic"], "full").cells
    finished = [each for each in cells if f"{each.key}.json" in kept]
    assert len(finished) == len(kept), "the next start looks for the same names"


def _living(session: int) -> list[str]:
    """The processes of a session, except zombies."""
    found = subprocess.run(["ps", "-o", "stat=,args=", "-s", str(session)], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if not line.startswith("Z")]


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_backend_that_is_not_installed_is_reported(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = {"ray": "ray", "dask": "distributed"}[backend]
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["reproduce", "curves", "--quick", "--backend", backend, "--out", str(tmp_path)]) == 2
    assert re.fullmatch(rf"dford: backend {backend} needs {module}[^\n]*pip install[^\n]*\n", capsys.readouterr().err)
