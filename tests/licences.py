"""The licences of everything that dford and its extras bring, as they are installed here.

    python tests/licences.py [EXTRA ...]

Exits with 1 if a licence is unknown, or asks for more than a notice and has no reason below.
"""

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any, NamedTuple

from packaging.requirements import Requirement

# All of these ask for a notice and nothing else; by SPDX identifier, or as older metadata has it.
PERMISSIVE = {
    "0BSD", "3-Clause BSD License", "Apache 2.0", "Apache Software License", "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception", "BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC",
    "ISC License", "MIT", "MIT License", "MIT-CMU", "PSF-2.0", "Python Software Foundation License", "Zlib",
}  # fmt: skip
# None of these is part of dford: users install them beside it, unchanged, and may replace them.
REASONS = {
    "axe-playwright-python": "MIT by the file that it brings; a tool of the tests",
    "certifi": "MPL-2.0, which asks for changes to its own files alone",
    "hypothesis": "MPL-2.0, likewise; a tool of the tests",
    "mord": "BSD-3-Clause by the file that it brings; compared with, in studies",
    "pathspec": "MPL-2.0, likewise; a tool of the build",
    "psycopg": "LGPL-3.0, which lets anything import it",
    "psycopg-binary": "LGPL-3.0, likewise",
}


class Found(NamedTuple):
    name: str
    version: str
    licence: str
    problem: str


def judge(name: str, licence: str) -> str:
    """What is wrong with a licence; nothing if a notice is all it asks for, or a reason is given above."""
    parts = re.split(r" AND |; ", licence)
    if name in REASONS or all(PERMISSIVE & set(re.split(r" OR ", part.strip("()"))) for part in parts):
        return ""
    problem = f"has the licence {licence}, which is not known to be permissive" if licence else "names no licence"
    return f"{problem}: give a reason in tests/licences.py, or do without it"


def licence_of(package: Distribution) -> str:
    """The expression, else the classifiers, else the first line of the old field."""
    metadata: Any = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = [one.split(" :: ")[-1] for one in metadata.get_all("Classifier", []) if one.startswith("License ::")]
    named = [re.sub(r" \(.+\)$", "", one) for one in classifiers if one not in {"OSI Approved", "DFSG approved"}]
    return "; ".join(named) or str(metadata.get("License") or "").strip().split("\n")[0]


def installed(package: str, extras: set[str], seen: dict[tuple[str, str], Found]) -> list[Found]:
    """A package and everything it needs here, once for each of its extras."""
    for extra in ["", *sorted(extras)]:
        if (package, extra) in seen:
            continue
        try:
            found = distribution(package)
        except PackageNotFoundError:
            seen[package, extra] = Found(package, "", "", "is not installed")
            continue
        name, licence = re.sub(r"[-_.]+", "-", package).lower(), licence_of(found)
        seen[package, extra] = Found(name, found.version, licence, judge(name, licence))
        for text in found.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                installed(needed.name, needed.extras, seen)
    return sorted(set(seen.values()))


def main() -> int:
    every = set(distribution("dford").metadata.get_all("Provides-Extra", []))
    all_found = installed("dford", set(sys.argv[1:]) or every, {})
    for one in all_found:
        print(f"{one.name:32}{one.version:16}{one.licence or REASONS.get(one.name)}")
    for one in all_found:
        if one.problem:
            print(f"{one.name} {one.problem}", file=sys.stderr)
    return int(any(one.problem for one in all_found))


if __name__ == "__main__":
    raise SystemExit(main())
