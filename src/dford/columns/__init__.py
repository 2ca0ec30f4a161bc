"""What turns a table into features: numbers, categories, texts, vectors, images and dates."""

from dford.columns.column import KINDS, SPELLED_ALIKE, Column, Kind
from dford.columns.columns import Columns, read_columns
from dford.columns.described import Described
from dford.columns.image_reader import ImageReader
from dford.columns.reading import read_column
from dford.columns.values import ColumnError

__all__ = [
    "KINDS",
    "SPELLED_ALIKE",
    "Column",
    "ColumnError",
    "Columns",
    "Described",
    "ImageReader",
    "Kind",
    "read_column",
    "read_columns",
]
