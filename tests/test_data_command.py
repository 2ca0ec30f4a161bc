"""The command that shows and fetches data."""

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


def test_the_command_shows_what_is_there_missing_and_damaged(
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
