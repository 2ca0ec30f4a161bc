"""Write a report into a folder: pages, pictures and tables."""

import csv
import io
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from dford.document import Block, Entries, Heading, Paragraph, Table, markdown, page
from dford.experiments import Results, findings, tally
from dford.experiments.reproduction.cells import Cell, code_version
from dford.experiments.reproduction.paper import SETTINGS
from dford.experiments.reproduction.series import COLUMNS
from dford.files import atomic_write
from dford.report.sections import SECTIONS, claim_table

_TITLE = "The DFORD paper, reproduced"
_SIZES = {
    "quick": "A quick run: {} of {}. It shows the shapes; for figures to quote, run `dford reproduce --full`.",
    "middle": "A tenth of the paper's rounds: {} of {}. With `--full` there are as many as in the paper.",
    "full": "The paper's own numbers of runs and rounds: {} of {}.",
}
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fff; --faint: #d7d7de; --shade: #f4f4f7 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #17171b; --faint: #3b3b44; --shade: #222228 } }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper) }
h1, h2 { line-height: 1.2; margin: 2.2rem 0 .6rem } h1 { margin-top: 0 }
h1 + p { background: var(--shade); padding: .6rem 1rem; border-radius: .5rem }
h3 { font-size: 1rem; margin: 1.1rem 0 .2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 0 1rem; font-size: .92rem }
dd { margin: 0; font-variant-numeric: tabular-nums }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--faint); text-align: right; vertical-align: top }
th.name, td.name { text-align: left } td:first-child { white-space: nowrap }
th { border-bottom: 2px solid var(--faint) }
figure { margin: 1rem 0 } figcaption { font-size: .88rem; opacity: .8; margin-top: .4rem }
img { max-width: 100%; height: auto; background: #fff; border-radius: .5rem }
code { overflow-wrap: anywhere }
"""


class About(NamedTuple):
    """What a report says about how it was made."""

    version: str
    size: str
    seed: int
    experiments: Sequence[str]
    files: Mapping[str, Mapping[str, str]]
    """For each dataset, its files and their SHA-256."""
    missing: Mapping[str, str]
    """Datasets that were left out, and why."""


def write_report(results: Results, about: About, folder: str | os.PathLike[str]) -> Path:
    """Write report.html, report.md, their pictures and results.csv into `folder`; returns the path of the page.

    Every file is written atomically, the page last.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    title = f"{_TITLE}: quick run" if about.size == "quick" else _TITLE
    blocks = [Heading(1, title), *_lead(results, about.size), *claim_table(results)]
    for experiment, section in SECTIONS.items():
        if experiment in about.experiments:
            blocks += section(results, folder)
    blocks += _made(results, about)
    _write(folder / "results.csv", _csv(results))
    _write(folder / "report.md", markdown(blocks))
    report = folder / "report.html"
    _write(report, page(blocks, title, f"<style>{_STYLE}</style>", folder=folder))
    return report


def _lead(results: Results, size: str) -> Iterator[Block]:
    """How much was run, and what it shows: one headline per claim, one line per dataset."""
    if results.traces:
        runs = [max(cell.run for cell in some) + 1 for some in _by_experiment(results)]
        rounds = [cell.rounds for cell in results.traces]
        yield Paragraph(_SIZES[size].format(_span(runs, "runs"), _span(rounds, "rounds")))
    yield Paragraph(tally(results))
    for headline, figures in findings(results):
        yield Heading(3, headline)
        yield Entries(list(figures.items()))


def _by_experiment(results: Results) -> list[list[Cell]]:
    names = dict.fromkeys(cell.experiment for cell in results.traces)
    return [[cell for cell in results.traces if cell.experiment == name] for name in names]


def _span(numbers: Sequence[int], what: str) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,} {what}" if low == high else f"{low:,} to {high:,} {what}"


def _made(results: Results, about: About) -> list[Block]:
    cells = [*results.traces, *results.failures]
    played = f"{len(results.traces):,} of {len(cells):,} cells, {sum(cell.rounds for cell in results.traces):,} rounds"
    facts = [
        ["experiments", ", ".join(about.experiments)],
        ["size", about.size],
        ["seed", str(about.seed)],
        ["played", played],
        ["dford", f"{about.version} (code {code_version()})"],
        ["Python, NumPy, Numba", f"{platform.python_version()}, {np.__version__}, {numba.__version__}"],
        ["machine", f"{platform.system()} {platform.machine()}"],
    ]
    facts += [[f"left out: {name}", reason] for name, reason in about.missing.items()]
    facts += [[f"failed: {cell}", reason] for cell, reason in results.failures.items()]
    blocks: list[Block] = [Heading(2, "How it was made"), Table(["", ""], facts, names=2)]
    sums = [
        [name, SETTINGS[name].normalise, file, known]
        for name, them in about.files.items()
        for file, known in them.items()
    ]
    if sums:
        blocks.append(Table(["Dataset", "normalised", "File", "sha256"], sums, names=4))
    return blocks


def _csv(results: Results) -> str:
    """One line per checkpoint of a run."""
    parameters = ("exploration", "regularization", "clip", "kernel", "degree", "window")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["experiment", "dataset", "learner", *parameters, "run", "seed", "round", *COLUMNS])
    for cell, trace in results.traces.items():
        start = [cell.experiment, cell.dataset, cell.learner, *(cell[name] for name in parameters), cell.run, cell.seed]
        for place, at in enumerate(trace["round"]):
            writer.writerow([*start, at, *(trace[name][place] for name in COLUMNS)])
    return text.getvalue()


def _write(path: Path, words: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(words, encoding="utf-8")
