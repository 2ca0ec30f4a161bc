"""Work in other processes always ends: with a value, or with an error that says what happened."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dford import FeedbackLog, NewtonLogit, Question
from dford.experiments.fan_out import fan_out
from dford.experiments.processes import NotPicklableError, WorkerDiedError
from dford.placing import place

SECONDS = 600  # far more than it takes: a test that would hang fails instead


class TwoWordsError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


class LockedError(Exception):
    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


class NeverArrives:
    def __reduce__(self) -> Any:
        return int, ("not a number",)


class Unsendable(NewtonLogit):
    def __getstate__(self) -> Any:
        raise RuntimeError("this one stays here")


def work(kind: str) -> Any:
    if kind == "two words":
        raise TwoWordsError("two", "words")
    if kind == "locked":
        raise LockedError
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        sys.exit(3)
    if kind == "input":
        return input()
    return {"lock": threading.Lock, "never arrives": NeverArrives}.get(kind, str)()


@pytest.fixture(autouse=True)
def bounded() -> Any:
    """Fail after a while instead of hanging."""

    def fail(*_: object) -> None:
        raise TimeoutError(f"no outcome after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_every_task_ends_whatever_it_gets_returns_or_does_to_its_process() -> None:
    given: list[Any] = [
        "fine", threading.Lock(), NeverArrives(), "lock", "never arrives", "two words", "locked", "input", "fine",
        "killed", "exit", "fine",
    ]  # fmt: skip
    errors = {done.place: done.error for done in fan_out(work, given, 2)}
    assert [given[n] for n in sorted(errors) if errors[n] is None] == ["fine"] * 3
    assert len(errors) == len(given)
    for n, what in {1: "gets", 2: "gets", 3: "returned", 4: "returned"}.items():
        assert isinstance(errors[n], NotPicklableError)
        assert f"what a task {what} cannot be passed between processes (" in str(errors[n])
    assert str(errors[5]) == "TwoWordsError: two words"
    assert str(errors[6]) == "LockedError: locked"
    assert isinstance(errors[7], EOFError)  # and not the next task
    assert all(isinstance(errors[n], WorkerDiedError) for n in (9, 10))


def test_a_function_that_cannot_be_imported_is_named() -> None:
    (done,) = fan_out(lambda given: given, [1], 2)
    assert "lambda" in str(done.error)


def test_placing_with_a_learner_that_cannot_travel_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"x0": np.arange(6.0)}).to_parquet(tmp_path / "items.parquet")
    log = FeedbackLog([1, 2, 3], ["x0"])
    for item in range(3):
        log.append(Question(str(item), [float(item)], 1, 1, 0.5, item), bool(item), item=item)
    with pytest.raises(ValueError, match="cannot be passed between processes"):
        place(tmp_path / "items.parquet", log, tmp_path / "levels.parquet", learner=Unsendable(), jobs=2)
    assert [path.name for path in tmp_path.iterdir()] == ["items.parquet"]


def test_a_learner_whose_error_cannot_travel_ends_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        textwrap.dedent(
            """
            from dford import NewtonLogit

            class TwoWordsError(Exception):
                def __init__(self, first, second):
                    super().__init__(first + " " + second)

            class Odd(NewtonLogit):
                def partial_fit(self, X, y, classes=None):
                    raise TwoWordsError("two", "words")
            """
        )
    )
    pd.DataFrame({"a": [0.5, 0.2, 0.1, 0.9] * 10, "y": [1, 2] * 20}).to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", "t.csv", "--target", "y", "--learners", "odd.py:Odd", "--runs", "2", "--rounds", "30"]
    result = subprocess.run(
        [sys.executable, "-m", "dford", *words, "--jobs", "2"], cwd=tmp_path, capture_output=True, text=True,
        timeout=SECONDS,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.strip().splitlines()[-1] == (
        "dford: a run failed (RuntimeError: TwoWordsError: two words); use one process (--jobs 1) to see where"
    )
    assert "Traceback" not in result.stderr
