"""Columns of projects that were made before texts were learned from by their parts: they keep their meaning."""

import json
import random
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dford.columns import Column, Columns
from dford.service.projects.columns import decode, encode, from_json, to_json
from serving import LEVELS, ok, serving

WORDS = [Column("note", "words")]


def features(text: str) -> np.ndarray:
    row: np.ndarray = decode(WORDS, encode(WORDS, [{"note": text}], "rows"))[0]
    return row


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=1), st.randoms(use_true_random=False))
def test_order_case_and_punctuation_change_nothing(words: list[str], chance: random.Random) -> None:
    x = features(" ".join(words))
    assert np.sqrt((x * x).sum()) == pytest.approx(1.0)
    chance.shuffle(words)
    assert (features(", ".join(words).upper() + "!") == x).all()
    assert (features(" ".join(words * 2)) == x).all(), "nor does length"


def test_places_are_always_those_of_the_hash() -> None:
    # CRC-32 of "123456789" is its published check value, 0xCBF43926
    assert np.flatnonzero(features("123456789")).tolist() == [0x26]
    assert not features("…").any()


def test_columns_that_were_stored_before_mean_the_same() -> None:
    stored = [
        {"name": "size", "kind": "number", "mean": 2.5, "categories": []},
        {"name": "colour", "kind": "category", "mean": 0.0, "categories": ["3.0", "blue"]},
        {"name": "note", "kind": "text", "mean": 0.0, "categories": []},
        {"name": "review", "kind": "words", "mean": 0.0, "categories": []},
    ]
    columns = from_json(json.dumps(stored))
    rows = [
        {"size": "", "colour": 3.0, "note": "a text", "review": "fine"},
        {"size": 4, "colour": "green", "review": None},
    ]
    X = decode(columns, encode(columns, rows, "rows"))
    assert X.shape == (2, 1 + 2 + 256)
    assert X[0, :3].tolist() == [2.5, 1.0, 0.0], "a missing number is the mean, and a category its text"
    assert X[1, :3].tolist() == [4.0, 0.0, 0.0], "an unknown one is zeros"
    assert X[0, 3:].sum() == 1.0
    assert not X[1, 3:].any()
    assert Columns.of(columns).describe()[2].kind == "shown"
    assert from_json(to_json(columns)) == columns


def test_a_project_made_before_takes_items_now(tmp_path: Path) -> None:
    stored = [{"name": "size", "kind": "number", "mean": 2.5, "categories": []}]
    insert = "insert into columns (project, columns) values (1, ?)"
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "rain", "levels": LEVELS}))
        client.service.write(
            None, lambda connection: connection.exec_driver_sql(insert, (json.dumps(stored),)) and None
        )
        assert ok(client.post("/projects/rain/items", json={"items": [{"size": 1}, {"size": None}]}))["count"] == 2
