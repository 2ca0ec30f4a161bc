"""New priors for all items: made in the background from the answers up to a number, in effect at a later one."""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dford.engine import posteriors
from dford.engine._compiled import Floats
from dford.engine.elementary import logs
from dford.pool.audit import Audit
from dford.pool.items import Items

_INVERSIONS = np.array([0.0005, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25])
_POWERS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.2, 1.45, 1.75, 2.1, 2.5, 3.0])
_DOUBT = 4.0 * logs(_POWERS) ** 2  # before any answer, learners are believed to be about as sure as they are right
_FIRST = 25
_SAMPLE = 2000
# Most items are asked about where their prior is in doubt, and that says little about how sure it may be where it is
# sure. An audited one is any item, asked about any cut, so it counts so many times.
_AUDITED = 5.0
_BEFORE = 8.0  # an error rate of 0.1 is expected before any answer was repeated


def next_stage(count: int, n_items: int) -> int:
    """Priors that are begun at so many answers are in effect at this number, and the next ones begin there."""
    return count + max(_FIRST, count // 16, n_items // 200)


def believed_rate(given: float | None, repeats: int = 0, differing: int = 0) -> float:
    """The error rate of answers: as given, or by the questions that were asked again."""
    return float(posteriors.expected_rate(repeats, differing, _BEFORE)) if given is None else float(given)


class Priors(NamedTuple):
    """What a refresh finds."""

    prior: Floats
    rate: float
    """The error rate of answers."""


class Sureness(NamedTuple):
    """How priors are made of the learners' chances: see `posteriors.priors`."""

    inversion: float
    power: float
    usual: Floats
    """The logarithms of the shares of the levels."""


class Calibration:
    """What is needed to make priors of the learners' chances, as it was when the refresh began."""

    def __init__(self, items: Items, audit: Audit, rate: float | None, repeats: int, differing: int) -> None:
        answered = np.flatnonzero(items.counts)
        some = answered[:: 1 + len(answered) // _SAMPLE]
        self._beliefs, self._n_items = items.beliefs(some), len(items)
        known, audited = audit.known, np.array(audit.items, dtype=np.int64)
        self._some, self._n_own = np.concatenate([some, audited]), len(some)
        self._wrong = np.concatenate([items.wrong[some], known.wrong])
        self._bounds = np.concatenate([items.bounds[some], known.bounds])
        self._counts = np.concatenate([items.counts[some], known.counts])
        self.rate = believed_rate(rate, repeats, differing)

    def priors(self, yes: Floats) -> Priors:
        return Priors(posteriors.priors(yes, *self.sureness(yes)), self.rate)

    def sureness(self, yes: Floats) -> Sureness:
        """As sure as makes the items' own answers, which the learners do not know, most likely."""
        own, audited = (self._likelihoods(yes, part) for part in (slice(self._n_own), slice(self._n_own, None)))
        doubt = _DOUBT + 200.0 * (_INVERSIONS[:, None] - self.rate) ** 2
        found = posteriors.expected_pair(_INVERSIONS, _POWERS, own + _AUDITED * audited - doubt)
        return Sureness(*found, logs(self._shares()))

    def _likelihoods(self, yes: Floats, part: slice) -> Floats:
        answers = yes[self._some[part]], self._wrong[part], self._bounds[part], self._counts[part]
        return posteriors.likelihoods(*answers, self.rate, _INVERSIONS, _POWERS, logs(self._shares()))

    def shares(self) -> Priors:
        """The same prior for all, where there is nothing to tell them apart by: how many there are of each level."""
        return Priors(np.tile(self._shares(), (self._n_items, 1)), self.rate)

    def _shares(self) -> Floats:
        found: Floats = (1.0 + self._beliefs.sum(axis=0)) / (self._beliefs.shape[1] + len(self._beliefs))
        return found


class Refresh:
    """Work in a thread of its own, whose result is waited for when it is to take effect."""

    def __init__(self, work: Callable[[], Priors]) -> None:
        self._found: Priors | None = None
        self._error: BaseException | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run, name="dford-pool", daemon=True)  # it can be done again
        self._thread.start()

    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Priors:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._work()
        except BaseException as error:
            self._error = error
