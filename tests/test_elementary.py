"""The engine's own cosine, logarithm and exponential, and what they are for: the same bits on another machine."""

import math
import os
import shutil
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oldest_processor
from compiling import cache_of
from dford.engine import elementary
from dford.engine.elementary import cosines, logs

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def cosine(x: float) -> Decimal:
    """By its series, to 60 digits."""
    turned = Decimal(x) % (2 * PI)
    term = total = Decimal(1)
    k = 0
    while abs(term) > Decimal(10) ** -55:
        k += 2
        term *= -turned * turned / (k * (k - 1))
        total += term
    return total


def units(found: float, exact: Decimal) -> float:
    """How far away, in units of the last place."""
    return float(abs(Decimal(float(found)) - exact) / Decimal(math.ulp(float(exact))))


@given(st.one_of(st.floats(-10, 10), st.floats(-(2**20), 2**20), st.integers(0, 10**5).map(lambda k: k * math.pi / 4)))
def test_the_cosine_is_right_to_the_last_place(x: float) -> None:
    with localcontext() as context:
        context.prec = 80
        found = cosines(np.array([x, -x]))
        assert units(found[0], cosine(x)) <= 1.5
    assert found[0] == found[1]
    assert abs(found[0]) <= 1


@given(
    st.one_of(st.floats(0.5, 2), st.floats(2.3e-308, 1.7e308), st.integers(1, 2**20).map(lambda k: 1 - k * 2.0**-53))
)
def test_the_logarithm_is_right_to_the_last_place(x: float) -> None:
    with localcontext() as context:
        context.prec = 80
        assert units(logs(np.array([x]))[0], Decimal(x).ln()) <= 1.5


@given(st.floats(-707.9, 0))
def test_the_exponential_is_right_to_two_units_of_the_last_place(x: float) -> None:
    values = np.array([[-x], [0.0], [0.0]])
    elementary.exp_negative(-1.0, values, 1)
    with localcontext() as context:
        context.prec = 60
        assert units(values[0, 0], Decimal(x).exp()) <= 2
        assert elementary.exp_one(x) == values[0, 0]


def test_special_values_are_exact() -> None:
    assert cosines(np.array([0.0, -0.0, 1e-300, math.pi])).tolist() == [1, 1, 1, -1]
    assert logs(np.array([1.0])).tolist() == [0]
    with localcontext() as context:
        context.prec = 60
        expected = [float(k * Decimal(2).ln()) for k in range(-1022, 1024)]
    assert logs(np.array([2.0**k for k in range(-1022, 1024)])).tolist() == expected
    assert not np.isfinite(cosines(np.array([np.inf, np.nan]))).any()


def test_powers_of_two_are_rounded_to_nearest() -> None:
    with localcontext() as context:
        context.prec = 60
        expected = [float(Decimal(2) ** (Decimal(i) / 256)) for i in range(256)]
    assert elementary._POWERS.view(np.float64).tolist() == expected


# each is compiled anew, which takes half a minute
MODELS = oldest_processor.MODELS if "DFORD_STREAMS" in os.environ else oldest_processor.MODELS[:1]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_processor_without_vectors_or_fused_multiplication_gives_the_same_bits(tmp_path: Path, model: str) -> None:
    """Compiled for the oldest x86-64, where a fused multiplication is a call; NumPy is told to do likewise."""
    if (old := oldest_processor.environment()) is None:
        pytest.skip("the oldest processor to compare with is an x86")
    cache = tmp_path / "cache"
    if cache_of("oldest").exists():
        shutil.copytree(cache_of("oldest"), cache)
    here, there = (oldest_processor.digest(model, more) for more in ({}, old | {"NUMBA_CACHE_DIR": str(cache)}))
    assert len(here) == 64
    assert here == there
