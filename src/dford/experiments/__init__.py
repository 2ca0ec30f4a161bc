"""Experiments: learners run on data and compared. They compute; the report and the command line show."""

from dford.experiments.reproduction.claims import Claim, claims, label_sampling_cells, reading
from dford.experiments.reproduction.plans import EXPERIMENTS, Plan, plan
from dford.experiments.reproduction.results import Results, run_cells
from dford.experiments.reproduction.series import Series, series

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Plan",
    "Results",
    "Series",
    "claims",
    "label_sampling_cells",
    "plan",
    "reading",
    "run_cells",
    "series",
]
