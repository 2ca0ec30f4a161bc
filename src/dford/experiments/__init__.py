"""Experiments: learners run on data and compared. They compute; the report and the command line show."""

from dford.experiments.claims import Claim, claims, label_sampling_cells, reading
from dford.experiments.fan_out import Results, run_cells
from dford.experiments.plans import EXPERIMENTS, Plan, plan
from dford.experiments.series import Series, series

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
