"""What the paper says, and what our runs say to it."""

from typing import NamedTuple

import numpy as np

from dford.experiments.reproduction.paper import BETTER_OR_EQUAL, LABEL_SAMPLING, MUCH_BETTER, SETTINGS, SLIGHTLY_WORSE
from dford.experiments.reproduction.results import Results
from dford.experiments.reproduction.series import Series, series

SMALL = 0.10
"""The paper speaks of a very small and of a considerable margin; here that is up to, and beyond, a tenth."""


class Claim(NamedTuple):
    """A statement of the paper about one dataset."""

    dataset: str
    paper: str
    ours: str
    holds: bool
    better: bool = False
    """It does not hold, because DFORD does better than the paper says."""


def claims(results: Results) -> list[Claim]:
    """Every statement of the paper that the results can be held against."""
    return [*_against_baselines(results), *_truncation(results), *_label_sampling(results), *_regret(results)]


def _against_baselines(results: Results) -> list[Claim]:
    found, curves = [], {(one.dataset, one.learner): one for one in series(results, "curves")}
    for name in SETTINGS:
        dford, prank, pril = (curves.get((name, learner)) for learner in ("DFORD", "PRank", "PRIL"))
        known = "bank8FM" if name == "bank32nh" else "computer" if name == "cpu_small" else name
        if dford and prank:
            ours, relative = compare(dford, prank), dford.end / prank.end - 1
            if known in BETTER_OR_EQUAL:
                holds = dford.end <= prank.end + 2 * noise(dford, prank)
                found.append(Claim(name, "DFORD's MAE is better than or equal to PRank's", ours, holds))
            if known in MUCH_BETTER:
                found.append(Claim(name, "lower than PRank's by a considerable margin", ours, relative < -SMALL))
            if known in SLIGHTLY_WORSE:
                holds, better = 0 <= relative <= SMALL, relative < 0
                found.append(Claim(name, "more than PRank's by a very small margin", ours, holds, better))
        if dford and pril:
            paper = "DFORD outperforms PRIL (on almost all but 2 datasets, not named)"
            found.append(Claim(name, paper, compare(dford, pril), dford.end < pril.end))
    return found


def compare(one: Series, other: Series) -> str:
    """How the ends of two series differ, in words."""
    words = f"{one.learner} {one.end:.3f}, {other.learner} {other.end:.3f}: "
    if abs(one.end - other.end) <= 2 * noise(one, other):
        return words + "equal within noise"
    relative = one.end / other.end - 1
    return words + f"{'lower' if relative < 0 else 'higher'} by {abs(relative):.1%}"


def noise(one: Series, other: Series) -> float:
    """The standard error of the difference of two ends; the runs are paired, by their rows."""
    runs = min(len(one.runs["mae"]), len(other.runs["mae"]))
    if runs < 2:
        return 0.0
    differences = one.runs["mae"][:runs, -1] - other.runs["mae"][:runs, -1]
    return float(differences.std(ddof=1) / np.sqrt(runs))


def _truncation(results: Results) -> list[Claim]:
    found = []
    for name in SETTINGS:
        ends = {one.parameters["window"]: one.end for one in series(results, "truncation") if one.dataset == name}
        windows = sorted(window for window in ends if window)
        if len(windows) > 2:
            best = min(windows, key=ends.__getitem__)
            ours = f"lowest at δ = {best}: " + ", ".join(f"{ends[window]:.3f}" for window in windows)
            ours += f"; {ends[None]:.3f} without truncation" if None in ends else ""
            paper = "by increasing δ the MAE falls to a minimum and then rises again"
            found.append(Claim(name, paper, ours, best not in (windows[0], windows[-1])))
    return found


