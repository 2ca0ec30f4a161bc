"""Items in a Parquet file that may be larger than memory, placed row group by row group, here or on a cluster.

All that is known about them is a log of answers, with the features of the items it is about. Copies of a learner learn
from it, each leaving out the answers about its own part of the items, as in a pool. Then every item is placed by what
its copy predicts and by its own answers. The same log and file give the same bits, wherever this runs.
"""

import operator
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dford.arrays import Floats
from dford.experiments.fan_out import fan_out
from dford.files import atomic_write
from dford.learners import Auto, LiveLearner
from dford.learners._forms.form import LARGEST_SQUARE
from dford.log import FeedbackLog
from dford.log_columns import invented
from dford.placing.known import Known, Told, read_known, read_told, write_known
from dford.pool.filling import Filling
from dford.pool.held_out_learners import PARTS, HeldOutLearners, Lessons
from dford.pool.items import Items
from dford.pool.reliability import alike, checked_error_rate
from dford.scale import Scale

T = TypeVar("T")
_BATCH = 2**16  # items in memory at once, in each process


class Placing(NamedTuple):
    """The result of placing a file."""

    items: int
    answered: int
    """How many of them the log has answers about."""
    expected_error: float
    """How far off the levels are expected to be, on average."""
    error_rate: float
    """How often an answer is estimated to be wrong."""


