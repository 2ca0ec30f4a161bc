"""New priors for all items: computed in the background from the answers so far, in effect a fixed number later."""

import atexit
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import opinions, priors
from dford.engine.beliefs.opinions import RATED
from dford.engine.elementary import logs
from dford.learners import Rows
from dford.pool.agreement import AnswerColumns, Voice, decides
from dford.pool.audit import Audit
from dford.pool.held_out_learners import Drawn, LevelModels
from dford.pool.items import Items
from dford.pool.people import Basis
from dford.pool.reliability import Reliability, alike, bounded, by_people, cautious_rate, with_shares
from dford.pool.votes import Votes

_INVERSIONS = np.array([0.0005, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25])
_POWERS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.2, 1.45, 1.75, 2.1, 2.5, 3.0])
# Before any answer, learners are believed to be about as sure as they should be. They may turn out to know nothing; but
# that they are far too modest takes many answers to show, as being too sure of wrong levels costs more.
_DOUBT = np.where(_POWERS < 1.0, 1.0, 8.0) * logs(_POWERS) ** 2
_FIRST = 25
_SAMPLE = 2000
# Most items are asked about where their prior is in doubt, which says little about how sure it may be elsewhere. An
# audited item is a random one, asked about any cut, so it counts this many times.
_AUDITED = 5.0
# A threshold that n answers were about is known to about 4 / n (the variance of its logit). Averaged over that, a logit
# shrinks by 1 / sqrt(1 + pi / 8 * 4 / n): a cut that nobody was asked about is not known.
_CHANCE = 1.5707963267948966
# What answers about other things teach is not tested on any answer of the pool's own, and an earlier pool asked about
# each of its items until that was known: they count for no more than so many about a cut. With 12, a third of what was
# true was expected in some pools; with 2, it took longer to see that the answers are right.
_APART = 5.0
_DRAWS, _RARE = counter.stream(0, "levels by votes"), -50.0
_VOTED = 2.0  # answers about a cut that count for as much as those of any number of programs


