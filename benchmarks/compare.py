"""Compare two runs of `make bench`: which ratios got better or worse by more than their noise.

    python benchmarks/compare.py [BEFORE AFTER]

Each is a commit, or the number of a line of benchmarks/history.jsonl, from 1, or from the end if negative; by default,
the last two lines. Each ratio has a range: its values when any one turn is left out. It has changed if the ranges
before and after do not overlap. Exits with 1 if one got worse.
"""

import argparse
import json
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).parent / "history.jsonl"


def find(runs: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The latest run of a commit, or one by its number."""
    of_commit = [run for run in runs if run["commit"] == name]
    if of_commit:
        return of_commit[-1]
    try:
        number = int(name)
        return runs[number - 1 if number > 0 else number]
    except (ValueError, IndexError):
        raise SystemExit(
            f"{name} is neither a commit nor the number of a run: the history has {len(runs)} runs; make bench adds one"
        ) from None


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, float, float, str]]:
    """Every ratio that both runs have, before and after, and how it changed: better, worse or "" for neither."""
    found = []
    for goal, old in before["goals"].items():
        new = after["goals"].get(goal)
        for i, ratio in enumerate(old["ratios"] if new else []):
            rose, fell = new["lowest"][i] > old["highest"][i], new["highest"][i] < old["lowest"][i]
            better, worse = (fell, rose) if new["less_is_better"] else (rose, fell)
            found.append((goal, ratio, new["ratios"][i], "better" if better else "worse" if worse else ""))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", default=["-2", "-1"], metavar="RUN", help="a commit or a number")
    parser.add_argument("--history", type=Path, default=HISTORY, metavar="FILE")
    arguments = parser.parse_args()
    if len(arguments.runs) != 2:
        parser.error(f"name two runs, or none; got {len(arguments.runs)}")
    lines = arguments.history.read_text(encoding="utf-8").splitlines() if arguments.history.exists() else []
    before, after = (find([json.loads(line) for line in lines], name) for name in arguments.runs)
    for run in (before, after):
        print(f"{run['commit']} of {run['date']}, {run['turns']} turns, Python {run['python']}, {run['machine']}")
    if before["machine"] != after["machine"]:
        print("These are two machines: a ratio that changed may be the machine's.")
    rows = changes(before, after)
    for goal, old, new, how in rows:
        print(f"{goal:76}{old:>9.3g} → {new:<9.3g}{how}")
    return int(any(how == "worse" for *_, how in rows))


if __name__ == "__main__":
    raise SystemExit(main())
