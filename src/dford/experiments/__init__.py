"""Experiments: learners run on data and compared. They only compute; the report and the command line show results."""

from dford.experiments.reproduction.claims import (
    Claim,
    Finding,
    claims,
    findings,
    label_sampling_cells,
    reading,
    tally,
)
from dford.experiments.reproduction.plans import EXPERIMENTS, Plan, plan
from dford.experiments.reproduction.results import Results, run_cells
from dford.experiments.reproduction.series import Series, series

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Finding",
    "Plan",
    "Results",
    "Series",
    "claims",
    "findings",
    "label_sampling_cells",
    "plan",
    "reading",
    "run_cells",
    "series",
    "tally",
]
