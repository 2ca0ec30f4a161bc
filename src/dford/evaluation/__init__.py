"""Judgement without labels."""

from dford.evaluation import offpolicy
from dford.evaluation.offpolicy import Estimate

__all__ = ["Estimate", "offpolicy"]
