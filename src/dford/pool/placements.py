"""What is known about all items: the fold of the answers about them, and what to ask next."""

import copy
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter, posteriors
from dford.estimates import Estimate
from dford.learners import LiveLearner, Rows
from dford.pool.agreement import AnswerColumns, Voice, speaks
from dford.pool.answers import AUDIT, CHECK, GOLD, PLACE, RELEASED, Answer, Answers
from dford.pool.audit import Audit
from dford.pool.choice import AtHand, choose
from dford.pool.error_rate import RateEvidence, rate_evidence
from dford.pool.filling import Filling
from dford.pool.forecast import Forecast
from dford.pool.held_out_learners import Drawn, HeldOutLearners
from dford.pool.items import Items
from dford.pool.judged import judged
from dford.pool.people import Person, read_people
from dford.pool.refresh import Calibration, Priors, Refresh, next_stage
from dford.pool.reliability import Reliability, alike
from dford.scale import Scale

AUDIT_SHARE = 0.03  # the default share of questions that audit the placements
# For one person, and for several, of whom each has to be judged: the share of questions about a level drawn at random,
# without which a wrong belief would go unnoticed, and of those that are asked again, to see how often answers differ.
_SPREAD = 0.03, 0.05
_CHECKS = 0.01, 0.04
_FIRST_CHECK = 20


class ProposedQuestion(NamedTuple):
    """A question about an item, before it is asked. Items, cuts and levels count from 0."""

    item: int
    cut: int
    placement: int
    propensity: float
    purpose: int
    checks: int
    """The number of the question that this one repeats, or -1."""
    person: str | None
    """Whom it is for, if it is known who is available."""


