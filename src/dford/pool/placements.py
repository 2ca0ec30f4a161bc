"""What is known about all items: the fold of the answers about them, and what to ask next."""

import copy
import math
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dford.arrays import Bools, Floats, Ints
from dford.engine import counter
from dford.engine.beliefs import posteriors
from dford.engine.beliefs.opinions import RATED, YES
from dford.learners import LiveLearner, Rows
from dford.pool.agreement import AnswerColumns, Voice, decides, halve, speaks
from dford.pool.answers import AUDIT, CHECK, GOLD, PLACE, RELEASED, Answer, Answers
from dford.pool.apart import NOT_YET, AnswerApart, AnswersApart
from dford.pool.audit import Audit
from dford.pool.choice import AtHand, choose, choose_opinion
from dford.pool.figures import Certification, Forecast, Verdict, expected_error
from dford.pool.filling import Filling
from dford.pool.held_out_learners import Drawn, HeldOutLearners, Lessons
from dford.pool.items import Items
from dford.pool.judged import judged
from dford.pool.people import Basis, Person, read_people
from dford.pool.refresh import Calibration, Priors, Refresh, Stage, is_start
from dford.pool.reliability import Reliability, alike, usual_rate
from dford.pool.votes import RatingColumn, Votes, ratings, start
from dford.scale import Scale

