"""The loops over rows for scores f(x) = <weights, x>, dense and sparse, and single steps for any score.

A `Rule` says how a round is played, as a plain tuple, which compiled code unpacks.
"""

from typing import TypeAlias

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import rounds
from dford.engine._compiled import compiled, inlined, live
from dford.engine.elementary import sigmoid
from dford.engine.rounds import CUTS, ROUNDS, play
from dford.engine.sketch import remember, remember_sparse
from dford.engine.vectors import add, add_dot_and_square, dot, dot_and_square, sparse_add, sparse_dot
from dford.engine.vectors import square as row_square

Rule: TypeAlias = tuple[bool, bool, float, bool, bool]  # directional, single, clip, always, ordered


@compiled
def learn_dense(
    state: Floats, n_levels: int, rule: Rule, table: Floats, seed: int, limit: float, X: Floats, lo: Ints, hi: Ints
) -> int:
    """Rows are checked as they are read: returns the first that is not finite or too large, or the number of rows.

    The update of a round is made along with the next one's product, so that each round passes over the weights once.
    """
    directional, single, clip, always, ordered = rule
    offset, none = CUTS + n_levels - 1, state[:0].reshape(2, 0)
    c = 0.0
    for r in range(len(X)):
        if c == 0.0:
            f, square = dot_and_square(state, offset, X, r)
        else:
            f, square = add_dot_and_square(c, X, r - 1, state, offset, r)
        if not square <= limit:
            return r
        c = play(
            state, none, n_levels, f, square, lo[r], hi[r], directional, single, table, seed, clip, always, ordered
        )
        remember(state, square, X, r)
    if c != 0.0:
        add(c, X, len(X) - 1, state, offset)
    return len(X)


@live
def ask_dense(
    state: Floats, n_levels: int, table: Floats, seed: int, ordered: bool, limit: float, x: Floats
) -> tuple[int, int, float, int]:
    """Like `rounds.ask`; for a row that is not finite or too large, returns level 0 and changes nothing."""
    X = x.reshape(1, x.size)
    f, square = dot_and_square(state, CUTS + n_levels - 1, X, 0)
    if not square <= limit:
        return 0, 0, 0.0, 0
    return rounds.ask(state, n_levels, table, seed, ordered, f)


@live
def tell_dense(
    state: Floats, n_levels: int, single: bool, clip: float, always: bool,
    x: Floats, prediction: int, asked: int, propensity: float, higher: bool,
) -> int:  # fmt: skip
    offset, X = CUTS + n_levels - 1, x.reshape(1, x.size)
    f, square = dot_and_square(state, offset, X, 0)
    # X stands in for the window's terms, of which there are none
    c = rounds.answer(state, X, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)
    remember(state, square, X, 0)
    if c != 0.0:
        add(c, X, 0, state, offset)
    return int(state[ROUNDS])


@compiled
def scores_dense(weights: Floats, X: Floats) -> Floats:
    out = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        out[r] = dot(weights, 0, X, r)
    return out


@compiled
def learn_sparse(
    state: Floats, n_levels: int, rule: Rule, table: Floats, seed: int,
    data: Floats, indices: Ints, indptr: Ints, squares: Floats, lo: Ints, hi: Ints,
) -> None:  # fmt: skip
    directional, single, clip, always, ordered = rule
    offset, none = CUTS + n_levels - 1, state[:0].reshape(2, 0)
    for r in range(indptr.size - 1):
        begin, end = indptr[r], indptr[r + 1]
        f = sparse_dot(state, offset, data, indices, begin, end)
        c = play(
            state, none, n_levels, f, squares[r], lo[r], hi[r],
            directional, single, table, seed, clip, always, ordered,
        )  # fmt: skip
        remember_sparse(state, squares[r], data, indices, begin, end)
        if c != 0.0:
            sparse_add(c, data, indices, begin, end, state, offset)


@live
def tell_sparse(
    state: Floats, n_levels: int, single: bool, clip: float, always: bool, data: Floats, indices: Ints,
    square: float, prediction: int, asked: int, propensity: float, higher: bool,
) -> int:  # fmt: skip
    offset = CUTS + n_levels - 1
    f = sparse_dot(state, offset, data, indices, 0, data.size)
    none = state[:0].reshape(2, 0)
    c = rounds.answer(state, none, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)
    remember_sparse(state, square, data, indices, 0, data.size)
    sparse_add(c, data, indices, 0, data.size, state, offset)
    return int(state[ROUNDS])


@compiled
def scores_sparse(weights: Floats, data: Floats, indices: Ints, indptr: Ints) -> Floats:
    out = np.empty(indptr.size - 1)
    for r in range(out.size):
        out[r] = sparse_dot(weights, 0, data, indices, indptr[r], indptr[r + 1])
    return out


