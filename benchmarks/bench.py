"""Rounds per second, ours and others', in one interleaved run.

    python benchmarks/bench.py [--quick] [--json FILE]

Every contestant plays once to warm up and compile, then all take turns, and the fastest turn of each counts:
anything else the machine does slows all of them alike. The ratios of every run are added to
benchmarks/history.jsonl, each with the lowest and highest value it has when any one turn is left out.
"""

import argparse
import copy
import importlib
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from dford import DFORD, PRIL, Auto, NewtonLogit, PRank
from dford.arrays import Floats, Ints
from dford.engine import loops, rounds
from peers import (
    GAMMA,
    TABLE,
    K,
    blas_loop,
    check_peers,
    draws_of,
    paper_loop,
    rbf_loop,
    rbf_scores,
    river_loop,
    tuned_loop,
)

FEATURES = (8, 100, 136, 1000)
WINDOWS = (100, 500, 1000, 2000)
PACKAGES = ("dford", "numpy", "numba", "scikit-learn", "river")
HISTORY = Path(__file__).parent / "history.jsonl"
Key = tuple[str, str, str]  # section, contestant, column


class Contestant(NamedTuple):
    key: Key
    rounds: int
    play: Callable[[], object]


class Goal(NamedTuple):
    text: str
    ratios: list[float]
    reached: bool
    less_is_better: bool = False


def levels_of(score: Floats, random: np.random.Generator) -> Ints:
    """Five levels of equal size, cut from a noisy score."""
    score = score / score.std() + 0.5 * random.standard_normal(score.size)
    return 1 + np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)


def stream(n: int, d: int) -> tuple[Floats, Ints]:
    random = np.random.default_rng(d)
    X = random.standard_normal((n, d))
    return X, levels_of(X.sum(axis=1), random)


def sparse_stream(n: int, d: int, per_row: int) -> tuple[Any, Ints]:
    random = np.random.default_rng(d)
    X = scipy.sparse.random(n, d, per_row / d, "csr", rng=random, data_rvs=random.standard_normal)
    return X, levels_of(X @ random.standard_normal(d), random)


def learn_alone(X: Floats, y: Ints) -> None:
    """`fit` without encoding labels or recording checkpoints."""
    rule = (True, True, math.inf, False, False)
    loops.learn_dense(rounds.new_state(K, X.shape[1]), K, rule, TABLE, 0, math.inf, X, y, y)


def go_on(model: DFORD, X: Floats, y: Ints) -> None:
    """On a copy, so that every turn plays the same rounds."""
    copy.deepcopy(model).partial_fit(X, y)


def live_loop(learner: type[DFORD | NewtonLogit], rows: list[Floats], labels: list[int]) -> None:
    model = learner(levels=range(1, K + 1), random_state=0)
    for x, label in zip(rows, labels, strict=True):
        question = model.ask(x)
        model.tell(question, higher=label > question.level)


def auto_pass(X: Floats, y: Ints) -> None:
    Auto(random_state=0).partial_fit(X, y)


