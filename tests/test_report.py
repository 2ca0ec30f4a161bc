"""The report: nothing asked of the network, nothing missing, and words that follow the numbers."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from dford.cli import main
from dford.document import Block, Heading, Paragraph, Table, markdown, page
from dford.experiments import Results, claims, label_sampling_cells, reading
from dford.experiments.reproduction.cells import Cell
from dford.experiments.reproduction.paper import LABEL_SAMPLING
from dford.experiments.reproduction.plans import SIZES, Size
from dford.experiments.reproduction.series import COLUMNS
from small_data import make_known, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report over small files of all datasets."""
    monkeypatch.setitem(SIZES, "quick", Size((2, 60), (2, 60), (2, 60), (2, 10_000), (2, 60)))
    monkeypatch.setattr("dford.experiments.reproduction.rows.MIN_VOTES", 3)
    make_known(monkeypatch)
    write(tmp_path / "data")
    arguments = [
        "reproduce",
        "--quick",
        "--jobs",
        "1",
        "--data",
        str(tmp_path / "data"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(arguments) == 0
    return tmp_path / "out"


PICTURES = ["figure-1", "curves-mae", "curves-crossings", "label-sampling", "grid", "truncation", "regret"]


def test_the_page_holds_everything_and_requests_nothing(folder: Path) -> None:
    page, words = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    assert len(re.findall(r'src="data:image/svg\+xml;base64,', page)) == len(PICTURES)
    assert not re.search(r'(src|href)="(?!data:)|@import|url\(', page)
    assert re.findall(r"\]\(([^)]+)\)", words) == [f"{name}.svg" for name in PICTURES]
    for name in PICTURES:
        assert (folder / f"{name}.svg").read_text().startswith("<?xml")
    for title in ("Synthetic", "Abalone", "Telemonitoring", "California Housing", "Computer Activity", "Bank",
                  "MSLR Web 10K", "EachMovie"):  # fmt: skip
        assert f"| {title} |" in words
        assert f">{title}</td>" in page
    for fact in ("numba", "NumPy", "seed", "bank8FM.arff", "sha256"):
        assert fact.lower() in words.lower()
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")], "nothing half is left"

    rows = list(csv.DictReader((folder / "results.csv").open()))
    assert {row["experiment"] for row in rows} == {"curves", "grid", "truncation", "label-sampling", "regret"}
    ends = [float(row["mae"]) for row in rows if row["round"] == "60" and row["dataset"] == "bank8FM"
            and row["experiment"] == "curves" and row["learner"] == "PRank"]  # fmt: skip
    assert f"{sum(ends) / 2:.3f} ±" in words

    quick, run, counted, headline, first = words.split("\n\n")[:5]
    assert quick.endswith(": quick run")
    assert run.startswith("A quick run: 2 runs of 60 to 10,000 rounds.")
    assert "statements of the paper" in counted
    assert re.fullmatch(r"### DFORD beside PRank, .* of 8", headline)
    assert re.fullmatch(r"(- [^:\n]+: \d\.\d{3} against \d\.\d{3}, [+-][\d.]+%\n?){8}", first), "a line a dataset"


def test_the_same_results_give_the_same_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = []
    for _ in range(2):
        words = ["reproduce", "curves", "--quick", "--datasets", "synthetic", "--jobs", "1"]
        assert main([*words, "--out", str(tmp_path)]) == 0
        written.append({path.name: path.read_bytes() for path in tmp_path.glob("*.*")})
        counted = next(line for line in (tmp_path / "report.md").read_text().split("\n\n") if "statements" in line)
        assert counted in capsys.readouterr().out
    assert {"report.html", "report.md", "curves-mae.svg", "results.csv"} <= set(written[0])
    assert written[0] == written[1]


def results(experiment: str, ends: dict[tuple[str, str, Any], tuple[float, ...]], **columns: float) -> Results:
    """Runs that end with these errors, by dataset, learner and parameters."""
    traces = {}
    for (dataset, learner, parameters), errors in ends.items():
        for run, error in enumerate(errors):
            cell = Cell(experiment, dataset, "", learner, tuple(parameters.items()), 10, run, 0)
            trace: dict[str, Any] = {name: [columns.get(name, 0.0)] for name in COLUMNS}
            traces[cell] = trace | {"round": [10], "mae": [error]}
    return Results(traces, {})


class Parameters(dict[str, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


@pytest.mark.parametrize(
    ("dataset", "dford", "holding"),
    [
        ("computer", (0.9, 0.91), ["better than or equal"]),
        ("computer", (1.2, 1.21), []),
        ("computer", (0.99, 1.04), ["better than or equal"]),  # two runs that disagree prove nothing
        ("mslr", (0.5, 0.51), ["better than or equal", "considerable margin"]),
        ("mslr", (0.95, 0.951), ["better than or equal"]),
        ("california", (1.05, 1.051), ["very small margin"]),
        ("california", (1.5, 1.51), []),
        ("california", (0.9, 0.91), ["better"]),
    ],
)
def test_a_claim_holds_where_the_numbers_say_so(dataset: str, dford: tuple[float, ...], holding: list[str]) -> None:
    none = Parameters()
    found = claims(results("curves", {(dataset, "DFORD", none): dford, (dataset, "PRank", none): (1.0, 1.0)}))
    assert found
    expected = [[words for words in holding if words in claim.paper] for claim in found]
    assert [claim.holds for claim in found] == [bool(words) for words in expected]
    assert [claim.better for claim in found] == [holding == ["better"]] * len(found)


def test_an_optimum_in_delta_must_lie_inside() -> None:
    def found(ends: tuple[float, ...]) -> bool:
        windows = [Parameters(window=window) for window in (100, 500, 1000)]
        (claim,) = claims(
            results("truncation", {("abalone", "DFORD", w): (end,) for w, end in zip(windows, ends, strict=True)})
        )
        return claim.holds

    assert [found(ends) for ends in ((3, 1, 2), (3, 2, 1), (1, 2, 3))] == [True, False, False]


def test_the_reading_says_who_is_ahead_and_by_how_much() -> None:
    none = Parameters()
    ends: dict[tuple[str, str, Any], tuple[float, ...]] = {
        ("california", "DFORD", none): (0.9, 0.9),
        ("california", "PRank", none): (1.0, 1.0),
        ("california", "PRIL", none): (2.0, 2.0),
        ("mslr", "DFORD", none): (1.5, 1.5),
        ("mslr", "PRank", none): (1.0, 1.0),
        ("mslr", "PRIL", none): (1.2, 1.2),
    }
    words = reading(results("curves", ends))
    assert "PRank, which sees the labels: its error is lower on 1 and higher on 1 of 2\n" in words
    assert "  California Housing: 0.900 against 1.000, -10.0%\n" in words
    assert "  MSLR Web 10K: 1.500 against 1.000, +50.0%\n" in words
    assert "DFORD's error is below PRIL's on 1 of 2\n" in words
    assert reading(Results({}, {})).startswith("Nothing was run")


def test_a_regret_above_the_bound_is_reported() -> None:
    ends: dict[tuple[str, str, Any], tuple[float, ...]] = {("mslr", "DFORD", Parameters()): (1.0,)}
    above, below = (reading(results("regret", ends, regret=regret, bound=2.0)) for regret in (3.0, 1.0))
    assert "below the theorem's bound on 0 of 1\n  MSLR Web 10K: at most 150.00% of the bound" in above
    assert "below the theorem's bound on 1 of 1\n  MSLR Web 10K: at most 50.00% of the bound" in below


def test_the_label_sampling_table_matches_the_papers_cell_by_cell() -> None:
    trace: dict[str, Any] = {"round": list(range(1_000, 10_001, 1_000)), "mae": [1.0] * 10}
    trace = {name: [0.0] * 10 for name in COLUMNS} | trace
    cell = Cell("label-sampling", "california", "", "DFORD", (("exploration", 0.4),), 10_000, 0, 0, 1_000)
    cells = label_sampling_cells(Results({cell: trace}, {}))
    assert [(each.round, each.paper) for each in cells] == list(
        zip(trace["round"], LABEL_SAMPLING["california"][0.4], strict=True)
    )


def test_words_cannot_break_the_page() -> None:
    blocks: list[Block] = [Heading(1, "<b>"), Paragraph("a < b & c"), Table(["|"], [["a|b"]])]
    assert "&lt;b&gt;" in page(blocks, "", "")
    assert "a &lt; b &amp; c" in page(blocks, "", "")
    assert "| a\\|b |" in markdown(blocks)
