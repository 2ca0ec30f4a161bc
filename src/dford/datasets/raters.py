"""People who labelled the same items and did not agree, each identified."""

from statistics import median_low

import numpy as np

from dford.arrays import Ints
from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import File, Folder, data_folder
from dford.datasets._readers import numbered_texts

RATERS, OFFENSIVE = "raters", "offensive"


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
    labelled, known = (_whole_numbers(file, data, 4) for file in CATALOGUE[RATERS].files)
    numbers, labels, people = _numbered(labelled[:, [1, 0, 2]])
    places = {number: place for place, number in enumerate(numbers)}
    return bunch(
        np.empty((len(numbers), 0)),
        _medians(labels),
        feature_names=[],
        target_names=["1", "2", "3", "4"],
        description=load_raters.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
        labels=labels,
        people=people,
        gold={places[number]: level for number, level in known.tolist() if number in places},
    )


def load_offensive(
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Texts rated by known people for how offensive they are: 5 levels.

    The files are `offensive/texts.csv`, with the columns item and text, and `offensive/ratings.csv`, with item, person
    and level, in the folder or directly in it. 262 people rated 900 texts, each of them 16 to 39. A row's data is its
    text, as a dict that learners take as it is, and texts are in the order of their numbers. The target is the median
    rating of a text, the lower one of two.

    The Bunch also has labels, an array with one row per rating (item, person and level), and people, the name of each
    person by number.

    Parameters
    ----------
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    normalise : {"none"}
        Texts have no scale.
    return_X_y : bool
        Whether to return only (X, y).
    as_frame : bool
        Whether data is a pandas frame.
    """
    if normalise != "none":
        raise ValueError(f'texts have no scale, so normalise must be "none"; got {normalise!r}')
    about, given = CATALOGUE[OFFENSIVE].files
    about.load(data)  # which checks it
    items, texts = numbered_texts(about.find(data).read_bytes())
    text_of = dict(zip(items.ravel().tolist(), texts, strict=True))
    numbers, labels, people = _numbered(_whole_numbers(given, data, 5))
    if sorted(text_of) != numbers:
        raise ValueError(f"{about.name} and {given.name} in {data_folder(data)} are not about the same texts")
    return bunch(
        [{"text": text_of[number]} for number in numbers],
        _medians(labels),
        feature_names=["text"],
        target_names=["1", "2", "3", "4", "5"],
        description=load_offensive.__doc__ or "",
        normalise="none",
        return_X_y=return_X_y,
        as_frame=as_frame,
        labels=labels,
        people=people,
    )


def _whole_numbers(file: File, data: Folder, n_levels: int) -> Ints:
    """The rows of a file whose last column is a level."""
    table, levels = file.load(data), range(1, n_levels + 1)
    if wrong := np.flatnonzero((table != np.floor(table)).any(axis=1) | ~np.isin(table[:, -1], levels)).tolist():
        raise ValueError(
            f"{file.find(data)} is damaged or a different file (row {wrong[0] + 1} has no whole numbers with a level "
            f"from 1 to {n_levels} at their end); {file.remedy}"
        )
    return table.astype(np.int64)


def _numbered(labelled: Ints) -> tuple[list[int], Ints, list[str]]:
    """The items' own numbers; the labels with items and people counted from 0; the people's names."""
    numbers, item = np.unique(labelled[:, 0], return_inverse=True)
    people, person = np.unique(labelled[:, 1], return_inverse=True)
    labels: Ints = np.stack([item, person, labelled[:, 2]], axis=1).astype(np.int64)
    return numbers.tolist(), labels, [str(number) for number in people]


def _medians(labels: Ints) -> Ints:
    """The median label of each item, the lower one of two."""
    order = np.argsort(labels[:, 0], kind="stable")
    of_each = np.split(labels[order, 2], np.flatnonzero(np.diff(labels[order, 0])) + 1)
    return np.array([median_low(levels.tolist()) for levels in of_each], dtype=np.int64)
