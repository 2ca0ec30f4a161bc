"""The house: who may import whom, what the base needs, and how much memory a long life takes."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dford"

# a module imports only from floors below its own, and from its own room
FLOORS = [
    {"scale", "feedback", "files"},
    {"log", "estimates"},
    {"engine"},
    {"policies", "persistence"},
    {"learners"},
    {"datasets", "river", "evaluation"},
    {"experiments", "plotting", "service"},
    {"report"},
    {"cli"},
    {"__main__"},
]


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def floor(name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def imports(file: Path) -> set[str]:
    """The modules of dford that a file imports, by their whole names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            known = {m for m in submodules if (SOURCE.parent / m.replace(".", "/")).with_suffix(".py").exists()}
            known |= {m for m in submodules if (SOURCE.parent / m.replace(".", "/")).is_dir()}
            found |= known or {node.module}
    return {module for module in found if module.split(".")[0] == "dford"}


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_from_floors_below(file: Path) -> None:
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return  # the façade
    for module in imports(file):
        if room(module) != own and module != "dford":
            assert floor(room(module)) < floor(own), f"{own} must not import {module}"
    if "dford" in imports(file):
        assert own == "cli", "the façade is above every room but the command line"


def test_importing_dford_needs_the_base_alone() -> None:
    """Everything that the base does not bring is hidden, and dford still imports and learns."""
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "polars", "river", "matplotlib", "rich", "typer", "fastapi", "ray"}:
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
    assert {"lab", "service", "river", "ray", "dask", "peers", "dev"} == set(project["optional-dependencies"])


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_million_live_rounds_do_not_grow_the_process(kernel: str) -> None:
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
play(20_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
play({1_000_000 if kernel == "linear" else 100_000})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # two bits a question are kept to tell a repeated answer from another one: 250 kB in a million
    assert int(result.stdout) < 2_000  # kB


def defined(file: Path) -> set[str]:
    """The functions, classes and names that a file makes, at its top or in a class."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_every_guarantee_names_tests_that_exist() -> None:
    """And every `make` in the docs is in the Makefile."""
    text = (ROOT / "docs" / "service.md").read_text()
    table = text.partition("| guarantee | test |\n|---|---|\n")[2].partition("\n\n")[0]
    tests = set.union(*(defined(file) for file in (ROOT / "tests").glob("test_*.py")))
    assert len(table.splitlines()) > 10
    for line in table.splitlines():
        named = re.findall(r"`([^`]+)`", line.split("|")[2])
        assert named, line
        for name in named:
            assert name in tests or name.startswith("make "), name
    targets = re.findall(r"^([\w/.-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for file in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", file.read_text(), re.MULTILINE):
            assert target in targets, (file.name, target)