def trees_once(X: Floats, y: Ints) -> None:
    """Grow trees once on as many answers, on one core."""
    level = 1 + np.arange(len(y)) % (K - 1)
    with threadpool_limits(1, "openmp"):
        HistGradientBoostingClassifier(early_stopping=False).fit(np.column_stack([X, level]), y > level)


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def enter() -> list[Contestant]:
    entered: list[Contestant] = []

    def add(section: str, name: str, column: str, n: int, play: Callable[..., object], *args: Any) -> None:
        entered.append(Contestant((section, name, column), n, partial(play, *args)))

    lightning: Any = None
    try:
        lightning = importlib.import_module("lightning.ranking")
    except ImportError:
        print("lightning: not installed here")

    for d in FEATURES:
        # 128 MB of rows at most. A Python loop has no overhead beyond its rounds, so the first 2,000 are enough for it.
        n, few = min(200_000, 16_000_000 // d), 2000
        X, y = stream(n, d)
        column = f"d={d}"
        add("linear", "DFORD fit", column, n, DFORD(random_state=0).fit, X, y)
        add("linear", "DFORD, compiled loop alone", column, n, learn_alone, X, y)
        if d <= 100:
            add("linear", "PRank fit", column, n, PRank().fit, X, y)
            add("linear", "PRIL fit", column, n, PRIL(random_state=0).fit, X, y)
        if d <= 136:
            for name, shuffle in (("SGDClassifier fit, two classes", True), ("the same, not shuffled", False)):
                sgd = SGDClassifier(max_iter=1, tol=None, shuffle=shuffle)  # shuffling is its default
                add("linear", name, column, n, sgd.fit, X, y > K // 2)
            if lightning:
                add("linear", "lightning PRank fit", column, n, lightning.PRank(n_iter=1, shuffle=False).fit, X, y)
        if d == FEATURES[-1]:
            add("linear", "a copy of the rows", column, n, np.copyto, np.empty_like(X), X)
        add("linear", "NumPy, tuned", column, few, tuned_loop, X[:few], y[:few], draws_of(0, few))
        add("linear", "NumPy, as in the paper", column, few, paper_loop, X[:few], y[:few], np.random.default_rng(0))

    for d in (1000, 10_000, 100_000):
        X, y = sparse_stream(20_000, d, per_row=50)
        for learner in (DFORD, NewtonLogit):
            name = f"{learner.__name__} fit, 50 non-zeros"
            add("sparse", name, f"d={d}", len(y), learner(random_state=0).fit, X, y)

    for d in (10, 100):
        X, y = stream(5000, d)
        add("one live round", "DFORD ask + tell", f"d={d}", len(y), live_loop, DFORD, list(X), y.tolist())
        rows = [dict(enumerate(x)) for x in X.tolist()]
        add("one live round", "River predict + learn", f"d={d}", len(y), river_loop, rows, (y > K // 2).tolist())

    X, y = stream(5000, 20 - K)
    add(
        "one live round",
        "NewtonLogit ask + tell, d + K = 20",
        "d=10",
        len(y),
        live_loop,
        NewtonLogit,
        list(X),
        y.tolist(),
    )
    for n in (100, 500):
        X, y = stream(500, n - K + 1)
        newton = NewtonLogit(random_state=0, covariance="full")
        add("Newton's step", "NewtonLogit", f"parameters={n}", len(y), newton.fit, X, y)
        for name, cores in (("BLAS dsymv + dsyr, one core", 1), ("the same, all cores", None)):
            add("Newton's step", name, f"parameters={n}", len(y), blas_loop, n, len(y), cores)
    for n in (100, 1000):
        X, y = stream(2000, n - K + 1)
        diagonal = NewtonLogit(random_state=0, covariance="diagonal")
        add("Newton's step", "NewtonLogit, diagonal", f"parameters={n}", len(y), diagonal.fit, X, y)

    X, y = stream(10_000, 8)
    add("10,000 answers, d=8", "Auto", "all", 1, auto_pass, X, y)
    add("10,000 answers, d=8", "HistGradientBoosting fit, once", "all", 1, trees_once, X, y)

    for window in WINDOWS:
        column, before = f"window={window}", 2 * max(WINDOWS)  # every window is full when the clock starts
        for kernel, degree, d in (("poly", 2, 2), ("poly", 3, 10), ("rbf", 1, 8)):
            X, y = stream(before + 10_000, d)
            model = DFORD(kernel=kernel, degree=degree, gamma=GAMMA, window=window, random_state=0)
            model.fit(X[:before], y[:before])
            section = f"rbf, d={d}" if kernel == "rbf" else f"poly of degree {degree}, d={d}"
            add(section, "DFORD", column, 10_000, go_on, model, X[before:], y[before:])
        add(section, "NumPy, tuned", column, 2000, rbf_loop, X[:2000], y[:2000], draws_of(0, 2000), window)
        add(section, "NumPy, its matvec alone", column, 2000, rbf_scores, X[:2000], X[: window + 1])

    for code in ("import sklearn", "import dford", "import sklearn, numba", "from dford import Auto"):
        add("start", code, "process", 1, start, code)
    return entered


def race(contestants: Sequence[Contestant], repeats: int) -> dict[Key, list[float]]:
    """The turns of each contestant, in nanoseconds per round."""
    turns: dict[Key, list[float]] = {c.key: [] for c in contestants}
    for turn in range(repeats + 1):
        for key, n, play in contestants:
            begin = time.perf_counter_ns()
            play()
            if turn:
                turns[key].append((time.perf_counter_ns() - begin) / n)
    return turns


def fastest(turns: dict[Key, list[float]], without: int | None = None) -> dict[Key, float]:
    """The fastest turn of each, or of all turns but one."""
    return {key: min(ns for turn, ns in enumerate(took) if turn != without) for key, took in turns.items()}


def goals_of(best: dict[Key, float]) -> list[Goal]:
    def times(section: str, slower: str, faster: str, columns: Sequence[str]) -> list[float]:
        return [best[section, slower, c] / best[section, faster, c] for c in columns]

    linear = [f"d={d}" for d in FEATURES]
    windows = [f"window={w}" for w in WINDOWS]
    paper = times("linear", "NumPy, as in the paper", "DFORD fit", linear[:3])
    # a copy reads and writes every row; learning only reads it
    memory = [
        best["linear", "a copy of the rows", linear[-1]] / 2 / best["linear", name, linear[-1]]
        for name in ("DFORD fit", "DFORD, compiled loop alone")
    ]
    sgd = times("linear", "SGDClassifier fit, two classes", "DFORD fit", linear[:3])
    flat = [
        best[section, "DFORD", windows[-1]] / best[section, "DFORD", windows[0]]
        for section in ("poly of degree 2, d=2", "poly of degree 3, d=10")
    ]
    rbf = times("rbf, d=8", "NumPy, its matvec alone", "DFORD", windows)
    live = times("one live round", "River predict + learn", "DFORD ask + tell", ("d=10", "d=100"))
    newton = times("one live round", "River predict + learn", "NewtonLogit ask + tell, d + K = 20", ("d=10",))
    blas = times("Newton's step", "BLAS dsymv + dsyr, one core", "NewtonLogit", ("parameters=500",))
    diagonal = [best["Newton's step", "NewtonLogit, diagonal", f"parameters={n}"] for n in (1000, 100)]
    stored = [best["sparse", "NewtonLogit fit, 50 non-zeros", f"d={d}"] for d in (10_000, 1000)]
    grows, stays = [diagonal[0] / diagonal[1]], [stored[0] / stored[1]]
    seconds = [best["10,000 answers, d=8", "Auto", "all"] / 1e9]
    startup = times("start", "import dford", "import sklearn", ("process",))
    startup += times("start", "from dford import Auto", "import sklearn, numba", ("process",))
    return [
        Goal("fit: at least 100 times as fast as the paper's loop, d = 8, 100, 136", paper, min(paper) >= 100),
        Goal("fit, and its loop alone: at least 0.7 of a copy's bytes a second, d = 1000", memory, min(memory) >= 0.7),
        Goal("fit: at least 2.5 times as fast as SGDClassifier, d = 8, 100, 136", sgd, min(sgd) >= 2.5),
        Goal("poly of degree 2 and 3: window 2000 at most 1.5 times window 100", flat, max(flat) <= 1.5, True),
        Goal("rbf: at least 10 times as fast as NumPy's matvec, by window", rbf, min(rbf) >= 10),
        Goal("live: no slower than River at d = 10, 3 times as fast at 100", live, live[0] >= 1 and live[1] >= 3),
        Goal("NewtonLogit live, d + K = 20: no slower than River at d = 10", newton, newton[0] >= 1),
        Goal("NewtonLogit, 500 parameters: no slower than dsymv + dsyr on one core", blas, blas[0] >= 1),
        Goal("NewtonLogit, diagonal: 1000 parameters at most 10 times 100", grows, grows[0] <= 10, True),
        Goal("NewtonLogit, sparse, 50 non-zeros: d = 10000 at most 1.5 times d = 1000", stays, stays[0] <= 1.5, True),
        Goal("Auto: 10,000 answers with all growing of trees, below 20 s", seconds, seconds[0] < 20, True),
        Goal(
            "import dford: at most 1.1 times sklearn; Auto: 1.2 times sklearn and numba", startup, _quick(startup), True
        ),
    ]


def _quick(startup: Sequence[float]) -> bool:
    return startup[0] <= 1.1 and startup[1] <= 1.2


def readable(ns: float) -> str:
    unit, size = next(((u, s) for u, s in (("ms", 1e6), ("µs", 1e3)) if ns >= s), ("ns", 1.0))
    return f"{ns / size:.3g} {unit}" if ns < 1e9 else f"{ns / 1e9:.3g} s"


def ratio(best: dict[Key, float], key: Key) -> float:
    """How many times as long as the section's first contestant."""
    section, _, column = key
    return best[key] / next(ns for (s, _, c), ns in best.items() if (s, c) == (section, column))


def show(best: dict[Key, float]) -> None:
    """One table per section, with times and ratios."""
    for section in dict.fromkeys(section for section, _, _ in best):
        names = list(dict.fromkeys(name for s, name, _ in best if s == section))
        columns = list(dict.fromkeys(column for s, _, column in best if s == section))
        print(f"\n{section:32}" + "".join(f"{column:>20}" for column in columns))
        for name in names:
            keys = [(section, name, column) for column in columns]
            cells = [f"{readable(best[k])} {ratio(best, k):7.3g}×" if k in best else "" for k in keys]
            print(f"{name:32}" + "".join(f"{cell:>20}" for cell in cells))


def note(turns: dict[Key, list[float]]) -> dict[str, Any]:
    """What the history keeps of a run: each goal's ratios, and their range over all turns and with any one left out."""
    n_turns = len(next(iter(turns.values())))
    runs = [goals_of(fastest(turns, without)) for without in (None, *range(n_turns))]
    git = ["git", "describe", "--always", "--dirty"]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": subprocess.run(git, capture_output=True, text=True, cwd=HISTORY.parent).stdout.strip(),
        "machine": platform.platform(),
        "python": platform.python_version(),
        "turns": n_turns,
        "goals": {
            goals[0].text: {
                "ratios": goals[0].ratios,
                "lowest": [min(some) for some in zip(*(goal.ratios for goal in goals), strict=True)],
                "highest": [max(some) for some in zip(*(goal.ratios for goal in goals), strict=True)],
                "less_is_better": goals[0].less_is_better,
            }
            for goals in zip(*runs, strict=True)
            if not goals[0].text.endswith(" s")  # seconds only mean something on one machine at one moment
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two turns each instead of seven")
    parser.add_argument("--json", default="bench.json", metavar="FILE", help="where to write the figures")
    arguments = parser.parse_args()
    check_peers(*stream(2000, 8))
    turns = race(enter(), 2 if arguments.quick else 7)
    best = fastest(turns)
    show(best)
    goals = goals_of(best)
    print(f"\n{'goal':76}{'measured':>26}  reached")
    for text, ratios, reached, _ in goals:
        print(f"{text:76}{', '.join(f'{r:.3g}' for r in ratios):>26}  {'yes' if reached else 'no'}")
    figures = {
        "machine": platform.platform(),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
        "rows": [
            {"section": k[0], "contestant": k[1], "column": k[2], "ns_per_round": ns, "ratio": ratio(best, k)}
            for k, ns in best.items()
        ],
        "goals": [goal._asdict() for goal in goals],
    }
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=1, ensure_ascii=False)
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(note(turns), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
