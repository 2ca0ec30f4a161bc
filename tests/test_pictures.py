"""Pictures: every word inside the frame, whatever is drawn and however many panels there are."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from dford.document import Paragraph
from dford.experiments import Results
from dford.experiments.reproduction.cells import Cell
from dford.experiments.reproduction.paper import EXPLORATIONS, LABEL_SAMPLING, REGULARIZATIONS, SETTINGS, WINDOWS
from dford.experiments.reproduction.series import COLUMNS
from dford.experiments.studies import (
    cheap_judge,
    held_out,
    noise_and_drift,
    placement_error,
    running_error,
    several_people,
)
from dford.learners._trace import Trace
from dford.plotting import PICTURES, draw_bars, draw_curves
from dford.plotting._looks import LOOKS
from dford.report.sections import SECTIONS

Record = dict[str, Any]
LEARNERS = ("Auto", "NewtonLogit", "DirectionalBoosting", "DFORD", "PRank", "PRIL")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were to be saved, laid out as they are in the file."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path, **options: Any) -> None:
        figure.draw_without_rendering()
        path.touch()
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def falling(n: int, place: int = 0) -> Any:
    """An error that falls, differently for each place."""
    return 2.0 / (1 + np.arange(n)) ** (0.5 + place / 10) + place / 5


def trace(values: Any) -> Trace:
    rounds = np.unique(np.geomspace(1, 1_000_000, len(values)).astype(np.int64))
    return Trace(rounds, *[np.asarray(values, dtype=float)[: len(rounds)]] * 8)


def pass_records(datasets: list[str]) -> list[Record]:
    return [
        {"dataset": d, "learner": learner, "setting": "", "run": run, "answers": n, "mae": mae}
        | {"estimate": np.nan if "label" in learner or learner == "prank" else mae, "low": mae / 2, "high": 2 * mae}
        for d in datasets
        for place, learner in enumerate(running_error.TITLES)
        for run in (1, 2)
        for n, mae in zip(np.geomspace(30, 10_000, 20).astype(int), falling(20, place), strict=True)
    ]


def flip_records(datasets: list[str]) -> list[Record]:
    return [
        {"dataset": d, "learner": learner, "flip": flip, "run": run, "mae": 0.5 + flip + run / 10}
        for d in datasets
        for learner in ("newton", "auto")
        for flip in noise_and_drift.FLIPS
        for run in (1, 2)
    ]


def drift_records(datasets: list[str]) -> list[Record]:
    return [
        {"dataset": d, "learner": learner, "run": run, "answers": n, "mae": 0.2 + forget * (n > 5000)}
        for d in datasets
        for learner, forget in noise_and_drift.FORGETS.items()
        for run in (1, 2)
        for n in range(250, 10_001, 250)
    ]


def reliability_records(datasets: list[str]) -> list[Record]:
    return [
        {"dataset": d, "model": model, "run": run, "bin": k, "count": 7 * k * 10**place}
        | {"predicted": 7 * k * 10**place * (k - 0.5) / 10, "true": int(0.6 * k * k * 10**place)}
        for d in datasets
        for place, model in enumerate(held_out.OWN)
        for run in (1, 2)
        for k in range(1, 11)
    ]


def pool_records(datasets: list[str]) -> list[Record]:
    ways = [
        {"dataset": d, "way": way, "wrong": wrong, "run": run, "answers": n / 4, "mae": mae * (1 + wrong)}
        for d in datasets
        for place, way in enumerate(placement_error.WAYS)
        for wrong in placement_error.WRONG
        for run in (1, 2)
        for n, mae in zip(range(1, 17), falling(16, place), strict=True)
    ]
    limits = [
        {"dataset": d, "way": "limit", "wrong": wrong, "run": 1, "answers": 1.5 + wrong, "mae": 0.0}
        for d in datasets
        for wrong in placement_error.WRONG
    ]
    return ways + limits


def people_records(datasets: list[str]) -> list[Record]:
    return [
        {"part": part, "dataset": d, "way": way, "run": run, "answers": n / 4, "mae": mae}
        for d, part in ((d, "raters" if d == datasets[0] else "placed") for d in datasets)
        for place, way in enumerate(several_people.WAYS)
        for run in (1, 2)
        for n, mae in zip(range(1, 13), falling(12, place), strict=True)
    ] + [
        {"part": "judge", "dataset": d, "way": mix, "run": run, "cost": n / 100 * 4**place, "mae": mae}
        for d in datasets
        for place, mix in enumerate(cheap_judge.MIXES)
        for run in (1, 2)
        for n, mae in zip(range(1, 10 + run), falling(9 + run, place), strict=True)
    ]


STUDIES: dict[str, Callable[[list[str]], list[Record]]] = {
    "pass": pass_records,
    "flips": flip_records,
    "drift": drift_records,
    "reliability": reliability_records,
    "pool": pool_records,
    "people": people_records,
}


def results(experiment: str, panels: int) -> Results:
    """Made-up runs of an experiment of the report, on so many datasets."""
    names = [name for name in SETTINGS if experiment != "label-sampling" or name in LABEL_SAMPLING]
    players: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "curves": [(learner, {}) for learner in ("DFORD", "PRank", "PRIL")],
        "label-sampling": [("DFORD", {"exploration": e}) for e in (0.0, 0.4, 0.8)],
        "truncation": [("DFORD", {"window": window}) for window in (*WINDOWS, None)],
        "regret": [("DFORD", {})],
        "grid": [("DFORD", {"exploration": e}) for e in EXPLORATIONS],
    }
    rounds = list(range(1_000, 10_001, 1_000))
    traces = {}
    for name in names[-panels:]:  # the last ones have the longest titles
        for place, (learner, parameters) in enumerate(players.get(experiment, [])):
            given = parameters | {"regularization": SETTINGS[name].regularization}
            for run in range(2):
                cell = Cell(experiment, name, "", learner, tuple(given.items()), 10_000, run, 0)
                traces[cell] = {column: list(falling(10, place) + run / 10) for column in COLUMNS} | {"round": rounds}
    return Results(traces, {})


def draw(kind: str, panels: int, folder: Path) -> None:
    datasets = [*running_error.DATASETS][:panels]
    if kind in STUDIES:
        PICTURES[kind](STUDIES[kind](datasets), folder / "picture.png")
    elif kind == "demo":  # it always has two panels, but can have many learners
        traces = {f"Learner {n} (one bit, greedy)": trace(falling(30, n)) for n in range(panels)}
        title = "Three learners on the synthetic stream: 1,000,000 rounds, mean of 1000 runs"
        draw_curves(traces, folder / "picture.png", title=title)
    elif kind == "bars":
        bars = {f"prediction {level}": [1 / 7] * 7 for level in range(panels)}
        draw_bars(bars, folder / "picture.svg", x="level asked about", y="probability")
    else:
        SECTIONS[kind](results(kind, panels), folder)


KINDS = [*STUDIES, "demo", "bars", *SECTIONS]


def test_every_kind_of_picture_is_drawn_here() -> None:
    assert set(STUDIES) == set(PICTURES)


def words(artist: Artist) -> Iterator[Text]:
    """The visible texts."""
    if not artist.get_visible():
        return
    if isinstance(artist, Axis):  # it keeps ticks beyond its ends, which are not drawn
        low, high = sorted(artist.get_view_interval())
        slack = 1e-9 * (high - low)
        ticks = [*artist.get_major_ticks(), *artist.get_minor_ticks()]
        inside = [tick for tick in ticks if low - slack <= tick.get_loc() <= high + slack]
        found = [artist.label, artist.offsetText, *(text for tick in inside for text in (tick.label1, tick.label2))]
    else:
        found = [artist] if isinstance(artist, Text) else []
        for child in artist.get_children():
            yield from words(child)
    yield from (text for text in found if text.get_visible() and text.get_text().strip())


@pytest.mark.parametrize(
    ("kind", "panels"),
    [*((kind, 8) for kind in KINDS), *((kind, n) for kind in ("pass", "people", "curves") for n in (1, 2))],
)
def test_every_word_is_inside_the_frame_and_overlaps_no_other(
    kind: str, panels: int, drawn: list[Figure], tmp_path: Path
) -> None:
    draw(kind, panels, tmp_path)
    assert drawn
    for figure in drawn:
        boxes = {text: text.get_window_extent() for text in words(figure)}
        assert len(boxes) > 4
        width, height = figure.bbox.size
        for text, box in boxes.items():
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
            assert inside, f"{text.get_text()!r} is at {np.round(box.extents)} of {width:.0f} × {height:.0f}"
        for (one, box), (other, its) in combinations(boxes.items(), 2):
            assert not box.padded(-0.5).overlaps(its), f"{one.get_text()!r} overlaps {other.get_text()!r}"


def legend(figure: Figure) -> dict[str, str]:
    """The colours that a picture's legend gives."""
    (found,) = figure.legends
    lines = {str(line.get_label()): to_hex(line.get_color()) for line in found.get_lines()}
    return {label: lines[label] for label in (text.get_text() for text in found.get_texts()) if label in lines}


