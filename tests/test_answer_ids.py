"""Each answer counts once, wherever it comes from: logs that overlap, files that are read again, halves of them."""

import re
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from dford import FeedbackLog, NewtonLogit, Pool, Question, load
from dford.answer_ids import LONGEST

LEVELS = ["poor", "fair", "good"]
ANSWERS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.booleans(),
        st.none() | st.integers(0, 3),
        st.sampled_from([None, "ann", "bob"]),
        st.sampled_from([None, 1.7e9, 1.7e9 + 0.5]),
        st.sampled_from([0.0, 1.0]),
    ),
    max_size=12,
)


def logged(answers: Any) -> FeedbackLog:
    """A log of answers that look alike, as those about few features do."""
    log = FeedbackLog(LEVELS)
    for level, higher, item, person, time, x in answers:
        question = Question("", np.array([x]), LEVELS[level], "fair", 0.5, 0)
        log.append(question, higher, item=item, person=person, time=time)
    return log


def through(log: FeedbackLog, folder: Path, ending: str) -> FeedbackLog:
    log.write(folder / f"log.{ending}")
    return FeedbackLog.read(folder / f"log.{ending}", LEVELS)


@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.data())
def test_parts_of_a_log_in_any_files_put_together_again_are_the_log(
    tmp_path_factory: pytest.TempPathFactory, answers: Any, data: st.DataObject
) -> None:
    log, folder = logged(answers), tmp_path_factory.mktemp("log")
    assert len(log) == len(answers) == len(set(log.id)), "answers that look alike are answers of their own"
    parts, frame = [], log.to_frame()
    for _ in range(data.draw(st.integers(1, 4)) if len(log) else 0):
        some = data.draw(st.lists(st.integers(0, len(log) - 1), min_size=1, unique=True))
        part = FeedbackLog.from_frame(frame.iloc[some], LEVELS)
        parts.append(through(part, folder, data.draw(st.sampled_from(["csv", "parquet"]))))
    merged = sum([*parts, log], FeedbackLog(LEVELS))
    assert (
        merged.to_frame()
        .sort_values("id")
        .reset_index(drop=True)
        .equals(frame.sort_values("id").reset_index(drop=True))
    )


@settings(max_examples=60, deadline=None)
@given(ANSWERS, ANSWERS)
def test_a_file_without_ids_is_the_same_answers_whenever_it_is_read_also_when_it_has_grown(
    tmp_path_factory: pytest.TempPathFactory, answers: Any, more: Any
) -> None:
    folder = tmp_path_factory.mktemp("log")
    frames = [logged(some).to_frame().drop(columns="id") for some in (answers, [*answers, *more])]
    for file, frame in zip(("then.csv", "now.csv"), frames, strict=True):
        frame.to_csv(folder / file, index=False)
    if answers:
        then, now = (FeedbackLog.read(folder / file, LEVELS) for file in ("then.csv", "now.csv"))
        assert len(then + then) == len(answers)
        assert len(then + now) == len(answers) + len(more)


def test_answers_of_two_logs_that_only_look_alike_are_all_kept() -> None:
    """Two days of a product with one feature: without times, nothing but their order tells them apart."""
    random, days = np.random.default_rng(0), list[FeedbackLog]()
    for day in range(2):
        model, log = NewtonLogit(levels=LEVELS, random_state=day), FeedbackLog(LEVELS)
        for x in random.integers(0, 2, 200):
            log.append(model.ask([float(x)]), higher=bool(random.random() < 0.5))
        days.append(FeedbackLog.from_frame(log.to_frame().drop(columns="id"), LEVELS))
    assert len(days[0] + days[1]) == 400


def test_answers_with_times_are_told_by_what_they_say_whatever_is_missing_between_them() -> None:
    """Two exports of one log, before and after an answer was taken back, without ids."""
    frame = logged([(n % 3, True, n, "ann", 1.7e9 + n, 0.0) for n in range(10)]).to_frame().drop(columns="id")
    before, after = (FeedbackLog.from_frame(some, LEVELS) for some in (frame, frame.drop(index=4)))
    assert len(before + after) == len(after + before) == 10


def test_an_id_of_ones_own_makes_an_answer_count_once_and_another_answer_with_it_is_refused() -> None:
    log, question = FeedbackLog(LEVELS), Question("", np.array([1.0]), "poor", "fair", 0.5, 0)
    for _ in range(2):
        log.append(question, True, id="message-7")
    assert log.id.tolist() == ["message-7"]
    sentence = "answer 1 has the id 'message-7' too, but says something else; give every answer its own id"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        log.append(question, False, id="message-7")
    for wrong in ("", "a b", "é", "x" * (LONGEST + 1), "a\n"):
        with pytest.raises(ValueError, match="an id must be 1 to 100 visible ASCII characters"):
            log.append(question, True, id=wrong)
    with pytest.raises(ValueError, match="row 2 of the log: answer 1 has the id '7' too"):
        FeedbackLog.from_frame(pd.concat([log.to_frame()] * 2).assign(id=7, higher=[True, False]), LEVELS)
    assert len(log) == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_ids_is_no_feature_and_may_have_gaps(ending: str, tmp_path: Path) -> None:
    frame = logged([(0, True, None, None, None, 1.0)] * 4).to_frame()
    frame["id"] = ["0017", None, "1e5", ""]
    getattr(frame, f"to_{ending}")(tmp_path / f"log.{ending}", index=False)
    log = FeedbackLog.read(tmp_path / f"log.{ending}", LEVELS)
    assert log.id.tolist()[::2] == ["0017", "1e5"]
    assert len(set(log.id)) == 4
    assert (log.feature_names, log.X.tolist()) == (None, [[1.0]] * 4)
    with pytest.raises(ValueError, match="a log has its own column 'id', so no feature can have that name"):
        log.to_frame(["id"])


def test_a_pools_log_has_the_same_ids_later_and_after_saving(tmp_path: Path) -> None:
    pool = Pool(np.arange(12.0)[:, None], LEVELS, random_state=0)
    for n in range(10):
        pool.tell(pool.ask(), n % 3 == 0)
    early = pool.log_
    pool.save(tmp_path / "pool")
    again: Any = load(tmp_path / "pool")
    for n in range(5):
        again.tell(again.ask(), n % 2 == 0)
    assert len(early + again.log_) == len(through(again.log_, tmp_path, "csv") + early) == 15
    other = Pool(np.arange(12.0)[:, None], LEVELS, random_state=1)
    other.tell(other.ask(), True)
    assert len(early + other.log_) == 11


def test_without_guesses_an_answer_keeps_its_id() -> None:
    log = FeedbackLog(LEVELS)
    for n in range(4):
        log.append(Question("", np.array([1.0]), "poor", "fair", 0.5, 0), True, confidence=(0.5, 0.9)[n % 2])
    kept = log.without_guesses()
    assert kept.id.tolist() == log.id[1::2].tolist()
    assert len(kept + log) == 4