def _label_sampling(results: Results) -> list[Claim]:
    found = []
    for name in LABEL_SAMPLING:
        ends = {
            one.parameters["exploration"]: one.end for one in series(results, "label-sampling") if one.dataset == name
        }
        if len(ends) > 1 and 0.0 in ends:
            ours = ", ".join(f"{end:.3f} at γ = {exploration:g}" for exploration, end in ends.items())
            holds = all(end < ends[0.0] for exploration, end in ends.items() if exploration)
            found.append(Claim(name, "a nonzero γ mitigates the high error of γ = 0", ours, holds))
    return found


def _regret(results: Results) -> list[Claim]:
    found = []
    for one in series(results, "regret"):
        regret, bound = one.mean("regret"), one.mean("bound")
        ours = f"at most {np.max(regret / bound):.2%} of the bound, {regret[-1] / bound[-1]:.2%} at the end"
        paper = "the expected regret is below 16 K² (R² + 1) ln K ln T / (λγ)"
        found.append(Claim(one.dataset, paper, ours, bool((regret <= bound).all())))
    return found


def reading(results: Results) -> str:
    """Where the paper's claims hold and where not, by how much: a paragraph."""
    all_claims = claims(results)
    if not all_claims:
        return "Nothing was run that could be held against a claim of the paper."
    held, better = sum(claim.holds for claim in all_claims), sum(claim.better for claim in all_claims)
    exceeded = f", and {better} do not because DFORD does better" if better else ""
    counted = f"Of {len(all_claims)} statements of the paper that these runs can be held against, {held} hold"
    sentences = [f"{counted}{exceeded}."]
    curves = {(one.dataset, one.learner): one for one in series(results, "curves")}
    pairs = [(one, curves[name, "PRank"]) for (name, learner), one in curves.items()
             if learner == "DFORD" and (name, "PRank") in curves]  # fmt: skip
    for words, wanted in (("lower", -1), ("higher", 1)):
        gaps = [
            f"{SETTINGS[one.dataset].title} ({one.end:.3f} against {other.end:.3f}, {one.end / other.end - 1:+.1%})"
            for one, other in pairs
            if (one.end - other.end) * wanted > 2 * noise(one, other)
        ]
        if gaps:
            sentences.append(f"DFORD's error is {words} than that of PRank, which sees the labels, on {_listed(gaps)}.")
    beaten = [claim.holds for claim in all_claims if "PRIL" in claim.paper]
    if beaten:
        sentences.append(f"It is below PRIL's on {sum(beaten)} of {len(beaten)}.")
    for topic, holding, failing in (
        ("δ", "An optimum inside the range of δ shows on {}.", "An optimum inside the range of δ does not show on {}."),
        ("regret", "The regret stays below the theorem's bound on {}.", "The regret exceeds the bound on {}."),
    ):
        for verdict, sentence in ((True, holding), (False, failing)):
            names = [SETTINGS[c.dataset].title for c in all_claims if topic in c.paper.split() and c.holds is verdict]
            if names:
                sentences.append(sentence.format(_listed(names)))
    if cells := label_sampling_cells(results):
        for name in dict.fromkeys(cell.dataset for cell in cells):
            ends = [cell for cell in cells if cell.dataset == name and cell.round == cells[-1].round]
            gaps = [f"{cell.ours / cell.paper - 1:+.1%} at γ = {cell.exploration:g}" for cell in ends]
            sentences.append(f"After {cells[-1].round:,} rounds the label-sampling figures of {SETTINGS[name].title} "
                             f"differ from the paper's by {_listed(gaps)}.")  # fmt: skip
    return " ".join(sentences)


class Difference(NamedTuple):
    """A figure of the paper's table of label sampling, and ours."""

    dataset: str
    exploration: float
    round: int
    ours: float
    paper: float


def label_sampling_cells(results: Results) -> list[Difference]:
    """The table cell by cell."""
    return [
        Difference(one.dataset, one.parameters["exploration"], int(at), float(ours), paper)
        for one in series(results, "label-sampling")
        for at, ours, paper in zip(
            one.round, one.mean(), LABEL_SAMPLING[one.dataset][one.parameters["exploration"]], strict=True
        )
    ]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
