"""A pool in use: copies, open questions, questions of others, and answers about other things."""

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dford
from dford import FeedbackLog, NewtonLogit, Pool
from dford.datasets import make_synthetic
from dford.feedback import Question
from dford.pool import placements

LEVELS = [1, 2, 3, 4, 5]
X, y = make_synthetic(300, random_state=0)


def pool_of(rows: Any, **options: Any) -> Pool:
    return Pool(rows, LEVELS, **{"learner": NewtonLogit(), "random_state": 0, **options})


def answer(pool: Pool, levels: Any, n: int) -> None:
    for _ in range(n):
        question = pool.ask()
        pool.tell(question, bool(levels[question.item] > question.level))


def bits(pool: Pool, folder: Path) -> bytes:
    pool.save(folder / "bits.dford")
    return (folder / "bits.dford").read_bytes()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_a_pool_in_use_can_be_copied(again: Any, tmp_path: Path) -> None:
    pool = pool_of(X)
    answer(pool, y, 60)
    waiting = pool.ask()
    other = again(pool)
    assert bits(other, tmp_path) == bits(pool, tmp_path)
    for one in (pool, other):
        one.tell(waiting, True)
        answer(one, y, 60)
    assert bits(other, tmp_path) == bits(pool, tmp_path)
    pool.tell(pool.ask(), True)
    assert len(pool.log_) == len(other.log_) + 1, "neither changes the other"


def test_a_pool_whose_items_all_have_open_questions_says_so() -> None:
    pool = pool_of(X[:3])
    questions = pool.ask(10)
    assert len(questions) == 3
    assert pool.ask(2) == []
    with pytest.raises(ValueError, match="has an open question; tell its answer or drop it"):
        pool.ask()
    pool.drop(questions[0])
    assert pool.ask().item == questions[0].item


def test_a_pool_that_knows_everything_has_nothing_to_ask() -> None:
    pool = pool_of(X[:2], audit=0)
    for item in range(2):
        pool.settle(item, 3)
    assert pool.ask() is None


@pytest.mark.parametrize("rows", [X + 1.0, X[:299], sparse.csr_matrix(X)])
def test_a_question_of_a_pool_with_other_items_is_refused(rows: Any) -> None:
    question, other = pool_of(X).ask(), pool_of(rows)
    assert other.ask()[1:] == question[1:], "they look the same"
    with pytest.raises(ValueError, match="was not asked by this pool"):
        other.tell(question, True)


def test_a_question_of_a_pool_with_other_levels_is_refused() -> None:
    question, other = pool_of(X).ask(), Pool(X, [1, 2, 3, 4, 6], learner=NewtonLogit(), random_state=0)
    other.ask()
    with pytest.raises(ValueError, match="was not asked by this pool"):
        other.tell(question, True)


def test_the_log_has_the_confidence_as_it_was_given(tmp_path: Path) -> None:
    pool = pool_of(X)
    given = [0.93, 0.07, 0.61, True, 1.0]
    for said in given:
        pool.tell(pool.ask(), said)
    expected = [0.93, 1.0 - 0.07, 0.61, np.nan, 1.0]
    np.testing.assert_array_equal(pool.log_.confidence, expected)
    pool.save(tmp_path / "pool.dford")
    np.testing.assert_array_equal(dford.load(tmp_path / "pool.dford").log_.confidence, expected)


def earlier_log(n: int = 600) -> FeedbackLog:
    """Answers about other rows of the same kind, without items."""
    rows, levels = make_synthetic(n, random_state=7)
    log = FeedbackLog(LEVELS)
    for i, (row, level) in enumerate(zip(rows, levels, strict=True)):
        asked = LEVELS[i % 4]
        log.append(Question("", row, asked, 3, 0.25, 0), bool(level > asked))
    return log


def test_last_months_answers_are_worth_something_to_this_months_items(tmp_path: Path) -> None:
    alone, helped = Pool(X, LEVELS, random_state=0), Pool(X, LEVELS, log=earlier_log(), random_state=0)
    assert np.abs(helped.levels_ - y).mean() < 0.5 < np.abs(alone.levels_ - y).mean()
    assert helped.expected_error_ < alone.expected_error_
    assert len(helped.log_) == 0, "they are about no item"
    answer(helped, y, 130)
    helped.save(tmp_path / "pool.dford")
    loaded = dford.load(tmp_path / "pool.dford")
    assert bits(loaded, tmp_path) == bits(helped, tmp_path)
    for one in (helped, loaded):
        answer(one, y, 130)
    assert bits(loaded, tmp_path) == bits(helped, tmp_path), "what was learned apart is remembered in order"


