"""Saving learners to files and back: parameters and levels as JSON, all numbers as arrays."""

import os
from array import array
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford import persistence, policies, sparse_rows
from dford.columns import Columns
from dford.engine import counter, rounds
from dford.feedback import Question, make_read_only
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
    _closed: "array[int]"
    _learned_with: dict[str, Any]

    def _make_room(self, n: int) -> None: ...
    def _validate_params(self) -> None: ...
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
    model._validate_params()  # what is wrong with them would only show when the file is loaded
    params = to_json(model.get_params(deep=False), getattr(model, "seed_", None))
    header: dict[str, Any] = {"learner": type(model).__name__, "params": params}
    arrays: dict[str, NDArray[Any]] = {}
    if hasattr(model, "_form"):
        if model._learned_with != params:
            header |= {"params": model._learned_with, "set_params": params}
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
            header["open"] = [[q.round, q.level, q.prediction, q.propensity, q.id] for q in model._open.values()]
            # without questions, the bytes are those of early versions
            arrays["closed" if model._closed else "fates"] = np.array(model._closed, "<u2").view(np.uint8)
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
        if "closed" in arrays:
            model._closed = array("H", arrays["closed"].view("<u2").tolist())
        else:  # files of early versions have only two bits for each question: its fate
            model._closed = array("H", (arrays["fates"][:, None] >> np.array([0, 2, 4, 6]) & 3).ravel().tolist())
        rows = _load_rows(arrays, header["features"])
        for row, (n, level, prediction, propensity, *given) in zip(rows, header["open"], strict=True):
            own = str(given[0]) if given else early_id(header["seed"], n)
            make_read_only(row)
            model._make_room(n)
            model._open[own] = Question(own, row, level, prediction, propensity, n)


def early_id(seed: int, number: int) -> str:
    """The id of a question in early versions, which may still be stored elsewhere."""
    return f"{int(counter.key(seed)):08x}-{number}"


def _check(form: Form, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of other types than a new model's, or with invalid numbers: compiled code trusts them."""
    rows = _save_rows([], form.n_features)
    fates = dict.fromkeys(("closed", "fates"), np.empty(0, np.uint8))
    new = form.arrays() | form.log_arrays() | rows | fates | {"records": np.empty(0)}
    for name, found in arrays.items():
        strange = ~np.isfinite(found)
        if form.takes_missing and name in {"log_rows", "log_data", *rows}:
            strange = np.isinf(found)
        elif name == "trees_numbers":
            strange = np.isnan(found)  # a split may be at infinity
        elif name == "records":
            strange[:, rounds.FIGURES :] = False  # thresholds are only shown, and NaN where there are none
        if strange.any() or (name in new and new[name].dtype.kind != found.dtype.kind):
            raise ValueError(f"{name} of type {found.dtype} has invalid numbers; use an untouched copy")


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


def to_json(params: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Parameters as a file holds them, with the seed of the model in place of a RandomState."""
    found = {name: _to_json(value) for name, value in params.items()}
    if not isinstance(found["random_state"], (int, type(None))):
        found["random_state"] = seed
    return found


def _to_json(value: Any) -> Any:
    if type(value) in _POLICIES:
        return {"policy": type(value).__name__, **asdict(value)}
    if callable(value):
        return {"function": getattr(value, "__qualname__", repr(value))}
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_to_json(one) for one in value] if isinstance(value, Iterable) else value


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
