"""What the paper says, and what our runs say about it."""

from typing import NamedTuple

import numpy as np

from dford.experiments.reproduction.paper import BETTER_OR_EQUAL, LABEL_SAMPLING, MUCH_BETTER, SETTINGS, SLIGHTLY_WORSE
from dford.experiments.reproduction.results import Results
from dford.experiments.reproduction.series import Series, series

EQUAL = "equal within noise"
SMALL = 0.10
"""The paper speaks of a very small and a considerable margin; here these are up to and beyond a tenth."""


class Claim(NamedTuple):
    """A statement of the paper about one dataset."""

    dataset: str
    paper: str
    ours: str
    holds: bool
    better: bool = False
    """It does not hold, because DFORD does better than the paper says."""


def claims(results: Results) -> list[Claim]:
    """Every statement of the paper that the results can be compared with."""
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
    words, verdict = f"{one.learner} {one.end:.3f}, {other.learner} {other.end:.3f}: ", _verdict(one, other)
    return words + (verdict if verdict == EQUAL else f"{verdict} by {abs(one.end / other.end - 1):.1%}")


def noise(one: Series, other: Series) -> float:
    """The standard error of the difference between two ends; runs are paired by their rows."""
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


class Finding(NamedTuple):
    """What the runs say about one claim of the paper."""

    headline: str
    figures: dict[str, str]
    """For each dataset, by its title."""


def findings(results: Results) -> list[Finding]:
    """Where the paper's claims hold and where they do not: one finding per claim."""
    curves = {(one.dataset, one.learner): one for one in series(results, "curves")}
    dford = [one for one in curves.values() if one.learner == "DFORD"]
    found = []
    if pairs := [(one, curves[one.dataset, "PRank"]) for one in dford if (one.dataset, "PRank") in curves]:
        verdicts = [_verdict(*pair) for pair in pairs]
        counts = [f"{word} on {verdicts.count(word)}" for word in dict.fromkeys(sorted(verdicts, reverse=True))]
        headline = f"DFORD beside PRank, which sees the labels: its error is {_listed(counts)} of {len(pairs)}"
        found.append(Finding(headline, _ends(pairs)))
    if pairs := [(one, curves[one.dataset, "PRIL"]) for one in dford if (one.dataset, "PRIL") in curves]:
        below = sum(one.end < other.end for one, other in pairs)
        found.append(Finding(f"DFORD's error is below PRIL's on {below} of {len(pairs)}", _ends(pairs)))
    for headline, some in (
        ("An optimum inside the range of δ shows", _truncation(results)),
        ("The regret stays below the theorem's bound", _regret(results)),
        ("A nonzero γ lowers the high error of γ = 0", _label_sampling(results)),
    ):
        if some:
            figures = {SETTINGS[claim.dataset].title: claim.ours for claim in some}
            found.append(Finding(f"{headline} on {sum(claim.holds for claim in some)} of {len(some)}", figures))
    if cells := label_sampling_cells(results):
        last = max(cell.round for cell in cells)
        figures = {}
        for name in dict.fromkeys(cell.dataset for cell in cells):
            ends = [cell for cell in cells if (cell.dataset, cell.round) == (name, last)]
            gaps = [f"{cell.ours / cell.paper - 1:+.1%} at γ = {cell.exploration:g}" for cell in ends]
            figures[SETTINGS[name].title] = _listed(gaps)
        found.append(Finding(f"The paper's figures of label sampling, and ours after {last:,} rounds", figures))
    return found


def reading(results: Results) -> str:
    """Where the paper's claims hold, where not, and by how much: one headline per claim, one line per dataset."""
    blocks = [tally(results)]
    for headline, figures in findings(results):
        blocks.append("\n".join([headline, *(f"  {title}: {words}" for title, words in figures.items())]))
    return "\n\n".join(blocks)


def tally(results: Results) -> str:
    """How many of the paper's statements hold."""
    all_claims = claims(results)
    if not all_claims:
        return "Nothing was run that could be held against a claim of the paper."
    held, better = sum(claim.holds for claim in all_claims), sum(claim.better for claim in all_claims)
    exceeded = f", and {better} do not because DFORD does better" if better else ""
    return f"Of {len(all_claims)} statements of the paper that these runs can be held against, {held} hold{exceeded}."


def _verdict(one: Series, other: Series) -> str:
    if abs(one.end - other.end) <= 2 * noise(one, other):
        return EQUAL
    return "lower" if one.end < other.end else "higher"


def _ends(pairs: list[tuple[Series, Series]]) -> dict[str, str]:
    return {
        SETTINGS[one.dataset].title: f"{one.end:.3f} against {other.end:.3f}, {one.end / other.end - 1:+.1%}"
        for one, other in pairs
    }


class Difference(NamedTuple):
    """A figure in the paper's table of label sampling, and ours."""

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
