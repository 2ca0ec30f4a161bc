"""What a project's answers have taught: its learner, and the placements of its items."""

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dford import learners, persistence
from dford.arrays import Ints
from dford.engine.beliefs import posteriors
from dford.engine.beliefs.opinions import RATED
from dford.estimates import Estimate
from dford.learners import LiveLearner, Rows
from dford.pool import saving
from dford.pool.agreement import Voice
from dford.pool.answers import PLACE, Answer
from dford.pool.apart import AnswerApart
from dford.pool.choice import AtHand
from dford.pool.figures import Certification, Forecast, Verdict
from dford.pool.placements import AUDIT_SHARE, Placements, ProposedQuestion
from dford.pool.refresh import is_start
from dford.scale import Scale
from dford.service import refusal
from dford.service.learning import gold
from dford.service.learning.coverage import Coverage
from dford.service.learning.log_reader import Arrivals, Rounds, Settlements
from dford.service.learning.snapshots import Snapshot
from dford.service.projects.columns import rating_columns
from dford.service.projects.projects import Project
from dford.service.projects.rules import Rules

_MANY = 500  # answers that are worth a thread
_ENOUGH = 8  # items that people have to judge before they have checked what programs say


class Placed(NamedTuple):
    """The placements of some items."""

    levels: NDArray[np.int64]
    """Places on the scale, from 0."""
    beliefs: NDArray[np.float64]
    """How likely each level is."""

    def between(self, first: int, last: int) -> "Placed":
        """Those of the items with these numbers, as far as they existed."""
        return Placed(self.levels[first - 1 : last], self.beliefs[first - 1 : last])


class Standing(NamedTuple):
    """The placements of all items, from the first, and how far off they may be."""

    placed: Placed
    verdict: Verdict
    """What the audit says of the placements without its own answers."""
    error_rate: float


class Outlook(NamedTuple):
    """How far off the placements are expected to be, and how many more answers it takes."""

    expected: float
    answers: Estimate
    """About how many more answers it takes to reach the target or, if it is to be certified, to show that."""
    is_certified: bool | None
    """Whether the audit shows that the target is reached; None if nobody asked for that."""
    check: tuple[float, float] = (0.0, 0.0)
    """About how many answers the check takes, if no item is found to be wrong and if as many are as is expected."""

    @classmethod
    def of(cls, expected: float, forecast: Forecast, target: float, check: Certification | None) -> "Outlook":
        if check is None:
            return cls(expected, forecast.remaining(target), None)
        return cls(expected, check.remaining(forecast), check.is_shown, (check.least, check.most))


