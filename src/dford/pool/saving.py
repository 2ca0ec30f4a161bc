"""Pools in files: parameters and levels as JSON, all numbers as arrays, learners as they save themselves."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford import learners, sparse_rows
from dford.columns import Columns
from dford.learners import OrdinalLearner, Rows
from dford.pool.agreement import Voice
from dford.pool.answers import AUDIT, PURPOSES
from dford.pool.filling import Filling
from dford.pool.placements import Placements
from dford.pool.refresh import Priors, Refresh, Stage
from dford.pool.reliability import Reliability
from dford.pool.votes import RatingColumn

_MOST_SPREAD = 100.0
Arrays = dict[str, NDArray[Any]]


def parts(pool: Any) -> tuple[dict[str, Any], Arrays]:
    """What a file of the pool holds. Waits for priors that are being computed."""
    header, arrays = placement_parts(pool._placements)
    waiting, fates = pool._asked.parts()
    header |= {
        "pool": 1,
        "levels": pool._scale.names,
        "features": pool._names,
        "columns": None if pool.columns_ is None else pool.columns_.to_json(),
        "error_rate": pool.error_rate,
        "audit": pool.audit,
        "auditors": pool.auditors,
        "costs": pool.costs,
        "programs": pool.programs,
        "trusted": pool.trusted,
        "seed": pool.seed_,
        "key": pool._asked.key,
        "open": waiting,
    }
    return header, arrays | {
        **_packed_rows(pool._placements.X),
        "missing": pool._placements.filling.may_miss.astype(np.uint8),
        "fillings": pool._placements.filling.means,
        "fates": fates,
        "learner": _packed(pool.learner),
    }


def placement_parts(placements: Placements) -> tuple[dict[str, Any], Arrays]:
    """What is known about items, except their features."""
    found = None if placements.refresh is None else placements.refresh.result()
    header = {
        "voices": placements.voices,
        "is_coming": found is not None,
        "learned": placements.learned,
        "next": list(placements.next),
        "ratings": placements.rating_columns,
    }
    arrays: Arrays = {
        "coming": np.empty((0, 0)) if found is None else found.prior,
        **_packed_reliability("now", placements.reliability),
        **({} if found is None else _packed_reliability("coming", found.reliability)),
        **placements.answers.arrays(),
        **placements.items.arrays(),
        **placements.apart.arrays(),
        "audit_complete": placements.audit.complete(),
        "audit_right": np.array([placements.audit.right]),
        **(_packed_rows(placements.apart.X, "apart_X") if len(placements.apart) else {}),
    }
    return header, arrays | {f"learner{i}": _packed(model) for i, model in enumerate(placements.learners.models)}


def learner(arrays: Arrays, name: str, own: type[OrdinalLearner] | None) -> Any:
    return learners.loads(arrays[name].tobytes(), "the pool's learner", own)


def restore(pool: Any, header: dict[str, Any], arrays: Arrays, own: type[OrdinalLearner] | None) -> None:
    """Bring a new pool to the state of the saved one."""
    X, missing, fillings = rows(arrays), arrays["missing"].astype(np.bool_), arrays["fillings"]
    is_strange = np.isinf(X.data if sparse.issparse(X) else X).any() or not np.isfinite(fillings).all()
    if is_strange or X.ndim != 2 or not missing.shape == fillings.shape == X.shape[1:]:
        raise ValueError("the pool has invalid features")
    pool._placements.X, pool._placements.filling = X, Filling(missing, fillings)
    pool.columns_ = None if header.get("columns") is None else Columns.from_json(header["columns"])
    restore_placements(pool._placements, header, arrays, own)
    pool._names = _names(header["features"], X.shape[1])
    pool._asked.restore(header["key"], header["open"], arrays["fates"])
    for question in pool._asked:
        pool._placements.items.set_open(pool._number(question.item), True)
        pool._scale.number(question.level)
        pool._scale.number(question.placement)
        PURPOSES.index(question.purpose)


def restore_placements(
    placements: Placements, header: dict[str, Any], arrays: Arrays, own: type[OrdinalLearner] | None = None
) -> None:
    """Bring placements that have features but no items to the state of the saved ones."""
    n, k, coming = len(arrays["prior"]), len(placements.scale), arrays["coming"]
    if (
        placements.X.shape[0] != n
        or (header["is_coming"] and (coming.shape[1:] != (k,) or len(coming) > n))
        or not ((coming > 0) & (coming <= 1)).all()
        or not 0 <= header["learned"] <= len(arrays["answers_item"])
    ):
        raise ValueError("the pool has invalid items or answers")
    placements.voices = [_voice(*voice) for voice in header["voices"]]
    placements.reliability = _reliability("now", arrays, k)
    placements.items.restore(arrays, placements.reliability)
    placements.answers.restore(arrays, n, k, len(placements.voices))
    apart = rows(arrays, "apart_X") if len(arrays["apart_cut"]) else None
    placements.apart.restore(arrays, apart, placements.X.shape[1], k, header["learned"])
    placements.learned, placements.informed = header["learned"], placements._n_informed()
    placements.next = Stage(*map(operator.index, header["next"]))
    width = placements.X.shape[1]
    placements.rating_columns = [_rating_column(feature, own, width, k) for feature, own in header["ratings"]]
    if placements.stage().until(placements.next) <= 0:
        raise ValueError("the pool has invalid answers")
    placements.recall_repeats()
    placements.items.look(np.arange(len(placements.items)))
    complete, right = arrays["audit_complete"], arrays["audit_right"]
    audited = placements.answers["item"][placements.answers["purpose"] == AUDIT]
    if right.shape != (1,) or not 0.0 < right[0] < 1.0 or not np.isin(complete, audited).all():
        raise ValueError("the pool has an invalid audit")
    placements.audit.set_complete(complete, float(right[0]))
    placements.recall_audit()
    for fold in range(len(placements.learners.models)):
        placements.learners.models[fold] = learner(arrays, f"learner{fold}", own)
    placements.recall_learners()
    if header["is_coming"]:
        found = Priors(coming, _reliability("coming", arrays, k))
        placements.refresh = Refresh(lambda: found)


def _names(names: Any, width: int) -> list[str] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
        raise ValueError("the pool has invalid names of features")
    return names


def _voice(name: Any, eighths: Any, informs: Any) -> Voice:
    if not isinstance(name, str) or eighths not in range(9) or not isinstance(informs, bool):
        raise ValueError("the pool has invalid people")
    return Voice(name, int(eighths), informs)


def _rating_column(feature: Any, values: Any, width: int, n_levels: int) -> RatingColumn:
    found = RatingColumn(operator.index(feature), tuple(map(float, values)))
    if not 0 <= found.feature < width or len(found.values) != n_levels:
        raise ValueError("the pool has invalid columns of ratings")
    return found


def _packed_reliability(name: str, reliability: Reliability) -> Arrays:
    return {f"{name}_{column}": np.atleast_1d(values) for column, values in reliability._asdict().items()}


def _reliability(name: str, arrays: Arrays, n_levels: int) -> Reliability:
    shares, spread, strictness, rates = (arrays[f"{name}_{column}"] for column in Reliability._fields)
    if (
        shares.shape != (n_levels,)
        or spread.shape != (1,)
        or not rates.shape == strictness.shape == (len(rates),)
        or not len(rates)
        or not ((shares > 0.0) & (shares < 1.0)).all()
        or not 0.0 <= spread[0] <= _MOST_SPREAD
        or not (np.abs(strictness) <= _MOST_SPREAD).all()
        or not ((rates >= 0) & (rates < 0.5)).all()
    ):
        raise ValueError("the pool has invalid people")
    return Reliability(shares, float(spread[0]), strictness, rates)


def _packed_rows(X: Rows, name: str = "X") -> Arrays:
    if not sparse.issparse(X):
        return {name: X}
    return {
        f"{name}_data": X.data,
        f"{name}_indices": X.indices.astype(np.int64),
        f"{name}_indptr": X.indptr.astype(np.int64),
        f"{name}_width": np.array([X.shape[1]]),
    }


def rows(arrays: Arrays, name: str = "X") -> Rows:
    """The features of a file's items, or other rows under this name."""
    if name in arrays:
        return arrays[name]
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sparse_rows.checked(data, indices, indptr, int(arrays[f"{name}_width"][0]))


def _packed(model: Any) -> NDArray[np.uint8]:
    return np.frombuffer(model.packing(log=False)(), np.uint8)