class Stage(NamedTuple):
    """How many answers there are that decide, and that inform."""

    decided: int
    informed: int

    def next(self, n_items: int) -> "Stage":
        """Priors started here take effect once there are so many of either, where the next ones start."""
        least = max(_FIRST, n_items // 200)
        return Stage(self.decided + max(least, self.decided // 16), self.informed + max(least, self.informed // 4))

    def until(self, later: "Stage") -> int:
        """How many more answers it takes to a later stage, at least; 0 or less if it is reached.

        Until somebody decides, there is nothing to learn: what informs takes effect at once.
        """
        if not self.decided:
            return later.decided
        return min(later.decided - self.decided, later.informed - self.informed)


class Priors(NamedTuple):
    """What a refresh finds."""

    prior: Floats
    reliability: Reliability


class Sureness(NamedTuple):
    """How the learners' probabilities become priors: see `engine.beliefs.priors`."""

    inversion: float
    power: float
    weights: Floats
    """Those of the learners and of the models of levels."""
    usual: Floats
    """The logarithms of the shares of the levels."""
    tilt: Floats
    """What the probability of each level is multiplied by, so that answers confirm the shares of the levels."""
    trust: Floats
    """How far the learners are to be trusted at each cut, from 0 to 1."""

    @classmethod
    def even(cls, n_levels: int) -> "Sureness":
        """That of learners which know nothing."""
        return cls(0.0, 1.0, np.ones(1), np.zeros(n_levels), np.ones(n_levels), np.zeros(n_levels - 1))


class Fitted(NamedTuple):
    """How the learners' probabilities become priors, and the models of levels that have a part in it, if any."""

    sure: Sureness
    models: LevelModels | None

    def priors(self, yes: Floats, X: Rows, parts: Ints) -> Floats:
        """Those of items with these features, for which learners give these probabilities of yes."""
        nothing, n_levels = np.empty((0, *yes.shape)), yes.shape[1] + 1
        above = nothing if self.models is None else self.models.above(X, None, parts, n_levels)
        found: Floats = priors.priors(yes, above, *self.sure)
        return found


class Calibration:
    """What is needed to turn the learners' probabilities into priors, as it was when the refresh began."""

    def __init__(
        self,
        items: Items,
        audit: Audit,
        told: AnswerColumns,
        is_audit: Bools,
        voices: Sequence[Voice],
        rate: float | None,
        asked_apart: Ints,
        votes: Votes | None = None,
        basis: Basis | None = None,
    ) -> None:
        # told and counts have no guesses
        answered = np.flatnonzero((items.counts > 0) | (items.bounds[:, 1] - items.bounds[:, 0] < items.n_levels - 1))
        some, audited = answered[:: 1 + len(answered) // _SAMPLE], np.array(audit.items, dtype=np.int64)
        self._rows, self._n_own, self._n_items = np.concatenate([some, audited]), len(some), len(items)
        self._bounds = np.concatenate([items.bounds[some], audit.known.bounds])
        # an audited item is there twice, because its two kinds of answers are kept apart
        self._items, places = np.unique(np.concatenate([2 * told.item + is_audit, 2 * answered]), return_inverse=True)
        self._told = told._replace(item=places[: len(told.item)].astype(np.int64))
        self._places = np.searchsorted(self._items, 2 * self._rows + (np.arange(len(self._rows)) >= len(some)))
        self._prior, self._whole = items.prior[self._items // 2], items.bounds[self._items // 2]
        self._voices, self._given, self._asked_apart = tuple(voices), rate, asked_apart
        self._votes, self._basis = votes, basis
        self._settled = items.bounds[:, 0] == items.bounds[:, 1]
        self._is_answered = np.isin(np.arange(len(items)), answered)
        self._draws = counter.uniforms(_DRAWS, np.arange(len(items)))
        self._n_decided = len(told.item) + int(np.count_nonzero(self._settled))

    def reliability(self) -> Reliability:
        """By person if there are several, or if one says how sure they are; else the same for all answers.

        If the rate is given, it is that of all answers except those whose probability is given, too.
        """
        heard = [voice for voice in self._voices if voice.decides]
        is_one, n_levels = len(heard) < 2 and not any(voice.eighths for voice in heard), self._prior.shape[1]
        if self._given is None and self._basis is not None:
            told, prior = self._basis.told.where(decides(self._voices, self._basis.told.person)), self._basis.prior
            if is_one:
                return alike(cautious_rate(told, prior), n_levels)
            whole = np.tile(np.array([0, n_levels - 1], np.int16), (len(prior), 1))
            return with_shares(by_people(told, prior, whole, self._voices), self._told, self._whole, self._voices)
        # An audit starts from equal odds, whatever has been settled since because its answers disagree. What learners
        # say of other items counts half, or every answer that they did not expect would seem wrong.
        is_audit = self._items[:, None] % 2 == 1
        whole = np.where(is_audit, np.array([0, n_levels - 1], np.int16), self._whole)
        if self._given is None and not is_one:
            prior = np.where(is_audit, 1.0 / n_levels, np.sqrt(self._prior))
            return by_people(self._told, prior / prior.sum(axis=1, keepdims=True), whole, self._voices)
        if self._given is not None:
            return alike(self._given, n_levels).extended(self._voices, self._given)
        prior = np.where(is_audit, 1.0 / n_levels, np.sqrt(bounded(self._prior, self._whole)))
        return alike(cautious_rate(self._told, prior), n_levels)

    def fit(
        self, yes: Floats, X: Rows, parts: Ints, drawn: Drawn | None, reliability: Reliability
    ) -> tuple[Fitted, Floats]:
        """How these probabilities of learners become priors, and the priors of their items.

        If there are items to draw the levels of, they are drawn by what the learners say, and learned like labels.
        """
        votes, n_levels = self._votes, yes.shape[1] + 1
        if votes is not None and is_start(self._n_decided) and not len(self._asked_apart):
            return Fitted(Sureness.even(n_levels), None), votes.shares.copy()  # little says yet what they are worth
        voted = np.empty((0, *yes.shape)) if votes is None else votes.above()[None]
        knows = X.shape[1] > 0
        sure = self._sureness(yes, voted, _ways_to_weigh(knows, len(voted)), reliability)
        if drawn is None:
            return Fitted(sure, None), priors.priors(yes, voted, *sure)
        some = drawn.items
        prior = priors.priors(yes[some], np.ascontiguousarray(voted[:, some]), *sure)
        X, seen = (X, None) if votes is None else votes.with_features(X)
        models = LevelModels.learn(X, seen, parts, drawn, prior)
        above = np.concatenate([voted, models.above(X, seen, parts, n_levels)])
        sure = self._sureness(yes, above, _ways_to_weigh(knows, len(above)), reliability)
        return Fitted(sure, models), priors.priors(yes, above, *sure)

    def _sureness(self, yes: Floats, above: Floats, ways: Floats, reliability: Reliability) -> Sureness:
        """The sureness under which the items' own answers, which no model has seen, are likeliest."""
        evidence, is_own = self._evidence(reliability), np.arange(len(self._rows)) < self._n_own
        usual, grid = logs(self._shares(evidence, reliability)), (_INVERSIONS, _POWERS, ways)
        elsewhere = 0.0 if self._votes is None else self._by_votes(self._votes, yes, above, grid, usual)
        yes, above = yes[self._rows], above.take(self._rows, axis=1)  # in one piece, as everything compiled takes it
        own, audited = (
            priors.likelihoods(yes[of], above.compress(of, axis=1), evidence[of], self._bounds[of], *grid, usual)
            for of in (is_own, ~is_own)
        )
        rate = reliability.slips(self._told.person)
        doubt = _DOUBT + 200.0 * (_INVERSIONS[:, None] - rate) ** 2
        chances = own + _AUDITED * audited - doubt[:, :, None] + elsewhere
        asked = self._n_asked() * (1.0 - 2.0 * rate) ** 2
        if self._votes is not None:
            asked = asked + np.minimum(self._votes.asked, _VOTED)
        sure = Sureness(*priors.expected_parameters(*grid, chances), usual, np.ones(len(usual)), np.ones(len(asked)))
        tilt = priors.tilt(priors.priors(yes, above, *sure), evidence, self._bounds)
        if self._votes is not None:
            tilt = 1.0 + self._stand_for_all() * (tilt - 1.0)
        return sure._replace(tilt=tilt, trust=np.sqrt(asked / (asked + _CHANCE)))

    def _by_votes(
        self, votes: Votes, yes: Floats, above: Floats, grid: tuple[Floats, Floats, Floats], usual: Floats
    ) -> Floats:
        """How likely some levels drawn by votes are, of items nobody was asked about, by the parameters of priors.

        People are asked where votes leave doubt. What fits all of that may be wrong elsewhere: a learner that has met
        one level alone would find it everywhere.
        """
        n_levels = len(usual)
        left = np.flatnonzero((votes.shares.max(axis=1) > 1.0 / n_levels + 1e-9) & ~self._is_answered)
        some = left[:: 1 + len(left) // _FIRST]
        drawn = (votes.shares[some].cumsum(axis=1)[:, :-1] <= self._draws[some, None]).sum(axis=1)
        evidence = np.where(np.arange(n_levels) == drawn[:, None], 0.0, _RARE)
        whole = np.tile(np.array([0, n_levels - 1], np.int16), (len(some), 1))
        found: Floats = priors.likelihoods(yes[some], above.take(some, axis=1), evidence, whole, *grid, usual)
        return _FIRST / max(self._n_decided, _FIRST) * found

    def _n_asked(self) -> Floats:
        """How many answers there are about each cut; ratings and settled levels are about all."""
        whole = np.count_nonzero(self._told.said == RATED) + np.count_nonzero(self._settled)
        n_cuts, own = self._prior.shape[1] - 1, self._told.cut[self._told.said != RATED]
        apart = np.minimum(np.bincount(self._asked_apart, minlength=n_cuts), _APART)
        return np.bincount(own, minlength=n_cuts).astype(float) + apart + whole

    def _evidence(self, reliability: Reliability) -> Floats:
        """What the answers about each row say."""
        found = reliability.evidence(self._told, self._voices, len(self._items))[self._places]
        return opinions.of_levels(found, self._prior.shape[1])

    def shares(self, reliability: Reliability) -> Priors:
        """The same prior for all items, if nothing tells them apart: the shares of the levels."""
        found = self._shares(self._evidence(reliability), reliability)
        return Priors(np.tile(found, (self._n_items, 1)), reliability)

    def _shares(self, evidence: Floats, reliability: Reliability) -> Floats:
        """The shares of the levels, by the answers alone: what learners believe must not confirm itself."""
        found = reliability.shares
        if reliability.spread == 0.0:
            even = np.full(evidence.shape, 1.0 / evidence.shape[1])
            found = priors.tilt(even, evidence, self._bounds) / evidence.shape[1]
        if self._votes is not None:
            by_votes = self._votes.shares.mean(axis=0)
            found = by_votes + self._stand_for_all() * (found - by_votes)
        return found

    def _stand_for_all(self) -> float:
        """How far the items that people spoke about stand for all, if votes choose these: not before they are half."""
        return min(1.0, 2.0 * float(self._is_answered.mean()))


def is_start(decided: int) -> bool:
    """Whether levels are those of votes, if there are any: so few answers and settled levels say nothing better."""
    return decided < _FIRST


def _ways_to_weigh(knows: bool, n: int) -> Floats:
    """All ways to use some of the learners, which know nothing without features, and n others, weighed alike."""
    used = np.array(list(itertools.product([0.0, 1.0] if knows else [0.0], *([0.0, 1.0] for _ in range(n))))[1:])
    found: Floats = used / used.sum(axis=1, keepdims=True)
    return found


_running = set[threading.Thread]()


@atexit.register
def _wait() -> None:
    """A thread that Python ends in the middle of compiled code takes the whole process down."""
    for thread in tuple(_running):
        thread.join()


class Refresh:
    """Work in a separate thread, whose result is waited for when it has to take effect."""

    def __init__(self, work: Callable[[], Priors]) -> None:
        self._found: Priors | None = None
        self._error: BaseException | None = None
        self._work, self._done = work, threading.Event()  # an interrupted join would take the thread for done
        self._begun = threading.Lock()

    def begin(self) -> None:
        """Start the work, unless it was; nobody can tell whether an interrupted start did."""
        if not self._begun.locked():
            threading.Thread(target=self._run, name="dford-pool", daemon=True).start()  # so that exit stops its parts

    def is_done(self) -> bool:
        return self._done.is_set()

    def has_failed(self) -> bool:
        """Whether there will be no result; it is waited for."""
        self.begin()
        self._done.wait()
        return self._error is not None

    def result(self) -> Priors:
        if self.has_failed():
            assert self._error is not None
            raise self._error
        assert self._found is not None
        return self._found

    def _run(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        _running.add(threading.current_thread())
        try:
            self._found = self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
            _running.discard(threading.current_thread())