class Learned:
    """The fold of a project's answers. It has placements if its learner has probabilities."""

    def __init__(self, learner: LiveLearner, placements: Placements | None, settled: int = 0) -> None:
        self.learner, self.placements = learner, placements
        self._settled_to = settled  # the sequence number up to which it knows what was settled
        self._open: set[int] = set()
        self._coverage = Coverage()

    @property
    def n_items(self) -> int:
        return 0 if self.placements is None else len(self.placements.items)

    def admit(self, arrivals: Arrivals, until: int) -> None:
        """Add items up to this number. It makes no difference whether they come together or one by one."""
        if self.placements is not None and until > self.n_items:
            first, last = self.n_items - arrivals.after, until - arrivals.after
            is_all = first == 0 and last == arrivals.X.shape[0]
            self.placements.add(arrivals.X if is_all else arrivals.X[first:last])  # which would copy it

    def settle(self, settled: Settlements, before: int, arrivals: Arrivals) -> None:
        """Apply what was settled before this sequence number."""
        if self.placements is not None and len(settled.sequence):
            for i in settled.between(self._settled_to, before):
                self.admit(arrivals, arrivals.before(int(settled.sequence[i])))
                lowest, highest = int(settled.lowest[i]), int(settled.highest[i])
                self.placements.settle(int(settled.item[i]) - 1, lowest, highest)
        self._settled_to = max(self._settled_to, before - 1)

    def learn(self, page: Rounds, part: slice, arrivals: Arrivals, settled: Settlements) -> None:
        """Learn some answers of a page. If they are many, the learner and the placements learn side by side."""
        places = np.arange(len(page.level))[part]
        if len(places) < _MANY or self.placements is None:
            self._teach(page, places)
            self._count(page, places, arrivals, settled)
            return
        with ThreadPoolExecutor(1, "dford-learner") as beside:
            taught = beside.submit(self._teach, page, places)
            self._count(page, places, arrivals, settled)
            taught.result()

    def _teach(self, page: Rounds, places: Ints) -> None:
        own = places[page.teaches[places]]
        level, prediction = (self.learner.classes_[numbers[own] - 1] for numbers in (page.level, page.prediction))
        self.learner.learn_many(page.X[own], level, prediction, page.propensity[own], page.higher[own])

    def _count(self, page: Rounds, places: Ints, arrivals: Arrivals, settled: Settlements) -> None:
        if self.placements is None:
            return
        for i in places.tolist():
            if page.item[i]:
                self.admit(arrivals, arrivals.before(int(page.sequence[i])))
                self.settle(settled, int(page.sequence[i]), arrivals)
                self.placements.count(self._answer(page, i, self.placements))
            elif page.teaches[i] and page.level[i] < len(self.placements.scale):  # nothing is above the top
                self.admit(arrivals, arrivals.before(int(page.sequence[i])))
                level, prediction = int(page.level[i]) - 1, int(page.prediction[i]) - 1
                said = AnswerApart(level, prediction, float(page.propensity[i]), bool(page.higher[i]))
                self.placements.count_apart(page.X[i : i + 1], said)
        if len(places):  # the next page has only what is settled later
            self.settle(settled, int(page.sequence[places[-1]]) + 1, arrivals)

    @staticmethod
    def _answer(page: Rounds, i: int, placements: Placements) -> Answer:
        """The answer as a pool counts it. To a pool, ratings that nobody asked for are answers to no question."""
        item, number, confidence = int(page.item[i]) - 1, int(page.number[i]), float(page.confidence[i])
        voice = placements.number(Voice.of(page.person[i], confidence, bool(page.informs[i])))
        cut, said = (int(page.rating[i]), RATED) if page.rating[i] else (int(page.level[i]), int(page.higher[i]))
        placement, propensity = int(page.prediction[i]) - 1, float(page.propensity[i])
        if number < 0:
            number, placement, propensity = -1, int(posteriors.place_one(placements.items.belief(item))), 1.0
        purpose, checks = int(page.purpose[i]), int(page.checks[i])
        return Answer(number, item, cut - 1, placement, propensity, said, purpose, checks, voice, confidence)

    def prepare(self, n: int) -> int:
        """How many of the next n answers can be learned without waiting, after this call."""
        ready = self.learner.prepare(n)
        return ready if self.placements is None else self.placements.prepare(ready)

    def finish(self) -> None:
        """Wait for what is being computed in the background."""
        if self.placements is not None:
            self.placements.finish()

    def is_finished(self) -> bool:
        return self.placements is None or self.placements.is_finished()

    def packing(self) -> Callable[[], tuple[bytes, bytes | None]]:
        """Copy whatever can change now, and return a function that does the rest. The placements must be finished."""
        finish = self.learner.packing(log=False)
        parts = None if self.placements is None else saving.placement_parts(self.placements)
        return lambda: (finish(), None if parts is None else persistence.pack(*parts))

    def propose(
        self,
        number: int,
        assigned: Mapping[int, bool],
        at_hand: AtHand,
        rules: Rules,
        target: float,
        wanted: int | None = None,
    ) -> ProposedQuestion | None:
        """The best question for this person, about any item that is not assigned; True marks items being audited.

        If an item is wanted, the question is about it. The target matters if it is to be certified.
        """
        assert self.placements is not None
        items = {item for item in assigned if item <= self.n_items}
        for item in self._open ^ items:
            self.placements.items.set_open(item - 1, item in items)
        self._open = items
        if wanted is not None:
            if wanted > self.n_items or not self.placements.items.is_in_doubt(wanted - 1):
                what = "new" if wanted > self.n_items else "no longer settled"
                raise refusal.busy(f"item {wanted} is {what}, and the server is still learning; try again in a moment")
            return self.placements.propose_about(wanted - 1, number)
        if rules.gold and (found := gold.propose(self.placements, number, at_hand.name, rules.gold)) is not None:
            return found
        auditing = {item - 1 for item in items if assigned[item]}
        audits = self.placements.certification(target).audits if rules.certify else 0.0
        found = self.placements.propose(number, auditing, [at_hand], audits)
        if rules.answers_per_item > 1 and not at_hand.informs and found is not None and found.purpose == PLACE:
            lacking = self._coverage.lacking(self.placements, rules.answers_per_item, at_hand.name)
            found = self.placements.propose(number, at_hand=[at_hand._replace(items=lacking)]) or found
        return found

    def standing(self) -> Standing | None:
        if self.placements is None:
            return None
        items = self.placements.with_audit()
        placed = Placed(items.placements()[0], items.beliefs(np.arange(len(items))))
        return Standing(placed, self.placements.verdict(), self.placements.error_rate_of_answers())

    def place(self, numbers: Sequence[int], with_settled: bool = True) -> Placed | None:
        """The placements of these items, or what they would be if no level were settled; None if one is unknown."""
        if self.placements is None or not numbers or max(numbers) > self.n_items:
            return None
        items, some = self.placements.with_audit(), np.array(numbers, dtype=np.int64) - 1
        beliefs = items.beliefs(some) if with_settled else items.unsettled(some)
        return Placed(np.array([posteriors.place_one(belief) for belief in beliefs]), beliefs)

    def placed_among(self, numbers: Sequence[int]) -> dict[int, int]:
        """At which levels, from 1, those of these items are placed that are known here."""
        known = [number for number in numbers if number <= self.n_items]
        placed = self.place(known)
        return {} if placed is None else dict(zip(known, (placed.levels + 1).tolist(), strict=True))

    def forecast(self, target: float, certify: bool) -> Callable[[], Outlook] | None:
        """What is to be expected, from what is known now; the slow part of it is left to be called."""
        if self.placements is None:
            return None
        expected, known = self.placements.expected_error(), self.placements.forecast()
        check = self.placements.certification(target) if certify else None
        return lambda: Outlook.of(expected, known, target, check)

    def is_audited(self) -> bool:
        """Whether people have audited enough to tell how far off the levels are."""
        return self.placements is not None and self.placements.verdict().checked >= _ENOUGH

    def is_start(self) -> bool:
        """Whether levels are still what programs and ratings say, if they say anything: people have said too little."""
        return self.placements is not None and is_start(self.placements.stage().decided)

    def still(self) -> Placements:
        """The placements as people see them now, for slow work: whatever can change is copied, except the learners."""
        assert self.placements is not None
        still, items = copy.copy(self.placements), self.placements.with_audit()
        items.prior, items.bounds = items.prior.copy(), items.bounds.copy()
        # answers are only ever added
        still.items, still.answers, still.voices = items, copy.copy(still.answers), [*still.voices]
        return still