def test_a_learner_has_one_colour_in_all_pictures(drawn: list[Figure], tmp_path: Path) -> None:
    for kind in ("pass", "flips", "drift", "reliability", "curves"):
        draw(kind, 1, tmp_path)
    draw_curves({"DFORD (one bit)": trace([1.0]), "Auto": trace([2.0])}, tmp_path / "demo.png", title="")
    seen: dict[str, set[str]] = {}
    for figure in drawn:
        for label, colour in legend(figure).items():
            seen.setdefault(label.removesuffix(" as written, best γ").removesuffix(" (one bit)"), set()).add(colour)
    plain = {label: colours for label, colours in seen.items() if label in LEARNERS}
    assert set(plain) == set(LEARNERS)
    assert all(len(colours) == 1 for colours in plain.values())
    assert len(set.union(*plain.values())) == len(LEARNERS), "and no two of them share one"


def test_a_custom_learner_keeps_its_colour(drawn: list[Figure], tmp_path: Path) -> None:
    own = [f"Mine {n}" for n in range(6)]
    for names in (["Perceptron"], ["DFORD", "Perceptron", "PRank"], own):
        draw_curves({name: trace([1.0, 0.5]) for name in names}, tmp_path / "demo.png", title="")
    alone, among, many = map(legend, drawn)
    assert alone["Perceptron"] == among["Perceptron"]
    assert alone["Perceptron"] not in {look.colour.lower() for look in LOOKS.values()}
    assert len(set(many.values())) == len(own)