def test_a_pool_starts_from_an_earlier_pool_of_texts() -> None:
    words = np.array(["awful", "poor", "fine", "great", "superb"])
    texts = pd.DataFrame({"text": [f"{words[level - 1]} thing {i}" for i, level in enumerate(y)]})
    earlier = Pool(texts[:200], LEVELS, random_state=0)
    answer(earlier, y, 400)
    found = Pool(texts[200:], LEVELS, log=earlier, random_state=1)
    assert np.abs(found.levels_ - y[200:]).mean() < 0.7
    with pytest.raises(ValueError, match="does not say from what .* pass the earlier pool instead of its log$"):
        Pool(texts[200:], LEVELS, log=earlier.log_)


def test_what_answers_of_several_people_say_has_the_same_bits_if_it_is_worked_out_anew() -> None:
    """As it is after an interrupt, in the order of people and not of answers."""
    X, y = make_synthetic(60, random_state=0)
    pool, random = Pool(X, [1, 2, 3, 4, 5], audit=0.2, random_state=0), np.random.default_rng(0)
    for n in range(200):
        question = pool.ask(person=(person := f"p{random.integers(4)}"))
        if n % 9 == 0:
            pool.rate(question, int(y[question.item]), person)
        else:
            pool.tell(question, bool((y[question.item] > question.level) != (random.random() < 0.1)), person=person)
        placements = pool._placements
        before = placements.items.evidence.copy(), placements.audit.known.evidence.copy()
        if n % 10 == 1 or n < 5:
            placements.recall()
            np.testing.assert_array_equal(placements.items.evidence, before[0])
            np.testing.assert_array_equal(placements.audit.known.evidence, before[1])


def test_a_pool_of_texts_is_loaded_without_a_look_at_each_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 65,536: to look for ratings among them took 14 seconds."""
    monkeypatch.setattr("dford.pool.pool.column_of", None)
    pool = Pool([{"review": f"number {n}"} for n in range(30)], levels=["low", "high"], random_state=0)
    pool.save(tmp_path / "a.pool")
    assert len(dford.load(tmp_path / "a.pool")) == 30
    assert len(Pool(sparse.eye(9, 70_000, format="csr"), levels=[1, 2, 3], ratings=[])) == 9


@pytest.mark.parametrize("time", [None, 1e9 + 1])
def test_answers_that_are_there_twice_do_not_teach_twice_without_a_word(time: float | None) -> None:
    log, copy = FeedbackLog(LEVELS), FeedbackLog(LEVELS)
    for n, (x, level, prediction, propensity, higher) in enumerate(earlier_log(40)):
        for one, id in ((log, None), (copy, f"copy-{n}")):
            question = Question("", x, level, prediction, propensity, 0)
            one.append(question, higher, item=n, person="ann", time=time, id=id)
    Pool(X, LEVELS, learner=NewtonLogit(), log=log)
    if time is None:
        with pytest.warns(UserWarning, match="10 answers in a row say the same as 10 earlier ones in a row"):
            Pool(X, LEVELS, learner=NewtonLogit(), log=log + copy)
    else:
        with pytest.raises(ValueError, match="40 of the log's 80 answers are there more than once"):
            Pool(X, LEVELS, learner=NewtonLogit(), log=log + copy)


def test_a_log_that_can_teach_nothing_causes_a_warning() -> None:
    log = FeedbackLog(LEVELS)
    for _ in range(3):
        log.append(Question("", np.empty(0), 2, 3, 0.25, 0), True)
    with pytest.warns(UserWarning, match="the log teaches nothing, as neither it nor the pool has features"):
        Pool(np.empty((5, 0)), LEVELS, log=log)


def test_a_log_of_something_else_is_refused() -> None:
    log = earlier_log(5)
    with pytest.raises(ValueError, match="about the levels"):
        Pool(X, [1, 2, 3], log=log)
    with pytest.raises(ValueError, match="must have the pool's features"):
        Pool(X[:, :1], LEVELS, log=log)
    with pytest.raises(TypeError, match="must be a FeedbackLog or a Pool; got list"):
        Pool(X, LEVELS, log=[log])  # type: ignore[arg-type]
    assert len(Pool(X, LEVELS, log=FeedbackLog(LEVELS))) == 300, "an empty one teaches nothing"


def test_a_program_that_ends_while_priors_are_computed_ends_normally() -> None:
    """What is compiled must not be ended in the middle: that may abort the process."""
    program = """
import time
from dford.pool.refresh import Refresh
def work():
    time.sleep(0.3)
    print("done", flush=True)
Refresh(work).begin()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_the_same_level_settled_twice_counts_once() -> None:
    pools = [Pool(np.empty((30, 0)), ["a", "b", "c"], learner=NewtonLogit(), random_state=0) for _ in range(2)]
    pools[1].settle(0, "a")
    for n in range(60):
        for pool in pools:
            if n == 0:
                pool.settle(0, "a")
            pool.tell(pool.ask(), n % 3 == 0)
    assert (pools[0].probabilities_ == pools[1].probabilities_).all()


