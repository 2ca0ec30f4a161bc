"""Numbers become levels, and features are scaled, by the rules that are written down."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from dford.cli._tables import _in_steps
from dford.datasets import at_cuts, equal_frequency, in_steps, normalise
from dford.datasets._bunch import bunch

number = st.floats(-1e6, 1e6)
few = st.integers(-5, 5).map(float)  # for many ties
columns = st.lists(number | few, min_size=1, max_size=60).map(np.array)


def in_order(values: NDArray[np.float64], levels: NDArray[np.int64]) -> bool:
    return bool((np.diff(levels[np.argsort(values, kind="stable")]) >= 0).all())


@given(columns, st.lists(number | few, min_size=1, max_size=8, unique=True).map(sorted))
def test_a_level_counts_the_cuts_below_the_value(values: NDArray[np.float64], cuts: list[float]) -> None:
    assert at_cuts(values, cuts).tolist() == [1 + sum(cut < value for cut in cuts) for value in values]


@given(columns, st.integers(1, 20), st.integers(-50, 50), st.integers(2, 12))
def test_steps_are_intervals_of_equal_width(values: NDArray[np.float64], step: int, start: int, n_levels: int) -> None:
    for value, level in zip(values, in_steps(values, step, start=start, n_levels=n_levels), strict=True):
        assert level == 1 or value > start + step * (level - 1)
        assert level == n_levels or value <= start + step * level


decimal = st.decimals(Decimal("0.001"), 50, places=3)


@given(decimal, st.integers(-30, 30), st.integers(2, 40))
def test_a_multiple_of_a_decimal_step_ends_a_level(step: Decimal, first: int, n_levels: int) -> None:
    start = first * step
    ends = [start + k * step for k in range(1, n_levels + 1)]
    numbers = [float(end) for end in ends]
    assert in_steps(numbers, float(step), start=float(start), n_levels=n_levels).tolist() == [*range(1, n_levels + 1)]
    above = [float(end + step / 1000) for end in ends[:-1]]
    assert in_steps(above, float(step), start=float(start), n_levels=n_levels).tolist() == [*range(2, n_levels + 1)]
    # as --steps, which starts at the multiple below the lowest number
    assert _in_steps(np.array(numbers), float(step)).tolist() == [*range(1, n_levels + 1)]


@given(st.lists(few, min_size=10, max_size=60).map(np.array), st.integers(2, 5))
def test_by_value_equal_values_share_a_level_and_none_is_empty(values: NDArray[np.float64], n_levels: int) -> None:
    try:
        levels = equal_frequency(values, n_levels)
    except ValueError:
        reject()
    assert in_order(values, levels)
    assert set(levels) == set(range(1, n_levels + 1))
    assert all(len(set(levels[values == value])) == 1 for value in values)


def quantile(values: list[int], part: Fraction) -> Fraction:
    """Linear between neighbours, without rounding."""
    place = part * (len(values) - 1)
    low, high = sorted(values)[math.floor(place)], sorted(values)[math.ceil(place)]
    return low + (place - math.floor(place)) * (high - low)


@given(st.lists(st.integers(-500, 500), min_size=10, max_size=60, unique=True), st.integers(2, 10))
def test_by_value_distinct_values_are_cut_at_the_quantiles_into_equal_levels(values: list[int], n_levels: int) -> None:
    levels = equal_frequency(values, n_levels)
    cuts = [quantile(values, Fraction(k, n_levels)) for k in range(1, n_levels)]
    assert levels.tolist() == [1 + sum(cut < value for cut in cuts) for value in values]
    assert np.ptp(np.bincount(levels)[1:]) <= 1


@given(columns, st.integers(2, 10))
def test_by_rank_levels_differ_in_size_by_one_at_most(values: NDArray[np.float64], n_levels: int) -> None:
    assume(len(values) >= n_levels)
    levels = equal_frequency(values, n_levels, ties="rank")
    sizes = np.bincount(levels, minlength=n_levels + 1)[1:]
    assert sizes.max() - sizes.min() <= 1
    assert in_order(values, levels), "and among equal values the earlier row is never higher"


def test_too_many_ties_are_refused_with_the_way_out() -> None:
    tied = [0.0] * 30 + list(np.arange(1.0, 71))
    with pytest.raises(ValueError, match=r'only 8 of 10 levels have any \(30 of 100 are 0\); use ties="rank"'):
        equal_frequency(tied, 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: at_cuts([1.0], [2.0, 2.0]), "cuts must be increasing"),
        (lambda: at_cuts([np.nan], [2.0]), "finite"),
        (lambda: at_cuts([[1.0]], [2.0]), "one column"),
        (lambda: in_steps([1.0], 0, n_levels=3), "step must be a number greater than 0"),
        (lambda: in_steps([1.0], 1, n_levels=1), "2 or more"),
        (lambda: equal_frequency([1.0, 2.0], 3), "at least as many values"),
        (lambda: equal_frequency([1.0, 2.0], 2, ties=cast(Any, "luck")), 'ties must be "value" or "rank"'),
        (lambda: normalise([[1.0]], "much"), "one of none, standard, unit"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


matrices = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(few, min_size=width, max_size=width), min_size=1, max_size=20).map(np.array)
)


@given(matrices)
def test_standard_columns_have_mean_0_and_deviation_1_or_are_0(X: NDArray[np.float64]) -> None:
    scaled = normalise(X + 0.1, "standard")  # the mean of many 0.1 is not 0.1
    constant = (X[0] == X).all(axis=0)
    np.testing.assert_array_equal(scaled[:, constant], 0)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), ~constant, atol=1e-12)


@given(matrices)
def test_unit_rows_are_standard_rows_of_norm_1_or_0(X: NDArray[np.float64]) -> None:
    standard, unit = normalise(X, "standard"), normalise(X, "unit")
    norms = np.linalg.norm(standard, axis=1)
    np.testing.assert_allclose(unit * norms[:, None], standard, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), norms > 0, atol=1e-12)


def test_none_is_a_copy_of_the_numbers() -> None:
    X = np.arange(6.0).reshape(2, 3, order="F")
    same = normalise(X, "none")
    np.testing.assert_array_equal(same, X)
    assert same.flags.c_contiguous
    assert not np.shares_memory(same, X)


def test_sparse_rows_are_never_silently_scaled() -> None:
    with pytest.raises(ValueError, match="sparse=True works only with"):
        bunch(
            sparse.csr_array(np.eye(2)),
            np.array([1, 2]),
            feature_names=["a", "b"],
            target_names=["1", "2"],
            description="",
            normalise="unit",
            return_X_y=False,
            as_frame=False,
        )
