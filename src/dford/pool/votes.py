"""What programs and columns of ratings say about items: something to learn from, and where to start. People decide.

A program's opinion of an item is what its answers leave: an even chance for each level between them. A column whose
values are levels is one more program. The opinions about an item, their mean and spread, and the votes for each level
are columns that models of levels learn from, so how far they are right, and how much alike they are, is learned from
what people say. The votes are a prior as well: all there is before a person answers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Floats, Ints
from dford.columns.column import Column
from dford.columns.tables import read_table
from dford.columns.values import is_missing, number, whole, word
from dford.engine.beliefs import opinions
from dford.engine.beliefs.opinions import RATED
from dford.learners import Rows
from dford.pool.agreement import AnswerColumns, Voice
from dford.pool.reliability import Groups

_SLIPS = 0.05  # how often an answer is assumed to be a slip, so that two that contradict each other leave something
# Until people have answered, nothing shows how good programs are, or whether they are copies of one another. So this
# share of a vote stays where it is, and this one goes to the neighbouring levels, the rest to any.
_KEPT, _NEAR = 0.4, 0.2
_MOST_LEVELS = 100  # of a scale on which ratings are looked for
_FEW = 3  # levels: a column with two values may be anything


class RatingColumn(NamedTuple):
    """A feature whose values are levels."""

    feature: int
    values: tuple[float, ...]
    """What stands for each level, lowest first."""


def column_ratings(column: Column, given: Floats, levels: Sequence[Any]) -> tuple[float, ...] | None:
    """What stands for each level in a column of a table that became these numbers; None if they are no ratings."""
    if column.kind == "order":
        is_scale = len(levels) >= _FEW and list(column.categories) == [word(level) for level in levels]
        return tuple(map(float, range(len(levels)))) if is_scale else None
    return rating_values(given, as_numbers(levels)) if column.kind == "number" else None


def as_numbers(levels: Sequence[Any]) -> Sequence[Any]:
    """The levels as numbers, if that is what all their names are: ratings may be numbers, too."""
    found = [number(level) for level in levels]
    return levels if np.isnan(found).any() else found


def rating_values(column: Floats, levels: Sequence[Any]) -> tuple[float, ...] | None:
    """What stands for each level in a column of ratings; None if it is none."""
    known, n = np.unique(column[~np.isnan(column)]), len(levels)
    if n < _FEW or not _FEW <= len(known) <= n + 1:
        return None
    if all(isinstance(level, (int, float, np.number)) for level in levels):
        own = np.array(levels, dtype=np.float64)
        there = np.isin(known, own)
        if there.sum() >= max(_FEW, (n + 1) // 2) and (~there).sum() <= 1:
            return tuple(own.tolist())
    whole = known[known == np.round(known)]
    if len(whole) == n and whole[-1] - whole[0] == n - 1:
        return tuple(whole.tolist())
    return None


def ratings(X: Rows, columns: Sequence[RatingColumn]) -> Ints:
    """The level that each of these columns gives to each row, from 0, or -1."""
    found = np.full((X.shape[0], len(columns)), -1)
    for place, (feature, values) in enumerate(columns):
        own = column_of(X, feature)
        for level, value in enumerate(values):
            found[own == value, place] = level
    return found


def column_of(X: Rows, feature: int) -> Floats:
    """One feature of all rows."""
    found: Floats = X[:, [feature]].toarray()[:, 0] if sparse.issparse(X) else X[:, feature]
    return found


def read_ratings(X: Any) -> list[tuple[Any, Any, str | None]]:
    """The item, the level and the person of each row of a table of ratings."""
    table = read_table(X)
    lacking = [name for name in ("item", "level") if name not in table]
    if lacking or set(table) - {"item", "level", "person"}:
        raise ValueError(
            f"a table of ratings has the columns item, level and, if it is known, person; got {', '.join(table)}"
        )
    people = table.get("person", [None] * len(table["item"]))
    return [
        (whole(item, f"the item of row {i} of the ratings"), level, None if is_missing(person) else person)
        for i, (item, level, person) in enumerate(zip(table["item"], table["level"], people, strict=True))
    ]


def ordered_by(X: Any, levels: Sequence[Any]) -> dict[str, list[str]]:
    """The columns of a table whose values are names of levels, of which there are at least three: ratings in words."""
    names = [str(level) for level in levels]
    if not 3 <= len(names) <= _MOST_LEVELS or not all(isinstance(level, str) for level in levels):
        return {}
    found = {}
    for column, given in read_table(X).items():
        known = [value for value in given if not is_missing(value)]
        words = {word(value) for value in known} if all(isinstance(value, str) for value in known) else set()
        if len(words) > 1 and words <= set(names):
            found[column] = names
    return found


class Votes(NamedTuple):
    """The opinions of programs, and of columns of ratings, about some items."""

    shares: Floats
    """The mean opinion about each item, smoothed; even if there is none."""
    columns: Floats
    """What there is to learn from, a row per item."""
    asked: Floats
    """How many answers there were about each cut."""

    @classmethod
    def of(cls, told: AnswerColumns, voices: Sequence[Voice], rated: Ints, n_levels: int) -> "Votes | None":
        """Those in these answers, and in these ratings of all items by columns; None if there are none."""
        n_items = len(rated)
        items, people, each, said = _opinions(told, voices, rated, n_levels)
        if not len(items):
            return None
        counts = np.bincount(items, minlength=n_items)
        is_there, one = counts > 0, np.maximum(counts, 1)[:, None]
        votes = _sums(items, each, n_items) / one
        levels = sum((k * each[:, k] for k in range(1, n_levels)), np.zeros(len(each)))
        mean = _sums(items, levels[:, None], n_items) / one
        squares = _sums(items, (levels * levels)[:, None], n_items) / one
        mean = np.where(is_there[:, None], mean, mean[is_there].mean())
        programs, who = np.unique(people, return_inverse=True)
        own = np.repeat(mean, len(programs), axis=1)
        own[items, who] = levels
        spread = np.sqrt(np.maximum(squares - mean * mean, 0.0)) * is_there[:, None]
        marks = [] if is_there.all() else [is_there[:, None].astype(float)]
        shares = np.where(is_there[:, None], _smoothed(votes), 1.0 / n_levels)
        return cls(shares, np.concatenate([own, mean, spread, votes, *marks], axis=1), said)

    def above(self) -> Floats:
        """How likely each item is to be above each cut, by the votes."""
        found: Floats = 1.0 - self.shares.cumsum(axis=1)[:, :-1]
        return found

    def with_features(self, X: Rows) -> tuple[Rows, Floats]:
        """The items' features and these columns; and the same for models of dense rows, without texts."""
        if not sparse.issparse(X):
            both = np.concatenate([X, self.columns], axis=1)
            return both, both
        scaled = self.columns - self.columns.mean(axis=0)
        scaled /= np.maximum(np.abs(scaled).max(axis=0), 1e-9)
        return sparse.hstack([X, sparse.csr_matrix(scaled)], "csr"), self.columns


