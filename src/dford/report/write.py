"""Write a report into a folder: pages, pictures, tables of numbers."""

import csv
import io
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from dford.experiments import Results, reading
from dford.experiments.cells import code_version
from dford.experiments.paper import SETTINGS
from dford.experiments.series import COLUMNS
from dford.files import atomic_write
from dford.report.blocks import Block, Heading, Table, Text, as_html, as_markdown
from dford.report.sections import SECTIONS, claim_table


class About(NamedTuple):
    """What a report says of its making."""

    version: str
    size: str
    seed: int
    experiments: Sequence[str]
    files: Mapping[str, Mapping[str, str]]
    """Of each dataset, its files and their sha256."""
    missing: Mapping[str, str]
    """Datasets that were left out, and why."""


def write_report(results: Results, about: About, folder: str | os.PathLike[str]) -> Path:
    """Write report.html, report.md, their pictures and results.csv into `folder`; returns the path of the page.

    Every file appears whole or not at all, the page last.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    blocks: list[Block] = [Heading("The DFORD paper, reproduced"), Text(reading(results)), *claim_table(results)]
    for experiment, section in SECTIONS.items():
        if experiment in about.experiments:
            blocks += section(results, folder)
    blocks += _made(results, about)
    _write(folder / "results.csv", _csv(results))
    _write(folder / "report.md", as_markdown(blocks))
    page = folder / "report.html"
    _write(page, as_html(blocks, folder))
    return page


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
    blocks: list[Block] = [Heading("How it was made"), Table(["", ""], facts, names=2)]
    sums = [
        [name, SETTINGS[name].normalise, file, known]
        for name, them in about.files.items()
        for file, known in them.items()
    ]
    if sums:
        blocks.append(Table(["Dataset", "normalised", "File", "sha256"], sums, names=4))
    return blocks


def _csv(results: Results) -> str:
    """One line a checkpoint of a run."""
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
