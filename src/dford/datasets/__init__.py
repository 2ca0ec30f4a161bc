"""Data to learn from."""

from dford.datasets.synthetic import make_synthetic

__all__ = ["make_synthetic"]
