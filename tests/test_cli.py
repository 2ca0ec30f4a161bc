"""What all commands share: exit statuses, one sentence, completion in the shell."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dford.cli.demo
from command_reference import reference
from dford.cli import _names, _program, main
from dford.datasets._catalogue import CATALOGUE
from dford.experiments import EXPERIMENTS
from dford.experiments.fan_out import BACKENDS
from dford.experiments.reproduction.paper import SETTINGS
from dford.experiments.studies.studies import STUDIES
from dford.learners import LEARNERS, LiveLearner


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (ValueError("three levels were given,\n  two were expected"), 2),
        (FileNotFoundError("no such file: answers.csv"), 2),
        (OSError("the disk is full"), 1),
    ],
)
def test_what_the_library_raises_becomes_one_sentence(
    raised: Exception, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(dford.cli.demo, "_demo", fail)
    assert main(["demo"]) == status
    words = " ".join(str(raised).split())
    assert capsys.readouterr().err == f"dford: {words}\n"


def test_a_defect_is_not_taken_for_a_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(dford.cli.demo, "_demo", fail)
    with pytest.raises(KeyError, match="a defect"):
        main(["demo"])


HEAVY = {"matplotlib", "numba", "numpy", "pandas", "scipy", "sklearn", "sqlalchemy"}


def test_help_version_and_completion_import_nothing_heavy() -> None:
    """They take as long as Typer does, and import nothing that takes seconds."""
    commands = [command.name or getattr(command.callback, "__name__", "") for command in _program().registered_commands]
    assert len(commands) >= 14
    calls = [["--version"], ["--help"], [], *([name, "--help"] for name in commands)]
    code = f"""
import os, sys
from dford.cli import main
assert [main(call) for call in {calls!r}] == [0] * {len(calls)}
os.environ |= {{"_DFORD_COMPLETE": "complete_bash", "COMP_WORDS": "dford reproduce cur", "COMP_CWORD": "2"}}
try:
    main([])
except SystemExit:
    pass
print({HEAVY!r} & set(sys.modules), file=sys.stderr)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert result.stderr == "set()\n"
    assert result.stdout.startswith(f"dford {dford.__version__}\n")
    assert result.stdout.split()[-1] == "curves"
    for name in commands:
        assert f"Usage: dford {name} " in result.stdout


def test_help_shows_the_names_of_what_is_run() -> None:
    assert tuple(LEARNERS) == _names.LEARNERS
    live = tuple(name for name, learner in LEARNERS.items() if issubclass(learner, LiveLearner))
    assert live == _names.LIVE_LEARNERS
    assert tuple(STUDIES) == _names.STUDIES
    assert tuple(EXPERIMENTS) == _names.EXPERIMENTS
    assert tuple(BACKENDS) == _names.BACKENDS
    assert tuple(SETTINGS) == _names.PLAYED
    assert tuple(CATALOGUE) == _names.KEPT


def test_the_docs_show_every_command_as_it_is() -> None:
    written = (Path(__file__).parent.parent / "docs" / "command-line.md").read_text()
    assert written == reference(), "run: make docs/command-line.md"


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run([sys.executable, "-m", "dford", "--version"], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"dford {dford.__version__}\n", "")
    result = subprocess.run([sys.executable, "-m", "dford", "dance"], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (2, "")


ENTRY = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]["scripts"]["dford"]


