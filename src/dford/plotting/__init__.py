"""Pictures: plain numbers in, one file out."""

from dford.plotting.curves import draw_curves
from dford.plotting.panels import HeatRow, Line, draw_bars, draw_heat_rows, draw_lines
from dford.plotting.study_pictures import PICTURES

__all__ = ["PICTURES", "HeatRow", "Line", "draw_bars", "draw_curves", "draw_heat_rows", "draw_lines"]
