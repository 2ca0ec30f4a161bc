"""Put things on an ordered scale by asking one yes/no question at a time."""

from importlib import import_module

TYPE_CHECKING = False  # that of typing, whose import would be a time in which Ctrl-C is not yet the command's
if TYPE_CHECKING:
    from typing import Any

    from dford.columns import Columns
    from dford.feedback import Question
    from dford.learners import DFORD, PRIL, Auto, DirectionalBoosting, NewtonLogit, Overlap, PRank, Trace
    from dford.log import FeedbackLog
    from dford.policies import Boundary, Greedy, Nearby, Policy, Triangular, Uniform
    from dford.pool import ItemQuestion, People, Person, Pool, load
    from dford.service.client import AsyncClient as AsyncClient
    from dford.service.client import Client as Client

__version__ = "0.1.0"

__all__ = [
    "DFORD",
    "PRIL",
    "Auto",
    "Boundary",
    "Columns",
    "DirectionalBoosting",
    "FeedbackLog",
    "Greedy",
    "ItemQuestion",
    "Nearby",
    "NewtonLogit",
    "Overlap",
    "PRank",
    "People",
    "Person",
    "Policy",
    "Pool",
    "Question",
    "Trace",
    "Triangular",
    "Uniform",
    "load",
]

# Imported on first use: scikit-learn and numba take seconds, which the command line's help need not wait for, and the
# service's client needs packages that the base does not install.
_HOMES = {
    "columns": ["Columns"],
    "feedback": ["Question"],
    "learners": ["DFORD", "PRIL", "Auto", "DirectionalBoosting", "NewtonLogit", "Overlap", "PRank", "Trace"],
    "log": ["FeedbackLog"],
    "policies": ["Boundary", "Greedy", "Nearby", "Policy", "Triangular", "Uniform"],
    "pool": ["ItemQuestion", "People", "Person", "Pool", "load"],
    "service": ["AsyncClient", "Client"],
}
_ROOMS = {"datasets", "engine", "estimates", "evaluation", "experiments", "persistence", "plotting", "report", "scale"}


def __getattr__(name: str) -> "Any":
    if name in _ROOMS or name in _HOMES:
        return import_module(f"dford.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(f"dford.{home}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS, *_HOMES, *_HOMES["service"]})
