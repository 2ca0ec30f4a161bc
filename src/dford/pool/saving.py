"""Pools in files: parameters and levels as JSON, all numbers as arrays, learners as they save themselves."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford import learners
from dford.learners import OrdinalLearner
from dford.pool.questions import ItemQuestion
from dford.pool.refresh import Priors, Refresh

Arrays = dict[str, NDArray[Any]]


def parts(pool: Any) -> tuple[dict[str, Any], Arrays]:
    """What a file of the pool holds. Where priors are being made, they are waited for."""
    found = None if pool._refresh is None else pool._refresh.result()
    header = {
        "pool": 1,
        "levels": pool._scale.names,
        "features": pool._names,
        "error_rate": pool.error_rate,
        "audit": pool.audit,
        "seed": pool.seed_,
        "rate": pool._items.rate,
        "coming_rate": None if found is None else found.rate,
        "learned": pool._learned,
        "next": pool._next,
        "repeats": pool._repeats,
        "open": [[*question[1:], checked] for question, checked in pool._open.values()],
    }
    answers = np.array(pool._answers, dtype=np.float64).reshape(-1, 6)
    arrays = {
        "X": pool._X,
        "missing": pool._has_missing.astype(np.uint8),
        "usual": pool._usual,
        "answers": np.delete(answers, 3, axis=1).astype(np.int64),
        "propensities": answers[:, 3].copy(),
        "fates": np.frombuffer(bytes(pool._fates), np.uint8),
        "audited": np.array(pool._audit.items, dtype=np.int64),
        "coming": np.empty((0, 0)) if found is None else found.prior,
        **pool._items.arrays(),
    }
    models = [pool.learner, *pool._learners.models]
    return header, arrays | {
        f"learner{i}": np.frombuffer(m.packing(log=False)(), np.uint8) for i, m in enumerate(models)
    }


def learner(arrays: Arrays, number: int, own: type[OrdinalLearner] | None) -> Any:
    return learners.loads(arrays[f"learner{number}"].tobytes(), "the pool's learner", own)


def restore(pool: Any, header: dict[str, Any], arrays: Arrays, own: type[OrdinalLearner] | None) -> None:
    """Put a new pool where the one that was saved had come to."""
    X, answers, propensities = arrays["X"], arrays["answers"], arrays["propensities"]
    n, k, coming, audited = len(arrays["prior"]), len(pool._scale), arrays["coming"], arrays["audited"]
    if (
        X.ndim != 2
        or len(X) != n
        or answers.shape != (len(propensities), 5)
        or (
            len(answers)
            and not ((answers.min(axis=0) >= 0).all() and (answers.max(axis=0) < [n, k - 1, k, 2, 3]).all())
        )
        or (header["coming_rate"] is not None and (coming.shape[1:] != (k,) or len(coming) > n))
        or not ((audited >= 0) & (audited < n)).all()
        or not 0 <= header["learned"] <= len(answers)
    ):
        raise ValueError("the pool has items or answers that none could have")
    pool._X, pool._names = X, header["features"]
    pool._has_missing, pool._usual = arrays["missing"].astype(np.bool_), arrays["usual"]
    pool._items.restore(header["rate"], arrays)
    item, cut, placement, higher, why = answers.T
    pool._answers = list(
        zip(
            item.tolist(),
            cut.tolist(),
            placement.tolist(),
            propensities.tolist(),
            (higher > 0).tolist(),
            why.tolist(),
            strict=True,
        )
    )
    pool._fates = bytearray(arrays["fates"].tobytes())
    pool._learned, pool._next, pool._repeats = header["learned"], header["next"], list(header["repeats"])
    pool._audit.look_at(pool._items)
    for one in audited.tolist():
        pool._audit.take(one)
    for one, where, _, _, yes, reason in pool._answers:
        if reason == 2:
            pool._audit.answer(one, where, yes)
    pool._audit.believe(header["rate"])
    for fields in header["open"]:
        *given, checked = fields
        question = ItemQuestion(f"{pool._key}-{given[4]}", *given)
        pool._open[question.id] = question, checked
        pool._items.is_open[question.item] = True
        pool._items.look_at(question.item)
    for fold in range(len(pool._learners.models)):
        pool._learners.models[fold] = learner(arrays, fold + 1, own)
    firsts = np.sort(np.unique(item[: pool._learned], return_index=True)[1])
    pool._learners.recall(pool._features(), item[firsts], cut[firsts], higher[firsts] > 0)
    if header["coming_rate"] is not None:
        found = Priors(coming, header["coming_rate"])
        pool._refresh = Refresh(lambda: found)
