"""The five datasets whose target is a number, cut into levels as the paper says."""

from typing import Literal

import numpy as np

from dford.datasets._bunch import Loaded, bunch
from dford.datasets._catalogue import CATALOGUE
from dford.datasets._data_folder import Folder
from dford.datasets._readers import SEXES
from dford.datasets.discretise import at_cuts, equal_frequency, in_steps

_TENTHS = [f"tenth {k}" for k in range(1, 11)]
_CPU = ["lread", "lwrite", "scall", "sread", "swrite", "fork", "exec", "rchar", "wchar"]
_PAGING = ["pgout", "ppgout", "pgfree", "pgscan", "atch", "pgin", "ppgin", "pflt", "vflt"]
_QUEUE = ["runqsz", "freemem", "freeswap"]


def load_abalone(
    *, data: Folder = None, normalise: str = "none", return_X_y: bool = False, as_frame: bool = False
) -> Loaded:
    """The age of abalone shells: 4,177 rows, 10 features, 4 levels.

    The features are the sex as three columns (male, infant, female: one of them 1) and seven measures. The
    levels are 1-7, 8-9, 10-12 and 13 or more rings, with 839, 1257, 1388 and 693 rows.

    Parameters
    ----------
    data : path, optional
        The folder of the files; by default the environment variable DFORD_DATA, or else the user's cache.
    normalise : {"none", "standard", "unit"}
        How features are scaled: see `dford.datasets.normalise`.
    return_X_y : bool
        Whether to return only (X, y).
    as_frame : bool
        Whether X and y are pandas objects.

    Returns
    -------
    Bunch
        data, target (levels 1..K), feature_names, target_names, DESCR, frame. Rows are in the file's order.
    """
    table = CATALOGUE["abalone"].files[0].load(data)
    sexes = table[:, :1] == np.arange(len(SEXES))
    measures, weights = ["length", "diameter", "height"], ["whole", "shucked", "viscera", "shell"]
    return bunch(
        np.column_stack([sexes, table[:, 1:-1]]),
        at_cuts(table[:, -1], cuts=[7, 9, 12]),
        feature_names=["male", "infant", "female", *measures, *weights],
        target_names=["1-7 rings", "8-9 rings", "10-12 rings", "13 or more rings"],
        description=load_abalone.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_parkinsons(
    *, data: Folder = None, normalise: str = "none", return_X_y: bool = False, as_frame: bool = False
) -> Loaded:
    """The total UPDRS of people with Parkinson's disease, from their voice: 5,875 rows, 20 features, 10 levels.

    The levels are steps of 5: (5, 10], (10, 15], ..., (50, 55], with 191, 316, 769, 912, 1153, 937, 591, 562, 231
    and 213 rows. The number of the person is left out; motor_UPDRS, a part of the target, is kept as a feature.

    Parameters and what is returned are those of `load_abalone`.
    """
    table = CATALOGUE["parkinsons"].files[0].load(data)
    voice = ["RPDE", "DFA", "PPE"]
    jitter = [f"Jitter{kind}" for kind in ("(%)", "(Abs)", ":RAP", ":PPQ5", ":DDP")]
    shimmer = [f"Shimmer{kind}" for kind in ("", "(dB)", ":APQ3", ":APQ5", ":APQ11", ":DDA")]
    return bunch(
        np.delete(table, [0, 5], axis=1),
        in_steps(table[:, 5], step=5, start=5, n_levels=10),
        feature_names=["age", "sex", "test_time", "motor_UPDRS", *jitter, *shimmer, "NHR", "HNR", *voice],
        target_names=[f"({5 * k}, {5 * k + 5}]" for k in range(1, 11)],
        description=load_parkinsons.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_california(
    *, data: Folder = None, normalise: str = "none", return_X_y: bool = False, as_frame: bool = False
) -> Loaded:
    """House values in California's census blocks of 1990: 20,640 rows, 8 features, 10 levels.

    The levels are tenths of the median value, with equal values in the same level: 2058 to 2067 rows each.

    Parameters and what is returned are those of `load_abalone`.
    """
    table = CATALOGUE["california"].files[0].load(data)
    place, rooms = ["longitude", "latitude", "housingMedianAge"], ["totalRooms", "totalBedrooms"]
    return bunch(
        table[:, :-1],
        equal_frequency(table[:, -1], 10, ties="value"),
        feature_names=[*place, *rooms, "population", "households", "medianIncome"],
        target_names=_TENTHS,
        description=load_california.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_computer(
    variant: Literal["act", "small"] = "act",
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """The share of time a computer's processors run in user mode: 8,192 rows, 10 levels.

    The variant "act" has 21 features, "small" the 12 of them that are not about paging. The levels are tenths of
    the share, a whole number of percent, with equal values in the same level: 881, 812, 784, 1127, 760, 907, 837, 826,
    820 and 438 rows.

    The other parameters and what is returned are those of `load_abalone`.
    """
    names = {"act": "computer", "small": "cpu_small"}
    if variant not in names:
        raise ValueError(f'variant must be "act" or "small"; got {variant!r}')
    table = CATALOGUE[names[variant]].files[0].load(data)
    return bunch(
        table[:, :-1],
        equal_frequency(table[:, -1], 10, ties="value"),
        feature_names=[*_CPU, *(_PAGING if variant == "act" else []), *_QUEUE],
        target_names=_TENTHS,
        description=load_computer.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_bank(
    variant: Literal["8FM", "32nh"] = "8FM",
    *,
    data: Folder = None,
    normalise: str = "none",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """The share of customers that a simulated bank turns away: 8,192 rows, 10 levels.

    The variant "8FM" has 8 features and little noise, "32nh" has 32 and a lot. The levels are tenths by rank, 819 or
    820 rows each: 1,662 targets of "32nh" are exactly 0, more than two tenths, so its levels 1, 2 and the start of 3
    differ only in the order of rows.

    The other parameters and what is returned are those of `load_abalone`.
    """
    if variant not in ("8FM", "32nh"):
        raise ValueError(f'variant must be "8FM" or "32nh"; got {variant!r}')
    table = CATALOGUE[f"bank{variant}"].files[0].load(data)
    areas = [f"a{area}{what}" for area in (1, 2, 3) for what in ("cx", "cy", "sx", "sy", "rho", "pop")]
    banks = [f"b{bank}{what}" for bank in (1, 2, 3) for what in ("x", "y", "call", "eff")]
    few, many = ["a1cx", "a1cy", "b2x", "b2y", "a2pop", "a3pop", "temp", "mxql"], [*areas, "temp", *banks, "mxql"]
    return bunch(
        table[:, :-1],
        equal_frequency(table[:, -1], 10, ties="rank"),
        feature_names=few if variant == "8FM" else many,
        target_names=_TENTHS,
        description=load_bank.__doc__ or "",
        normalise=normalise,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )
