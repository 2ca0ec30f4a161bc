"""The pictures of `dford compare`: a panel a dataset."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import NullFormatter

from dford.plotting._looks import LOOKS, bare, save


def draw_pass(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the running error of every learner against answers, a panel a dataset."""
    figure, panels = _grid(records, "Error so far, on one bit an item (solid) and on labels (dashed)")
    for dataset, panel in panels.items():
        own = [record for record in records if record["dataset"] == dataset]
        shown = []
        for learner, colour in _COLOURS.items():
            # of several settings the best in hindsight, as in the table
            settings = {r["setting"] for r in own if r["learner"] == learner}
            tables = [_by_run([r for r in own if (r["learner"], r["setting"]) == (learner, s)]) for s in settings]
            if not tables:
                continue
            answers, errors = min(tables, key=lambda table: table[1]["mae"][:, -1].mean())
            mean, spread = errors["mae"].mean(axis=0), errors["mae"].std(axis=0)
            late = answers >= min(30, answers[-1])
            answers, mean, spread = answers[late], mean[late], spread[late]
            line = "--" if np.isnan(errors["estimate"]).all() else "-"
            panel.plot(answers, mean, color=colour, linestyle=line, label=_NAMES[learner])
            panel.fill_between(answers, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            shown.append(mean)
            if learner == "auto":
                estimate, low, high = (errors[key][0][late] for key in ("estimate", "low", "high"))
                panel.plot(answers, estimate, color="black", linestyle=":", label="Auto's own estimate, no label seen")
                panel.fill_between(
                    answers, low, high, color="black", alpha=0.08, linewidth=0, label="and its 95% bounds (one run)"
                )
        panel.set(xscale="log", ylim=(0, 1.1 * max(float(mean.max()) for mean in shown)))
    _finish(figure, panels, "answers (log scale)", "running MAE (levels)", path)


def draw_flips(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the running error against the share of wrong answers, a panel a dataset."""
    figure, panels = _grid(records, "Error over a pass where answers are wrong at random")
    for dataset, panel in panels.items():
        for learner, colour in _COLOURS.items():
            own = [r for r in records if (r["dataset"], r["learner"]) == (dataset, learner)]
            flips = sorted({r["flip"] for r in own})
            if flips:
                errors = [[r["mae"] for r in own if r["flip"] == flip] for flip in flips]
                mean, spread = np.mean(errors, axis=1), np.std(errors, axis=1)
                panel.errorbar(flips, mean, spread, color=colour, marker="o", capsize=3, label=_NAMES[learner])
        panel.set_ylim(bottom=0)
    _finish(figure, panels, "share of wrong answers", "running MAE (levels)", path)


def draw_drift(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the error in short windows against answers, a panel a dataset."""
    figure, panels = _grid(records, "Error of NewtonLogit where the scale turns round half-way")
    names = {"newton": ("forget=0", "#0072B2", "-"), "newton-forget": ("forget=0.02", "#D55E00", "--")}
    for dataset, panel in panels.items():
        for learner, (name, colour, line) in names.items():
            own = [r for r in records if (r["dataset"], r["learner"]) == (dataset, learner)]
            if own:
                answers, errors = _by_run(own)
                mean, spread = errors["mae"].mean(axis=0), errors["mae"].std(axis=0)
                panel.plot(answers, mean, color=colour, linestyle=line, label=name)
                panel.fill_between(answers, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        panel.set_ylim(bottom=0)
    _finish(figure, panels, "answers", "MAE in the window (levels)", path)


def draw_reliability(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw how often a level was above a cut against the probability given, a panel a dataset."""
    figure, panels = _grid(records, "P(level > i) on rows held out, and how often it was so")
    for dataset, panel in panels.items():
        panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for place, learner in enumerate(dict.fromkeys(r["model"] for r in records)):
            colour, line, marker = LOOKS[place % len(LOOKS)]
            own = [r for r in records if (r["dataset"], r["model"]) == (dataset, learner)]
            bins = [[r for r in own if r["bin"] == k] for k in sorted({r["bin"] for r in own})]
            counts, predicted, true = (
                np.array([sum(r[key] for r in one) for one in bins if any(r["count"] for r in one)], dtype=float)
                for key in ("count", "predicted", "true")
            )
            name = _NAMES.get(learner, learner)
            panel.plot(
                predicted / counts, true / counts, color=colour, linestyle=line, marker=marker, markersize=4, label=name
            )
    _finish(figure, panels, "probability given", "frequency", path)


def draw_pool(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the error of the placements against answers an item, a panel a dataset."""
    figure, panels = _grid(records, "Error of the levels, with all answers right (solid) and one in ten wrong (dashed)")
    for dataset, panel in panels.items():
        own = [record for record in records if record["dataset"] == dataset]
        for way, (name, colour) in _PLACED.items():
            for wrong, line in ((0.0, "-"), (0.1, "--")):
                if some := [r for r in own if (r["way"], r["wrong"]) == (way, wrong)]:
                    answers, errors = _by_run(some)
                    label = name if wrong == 0 else None
                    panel.plot(answers, errors["mae"].mean(axis=0), color=colour, linestyle=line, label=label)
        for record in own:
            if record["way"] == "limit" and record["wrong"] == 0:
                label = "bits missing of a level, its features known"
                panel.axvline(record["answers"], color="black", linestyle=":", linewidth=1, label=label)
        panel.set(xlim=(0, 4), ylim=(0, None))
    _finish(figure, panels, "answers an item", "levels off", path)


_PLACED = {
    "pool": ("Pool", "#0072B2"),
    "bisection": ("answers alone, no features", "#D55E00"),
    "learner": ("Auto alone, an item's own answers not counted", "#009E73"),
    "labels": ("exact labels for as many bits, trees for the rest", "#CC79A7"),
}
PICTURES: dict[str, Callable[[Sequence[Mapping[str, Any]], Path], None]] = {
    "pass": draw_pass,
    "flips": draw_flips,
    "drift": draw_drift,
    "reliability": draw_reliability,
    "pool": draw_pool,
}
_NAMES = {
    "auto": "Auto",
    "newton": "NewtonLogit",
    "boosting": "DirectionalBoosting",
    "dford": "DFORD as written, best γ",
    "pril": "PRIL",
    "newton-label": "NewtonLogit, labels",
    "prank": "PRank, labels",
}
_COLOURS = dict(zip(_NAMES, ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#000000", "#009E73", "#CC79A7"), strict=True))


def _grid(records: Sequence[Mapping[str, Any]], title: str) -> tuple[Figure, dict[str, Any]]:
    """A figure with a panel a dataset."""
    datasets = list(dict.fromkeys(record["dataset"] for record in records))
    across = min(3, len(datasets))
    down = -(-len(datasets) // across)
    figure = Figure(figsize=(max(6.4, 3.3 * across), 1.6 + 2.3 * down), dpi=100, layout=ConstrainedLayoutEngine())
    figure.suptitle(title)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for unused in axes[len(datasets) :]:
        unused.remove()
    return figure, dict(zip(datasets, axes, strict=False))


def _finish(figure: Figure, panels: Mapping[str, Any], across: str, up: str, path: Path) -> None:
    """Name everything once, and write the picture."""
    labels: dict[str, Any] = {}
    for dataset, panel in panels.items():
        panel.set_title(dataset, fontsize="medium")
        bare(panel)
        handles, names = panel.get_legend_handles_labels()
        labels |= dict(zip(names, handles, strict=True))
        panel.xaxis.set_minor_formatter(NullFormatter())  # powers of ten are enough
        if panel.get_subplotspec().is_last_row():
            panel.set_xlabel(across)
        if panel.get_subplotspec().is_first_col():
            panel.set_ylabel(up)
    columns = min(len(labels), int(figure.get_figwidth() / 2.6))
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=columns, frameon=False)
    save(figure, path)


def _by_run(records: Sequence[Mapping[str, Any]]) -> tuple[Any, dict[str, Any]]:
    """The answers at the checkpoints, and every other figure as an array of runs and checkpoints."""
    runs = list(dict.fromkeys(record["run"] for record in records))
    keys = [key for key in ("mae", "estimate", "low", "high") if key in records[0]]
    answers = np.array([r["answers"] for r in records if r["run"] == runs[0]])
    return answers, {key: np.array([[r[key] for r in records if r["run"] == run] for run in runs]) for key in keys}
