"""The names in help and completion, which must not wait for imports. A test compares them with the real ones."""

LEARNERS = ("auto", "boosting", "dford", "newton", "prank", "pril")
LIVE_LEARNERS = ("auto", "boosting", "dford", "newton", "pril")
"""Those that learn from answers."""
STUDIES = ("pass", "split", "flips", "drift", "reliability", "pool", "people", "judges")
EXPERIMENTS = ("figure-1", "grid", "truncation", "curves", "label-sampling", "regret")
BACKENDS = ("processes", "dask", "ray")
PLAYED = (
    "synthetic",
    "abalone",
    "parkinsons",
    "california",
    "computer",
    "bank8FM",
    "mslr",
    "eachmovie",
    "bank32nh",
    "cpu_small",
)
"""Datasets of the paper's experiments."""
KEPT = (
    "abalone",
    "parkinsons",
    "california",
    "computer",
    "cpu_small",
    "bank8FM",
    "bank32nh",
    "mslr",
    "eachmovie",
    "movielens",
    "movies",
    "tweets",
    "raters",
    "offensive",
    "judges",
)
"""Datasets that have files."""
