"""Evaluation without labels."""

from dford.estimates import Estimate
from dford.evaluation import offpolicy
from dford.evaluation.tuning import Candidate, Tuning, tune

__all__ = ["Candidate", "Estimate", "Tuning", "offpolicy", "tune"]