def test_lines_that_coincide_are_both_visible(drawn: list[Figure], tmp_path: Path) -> None:
    def below(*heights: float) -> tuple[str, list[Line2D]]:
        traces = {name: trace([height] * 30) for name, height in zip(("Auto", "DFORD"), heights, strict=True)}
        draw_curves(traces, tmp_path / "demo.png", title="")
        lines = drawn[-1].axes[0].get_lines()
        upper = next(line for line in lines if line.get_label() == "DFORD")
        wider = [line for line in lines if line.get_linewidth() >= upper.get_linewidth() + 1]
        assert all(line.get_zorder() < upper.get_zorder() for line in wider)
        return drawn[-1].legends[0].get_title().get_text(), wider

    said, (rim,) = below(1.0, 1.0)
    assert "lie on each other" in said
    assert rim.get_color() == LOOKS["Auto"].colour
    assert np.ptp(np.asarray(rim.get_xdata(), dtype=float)) == 999_999, "from end to end"
    assert below(1.0, 0.5) == ("", [])


def test_the_bins_of_the_reliability_picture_have_their_counts(drawn: list[Figure], tmp_path: Path) -> None:
    records = reliability_records(["computer"])
    PICTURES["reliability"](records, tmp_path / "picture.png")
    _, below = drawn[0].axes
    heights = [patch.get_height() for patch in below.patches if isinstance(patch, Rectangle)]
    expected = [
        sum(r["count"] for r in records if (r["model"], r["bin"]) == (model, k))
        for model in held_out.OWN
        for k in range(1, held_out.BINS + 1)
    ]
    assert heights == expected


def test_the_drift_picture_has_a_line_where_the_scale_turns(drawn: list[Figure], tmp_path: Path) -> None:
    PICTURES["drift"](drift_records(["synthetic"]), tmp_path / "picture.png")
    (turn,) = (line for line in drawn[0].axes[0].get_lines() if line.get_label() == "the scale turns round")
    assert np.asarray(turn.get_xdata()).tolist() == [5_000, 5_000]


@pytest.mark.parametrize(("played", "changed", "said"), [
    (REGULARIZATIONS[2:3], 0.0, "since λ changes no prediction; the paper's was played"),
    (REGULARIZATIONS, 0.0, "all were played"),
    (REGULARIZATIONS, 0.25, "differ by 0.25 at most"),
])  # fmt: skip
def test_the_grid_has_one_row_per_dataset_and_says_how_other_lambdas_do(
    played: tuple[float, ...], changed: float, said: str, drawn: list[Figure], tmp_path: Path
) -> None:
    found = {}
    for cell, columns in results("grid", len(SETTINGS)).traces.items():
        for other in played:
            if SETTINGS[cell.dataset].regularization in played:
                parameters = tuple((dict(cell.parameters) | {"regularization": other}).items())
                error = (columns["mae"][-1] or 0.0) + changed * (other != SETTINGS[cell.dataset].regularization)
                found[replace(cell, parameters=parameters)] = columns | {"mae": [error] * 10}
    _, paragraph, *_ = SECTIONS["grid"](Results(found, {}), tmp_path)
    datasets = {SETTINGS[cell.dataset].title for cell in found}
    title, panel = drawn[0].get_suptitle(), drawn[0].axes[0]
    assert said in " ".join(title.split())
    assert isinstance(paragraph, Paragraph)
    assert said in paragraph.text
    assert {label.get_text() for label in panel.get_yticklabels()} == datasets
    assert len(panel.texts) == len(datasets) * len(EXPLORATIONS)
