"""dford's learners as River classifiers: rows as dicts, features and levels appearing over time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

try:
    from river import base
except ImportError as error:
    raise ImportError('dford.river needs River: pip install "dford[river]"') from error

from dford.engine import vectors
from dford.learners import DFORD, PRIL, OrdinalLearner, PRank
from dford.learners._forms.form import refuse_large
from dford.scale import Scale


class Ordinal(base.Classifier):  # type: ignore[misc]
    """Any of dford's learners as a River classifier.

    A feature that a row does not have counts as 0. The levels are the learner's `levels`, in that order; a learner
    without them takes levels as they appear, sorted, and a new level's threshold starts equal to its neighbour's. Name
    the levels if you know them: then the order is yours, and none appears late. If names have to be sorted, which is a
    guess, it warns once.

    Parameters
    ----------
    learner
        A dford learner; it is copied and never changed.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from dford import DFORD
    >>> from dford.river import Ordinal
    >>> model = preprocessing.StandardScaler() | Ordinal(DFORD(exploration=0.4, random_state=0))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.07%
    """

    def __init__(self, learner: OrdinalLearner) -> None:
        self.learner = learner
        self._model: OrdinalLearner | None = None
        self._columns: dict[Any, int] = {}
        self._levels: list[Any] = []  # used until there are two, and the model can start

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for learner in (DFORD(random_state=0), PRank(), PRIL(), PRank(kernel="rbf", window=20)):
            yield {"learner": learner}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        y = y.item() if isinstance(y, np.generic) else y
        values = np.array([list(x.values())], dtype=np.float64).reshape(1, -1)
        refuse_large(values, vectors.squares(values))  # before anything grows
        new = sorted((name for name in x if name not in self._columns), key=repr)
        columns = self._columns | {name: len(self._columns) + i for i, name in enumerate(new)}
        if self._model is None:
            scale = self._first_scale(y)
            if scale is None:
                return  # with only one level there is nothing to learn
            model = clone(self.learner)
            model._validate_params()
            model._begin(scale, model._new_form(_room(model, len(columns)), len(scale), model._prefers_sparse()))
            self._model = model
        model, scale = self._model, self._model._scale
        if y not in scale.index:
            if model.levels is not None:
                scale.number(y)
            scale = Scale(_in_order([*scale.names, y]))
        if len(scale) > len(model._scale) or len(columns) > model.n_features_in_:
            room = max(model.n_features_in_, _room(model, len(columns)))
            model._grow(scale, room if len(columns) > model.n_features_in_ else model.n_features_in_)
        row = _row(model, x, columns)
        model._learn_one(row, scale.index[y])
        self._columns = columns

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        if self._model is None:
            return self._levels[0] if self._levels else None
        return self._model._predict_one(_row(self._model, x, self._columns))

    def _first_scale(self, y: Any) -> Scale | None:
        if self.learner.levels is not None:
            return Scale(self.learner.levels)
        levels = self._levels if y in self._levels else [*self._levels, y]
        scale = Scale(_in_order(levels)) if len(levels) > 1 else None
        self._levels = levels
        if scale is None:
            return None
        scale.warn_if_guessed(stacklevel=4)
        return scale


def _in_order(levels: list[Any]) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:
        raise ValueError(
            f"levels of several types, such as {levels[0]!r} and {levels[-1]!r}, cannot be sorted; give the learner "
            "levels=[...], lowest first"
        ) from None


def _room(model: OrdinalLearner, n_features: int) -> int:
    """How many columns to make: a linear learner gets spare ones, as unused columns cost it nothing."""
    return 1 << max(n_features - 1, 7).bit_length() if model._prefers_sparse() else max(n_features, 1)


def _row(model: OrdinalLearner, x: dict[Any, Any], columns: dict[Any, int]) -> Any:
    """The known features of x as one row. Sorted by column, so that the order of a dict changes no sum."""
    known = sorted((columns[name], value) for name, value in x.items() if name in columns)
    places, values = [place for place, _ in known], np.array([value for _, value in known], dtype=np.float64)
    if model._form.takes_sparse:
        indices, indptr = np.array(places, dtype=np.int32), np.array([0, len(places)], dtype=np.int32)
        return sparse.csr_matrix((values, indices, indptr), shape=(1, model.n_features_in_), copy=False)
    row = np.zeros((1, model.n_features_in_))
    row[0, places] = values
    return row
