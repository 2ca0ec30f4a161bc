"""Running error and crossings of some learners, side by side."""

import os
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from dford.learners import Trace
from dford.plotting._looks import LOOKS, save

_PANELS = (
    ("mae", "Error so far (lower is better)", "running MAE (levels)"),
    ("crossings", "Thresholds out of order so far (0 is best)", "crossings per round"),
)


def draw_curves(traces: Mapping[str, Trace], path: str | os.PathLike[str], *, title: str) -> None:
    """Draw running MAE and crossings per round against rounds, one line a trace, into a picture file.

    The ending of `path` says its format. The file appears whole or not at all.
    """
    figure = Figure(figsize=(10, 4.8), dpi=150, layout=ConstrainedLayoutEngine(wspace=0.06))
    figure.suptitle(title)
    axes = figure.subplots(1, len(_PANELS))
    for panel, (column, heading, label) in zip(axes, _PANELS, strict=True):
        for place, (name, trace) in enumerate(traces.items()):
            colour, line, marker = LOOKS[place % len(LOOKS)]
            # markers of lines that lie on each other must not hide each other
            marked = (2 * place, 2 * len(traces))
            values = getattr(trace, column)
            panel.plot(trace.round, values, color=colour, linestyle=line, marker=marker, markevery=marked, label=name)
        panel.set(xscale="log", title=heading, xlabel="rounds (log scale)", ylabel=label)
        top = panel.get_ylim()[1]
        panel.set_ylim(-0.03 * top, top)  # a line at 0 shows whole
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(traces), frameon=False)
    save(figure, path)
