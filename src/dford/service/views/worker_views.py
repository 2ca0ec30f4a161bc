"""Views in the worker process, with a database connection and models of its own."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from dford import learners
from dford.learners import LiveLearner
from dford.service.projects.projects import Project
from dford.service.store.database import Database

T = TypeVar("T")
_SECONDS = 60.0  # for one reading


def view(address: str, function: Callable[..., T], project: Project, *given: Any) -> T:
    return function(_database(address), project, *given)


@lru_cache(maxsize=4)
def loaded(packed: bytes) -> LiveLearner:
    """A model that a fold packed."""
    return cast(LiveLearner, learners.loads(packed, "the model"))


@lru_cache(maxsize=4)
def _database(address: str) -> Database:
    return Database(address, _SECONDS)
