"""Views in a worker process, which has its own database connection and models."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from dford import learners
from dford.learners import LiveLearner
from dford.service.projects.projects import Project
from dford.service.store.database import Database
from dford.service.worker import Workers

T = TypeVar("T")
SMALL = 500  # up to this many rows are worked on here, not in the worker process,
SMALL_TEXT = 1_000_000  # if they do not show more characters than this
_SECONDS = 60.0  # for one read


def run(
    workers: Workers, database: Database, is_large: bool, function: Callable[..., T], project: Project, *given: Any
) -> T:
    """What a function shows of the database and a project; a large view goes to a worker process."""
    if not is_large:
        return function(database, project, *given)
    address = database.url.render_as_string(hide_password=False)
    shown: T = workers.run(project.id, _there, address, function, project, *given)
    return shown


def _there(address: str, function: Callable[..., T], project: Project, *given: Any) -> T:
    return function(_database(address), project, *given)


@lru_cache(maxsize=4)
def loaded(packed: bytes) -> LiveLearner:
    """A model that a fold packed."""
    return cast(LiveLearner, learners.loads(packed, "the model"))


@lru_cache(maxsize=4)
def _database(address: str) -> Database:
    return Database(address, _SECONDS)
