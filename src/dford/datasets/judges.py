"""Language models as judges, and the person they stand in for."""

import numpy as np

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder

JUDGES = "judges"
_HIGHEST = 3


def load_judges(
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """How well passages answer queries, according to a trained person and 20 language models: 4 levels.

    The file is `judges/judges.csv` in the folder, or directly in it, with the columns query, passage, level and judge1
    to judge20. The target is the level that the person gave the pair of a query and a passage (1123, 843, 531 and 284
    pairs); the features are the levels that the models gave it. Both are 1 to 4 here, and 0 to 3 in the file; the three
    that models gave beyond its scale, such as 10, count as its highest. Models resemble each other, so their errors are
    not independent. The Bunch also has query and passage, the number of each.

    Parameters
    ----------
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    normalise : {"none", "standard", "unit"}
        How the models' levels are scaled.
    return_X_y : bool
        Whether to return only (X, y).
    as_frame : bool
        Whether data is a pandas frame.
    """
    (file,) = CATALOGUE[JUDGES].files
    table = file.load(data)
    is_whole = (table == np.floor(table)) & (table >= 0)
    if wrong := np.flatnonzero(~is_whole.all(axis=1) | (table[:, 2] > _HIGHEST)).tolist():
        raise ValueError(
            f"{file.find(data)} is damaged or a different file (row {wrong[0] + 1} has no whole numbers with a level "
            f"from 0 to {_HIGHEST}); {file.remedy}"
        )
    query, passage, level = table[:, :3].astype(np.int64).T
    judged = table[:, 3:].clip(max=_HIGHEST)
    return bunch(
        1 + judged,
        1 + level,
        feature_names=[f"judge{n}" for n in range(1, judged.shape[1] + 1)],
        target_names=["irrelevant", "related", "highly relevant", "perfectly relevant"],
        description=load_judges.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
        query=query,
        passage=passage,
    )
