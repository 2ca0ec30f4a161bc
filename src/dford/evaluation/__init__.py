"""Judgement without labels."""

from dford.estimates import Estimate
from dford.evaluation import offpolicy

__all__ = ["Estimate", "offpolicy"]
