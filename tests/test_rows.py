"""The rows of a run."""

from pathlib import Path

import numpy as np
import pytest

import dford.experiments.reproduction.rows as module
from dford.datasets import load
from dford.experiments.reproduction.rows import rows
from small_data import ROWS, VOTES, make_known, write


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.setattr(module, "MIN_VOTES", 3)
    return tmp_path


def joined(name: str, rounds: int, run: int, seed: int, data: Path) -> tuple[np.ndarray, np.ndarray]:
    Xs, ys = zip(*rows(name, rounds, run, seed, data), strict=True)
    return np.concatenate(Xs), np.concatenate(ys)


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_every_epoch_has_every_row_once_in_another_order(
    chunk: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    X, y = joined("bank8FM", 2 * ROWS + 5, 0, 0, data)
    whole, levels = load("bank8FM", data=data, normalise="unit", return_X_y=True)
    assert len(y) == 2 * ROWS + 5
    orders = []
    for begin in (0, ROWS):
        # rows are known by their numbers, which differ
        order = [int(np.flatnonzero((whole == x).all(axis=1))[0]) for x in X[begin : begin + ROWS]]
        assert sorted(order) == list(range(ROWS))
        assert (levels[order] == y[begin : begin + ROWS]).all()
        orders.append(order)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("name", ["synthetic", "bank8FM"])
def test_run_and_seed_determine_the_rows(name: str, data: Path) -> None:
    first = joined(name, 30, 0, 0, data)[0]
    assert (joined(name, 30, 0, 0, data)[0] == first).all()
    assert (joined(name, 30, 1, 0, data)[0] != first).any()
    assert (joined(name, 30, 0, 1, data)[0] != first).any()


def test_a_run_on_eachmovie_is_for_one_viewer_and_keeps_all_products(data: Path) -> None:
    viewers = set()
    for run in range(10):
        X, y = joined("eachmovie", 50, run, 0, data)
        for viewer in (number for number, votes in VOTES.items() if len(votes) >= 3):
            whole, levels = load("eachmovie", data=data, viewer=viewer, min_votes=3, return_X_y=True)
            by_level = {level: whole[levels == level][0] for level in levels}  # one film each, as the files are made
            if set(levels) == set(y):
                films = np.array([by_level[level] for level in y])
                np.testing.assert_allclose(X @ X.T, films @ films.T, atol=1e-12)
                viewers.add(viewer)
    assert len(viewers) > 1