class Placements:
    """The items of a pool and the answers about them; it does not know who has been asked what.

    The same items and the same answers in the same order give the same bits. Priors are computed in the background, and
    take effect at fixed numbers of answers.
    """

    def __init__(self, scale: Scale, learner: LiveLearner, error_rate: float | None, audit: float, seed: int) -> None:
        self.scale, self.error_rate, self.audit_share, self.seed = scale, error_rate, audit, seed
        self.reliability = alike(RateEvidence().rate(error_rate), len(scale))
        self.known: Reliability | None = None
        """How likely answers are, if that is known in advance, and not estimated from the answers."""
        self.voices: list[Voice] = []
        """Who has answered, and how sure they were, in the order of their first answers."""
        self.items = Items(len(scale), seed + 1)
        self.audit = Audit(self.items, seed + 2)
        self.learners = HeldOutLearners(learner, scale, seed + 3)
        self.answers = Answers()
        self.repeats = [0, 0]  # questions asked again, and those answered differently
        self.X: Rows = np.empty((0, 0))
        self.filling = Filling(np.empty(0, np.bool_), np.empty(0))
        self.refresh: Refresh | None = None
        self.learned, self.next = 0, next_stage(0, 0)

    def add(self, rows: Rows) -> None:
        """Add items. The first ones determine which features may be missing, and what is filled in."""
        if not len(self.items):
            self.X = rows[:0]
            self.filling = Filling.of(rows)
        if rows.shape[1] != self.X.shape[1]:
            raise ValueError(f"the items have {self.X.shape[1]} features, but the new ones have {rows.shape[1]}")
        is_sparse = sparse.issparse(rows)
        self.X = sparse.vstack([self.X, rows], "csr") if is_sparse else np.concatenate([self.X, rows])
        self.items.add(rows.shape[0])
        self.audit.look()

    def settle(self, item: int, low: int, high: int) -> None:
        """Set the lowest and highest level that an item can have."""
        self.items.settle(item, low, high)
        self.audit.settle(item)

    def number(self, voice: Voice) -> int:
        """The number of a voice, which may be new."""
        if voice not in self.voices:
            self.voices.append(voice)
            self.reliability = self.reliability.extended(self.voices, self.error_rate)
        return self.voices.index(voice)

    def propose(
        self, number: int, auditing: Collection[int] = (), at_hand: Sequence[AtHand] = ()
    ) -> ProposedQuestion | None:
        """The best question now, by draw `number` of the stream; None if no answer would tell anything.

        `auditing` are the items with an open audit question. If it is known who is available, the question is the one
        whose answer tells most for its cost, and not one they have answered, if there are others. People who can only
        answer about some items are asked to place one of these.
        """
        why, what = counter.uniforms(self.seed, np.array([2 * number, 2 * number + 1])).tolist()
        best = partial(self._best, at_hand, what)
        if any(one.items is not None for one in at_hand):
            return best()
        auditors = [one for one in at_hand if one.may_audit]
        audits = self._share_of_audits() if auditors or not at_hand else 0.0
        checks = self._share_of_checks() if len(self.answers) >= _FIRST_CHECK else 0.0
        if why < audits:
            found = self.audit.pick(auditing)
            return best() if found is None else self._question(*found, AUDIT, -1, what, self._draw(auditors, number))
        if why < audits + checks:
            drawn = int((why - audits) / checks * len(self.answers))
            item, cut = (int(self.answers[name][drawn]) for name in ("item", "cut"))
            same = (self.answers["item"] == item) & (self.answers["cut"] == cut)
            answered = {self.voices[voice].name for voice in np.unique(self.answers["person"][same]).tolist()}
            others = [one for one in at_hand if not (one.is_program and one.name in answered)]
            is_fit = self.answers["purpose"][drawn] != AUDIT and self.items.is_free(item, cut)
            if is_fit and (others or not at_hand):
                again = int(self.answers["question"][drawn])
                return self._question(item, cut, CHECK, again, what, self._draw(others, number))
        return best()

    def _best(self, at_hand: Sequence[AtHand], what: float) -> ProposedQuestion | None:
        """The question that tells most about the level of an item."""
        is_unsure = any(voice.is_guess for voice in self.voices)
        if is_unsure and not at_hand:
            at_hand = (AtHand(""),)  # who does not know is not asked the same again
        if len(at_hand) > 1 or (at_hand and (is_unsure or len(self.voices) > 1 or at_hand[0].is_restricted)):
            choice = choose(self.items, self.answers, self.reliability, self.voices, at_hand)
            if choice is not None:
                item, cut, who, cuts = choice
                return self._question(item, cut, PLACE, -1, what, at_hand[who].name or None, cuts)
        # everything was answered, or it makes no difference by whom
        again = [one.name for one in at_hand if not one.is_restricted]
        found = self.items.best() if again or not at_hand else None
        return None if found is None else self._question(*found, PLACE, -1, what, (again[0] if again else "") or None)

    def _share_of_audits(self) -> float:
        """The share of auditors' questions; a half if the audit has fallen behind because others answered so much."""
        expected = self.audit_share * len(self.answers)
        there = np.count_nonzero(np.isin(self.answers["purpose"], (AUDIT, RELEASED)))
        return 0.5 if there + expected**0.5 < expected - 1.0 else self.audit_share

    def _share_of_checks(self) -> float:
        return _CHECKS[self._has_people()] if self.error_rate is None else 0.0

    def _has_people(self) -> bool:
        """Whether several have answered."""
        return any(voice.name != self.voices[0].name for voice in self.voices)

    def _draw(self, some: Sequence[AtHand], number: int) -> str | None:
        """One of the cheapest of these, by draw `number`."""
        least = min((one.cost for one in some), default=0.0)
        names = [one.name for one in some if one.cost == least]
        draw = float(counter.uniforms(self.seed + 6, np.array([number]))[0])
        return names[int(draw * len(names))] if names else None

    def propose_about(self, item: int, number: int) -> ProposedQuestion:
        """The best question about this item, by draw `number` of the stream."""
        what = float(counter.uniforms(self.seed, np.array([2 * number + 1]))[0])
        return self._question(item, max(self.items.best_cut(item), 0), PLACE, -1, what, None)

    def propose_gold(self, item: int, person: str, what: float) -> ProposedQuestion:
        """What would be asked about a settled item if it were not settled, so that it looks like any other question."""
        belief = self.items.unsettled(np.array([item]))[0]
        best = int(np.abs(belief.cumsum()[:-1] - 0.5).argmin())
        return self._question(item, best, GOLD, -1, what, person)

    def _question(
        self, item: int, best: int, purpose: int, checks: int, what: float, person: str | None, cuts: Ints | None = None
    ) -> ProposedQuestion:
        belief = self.items.unsettled(np.array([item]))[0] if purpose == GOLD else self.items.belief(item)
        possible = np.flatnonzero(self.audit.belief(item) if purpose == AUDIT else belief)
        free = np.arange(possible[0], possible[-1])  # cuts whose answers are not known
        free = free if cuts is None else np.intersect1d(free, cuts)
        if not len(free):  # after very many answers, the probability of every other level underflows
            free = np.array([best])
        chances = np.zeros(len(belief) - 1)
        spread = _SPREAD[self._has_people()]
        chances[free] = spread / len(free)
        chances[best] += 1.0 - spread
        cut = min(int(np.searchsorted(chances.cumsum(), what, side="right")), int(free[-1]))
        return ProposedQuestion(
            item, cut, int(posteriors.place_one(belief)), float(chances[cut]), purpose, checks, person
        )

    def count(self, answer: Answer) -> None:
        if self.voices[answer.person].is_guess:
            self._count_guess(answer)
        else:
            self._count_said(answer)
        self._go_on()

    def _go_on(self) -> None:
        """Let the next priors take effect, and begin others, if it is time."""
        if len(self.answers) < self.next:
            return
        if self.refresh is not None:
            self._take_effect(self.refresh.result())
        self.next = next_stage(len(self.answers), len(self.items))
        self.refresh = self._begin()

    def _count_said(self, answer: Answer) -> None:
        if answer.purpose == CHECK:
            earlier = self.answers.of(answer.checks)
            is_same = earlier is not None and self.answers["cut"][earlier] == answer.cut
            if is_same and not self.voices[self.answers["person"][earlier]].is_guess:
                self.repeats[0] += 1
                self.repeats[1] += bool(self.answers["higher"][earlier]) != answer.higher
        logs = self.reliability.of(answer.person, answer.cut, answer.higher)
        (self.audit if answer.purpose == AUDIT else self.items).answer(answer.item, logs)
        self.answers.append(answer._replace(is_taught=self._is_taught(answer)))

    def _count_guess(self, answer: Answer) -> None:
        """A guess says nothing about its item, and nothing is learned from it."""
        if answer.purpose == AUDIT:
            self.audit.give_up(answer.item)
        self.answers.append(answer._replace(is_taught=False))

    def _says(self) -> Bools:
        """Which answers say something."""
        return speaks(self.voices, self.answers["person"])

    def prepare(self, n: int) -> int:
        """How many of the next n answers can be counted without waiting for priors, after this call."""
        until = self.next - len(self.answers)
        if n < until:
            return n
        if until > 1 and not self.is_finished():
            return until - 1
        self.finish()
        return until

    def is_finished(self) -> bool:
        """Whether no priors are being computed right now."""
        return self.refresh is None or self.refresh.is_done()

    def finish(self) -> None:
        """Wait for the priors that are being computed."""
        if self.refresh is not None:
            self.refresh.result()

    def recover(self) -> None:
        """If priors could not be computed, forget what was half learned: the next answer starts from all of them.

        And do what an interrupt came before.
        """
        if self.refresh is not None and self.refresh.has_failed():
            self.refresh, self.learners, self.learned = None, self.learners.anew(), 0
            self.next = max(self.next, len(self.answers) + 1)
        self._go_on()

    def release(self) -> None:
        """Let the audit's answers count for their items."""
        audited = self.answers["purpose"] == AUDIT
        self.items.evidence = self.with_audit().evidence
        said = self.answers["item"][audited & self._says()]
        self.items.counts += np.bincount(said, minlength=len(self.items)).astype(np.int32)
        self.items.look(np.arange(len(self.items)))
        self.answers["purpose"][audited] = RELEASED
        self.audit.clear()

    def with_audit(self) -> Items:
        """The items as they would be if the audit's answers counted for them: to read, not to change."""
        items = copy.copy(self.items)
        items.evidence = items.evidence.copy()
        items.evidence[self.audit.items] += self.audit.known.evidence  # no item is there twice
        return items

    def error_rate_of_answers(self) -> float:
        """How often an answer is believed to be wrong, averaged over all given answers."""
        return self.reliability.rate(self.answers["person"][self._says()])

    def read_people(self) -> dict[str, Person]:
        """What is known about everybody.

        An answer shows whether a person is right about a settled item only if it was settled before: an item may be
        settled later just because its answers contradict each other.
        """
        answers, told = self.answers, self.answers.told()
        low, high = self.items.bounds[told.item].astype(np.int64).T
        known = np.where((answers["purpose"] == GOLD) & (low == high), low, -1)
        basis = judged(answers, known, self.voices, len(self.items), len(self.scale), self.X.shape[1] > 0)
        return {person.name: person for person in read_people(self.voices, told, known, basis)}

    def forecast(self, items: Items) -> Forecast:
        """How many more answers it takes, from what is known about these items."""
        share = 1.0 - self.audit_share - self._share_of_checks()
        return Forecast(items, self.error_rate_of_answers(), share, self.seed + 4)

    def expected_error(self) -> float:
        """How far the placements are from the right levels on average, according to their beliefs."""
        return self.items.expected_error()

    def audited_error(self) -> Estimate:
        """The same, according to the audit."""
        return self.audit.judge(self.items.placements()[0])

    def features(self) -> Rows:
        """The items' features, with missing ones filled in and marked as missing."""
        return self.filling.fill(self.X)

    def recall_audit(self) -> None:
        """Let the audit count its answers again."""
        self.audit.clear()
        says = self._says()
        for i in np.flatnonzero(self.answers["purpose"] == AUDIT).tolist():
            if says[i]:
                self.audit.answer(*self._told(i))
            else:
                self.audit.give_up(int(self.answers["item"][i]))

    def recall_learners(self) -> None:
        """Give the learners back the answers they were packed without."""
        taught = np.flatnonzero(self.answers["is_taught"][: self.learned])
        item, cut, higher = (self.answers[name][taught] for name in ("item", "cut", "higher"))
        self.learners.recall(self.features(), item, cut, higher)

    def _told(self, i: int) -> tuple[int, Floats]:
        """The item of an answer, and the logarithms of how likely the answer is."""
        item, person, cut, higher = (self.answers[name][i].item() for name in ("item", "person", "cut", "higher"))
        return item, self.reliability.of(person, cut, higher)

    def _is_taught(self, answer: Answer) -> bool:
        """People who are often wrong teach rarely: their answers are thinned out in proportion to their worth."""
        if answer.purpose == GOLD:
            return False
        if len(self.reliability.rates) == 1:
            return True
        draw = counter.uniforms(self.seed + 5, np.array([answer.question]))[0]
        return bool(draw < self.reliability.worth(np.array([answer.person]))[0])

    def _begin(self) -> Refresh:
        """Learn all answers so far, in the background."""
        answers, X, learners, says = self.answers, self.features(), self.learners, self._says()
        said, purpose = answers.told(says), answers["purpose"][says]
        evidence = rate_evidence(self.repeats, said, purpose, self.items.bounds, len(self.scale))
        calibration = Calibration(
            self.items, self.audit, said, purpose == AUDIT, self.voices, self.error_rate, evidence
        )  # fmt: skip
        new = self.learned + np.flatnonzero(answers["is_taught"][self.learned :])
        self.learned = len(answers)
        told: Any = [answers[name][new] for name in ("item", "cut", "placement", "propensity", "higher")]
        lacking = self.filling.lacking(self.X)
        drawn = Drawn.of(self.items, learners.models[0], self.seed + 7)

        def work() -> Priors:
            reliability = self.known or calibration.reliability()
            if not X.shape[1]:
                return calibration.shares(reliability)
            learners.learn(X, *told)
            parts = learners.parts(np.arange(X.shape[0]))
            prior = calibration.fit(learners.chances(X), X, parts, drawn, reliability)[1]
            if lacking.any():
                prior[lacking] = calibration.shares(reliability).prior[lacking]
            return Priors(prior, reliability)

        return Refresh(work)

    def _take_effect(self, found: Priors) -> None:
        self.reliability = found.reliability.extended(self.voices, self.error_rate)
        audited, says = self.answers["purpose"] == AUDIT, self._says()
        own, others = (self.answers.told(np.flatnonzero(which & says)) for which in (~audited, audited))
        self.items.believe(found.prior, self._evidence(own, len(self.items)))
        places = self.audit.places(others.item)
        self.audit.believe(self._evidence(others._replace(item=places), len(self.audit.items)))

    def _evidence(self, told: AnswerColumns, n_items: int) -> Floats:
        item, person, cut, higher = told
        found: Floats = posteriors.gather(
            item, self.reliability.rows(person), cut, higher, self.reliability.logs, n_items
        )  # fmt: skip
        return found
