"""Programs that answer: within their budget, in order, and asked nothing twice."""

import re
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dford import NewtonLogit, Pool
from dford.datasets import make_synthetic
from dford.pool.run import Progress

LEVELS = [1, 2, 3, 4, 5]
X, y = make_synthetic(120, random_state=0)


def new() -> Pool:
    return Pool(X, LEVELS, learner=NewtonLogit(), random_state=0)


class Judge:
    """Answers as the labels say; some of the calls fail, and it may break down for good."""

    def __init__(self, fails: int = 0, breaks_at: int = 10**9) -> None:
        self.calls, self.asked, self._fails, self._breaks = 0, list[tuple[int, Any]](), fails, breaks_at
        self._lock = threading.Lock()

    def __call__(self, item: int, level: Any) -> bool:
        with self._lock:
            self.calls += 1
            if self.calls >= self._breaks:
                raise KeyboardInterrupt
            if self._fails and self.calls % self._fails == 0:
                raise OSError("the line is dead")
            self.asked.append((item, level))
        return bool(y[item] > level)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_program_places_the_items_within_its_budget(threads: int) -> None:
    judge, pool, seen = Judge(), new(), list[Progress]()
    done = pool.run(judge, person="judge", budget=200, threads=threads, on_progress=seen.append)
    assert (judge.calls, done.calls, done.answers, done.failed) == (200, 200, 200, 0)
    assert [progress.answers for progress in seen] == list(range(1, 201))
    pool.run(judge, person="judge", budget=360)
    assert len(set(judge.asked)) == judge.calls < 3.5 * len(y), "no question is asked whose answer follows from others"
    assert np.abs(pool.levels_ - y).mean() < 0.3, "nobody has said otherwise"
    assert pool.people_["judge"].answers == judge.calls
    assert not list(pool._asked)


def test_answers_count_in_the_order_of_their_questions_however_long_each_takes() -> None:
    held, pools = threading.Event(), [new(), new()]

    def slow_first(item: int, level: Any) -> bool:
        if not held.is_set():
            held.wait(0.2)
            held.set()
        return bool(y[item] > level)

    answers: list[Any] = [slow_first, Judge()]
    for pool, answer in zip(pools, answers, strict=True):
        pool.run(answer, person="judge", budget=60, threads=3)
    assert list(pools[0].log_.rounds()) == list(pools[1].log_.rounds())


@pytest.mark.parametrize("threads", [1, 3])
def test_failures_are_tried_again_and_never_cost_more_than_the_budget(threads: int) -> None:
    judge, pool = Judge(fails=4), new()
    done = pool.run(judge, person="judge", budget=99, threads=threads)
    assert judge.calls == done.calls == 99
    assert done.answers == 75  # one call in four has failed
    assert len(pool.log_) == 75
    with pytest.warns(UserWarning, match="questions were not answered; the last failure was OSError: the line is dead"):
        dead = new().run(Judge(fails=1), person="judge", budget=30, threads=threads)
    assert (dead.calls, dead.answers) == (30, 0)
    assert 10 <= dead.failed < 10 + threads  # when the budget ends, some are being tried again


def test_what_is_neither_true_nor_false_is_a_failure_and_reported() -> None:
    with pytest.warns(UserWarning, match="an answer must be True, False, or the probability .*; got 'yes'"):
        done = new().run(lambda item, level: "yes", person="judge", budget=6, retries=0)  # type: ignore[arg-type,return-value]
    assert (done.answers, done.failed) == (0, 6)


def test_an_item_that_always_fails_costs_one_question_and_not_the_budget() -> None:
    pool, calls = new(), list[int]()

    def judge(item: int, level: Any) -> bool:
        calls.append(item)
        if item % 7 == 0:
            raise OSError("unreadable")
        return bool(y[item] > level)

    with pytest.warns(UserWarning, match="questions were not answered; the last failure was OSError: unreadable"):
        done = pool.run(judge, person="judge", budget=120)
    assert max(calls.count(item) for item in range(0, 120, 7)) <= 3
    assert done.answers > 60
    assert not list(pool._asked)


def test_few_items_and_many_threads_spend_the_whole_budget() -> None:
    """While all items are asked about there is nothing to ask, until one is answered."""
    pool, calls = Pool(np.empty((3, 0)), LEVELS, audit=0, random_state=0), []

    def judge(item: int, level: Any) -> Any:
        calls.append(item)
        return np.bool_(item >= level)

    done = pool.run(judge, person="judge", budget=6, threads=8)
    assert (done.calls, done.answers, len(calls)) == (6, 6, 6)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cut", [0, 7])
