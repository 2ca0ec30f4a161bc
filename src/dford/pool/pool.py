"""The pool: every answer about an item counts for it, and the next question is the one that tells most."""

import operator
import os
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_random_state

from dford import persistence
from dford.engine import counter, posteriors
from dford.engine._compiled import Floats, Ints
from dford.estimates import Estimate
from dford.feedback import split_names
from dford.learners import Auto, LiveLearner
from dford.log import FeedbackLog
from dford.pool import saving
from dford.pool.audit import Audit
from dford.pool.fold_learners import FoldLearners
from dford.pool.forecast import remaining
from dford.pool.items import Items
from dford.pool.questions import ItemQuestion
from dford.pool.refresh import Calibration, Priors, Refresh, believed_rate, next_stage
from dford.scale import Scale

_SPREAD = 0.05  # of the questions are about a level that is drawn: without them, a wrong belief would stay unseen
_CHECKS = 0.02  # of the questions are asked again, to see how often answers differ
_FIRST_CHECK = 20
_PURPOSES = ("place", "check", "audit")
_TOLD_NO, _TOLD_YES, _DROPPED = 1, 2, 3


class Pool:
    """Items that are to be placed, by one yes/no answer at a time.

    What is known of an item is what a learner says of its features, times how likely its own answers are. The next
    question is about the item and the level whose answer is expected to tell most. The learner's chances are made by
    copies of it that have not seen the item's own answers, and are made as sure as they are right.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        The items' features. Some may be missing (NaN); with no column at all, items are placed by their answers alone.
    levels : sequence
        The scale, lowest first.
    learner : LiveLearner, optional
        One with `predict_proba`; `Auto()` where not given.
    error_rate : float, optional
        How often an answer is wrong. Where not given it is learned: one question in fifty is asked again, and two
        answers to the same question differ where one is wrong.
    audit : float, default=0.05
        The share of the questions that settle items drawn at random, to judge the placements by; 0 for none.
    random_state : int, RandomState or None

    Attributes
    ----------
    levels_ : array
        Where every item stands: the median of what is known of it.
    probabilities_ : array of shape (n_items, n_levels)
        How likely each level is, of every item.
    expected_error_ : float
        How far the placements are from the right levels on the mean, by these probabilities. It warns where the audit
        contradicts it.
    audited_error_ : Estimate
        The same by the audit, with a 95% interval for a number of answers fixed beforehand. It believes no model.
    error_rate_ : float
        How often an answer is believed to be wrong.

    Examples
    --------
    >>> from dford import Pool
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(200, random_state=0)
    >>> pool = Pool(X, levels=[1, 2, 3, 4, 5], audit=0, random_state=0)
    >>> for _ in range(300):
    ...     question = pool.ask()
    ...     _ = pool.tell(question, higher=bool(y[question.item] > question.level))
    >>> print(f"{abs(pool.levels_ - y).mean():.1f}")
    0.0
    """

    def __init__(
        self,
        X: Any,
        levels: Sequence[Any],
        *,
        learner: LiveLearner | None = None,
        error_rate: float | None = None,
        audit: float = 0.05,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        if error_rate is not None and not 0 <= error_rate < 0.5:
            raise ValueError(f"error_rate is a share below a half, or None to learn it; got {error_rate!r}")
        if not 0 <= audit <= 0.5:
            raise ValueError(f"audit is the share of questions that judge, from 0 to 0.5; got {audit!r}")
        learner = Auto() if learner is None else learner
        if not isinstance(learner, LiveLearner) or not hasattr(learner, "predict_proba"):
            raise TypeError(f"a pool needs a learner with ask, tell and predict_proba, such as Auto(); got {learner!r}")
        self.learner, self.error_rate, self.audit, self.random_state = learner, error_rate, audit, random_state
        is_seed = isinstance(random_state, (int, np.integer))
        self.seed_ = int(random_state) if is_seed else int(check_random_state(random_state).randint(2**31))  # type: ignore[arg-type]
        self._scale = Scale(levels)
        self._key = f"{int(counter.key(self.seed_)):08x}"
        rate = believed_rate(error_rate)
        self._items = Items(len(self._scale), rate, self.seed_ + 1)
        self._audit = Audit(len(self._scale), rate, self.seed_ + 2)
        self._learners = FoldLearners(learner, self._scale, self.seed_ + 3)
        self._answers: list[
            tuple[int, int, int, float, bool, int]
        ] = []  # item, cut, placement, propensity, higher, why
        self._open: dict[str, tuple[ItemQuestion, int]] = {}  # and which answer is checked, or -1
        self._fates = bytearray()
        self._repeats = [0, 0]  # questions asked again, and those answered otherwise
        self._refresh: Refresh | None = None
        self._learned, self._next = 0, next_stage(0, 0)
        self._X = np.empty((0, 0))
        self._names: list[str] | None = None
        self.add(X)

    def add(self, X: Any) -> Self:
        """More items, with the same features. They come after those that there are."""
        values, names = split_names(X)
        rows = check_array(
            values, dtype=np.float64, order="C", ensure_all_finite="allow-nan", ensure_min_features=0,
            ensure_min_samples=0, input_name="X",
        )  # fmt: skip
        if not len(self._items):
            self._names, self._X = names, np.empty((0, rows.shape[1]))
            self._has_missing = np.isnan(rows).any(axis=0)
            self._usual = np.array(
                [np.mean(column[~np.isnan(column)]) if not np.isnan(column).all() else 0.0 for column in rows.T]
            )
        if rows.shape[1] != self._X.shape[1]:
            raise ValueError(f"the items have {self._X.shape[1]} features, and these have {rows.shape[1]}")
        if names != self._names:
            raise ValueError(f"the items have the features {self._names}, and these have {names}")
        self._X = np.concatenate([self._X, rows])
        self._items.add(len(rows))
        self._audit.look_at(self._items)
        return self

    def ask(self, n: int | None = None) -> Any:
        """The question whose answer is expected to tell most, or None where no answer would tell anything.

        With `n`, a list of up to so many questions about different items, for several people at once.
        """
        if n is None:
            return self._ask_one()
        questions: list[ItemQuestion] = []
        while len(questions) < n and (question := self._ask_one()) is not None:
            questions.append(question)
        return questions

    def tell(self, question: ItemQuestion, higher: bool | np.bool_) -> Self:
        """Count the answer: is the item's right level above `question.level`?

        The same answer told again changes nothing; the other one raises.
        """
        if not isinstance(higher, (bool, np.bool_)):
            raise TypeError(f"higher must be True or False; got {higher!r}")
        fate = _TOLD_YES if higher else _TOLD_NO
        if question.id not in self._open:
            self._check_settled(question, fate)
            return self
        asked, checked = self._open[question.id]
        cut = self._scale.number(asked.level) - 1
        self._close(asked, fate)
        self._count(asked, cut, bool(higher), checked)
        return self

    def drop(self, question: ItemQuestion) -> Self:
        """Give up waiting for an answer: the question is closed, and its item may be asked about again."""
        if question.id in self._open:
            self._close(self._open[question.id][0], _DROPPED)
        else:
            self._check_settled(question, _DROPPED)
        return self

    def decide(self, item: int, low: Any, high: Any = None) -> Self:
        """Somebody knows: the level of an item, or the lowest and the highest that it can be."""
        first = self._scale.number(low) - 1
        last = first if high is None else self._scale.number(high) - 1
        if first > last:
            raise ValueError(f"{low!r} is above {high!r}; the lower level comes first")
        self._items.decide(self._number(item), first, last)
        return self

    def remove(self, item: int) -> Self:
        """Take an item out: it is asked about no more, and counts in no figure."""
        number = self._number(item)
        self._items.is_out[number] = True
        self._items.look_at(number)
        return self

    def release(self) -> Self:
        """Give the audit's answers to their items, at the end. The placements are then no longer audited."""
        for item, cut, _, _, higher, why in self._answers:
            if _PURPOSES[why] == "audit":
                self._items.answer(item, cut, higher)
        self._answers = [(*answer[:5], 0 if _PURPOSES[answer[5]] == "audit" else answer[5]) for answer in self._answers]
        self._audit.clear(self._items.rate)
        self._audit.look_at(self._items)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pool to a file that `dford.load` reads: whole or not at all, and without pickle."""
        persistence.write(path, *saving.parts(self))

    def __len__(self) -> int:
        return len(self._items)

    @property
    def levels_(self) -> Any:
        return self._scale.array[self._items.placements()[0]]

    @property
    def probabilities_(self) -> Floats:
        return self._items.beliefs(np.arange(len(self._items)))

    @property
    def expected_error_(self) -> float:
        levels, errors = self._items.placements()
        expected = float(errors[~self._items.is_out].mean()) if not self._items.is_out.all() else 0.0
        audited = self._audit.judge(levels, self._items)
        if not audited.low <= expected <= audited.high:
            warnings.warn(
                f"the error is expected to be {expected:.2f}, and by the audit it is between {audited.low:.2f} and "
                f"{audited.high:.2f}: the learner may be wrong about these items, so believe the audit",
                stacklevel=2,
            )
        return expected

    @property
    def audited_error_(self) -> Estimate:
        return self._audit.judge(self._items.placements()[0], self._items)

    @property
    def error_rate_(self) -> float:
        return self._items.rate

    @property
    def answers_(self) -> Ints:
        """How many answers there are about every item."""
        counts = np.bincount([answer[0] for answer in self._answers], minlength=len(self._items))
        return counts.astype(np.int64)

    @property
    def log_(self) -> FeedbackLog:
        """All answers in order, for learners: with the features of their items, and the propensities."""
        log, names = FeedbackLog(self._scale.names, self._names), self._scale.names
        for item, cut, placement, propensity, higher, _ in self._answers:
            log._add(self._X[item], names[cut], names[placement], propensity, higher)
        return log

    def remaining(self, target: float) -> Estimate:
        """About how many more answers it takes until `expected_error_` is at most the target.

        The right levels, and answers to come, are drawn from what is known now; `low` and `high` are the least and
        the most of eight such futures. What answers will teach about other items is not known, and so left out.
        """
        if not target >= 0:
            raise ValueError(f"the target is an error in levels, 0 or more; got {target!r}")
        return remaining(self._items, target, self.seed_ + 4)

    def _ask_one(self) -> ItemQuestion | None:
        number = len(self._fates)
        why, what = counter.uniforms(self.seed_, np.array([2 * number, 2 * number + 1])).tolist()
        checks = _CHECKS if self.error_rate is None and len(self._answers) >= _FIRST_CHECK else 0.0
        found, purpose, checked = None, 0, -1
        if why < self.audit and (found := self._audit.pick(self._items)) is not None:
            purpose = 2
        elif self.audit <= why < self.audit + checks:
            drawn = int((why - self.audit) / checks * len(self._answers))
            item, cut, *_, reason = self._answers[drawn]
            low, high = self._items.bounds[item]
            is_free = not self._items.is_open[item] and not self._items.is_out[item] and low <= cut < high
            if is_free and _PURPOSES[reason] != "audit":
                found, purpose, checked = (item, cut), 1, drawn
        if found is None and (found := self._items.best()) is None:
            return None
        item, best = found
        belief = self._audit.belief(item) if purpose == 2 else self._items.belief(item)
        possible = np.flatnonzero(belief)
        free = np.arange(possible[0], possible[-1])  # the cuts whose answers are not known
        chances = np.zeros(len(belief) - 1)
        chances[free] = _SPREAD / len(free)
        chances[best] += 1.0 - _SPREAD
        cut = min(int(np.searchsorted(chances.cumsum(), what, side="right")), int(free[-1]))
        placement = posteriors.place_one(self._items.belief(item))
        names = self._scale.names
        question = ItemQuestion(
            f"{self._key}-{number}", item, names[cut], names[placement], float(chances[cut]), number, _PURPOSES[purpose]
        )
        self._fates.append(0)
        self._open[question.id] = question, checked
        self._items.is_open[item] = True
        self._items.look_at(item)
        return question

    def _close(self, question: ItemQuestion, fate: int) -> None:
        self._fates[question.round] = fate
        del self._open[question.id]
        self._items.is_open[question.item] = False
        self._items.look_at(question.item)

    def _count(self, question: ItemQuestion, cut: int, higher: bool, checked: int) -> None:
        why = _PURPOSES.index(question.purpose)
        placement = self._scale.number(question.placement) - 1
        if checked >= 0 and self._answers[checked][1] == cut:
            self._repeats[0] += 1
            self._repeats[1] += self._answers[checked][4] != higher
        (self._audit if why == 2 else self._items).answer(question.item, cut, higher)
        self._answers.append((question.item, cut, placement, question.propensity, higher, why))
        if len(self._answers) == self._next:
            if self._refresh is not None:
                self._take_effect(self._refresh.result())
            self._next = next_stage(len(self._answers), len(self._items))
            self._refresh = self._begin()

    def _begin(self) -> Refresh:
        """Learn all answers so far, in the background."""
        item, cut, placement, propensity, higher, _ = (np.array(column) for column in zip(*self._answers, strict=True))
        # which cut comes second hangs on the first answer, so a learner would be misled by what is said of it
        firsts = np.sort(np.unique(item, return_index=True)[1])
        new = firsts[firsts >= self._learned]
        self._learned = len(self._answers)
        calibration = Calibration(self._items, self._audit, self.error_rate, *self._repeats)
        X, learners = self._features(), self._learners
        if not X.shape[1]:
            return Refresh(calibration.shares)

        def work() -> Priors:
            learners.learn(X, item[new], cut[new], placement[new], propensity[new], higher[new])
            return calibration.priors(learners.chances(X))

        return Refresh(work)

    def _take_effect(self, found: Priors) -> None:
        self._items.believe(found.prior, found.rate)
        self._audit.believe(found.rate)

    def _features(self) -> Floats:
        """The items' features, with what is missing filled in, and said to be missing."""
        if not np.isnan(self._X).any():
            return self._X
        missing = np.isnan(self._X)
        return np.column_stack([np.where(missing, self._usual, self._X), missing[:, self._has_missing]])

    def _check_settled(self, question: ItemQuestion, fate: int) -> None:
        key, _, number = question.id.partition("-")
        if key != self._key or not number.isdigit() or not 0 <= int(number) < len(self._fates):
            raise ValueError(f"question {question.id} was not asked by this pool")
        if self._fates[int(number)] != fate:
            was = {_TOLD_NO: "answered no", _TOLD_YES: "answered yes", _DROPPED: "dropped"}[self._fates[int(number)]]
            raise ValueError(f"question {question.id} was {was} already")

    def _number(self, item: int) -> int:
        if not 0 <= (number := operator.index(item)) < len(self._items):
            raise ValueError(f"there is no item {item}: they have the numbers 0 to {len(self._items) - 1}")
        return number
