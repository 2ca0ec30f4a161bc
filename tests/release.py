"""What must hold before a release: one line for each, and exit status 1 if something does not.

python tests/release.py
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGETS = ["docs", ".cache/wheel", "licences", "test"]
Line = tuple[str, bool]


def version_of(root: Path) -> str:
    return str(re.findall(r'^__version__ = "(.+)"$', (root / "src/dford/__init__.py").read_text(), re.MULTILINE)[0])


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def files(root: Path) -> Iterator[Line]:
    """What the files of the tree say; quick."""
    version = version_of(root)
    changes = (root / "CHANGELOG.md").read_text()
    dates = re.findall(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    yield (
        f"CHANGELOG.md begins with {version} and a date",
        bool(dates) and changes.index("\n## ") == changes.index(f"\n## {version} ({dates[0]})"),
    )
    citation = (root / "CITATION.cff").read_text()
    said = dict(re.findall(r"^(version|date-released): (.+)$", citation, re.MULTILINE))
    yield f"CITATION.cff has the version {version}", said.get("version") == version
    yield "CITATION.cff has the date of CHANGELOG.md", bool(dates) and said.get("date-released") == dates[0]
    saved = {file.name.removeprefix(f"{version}-") for file in (root / "tests/saved").glob(f"{version}-*")}
    kinds = {"learners": ".dford", "pools": ".pool", "logs": ".csv", "tables of logs": ".parquet", "databases": ".db"}
    for kind, ending in kinds.items():
        yield f"tests/saved has {kind} of {version}", any(name.endswith(ending) for name in saved)
    yield "everything is committed", git(root, "status", "--porcelain") == ""
    yield f"there is no tag v{version} yet", git(root, "tag", "--list", f"v{version}") == ""


def targets(root: Path) -> Iterator[Line]:
    """What make builds and runs; long."""
    for target in TARGETS:
        yield f"make {target}", subprocess.run(["make", target], cwd=root).returncode == 0


def main() -> int:
    held = []
    for check in (files, targets):
        for text, holds in check(ROOT):
            print(f"{'yes' if holds else 'NO':4}{text}", flush=True)
            held.append(holds)
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
