"""MSLR-WEB10K: how well web pages answer queries."""

from typing import Literal

import numpy as np

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder
from dford.datasets._readers import MSLR_FEATURES


def load_mslr(
    subset: Literal["train", "test", "all"] = "all",
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Relevance of web pages to queries: 136 features, 5 levels.

    The levels 1..5 are the labels 0..4. The paper speaks of ten equally frequent levels, but the file has these
    five. If the folder has it, this reads the sample of the first 5,000 rows each of fold 1's train and test parts, in
    this order (5639, 2900, 1244, 153 and 64 rows per level), otherwise the whole parts, Fold1/train.txt and test.txt.
    The Bunch also has query_id.

    Parameters
    ----------
    subset : {"all", "train", "test"}
        Which part; "all" is train and then test.

    The other parameters and what is returned are those of `load_abalone`.
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f'subset must be "train", "test" or "all"; got {subset!r}')
    parts = {"train": slice(0, 1), "test": slice(1, 2), "all": slice(0, 2)}[subset]
    files = CATALOGUE["mslr"].present(data, parts)
    table = np.concatenate([file.load(data) for file in files])
    labels = table[:, 0]
    if not np.isin(labels, range(5)).all():
        raise ValueError("the labels of mslr must be 0 to 4; this is a different file")
    return bunch(
        table[:, 2:],
        1 + labels.astype(np.int64),
        feature_names=[f"feature {n}" for n in range(1, MSLR_FEATURES + 1)],
        target_names=["irrelevant", "fair", "good", "excellent", "perfect"],
        description=load_mslr.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
        query_id=table[:, 1].astype(np.int64),
    )
