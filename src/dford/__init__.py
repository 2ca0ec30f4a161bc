"""Put things on an ordered scale by asking one yes/no question about each."""

from dford.feedback import Question
from dford.learners import DFORD, PRIL, NewtonLogit, PRank, Trace, load
from dford.log import FeedbackLog
from dford.policies import Boundary, Greedy, Policy, Triangular, Uniform

__version__ = "0.1.0"

__all__ = [
    "DFORD",
    "PRIL",
    "Boundary",
    "FeedbackLog",
    "Greedy",
    "NewtonLogit",
    "PRank",
    "Policy",
    "Question",
    "Trace",
    "Triangular",
    "Uniform",
    "load",
]
