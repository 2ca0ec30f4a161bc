"""What is known of all items: the fold of the answers about them, and what is best asked next."""

import copy
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.engine import counter, posteriors
from dford.engine import people as people_engine
from dford.engine._compiled import Bools, Floats, Ints
from dford.estimates import Estimate
from dford.learners import LiveLearner, Rows
from dford.pool.answers import AUDIT, CHECK, GOLD, PLACE, Answer, Answers
from dford.pool.audit import Audit
from dford.pool.filling import Filling
from dford.pool.fold_learners import FoldLearners
from dford.pool.items import Items
from dford.pool.people import AnswerColumns, Basis, Person, known_or_shared, read_people
from dford.pool.refresh import Calibration, Priors, Refresh, believed_rate, bounded, next_stage
from dford.pool.reliability import alike
from dford.scale import Scale

AUDIT_SHARE = 0.05  # of the questions judge the placements, where nothing else is said
_SPREAD = 0.05  # of the questions are about a level that is drawn: without them, a wrong belief would stay unseen
_CHECKS = 0.02  # of the questions are asked again, to see how often answers differ
_FIRST_CHECK = 20
_LOOKED_AT = 50  # items, for one that somebody has not been asked about


class ProposedQuestion(NamedTuple):
    """A question about an item, before it is asked. Items, cuts and levels count from 0."""

    item: int
    cut: int
    placement: int
    propensity: float
    purpose: int
    checks: int
    """The number of the question that is asked again, or -1."""


