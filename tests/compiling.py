"""Compile the engine once, before the tests: each test process then starts with a copy, and none waits for it.

Numba keys its cache by the file of the outermost function alone: a change in another file of the engine would go
unseen, so every version of the engine has a cache of its own. And two processes must not write to the same cache at
once (numba issues 4807 and 10128), so each part below has its own, and so does each test process.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import oldest_processor

ROOT = Path(__file__).parent.parent
_ENGINE = b"".join(path.read_bytes() for path in sorted((ROOT / "src/dford/engine").rglob("*.py")))
VERSION = hashlib.sha256(_ENGINE + version("numba").encode()).hexdigest()[:12]  # each numba drops the caches of others


def cache_of(process: str) -> Path:
    return ROOT / ".cache" / f"numba-{VERSION}-{process}"


def start_with_a_copy(process: str) -> None:
    """Have numba use a cache for this process alone, with everything compiled so far."""
    cache = cache_of(process)
    if not cache.exists() and cache_of("all").exists():
        shutil.copytree(cache_of("all"), cache)
    os.environ["NUMBA_CACHE_DIR"] = str(cache)


def use(model: Any, X: Any, y: Any) -> None:
    """Everything that a learner does, with read-only arrays too."""
    from dford import FeedbackLog

    arrays = (X.data, X.indices, X.indptr, y) if hasattr(X, "indptr") else (X, y)
    for may_be_written in (False, True):
        for array in arrays:
            array.setflags(write=may_be_written)
        model.fit(X, y).predict(X)
        if hasattr(model, "predict_proba"):
            model.predict_proba(X)
    if hasattr(model, "ask"):
        row = X[:1] if hasattr(X, "toarray") else X[0]
        log = FeedbackLog(model.classes_.tolist())
        log.append(model.ask(row), True)
        model.tell(model.ask(row), True).learned_from(log)
        model.learn_many(X, y, y, [0.5] * len(y), y > 2)
    model.predict_projection(X)


def paper() -> None:
    from scipy.sparse import csr_array, csr_matrix

    from dford import DFORD, PRIL, PRank
    from dford.datasets import make_synthetic

    X, y = make_synthetic(300, random_state=0)
    for model in (DFORD(random_state=0), PRank(), PRIL()):
        use(model, X, y)
        use(model, csr_matrix(X), y)
        use(model, csr_array(X, dtype=float), y)
    for kernel in ("poly", "rbf", "linear", lambda A, B: A @ B.T):
        for kind in (DFORD, PRank):
            use(kind(kernel=kernel, window=30), X, y)


def further() -> None:
    from scipy.sparse import csr_matrix

    from dford import Auto, Columns, DirectionalBoosting, NewtonLogit, Pool
    from dford.datasets import make_synthetic
    from dford.learners._trees.grower import warm_up

    warm_up()
    X, y = make_synthetic(300, random_state=0)
    for features in ("linear", "poly", "fourier"):
        use(NewtonLogit(features=features, random_state=0), X, y)
    pool = Pool(X, [1, 2, 3, 4, 5], learner=NewtonLogit(), audit=0.5, random_state=0)
    for n in range(60):
        pool.tell(pool.ask(), True)
        pool.tell(pool.ask(person="ann" if n % 2 else {"ben": range(300)}), n % 3 > 0)
    _ = pool.remaining(0.1), pool.levels_, pool.people_
    diagonal = NewtonLogit(covariance="diagonal", random_state=0)
    use(diagonal, csr_matrix(X), y)
    texts = [{"text": f"the number {n} of many", "size": float(n)} for n in range(300)]
    use(Auto(dense=1, random_state=0), Columns().fit(texts).transform(texts), y)
    for model in (diagonal, Auto(random_state=0), DirectionalBoosting(max_iter=5, random_state=0)):
        use(model, X, y)


def oldest() -> None:
    if (environment := oldest_processor.environment()) is not None:
        oldest_processor.digest(oldest_processor.MODELS[0], environment)


PARTS: dict[str, Callable[[], None]] = {"further": further, "paper": paper, "oldest": oldest}  # the longest first


def compile_part(name: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache_of(name))}
    subprocess.run([sys.executable, __file__, name], env=environment, check=True)


def compile_all() -> None:
    if cache_of("all").exists():
        return
    with ThreadPoolExecutor(2) as both:
        list(both.map(compile_part, PARTS))
    shutil.copytree(cache_of("paper"), cache_of("further"), dirs_exist_ok=True)  # where they overlap they are equal
    shutil.rmtree(cache_of("paper"))
    cache_of("further").rename(cache_of("all"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PARTS[sys.argv[1]]() if sys.argv[1:] else compile_all()
