"""Datasets by name."""

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import Entry
from dford.datasets._data_folder import Folder
from dford.datasets.judges import JUDGES, load_judges
from dford.datasets.movies import load_eachmovie, load_movielens
from dford.datasets.ranking import load_mslr
from dford.datasets.rated_texts import load_rated_texts
from dford.datasets.raters import OFFENSIVE, RATERS, load_offensive, load_raters
from dford.datasets.synthetic import make_synthetic
from dford.datasets.tables import load_abalone, load_bank, load_california, load_computer, load_parkinsons


def load(name: str, data: Folder = None, **options: Any) -> Loaded:
    """Load a dataset by name, with the options of its loader.

    Parameters
    ----------
    name : str
        abalone, parkinsons, california, computer, cpu_small, bank8FM, bank32nh, mslr, eachmovie, movielens, movies,
        tweets, raters, offensive, judges or synthetic.
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    **options
        The options of the dataset's loader; for synthetic n_samples, noise and random_state (by default 0).

    Examples
    --------
    >>> stream = load("synthetic", n_samples=500, random_state=1)
    >>> stream.data.shape, stream.target_names
    ((500, 2), ['1', '2', '3', '4', '5'])
    """
    check_name(name, LOADERS)
    return LOADERS[name](data=data, **options)


def check_name(name: str, names: Any, what: str = "dataset") -> None:
    """Raise ValueError if `name` is not one of `names`, suggesting the closest one."""
    if name not in names:
        near = difflib.get_close_matches(str(name), names, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"there is no {what} {name!r}{meant}; choose from {', '.join(names)}")


def _load_synthetic(
    *,
    data: Folder = None,
    n_samples: int = 10_000,
    noise: float = 0.125,
    random_state: Any = 0,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    X, y = make_synthetic(n_samples, noise=noise, random_state=random_state)
    return bunch(
        X,
        y,
        feature_names=["x1", "x2"],
        target_names=["1", "2", "3", "4", "5"],
        description=make_synthetic.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


LOADERS: dict[str, Callable[..., Loaded]] = {
    "abalone": load_abalone,
    "parkinsons": load_parkinsons,
    "california": load_california,
    "computer": load_computer,
    "cpu_small": partial(load_computer, "small"),
    "bank8FM": partial(load_bank, "8FM"),
    "bank32nh": partial(load_bank, "32nh"),
    "mslr": load_mslr,
    "eachmovie": load_eachmovie,
    "movielens": load_movielens,
    "movies": partial(load_rated_texts, "movies"),
    "tweets": partial(load_rated_texts, "tweets"),
    RATERS: load_raters,
    OFFENSIVE: load_offensive,
    JUDGES: load_judges,
    "synthetic": _load_synthetic,
}


class Found(NamedTuple):
    """What a folder holds of a dataset."""

    state: str
    """there, missing or damaged."""
    size: int
    """Bytes of its files."""
    note: str
    """Why it is missing or damaged, or what else there is to say."""


def look(entry: Entry, data: Folder = None) -> Found:
    """Look for the files of a dataset and check them."""
    files = entry.present(data)
    try:
        paths = [file.find(data) for file in files]
    except FileNotFoundError as error:
        return Found("missing", 0, str(error))
    size = sum(path.stat().st_size for path in paths)
    if not files[0].rows:
        return Found("there", size, "not checked, because nothing is known about this edition")
    if all(file.original(path.read_bytes()) for file, path in zip(files, paths, strict=True)):
        return Found("there", size, "")
    try:
        for file in files:
            file.load(data)
    except ValueError as error:
        return Found("damaged", size, str(error))
    return Found("there", size, "not the bytes of the published file, but its rows, columns and mean")