def test_what_is_released_is_one_opinion_with_what_the_same_person_said_before() -> None:
    random = np.random.default_rng(0)
    right, names = random.integers(0, 4, 40), ["a", "b", "c", "d"]
    pool = Pool(np.empty((40, 0)), names, learner=NewtonLogit(), random_state=0, audit=0.3)
    for n in range(260):
        person = ["ann", "ben", "cat"][n % 3]
        question = pool.ask(person=person)
        wrong = random.random() < 0.15
        pool.tell(question, bool((right[question.item] > names.index(question.level)) != wrong), person)
    expected = pool._placements.with_audit().beliefs(np.arange(40))
    pool.release()
    assert (pool.probabilities_ == expected).all(), "as people see it in a project before"
    pool._placements.recall()  # as after any interrupt
    assert (pool.probabilities_ == expected).all()


def test_an_interrupt_while_what_a_program_says_is_counted_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    def rated(interrupted: bool) -> Pool:
        pool = Pool(np.empty((6, 0)), ["a", "b", "c"], learner=NewtonLogit(), random_state=0, programs=["judge"])
        with monkeypatch.context() as patched:
            if interrupted:
                patched.setattr("dford.pool.placements.Votes.of", interrupt)
            with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
                pool.rate(0, "c", "judge")
        return pool.rate(0, "c", "judge")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    assert (rated(False).probabilities_ == rated(True).probabilities_).all()


STRANGE = "an item is given by its number, a whole one from 0 to 4; got "
MASK = r"an item is given by its number; got (True|False); instead of a mask, pass np.flatnonzero\(mask\)$"
MISUSES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda pool: pool.settle(1.0, 3), STRANGE + "1.0"),
    (lambda pool: pool.settle([1, 2], 3), STRANGE + r"\[1, 2\]"),
    (lambda pool: pool.settle(np.arange(2), 3), STRANGE + "array"),
    (lambda pool: pool.remove("1"), STRANGE + "'1'"),
    (lambda pool: pool.ask(person={"ann": ["x"]}), STRANGE + "'x'"),
    (lambda pool: pool.ask(person={"ann": [1.0]}), STRANGE + "1.0"),
    (lambda pool: pool.ask(person={"ann": [False, False, False, True, False]}), MASK),
    (lambda pool: pool.ask(person={"ann": np.arange(5) == 3}), MASK),
    (lambda pool: pool.settle(True, 3), MASK),
    (lambda pool: pool.remove(np.True_), MASK),
    (lambda pool: pool.rate(True, 3), MASK),
    (
        lambda pool: pool.ask(person={"ann": 3}),
        "person must map each name to a list of the numbers of items; got 'ann': 3$",
    ),
    (
        lambda pool: pool.remaining("0.1"),
        "target must be an error in levels, a number that is 0 or more; got '0.1'$",
    ),
    (
        lambda _: pool_of(np.empty((5, 0)), costs=["ann"]),
        r"costs must map people to numbers, such as \{'ann': 1.0\}; got \['ann'\]$",
    ),
    (
        lambda _: pool_of(np.empty((5, 0)), auditors=5),
        "auditors must be a list of names; got 5$",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MISUSES)
def test_a_pool_that_is_misused_says_what_it_expected_and_changes_nothing(
    call: Callable[[Any], Any], sentence: str, tmp_path: Path
) -> None:
    pool = pool_of(np.empty((5, 0)))
    before = bits(pool, tmp_path)
    with pytest.raises(TypeError, match=f"^{sentence}"):
        call(pool)
    assert bits(pool, tmp_path) == before


def test_an_interrupt_while_people_are_numbered_leaves_everybody_known() -> None:
    pool = Pool(np.empty((90, 0)), ["a", "b", "c"], learner=NewtonLogit(), random_state=0)
    for n in range(30):
        person = ["ann", "ben", "cat"][n % 3]
        pool.tell(pool.ask(person=person), n % 2 == 0, person)
    lines = len(inspect.getsource(placements.Placements.number).splitlines())
    for line in range(lines):
        pool = copy.deepcopy(pool)
        question = pool.ask(person="ann")
        _tell_interrupted(pool, question, line)
        for person in ("ann", "ben", "cat"):
            pool.tell(pool.ask(person=person), True, person)


def _tell_interrupted(pool: Pool, question: Any, line: int) -> None:
    """Interrupted in this line of the function that numbers voices, if it is reached."""
    code = placements.Placements.number.__code__

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is code and event == "line" and frame.f_lineno == code.co_firstlineno + line:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    with suppress(KeyboardInterrupt):
        pool.tell(question, True, "ann")
    sys.settrace(None)
