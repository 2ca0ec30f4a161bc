"""A section of the report for each experiment: its picture, its table, and how to read them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dford.document import Block, Heading, Paragraph, Picture, Table
from dford.experiments import Results, Series, claims, label_sampling_cells, series
from dford.experiments.reproduction.claims import compare
from dford.experiments.reproduction.paper import EXPLORATIONS, LABEL_SAMPLING, REGULARIZATIONS, SETTINGS
from dford.plotting import HeatRow, Line, draw_bars, draw_heat_rows, draw_lines
from dford.policies import Triangular

LOG = {"xscale": "log"}


def figure_1(_: Results, folder: Path) -> list[Block]:
    policy, K = Triangular(0.7), 7
    bars = {f"prediction {level}": policy.probabilities(level, K).tolist() for level in (5, 2)}
    draw_bars(bars, folder / "figure-1.svg", x="level asked about", y="probability")
    caption = "The paper's Figure 1: which level is asked about, for K = 7 levels, γ = 0.7 and predictions 5 and 2."
    return [Heading(2, "Figure 1: the questions"), Picture("figure-1.svg", caption)]


def curves(results: Results, folder: Path) -> list[Block]:
    found = series(results, "curves")
    if not found:
        return []
    for column, label in (("mae", "running MAE (levels)"), ("crossings", "crossings per round")):
        panels = _panels(found, lambda one: one.learner, column)
        draw_lines(panels, folder / f"curves-{column}.svg", x="rounds (log scale)", y=label, **LOG)
    rows = []
    for name in dict.fromkeys(one.dataset for one in found):
        learners = {one.learner: one for one in found if one.dataset == name}
        row = [SETTINGS[name].title]
        row += [_measured(learners[each]) if each in learners else "" for each in ("DFORD", "PRank", "PRIL")]
        both = "DFORD" in learners and "PRank" in learners
        row.append(compare(learners["DFORD"], learners["PRank"]).partition(": ")[2] if both else "")
        crossings = {learner: f"{one.mean('crossings')[-1]:.3f}" for learner, one in learners.items()}
        row += [crossings.get(learner, "") for learner in ("DFORD", "PRank", "PRIL")]
        rows.append(row)
    runs, rounds = _extent(found)
    said = (
        f"Running MAE |ŷ − y| and crossed neighbouring thresholds, both averaged over the rounds so far; means of "
        f"{runs} runs of {rounds:,} rounds, ± the standard deviation over the runs. DFORD has the λ, γ, α and kernel "
        "of the paper's Table 1. All learners see the same rows in a run."
    )
    header = ["Dataset", "DFORD", "PRank", "PRIL", "DFORD against PRank",
              "crossings: DFORD", "PRank", "PRIL"]  # fmt: skip
    return [
        Heading(2, "Error curves"),
        Paragraph(said),
        Picture("curves-mae.svg", "Running MAE; the band is one standard deviation over the runs."),
        Picture("curves-crossings.svg", "Thresholds out of order, per round so far."),
        Table(header, rows),
    ]


def grid(results: Results, folder: Path) -> list[Block]:
    found = series(results, "grid")
    if not found:
        return []
    heat, rows, apart = {}, [], 0.0
    for name in dict.fromkeys(one.dataset for one in found):
        settings = SETTINGS[name]
        ends: dict[float, dict[float, float]] = {γ: {} for γ in EXPLORATIONS}  # by γ and λ
        for one in found:
            if one.dataset == name:
                ends[one.parameters["exploration"]][one.parameters["regularization"]] = one.end
        if not all(settings.regularization in row for row in ends.values()):
            continue  # its cells failed
        apart = max(apart, *(max(row.values()) - min(row.values()) for row in ends.values()))
        shown = {γ: row[settings.regularization] for γ, row in ends.items()}
        best, theirs = min(shown, key=shown.__getitem__), settings.exploration
        star, ring = EXPLORATIONS.index(best), EXPLORATIONS.index(theirs)
        heat[settings.title] = HeatRow(list(shown.values()), star, ring)
        rows.append(
            [
                *(settings.title, f"{best:g}", f"{shown[best]:.3f}", f"{settings.regularization:g}"),
                *(f"{theirs:g}", f"{shown[theirs]:.3f}", f"{shown[theirs] / shown[best] - 1:+.1%}"),
            ]
        )
    if not heat:
        return []
    played = len({one.parameters["regularization"] for one in found if one.dataset == found[0].dataset})
    lambdas = f"all six λ from {REGULARIZATIONS[0]:g} to {REGULARIZATIONS[-1]:g}"
    if played == 1:
        same = f"Each row is the same for {lambdas}, since λ changes no prediction; the paper's was played."
    elif apart == 0:
        same = f"Each row is the same for {lambdas}: all were played."
    else:
        same = f"Each row is at the paper's λ; {lambdas} were played and differ by {apart:.2g} at most."
    draw_heat_rows(
        heat, folder / "grid.svg", columns=[f"{γ:g}" for γ in EXPLORATIONS], x="γ",
        title=f"{same} ★ best, ○ the paper's choice",
    )  # fmt: skip
    runs, rounds = _extent(found)
    said = (
        f"Running MAE after {rounds:,} rounds, mean of {runs} runs. With step size 1/(λt) and a zero start λ scales "
        f"score and thresholds together, so any λ is as good as any other. {same}"
    )
    header = ["Dataset", "best γ", "MAE", "paper's λ", "paper's γ", "MAE there", "above the best"]
    caption = "Grid search over γ: in each row, darker is better."
    return [Heading(2, "Grid search"), Paragraph(said), Picture("grid.svg", caption), Table(header, rows)]


def truncation(results: Results, folder: Path) -> list[Block]:
    found = series(results, "truncation")
    if not found:
        return []
    panels = _panels(found, lambda one: f"DFORD, δ = {one.parameters['window'] or 'none'}", "mae")
    draw_lines(panels, folder / "truncation.svg", x="rounds", y="running MAE (levels)")
    names = list(dict.fromkeys(one.dataset for one in found))
    windows = list(dict.fromkeys(one.parameters["window"] for one in found))
    ends = {(one.dataset, one.parameters["window"]): f"{one.end:.3f}" for one in found}
    rows = [[SETTINGS[name].title, *(ends.get((name, window), "") for window in windows)] for name in names]
    runs, rounds = _extent(found)
    said = (
        f"Running MAE for each δ, mean of {runs} runs of {rounds:,} rounds. The paper reports a minimum inside this "
        "range, and truncates to save memory. An epoch of Abalone is 4,177 rounds; the synthetic stream has none."
    )
    header = ["Dataset", *(f"δ = {window}" if window else "no truncation" for window in windows)]
    return [
        Heading(2, "Truncation"),
        Paragraph(said),
        Picture("truncation.svg", "Running MAE of the kernel learners by the truncation δ."),
        Table(header, rows),
    ]


def label_sampling(results: Results, folder: Path) -> list[Block]:
    found = series(results, "label-sampling")
    if not found:
        return []
    panels: dict[str, dict[str, Line]] = {}
    for one in found:
        exploration = one.parameters["exploration"]
        label, theirs = f"DFORD, γ = {exploration:g}", LABEL_SAMPLING[one.dataset][exploration]
        panel = panels.setdefault(SETTINGS[one.dataset].title, {})
        panel[label] = Line(one.round, one.mean(), one.spread())
        panel[f"the paper, γ = {exploration:g}"] = Line(one.round, theirs, crosses=label)
    draw_lines(panels, folder / "label-sampling.svg", x="rounds", y="running MAE (levels)")
    cells = label_sampling_cells(results)
    rounds = sorted({cell.round for cell in cells})
    rows = []
    for key in dict.fromkeys((cell.dataset, cell.exploration) for cell in cells):
        mine = [cell for cell in cells if (cell.dataset, cell.exploration) == key]
        start = [SETTINGS[key[0]].title, f"{key[1]:g}"]
        rows.append([*start, "ours", *(f"{cell.ours:.3f}" for cell in mine)])
        rows.append([*start, "paper", *(f"{cell.paper:.3f}" for cell in mine)])
        rows.append([*start, "difference", *(f"{cell.ours / cell.paper - 1:+.1%}" for cell in mine)])
    said = "The paper's Table 2 and ours, cell by cell: running MAE in the first rounds, by γ."
    header = ["Dataset", "γ", "", *(f"{at:,}" for at in rounds)]
    caption = "Label sampling: lines are ours, crosses the paper's."
    table = Table(header, rows, names=3)
    return [Heading(2, "Label sampling"), Paragraph(said), Picture("label-sampling.svg", caption), table]


def regret(results: Results, folder: Path) -> list[Block]:
    found = series(results, "regret")
    if not found:
        return []
    panels = {
        SETTINGS[one.dataset].title: {
            "DFORD, measured regret": Line(one.round, one.mean("regret"), one.spread("regret")),
            "the theorem's bound": Line(one.round, one.mean("bound")),
        }
        for one in found
    }
    draw_lines(panels, folder / "regret.svg", x="rounds (log scale)", y="regret (log scale)", yscale="log", **LOG)
    rows = [
        [SETTINGS[o.dataset].title, f"{o.mean('regret')[-1]:.3g}", f"{o.mean('bound')[-1]:.3g}", _log_growth(o)]
        for o in found
    ]
    said = (
        "The regret is the cumulative regularised loss, since u = 0 loses nothing; the bound is Theorem 2's (linear) "
        "or 3's (kernel). Both are for the learner without clipping, so it is not clipped here."
    )
    header = ["Dataset", "regret", "bound", "last tenfold of rounds adds"]
    caption = "Regret and its bound."
    return [Heading(2, "Regret"), Paragraph(said), Picture("regret.svg", caption), Table(header, rows)]


def claim_table(results: Results) -> list[Block]:
    rows = [
        [SETTINGS[one.dataset].title, one.paper, one.ours, "yes" if one.holds else "better" if one.better else "no"]
        for one in claims(results)
    ]
    header = ["Dataset", "The paper", "Measured", "Holds?"]
    return [Heading(2, "The paper's claims"), Table(header, rows, names=4)] if rows else []


def _panels(found: Sequence[Series], label: Callable[[Series], str], column: str) -> dict[str, dict[str, Line]]:
    panels: dict[str, dict[str, Line]] = {}
    for one in found:
        line = Line(one.round, one.mean(column), one.spread(column))
        panels.setdefault(SETTINGS[one.dataset].title, {})[label(one)] = line
    return panels


def _measured(one: Series) -> str:
    return f"{one.end:.3f} ± {one.spread()[-1]:.3f}"


def _extent(found: Sequence[Series]) -> tuple[int, int]:
    return max(len(one.runs["mae"]) for one in found), int(found[0].round[-1])


def _log_growth(one: Series) -> str:
    """How much the regret grew while the rounds grew tenfold from T; ln T alone grows by 1/log10(T)."""
    regret, last = one.mean("regret"), one.round[-1]
    before = regret[np.searchsorted(one.round, last / 10)]
    return f"{regret[-1] / before - 1:+.0%} (ln T: {np.log(10) / np.log(last / 10):+.0%})"


SECTIONS = {
    "figure-1": figure_1,
    "curves": curves,
    "label-sampling": label_sampling,
    "grid": grid,
    "truncation": truncation,
    "regret": regret,
}