@pytest.mark.parametrize("moment", ["dford.cli", "dford.cli.label", "dford.files", "typer", "dford.datasets"])
@pytest.mark.parametrize("start", ["script", "module"])
def test_ctrl_c_while_a_command_is_still_importing_ends_it_quietly(start: str, moment: str) -> None:
    """The interrupt comes exactly when the import of a module begins."""
    module, function = ENTRY.split(":")
    starts = {
        "script": f"from {module} import {function}; sys.exit({function}())",
        "module": "import runpy; runpy.run_module('dford', run_name='__main__')",
    }
    code = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {moment!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
{starts[start]}
"""
    command = [sys.executable, "-c", code, "data"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (130, "")


def test_ctrl_c_that_is_ignored_stays_ignored() -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from dford.__main__ import main; main()"
    code += "; assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    result = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_facade_imports_what_is_used_and_lists_everything() -> None:
    code = f"""
import sys
import dford
assert not {HEAVY!r} & set(sys.modules)
assert set(dford.__all__) | {{"Client", "learners", "evaluation"}} <= set(dir(dford))
from dford import *
assert DFORD is dford.learners.DFORD and FeedbackLog is dford.log.FeedbackLog and load is dford.load
assert dford.evaluation.offpolicy.mae and dford.Client
try:
    dford.nothing
except AttributeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (result.stdout, result.stderr) == ("module 'dford' has no attribute 'nothing'\n", "")


def test_the_shell_completes_what_commands_take() -> None:
    asked = {"_DFORD_COMPLETE": "complete_bash", "COMP_WORDS": "dford data --fetch ab", "COMP_CWORD": "3"}
    command = [sys.executable, "-c", "import sys; from dford.cli import main; sys.exit(main())"]
    result = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, timeout=600)
    assert result.stdout.split() == ["abalone"]


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["demo", "--rounds", "-5"], "--rounds"),
        (["demo", "--rounds", "0"], "--rounds"),
        (["demo", "--rounds", "many"], "--rounds"),
        (["demo", "--runs", "0"], "--runs"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--out", "FILE"], "--out"),
        (["demo", "--out", "FILE/below"], "--out"),
        (["demo", "--loud"], "--loud"),
        (["dance"], "dance"),
        (["data", "--data", "nowhere"], "nowhere"),
        (["data", "--data", "FILE"], "--data"),
        (["data", "--data", "FILE/below", "--fetch", "abalone"], "--data"),
        (["data", "--fetch", "moon"], "moon"),
        (["data", "--fetch", "abalone", "--fetch", "moon"], "moon"),
        (["data", "--data", "new", "--fetch", "eachmovie"], "withdrawn"),
        (["data", "--data", "new", "--fetch", "mslr"], "yourself"),
        (["compare", "--datasets", "abalome"], "abalone"),
        (["compare", "--datasets", "abalone"], "abalone.data"),
        (["compare", "--learners", "newtn"], "newton"),
        (["compare", "--study", "splits"], "split"),
        (["compare", "--study", "drift", "--learners", "prank"], "prank"),
        (["compare", "--data", "nowhere"], "nowhere"),
        (["compare", "--rounds", "0"], "--rounds"),
        (["compare", "--jobs", "0"], "--jobs"),
        (["compare", "--out", "FILE"], "--out"),
        (["reproduce", "dance"], "dance"),
        (["reproduce", "--quick", "--full"], "--full"),
        (["reproduce", "--datasets", "abalon"], "did you mean abalone"),
        (["reproduce", "--datasets", "abalone"], "abalone.data"),
        (["reproduce", "--jobs", "0"], "--jobs"),
        (["reproduce", "--backend", "horse"], "--backend"),
        (["reproduce", "--seed", "-1"], "--seed"),
        (["reproduce", "--out", "FILE"], "--out"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str],
    about: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("DFORD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Path("FILE").touch()
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"dford: [^\n]+\n", output.err)
    assert about in output.err
    assert [path.name for path in here.iterdir()] == ["FILE"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run"], "FILE is missing; see dford run --help"),
        (["run", "things.csv"], "--target is missing; see dford run --help"),
        (["run", "things.csv", "--target"], "--target needs a value"),
        (["reproduce", "--quick=1"], "--quick takes no value"),
        (["demo", "--xyzzy"], "there is no option --xyzzy; see dford demo --help"),
        (["run", "--targt", "a"], "there is no option --targt; did you mean --target?"),
        (["dat"], "there is no command 'dat'; did you mean 'data'?"),
        (["xyzzy"], "there is no command 'xyzzy'; see dford --help"),
        (["demo", "now", "then"], "there are too many arguments: now then; see dford demo --help"),
        (["demo", "--out", "FILE"], "--out: 'FILE' is a file; name a folder"),
        (["reproduce", "--jobs", "0"], "--jobs: 0 processes would do nothing; give 1 or more, or -1"),
        (["serve", "--config", "nowhere"], "cannot open nowhere: no such file or directory"),
        (["demo", "--rounds", "many"], "--rounds must be a whole number; got 'many'"),
        (["demo", "--rounds", "0"], "--rounds must be at least 1; got '0'"),
    ],
)
def test_no_message_of_a_library_underneath_reaches_the_user(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").touch()
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"dford: {sentence}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("run table.csv --target y --save table.csv", "--save: table.csv holds the table"),
        ("run table.csv --target y --save symbolic", "--save: symbolic holds the table"),
        ("run table.csv --target y --save hard", "--save: hard holds the table"),
        ("run table.csv --target y --save table.npy", "--save: table.npy holds the vectors of the table"),
        ("run table.csv --target y --log ./table.csv", "--log: table.csv holds the table"),
        ("run table.csv --target y --save new.csv --log ./new.csv", "--log: new.csv holds what --save writes"),
        ("predict model.csv table.csv --out table.csv", "--out: table.csv holds the table"),
        ("predict model.csv table.csv --out model.csv", "--out: model.csv holds the model"),
        ("tune table.csv --levels a,b --save table.csv", "--save: table.csv holds the log"),
        ("compare pass.csv --target y --out .", "--out: pass.csv holds the table"),
        ("place table.csv --levels a,b --answers model.csv --out table.csv", "--out: table.csv holds the items"),
        ("export rain table.csv --database table.csv", "FILE: table.csv holds the database"),
    ],
)
def test_no_command_writes_over_what_it_reads_or_over_its_other_output(
    arguments: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("table.csv", "table.npy", "model.csv", "pass.csv"):
        Path(name).write_text("x,y\n1,1\n2,2\n")
    Path("symbolic").symlink_to("table.csv")
    Path("hard").hardlink_to("table.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(arguments.split()) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"dford: {sentence}; write somewhere else\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
