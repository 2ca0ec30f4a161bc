"""The release check says of each thing whether it holds."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import release

FILES = {
    "src/dford/__init__.py": '__version__ = "1.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (2027-01-31)\n\n- new\n\n## 1.1.0 (2026-12-01)\n\n- old\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2027-01-31\n",
    **{f"tests/saved/1.2.0-{name}": "" for name in ("a.dford", "b.pool", "log.csv", "log.parquet", "service.db")},
}


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "a change")


def replace(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda tree: (tree / name).write_text(FILES[name].replace(old, new))


def test_a_tree_that_is_ready_passes(tree: Path) -> None:
    assert [text for text, holds in release.files(tree) if not holds] == []


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (replace("CHANGELOG.md", "(2027-01-31)", "(unreleased)"), ["begins with 1.2.0", "date of CHANGELOG"]),
        (replace("CHANGELOG.md", "## 1.2.0", "## 1.3.0 (unreleased)\n\n## 1.2.0"), ["begins with 1.2.0"]),
        (replace("CITATION.cff", "\nversion: 1.2.0", "\nversion: 1.1.0"), ["has the version"]),
        (replace("CITATION.cff", "2027-01-31", "2027-02-01"), ["date of CHANGELOG"]),
        (lambda tree: (tree / "tests/saved/1.2.0-b.pool").unlink(), ["has pools"]),
        (lambda tree: git(tree, "tag", "v1.2.0"), ["no tag"]),
    ],
)
def test_what_is_missing_is_named(tree: Path, change: Callable[[Path], object], missing: list[str]) -> None:
    change(tree)
    commit(tree)
    said = [text for text, holds in release.files(tree) if not holds]
    assert len(said) == len(missing)
    assert all(part in text for part, text in zip(missing, said, strict=True))


def test_a_change_that_is_not_committed_is_reported(tree: Path) -> None:
    (tree / "new.py").write_text("")
    assert [text for text, holds in release.files(tree) if not holds] == ["everything is committed"]


def test_every_target_of_make_is_run_and_one_that_fails_does_not_hold(tmp_path: Path) -> None:
    rules = "".join(f"{target}:\n\ttest {target} != docs\n" for target in release.TARGETS)
    (tmp_path / "Makefile").write_text(f".PHONY: {' '.join(release.TARGETS)}\n{rules}")
    assert dict(release.targets(tmp_path)) == {f"make {target}": target != "docs" for target in release.TARGETS}
