"""Placing the items of a file that may be larger than memory."""

from dford.placing.place import Placing, place

__all__ = ["Placing", "place"]
