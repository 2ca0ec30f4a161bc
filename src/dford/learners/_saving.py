"""Saving learners to files and back: parameters and levels as JSON, all numbers as arrays."""

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford import persistence, policies, sparse_rows
from dford.columns import Columns
from dford.engine import rounds
from dford.feedback import Question
from dford.learners._forms.form import Form, KernelFunction
from dford.policies import Policy
from dford.scale import Scale


class Model(Protocol):
    """What a learner needs to be saved."""

    seed_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _scale: Scale
    _form: Form
    _records: list[NDArray[np.float64]]
    _columns: Columns | None
    # only in learners that ask
    _key: str
    _open: dict[str, Question]
    _fates: bytearray

    def get_params(self, deep: bool) -> dict[str, Any]: ...
    def _known_names(self) -> list[str] | None: ...
    def _look_at_names(self) -> None: ...
    def _new_form(self, n_features: int, n_levels: int, is_sparse: bool, columns: Columns | None) -> Form: ...
    def _take_columns(self, columns: Columns | None) -> None: ...
    def _begin(self, scale: Scale, form: Form, seed: int | None) -> None: ...


def save(model: Model, path: str | os.PathLike[str]) -> None:
    persistence.write(path, *_parts(model, log=True))


def packing(model: Model, log: bool) -> Callable[[], bytes]:
    """A function that returns what `save` writes; without the log, all but what `recall` gives back."""
    return partial(persistence.pack, *_parts(model, log))


def _parts(model: Model, log: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    params = {name: _to_json(value) for name, value in model.get_params(deep=False).items()}
    if params["random_state"] is not None and not isinstance(params["random_state"], int):
        params["random_state"] = model.seed_ if hasattr(model, "seed_") else None
    header: dict[str, Any] = {"learner": type(model).__name__, "params": params}
    arrays: dict[str, NDArray[Any]] = {}
    if hasattr(model, "_form"):
        header |= {
            "levels": model._scale.names,
            "features": model._form.n_features,
            "feature_names": model._known_names(),
            "seed": model.seed_,
            "sparse": model._form.takes_sparse,
        }
        if model._columns is not None:
            header["columns"] = model._columns.to_json()
        arrays |= model._form.arrays() | (model._form.log_arrays() if log else {})
        arrays["records"] = np.array(model._records).reshape(-1, rounds.FIGURES + len(model._scale) - 1)
        if hasattr(model, "_open"):
            header["open"] = [[q.round, q.level, q.prediction, q.propensity] for q in model._open.values()]
            arrays["fates"] = np.frombuffer(bytes(model._fates), np.uint8)
            arrays |= _save_rows([q.x for q in model._open.values()], model._form.n_features)
    return header, arrays


def restore(model: Model, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for name in ("features", "seed"):
        if type(header[name]) is not int or header[name] < (name == "features"):
            raise ValueError(f"{name} has the invalid value {header[name]!r}")
    scale = Scale(header["levels"])
    columns = None if header.get("columns") is None else Columns.from_json(header["columns"])
    # files of early versions have neither sparse nor columns
    form = model._new_form(header["features"], len(scale), header.get("sparse") is True, columns)
    _check(form, arrays)
    form.restore(len(scale), arrays)
    model._begin(scale, form, header["seed"])
    model._take_columns(columns)
    if columns is not None and columns.width_ != header["features"]:
        raise ValueError("the columns and the features do not match")
    records = arrays["records"]
    if records.shape[1:] != (rounds.FIGURES + len(scale) - 1,):
        raise ValueError(f"the records have the invalid shape {records.shape}")
    model._records = list(records)
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        model._look_at_names()
    if hasattr(model, "_open"):
        model._fates = bytearray(arrays["fates"].tobytes())
        rows = _load_rows(arrays, header["features"])
        for row, (n, level, prediction, propensity) in zip(rows, header["open"], strict=True):
            question = Question(f"{model._key}-{n}", row, level, prediction, propensity, n)
            model._open[question.id] = question


def _check(form: Form, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of other types than a new model's, or with invalid numbers: compiled code trusts them."""
    rows = _save_rows([], form.n_features)
    new = form.arrays() | form.log_arrays() | rows | {"records": np.empty(0), "fates": np.empty(0, np.uint8)}
    for name, array in arrays.items():
        strange = ~np.isfinite(array)
        if form.takes_missing and name in {"log_rows", "log_data", *rows}:
            strange = np.isinf(array)
        elif name == "trees_numbers":
            strange = np.isnan(array)  # a split may be at infinity
        elif name == "records":
            strange[:, rounds.FIGURES :] = np.isinf(array[:, rounds.FIGURES :])  # NaN where there are no thresholds
        if strange.any() or (name in new and new[name].dtype.kind != array.dtype.kind):
            raise ValueError(f"{name} of type {array.dtype} has invalid numbers; use an untouched copy")


def to_params(params: dict[str, Any], kernel: KernelFunction | None) -> dict[str, Any]:
    """Constructor arguments from what `save` wrote."""
    if isinstance(params.get("kernel"), dict):
        if kernel is None:
            raise ValueError(
                f"this model's kernel is the function {params['kernel']['function']}, which a file cannot hold; "
                "pass it as load(path, kernel=...)"
            )
        params["kernel"] = kernel
    if isinstance(params.get("policy"), dict):
        name = params["policy"].pop("policy")
        params["policy"] = {p.__name__: p for p in _POLICIES}[name](**params["policy"])
    return params


_POLICIES: tuple[type[Policy], ...] = (
    policies.Triangular,
    policies.Greedy,
    policies.Uniform,
    policies.Boundary,
    policies.Nearby,
)


def _to_json(value: Any) -> Any:
    if type(value) in _POLICIES:
        return {"policy": type(value).__name__, **asdict(value)}
    if callable(value):
        return {"function": getattr(value, "__qualname__", repr(value))}
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple, range)) else value


def _save_rows(rows: list[Any], n_features: int) -> dict[str, NDArray[Any]]:
    """The features of open questions: dense ones as a matrix, sparse ones as CSR, and which are which."""
    is_sparse = np.array([sparse.issparse(row) for row in rows], dtype=np.uint8)
    dense = [row for row in rows if not sparse.issparse(row)]
    X = sparse.vstack([sparse.csr_matrix((0, n_features)), *(row for row in rows if sparse.issparse(row))], "csr")
    return {
        "open_sparse": is_sparse,
        "open_dense": np.array(dense).reshape(len(dense), n_features),
        "open_data": X.data.astype(np.float64),
        "open_indices": X.indices.astype(np.int64),
        "open_indptr": X.indptr.astype(np.int64),
    }


def _load_rows(arrays: dict[str, NDArray[Any]], n_features: int) -> list[Any]:
    dense, indptr = arrays["open_dense"], arrays["open_indptr"]
    X = sparse_rows.checked(arrays["open_data"], arrays["open_indices"], indptr, n_features)
    if dense.ndim != 2 or dense.shape[1] != n_features:
        raise ValueError(f"the open questions have shape {dense.shape}; expected {n_features} features")
    are_sparse = arrays["open_sparse"]
    if are_sparse.ndim != 1 or (are_sparse.sum(), len(are_sparse)) != (X.shape[0], X.shape[0] + len(dense)):
        raise ValueError("the open questions do not match their rows")
    kinds = {0: iter(dense), 1: iter(X)}
    return [next(kinds[kind]) for kind in arrays["open_sparse"].tolist()]