AUDIT_SHARE = 0.03  # the default share of questions that audit the placements
# For one person, and for several, of whom each has to be judged: the share of questions about a level drawn at random,
# without which a wrong belief would go unnoticed, and of those that are asked again, to see how often answers differ.
_SPREAD = 0.03, 0.05
_CHECKS = 0.01, 0.04
_EARLY_CHECKS = 0.5  # more at first: this over the square root of the number of answers
_FIRST_CHECK = 20
# What one program says about an item is worth about this share of a person's answer about it: measured on language
# models as judges, of which one brings levels as much nearer as a quarter of an answer per item does.
_CHEAP = 0.25


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
        self.reliability = alike(usual_rate(len(scale)) if error_rate is None else error_rate, len(scale))
        self.known: Reliability | None = None
        """How likely answers are, if that is known in advance, and not estimated from the answers."""
        self.voices: list[Voice] = []
        """Who has answered, and how sure they were, in the order of their first answers."""
        self.items = Items(len(scale), seed)
        self.audit = Audit(self.items, seed)
        self.learners = HeldOutLearners(learner, scale, seed)
        self.answers = Answers()
        self.apart = AnswersApart()
        self.X: Rows = np.empty((0, 0))
        self.filling = Filling(np.empty(0, np.bool_), np.empty(0))
        self.rating_columns: list[RatingColumn] = []
        """Features that are ratings on this scale; they are given before there are items."""
        self.refresh: Refresh | None = None
        self.learned, self.informed = 0, 0
        self.next = Stage(0, 0).next(0)
        self._said = set[tuple[int, int, bool, str]]()  # about which item and cut, or level if rated, by whom
        self._numbers, self._firsts = dict[Voice, int](), dict[str, int]()  # of voices, and of each name's first one
        self._sure: tuple[Reliability, Floats] | None = None  # its sureness

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
        if self.rating_columns:
            self.items.start(start(ratings(rows, self.rating_columns), len(self.scale)))
        self.audit.look()

    def go_back(self, X: Rows, filling: Filling) -> None:
        """After an interrupt, forget the items that came after these."""
        self.X, self.filling = X, filling
        self.items.keep(X.shape[0])

    def settle(self, item: int, low: int, high: int) -> None:
        """Set the lowest and highest level that an item can have."""
        self.items.settle(item, low, high)
        self.audit.settle(item)
        self._go_on()

    def number(self, voice: Voice) -> int:
        """The number of a voice, which may be new."""
        if len(self._numbers) != len(self.voices):
            numbers, firsts = {one: number for number, one in enumerate(self.voices)}, dict[str, int]()
            for one, number in numbers.items():
                firsts.setdefault(one.name, number)
            self._firsts = firsts  # first, as after an interrupt the length of the other says whether both are there
            self._numbers = numbers
        if voice not in self._numbers:
            self.voices.append(voice)
            before, self.reliability = self.reliability, self._extended(self.reliability)
            if before.spread != self.reliability.spread:  # now people may differ
                self._recall_evidence()
            self._firsts.setdefault(voice.name, len(self._numbers))
            self._numbers[voice] = len(self._numbers)
        return self._numbers[voice]

    def _extended(self, reliability: Reliability) -> Reliability:
        """With the voices that came since, unless all is known in advance."""
        return self.known or reliability.extended(self.voices, self.error_rate)

    def propose(
        self,
        number: int,
        auditing: Collection[int] = (),
        at_hand: Sequence[AtHand] = (),
        least_audits: float = 0.0,
    ) -> ProposedQuestion | None:
        """The best question now, by draw `number` of the stream; None if no answer would tell anything.

        `auditing` are the items with an open audit question. If it is known who is available, the question is the one
        whose answer tells most for its cost, and not one they have answered, if there are others. People who can only
        answer about some items are asked to place one of these. Of the others' questions, at least this share audits.
        """
        why, what = self._draw("why", number), self._draw("what", number)
        best = partial(self._best, at_hand, what)
        if any(one.items is not None for one in at_hand) or (at_hand and all(one.informs for one in at_hand)):
            return best()
        auditors = [one for one in at_hand if one.may_audit]
        audits = max(self._share_of_audits(), least_audits) if auditors or not at_hand else 0.0
        checks = self._share_of_checks() if self.stage().decided >= _FIRST_CHECK else 0.0
        if why < audits:
            found = self.audit.pick(auditing)
            return (
                best() if found is None else self._question(*found, AUDIT, -1, what, self._cheapest(auditors, number))
            )
        if why < audits + checks:
            which = np.flatnonzero(self._says() & (self.answers["said"] != RATED))
            if not len(which):
                return best()
            drawn = int(which[int((why - audits) / checks * len(which))])
            item, cut = (int(self.answers[name][drawn]) for name in ("item", "cut"))
            same = (self.answers["item"] == item) & (self.answers["cut"] == cut)
            answered = {self.voices[voice].name for voice in np.unique(self.answers["person"][same]).tolist()}
            others = [one for one in at_hand if not (one.informs or (one.is_program and one.name in answered))]
            is_fit = self.answers["purpose"][drawn] != AUDIT and self.items.is_free(item, cut)
            if is_fit and (others or not at_hand):
                again = int(self.answers["question"][drawn])
                return self._question(item, cut, CHECK, again, what, self._cheapest(others, number))
        return best()

    def _best(self, at_hand: Sequence[AtHand], what: float) -> ProposedQuestion | None:
        """The question that tells most about the level of an item."""
        informers, at_hand = [one for one in at_hand if one.informs], [one for one in at_hand if not one.informs]
        if at_hand:  # what informs is worth asking first, about every item, if that is cheap
            each, least = math.ceil(math.log2(len(self.scale))), min(one.cost for one in at_hand)
            informers = [one for one in informers if one.cost * each <= _CHEAP * least]
        if informers:
            opinion = choose_opinion(self.items, self.answers, self.voices, informers)
            if opinion is not None or not at_hand:
                return None if opinion is None else self._opinion(*opinion)
        is_unsure = any(voice.is_guess for voice in self.voices)
        if is_unsure and not at_hand:
            at_hand = (AtHand(""),)  # who does not know is not asked the same again
        if len(at_hand) > 1 or (at_hand and (is_unsure or self._has_people() or at_hand[0].is_restricted)):
            choice = choose(self.items, self.answers, self.reliability, self.voices, at_hand)
            if choice is not None:
                item, cut, who, cuts = choice
                return self._question(item, cut, PLACE, -1, what, at_hand[who].name or None, cuts)
        # everything was answered, or it makes no difference by whom
        again = [one.name for one in at_hand if not one.is_restricted]
        found = self.items.best() if again or not at_hand else None
        return None if found is None else self._question(*found, PLACE, -1, what, (again[0] if again else "") or None)

    def _opinion(self, item: int, cut: int, name: str) -> ProposedQuestion:
        """The question that tells most about the opinion of somebody who informs."""
        return ProposedQuestion(item, cut, int(posteriors.place_one(self.items.belief(item))), 1.0, PLACE, -1, name)

    def _share_of_audits(self) -> float:
        """The share of auditors' questions; a half if the audit has fallen behind because others answered so much."""
        expected = self.audit_share * np.count_nonzero(self._says())
        purpose = self.answers["purpose"]
        there = np.count_nonzero(purpose == AUDIT) + np.count_nonzero(purpose == RELEASED)
        return 0.5 if there + expected**0.5 < expected - 1.0 else self.audit_share

    def _share_of_checks(self) -> float:
        if self.error_rate is not None:
            return 0.0
        return max(_CHECKS[self._has_people()], _EARLY_CHECKS / math.sqrt(max(self.stage().decided, 1)))

    def _has_people(self) -> bool:
        """Whether several have answered."""
        return len({voice.name for voice in self.voices if not voice.informs}) > 1

    def _draw(self, stream: str, number: int) -> float:
        """Draw `number` of one of the streams of this seed."""
        return float(counter.uniforms(counter.stream(self.seed, stream), np.array([number]))[0])

    def _cheapest(self, some: Sequence[AtHand], number: int) -> str | None:
        """One of the cheapest of these, by draw `number`."""
        least = min((one.cost for one in some), default=0.0)
        names = [one.name for one in some if one.cost == least]
        return names[int(self._draw("whom", number) * len(names))] if names else None

    def propose_about(self, item: int, number: int) -> ProposedQuestion:
        """The best question about this item, by draw `number` of the stream."""
        best = max(self.items.best_cut(item), 0)
        return self._question(item, best, PLACE, -1, self._draw("what", number), None)

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
        voice = self.voices[answer.person]
        self.informed += voice.informs
        if voice.is_guess:
            self._count_guess(answer)
        elif voice.informs:  # it takes effect with the next priors
            self.answers.append(answer._replace(is_taught=False))
            if is_start(self.stage().decided):
                self._start_from_votes(answer.item)
        else:
            self._count_said(answer)
        self._go_on()

    def _start_from_votes(self, item: int) -> None:
        """Until enough says what it is worth, what informs is where an item starts, at once."""
        which = np.flatnonzero((self.answers["item"] == item) & speaks(self.voices, self.answers["person"]))
        told = self.answers.told(which)
        rated = ratings(self.X[[item]], self.rating_columns)
        votes = Votes.of(told._replace(item=np.zeros_like(told.item)), self.voices, rated, len(self.scale))
        if votes is not None:
            self.items.set_prior(item, votes.shares[0])

    def _n_informed(self) -> int:
        """How many answers are by those who inform."""
        informs = np.array([voice.informs for voice in self.voices], np.bool_)
        return int(informs[self.answers["person"]].sum())

    def count_apart(self, row: Rows, answer: AnswerApart) -> None:
        """Count an answer about no item, with its features: it teaches the learners."""
        self.apart.append(row, answer)
        self._go_on()

    def learn_apart(self, X: Rows, answers: Sequence[AnswerApart]) -> None:
        """Learn such answers at once, before anything is asked."""
        for i, answer in enumerate(answers):
            self.apart.append(X[i : i + 1], answer)
        self._begin_next()
        self._begin_next()

    def stage(self) -> Stage:
        """How many answers there are, about items or not."""
        decided = len(self.answers) + len(self.apart) + self.items.n_settled - self.informed
        return Stage(decided, self.informed)

    def _go_on(self) -> None:
        """Let the next priors take effect, and begin others, if it is time."""
        if self.stage().until(self.next) <= 0:
            self._begin_next()

    def _begin_next(self) -> None:
        if self.refresh is not None:
            self._take_effect(self.refresh.result())
            self.refresh = None  # after an interrupt, only the next one is begun again
        self._begin(self.stage().next(len(self.items)))

    def _count_said(self, answer: Answer) -> None:
        self.answers.append(answer._replace(is_taught=self._is_taught(answer)))
        if answer.purpose == AUDIT:
            logs = self._logs(len(self.answers) - 1, self.reliability.without_spread())
            self.audit.answer(answer.item, answer.placement, logs)
        else:
            key = answer.item, answer.cut, answer.said == RATED, self.voices[answer.person].name
            self.items.answer(answer.item, self._evidence_of(answer.item), key in self._said)
            self._said.add(key)

    def _count_guess(self, answer: Answer) -> None:
        """A guess says nothing about its item, and nothing is learned from it."""
        if answer.purpose == AUDIT:
            self.audit.give_up(answer.item)
        self.answers.append(answer._replace(is_taught=False))

    def _says(self) -> Bools:
        """Which answers say what is right."""
        return decides(self.voices, self.answers["person"])

    def _votes(self) -> Votes | None:
        """What those who inform say, and columns of ratings."""
        people = self.answers["person"]
        told = self.answers.told(speaks(self.voices, people) & ~decides(self.voices, people))
        return Votes.of(told, self.voices, ratings(self.X, self.rating_columns), len(self.scale))

    def prepare(self, n: int) -> int:
        """How many of the next n answers can be counted without waiting for priors, after this call."""
        until = self.stage().until(self.next)
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
            self._learn_anew()
        self._go_on()

    def _learn_anew(self) -> None:
        self.refresh, self.learners, self.learned = None, self.learners.anew(), 0
        self.apart.anew()
        decided, informed = self.stage()
        self.next = Stage(max(self.next.decided, decided + 1), max(self.next.informed, informed + 1))

    def recall(self) -> None:
        """After an interrupt, work out from the answers what follows from them."""
        n = int(self.answers["person"].max(initial=-1)) + 1
        del self.voices[n:]
        self._numbers, self._firsts = {}, {}
        self.reliability, self._sure = self._extended(self.reliability.of_first(self.voices)), None
        self._recall_items()
        self.recall_audit()
        self.informed, last = self._n_informed(), len(self.answers) - 1
        if last >= 0 and self.voices[self.answers["person"][last]].informs and is_start(self.stage().decided):
            self._start_from_votes(int(self.answers["item"][last]))

    def _recall_items(self) -> None:
        """Work out anew what follows for the items from the answers that place them."""
        own = self._recall_evidence()
        self.items.counts = np.bincount(own.item, minlength=len(self.items)).astype(np.int32)
        self.items.count_settled()
        self.recall_repeats()
        self.items.look(np.arange(len(self.items)))

    def _recall_evidence(self) -> AnswerColumns:
        """Work out anew what the answers that place items say of them, by the people as they are now."""
        own = self.answers.told((self.answers["purpose"] != AUDIT) & self._says())
        self.items.evidence = self._evidence(own, len(self.items))
        self.items.differ(self.reliability)
        return own

    def release(self) -> None:
        """Let the audit's answers count for their items."""
        purpose = self.answers["purpose"]
        purpose[purpose == AUDIT] = RELEASED
        self._recall_items()
        self.audit.clear()

    def with_audit(self) -> Items:
        """The items as they would be if the audit's answers counted for them: to read, not to change."""
        items, says, item = copy.copy(self.items), self._says(), self.answers["item"]
        audited = np.unique(item[(self.answers["purpose"] == AUDIT) & says])
        if len(audited):  # what a person said in the audit and outside of it is one opinion
            told = self.answers.told(np.isin(item, audited) & says)
            places = np.searchsorted(audited, told.item)
            items.evidence = items.evidence.copy()
            items.evidence[audited] = self._evidence(told._replace(item=places), len(audited))
            items.counts = items.counts.copy()
            items.counts[audited] = np.bincount(places, minlength=len(audited))
        return items

    def error_rate_of_answers(self) -> float:
        """How often an answer is believed to be wrong, averaged over all given answers."""
        return self.reliability.rate(self.answers["person"][self._says()])

    def ratings_of_people(self) -> set[tuple[int, int, str]]:
        """The item, the level and the name of the person of all whole ratings."""
        rated = self.answers["said"] == RATED
        item, level, person = (self.answers[name][rated].tolist() for name in ("item", "cut", "person"))
        return {(i, k, self.voices[p].name) for i, k, p in zip(item, level, person, strict=True)}

    def read_people(self) -> dict[str, Person]:
        """What is known about everybody.

        An answer shows whether a person is right about a settled item only if it was settled before: an item may be
        settled later just because its answers contradict each other.
        """
        told, known = self.answers.told().halved(len(self.scale)), self._known()
        return {person.name: person for person in read_people(self.voices, told, known, self._basis())}

    def _known(self) -> Ints:
        """The level that was already known when a question was asked, or -1."""
        low, high = self.items.bounds[self.answers["item"]].astype(np.int64).T
        return np.where((self.answers["purpose"] == GOLD) & (low == high), low, -1)

    def _basis(self) -> Basis:
        """The answers that show how reliable people are."""
        is_chosen = self.X.shape[1] > 0 or self.informed > 0
        return judged(self.answers, self._known(), self.voices, len(self.items), len(self.scale), is_chosen)

    def verdict(self) -> Verdict:
        """How far off the placements are, and what the audit says of them."""
        return Verdict.of(self.items, self.audit)

    def expected_error(self) -> float:
        """How far off they are expected to be."""
        return expected_error(self.items, self.audit)

    def certification(self, target: float) -> Certification:
        """Whether the audit shows that they are at most so far off, and what is missing."""
        return Certification.of(self.items, self.audit, target, self.error_rate_of_answers())

    def forecast(self) -> Forecast:
        """How many more answers it takes until they are expected to be less far off, from what is known now."""
        share = 1.0 - self.audit_share - self._share_of_checks()
        return Forecast(self.items, self.error_rate_of_answers(), share, self.expected_error(), self.seed)

    def features(self) -> Rows:
        """The items' features, with missing ones filled in and marked as missing."""
        return self.filling.fill(self.X)

    def recall_repeats(self) -> None:
        """Count again how many answers about each item somebody had given before."""
        own = self.answers.told((self.answers["purpose"] != AUDIT) & self._says())
        names = [self.voices[person].name for person in own.person.tolist()]
        self._said = set[tuple[int, int, bool, str]]()
        self.items.repeats = np.zeros(len(self.items), np.int32)
        for key in zip(own.item.tolist(), own.cut.tolist(), (own.said == RATED).tolist(), names, strict=True):
            self.items.repeats[key[0]] += key in self._said
            self._said.add(key)

    def recall_audit(self) -> None:
        """Let the audit count its answers again."""
        by, item, placement = self.reliability.without_spread(), self.answers["item"], self.answers["placement"]
        which = np.flatnonzero(self.answers["purpose"] == AUDIT).tolist()
        voices = [self.voices[self.answers["person"][i]] for i in which]
        self.audit.recall(
            (int(item[i]), int(placement[i]), None if voice.is_guess else self._logs(i, by))
            for i, voice in zip(which, voices, strict=True)
            if voice.decides or voice.is_guess
        )

    def recall_learners(self) -> None:
        """Give the learners back the answers they were packed without."""
        after, taught = self.apart["after"], np.flatnonzero(self.answers["is_taught"][: self.learned])
        apart = np.flatnonzero(after >= 0)
        order = np.argsort(np.concatenate([2 * after[apart], 2 * taught + 1]), kind="stable")
        self.learners.recall(self._lessons(np.concatenate([apart, len(self.apart) + taught])[order]))

    def _lessons(self, which: Ints) -> Lessons:
        """What there is to learn from some answers. Those about no item are numbered first, then those about items."""
        n_apart, X = len(self.apart), self.features()
        item = np.concatenate([np.full(n_apart, -1), self.answers["item"]])[which]
        places, parts = np.where(item < 0, which, n_apart + item), np.where(item < 0, -1, self.learners.parts(item))
        columns = (
            np.concatenate([self.apart[name], own])[which]
            for name, own in zip(("cut", "placement", "propensity", "higher"), self._as_asked(), strict=True)
        )
        if not (item < 0).any():
            return Lessons(X[item], parts, *columns)
        apart = self.filling.fill(self.apart.X)
        rows = sparse.vstack([apart, X], "csr") if sparse.issparse(X) else np.concatenate([apart, X])
        return Lessons(rows[places], parts, *columns)

    def _as_asked(self) -> tuple[Ints, Ints, Floats, Bools]:
        """All answers for learners, to whom a rating is a yes or no about a cut drawn at random."""
        cut, said, propensity = (self.answers[name] for name in ("cut", "said", "propensity"))
        if not (said == RATED).any():
            return cut, self.answers["placement"], propensity, said == YES
        drawn = counter.uniforms(counter.stream(self.seed, "rated"), np.arange(len(cut)))
        halved, yes = halve(cut, said, drawn, len(self.scale))
        even = np.where(said == RATED, 1.0 / (len(self.scale) - 1), propensity)
        return halved, self.answers["placement"], even, yes == YES

    def _logs(self, i: int, by: Reliability) -> Floats:
        """The logarithms of how likely an answer is by itself."""
        _, voice, cut, said = self.answers.told(np.array([i]))
        return by.of(voice, cut, said)

    def _evidence_of(self, item: int) -> Floats:
        """What the answers that place an item say of it, after the last one: the same bits as if counted anew."""
        if self.reliability.spread == 0.0:
            before: Floats = self.items.evidence[item]
            return before + self._logs(len(self.answers) - 1, self.reliability)
        own = np.flatnonzero((self.answers["item"] == item) & (self.answers["purpose"] != AUDIT))
        by_person = dict[int, list[int]]()
        for answer, voice in zip(own.tolist(), self.answers["person"][own].tolist(), strict=True):
            if self.voices[voice].decides:
                by_person.setdefault(self._firsts[self.voices[voice].name], []).append(answer)
        found: Floats = np.zeros(self.items.evidence.shape[1])
        for _, theirs in sorted(by_person.items()):
            found += self.reliability.of(*self.answers.told(np.array(theirs))[1:])
        return found

    def _is_taught(self, answer: Answer) -> bool:
        """People who are often wrong teach rarely: their answers are thinned out in proportion to their worth."""
        if answer.purpose == GOLD:
            return False
        if len(self.reliability.rates) == 1:
            return True
        by = self.reliability
        if self._sure is None or self._sure[0] is not by:
            before, sure = self._sure or (by, np.empty(0))
            known = len(sure) if before.shares is by.shares and before.spread == by.spread else 0
            new = by._replace(strictness=by.strictness[known:], rates=by.rates[known:])
            self._sure = by, np.append(sure[:known], new.sureness())
        sure = self._sure[1]
        own = float(sure[by.rows(np.array([answer.person]))[0]]) / float(sure[1:].max())
        return bool(self._draw("teaches", len(self.answers)) < own * own)

    def _begin(self, until: Stage) -> None:
        """Learn all answers so far, in the background; what is found takes effect at this stage."""
        answers, X, learners, says, votes = self.answers, self.features(), self.learners, self._says(), self._votes()
        said, purpose = answers.told(says), answers["purpose"][says]
        calibration = Calibration(
            self.items, self.audit, said, purpose == AUDIT, self.voices, self.error_rate, self.apart["cut"].copy(),
            votes, None if votes is None else self._basis(),
        )  # fmt: skip
        new = self.learned + np.flatnonzero(answers["is_taught"][self.learned :])
        apart = np.flatnonzero(self.apart["after"] == NOT_YET) if X.shape[0] else np.empty(0, np.int64)
        lessons = self._lessons(np.concatenate([apart, len(self.apart) + new]))
        lacking = self.filling.lacking(self.X)
        # audited items teach as well, as no model sees those that it predicts
        drawn = Drawn.of(self.with_audit(), learners.models[0], self.seed, votes is not None)

        def work() -> Priors:
            if not X.shape[1] and votes is None:
                return calibration.shares(self.known or calibration.reliability())
            with ThreadPoolExecutor(1, "dford-people") as beside:  # the learners do not need it
                found = beside.submit(lambda: self.known or calibration.reliability())
                if X.shape[1]:
                    learners.learn(lessons)
                reliability = found.result()
            parts = learners.parts(np.arange(X.shape[0]))
            prior = calibration.fit(learners.chances(X), X, parts, drawn, reliability)[1]
            if lacking.any():
                prior[lacking] = calibration.shares(reliability).prior[lacking]
            return Priors(prior, reliability)

        refresh, n, after = Refresh(work), len(answers), self.apart["after"]
        # there is no call in this statement, so an interrupt comes before all of it or after
        after[apart], self.learned, self.next, self.refresh = self.learned, n, until, refresh
        refresh.begin()

    def _take_effect(self, found: Priors) -> None:
        self.reliability = self._extended(found.reliability)
        audited, says = self.answers["purpose"] == AUDIT, self._says()
        own, others = (self.answers.told(np.flatnonzero(which & says)) for which in (~audited, audited))
        self.items.believe(found.prior, self._evidence(own, len(self.items)), self.reliability)
        if self.informed and is_start(int(np.count_nonzero(says[: self.learned])) + self.items.n_settled):
            for item in np.unique(self.answers["item"][self.learned :]).tolist():
                self._start_from_votes(item)
        places = self.audit.places(others.item)
        by = self.reliability.without_spread()
        self.audit.believe(by.evidence(others._replace(item=places), self.voices, len(self.audit.items)))

    def _evidence(self, told: AnswerColumns, n_items: int) -> Floats:
        return self.reliability.evidence(told, self.voices, n_items)
