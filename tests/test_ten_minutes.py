"""The first ten minutes: the commands of the page, run as written, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ports import free_port

PAGE = (Path(__file__).parent.parent / "docs" / "ten-minutes.md").read_text()
PARTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
PORT = "8766"


def run(title: str, folder: Path) -> str:
    """All that a part of the page prints, on a port that is free; if a command fails, the rest is not run."""
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PARTS[title], re.MULTILINE | re.DOTALL))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-m", "-e", "-u", "-o", "pipefail", "-c", script.replace(PORT, str(free_port()))],
        cwd=folder, env={**os.environ, "PATH": path, "XDG_DATA_HOME": str(folder)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_things_are_rated(tmp_path: Path) -> None:
    printed = run("You have things to rate", tmp_path)
    assert '1,"A great lamp' in printed
    assert len(printed.partition("item,review,level")[2].splitlines()) == 4
    assert (tmp_path / "dford").exists(), "nothing is written elsewhere"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this machine")
def test_a_product_gets_one_bit_back(tmp_path: Path) -> None:
    printed = run("Your product gets one bit back", tmp_path)
    assert "Was the second one better than " in printed
    assert "2 answers learned" in printed
    assert '"higher":true,"sequence":1' in printed
    assert re.search(r"^films +1 ", printed, re.MULTILINE), printed


def test_learners_are_compared(tmp_path: Path) -> None:
    assert "| synthetic |" in run("You compare learners", tmp_path)


def test_the_page_has_no_other_parts() -> None:
    assert list(PARTS) == ["You have things to rate", "Your product gets one bit back", "You compare learners"]
    assert f"port {PORT}" in PAGE