@live
def ask_scored(
    state: Floats, n_levels: int, table: Floats, seed: int, ordered: bool, f: float
) -> tuple[int, int, float, int]:
    return rounds.ask(state, n_levels, table, seed, ordered, f)


@live
def play_scored(
    state: Floats, terms: Floats, n_levels: int, rule: Rule, table: Floats, seed: int,
    X: Floats, f: float, square: float, lo: int, hi: int,
) -> float:  # fmt: skip
    directional, single, clip, always, ordered = rule
    c = play(
        state, terms, n_levels, f, square, lo, hi,
        directional, single, table, seed, clip, always, ordered,
    )  # fmt: skip
    remember(state, square, X, 0)
    return c


@live
def answer_scored(
    state: Floats, terms: Floats, n_levels: int, rule: Rule, X: Floats,
    f: float, square: float, prediction: int, asked: int, propensity: float, higher: bool,
) -> float:  # fmt: skip
    _, single, clip, always, _ = rule
    c = rounds.answer(state, terms, n_levels, f, square, prediction, asked, propensity, higher, single, clip, always)
    remember(state, square, X, 0)
    return c


@compiled
def predictions(state: Floats, n_levels: int, scores: Floats, ordered: bool) -> Ints:
    out = np.empty(scores.size, np.int64)
    for r in range(scores.size):
        out[r] = rounds.predict(state, n_levels, scores[r], ordered)
    return out


@live
def choose(state: Floats, table: Floats, seed: int, prediction: int) -> tuple[int, float, int]:
    return rounds.choose(state, table, seed, prediction)


@live
def weigh(state: Floats, n_levels: int, x: Floats, prediction: int, asked: int, propensity: float, higher: bool) -> int:
    """For forms that learn on their own: count the round about row x, and return how many there were."""
    _weigh(state, n_levels, x.reshape(1, x.size), 0, prediction, asked, propensity, higher)
    return int(state[ROUNDS])


@live
def weigh_all(
    state: Floats, n_levels: int, X: Floats, predictions: Ints, asked: Ints, propensity: Floats, higher: Bools
) -> None:
    """`weigh` for many rounds."""
    for r in range(asked.size):
        _weigh(state, n_levels, X, r, predictions[r], asked[r], propensity[r], higher[r])


@inlined
def _weigh(
    state: Floats, n_levels: int, X: Floats, r: int, prediction: int, asked: int, propensity: float, higher: bool
) -> None:
    rounds.weigh(state, n_levels, prediction, asked, propensity, higher)
    remember(state, row_square(X, r), X, r)
    state[ROUNDS] += 1.0


@live
def note(state: Floats, prediction: int, asked: int, lo: int, hi: int) -> None:
    """Add a round's error, if its label is known."""
    rounds.note(state, prediction, asked, lo, hi)


@live
def weigh_sparse(
    state: Floats, n_levels: int, data: Floats, indices: Ints, indptr: Ints, squares: Floats, predictions: Ints,
    asked: Ints, propensity: Floats, higher: Bools,
) -> None:  # fmt: skip
    """`weigh_all` for sparse rows."""
    for r in range(asked.size):
        rounds.weigh(state, n_levels, predictions[r], asked[r], propensity[r], higher[r])
        remember_sparse(state, squares[r], data, indices, indptr[r], indptr[r + 1])
        state[ROUNDS] += 1.0


@compiled
def play_predicted(
    state: Floats, n_levels: int, directional: bool, table: Floats, seed: int, X: Floats,
    predictions: Ints, lo: Ints, hi: Ints, answers: Ints,
) -> None:  # fmt: skip
    """Play rounds whose predictions are already made; fills in (level asked, higher), or (0, label)."""
    for r in range(len(predictions)):
        prediction = predictions[r]
        if directional:
            asked, propensity, _ = rounds.choose(state, table, seed, prediction)
            answers[r, 0], answers[r, 1] = asked, lo[r] > asked
            rounds.weigh(state, n_levels, prediction, asked, propensity, lo[r] > asked)
        else:
            asked = prediction
            answers[r, 0], answers[r, 1] = 0, lo[r]
            rounds.tell_label(state)
        remember(state, row_square(X, r), X, r)
        rounds.note(state, prediction, asked, lo[r], hi[r])
        state[ROUNDS] += 1.0


@compiled
def sigmoids(logits: Floats) -> Floats:
    out = np.empty_like(logits)
    for r in range(logits.shape[0]):
        for i in range(logits.shape[1]):
            out[r, i] = sigmoid(logits[r, i])
    return out
