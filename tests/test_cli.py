"""What all commands keep: exit statuses, one sentence, completion in the shell."""

import os
import subprocess
import sys

import pytest

import dford.cli.demo
from dford.cli import main


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


def test_the_shell_completes_what_commands_take() -> None:
    asked = {"_DFORD_COMPLETE": "complete_bash", "COMP_WORDS": "dford data --fetch ab", "COMP_CWORD": "3"}
    command = [sys.executable, "-c", "import sys; from dford.cli import main; sys.exit(main())"]
    result = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, timeout=120)
    assert result.stdout.split() == ["abalone"]