def start(rated: Ints, n_levels: int) -> Floats:
    """The priors of items about which nothing is known but these ratings by columns."""
    nothing, there = np.empty(0, np.int64), (rated >= 0).sum(axis=1) > 0
    found = np.full((len(rated), n_levels), 1.0 / n_levels)
    votes = Votes.of(AnswerColumns(nothing, nothing, nothing, nothing), (), rated, n_levels)
    if votes is not None:
        found[there] = votes.shares[there]
    return found


def _opinions(
    told: AnswerColumns, voices: Sequence[Voice], rated: Ints, n_levels: int
) -> tuple[Ints, Ints, Floats, Floats]:
    """The item and the program of each opinion, what it is, and how many answers there were about each cut."""
    groups = Groups.of(told, voices)
    sure = np.array([voice.eighths / 8.0 if voice.eighths else 1.0 for voice in voices])
    rates = np.maximum(1.0 - sure, _SLIPS)[groups.voices] if len(groups.voices) else np.empty(0)
    each = opinions.opinions(groups.starts, groups.cuts, groups.said, rates, n_levels)
    item, column = np.nonzero(rated >= 0)
    by_level = np.full((n_levels, n_levels), _SLIPS / (n_levels - 1)) + np.eye(n_levels) * (
        1.0 - _SLIPS - _SLIPS / (n_levels - 1)
    )
    whole = len(item) + np.count_nonzero(told.said == RATED)
    asked = np.bincount(told.cut[told.said != RATED], minlength=n_levels - 1)[: n_levels - 1] + whole
    return (
        np.concatenate([groups.items, item]),
        np.concatenate([groups.people, len(voices) + column]),
        np.concatenate([each, by_level[rated[item, column]]]),
        asked.astype(float),
    )


def _sums(items: Ints, rows: Floats, n_items: int) -> Floats:
    """The sums of these rows by item."""
    return np.stack([np.bincount(items, column, n_items) for column in rows.T], axis=1)


def _smoothed(votes: Floats) -> Floats:
    """With a share of each vote given to the neighbouring levels, and one to all."""
    n_levels = votes.shape[1]
    near = np.zeros(votes.shape)
    near[:, 1:] += votes[:, :-1] / 2.0
    near[:, :-1] += votes[:, 1:] / 2.0
    near[:, [0, -1]] += votes[:, [0, -1]] / 2.0
    found: Floats = _KEPT * votes + _NEAR * near + (1.0 - _KEPT - _NEAR) / n_levels
    return found
