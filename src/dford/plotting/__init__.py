"""Pictures: plain numbers in, one file out."""

from dford.plotting.curves import draw_curves
from dford.plotting.panels import HeatMap, Line, draw_bars, draw_heat_maps, draw_lines
from dford.plotting.study_pictures import PICTURES

__all__ = ["PICTURES", "HeatMap", "Line", "draw_bars", "draw_curves", "draw_heat_maps", "draw_lines"]
