"""A pool's ask and tell, by the number of its items: `python benchmarks/pool.py`.

Refreshes are not included: they run in the background and take effect later.
"""

import time
import tracemalloc

import numpy as np

from dford import NewtonLogit, Pool

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LEVELS, FEATURES, PAIRS = [1, 2, 3, 4, 5], 20, 400


def pairs(n_items: int) -> tuple[float, float]:
    """The median seconds for one question and its answer, and the bytes per item beyond its features."""
    X = np.random.default_rng(0).normal(size=(n_items, FEATURES))
    tracemalloc.start()
    pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=0)
    size = tracemalloc.get_traced_memory()[0] - X.nbytes
    tracemalloc.stop()
    took = []
    for n in range(PAIRS):
        start = time.perf_counter()
        question = pool.ask()
        pool.tell(question, n % 3 > 0)
        took.append(time.perf_counter() - start)
    return float(np.median(took)), size / n_items


def main() -> None:
    pairs(100)  # compiles
    print(f"{'items':>10}{'ask and tell':>16}{'bytes an item':>16}")
    for n_items in SIZES:
        seconds, size = pairs(n_items)
        print(f"{n_items:>10,}{1e3 * seconds:>13.2f} ms{size:>16.0f}", flush=True)
    print("goals: below 1 ms at 10,000 and 5 ms at 1,000,000; at most 200 bytes")


if __name__ == "__main__":
    main()
