"""Learners: scikit-learn classifiers for ordered levels, one per file, and the base classes for your own."""

import os
from typing import Any

from numpy.typing import NDArray

from dford import persistence
from dford.learners import _saving
from dford.learners._base import OrdinalLearner
from dford.learners._forms.form import Form, KernelFunction, PythonForm, Rows
from dford.learners._live import LiveLearner
from dford.learners._log_learner import Proposal
from dford.learners._overlap import Overlap
from dford.learners._trace import Trace
from dford.learners.auto import Auto
from dford.learners.boosting import DirectionalBoosting
from dford.learners.dford import DFORD
from dford.learners.newton import NewtonLogit
from dford.learners.prank import PRank
from dford.learners.pril import PRIL

__all__ = [
    "DFORD",
    "PRIL",
    "Auto",
    "DirectionalBoosting",
    "Form",
    "LiveLearner",
    "NewtonLogit",
    "OrdinalLearner",
    "Overlap",
    "PRank",
    "Proposal",
    "PythonForm",
    "Rows",
    "Trace",
    "load",
]

LEARNERS: dict[str, type[OrdinalLearner]] = {
    "auto": Auto,
    "boosting": DirectionalBoosting,
    "dford": DFORD,
    "newton": NewtonLogit,
    "prank": PRank,
    "pril": PRIL,
}
"""All learners, by their names on the command line."""
CLASSES = {learner.__name__: learner for learner in LEARNERS.values()}
"""The same, by their names in files, in the service and in experiments: those of their classes."""


def load(
    path: str | os.PathLike[str],
    kernel: KernelFunction | None = None,
    learner: type[OrdinalLearner] | None = None,
) -> OrdinalLearner:
    """Load the learner that `save(path)` wrote. It continues bit by bit where it stopped.

    A file holds only numbers and names, and nothing in it is run. A kernel that is a function must be passed again, and
    so must the class of your own learner.
    """
    return restored(*persistence.read(path), path, kernel, learner)


def loads(content: bytes, name: str, learner: type[OrdinalLearner] | None = None) -> OrdinalLearner:
    """Like `load`, from a file's content; `name` stands for the file in errors."""
    return restored(*persistence.unpack(content, name), name, learner=learner)


def restored(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str | os.PathLike[str],
    kernel: KernelFunction | None = None, learner: type[OrdinalLearner] | None = None,
) -> OrdinalLearner:  # fmt: skip
    """Like `load`, from a file that was already read."""
    try:
        own = {} if learner is None else {learner.__name__: learner}
        name, known = str(header["learner"]), {**CLASSES, **own}
        if name not in known:
            raise ValueError(
                f"{path} has a learner called {name[:100]!r}, which is not one of dford's; if it is yours, pass its "
                "class (in Python learner=, on the command line --learner file.py:Class)"
            )
        model = known[name](**_saving.to_params(header["params"], kernel))
        model._validate_params()
        if "levels" in header:
            _saving.restore(model, header, arrays)
        if "set_params" in header:  # after learning started
            model.set_params(**_saving.to_params(header["set_params"], kernel))
    except (LookupError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError) as error:
        raise ValueError(f"{path} has no learner that this dford knows ({error!r})") from None
    return model
