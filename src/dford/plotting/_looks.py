"""What all pictures share: colours, and files that appear whole."""

import os
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dford.files import atomic_write

# Okabe and Ito's colours; line and marker differ too, for print and for any eye.
LOOKS = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", "-", "v"),
    ("#56B4E9", "--", "P"),
    ("#000000", "-.", "X"),
)


def bare(panel: Axes) -> None:
    """A panel with a faint grid and no box."""
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the picture; the ending of `path` says its format. The file appears whole or not at all."""
    # the same picture gives the same bytes
    options: dict[str, Any] = {".svg": {"metadata": {"Date": None}}, ".png": {"pil_kwargs": {"optimize": True}}}
    with atomic_write(path) as draft, matplotlib.rc_context({"svg.hashsalt": "dford"}):
        figure.savefig(draft, **options.get(draft.suffix, {}))
