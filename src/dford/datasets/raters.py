"""People who labelled the same items and did not agree, each identified."""

from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import File, Folder

RATERS = "raters"
LEVELS = ("1", "2", "3", "4")


def load_raters(
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Labels of web sites by known people: 4 levels, and no features.

    The files are `raters/labels.csv`, with the columns person, item and level, and `raters/gold.csv`, with item and
    level, in the folder or directly in it. 817 paid workers said how explicit 6,624 web sites are; most sites were
    labelled by nine or ten of them. Items are numbered from 0, in the order of their numbers in the file, as in a
    `Pool`. The target is the median label of an item, the lower one of two. data has one row per item and no columns.

    The Bunch also has labels, an array with one row per label (item, person and level); people, the name of each person
    by number; and gold, a dict with the known levels of 201 labelled items. Some people labelled an item twice, not
    always the same way: both labels are there.

    Parameters
    ----------
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    normalise : {"none", "standard", "unit"}
        There is nothing to scale.
    return_X_y : bool
        Whether to return only (X, y).
    as_frame : bool
        Whether data is a pandas frame.
    """
    labelled, known = (_whole_numbers(file, data) for file in CATALOGUE[RATERS].files)
    numbers, item = np.unique(labelled[:, 1], return_inverse=True)
    people, person = np.unique(labelled[:, 0], return_inverse=True)
    order = np.argsort(item, kind="stable")
    of_each = np.split(labelled[order, 2], np.flatnonzero(np.diff(item[order])) + 1)
    places = {number: place for place, number in enumerate(numbers.tolist())}
    return bunch(
        np.empty((len(numbers), 0)),
        np.array([median_low(levels.tolist()) for levels in of_each], dtype=np.int64),
        feature_names=[],
        target_names=LEVELS,
        description=load_raters.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
        labels=np.stack([item, person, labelled[:, 2]], axis=1).astype(np.int64),
        people=[str(number) for number in people],
        gold={places[number]: level for number, level in known.tolist() if number in places},
    )


def _whole_numbers(file: File, data: Folder) -> NDArray[np.int64]:
    """The rows of a file whose last column is a level."""
    table = file.load(data)
    if wrong := np.flatnonzero((table != np.floor(table)).any(axis=1) | ~np.isin(table[:, -1], (1, 2, 3, 4))).tolist():
        raise ValueError(
            f"{file.find(data)} is damaged or a different file (row {wrong[0] + 1} has no whole numbers with a level "
            f"from 1 to 4 at their end); {file.remedy}"
        )
    return table.astype(np.int64)
