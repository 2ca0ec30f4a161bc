"""Data to learn from."""

from dford.datasets._data_folder import data_folder
from dford.datasets._download import download
from dford.datasets.discretise import at_cuts, equal_frequency, in_steps
from dford.datasets.judges import load_judges
from dford.datasets.movies import load_eachmovie, load_movielens
from dford.datasets.normalise import normalise
from dford.datasets.ranking import load_mslr
from dford.datasets.rated_texts import load_rated_texts
from dford.datasets.raters import load_offensive, load_raters
from dford.datasets.registry import load
from dford.datasets.synthetic import make_synthetic
from dford.datasets.tables import load_abalone, load_bank, load_california, load_computer, load_parkinsons
from dford.datasets.user_table import load_table

__all__ = [
    "at_cuts",
    "data_folder",
    "download",
    "equal_frequency",
    "in_steps",
    "load",
    "load_abalone",
    "load_bank",
    "load_california",
    "load_computer",
    "load_eachmovie",
    "load_judges",
    "load_movielens",
    "load_mslr",
    "load_offensive",
    "load_parkinsons",
    "load_rated_texts",
    "load_raters",
    "load_table",
    "make_synthetic",
    "normalise",
]