def new(project: Project) -> Learned:
    """The state before any answer, ready to predict."""
    learner = project.new_learner()
    learner.question(project.rows([project.blank()]), 0)
    return Learned(learner, _new_placements(project))


def loads(project: Project, kept: Snapshot, X: Rows) -> Learned:
    """The state of a snapshot; X has the features of all items up to then, and perhaps more."""
    name = f"snapshot {kept.sequence}"
    learner = cast(LiveLearner, learners.loads(kept.model, name))
    placements = _new_placements(project)
    if (placements is None) != (kept.placements is None):
        raise ValueError(f"{name} has no placements")
    if placements is not None and kept.placements is not None:
        header, arrays = persistence.unpack(kept.placements, name)
        try:
            placements.X = X[: len(arrays["prior"])]
            saving.restore_placements(placements, header, arrays)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{name} has placements that this dford cannot read ({error!r})") from None
    return Learned(learner, placements, kept.sequence)


def digest(model: bytes, placements: bytes | None) -> str:
    """The digest of a state: two states with the same digest are identical to the bit."""
    return hashlib.sha256(model + (placements or b"")).hexdigest()


def _new_placements(project: Project) -> Placements | None:
    learner = project.new_learner()
    if not hasattr(learner, "predict_proba"):
        return None
    found = Placements(Scale(project.levels), learner, None, AUDIT_SHARE, project.seed)
    found.X = project.rows([])
    found.rating_columns = rating_columns(project.columns)
    return found
