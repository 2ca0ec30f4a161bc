"""The ways functions of the engine are compiled."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

# An index that cannot be negative. Of a signed one, numba asks whether it counts from the end, and a loop that
# asks does not become vector instructions: 4.8 against 2.8 ns an entry in `evaluate`, 0.9 against 0.3 in `add`.
place = np.uint64

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first call and keep the machine code on disk: for loops, and all that Python calls.

    No fastmath: it may reorder sums, and then a replay on another machine would not give the same bits.
    """
    return _kept(function)


def released(function: F) -> F:
    """As `live`, for what takes long: other threads run Python meanwhile, so none of them may use these arrays."""
    return _kept(function, nogil=True, _nrt=False)


def live(function: F) -> F:
    """As `compiled`, for what Python calls once or twice a round: it must make no array, but may make views.

    To count references, numba wraps every array that it is handed from Python: 60 ns each, where the
    arithmetic of a round takes some hundred. The caller holds these arrays, so nothing need be counted.
    """
    return _kept(function, _nrt=False)


def _kept(function: F, **options: bool) -> F:
    jitted: F
    try:
        jitted = numba.njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        jitted = numba.njit(error_model="numpy", **options)(function)
    return jitted


def called(function: F) -> F:
    """Compile on its own, for what a round seldom needs and makes no array: inlined, it would be in the way."""
    jitted: F = numba.njit(error_model="numpy", _nrt=False)(function)
    return jitted


def inlined(function: F) -> F:
    """Compile into the caller: for the scalar functions of a round, which make no array.

    Numba counts references to every array that a function is handed, atomically. At 8 features that
    was 180 of 250 ns a round; `_nrt=False` leaves it out, and is right where nothing is allocated.
    """
    jitted: F = numba.njit(error_model="numpy", forceinline=True, _nrt=False)(function)
    return jitted
