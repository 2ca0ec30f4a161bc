"""One colour for every learner, in all pictures."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

import numpy as np
from matplotlib.colors import to_hex, to_rgb


class Look(NamedTuple):
    """How a line is drawn. Dashes and markers differ too, for print and for colour-blind readers."""

    colour: str
    dashes: str
    marker: str


# The learners have Okabe and Ito's colours. Black and grey are for anything else.
LOOKS = {
    "Auto": Look("#0072B2", "-", "D"),
    "NewtonLogit": Look("#009E73", "-", "v"),
    "DirectionalBoosting": Look("#56B4E9", "-", "P"),
    "DFORD": Look("#D55E00", "-", "o"),
    "PRank": Look("#CC79A7", "--", "s"),
    "PRIL": Look("#E69F00", "-.", "^"),
    "Pool": Look("#000000", "-", "o"),
    "answers alone": Look("#8C8C8C", "-", "s"),
    "exact labels": Look("#882255", "-", "^"),
    "the theorem's bound": Look("#000000", "--", "s"),
}
# For learners that are not in the table: other colours (Paul Tol's).
_OWN = ("#332288", "#117733", "#999933", "#661100", "#AA4499", "#44AA99", "#DDCC77", "#6E7FD6")
_DASHES, _MARKERS = ("-", "--", "-.", ":"), ("o", "s", "^", "D", "v", "P", "X")


def learner_of(label: str) -> str:
    """The learner that a label is about: the one whose name it starts with, or else one with the label as its name."""
    return next((name for name in LOOKS if re.match(rf"{name}(?!\w)", label)), label)


def looks_of(labels: Iterable[str], *, settings: bool = False) -> dict[str, Look]:
    """The look of each label, which is its learner's.

    A learner that is not in the table gets a colour by its name, the same in every picture, unless another learner in
    this picture already has it. With `settings`, further labels of one learner get shades of its colour, from light to
    dark, and different dashes and markers; its bare name keeps the colour.
    """
    learners = {label: learner_of(label) for label in labels}
    looks, free = dict(LOOKS), list(_OWN)
    for name in sorted(set(learners.values()) - set(LOOKS)):  # in an order that does not depend on the picture
        number = crc32(name.encode())
        colour = _OWN[number % len(_OWN)]
        colour = colour if colour in free or not free else free[0]
        free = [other for other in free if other != colour]
        looks[name] = Look(colour, _DASHES[number % len(_DASHES)], _MARKERS[number % len(_MARKERS)])
    found = {label: looks[name] for label, name in learners.items()}
    if settings:
        for name in set(learners.values()):
            own = [label for label in learners if learners[label] == name]
            shades = {label: _shade(looks[name], place, len(own)) for place, label in enumerate(own)}
            found |= {label: shade for label, shade in shades.items() if len(own) > 1 and label != name}
    return found


def _shade(look: Look, place: int, count: int) -> Look:
    towards = np.linspace(0.55, -0.5, count)[place]  # white is 1, black is -1
    mixed = (1 - abs(towards)) * np.array(to_rgb(look.colour)) + max(towards, 0.0)
    return Look(to_hex(mixed), _DASHES[place % len(_DASHES)], _MARKERS[place % len(_MARKERS)])
