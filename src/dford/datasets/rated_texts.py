"""Texts that were each rated by several people, who did not agree."""

import numpy as np

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder
from dford.datasets._readers import rated_texts
from dford.datasets.discretise import at_cuts

CUTS = (-1.75, -0.25, 0.25, 1.75)
TEXTS = ("movies", "tweets")


def load_rated_texts(
    name: str,
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Texts, each rated by several people: 5 levels.

    The file is `rated_texts/movies.csv` or `rated_texts/tweets.csv` in the folder, or directly in it, with the columns
    id, text and ratings: numbers from -4 to 4 separated by spaces, one per person, in no order. A row's data is its
    text, as a dict that learners take as it is. The level is the median rating, cut at -1.75, -0.25, 0.25 and 1.75:
    clearly negative, slightly negative, neither, slightly positive, clearly positive. People rate in whole numbers, so
    medians are multiples of a half: no rating and no median lies on a cut, and only 0 is neither. Both files have the
    same scale and the same cuts. The 4,200 tweets that were rated for VADER (Hutto and Gilbert 2014) have between 532
    and 1,216 texts per level; of its 10,605 sentences about films, only 276 are neither.

    The Bunch also has ids, ratings (one array per text) and cuts: a single person's answer is rating > cuts[level - 1].

    Parameters
    ----------
    name : {"movies", "tweets"}
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    normalise : {"none"}
        Texts have no scale.
    return_X_y : bool
        Whether to return only (X, y).
    as_frame : bool
        Whether data is a pandas frame.
    """
    if name not in TEXTS:
        raise ValueError(f"there are no rated texts {name!r}; choose from {', '.join(TEXTS)}")
    if normalise != "none":
        raise ValueError(f'texts have no scale, so normalise must be "none"; got {normalise!r}')
    path = CATALOGUE[name].files[0].find(data)
    try:
        ids, texts, ratings = rated_texts(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged or a different file ({error})") from None
    return bunch(
        [{"text": text} for text in texts],
        at_cuts([float(np.median(some)) for some in ratings], CUTS),
        feature_names=["text"],
        target_names=["1", "2", "3", "4", "5"],
        description=load_rated_texts.__doc__ or "",
        normalise="none",
        return_X_y=return_X_y,
        as_frame=as_frame,
        ids=ids,
        ratings=ratings,
        cuts=list(CUTS),
    )