@pytest.mark.parametrize("fails", [0, 9])
def test_after_a_crash_nothing_is_asked_twice_and_the_end_is_the_same(
    tmp_path: Path, threads: int, cut: int, fails: int
) -> None:
    file, pool, whole = tmp_path / "journal", new(), new()
    first, second = Judge(fails, breaks_at=41), Judge(fails)
    with pytest.raises(KeyboardInterrupt):
        new().run(first, person="judge", budget=100, threads=threads, journal=file)
    kept = file.read_bytes()
    file.write_bytes(kept[: len(kept) - cut])  # as if the last line had not reached the disk
    lines = file.read_bytes().count(b"\n")
    assert lines > 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = pool.run(second, person="judge", budget=100, threads=threads, journal=file)
    assert done.calls == 100
    assert file.read_bytes().count(b"\n") == done.answers + done.failed
    assert len(second.asked) == done.answers - sum(
        '"higher": null' not in line for line in file.read_text().splitlines()[:lines]
    )
    if not fails:
        whole.run(Judge(), person="judge", budget=100, threads=threads)
        assert list(pool.log_.rounds()) == list(whole.log_.rounds())


def test_a_journal_of_another_pool_or_with_rubbish_in_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    new().run(Judge(), person="judge", budget=10, journal=file)
    used = new()
    used.tell(used.ask(), True)
    used.drop(used.ask())
    with pytest.raises(ValueError, match="the journal belongs to another run"):
        used.run(Judge(), person="judge", budget=10, journal=file)
    assert not list(used._asked)
    with pytest.raises(ValueError, match="the journal belongs to another run"):
        new().run(Judge(), person="another", budget=10, journal=file)
    reversed_, other = Pool(X[::-1], LEVELS, random_state=0), Pool(X, LEVELS, random_state=1)
    for pool in (reversed_, other):
        with pytest.raises(ValueError, match="the journal belongs to another run"):
            pool.run(Judge(), person="judge", budget=10, journal=file)
    line = file.read_text().partition("\n")[0]
    whole = file.read_text()
    file.write_text(re.sub(r'"level": "\d"', '"level": []', whole))
    with pytest.raises(ValueError, match="the journal belongs to another run"):
        new().run(Judge(), person="judge", budget=10, journal=file)
    strange = [line.replace('"calls": 1', f'"calls": {calls}') for calls in ('"1"', -50)]
    for rubbish in ("rubbish", "[" * 100_000, "[]", *strange):
        file.write_text(f"{rubbish}\n")
        with pytest.raises(ValueError, match="line 1 of the journal is not an answer of a run"):
            new().run(Judge(), person="judge", budget=10, journal=file)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"person": ""}, "a program that answers needs a name"),
        ({"budget": -1}, "budget must be a whole number, 0 or more; got -1"),
        ({"threads": 0}, "threads must be a whole number, 1 or more; got 0"),
        ({"retries": -1}, "retries must be a whole number, 0 or more"),
        ({"budget": 1.5}, "budget must be a whole number, 0 or more; got 1.5"),
        ({"threads": "2"}, "threads must be a whole number, 1 or more; got '2'"),
        ({"retries": None}, "retries must be a whole number, 0 or more; got None"),
        ({"answer": "judge.py"}, "answer must be a function of an item's number and a level; got 'judge.py'"),
    ],
)
def test_bad_options_get_one_sentence(options: dict[str, Any], sentence: str) -> None:
    pool = new()
    with pytest.raises((TypeError, ValueError), match=sentence):
        pool.run(**{"answer": Judge(), "person": "judge", "budget": 10, **options})
    assert not pool.programs


@pytest.mark.parametrize("journal", [None, "journal"])
def test_a_pool_may_grow_during_a_run(journal: str | None, tmp_path: Path) -> None:
    pool = Pool(X[:30], LEVELS, learner=NewtonLogit(), random_state=0)

    def grow(progress: Progress) -> None:
        if progress.answers == 1:
            pool.add(X[30:60])

    file = None if journal is None else tmp_path / journal
    assert pool.run(Judge(), person="judge", budget=90, journal=file, on_progress=grow).answers == 90
