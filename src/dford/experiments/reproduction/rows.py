"""The rows of a run: which ones, and in which order, determined by the seed alone."""

import hashlib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dford.datasets import load, make_synthetic
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder, data_folder
from dford.datasets.movies import _viewer as one_viewer
from dford.experiments.reproduction.paper import SETTINGS

Rows: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]

CHUNK = 10_000
"""Rows made at once, or one epoch if that is more: enough to make calls cheap, in a few megabytes."""
MIN_VOTES = 200
"""For viewers of EachMovie, as target or as feature."""


def n_levels(name: str) -> int:
    """How many levels a dataset has."""
    return 5 if name == "synthetic" else CATALOGUE[name].levels


def files(name: str, data: Folder = None) -> dict[str, str]:
    """The files of a dataset and their SHA-256; none for the synthetic stream. May raise FileNotFoundError."""
    if name == "synthetic":
        return {}
    return {file.name: _sum(file.find(data).read_bytes()) for file in CATALOGUE[name].present(data)}


def source(name: str, data: Folder = None) -> str:
    """One checksum of all files of a dataset."""
    return _sum("".join(files(name, data).values()).encode())


def rows(name: str, rounds: int, run: int, seed: int, data: Folder = None) -> Iterator[Rows]:
    """The first `rounds` rows of a run, in chunks.

    The synthetic stream never ends, so every row is new. A dataset is repeated in epochs, each shuffled anew.
    All learners and parameters see the same rows in the same run.
    """
    random = np.random.RandomState([seed, run])
    if name == "synthetic":
        for begin in range(0, rounds, CHUNK):
            yield make_synthetic(min(CHUNK, rounds - begin), random_state=random)
        return
    known = source(name, data)  # files may change under a long-lived process
    folder = data_folder(data)
    X, y = _viewer(folder, known, random) if name == "eachmovie" else _table(name, folder, known)
    epochs, done = max(1, CHUNK // len(y)), 0
    while done < rounds:
        order = np.concatenate([random.permutation(len(y)) for _ in range(epochs)])[: rounds - done]
        yield X.take(order, axis=0), y[order]  # four times as fast as X[order]
        done += len(order)


@cache
def _table(name: str, folder: Path, source: str) -> Rows:
    X, y = load(name, data=folder, normalise=SETTINGS[name].normalise, return_X_y=True)
    return X, y


def _viewer(folder: Path, source: str, random: np.random.RandomState) -> Rows:
    """One viewer of EachMovie, drawn for the run from those with many votes, as PRank's authors did."""
    votes = _votes(folder, source)
    viewers, counts = np.unique(votes[:, 0], return_counts=True)
    return _viewers_rows(folder, source, int(random.choice(viewers[counts >= MIN_VOTES])))


@cache
def _viewers_rows(folder: Path, source: str, viewer: int) -> Rows:
    """The viewer's films in the coordinates of their own span.

    There are 1,812 features and a few hundred films. To a linear learner only the products of rows matter, and a
    rotation keeps those: the rounds are the same, at a fifth of the cost.
    """
    X, y = one_viewer(_votes(folder, source), np.arange(1.0, 7), viewer, MIN_VOTES, False, "", "none", True, False)
    with threadpool_limits(1):  # else the last bits depend on how many threads a worker may use
        coordinates = np.linalg.qr(X.T).R.T
    return np.ascontiguousarray(coordinates), y


@lru_cache(maxsize=1)
def _votes(folder: Path, source: str) -> Any:
    return np.concatenate([file.load(folder) for file in CATALOGUE["eachmovie"].files])


def _sum(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
