"""Films and their viewers: EachMovie, and MovieLens after it.

The paper only names EachMovie. The setting is that of PRank's authors (Crammer and Singer 2001, section 4): one
viewer is to be predicted from the others.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder


def load_eachmovie(
    viewer: int | None = None,
    *,
    min_votes: int = 200,
    sparse: bool = False,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """One viewer's scores of films, to be predicted from the other viewers' scores: 6 levels.

    A row is a film the viewer voted on, in the order of the files. The features are the other viewers' scores of it,
    minus 3.5, the middle of the scale, or 0 if they did not vote. The level is the viewer's own score. The Bunch also
    has viewer, movies (for the rows) and viewers (for the columns).

    Parameters
    ----------
    viewer : int, optional
        The number of the viewer; by default the one with the most votes, and among equals the lowest number.
    min_votes : int
        Other viewers with fewer votes are left out.
    sparse : bool
        Whether X is a sparse array.

    The other parameters and what is returned are those of `load_abalone`.
    """
    votes = np.concatenate([file.load(data) for file in CATALOGUE["eachmovie"].files])
    if not np.isin(votes[:, 2], range(1, 7)).all():
        raise ValueError("the scores of eachmovie must be 1 to 6; this is a different file")
    return _viewer(
        votes, np.arange(1.0, 7), viewer, min_votes, sparse, load_eachmovie.__doc__, normalise, return_X_y, as_frame
    )


def load_movielens(
    viewer: int | None = None,
    *,
    min_votes: int = 200,
    sparse: bool = False,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """One viewer's ratings of films, from those of the other viewers, as `load_eachmovie`.

    Reads MovieLens in any of its forms (u.data, ratings.dat, ratings.csv). The levels are the ratings that occur in
    the file: 1 to 5, or halves from 0.5 to 5. If the middle of the scale is itself a rating, it becomes 0, like a
    missing vote.

    The parameters and what is returned are those of `load_eachmovie`.
    """
    votes = CATALOGUE["movielens"].files[0].load(data)
    scale = np.unique(votes[:, 2])
    return _viewer(votes, scale, viewer, min_votes, sparse, load_movielens.__doc__, normalise, return_X_y, as_frame)


def _viewer(
    votes: NDArray[np.float64],
    scale: NDArray[np.float64],
    viewer: int | None,
    min_votes: int,
    sparse: bool,
    description: str | None,
    normalise: str,
    return_X_y: bool,
    as_frame: bool,
) -> Loaded:
    users, movies = votes[:, 0].astype(np.int64), votes[:, 1].astype(np.int64)
    if len(np.unique(users * (movies.max() + 1) + movies)) < len(votes):
        raise ValueError("a viewer votes twice on the same film; this file is damaged or a different one")
    numbers, counts = np.unique(users, return_counts=True)
    if viewer is None:
        viewer = int(numbers[counts.argmax()])
    elif viewer not in numbers:
        raise ValueError(
            f"there is no viewer {viewer!r}; the file has {len(numbers)}, from {numbers[0]} to {numbers[-1]}"
        )
    others = numbers[(counts >= min_votes) & (numbers != viewer)]
    if not len(others):
        raise ValueError(f"no other viewer has {min_votes} votes, and the most is {counts.max()}; lower min_votes")

    own = users == viewer
    films = movies[own]
    order = np.argsort(films)
    kept = np.isin(users, others) & np.isin(movies, films)
    rows = order[np.searchsorted(films, movies[kept], sorter=order)]
    columns = np.searchsorted(others, users[kept])
    scores = votes[kept, 2] - (scale[0] + scale[-1]) / 2
    X = csr_array((scores, (rows, columns)), shape=(len(films), len(others)))
    return bunch(
        X if sparse else X.toarray(),
        1 + np.searchsorted(scale, votes[own, 2]),
        feature_names=[f"viewer {number}" for number in others],
        target_names=[f"{score:g}" for score in scale],
        description=description or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
        viewer=viewer,
        movies=films,
        viewers=others,
    )
