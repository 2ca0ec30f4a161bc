"""Learners outside the package, named by where they are."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from dford.learners import OrdinalLearner


def is_own(name: str) -> bool:
    """Whether this says where a learner is, instead of naming a built-in one."""
    return ":" in name


def own_learner(name: str) -> type[OrdinalLearner]:
    """The class that `package.module:Class` or `folder/file.py:Class` names.

    Modules are also looked for in the working folder.
    """
    place, _, wanted = name.rpartition(":")
    file = Path(place)
    if file.suffix == ".py" and not file.is_file():
        raise ValueError(f"there is no file {place} to take {wanted} from")
    folder = str((file.parent if file.suffix == ".py" else Path()).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(import_module(file.stem if file.suffix == ".py" else place), wanted, None)
    except Exception as error:  # importing runs the module, which may raise anything
        raise ValueError(f"{place} cannot be imported ({type(error).__name__}: {error})") from None
    if not (isinstance(found, type) and issubclass(found, OrdinalLearner)):
        what = "nothing" if found is None else repr(found)
        raise ValueError(
            f"{name!r} is not a learner: {wanted} is {what} in {place}; "
            "name a subclass of dford.learners.LiveLearner or OrdinalLearner"
        )
    return found


def new_own(name: str, **parameters: Any) -> OrdinalLearner:
    """A new learner of that class."""
    try:
        return own_learner(name)(**parameters)
    except TypeError as error:
        raise ValueError(
            f"{name} cannot be made with {', '.join(parameters)}, as every learner can ({error})"
        ) from None