def place(
    file: str | os.PathLike[str],
    log: FeedbackLog,
    out: str | os.PathLike[str],
    *,
    learner: LiveLearner | None = None,
    error_rate: float | None = None,
    random_state: int = 0,
    first: int = 0,
    jobs: int = 1,
    backend: str = "processes",
    on_progress: Callable[[int, int], None] | None = None,
) -> Placing:
    """Place the items of a Parquet file and write their levels to another one, atomically.

    Parameters
    ----------
    file : path
        One item per row, with a column of numbers for each feature of the log, by name. On a cluster, all nodes must
        see this file and the folder of `out`.
    log : FeedbackLog
        Answers, each with its `item`: the number of the row. Those without one are learned from but count for no item.
    out : path
        A .parquet file with the columns item, level, P(...) for each level, error (how far off the level is expected to
        be) and answers (how many there are about the item).
    learner : LiveLearner, optional
        One with `predict_proba`; by default `Auto()`.
    error_rate : float, optional
        How often an answer is wrong; by default learned from the questions that the log has twice.
    random_state : int, default=0
    first : int, default=0
        The number that the log gives to the first row.
    jobs : int, default=1
        How many processes or tasks run at once; -1 for one per core.
    backend : {"processes", "dask", "ray"}
    on_progress : callable, optional
        Called with the number of parts done and the number of all parts.
    """
    from pyarrow import parquet

    path, out = Path(file), Path(out)
    if out.suffix != ".parquet":
        raise ValueError(f"levels are written to a .parquet file; got {out.name!r}")
    if out.exists() and path.exists() and out.samefile(path):
        raise ValueError(f"{out.name} holds the items; write their levels to another file")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {out.parent} to write {out.name} into")
    error_rate = checked_error_rate(error_rate)
    learner = Auto() if learner is None else learner
    if not isinstance(learner, LiveLearner) or not hasattr(learner, "predict_proba"):
        raise TypeError(f"placing needs a learner with ask, tell and predict_proba, such as Auto(); got {learner!r}")
    if not len(log.without_guesses()):
        raise ValueError("the log has no answers, except guesses; placing needs at least one")
    if operator.index(random_state) < 0:
        raise ValueError(f"random_state must be 0 or more; got {random_state!r}")
    if log.is_sparse:
        raise ValueError(
            "the log has sparse rows, as logs of texts do; placing a file works only with columns of numbers"
        )
    names = list(log.feature_names or invented(log.X.shape[1]))
    starts = _starts(path, names, operator.index(first), log.feature_names is None)
    if starts[-1] == starts[0]:
        raise ValueError(f"{path.name} has no items")
    told = read_told(log)
    if len(told.answered) and not (starts[0] <= told.answered[0] and told.answered[-1] < starts[-1]):
        outside = told.answered[(told.answered < starts[0]) | (told.answered >= starts[-1])][0]
        raise ValueError(
            f"the log has an answer about item {outside}, but the file has the items {starts[0]} to {starts[-1] - 1}; "
            "if they are numbered from another number, pass it as first"
        )
    n_groups = len(starts) - 1
    done = iter(range(1, PARTS + n_groups + 1))

    def run(function: Callable[[T], Any], inputs: Iterable[T]) -> list[Any]:
        given = list(inputs)
        found: list[Any] = [None] * len(given)
        with closing(fan_out(function, given, jobs, backend)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                found[outcome.place] = outcome.value
                if on_progress is not None:
                    on_progress(next(done), PARTS + n_groups)
        return found

    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        known, files = Path(folder) / "known", [Path(folder) / f"{group}.parquet" for group in range(n_groups)]
        parts = range(PARTS if names else 0)
        models = run(_learn, [_Part(part, learner, log.scale.names, random_state, told) for part in parts])
        rate = write_known(known, told, log.scale, names, models, type(learner), error_rate, random_state)
        groups = [_Group(type(learner), path, group, starts[group], known, file) for group, file in enumerate(files)]
        errors = run(_place_group, groups)
        with atomic_write(out) as draft, parquet.ParquetWriter(draft, _schema(log.scale)) as writer:
            for file in files:
                with parquet.ParquetFile(file) as read:
                    for group in range(read.num_row_groups):
                        writer.write_table(read.read_row_group(group))
    n_items = starts[-1] - starts[0]
    return Placing(n_items, len(told.answered), sum(errors) / max(n_items, 1), rate)


class _Part(NamedTuple):
    number: int
    learner: LiveLearner
    levels: list[Any]
    seed: int
    told: Told


class _Group(NamedTuple):
    kind: Any  # the class of the learner
    file: Path
    group: int
    start: int
    known: Path
    part: Path


def _starts(path: Path, names: list[str], first: int, is_unnamed: bool) -> list[int]:
    """The numbers of the first items of all row groups, and the one after the last."""
    import pyarrow as pa
    from pyarrow import parquet, types

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file: {error}") from None
    for name in names:
        if schema.names.count(name) != 1:
            columns = f"{schema.names.count(name)} such columns"
            why = (
                "; the log does not name its features, as the pool was made from rows without names or with categories"
            )
            raise ValueError(
                f"the log has a feature {name!r}, but {path.name} has {columns}{why if is_unnamed else ''}"
            )
        kind = schema.field(name).type
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise ValueError(f"the column {name!r} of {path.name} must have numbers; got the type {kind}")
    heights = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return [first, *(first + np.cumsum(heights, dtype=np.int64)).tolist()]


def _learn(given: _Part) -> bytes:
    """A copy of the learner, trained on all answers except those about items of its part."""
    own, told = HeldOutLearners(given.learner, Scale(given.levels), given.seed), given.told
    rows, parts = Filling.of(told.X).fill(told.X), np.where(told.items < 0, -1, own.parts(told.items))
    own.learn_part(given.number, Lessons(rows, parts, told.cuts, told.levels, told.propensities, told.higher))
    return bytes(own.models[given.number].packing(log=False)())


def _place_group(given: _Group) -> float:
    """Place the items of one row group; returns the sum of their expected errors."""
    from pyarrow import parquet

    known, start, total = read_known(given.known, given.kind), given.start, 0.0
    with (
        parquet.ParquetFile(given.file) as file,
        parquet.ParquetWriter(given.part, _schema(known.scale)) as writer,
    ):
        for batch in file.iter_batches(_BATCH, row_groups=[given.group], columns=known.names):
            columns = [
                batch.column(name).cast("float64", safe=False).to_numpy(zero_copy_only=False) for name in known.names
            ]
            X = np.stack(columns, axis=1) if columns else np.empty((batch.num_rows, 0))
            table, error = _place(known, start, X)
            writer.write_table(table)
            start, total = start + len(X), total + error
    return total


def _place(known: Known, start: int, X: Floats) -> tuple[Any, float]:
    import pyarrow as pa

    numbers, items = np.arange(start, start + len(X)), Items(len(known.scale), 0)
    items.add(len(X))
    some = slice(*np.searchsorted(known.answered, [start, start + len(X)]))
    places = known.answered[some] - start
    own, there = known.own[some], X[places]
    if not (same := ((there == own) | (np.isnan(there) & np.isnan(own))).all(axis=1)).all():
        raise ValueError(
            f"item {known.answered[some][~same][0]} has different features in the file and in the log; check that this "
            "is the right file, and the number of its first item"
        )
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0]
        raise ValueError(f"the column {known.names[column]!r} of item {start + row} is infinite")
    items.evidence[places], items.counts[places] = known.evidence[some], known.counts[some]
    prior = np.tile(known.usual, (len(X), 1))
    told = ~known.filling.lacking(X) & bool(known.names)
    if told.any():
        rows, parts = known.filling.fill(X[told]), known.learners.parts(numbers[told])
        with np.errstate(over="ignore"):
            large = (rows * rows).sum(axis=1) > LARGEST_SQUARE
        if large.any():
            raise ValueError(f"item {numbers[told][large][0]} is too large to learn from; rescale the features")
        yes = known.learners.chances_of(numbers[told], rows)
        prior[told] = known.fitted.priors(yes, rows, parts)
    items.believe(prior, items.evidence, alike(0.0, len(known.scale)))
    levels, errors = items.placements()
    beliefs = items.beliefs(np.arange(len(X)))
    columns = [numbers, known.scale.array[levels], *beliefs.T, errors, items.counts]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=_schema(known.scale)), float(
        errors.sum()
    )


def _schema(scale: Scale) -> Any:
    import pyarrow as pa

    chances = [(f"P({name})", pa.float64()) for name in scale.names]
    level = pa.array(scale.array).type
    return pa.schema(
        [("item", pa.int64()), ("level", level), *chances, ("error", pa.float64()), ("answers", pa.int32())]
    )
