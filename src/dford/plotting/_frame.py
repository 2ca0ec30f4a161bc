"""The frame of every picture: its panels, and around them text that always fits."""

import math
import os
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import NDArray

from dford.files import atomic_write

_WIDTHS = {1: 6.4, 2: 9.0}
_WIDEST = 10.0
_MARGIN = 0.15  # inches that titles and legends leave on either side
_LINE = 1.5  # points
_RIM = 1.6  # points by which a line gets wider for each line that would hide it
_WIDER = "Where lines lie on each other, the lower one is drawn wider."


def new_figure(count: int, *, height: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with this many panels, and the panels."""
    across, down = _arrangement(count)
    size = (_WIDTHS.get(count, _WIDEST), (height or (2.2 if across == 4 else 2.9)) * down)
    figure = Figure(figsize=size, dpi=120, layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05))
    panels = list(np.ravel(figure.subplots(down, across, squeeze=False)))
    for unused in panels[count:]:
        unused.remove()
    return figure, [plain(panel) for panel in panels[:count]]


def plain(panel: Axes) -> Axes:
    """A panel with a faint grid and no box."""
    panel.grid(alpha=0.3)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    return panel


def _arrangement(count: int) -> tuple[int, int]:
    """The panels per row and the number of rows: at most four in a row, and few places empty."""
    across = count if count <= 3 else 2 if count == 4 else min((4, 3), key=lambda each: -count % each)
    return across, math.ceil(count / across)


def from_zero(panel: Axes, top: float | None = None) -> None:
    """Start the scale a little below 0, so that a line at 0 is fully visible."""
    top = panel.get_ylim()[1] if top is None else top
    panel.set_ylim(-0.03 * top, top)


def finish(
    figure: Figure,
    panels: Sequence[Axes],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    bottoms: Sequence[Axes] = (),
) -> None:
    """Label everything and write the picture, in the format given by the ending of `path`.

    `bottoms` are the axes below the panels, if each has one.

    Titles are broken into lines and legends into rows until they fit the frame, which grows by the space they take. A
    line that others would hide is drawn wider. The file is written atomically.
    """
    across = _arrangement(len(panels))[0]
    for place, panel in enumerate(panels):
        panel.xaxis.set_minor_formatter(NullFormatter())  # powers of ten are enough
        if isinstance(panel.xaxis.get_major_locator(), MaxNLocator):
            panel.locator_params(axis="x", nbins=4 if across > 2 else 6)
        if place + across >= len(panels):  # no panel is below it
            (bottoms or panels)[place].set_xlabel(x)
    figure.supylabel(y, fontsize="medium")
    figure.draw_without_rendering()  # from here on, all positions are known
    wider = [_show_hidden(panel) for panel in panels]
    width, taken = figure.bbox.width - 2 * _MARGIN * figure.dpi, 0.0
    if title:
        taken += _fit(figure.suptitle(title, fontsize="large"), width)
    handles: dict[str, Artist] = {}
    for panel in panels:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    if handles:
        taken += _add_legend(figure, handles, width, _WIDER if any(wider) else "")
    for panel in panels:
        panel.title.set_fontsize("medium")
        _fit(panel.title, panel.bbox.width)
    figure.set_figheight(figure.get_figheight() + taken / figure.dpi)
    _save(figure, path)


def _fit(text: Text, width: float) -> float:
    """Break a text into lines no wider than `width`; returns its height."""
    words, lines = text.get_text(), 0
    for columns in range(len(words), 0, -1):
        broken = fill(words, columns)
        if lines and broken.count("\n") >= lines:
            break
        text.set_text(broken)  # with the same number of lines, the most even break wins
        if not lines and text.get_window_extent().width <= width:
            lines = broken.count("\n") + 1
    return float(text.get_window_extent().height)


def _add_legend(figure: Figure, handles: Mapping[str, Artist], width: float, note: str) -> float:
    """Add a legend below, in as few rows as fit; returns its height."""
    for rows in range(math.ceil(len(handles) / 6), len(handles) + 1):
        columns = math.ceil(len(handles) / rows)
        legend = figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=columns, frameon=False,
            title=note or None, title_fontsize="small",
        )  # fmt: skip
        if legend.get_window_extent().width <= width:
            break
        if columns > 1:
            legend.remove()
    else:
        for text in legend.get_texts():
            _fit(text, width - 0.6 * figure.dpi)  # leaves room for the line beside it
        _fit(legend.get_title(), width)
    return float(legend.get_window_extent().height)


def _show_hidden(panel: Axes) -> bool:
    """Draw lines wider where others lie on them, so that their colour shows beside these; returns whether any do."""
    lines = [
        line
        for line in panel.get_lines()
        if line.get_transform() == panel.transData
        and line.get_linestyle() != "None"
        and not str(line.get_label()).startswith("_")
    ]
    drawn = [_in_points(line, panel) for line in lines]
    found = False
    for place, line in enumerate(lines):
        hiding = np.zeros(len(drawn[place]), dtype=np.int64)
        for upper, points in zip(lines[place + 1 :], drawn[place + 1 :], strict=True):
            # dots hide nothing, and a rim of the same colour would not show
            if upper.get_linestyle() != ":" and upper.get_color() != line.get_color():
                hiding += _lies_on(points, drawn[place])
        pieces = np.minimum(hiding[:-1], hiding[1:])
        for run in np.split(np.arange(len(pieces)), np.flatnonzero(np.diff(pieces)) + 1):
            if len(run) and pieces[run[0]]:
                wider = Line2D(*np.asarray(line.get_xydata())[run[0] : run[-1] + 2].T)
                wider.update_from(line)
                wider.set(marker="", linewidth=_LINE + _RIM * pieces[run[0]], zorder=1.5 + place / len(lines) / 10)
                panel.add_artist(wider)
                found = True
    return found


def _in_points(line: Line2D, panel: Axes) -> NDArray[np.float64]:
    """The points of a line on paper; not finite where a logarithmic scale cannot show them."""
    with np.errstate(all="ignore"):
        return np.asarray(panel.transData.transform(line.get_xydata())) / panel.figure.dpi * 72


def _lies_on(upper: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each point of a line, whether another line lies on it."""
    x, y = upper[np.isfinite(upper).all(axis=1)].T
    if not len(x):
        return np.zeros(len(lower), dtype=np.bool_)
    return np.asarray(np.abs(np.interp(lower[:, 0], x, y, left=np.inf, right=np.inf) - lower[:, 1]) < _LINE)


def _save(figure: Figure, path: str | os.PathLike[str]) -> None:
    # so that the same picture gives the same bytes
    options: dict[str, Any] = {".svg": {"metadata": {"Date": None}}, ".png": {"pil_kwargs": {"optimize": True}}}
    with atomic_write(path) as draft, matplotlib.rc_context({"svg.hashsalt": "dford"}):
        figure.savefig(draft, **options.get(draft.suffix, {}))
