"""Running error and crossings of some learners, side by side."""

import os
from collections.abc import Mapping

from dford.learners import Trace
from dford.plotting._frame import finish, from_zero, new_figure
from dford.plotting._looks import looks_of

_PANELS = (
    ("mae", "Error so far (lower is better)", "running MAE (levels)"),
    ("crossings", "Thresholds out of order so far (0 is best)", "crossings per round"),
)


def draw_curves(traces: Mapping[str, Trace], path: str | os.PathLike[str], *, title: str) -> None:
    """Draw running MAE and crossings per round against rounds, one line per trace, into a picture file.

    A trace whose name starts with that of a learner gets that learner's colour. The ending of `path` gives the format.
    The file is written atomically.
    """
    figure, panels = new_figure(len(_PANELS), height=3.9)
    looks = looks_of(traces, settings=True)
    for panel, (column, heading, label) in zip(panels, _PANELS, strict=True):
        for place, (name, trace) in enumerate(traces.items()):
            look = looks[name]
            # markers of lines that lie on each other must not hide each other
            marked = (2 * place, 2 * len(traces))
            panel.plot(
                trace.round, getattr(trace, column), color=look.colour, linestyle=look.dashes, marker=look.marker,
                markersize=5, markevery=marked, label=name,
            )  # fmt: skip
        panel.set(xscale="log", title=heading, ylabel=label)
        from_zero(panel)
    finish(figure, panels, path, title=title, x="rounds (log scale)")
