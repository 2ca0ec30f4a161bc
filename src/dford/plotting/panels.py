"""One panel a dataset: lines with their spread, heat maps, bars."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dford.plotting._looks import LOOKS, bare, save

_WIDTH = 10.0


class Line(NamedTuple):
    """A line of a panel, with a band of one spread to either side."""

    x: ArrayLike
    y: ArrayLike
    spread: ArrayLike | None = None
    dots: bool = False
    """Marks alone: figures that are somebody else's."""
    look: int | None = None
    """Which of the looks, where it is not that of the label's place."""


def draw_lines(
    panels: Mapping[str, Mapping[str, Line]], path: str | os.PathLike[str], *, x: str, y: str, **axes: Any
) -> None:
    """Draw one panel for each title, and in it one line for each label; the same label looks the same everywhere."""
    labels = list(dict.fromkeys(label for lines in panels.values() for label in lines))
    figure, places = _figure(len(panels), extra=0.5)
    handles = {}
    for panel, (title, lines) in zip(places, panels.items(), strict=True):
        for label, line in lines.items():
            look = labels.index(label) if line.look is None else line.look
            colour, dashes, marker = LOOKS[look % len(LOOKS)]
            means = np.asarray(line.y, dtype=float)
            if line.dots:
                (handles[label],) = panel.plot(line.x, means, color=colour, marker="x", linestyle="", markersize=5)
                continue
            (handles[label],) = panel.plot(
                line.x, means, color=colour, linestyle=dashes, marker=marker, markersize=3.5,
                markevery=(2 * (look % 3), 8) if len(means) > 12 else 1,
            )  # fmt: skip
            if line.spread is not None:
                spread = np.asarray(line.spread, dtype=float)
                panel.fill_between(np.asarray(line.x), means - spread, means + spread, color=colour, alpha=0.15, lw=0)
        panel.set(title=title, **axes)
        if panel.get_xscale() == "linear":
            panel.locator_params(axis="x", nbins=5)
            panel.xaxis.set_major_formatter("{x:,.0f}")
        if panel.get_yscale() == "linear":
            top = panel.get_ylim()[1]
            panel.set_ylim(-0.03 * top, top)
        bare(panel)
    figure.supxlabel(x, fontsize="medium")
    figure.supylabel(y, fontsize="medium")
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=min(len(labels), 6), frameon=False)
    save(figure, path)


class HeatMap(NamedTuple):
    """A grid of values, with the best place starred and a second place ringed."""

    values: ArrayLike
    star: tuple[int, int]
    ring: tuple[int, int] | None = None


def draw_heat_maps(
    maps: Mapping[str, HeatMap],
    path: str | os.PathLike[str],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    x: str,
    y: str,
    note: str,
) -> None:
    """Draw one heat map for each title: the darker the lower, every value written in its place."""
    figure, places = _figure(len(maps), extra=0.6)
    for panel, (title, heat) in zip(places, maps.items(), strict=True):
        values = np.asarray(heat.values, dtype=float)
        panel.imshow(values, cmap="cividis", aspect="auto", origin="lower")
        middle = (values.min() + values.max()) / 2
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if value <= middle else "black"
            here = (row, column)
            mark = "★" * (here == heat.star) + "○" * (here == heat.ring)
            panel.text(column, row, f"{mark} {value:.3f}".strip(), ha="center", va="center", color=colour, fontsize=7)
        panel.set(title=title, xticks=range(len(columns)), yticks=range(len(rows)))
        panel.set_xticklabels(columns)
        panel.set_yticklabels(rows)
    figure.suptitle(note, fontsize="medium")
    figure.supxlabel(x, fontsize="medium")
    figure.supylabel(y, fontsize="medium", rotation=0)
    save(figure, path)


def draw_bars(panels: Mapping[str, Sequence[float]], path: str | os.PathLike[str], *, x: str, y: str) -> None:
    """Draw one panel of bars for each title, numbered from 1."""
    figure, places = _figure(len(panels), extra=0.2)
    top = 1.15 * max(max(heights) for heights in panels.values())
    for panel, (title, heights) in zip(places, panels.items(), strict=True):
        numbers = range(1, len(heights) + 1)
        panel.bar(numbers, heights, color=LOOKS[0][0])
        for number, height in zip(numbers, heights, strict=True):
            panel.text(number, height, f"{height:.3f}", ha="center", va="bottom", fontsize=8)
        panel.set(title=title, xlabel=x, ylabel=y, ylim=(0, top), xticks=list(numbers))
        bare(panel)
    save(figure, path)


def _figure(panels: int, extra: float) -> tuple[Figure, list[Axes]]:
    """A figure of as many panels, four in a row at most, and its axes."""
    across = panels if panels <= 3 else 2 if panels == 4 else 4
    down = math.ceil(panels / across)
    width = _WIDTH if panels > 1 else 0.6 * _WIDTH
    figure = Figure(figsize=(width, extra + (2.4 if across == 4 else 3.2) * down), layout="constrained")
    places = list(np.ravel(figure.subplots(down, across, squeeze=False)))
    for unused in places[panels:]:
        unused.set_axis_off()
    return figure, places[:panels]
