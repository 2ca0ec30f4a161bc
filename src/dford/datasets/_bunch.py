"""What every loader returns."""

from collections.abc import Sequence
from typing import Any

from sklearn.utils import Bunch

from dford.datasets.normalise import normalise as scaled

Loaded = Any
"""A Bunch, or (X, y); scikit-learn has no types for it."""


def bunch(
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    description: str,
    normalise: str,
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Loaded:
    """Rows and levels in the form scikit-learn's loaders use."""
    if hasattr(X, "tocsr"):
        if normalise != "none" or as_frame:
            raise ValueError('sparse=True works only with normalise="none" and as_frame=False; leave one of them out')
    elif not isinstance(X, list):  # a list of texts
        X = scaled(X, normalise)
    frame = None
    if as_frame:
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('as_frame=True needs pandas: run pip install "dford[lab]"') from None
        frame = pd.DataFrame(X, columns=list(feature_names))
        frame["target"] = y
        X, y = frame.drop(columns="target"), frame["target"]
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=list(feature_names),
        target_names=list(target_names),
        DESCR=description,
        **more,
    )
