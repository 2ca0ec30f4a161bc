"""The pool: items to be placed, what is known about each, and which question comes next."""

import os
from collections.abc import Callable
from typing import Any

from dford import learners, persistence
from dford.learners import OrdinalLearner
from dford.pool.people import People, Person
from dford.pool.pool import Pool, unpacked
from dford.pool.questions import ItemQuestion

__all__ = ["ItemQuestion", "People", "Person", "Pool", "load"]


def load(
    path: str | os.PathLike[str],
    kernel: Callable[[Any, Any], Any] | None = None,
    learner: type[OrdinalLearner] | None = None,
) -> Any:
    """Load the learner or pool that `save(path)` wrote. It continues bit by bit where it stopped.

    A file holds only numbers and names, and nothing in it is run. A kernel that is a function must be passed again, and
    so must the class of your own learner.
    """
    header, arrays = persistence.read(path)
    if "pool" not in header:
        return learners.restored(header, arrays, path, kernel, learner)
    try:
        return unpacked(header, arrays, learner)
    except (LookupError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError) as error:
        raise ValueError(f"{path} has no pool that this dford knows ({error!r})") from None
