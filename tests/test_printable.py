"""Texts of others, shown in a terminal: it must not obey them."""

import io
import logging
from pathlib import Path

import pytest
from PIL import Image

from dford.cli import label, main
from dford.cli._answering import Ending
from dford.cli._shared import new_table, refuse
from dford.document import printable
from dford.service.core import Service
from dford.service.http.server import configured
from dford.service.settings import Settings
from dford.service.table_project import TableProject

EVIL = "a\x1b[2J\x1b]0;title\x07b\rc\x00\x9bd\u202ee\x7f"
SHOWN = r"a\x1b[2J\x1b]0;title\x07b\rc\x00\x9bd\u202ee\x7f"


def is_harmless(text: str) -> bool:
    return not any(letter in text for letter in "\x1b\x07\r\x00\x9b\u202e\x7f")


def test_only_what_a_terminal_obeys_is_escaped() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("two\nlines\tand \ud800") == r"two\nlines\tand \ud800"
    for text in (
        "",
        "plain",
        "Ærøskøbing",
        "山田\u3000太郎",
        "nb\u00a0space",
        "👩\u200d🔬",
        "می\u200cخواهم",
        r"C:\new",
    ):
        assert printable(text) == text


def test_commands_escape_names_of_files_columns_and_what_programs_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["label", f"no {EVIL.replace(chr(0), '')}.csv", "--levels", "a,b"]) == 2
    Ending(1, f"it said {EVIL}", f"line 1 {EVIL}\nline 2 {EVIL}").say()
    refuse(EVIL)
    out = capsys.readouterr()
    assert is_harmless(out.out + out.err)
    assert out.err.count(r"\x1b[2J") == 5
    assert f"line 1 {SHOWN}\nline 2 {SHOWN}\n" in out.err


def test_columns_of_a_file_are_described_harmlessly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{n % 7},{n % 3}\n" for n in range(60))
    (tmp_path / "rows.csv").write_text(f"si\x1b[2Jze,rating\n{rows}")
    assert main(["run", str(tmp_path / "rows.csv"), "--target", "rating"]) == 0
    out = capsys.readouterr()
    assert r"si\x1b[2Jze: a number" in out.out
    assert is_harmless(out.out + out.err)


def test_label_escapes_names_of_files_and_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "photos").mkdir()
    (folder / "not an image\x1b[2J.txt").write_text("text")
    Image.new("RGB", (8, 8)).save(folder / "image.png")
    with monkeypatch.context() as patch:
        patch.setattr(label, "_label", lambda *_: None)
        assert main(["label", str(folder), "--levels", "a,b"]) == 0
    rows = [{"si\x1b[2Jze": str(n % 4)} for n in range(8)]
    label._filled(Settings(database=str(tmp_path / "log.db")), TableProject("rain", rows, ["a", "b"]))
    out = capsys.readouterr()
    assert r"(not an image\x1b[2J.txt)" in out.out
    assert r"si\x1b[2Jze: a number" in out.out
    assert is_harmless(out.out + out.err)


def test_label_says_why_files_of_a_folder_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no\timage.txt\u202e").write_text("text")
    (tmp_path / "note\u202egnp.txt").write_text("text")
    for name in ("a", "b\tc", "d\ne"):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{name}.png")
    monkeypatch.setattr(label, "_label", lambda *_: None)
    assert main(["label", str(tmp_path), "--levels", "a,b"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        r"1 file is left out, not being PNG, JPEG, WebP or GIF images (note\u202egnp.txt)",
        "3 files are left out, as names can have no control character, backslash or drive "
        r"(b\tc.png, d\ne.png, no\timage.txt\u202e)",
    ]


def test_tables_escape_them_too() -> None:
    from rich.console import Console

    table, shown = new_table(EVIL, "Name", EVIL), io.StringIO()
    table.add_row(EVIL, "1")
    Console(file=shown, width=200).print(table)
    assert is_harmless(shown.getvalue())
    assert shown.getvalue().count(SHOWN.partition("]")[0]) == 3


def test_the_log_of_a_server_has_one_harmless_line_for_each_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service(Settings(database=str(tmp_path / "log.db")))
    loggers = [logging.getLogger(name) for name in ("dford", "uvicorn")]
    before = [(logger, logger.handlers[:], logger.propagate) for logger in loggers]
    try:
        configured(service, "test")
        for logger in loggers:
            logger.warning("file %s\nof a stranger", EVIL)
            try:
                raise ValueError(EVIL)
            except ValueError:
                logger.exception("it failed")
    finally:
        for logger, handlers, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
        service.close()
    said = capsys.readouterr().err
    assert said.count(rf"file {SHOWN}\nof a stranger" + "\n") == 2
    assert said.count(f"ValueError: {SHOWN}\n") == 2
    assert is_harmless(said)
