"""What the forge, and its visitors, are told about the project is true."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import dford

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([\w./-]+):(?!=)", MAKEFILE, re.MULTILINE))
RECIPES = {
    re.sub(r"\$\(call install,[^,]+,(.+)\)", r"python -m pip install --quiet \1", line.strip()).replace("$(BIN)/", "")
    for line in MAKEFILE.splitlines() if line.startswith("\t")
}  # fmt: skip
SCHEMAS = [
    *((file, "vendor.github-workflows") for file in WORKFLOWS),
    (ROOT / "compose.yaml", "vendor.compose-spec"),
    (ROOT / "CITATION.cff", "vendor.citation-file-format"),
]


@pytest.mark.parametrize(("file", "schema"), SCHEMAS, ids=lambda value: getattr(value, "name", value))
def test_files_for_others_match_their_schemas(file: Path, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def jobs() -> list[tuple[str, Any]]:
    return [(name, job) for file in WORKFLOWS for name, job in yaml.safe_load(file.read_text())["jobs"].items()]


def commands(job: Any) -> list[str]:
    """What a job runs, once for each value of its matrix."""
    found = [step["run"] for step in job["steps"] if "run" in step]
    for name, values in job.get("strategy", {}).get("matrix", {}).items():
        place = f"${{{{ matrix.{name} }}}}"
        found = [one.replace(place, value) for one in found for value in (values if place in one else [""])]
    return found


@pytest.mark.parametrize(("name", "job"), jobs())
def test_workflows_run_what_is_run_here_and_nothing_else(name: str, job: Any) -> None:
    assert commands(job)
    for command in commands(job):
        if command.startswith("make "):
            assert set(command.split()[1:]) <= TARGETS, command
        else:
            assert command in RECIPES or (ROOT / command).is_file(), command


def test_every_python_that_is_promised_is_tested_and_no_other() -> None:
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    tried = dict(jobs())["linux"]["strategy"]["matrix"]["python"]
    promised = re.findall(r"\d\.\d+", re.findall(r"^Python (.+?)\. ", (ROOT / "docs/policy.md").read_text(), re.M)[0])
    assert (tried, tried[0]) == (promised, lowest)


def test_workflows_may_read_and_nothing_else() -> None:
    for file in WORKFLOWS:
        assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}


def test_before_a_commit_everything_that_make_lint_checks_is_checked() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    recipe = re.findall(r"^lint:.*\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)[0]
    assert local["repo"] == "local"
    checked = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    assert [hook["entry"] for hook in local["hooks"]] == checked


def test_the_citation_is_of_this_version_and_names_the_papers_authors() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == dford.__version__
    (paper,) = citation["references"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert paper["title"] in readme
    names = [author["family-names"] for author in paper["authors"]]
    assert f"({', '.join(names[:-1])} and {names[-1]})" in readme


@pytest.mark.parametrize("file", ["SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_in_the_files_beside_the_docs_lead_somewhere(file: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)", (ROOT / file).read_text()):
        text = (ROOT / target).read_text()
        titles = [re.sub(r"[^\w -]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert not anchor or anchor in {re.sub(r"[ -]+", "-", title) for title in titles}, (target, anchor)


def test_everything_that_import_dford_gives_is_in_the_reference() -> None:
    entries = re.findall(r"^::: (\S+)$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE)
    names = [f"dford.{name}" for name in dford.__all__ if callable(getattr(dford, name))]
    assert len(names) >= 20
    assert [name for name in names if name not in entries] == []


def test_every_test_that_keeps_a_promise_of_the_policy_exists() -> None:
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs/policy.md").read_text())
    assert len(named) >= 7
    assert [name for name in named if f"def {name}(" not in tests] == []
