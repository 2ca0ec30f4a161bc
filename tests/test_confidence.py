"""How sure an answer is: it travels with the answer, from whoever gives it to the fold, into files and out of them."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import dford
from dford import FeedbackLog, Question
from dford.pool.answers import AUDIT
from dford.service.learning import log_reader
from dford.service.store import schema
from dford.service.store.database import Database
from postgres import BINARIES, new_database
from serving import learned, ok, problem, question_for, replayed, serving, set_up

CONFIDENCES = st.lists(st.none() | st.floats(0.5, 1.0), min_size=1, max_size=8)


def log_of(confidences: list[float | None]) -> FeedbackLog:
    log = FeedbackLog(["poor", "good"])
    for n, confidence in enumerate(confidences):
        question = Question("", np.array([n / 7]), "poor", "good", 0.5, 0)
        log.append(question, n % 2 == 0, item=n, person="judge", confidence=confidence)
    return log


@given(CONFIDENCES)
def test_a_log_keeps_confidences_in_frames_and_sums_and_has_the_column_only_if_any_is_given(
    said: list[float | None],
) -> None:
    log = log_of(said)
    frame = log.to_frame()
    assert ("confidence" in frame) == any(one is not None for one in said)
    for again in (FeedbackLog.from_frame(frame, ["poor", "good"]), log + log_of([])):
        np.testing.assert_array_equal(again.confidence, np.array(said, dtype=float))
        assert again.X.shape == (len(said), 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_keep_confidences_to_the_bit(tmp_path: Path, suffix: str) -> None:
    said = [0.1 + 0.7, None, 1.0, 2 / 3]
    log_of(said).write(tmp_path / f"log.{suffix}")
    again = FeedbackLog.read(tmp_path / f"log.{suffix}", ["poor", "good"])
    np.testing.assert_array_equal(again.confidence, np.array(said, dtype=float))


@pytest.mark.parametrize("bad", [0.4, 1.01, True, "0.8", float("nan")])
def test_an_invalid_confidence_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="a confidence must be between 0.5"):
        log_of([bad])


def test_a_feature_may_be_called_confidence_unless_the_log_says_who_answered() -> None:
    log = FeedbackLog(["poor", "good"])
    log.append(Question("", {"confidence": 7.0}, "poor", "good", 0.5, 0), True)
    assert FeedbackLog.from_frame(log.to_frame(), ["poor", "good"]).feature_names == ["confidence"]
    log.append(Question("", {"confidence": 7.0}, "poor", "good", 0.5, 0), True, person="ann")
    with pytest.raises(ValueError, match="a log has its own column 'confidence'"):
        log.to_frame()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def stored(file: Path | str) -> list[float | None]:
    database = Database(str(file))
    with database.reading() as connection:
        told = schema.answers.c
        found = list(connection.scalars(sa.select(told.confidence).order_by(told.project, told.sequence)))
    database.close()
    return found


SLOWLY = {"Content-Type": "application/json; charset=utf-8"}  # which the fast path leaves to the documented route


def test_every_way_to_answer_carries_a_confidence_to_the_fold(file: Path) -> None:
    with serving(file) as http:
        project = set_up(http, learner="NewtonLogit")
        for body, headers in [
            ('{"higher": true, "confidence": 0.75}', None),
            ('{"confidence": 0.75, "higher": false}', SLOWLY),
            ('{"higher": true, "confidence": 1}', None),
            ('{"higher": true, "confidence": null}', None),
            ('{"higher": true}', SLOWLY),
        ]:
            number = question_for(http, project, json={"program": True})["number"]
            path = f"{project}/questions/{number}/answer"
            answer = ok(http.post(path, content=body, headers=headers or {"Content-Type": "application/json"}))
            assert answer["question"] == number
        again = ok(http.post(path, json={"higher": True, "confidence": 0.9}))
        assert again == answer, "the first answer stands, as it was"
        with dford.Client(str(http.base_url), "rain") as client:
            client.tell(client.ask(program=True), True, 0.625)
            client.tell_many([(client.ask(), False, 0.5), (client.ask(), False)])
        service = http.service
        head = log_reader.head_of(service.database, service.project("rain").id)
        page = next(log_reader.pages(service.database, service.project("rain"), 0, head))
        digest = learned(http, project)["digest"]
    said = [0.75, 0.75, 1.0, None, None, 0.625, 0.5, None]
    assert stored(file) == said
    np.testing.assert_array_equal(page.confidence, np.array(said, dtype=float))
    assert replayed(file) == digest


@pytest.mark.parametrize("headers", [{}, SLOWLY])
@pytest.mark.parametrize("bad", ["0.4", "1.5", '"0.8"', "true", "NaN", "[]"])
def test_an_invalid_confidence_is_refused_by_the_service_and_changes_nothing(
    file: Path, bad: str, headers: dict[str, str]
) -> None:
    with serving(file) as http:
        project = set_up(http)
        number = question_for(http, project)["number"]
        content = f'{{"higher": true, "confidence": {bad}}}'
        headers = headers or {"Content-Type": "application/json"}
        refused = http.post(f"{project}/questions/{number}/answer", content=content, headers=headers)
        assert problem(refused) == (422, "invalid")
        assert ok(http.get(f"{project}/questions/{number}"))["fate"] == "open"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_confidences_move_with_a_project_even_beside_a_feature_of_that_name(file: Path, suffix: str) -> None:
    columns = [{"name": "confidence", "kind": "number", "mean": 0.0}]
    with serving(file) as http:
        for name in ("here", "there"):
            body = {"name": name, "levels": ["a", "b", "c"], "columns": columns, "learner": "NewtonLogit", "seed": 1}
            ok(http.post("/projects", json=body))
            ok(http.post(f"/projects/{name}/items", json={"items": [{"confidence": float(n)} for n in range(8)]}))
        for sure in (0.75, None, 0.875):
            number = ok(http.post("/projects/here/questions"))["number"]
            answer = {"higher": True, "confidence": sure}
            ok(http.post(f"/projects/here/questions/{number}/answer", json=answer))
        log = http.get(f"/projects/here/log.{suffix}").content
        assert ok(http.post(f"/projects/there/log.{suffix}", content=log))["about_items"] == 3
        if suffix == "csv":
            frame = pd.read_csv(io.BytesIO(log))
            assert frame.columns.tolist()[-5:] == ["time", "confidence", "purpose", "id", "confidence'"]
            frame.loc[0, "confidence"] = 0.3
            bad = http.post("/projects/there/log.csv", content=frame.to_csv(index=False).encode())
            assert problem(bad) == (422, "bad-log")
    assert stored(file) == 2 * [0.75, None, 0.875]


def test_programs_are_never_asked_audit_questions(file: Path) -> None:
    with serving(file) as http:
        project = set_up(http, learner="NewtonLogit")
        for n in range(120):
            question = question_for(http, project, json={"program": n < 60})
            ok(http.post(f"{project}/questions/{question['number']}/answer", json={"higher": n % 3 == 0}))
    database = Database(str(file))
    with database.reading() as connection:
        asked = sa.select(schema.questions.c.purpose).order_by(schema.questions.c.number)
        purposes = list(connection.scalars(asked))
    database.close()
    assert AUDIT not in purposes[:60]
    assert AUDIT in purposes[60:]


@pytest.mark.skipif(not BINARIES, reason="there is no PostgreSQL on this machine")
def test_postgresql_keeps_confidences_too(cluster: str) -> None:
    address = new_database(cluster, "sure")
    with serving(address) as http:
        project = set_up(http, learner="NewtonLogit")
        for sure in (0.75, None, 1):
            number = question_for(http, project)["number"]
            answer = {"higher": True, "confidence": sure}
            ok(http.post(f"{project}/questions/{number}/answer", json=answer))
    assert stored(address) == [0.75, None, 1.0]