class Placements:
    """The items of a pool and the answers about them; it does not know who has been asked what.

    The same items and the same answers in the same order give the same bits. Priors are made in the background, and
    take effect at numbers of answers that are fixed.
    """

    def __init__(self, scale: Scale, learner: LiveLearner, error_rate: float | None, audit: float, seed: int) -> None:
        self.scale, self.error_rate, self.audit_share, self.seed = scale, error_rate, audit, seed
        self.reliability = alike(believed_rate(error_rate), len(scale))
        self.people: list[str] = []
        """Who has answered, in the order of their first answers."""
        self.items = Items(len(scale), seed + 1)
        self.audit = Audit(self.items, seed + 2)
        self.learners = FoldLearners(learner, scale, seed + 3)
        self.answers = Answers()
        self.repeats = [0, 0]  # questions asked again, and those answered otherwise
        self.X: Rows = np.empty((0, 0))
        self.filling = Filling(np.empty(0, np.bool_), np.empty(0))
        self.refresh: Refresh | None = None
        self.learned, self.next = 0, next_stage(0, 0)

    def add(self, rows: Rows) -> None:
        """More items. The first ones say which features may be missing, and what is filled in."""
        if not len(self.items):
            self.X = rows[:0]
            self.filling = Filling.of(rows)
        if rows.shape[1] != self.X.shape[1]:
            raise ValueError(f"the items have {self.X.shape[1]} features, and these have {rows.shape[1]}")
        is_sparse = sparse.issparse(rows)
        self.X = sparse.vstack([self.X, rows], "csr") if is_sparse else np.concatenate([self.X, rows])
        self.items.add(rows.shape[0])
        self.audit.look()

    def decide(self, item: int, low: int, high: int) -> None:
        """Somebody knows the lowest and the highest level that an item can be."""
        self.items.decide(item, low, high)
        self.audit.decide(item)

    def number(self, person: str) -> int:
        """Of a person, who may be new."""
        if person not in self.people:
            self.people.append(person)
        return self.people.index(person)

    def propose(
        self,
        number: int,
        auditing: Collection[int] = (),
        person: str | None = None,
        among: Ints | None = None,
        may_audit: bool = True,
    ) -> ProposedQuestion | None:
        """What is best asked now, by draw `number` of the stream; None where no answer would tell anything.

        `auditing` are the items about which an open question audits. Where a person is named, the question is the one
        whose answer by this person tells most, and not one that they have answered, if there are others. Where items
        are given, it is about one of these, and places it.
        """
        why, what = counter.uniforms(self.seed, np.array([2 * number, 2 * number + 1])).tolist()
        audits = self.audit_share if may_audit else 0.0
        share = _CHECKS if self.error_rate is None and len(self.answers) >= _FIRST_CHECK else 0.0
        found, purpose, checks = None, PLACE, -1
        if among is not None:
            found = self._best(person, among)
            return None if found is None else self._question(*found, PLACE, -1, what)
        if why < audits:
            if (found := self.audit.pick(auditing)) is not None:
                purpose = AUDIT
        elif why < audits + share:
            drawn = int((why - audits) / share * len(self.answers))
            item, cut = int(self.answers["item"][drawn]), int(self.answers["cut"][drawn])
            if self.answers["purpose"][drawn] != AUDIT and self.items.is_free(item, cut):
                found, purpose, checks = (item, cut), CHECK, int(self.answers["question"][drawn])
        if found is None and (found := self._best(person) or self.items.best()) is None:
            return None
        return self._question(*found, purpose, checks, what)

    def _best(self, person: str | None, among: Ints | None = None) -> tuple[int, int] | None:
        """What is best asked of this person, of what they have not been asked."""
        number = self.people.index(person) if person in self.people else -1
        if among is None and (number < 0 or len(self.people) < 2):
            return None
        few, is_looked_at = self.items.best_few(_LOOKED_AT, among), np.zeros(len(self.items), np.bool_)
        is_looked_at[few] = True
        own = np.flatnonzero((self.answers["person"] == number) & is_looked_at[self.answers["item"]])
        answered = set(zip(self.answers["item"][own].tolist(), self.answers["cut"][own].tolist(), strict=True))
        logs = self.reliability.logs[self.reliability.rows(np.array([number]))[0], 1]
        for item in few.tolist():
            tells = people_engine.information(self.items.belief(item), np.exp(logs))
            for cut in np.argsort(-tells, kind="stable").tolist():
                if (item, cut) not in answered and tells[cut] > 0.5 * tells.max() and self.items.is_free(item, cut):
                    return item, cut
        return None

    def propose_about(self, item: int, number: int) -> ProposedQuestion:
        """What is best asked about this item, by draw `number` of the stream."""
        what = float(counter.uniforms(self.seed, np.array([2 * number + 1]))[0])
        return self._question(item, max(self.items.best_cut(item), 0), PLACE, -1, what)

    def _question(self, item: int, best: int, purpose: int, checks: int, what: float) -> ProposedQuestion:
        belief = self.audit.belief(item) if purpose == AUDIT else self.items.belief(item)
        possible = np.flatnonzero(belief)
        free = np.arange(possible[0], possible[-1])  # the cuts whose answers are not known
        chances = np.zeros(len(belief) - 1)
        chances[free] = _SPREAD / len(free)
        chances[best] += 1.0 - _SPREAD
        cut = min(int(np.searchsorted(chances.cumsum(), what, side="right")), int(free[-1]))
        placement = int(posteriors.place_one(self.items.belief(item)))
        return ProposedQuestion(item, cut, placement, float(chances[cut]), purpose, checks)

    def count(self, answer: Answer) -> None:
        if answer.purpose == CHECK:
            earlier = self.answers.of(answer.checks)
            if earlier is not None and self.answers["cut"][earlier] == answer.cut:
                self.repeats[0] += 1
                self.repeats[1] += bool(self.answers["higher"][earlier]) != answer.higher
        if answer.purpose != GOLD:  # which judges the person, and not the item
            logs = self.reliability.of(answer.person, answer.cut, answer.higher)
            (self.audit if answer.purpose == AUDIT else self.items).answer(answer.item, logs)
        self.answers.append(answer._replace(is_taught=self._is_taught(answer)))
        if len(self.answers) == self.next:
            if self.refresh is not None:
                self._take_effect(self.refresh.result())
            self.next = next_stage(len(self.answers), len(self.items))
            self.refresh = self._begin()

    def prepare(self, n: int) -> int:
        """How many of the next n answers can be counted without waiting for priors, once this has returned."""
        until = self.next - len(self.answers)
        if n < until:
            return n
        if until > 1 and not self.is_settled():
            return until - 1
        self.settle()
        return until

    def is_settled(self) -> bool:
        """Whether no priors are being made right now."""
        return self.refresh is None or self.refresh.is_done()

    def settle(self) -> None:
        """Wait for the priors that are being made."""
        if self.refresh is not None:
            self.refresh.result()

    def release(self) -> None:
        """Give the audit's answers to their items."""
        audited = self.answers["purpose"] == AUDIT
        for i in np.flatnonzero(audited).tolist():
            self.items.answer(*self._told(i))
        self.answers["purpose"][audited] = PLACE
        self.audit.clear()

    def with_audit(self) -> Items:
        """The items as they would be if the audit's answers were theirs: to look at, and not to change."""
        items = copy.copy(self.items)
        items.evidence = items.evidence.copy()
        items.evidence[self.audit.items] += self.audit.known.evidence  # none is audited twice
        return items

    def error_rate_of_answers(self) -> float:
        """How often an answer is believed to be wrong, on the mean of all that were given."""
        return self.reliability.rate(self.answers["person"])

    def read_people(self) -> dict[str, Person]:
        """What is known of everybody."""
        told, prior = self.answers.told(), bounded(self.items.prior, self.items.bounds)
        is_known = self.items.bounds[:, 0] == self.items.bounds[:, 1]
        basis = self._basis(is_known) if self.X.shape[1] else None
        return {person.name: person for person in read_people(self.people, told, prior, is_known, basis)}

    def _basis(self, is_known: Bools) -> Basis:
        """What was asked without knowing features: audits, and questions drawn to be asked again; and what is decided.

        What a learner says of an item is never quite as sure as it is right. Taken at its word, it would make errors of
        people of its own.
        """
        answers = self.answers
        audited, decided = answers["purpose"] == AUDIT, is_known[answers["item"]]
        checks = np.flatnonzero((answers["purpose"] == CHECK) & ~decided)
        places = {question: place for place, question in enumerate(answers["question"].tolist())}
        pairs = [(places.get(int(answers["checks"][i]), -1), i) for i in checks.tolist()]
        pairs = [(first, i) for first, i in pairs if first >= 0 and answers["cut"][first] == answers["cut"][i]]
        single = np.flatnonzero(audited | decided)
        which = np.concatenate([single, np.array(pairs, dtype=np.int64).reshape(-1)]).astype(np.int64)
        told = answers.told(which)
        # of a pair, both are about a thing of its own
        apart = len(self.items) + np.repeat(np.arange(len(pairs)), 2)
        named, item = np.unique(np.concatenate([told.item[: len(single)], apart]), return_inverse=True)
        levels = {
            i: int(self.items.bounds[one, 0]) for i, one in enumerate(named) if one < len(is_known) and is_known[one]
        }
        told = told._replace(item=item.astype(np.int64))
        return Basis(told, known_or_shared(told, len(named), len(self.scale), levels))

    def expected_error(self) -> float:
        """How far the placements are from the right levels on the mean, by what is known of each."""
        return self.items.expected_error()

    def audited_error(self) -> Estimate:
        """The same, by the audit."""
        return self.audit.judge(self.items.placements()[0])

    def features(self) -> Rows:
        """The items' features, with what is missing filled in, and said to be missing."""
        return self.filling.fill(self.X)

    def recall_audit(self) -> None:
        """Have the audit count its answers again."""
        self.audit.clear()
        for i in np.flatnonzero(self.answers["purpose"] == AUDIT).tolist():
            self.audit.answer(*self._told(i))

    def recall_learners(self) -> None:
        """Give the learners the answers that they were packed without."""
        taught = np.flatnonzero(self.answers["is_taught"][: self.learned])
        item, cut, higher = (self.answers[name][taught] for name in ("item", "cut", "higher"))
        self.learners.recall(self.features(), item, cut, higher)

    def _told(self, i: int) -> tuple[int, Floats]:
        """The item of an answer, and how likely the answer is."""
        item, person, cut, higher = (self.answers[name][i].item() for name in ("item", "person", "cut", "higher"))
        return item, self.reliability.of(person, cut, higher)

    def _is_taught(self, answer: Answer) -> bool:
        """Who is often wrong teaches seldom: as often as it takes for all answers that teach to be worth as much."""
        if answer.purpose == GOLD:
            return False
        if len(self.reliability.rates) == 1:
            return True
        draw = counter.uniforms(self.seed + 5, np.array([answer.question]))[0]
        return bool(draw < self.reliability.worth(np.array([answer.person]))[0])

    def _begin(self) -> Refresh:
        """Learn all answers so far, in the background."""
        answers, X, learners = self.answers, self.features(), self.learners
        calibration = Calibration(
            self.items, self.audit, answers.told(), answers["purpose"] == AUDIT, self.error_rate, self.repeats
        )
        new = self.learned + np.flatnonzero(answers["is_taught"][self.learned :])
        self.learned = len(answers)
        told: Any = [answers[name][new] for name in ("item", "cut", "placement", "propensity", "higher")]
        lacking = self.filling.lacking(self.X)

        def work() -> Priors:
            reliability = calibration.reliability()
            if not X.shape[1]:
                return calibration.shares(reliability)
            learners.learn(X, *told)
            found = calibration.priors(learners.chances(X), reliability)
            if lacking.any():
                found.prior[lacking] = calibration.shares(reliability).prior[lacking]
            return found

        return Refresh(work)

    def _take_effect(self, found: Priors) -> None:
        self.reliability = found.reliability
        audited, is_gold = (self.answers["purpose"] == purpose for purpose in (AUDIT, GOLD))
        own, others = (self.answers.told(np.flatnonzero(which)) for which in (~(audited | is_gold), audited))
        self.items.believe(found.prior, self._evidence(own, len(self.items)))
        places = self.audit.places(others.item)
        self.audit.believe(self._evidence(others._replace(item=places), len(self.audit.items)))

    def _evidence(self, told: AnswerColumns, n_items: int) -> Floats:
        item, person, cut, higher = told
        found: Floats = posteriors.gather(
            item, self.reliability.rows(person), cut, higher, self.reliability.logs, n_items
        )  # fmt: skip
        return found
