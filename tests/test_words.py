"""Text that is learned from by its words."""

import random
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dford import NewtonLogit
from dford.service.projects.columns import Column, encode, read_columns
from serving import LEVELS, learned, ok, replayed, serving

TONES = {"awful": -3, "bad": -2, "dull": -1, "fine": 1, "good": 2, "superb": 3}


def texts(count: int) -> tuple[list[str], list[int]]:
    """Made-up reviews: a few words that count among many that do not, and the level, 1 to 4, of their sum."""
    chance, tones = random.Random(0), list(TONES)
    made = []
    for _ in range(count):
        said = [chance.choice(tones) for _ in range(3)] + [f"word{chance.randrange(40)}" for _ in range(5)]
        chance.shuffle(said)
        made.append(said)
    sums = [sum(TONES.get(word, 0) for word in said) for said in made]
    return [" ".join(said) for said in made], [1 + sum(total > cut for cut in (-3, 0, 3)) for total in sums]


def test_a_learner_learns_from_them() -> None:
    shown, levels = texts(800)
    columns = read_columns([{"review": text} for text in shown])
    assert columns == [Column("review", "words")]
    model, errors = NewtonLogit(levels=[1, 2, 3, 4], random_state=0), []
    for n, (text, level) in enumerate(zip(shown, levels, strict=True), 1):
        question = model.question(encode(columns, {"review": text}, "row"), n)
        errors.append(abs(question.prediction - level))
        model.learn(question, level > question.level)
    constant = min(np.abs(np.array(levels) - one).mean() for one in (1, 2, 3, 4))
    assert np.mean(errors[-200:]) < constant / 2


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=1), st.randoms(use_true_random=False))
def test_order_case_and_marks_change_nothing(words: list[str], chance: random.Random) -> None:
    columns = [Column("note", "words")]
    x = encode(columns, {"note": " ".join(words)}, "row")
    assert np.sqrt((x * x).sum()) == pytest.approx(1.0)
    chance.shuffle(words)
    assert (encode(columns, {"note": ", ".join(words).upper() + "!"}, "row") == x).all()
    assert (encode(columns, {"note": " ".join(words * 2)}, "row") == x).all(), "nor does length"


def test_places_are_those_of_the_hash_for_ever() -> None:
    # CRC-32 of "123456789" is its published check value, 0xCBF43926
    x = encode([Column("note", "words")], {"note": "123456789"}, "row")
    assert np.flatnonzero(x).tolist() == [0x26]
    assert not encode([Column("note", "words")], {"note": "…"}, "row").any()


def test_they_are_taken_only_where_nothing_else_is_learned_from() -> None:
    rows = [{"id": f"r{i}", "size": i % 9, "note": f"a longer text {i}"} for i in range(50)]

    def kinds(**said: str) -> list[str]:
        return [column.kind for column in read_columns(rows, said)]

    assert kinds() == ["text", "number", "text"]
    assert kinds(size="text") == ["text", "text", "words"]
    assert kinds(size="text", note="text") == ["words", "text", "text"]
    assert kinds(note="words", size="category") == ["text", "category", "words"]


def test_a_file_of_plain_text_is_served_and_replayed(tmp_path: Path) -> None:
    shown, _ = texts(30)
    csv = {"content": "review\n" + "\n".join(shown), "headers": {"Content-Type": "text/csv"}}
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "rain", "levels": LEVELS}))
        assert ok(client.post("/projects/rain/preview.csv", **csv))["columns"][0]["kind"] == "words"
        ok(client.post("/projects/rain/items.csv", **csv))
        for _ in range(10):
            number = ok(client.post("/projects/rain/questions"))["number"]
            ok(client.post(f"/projects/rain/questions/{number}/answer", json={"higher": number % 2 == 0}))
        state = learned(client, "/projects/rain")
    assert state["digest"] == replayed(tmp_path / "log.db")


def test_numbers_that_only_number_the_rows_are_not_learned_from() -> None:
    rows = [{"id": str(n), "note": f"word{n} again"} for n in range(101, 121)]
    assert read_columns(rows) == [Column("id", "text"), Column("note", "words")]
    assert read_columns(rows, {"id": "number"})[0].kind == "number"
    assert read_columns(rows[::-1])[0].kind == "number"  # counted down: somebody chose this
    assert read_columns(rows[:9])[0].kind == "number"  # too few to tell
