"""The structure: what may import what, what the base needs, and how much memory a long life takes."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dford"

# A module imports only from floors below its own. A room is a package whose floors are listed here, or one module.
FLOORS = {
    "dford": [
        {"scale", "feedback", "files", "document", "sparse_rows", "arrays", "answer_ids"},
        {"log_columns"},
        {"log", "estimates"},
        {"engine"},
        {"columns", "policies", "persistence"},
        {"learners"},
        {"datasets", "river", "evaluation"},
        {"pool"},
        {"experiments", "plotting", "service"},
        {"report", "placing"},
        {"cli"},
        {"__main__"},
    ],
    "dford.columns": [
        {"values", "images", "scaling"},
        {"tables", "texts", "encoders", "vectors"},
        {"image_reader"},
        {"column"},
        {"reading"},
        {"described"},
        {"columns"},
    ],
    "dford.pool": [
        {"questions", "agreement", "filling"},
        {"answers", "apart", "asked", "people", "reliability"},
        {"items"},
        {"audit", "held_out_learners"},
        {"choice", "figures", "judged", "run", "votes"},
        {"refresh"},
        {"placements"},
        {"saving"},
        {"pool"},
    ],
    "dford.experiments": [
        {"processes", "own_learner"},
        {"fan_out", "one_pass"},
        {"reproduction", "studies"},
    ],
    "dford.service": [
        {"refusal", "settings", "process_tree"},
        {"csv_rows", "store", "worker", "program"},
        {"client", "projects"},
        {"learning"},
        {"views"},
        {"core"},
        {"http"},
        {"table_project", "program_run"},
        {"demo_projects"},
    ],
}
MOST_MODULES = 20  # in one folder: more cannot be seen at once


def name_of(file: Path) -> str:
    """The full name of the module in a file."""
    return ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(file): file for file in sorted(SOURCE.rglob("*.py"))}
FACADES = {name for name, file in MODULES.items() if file.name == "__init__.py"}


@cache
def imports(module: str) -> set[str]:
    """The modules of dford that a module imports, by their full names, even for types or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return {module for module in found if module.split(".")[0] == "dford"}


@pytest.mark.parametrize("package", FLOORS)
def test_a_module_imports_only_from_floors_below(package: str) -> None:
    inside = f"{package}."
    rooms = {name: name.removeprefix(inside).partition(".")[0] for name in MODULES if name.startswith(inside)}
    floors = {room: number for number, floor in enumerate(FLOORS[package]) for room in floor}
    assert set(rooms.values()) == set(floors)
    for module, room in rooms.items():
        for other in imports(module) & set(rooms):
            below = floors[rooms[other]] < floors[room]
            assert below or rooms[other] == room, f"{module} must not import {other}"


def test_a_facade_is_imported_only_from_outside_its_room() -> None:
    for module in MODULES:
        for facade in imports(module) & FACADES:
            if facade == "dford":
                assert module.startswith("dford.cli"), "the façade is above every room but the command line"
            else:
                assert not module.startswith(f"{facade}."), f"{module} must not import {facade}, which it is part of"


def cycles() -> list[set[str]]:
    """Sets of modules that all import each other, directly or not."""
    reached: dict[str, set[str]] = {}
    for start in MODULES:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = imports(ahead.pop()) - seen
            seen |= new
            ahead += new
        reached[start] = seen
    found = [{other for other in reached[one] if one in reached[other]} for one in reached if one in reached[one]]
    return [circle for place, circle in enumerate(found) if circle not in found[:place]]


def test_no_modules_import_each_other() -> None:
    assert cycles() == []


def test_no_folder_holds_more_modules_than_can_be_seen_at_once() -> None:
    folders = Counter(file.parent for name, file in MODULES.items() if name not in FACADES)
    assert {str(folder): count for folder, count in folders.items() if count > MOST_MODULES} == {}


