"""What a log of answers says about the items of a file, before the file is read."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford import learners, persistence
from dford.arrays import Bools, Floats, Ints
from dford.engine.beliefs import opinions
from dford.learners import LiveLearner
from dford.log import FeedbackLog
from dford.pool.agreement import AnswerColumns, Voice, number_voices
from dford.pool.audit import Audit
from dford.pool.filling import Filling
from dford.pool.held_out_learners import PARTS, Drawn, HeldOutLearners, LevelModels
from dford.pool.items import Items
from dford.pool.refresh import Calibration, Fitted, Sureness
from dford.pool.reliability import alike, usual_rate
from dford.scale import Scale


class Told(NamedTuple):
    """What the log says. Cuts and levels count from 0."""

    items: Ints
    """-1 for an answer that is about no item."""
    cuts: Ints
    levels: Ints
    propensities: Floats
    higher: Bools
    voices: list[Voice]
    people: Ints
    """The number of each answer's voice."""
    X: Floats
    answered: Ints
    """The items with answers, in order."""
    own: Floats
    """Their features."""


class Known(NamedTuple):
    """Everything known before the file is read."""

    scale: Scale
    names: list[str]
    learners: HeldOutLearners
    filling: Filling
    fitted: Fitted
    usual: Floats
    """The prior of an item that lacks a feature which the log always has: nothing was learned about such items."""
    answered: Ints
    own: Floats
    evidence: Floats
    counts: Ints


def read_told(log: FeedbackLog) -> Told:
    log = log.without_guesses()
    items = np.array([-1 if item is None else item for item in log.item], dtype=np.int64)
    place, X = log.scale.index, log.X
    cuts, levels = (np.array([place[name] - 1 for name in names]) for names in (log.level, log.prediction))
    about = items >= 0
    answered, at = np.unique(items[about], return_index=True)
    own = X[about][at]
    if not np.array_equal(own[np.searchsorted(answered, items[about])], X[about], equal_nan=True):
        raise ValueError(
            "the log has answers about the same item with different features, so its items are not from one file"
        )
    by_whom = number_voices(log.person, log.confidence)
    return Told(items, cuts, levels, log.propensity, log.higher, *by_whom, X, answered, own)


def write_known(
    path: Path,
    told: Told,
    scale: Scale,
    names: list[str],
    models: list[bytes],
    kind: type[LiveLearner],
    rate: float | None,
    seed: int,
) -> float:
    """Compute it from the log and write it to a file; returns the error rate of answers."""
    own, filling = Items(len(scale), seed), Filling.of(told.X)
    own.add(len(told.answered))
    about = np.flatnonzero((told.items >= 0) & (told.cuts < len(scale) - 1))  # nothing is above the top
    places = np.searchsorted(told.answered, told.items[about])
    answers = AnswerColumns(places, told.people[about], told.cuts[about], told.higher[about].astype(np.int64))
    own.counts += np.bincount(places, minlength=len(own)).astype(np.int32)
    reliability = alike(usual_rate(len(scale)) if rate is None else rate, len(scale)).extended(told.voices)

    def calibration() -> Calibration:
        """The calibration by what is known about the items so far."""
        own.believe(own.prior, reliability.evidence(answers, told.voices, len(own)), reliability)
        is_audit = np.zeros(len(places), np.bool_)
        return Calibration(own, Audit(own, seed), answers, is_audit, told.voices, rate, told.cuts[told.items < 0])

    reliability = calibration().reliability()
    fitted = Fitted(Sureness.even(len(scale)), None)
    if names:
        every, X = _restored(models, kind, scale, seed), filling.fill(told.own)
        parts, yes = every.parts(told.answered), every.chances_of(told.answered, X)
        drawn = Drawn.of(own, every.models[0], seed)
        fitted, own.prior = calibration().fit(yes, X, parts, drawn, reliability)
        reliability = calibration().reliability()
    usual = calibration().shares(reliability).prior
    overall = reliability.rate(answers.person)
    header = {"levels": scale.names, "names": names, "seed": seed, "sure": fitted.sure[:2]}
    arrays: dict[str, NDArray[Any]] = {
        "may_miss": filling.may_miss.astype(np.uint8),
        "means": filling.means,
        "sure": fitted.sure.usual,
        "weights": fitted.sure.weights,
        "tilt": fitted.sure.tilt,
        "trust": fitted.sure.trust,
        "usual": usual[0] if len(usual) else np.full(len(scale), 1 / len(scale)),
        "answered": told.answered,
        "own": told.own,
        "evidence": opinions.of_levels(own.evidence, len(scale)),
        "counts": own.counts.astype(np.int64),
    }
    packed = {f"learner{part}": np.frombuffer(model, np.uint8) for part, model in enumerate(models)}
    of_levels = {} if fitted.models is None else fitted.models.arrays()
    persistence.write(path, header, arrays | packed | of_levels)
    return overall


@lru_cache(maxsize=1)
def read_known(path: Path, kind: type[LiveLearner]) -> Known:
    header, arrays = persistence.read(path)
    scale = Scale(header["levels"])
    models = [arrays[f"learner{part}"].tobytes() for part in range(PARTS) if header["names"]]
    every = _restored(models, kind, scale, header["seed"])
    filling = Filling(arrays["may_miss"].astype(np.bool_), arrays["means"])
    answers = (arrays[name] for name in ("answered", "own", "evidence", "counts"))
    inversion, power = header["sure"]
    sure = Sureness(inversion, power, *(arrays[name] for name in ("weights", "sure", "tilt", "trust")))
    fitted = Fitted(sure, LevelModels.of(arrays))
    return Known(scale, header["names"], every, filling, fitted, arrays["usual"], *answers)


def _restored(models: list[bytes], kind: type[LiveLearner], scale: Scale, seed: int) -> HeldOutLearners:
    every = HeldOutLearners(kind(), scale, seed)
    every.models = [learners.loads(model, "a copy of the learner", kind) for model in models]
    return every
