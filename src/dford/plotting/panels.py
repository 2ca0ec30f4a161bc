"""The pictures of the report: lines with their spread, rows of heat, bars."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dford.plotting._frame import finish, from_zero, new_figure
from dford.plotting._looks import LOOKS, looks_of


class Line(NamedTuple):
    """A line in a panel, with a band of one spread on either side."""

    x: ArrayLike
    y: ArrayLike
    spread: ArrayLike | None = None
    crosses: str | None = None
    """For figures from elsewhere: only crosses, in the colour of this label."""


def draw_lines(
    panels: Mapping[str, Mapping[str, Line]], path: str | os.PathLike[str], *, x: str, y: str, **axes: Any
) -> None:
    """Draw one panel for each title, and in it one line for each label; the same label looks the same everywhere.

    A label that starts with the name of a learner gets that learner's colour.
    """
    every = {label: line for lines in panels.values() for label, line in lines.items()}
    looks = looks_of((label for label, line in every.items() if line.crosses is None), settings=True)
    order = list(looks)
    figure, places = new_figure(len(panels))
    for panel, (title, lines) in zip(places, panels.items(), strict=True):
        for label, line in lines.items():
            look, means = looks[line.crosses or label], np.asarray(line.y, dtype=float)
            number = order.index(line.crosses or label)
            if line.crosses is not None:
                mark = "x+12"[number % 4]
                panel.plot(line.x, means, color=look.colour, marker=mark, linestyle="", markersize=6, label=label)
                continue
            panel.plot(
                line.x, means, color=look.colour, linestyle=look.dashes, marker=look.marker, markersize=3.5,
                markevery=(2 * (number % 3), 8) if len(means) > 12 else 1, label=label,
            )  # fmt: skip
            if line.spread is not None:
                spread = np.asarray(line.spread, dtype=float)
                low, high = means - spread, means + spread
                panel.fill_between(np.asarray(line.x), low, high, color=look.colour, alpha=0.15, lw=0)
        panel.set(title=title, **axes)
        if panel.get_xscale() == "linear":
            panel.xaxis.set_major_formatter("{x:,.0f}")
        if panel.get_yscale() == "linear":
            from_zero(panel)
    finish(figure, places, path, x=x, y=y)


class HeatRow(NamedTuple):
    """Values in a row, with the best place starred and a second place ringed."""

    values: ArrayLike
    star: int
    ring: int | None = None


def draw_heat_rows(
    rows: Mapping[str, HeatRow], path: str | os.PathLike[str], *, columns: Sequence[str], x: str, title: str
) -> None:
    """Draw one row for each name: darker means lower within the row, and every value is written in its place."""
    figure, (panel,) = new_figure(1, height=0.5 + 0.4 * len(rows))
    for place, row in enumerate(rows.values()):
        values = np.asarray(row.values, dtype=float)
        above = values - values.min()
        panel.imshow(
            [above / (above.max() or 1.0)], cmap="cividis", vmin=0, vmax=1, aspect="auto",
            extent=(-0.5, len(columns) - 0.5, place + 0.46, place - 0.46),
        )  # fmt: skip
        for column, value in enumerate(values):
            colour = "white" if 2 * above[column] <= above.max() else "black"
            mark = "★" * (column == row.star) + "○" * (column == row.ring)
            panel.text(column, place, f"{mark} {value:.3f}".strip(), ha="center", va="center", color=colour)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    panel.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    panel.set_xticks(range(len(columns)), columns)
    panel.set_yticks(range(len(rows)), list(rows))
    finish(figure, [panel], path, title=title, x=x)


def draw_bars(panels: Mapping[str, Sequence[float]], path: str | os.PathLike[str], *, x: str, y: str) -> None:
    """Draw one panel of bars for each title, numbered from 1."""
    figure, places = new_figure(len(panels))
    top = 1.15 * max(max(heights) for heights in panels.values())
    small = 8 if len(panels) <= 2 else 6
    for panel, (title, heights) in zip(places, panels.items(), strict=True):
        numbers = range(1, len(heights) + 1)
        panel.bar(numbers, heights, color=LOOKS["DFORD"].colour)
        for number, height in zip(numbers, heights, strict=True):
            panel.text(number, height, f"{height:.3f}", ha="center", va="bottom", fontsize=small)
        panel.set(title=title, ylim=(0, top), xticks=list(numbers))
    finish(figure, places, path, x=x, y=y)
