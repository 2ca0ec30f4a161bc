"""Put things on an ordered scale by asking one yes/no question about each."""

from typing import Any

from dford.feedback import Question
from dford.learners import DFORD, PRIL, Auto, DirectionalBoosting, NewtonLogit, Overlap, PRank, Trace, load
from dford.log import FeedbackLog
from dford.policies import Boundary, Greedy, Nearby, Policy, Triangular, Uniform

__version__ = "0.1.0"

__all__ = [
    "DFORD",
    "PRIL",
    "Auto",
    "Boundary",
    "DirectionalBoosting",
    "FeedbackLog",
    "Greedy",
    "Nearby",
    "NewtonLogit",
    "Overlap",
    "PRank",
    "Policy",
    "Question",
    "Trace",
    "Triangular",
    "Uniform",
    "load",
]


def __getattr__(name: str) -> Any:
    # the client of the service needs what the base does not bring
    if name in {"AsyncClient", "Client"}:
        from dford import service

        return getattr(service, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
