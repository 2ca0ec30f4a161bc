"""Items in a file that may be larger than memory, placed."""

from dford.placing.place import Placing, place

__all__ = ["Placing", "place"]
