"""The pictures of `dford compare`: one panel per dataset."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from dford.plotting._frame import finish, from_zero, new_figure, plain
from dford.plotting._looks import Look, looks_of

Records = Sequence[Mapping[str, Any]]


def draw_pass(records: Records, path: Path) -> None:
    """Draw the running error of every learner against answers, one panel per dataset."""
    figure, panels = _panels(records)
    looks = _looks(records, "learner")
    for dataset, panel in panels.items():
        own = [record for record in records if record["dataset"] == dataset]
        shown = []
        for learner, (name, look) in looks.items():
            # if there are several settings, the best in hindsight, as in the table
            settings = {r["setting"] for r in own if r["learner"] == learner}
            tables = [_by_run([r for r in own if (r["learner"], r["setting"]) == (learner, s)]) for s in settings]
            if not tables:
                continue
            answers, errors = min(tables, key=lambda table: table[1]["mae"][:, -1].mean())
            late = answers >= min(30, answers[-1])
            errors = {key: values[:, late] for key, values in errors.items()}
            line = "--" if np.isnan(errors["estimate"]).all() else "-"
            _plot(panel, answers[late], errors["mae"], look, line, name)
            shown.append(errors["mae"].mean(axis=0).max())
            if learner == "auto":
                estimate, low, high = (errors[key][0] for key in ("estimate", "low", "high"))
                label = "Auto's own estimate, no label seen"
                panel.plot(answers[late], estimate, color="black", linestyle=":", label=label)
                label = "and its 95% bounds (one run)"
                panel.fill_between(answers[late], low, high, color="black", alpha=0.08, linewidth=0, label=label)
        panel.set_xscale("log")
        from_zero(panel, 1.1 * float(max(shown)))
    title = "Error so far, on one bit per item (solid) and on labels (dashed)"
    finish(figure, list(panels.values()), path, title=title, x="answers (log scale)", y="running MAE (levels)")


def draw_flips(records: Records, path: Path) -> None:
    """Draw the running error against the share of wrong answers, one panel per dataset."""
    figure, panels = _panels(records)
    looks = _looks(records, "learner")
    for dataset, panel in panels.items():
        for place, (learner, (name, look)) in enumerate(looks.items()):
            own = [r for r in records if (r["dataset"], r["learner"]) == (dataset, learner)]
            flips = sorted({r["flip"] for r in own})
            if flips:
                errors = [[r["mae"] for r in own if r["flip"] == flip] for flip in flips]
                # shifted a little, so that equal errors do not hide each other
                places = np.array(flips) + 0.004 * (place - (len(looks) - 1) / 2)
                panel.errorbar(
                    places, np.mean(errors, axis=1), np.std(errors, axis=1), color=look.colour, marker=look.marker,
                    markersize=5, capsize=3, label=name,
                )  # fmt: skip
                panel.set_xticks(flips)
        from_zero(panel)
    title = "Error over a pass where answers are wrong at random"
    finish(figure, list(panels.values()), path, title=title, x="share of wrong answers", y="running MAE (levels)")


def draw_drift(records: Records, path: Path) -> None:
    """Draw the error in short windows against answers, one panel per dataset, and mark where the scale turns round."""
    figure, panels = _panels(records)
    looks = _looks(records, "learner")
    for dataset, panel in panels.items():
        end = max(r["answers"] for r in records if r["dataset"] == dataset)
        for learner, (name, look) in looks.items():
            if own := [r for r in records if (r["dataset"], r["learner"]) == (dataset, learner)]:
                answers, errors = _by_run(own)
                _plot(panel, answers, errors["mae"], look, look.dashes, name)
        panel.axvline(end // 2, color="black", linestyle=":", linewidth=1, label="the scale turns round")
        from_zero(panel)
    title = "Error of NewtonLogit where the scale turns round half-way"
    finish(figure, list(panels.values()), path, title=title, x="answers", y="MAE in the window (levels)")


def draw_reliability(records: Records, path: Path) -> None:
    """Draw how often a level was above a cut against the predicted probability, and below it the counts per bin."""
    figure, panels = _panels(records, height=3.4)
    looks = _looks(records, "model")
    width, bottoms = 0.08 / len(looks), []
    for dataset, panel in panels.items():
        both = panel.get_subplotspec()
        assert both is not None
        halves = both.subgridspec(2, 1, height_ratios=(5, 2))
        panel.set_subplotspec(halves[0])
        below = plain(figure.add_subplot(halves[1], sharex=panel))
        bottoms.append(below)
        panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for place, (learner, (name, look)) in enumerate(looks.items()):
            own = [r for r in records if (r["dataset"], r["model"]) == (dataset, learner)]
            bins = {k: [r for r in own if r["bin"] == k] for k in sorted({r["bin"] for r in own})}
            sums = {k: [sum(r[key] for r in one) for key in ("count", "predicted", "true")] for k, one in bins.items()}
            counts, predicted, true = np.array([one for one in sums.values() if one[0]], dtype=float).T
            line = "--" if "labels" in name else "-"
            panel.plot(
                predicted / counts, true / counts, color=look.colour, linestyle=line, marker=look.marker, markersize=4,
                label=name,
            )  # fmt: skip
            middles = [(k - 0.5) / len(bins) + (place - (len(looks) - 1) / 2) * width for k in sums]
            below.bar(middles, [one[0] for one in sums.values()], width, color=look.colour)
        panel.tick_params(labelbottom=False)
        below.set(yscale="log", ylim=(0.7, None))
        below.yaxis.set_major_locator(LogLocator(numticks=4))
        if both.is_first_col():
            panel.set_ylabel("frequency")
            below.set_ylabel("count")
    title = "P(level > i) on rows held out, and how often it was so; below, how many were in each bin"
    finish(figure, list(panels.values()), path, title=title, x="probability given", bottoms=bottoms)


def draw_pool(records: Records, path: Path) -> None:
    """Draw the error of the placements against answers per item, one panel per dataset."""
    figure, panels = _panels(records)
    looks = looks_of(_PLACED.values())
    for dataset, panel in panels.items():
        own = [record for record in records if record["dataset"] == dataset]
        for way, name in _PLACED.items():
            for wrong, line in ((0.0, "-"), ("people", "-"), (0.1, "--")) if way != "labels" else ((0.0, "-"),):
                if some := [r for r in own if (r["way"], r["wrong"]) == (way, wrong)]:
                    answers, errors = _by_run(some)
                    mean = errors["mae"].mean(axis=0)
                    panel.plot(answers, mean, color=looks[name].colour, linestyle=line, label=name)
        for record in own:
            if record["way"] == "limit" and record["wrong"] == 0:
                label = "bits missing of a level, its features known"
                panel.axvline(record["answers"], color="black", linestyle=":", linewidth=1, label=label)
        panel.set_xlim(0, 4)
        from_zero(panel)
    title = "Error of the levels, with all answers right (solid) and one in ten wrong (dashed)"
    if people := {record["dataset"] for record in records if record["wrong"] == "people"}:
        by_people = "each answer by one of the people who rated the item"
        title = (
            f"{title}; {', '.join(sorted(people))}: {by_people}"
            if len(people) < len(panels)
            else f"Error of the levels, {by_people}"
        )
    finish(figure, list(panels.values()), path, title=title, x="answers per item", y="levels off")


def draw_people(records: Records, path: Path) -> None:
    """Draw the error of the placements against answers per item, by the use of who answered, one panel per dataset.

    If a judge answered too, the error against the cost is a separate picture, with `.judge` in its name.
    """
    if judged := [record for record in records if record["part"] == "judge"]:
        _draw_judge(judged, path.with_suffix(f".judge{path.suffix}"))
    if placed := [record for record in records if record["part"] in ("placed", "raters")]:
        _draw_placed(placed, path)


def _draw_placed(placed: Records, path: Path) -> None:
    figure, panels = _panels(placed)
    for dataset, panel in panels.items():
        for way, (name, look) in _BY_PEOPLE.items():
            if own := [r for r in placed if (r["dataset"], r["way"]) == (dataset, way)]:
                answers, errors = _by_run(own)
                _plot(panel, answers, errors["mae"], look, look.dashes, name)
        panel.set_xlim(0, None)
        from_zero(panel)
    title = "Error of the levels where people differ: two of six are wrong in 30% and in half of their answers"
    if real := {record["dataset"] for record in placed if record["part"] == "raters"}:
        also = f"{', '.join(sorted(real))}: real people"
        title = f"{title}; {also}" if len(real) < len(panels) else f"Error of the levels, {also}"
    finish(figure, list(panels.values()), path, title=title, x="answers per item", y="levels off")


def _draw_judge(records: Records, path: Path) -> None:
    figure, panels = _panels(records)
    for dataset, panel in panels.items():
        for mix, (name, look) in _MIXES.items():
            own = [r for r in records if (r["dataset"], r["way"]) == (dataset, mix)]
            for run in dict.fromkeys(r["run"] for r in own):  # each run ends where it reaches the target
                costs, errors = ([r[key] for r in own if r["run"] == run] for key in ("cost", "mae"))
                panel.plot(costs, errors, color=look.colour, linestyle=look.dashes, label=name)
        panel.axhline(0.1, color="black", linestyle=":", linewidth=1, label="the target")
        panel.set_xscale("log")
        from_zero(panel)
    title = "Error of the levels by what the answers cost: a person's 1, and a judge's, 15% wrong, a hundredth"
    finish(figure, list(panels.values()), path, title=title, x="cost per item (log scale)", y="levels off")


PICTURES: dict[str, Callable[[Records, Path], None]] = {
    "pass": draw_pass,
    "flips": draw_flips,
    "drift": draw_drift,
    "reliability": draw_reliability,
    "pool": draw_pool,
    "people": draw_people,
}
_NAMES = {
    "auto": "Auto",
    "newton": "NewtonLogit",
    "newton-forget": "NewtonLogit, forget=0.02",
    "boosting": "DirectionalBoosting",
    "dford": "DFORD as written, best γ",
    "pril": "PRIL",
    "newton-label": "NewtonLogit, labels",
    "boosting-label": "DirectionalBoosting, labels",
    "prank": "PRank, labels",
}
_PLACED = {
    "pool": "Pool",
    "bisection": "answers alone, no features",
    "learner": "Auto alone, an item's own answers not counted",
    "labels": "exact labels (never wrong) for as many bits, trees for the rest",
    "unaudited": "without an audit",
}
_BY_PEOPLE = {
    "votes": ("votes, no features", Look("#8C8C8C", "-", "s")),
    "dawid-skene": ("Dawid–Skene, no features", Look("#AA4499", "-", "^")),
    "alike": ("Pool, all answers alike", Look("#332288", "--", "D")),
    "people": ("Pool, by who gave them", Look("#000000", "-", "o")),
    "known": ("Pool that is told the error rates", Look("#44AA99", ":", "v")),
    "named": ("Pool, by who gave them", Look("#000000", "-", "o")),
    "unnamed": ("Pool, nobody named", Look("#332288", "--", "D")),
}
_MIXES = {
    "people": ("people alone", Look("#332288", "--", "D")),
    "judge": ("the judge alone", Look("#8C8C8C", "-", "s")),
    "both": ("the judge, and people", Look("#000000", "-", "o")),
}


def _panels(records: Records, height: float = 0.0) -> tuple[Figure, dict[str, Axes]]:
    """A figure with one panel per dataset."""
    datasets = list(dict.fromkeys(record["dataset"] for record in records))
    figure, panels = new_figure(len(datasets), height=height)
    for dataset, panel in zip(datasets, panels, strict=True):
        panel.set_title(dataset)
    return figure, dict(zip(datasets, panels, strict=True))


def _looks(records: Records, column: str) -> dict[str, tuple[str, Look]]:
    """The name and the look of each learner in the records."""
    names = {
        key: _NAMES.get(key, key.rpartition(":")[2]) for key in dict.fromkeys(record[column] for record in records)
    }
    looks = looks_of(names.values(), settings=True)
    return {key: (name, looks[name]) for key, name in names.items()}


def _plot(panel: Axes, answers: Any, runs: Any, look: Look, line: str, name: str) -> None:
    """Plot the mean of runs, with a band of one standard deviation."""
    mean, spread = runs.mean(axis=0), runs.std(axis=0)
    panel.plot(answers, mean, color=look.colour, linestyle=line, label=name)
    panel.fill_between(answers, mean - spread, mean + spread, color=look.colour, alpha=0.15, linewidth=0)


def _by_run(records: Records) -> tuple[Any, dict[str, Any]]:
    """The answers at the checkpoints, and every other figure as an array of runs and checkpoints."""
    runs = list(dict.fromkeys(record["run"] for record in records))
    keys = [key for key in ("mae", "estimate", "low", "high") if key in records[0]]
    answers = np.array([r["answers"] for r in records if r["run"] == runs[0]])
    return answers, {key: np.array([[r[key] for r in records if r["run"] == run] for run in runs]) for key in keys}