def test_importing_dford_needs_only_the_base() -> None:
    """Everything that the base does not bring is hidden, and dford still imports and learns."""
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "polars", "river", "matplotlib", "rich", "typer", "fastapi", "ray", "PIL"}:
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
import dford
model = dford.DFORD(levels=["low", "top"], random_state=0)
model.tell(model.ask([1.0, 2.0]), higher=True)
print(model.predict([[1.0, 2.0]])[0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.stdout.strip() in {"low", "top"}


def test_the_base_depends_on_three_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [d.split(">")[0] for d in project["dependencies"]] == ["numpy", "numba", "scikit-learn"]
    assert {"images", "lab", "service", "river", "ray", "dask", "peers", "dev"} == set(project["optional-dependencies"])


ROUNDS = {"linear": 20_000, "poly": 10_000}


@pytest.mark.parametrize("kernel", ROUNDS)
def test_many_live_rounds_do_not_grow_the_process(kernel: str) -> None:
    """The window's buffers, the open questions and the memory of answers are all bounded or tiny."""
    code = f"""
import resource
import numpy as np
from dford import DFORD
X = np.random.default_rng(0).normal(size=(1000, 3))
model = DFORD(levels=range(1, 6), kernel={kernel!r}, window=1000, random_state=0)
def play(rounds):
    for n in range(rounds):
        x = X[n % 1000]
        question = model.ask(x)
        model.tell(question, bool(x[0] * 2 + 3 > question.level))
play(5_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
play({ROUNDS[kernel]})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # two bits per question are kept to tell a repeated answer from another one
    assert 1024 * int(result.stdout) < 20 * ROUNDS[kernel]


def defined(file: Path) -> set[str]:
    """The functions, classes and names that a file makes, at its top or in a class."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_every_file_that_the_architecture_names_exists() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[\w./]+|[A-Z]+\.md)`", (ROOT / "docs" / "architecture.md").read_text())
    assert len(set(named)) > 40
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_name_in_a_walk_is_in_its_file() -> None:
    """Such as "`TITLES` and `settings` in `running_error.py`", here and in CONTRIBUTING."""
    of_file = re.compile(r"`([\w.]+)`(?:,? (?:and|or) `(\w+)`)?\s+(?:in|of)\s+`([\w/]*\w+\.(?:py|js))`")
    files = [
        file for folder in ("src", "tests") for kind in ("py", "js") for file in ROOT.glob(f"{folder}/**/*.{kind}")
    ]
    for text in (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"):
        found = of_file.findall(text.read_text())
        assert len(found) > 3
        for *names, file in found:
            source = "".join(one.read_text() for one in files if str(one).endswith(f"/{file}"))
            for name in filter(None, names):
                assert re.search(rf"\b{name.rpartition('.')[2]}\b", source), f"{text.name}: {name} in {file}"


def test_the_architecture_draws_every_room() -> None:
    drawing = (ROOT / "docs" / "architecture.md").read_text().partition("```text\n")[2].partition("```")[0]
    rooms = Counter(room for floors in FLOORS.values() for floor in floors for room in floor - {"__main__"})
    cells = Counter(cell.strip() for cell in re.split(r" {2,}|[│\n]", drawing))
    assert rooms - cells == Counter(), "a name in a caption does not count"


def test_the_first_page_has_the_figures_of_the_study() -> None:
    """What it costs in answers, which docs/pool/figures.md has for all datasets."""
    table = (ROOT / "docs" / "pool" / "figures.md").read_text().partition("until the levels are 0.05 off")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    shown = (ROOT / "docs" / "index.md").read_text().partition("## What it costs")[2]
    first, _, _, *lines = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines() if line.startswith("|")
    )
    by_name = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows}
    for line, figure in zip(lines, ("Pool, 0%", "answers alone, 0%", "limit, 0%"), strict=False):
        assert line[1:] == [by_name[name][figure] for name in first[1:]], figure


def test_every_guarantee_names_tests_that_exist() -> None:
    """And every `make` in the docs is in the Makefile."""
    text = (ROOT / "docs" / "guarantees.md").read_text()
    lines = [line for line in text.partition("## How it holds")[0].splitlines() if line.startswith("|") and "`" in line]
    tests = set.union(*(defined(file) for file in (ROOT / "tests").glob("test_*.py")))
    assert len(lines) > 60
    for line in lines:
        named = re.findall(r"`([^`]+)`", line.split("|")[2])
        assert named, line
        for name in named:
            assert name in tests or name.startswith("make "), name
    targets = re.findall(r"^([\w/.-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for file in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", file.read_text(), re.MULTILINE):
            assert target in targets, (file.name, target)
