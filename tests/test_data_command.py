"""The command that shows and fetches data."""

import re
from pathlib import Path

import pytest

from dford.cli import main
from dford.datasets._catalogue import CATALOGUE
from dford.datasets.registry import LOADERS
from small_data import make_known, without_last_row, write


@pytest.fixture(autouse=True)
def _a_log_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def test_the_command_tells_what_is_there_missing_and_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_known(monkeypatch)
    write(tmp_path)
    (tmp_path / "bank/bank8FM.arff").unlink()
    abalone = tmp_path / "abalone/abalone.data"
    abalone.write_bytes(without_last_row(abalone.read_bytes()))
    assert main(["data", "--data", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    states = {row[0]: row for row in map(str.split, output.splitlines()) if row and row[0] in LOADERS}
    assert {name for name, row in states.items() if "missing" in row} == {"bank8FM", "movielens"}
    assert {name for name, row in states.items() if "damaged" in row} == {"abalone"}
    assert {name for name, row in states.items() if "there" in row} == set(CATALOGUE) - {
        "bank8FM",
        "movielens",
        "abalone",
    }
    assert "rows 19 instead of 20" in output
    assert "dford data --fetch bank8FM --fetch movielens" in output
    table = output[: output.index("synthetic")]
    assert "…" not in table, "a log of 80 columns has room for all of it"


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["data", "--data", "nowhere"], "nowhere"),
        (["data", "--data", "FILE"], "--data"),
        (["data", "--data", "FILE/below", "--fetch", "abalone"], "--data"),
        (["data", "--fetch", "moon"], "moon"),
        (["data", "--fetch", "abalone", "--fetch", "moon"], "moon"),
        (["data", "--data", "new", "--fetch", "eachmovie"], "withdrawn"),
        (["data", "--data", "new", "--fetch", "mslr"], "by hand"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str],
    about: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").touch()
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"dford: [^\n]+\n", output.err)
    assert about in output.err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]
