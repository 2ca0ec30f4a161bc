"""The pool: every answer about an item counts for it, and the next question is the one that tells most."""

import math
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from dford import persistence
from dford.answer_ids import OF_POOL
from dford.arrays import Floats, Ints
from dford.columns import Columns
from dford.columns.tables import checked_table, has_more_than_numbers, refuse_array
from dford.engine.beliefs import posteriors
from dford.engine.beliefs.opinions import RATED, YES
from dford.estimates import Estimate
from dford.feedback import split_names
from dford.learners import Auto, LiveLearner, OrdinalLearner, Rows
from dford.learners._forms.form import refuse_large
from dford.log import FeedbackLog
from dford.log_columns import About, checked_about
from dford.pool import saving
from dford.pool.agreement import Voice
from dford.pool.answers import AUDIT, PLACE, PURPOSES, RELEASED, Answer
from dford.pool.apart import AnswerApart
from dford.pool.asked import DROPPED, TOLD_LEVEL, TOLD_NO, TOLD_YES, AskedQuestions
from dford.pool.choice import AtHand
from dford.pool.figures import mean
from dford.pool.filling import Filling
from dford.pool.people import Person
from dford.pool.placements import AUDIT_SHARE, Placements
from dford.pool.questions import ItemQuestion, split_answer
from dford.pool.reliability import checked_error_rate, is_number
from dford.pool.run import Progress, Run, open_journal
from dford.pool.votes import (
    RatingColumn,
    as_numbers,
    column_of,
    column_ratings,
    ordered_by,
    rating_values,
    read_ratings,
)
from dford.scale import Scale

WhoIsAtHand = str | Sequence[str] | Mapping[str, Sequence[int]] | None

_LARGEST_SEED = 2**62
_MOST_LEVELS = 1_000  # what is known about every item has a number for each level


class Pool:
    """Items to be placed on a scale, one yes/no answer at a time.

    The probability of each level of an item combines what a learner predicts from its features with how likely the
    item's own answers are. The next question is about the item and the level whose answer is expected to tell most. The
    predictions come from copies of the learner that have not seen the item's own answers, and are calibrated.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or a table
        The items' features. Some may be missing (NaN), except in a sparse matrix; without any columns, items are placed
        by their answers alone. A table (a pandas or polars frame, a list of dicts, or a dict of columns) may also have
        texts, categories, dates and vectors, which `Columns` turns into features.
    levels : sequence
        The scale, lowest first.
    learner : LiveLearner, optional
        One with `predict_proba`; by default `Auto()`.
    error_rate : float, optional
        How often an answer is wrong. By default it is learned: one question in a hundred is asked again (one in
        twenty-five if several people answer), and where the two answers differ, one of them is wrong; and audited items
        are asked about until their answers agree on a level.
    audit : float, default=0.03
        The share of audit questions, which check items drawn at random; 0 for none, except those that `ask(until=…)`
        needs; 1 if you only want the mean.
    auditors : sequence of str, optional
        The people who get audit questions; by default everyone except programs. They get more of them when the audit
        has fallen behind because others gave most of the answers.
    programs : sequence of str, optional
        Those who always give the same answer to the same question, so they are never asked twice. Anyone who answers
        through `run` is one.
    trusted : sequence of str, optional
        The people, or programs, whose answers are what is right; by default everyone except programs. What the others
        say informs: it is learned from, as far as the answers of those who are trusted bear it out.
    ratings : sequence, optional
        The columns that hold ratings on this scale, such as those of language models: their names, or their numbers in
        an array. They are where the levels start, and people's answers show what they are worth. By default, these are
        the columns whose values are levels, or as many whole numbers in a row; [] for none.
    costs : mapping of person to number, optional
        What an answer from each person costs, relative to the others; by default 1. If given, `ask` also chooses the
        person: the one whose answer is expected to tell most for its cost. Programs that inform are asked about every
        item first, if what they say about one costs at most a quarter of a person's answer. `spent_` is the total.
    log : FeedbackLog or Pool, optional
        Earlier answers about other things with the same columns, such as last month's. The learner starts with what
        they teach; they say nothing about any item itself. Pass the earlier pool itself if its table had more than
        numbers. Copies under other ids are refused if items and times show them. Without times, an answer to a question
        that was asked again looks like a copy too, so there is a warning only if ten answers in a row are repeated.
    random_state : int, RandomState or None

    Attributes
    ----------
    levels_ : array
        The level of every item: the median of its probabilities.
    probabilities_ : array of shape (n_items, n_levels)
        The probability of each level, for every item.
    expected_error_ : float
        How many levels off the placements are expected to be on average: the value of `audited_error_`.
    audited_error_ : Estimate
        What these probabilities say of that, corrected by the items that the audit checked, with an interval.
    audited_right_, audited_within_one_ : Estimate
        The shares of items at their right level, and at most one level off, with exact intervals: of items that were
        drawn at random and checked. All intervals are 95% intervals for a number of answers fixed in advance.
    believed_error_ : float
        How many levels off they are on average, according to these probabilities alone.
    mean_ : Estimate
        The mean level, or that of the levels' places from 1 if they are not numbers; see `mean` and `difference`.
    error_rate_ : float
        How often an answer is estimated to be wrong.
    people_ : dict of Person
        Error rate and strictness of everyone who answered.
    columns_ : Columns or None
        What turned a table into features.

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
        audit: float = AUDIT_SHARE,
        auditors: Sequence[str] | None = None,
        programs: Sequence[str] = (),
        trusted: Sequence[str] | None = None,
        ratings: Sequence[Any] | None = None,
        costs: Mapping[str, float] | None = None,
        log: "FeedbackLog | Pool | None" = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        error_rate = checked_error_rate(error_rate)
        if not is_number(audit) or not 0 <= audit <= 1:
            raise ValueError(f"audit must be a share of the questions, from 0 to 1; got {audit!r}")
        if not isinstance(costs, Mapping | None):
            raise TypeError(f"costs must map people to numbers, such as {{'ann': 1.0}}; got {costs!r:.80}")
        for person, cost in (costs or {}).items():
            if not isinstance(person, str) or not is_number(cost) or not 0 < cost < np.inf:
                raise ValueError(f"costs must map names of people to numbers greater than 0; got {person!r}: {cost!r}")
        for name, given in (("auditors", auditors), ("programs", programs), ("trusted", trusted)):
            is_list = isinstance(given, Iterable | None) and not isinstance(given, str)
            if not is_list or not all(isinstance(one, str) for one in (() if given is None else given)):
                raise TypeError(f"{name} must be a list of names; got {given!r}")
        self.auditors = None if auditors is None else list(auditors)
        self.costs = {person: float(cost) for person, cost in (costs or {}).items()}
        self.programs, self.trusted = list(programs), None if trusted is None else list(trusted)
        learner = Auto() if learner is None else learner
        if not isinstance(learner, LiveLearner) or not hasattr(learner, "predict_proba"):
            raise TypeError(f"a pool needs a learner with ask, tell and predict_proba, such as Auto(); got {learner!r}")
        self.learner, self.error_rate, self.audit, self.random_state = learner, error_rate, float(audit), random_state
        is_seed = isinstance(random_state, (int, np.integer))
        if is_seed and not 0 <= random_state <= _LARGEST_SEED:  # type: ignore[operator]
            raise ValueError(f"random_state must be from 0 to {_LARGEST_SEED}; got {random_state!r}")
        self.seed_ = int(random_state) if is_seed else int(check_random_state(random_state).randint(2**31))  # type: ignore[arg-type]
        self._scale = Scale(levels)
        if len(self._scale) > _MOST_LEVELS:
            raise ValueError(f"a pool has at most {_MOST_LEVELS:,} levels; got {len(self._scale):,}")
        persistence.pack({"levels": self._scale.names}, {})  # what cannot be saved is refused before anyone answers
        X = checked_table(X)
        self.columns_: Columns | None = log.columns_ if isinstance(log, Pool) else None
        if self.columns_ is None and has_more_than_numbers(X):
            words = ordered_by(X, self._scale.names)
            self.columns_ = Columns(
                {name: words[name] for name in words if ratings is None or name in map(str, ratings)}
            ).read(X)
            self.columns_.warn_of_unlearned(stacklevel=3)
        if self.columns_ is not None and self.columns_.is_sparse_ and isinstance(learner, Auto):
            learner = clone(learner).set_params(dense=self.columns_.n_dense_)
        self._placements = Placements(self._scale, learner, error_rate, self.audit, self.seed_)
        self._asked = AskedQuestions(self.seed_)
        self._names: list[str] | None = None
        self._half: _Before | None = None  # what a change that is interrupted goes back to
        self._ratings = ratings
        self.add(X)
        if log is not None:
            self._learn_log(log)

    def _learn_log(self, log: "FeedbackLog | Pool") -> None:
        """Start with what earlier answers teach."""
        if not isinstance(log, (FeedbackLog, Pool)):
            raise TypeError(f"log must be a FeedbackLog or a Pool; got {type(log).__name__}")
        told = (log.log_ if isinstance(log, Pool) else log).without_guesses()
        if told.scale.names != self._scale.names:
            raise ValueError(f"the log is about the levels {told.scale.names}, but the pool has {self._scale.names}")
        if not len(told):
            return
        X, width, number = told.X, self._placements.X.shape[1], self._scale.number
        if self.columns_ is not None and not isinstance(log, Pool):
            raise ValueError(
                "the pool's features were made from a table with more than numbers, and a log does not say from what "
                "its own were made; pass the earlier pool instead of its log"
            )
        is_same = told.feature_names is None or self._names is None or told.feature_names == self._names
        if X.shape[1] != width or not is_same:
            raise ValueError(
                "the log must have the pool's features, in the same order; "
                f"got {told.feature_names or X.shape[1]}, and the pool has {self._names or width}"
            )
        if not width:
            warnings.warn("the log teaches nothing, as neither it nor the pool has features", stacklevel=4)
            return
        told.refuse_copies()
        told.warn_of_copies(stacklevel=4)
        if sparse.issparse(self._placements.X) != sparse.issparse(X):
            X = sparse.csr_matrix(X) if sparse.issparse(self._placements.X) else X.toarray()
        columns = zip(told.level, told.prediction, told.propensity.tolist(), told.higher.tolist(), strict=True)
        answers = [AnswerApart(number(q) - 1, number(p) - 1, chance, higher) for q, p, chance, higher in columns]
        below = np.array([answer.cut < len(self._scale) - 1 for answer in answers])  # nothing is above the top
        self._placements.learn_apart(X[below], [answers[i] for i in np.flatnonzero(below).tolist()])

    def add(self, X: Any) -> Self:
        """Add items with the same features. Their numbers continue after the existing ones."""
        X = checked_table(X)
        values, names = split_names(X)
        first = next(iter(values), None) if isinstance(values, (list, tuple)) else None
        if self.columns_ is not None:
            values, names = self.columns_.transform(X), None
        elif isinstance(first, Mapping):
            raise ValueError("X must be an array or a frame of numbers, as the first items were; got dicts")
        elif np.ndim(values if first is None else first) < (2 if first is None else 1):
            raise ValueError(
                "X must have a row for each item and a column for each feature; if there is only one, pass a table, "
                f"for example pandas.DataFrame({{'x': X}}); got {str(values[0] if len(values) else values)[:40]!r} as "
                "the first row"
            )
        try:
            rows = check_array(
                values, dtype=np.float64, order="C", ensure_all_finite="allow-nan", ensure_min_features=0,
                ensure_min_samples=0, input_name="X", accept_sparse="csr",
            )  # fmt: skip
        except (TypeError, ValueError):
            refuse_array(values)
            raise
        if sparse.issparse(rows):
            rows = sparse.csr_matrix(rows)  # a row of a sparse array would have one dimension
        self._repair()
        placements, is_first = self._placements, not len(self)
        if not is_first and sparse.issparse(rows) != sparse.issparse(placements.X):
            rows = rows.toarray() if sparse.issparse(rows) else sparse.csr_matrix(rows)
        filling = Filling.of(rows) if is_first else placements.filling
        if rows.shape[1] == len(filling.means):  # learners would refuse these when there are answers already
            filled = filling.fill(rows)
            with np.errstate(over="ignore"):
                squares = (filled.power(2) if sparse.issparse(filled) else filled**2).sum(axis=1)
            refuse_large(filled, np.append(np.asarray(squares).ravel(), 0.0))
            if is_first and min(filled.shape):
                placements.learners.check(filled[0])
        if is_first:
            placements.rating_columns = self._find_ratings(rows, names)
        elif names != self._names:
            raise ValueError(f"the items have the features {self._names}, but the new ones have {names}")
        if not is_first and rows.shape[1] != placements.X.shape[1]:
            raise ValueError(f"the items have {placements.X.shape[1]} features, but the new ones have {rows.shape[1]}")
        with self._changing():
            if is_first:
                self._names = names
                self._asked.identify(self._scale.names, rows)
            placements.add(rows)
        return self

    def _find_ratings(self, rows: Rows, names: Sequence[str] | None) -> list[RatingColumn]:
        """The features of these rows, which have these names, that are ratings."""
        names = [str(place) for place in range(rows.shape[1])] if names is None else list(names)
        found, levels = {}, self._scale.names
        wanted = None if self._ratings is None else set(map(str, self._ratings))
        if self.columns_ is None:
            for place, name in enumerate(names):
                # sparse features are words, counts and the like, of which there may be many thousands
                if not sparse.issparse(rows) if wanted is None else name in wanted:
                    found[name] = place, rating_values(column_of(rows, place), as_numbers(levels))
        else:
            place = 0
            for column in self.columns_.columns_:
                if column.width and not column.is_sparse:
                    found[column.name] = place, column_ratings(column, column_of(rows, place), levels)
                    place += column.width
        if self._ratings is None:
            return [RatingColumn(place, values) for place, values in found.values() if values is not None]
        chosen = []
        for name in map(str, self._ratings):
            place, values = found.get(name, (-1, None))
            if values is None:
                what = "there is no such column" if place < 0 else "its values are not levels of this scale"
                raise ValueError(f"{name!r} cannot be a column of ratings: {what}; leave it out of ratings")
            chosen.append(RatingColumn(place, values))
        return chosen

    def ask(self, n: int | None = None, *, person: WhoIsAtHand = None, until: float | None = None) -> Any:
        """The question whose answer is expected to tell most, or None if no answer would tell anything.

        With `n`, a list of up to `n` questions about different items, for several people at once. An item has one open
        question at a time: if all that are left have one, `ask(n)` returns an empty list, and `ask()` raises an error.

        With `person`, it is the question whose answer by this person tells most. While others answer too, nobody gets
        the same question twice, except to see how often answers differ, or if nothing else is left to ask. `person` may
        also be a list of everyone available: `question.person` then says who the question is for. For people who can
        only answer about some items, pass a mapping from people to their items; the result is None once they have
        answered all they can.

        With `until`, questions end once it is shown that the levels are at most this far off on average: see
        `is_certified`. Once that is expected, half of the questions check items drawn at random, and all do once half
        as much is expected; if these items turn out worse, the questions place items again.
        """
        if until is not None:
            _check_target(until, "until")
        if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0):
            raise ValueError(f"n must be a whole number of questions; got {n!r}")
        at_hand = self._at_hand(person)
        if person is not None and not at_hand:
            return None if n is None else []
        questions: list[ItemQuestion] = []
        most = 1 if n is None else n
        self._repair()
        with self._changing():
            while len(questions) < most and (question := self._ask_one(at_hand, until)) is not None:
                questions.append(question)
        if n is None:
            question = questions[0] if questions else None
            is_end = any(one.is_restricted for one in at_hand) or (until is not None and self.is_certified(until))
            if question is None and any(self._asked) and not is_end:
                raise ValueError(
                    "every item that could be asked about has an open question; tell its answer or drop it before you "
                    "ask again"
                )
            return question
        return questions

    def tell(self, question: ItemQuestion, higher: bool | float, person: str | None = None) -> Self:
        """Record the answer: is the item's right level above `question.level`? And who gave it.

        Someone who is not sure gives a probability, from 0.0 to 1.0. How much that is worth is learned like error
        rates: from what the others say when this person is that sure. 0.5 is a guess and says nothing; this person is
        then asked something else.

        The same answer again changes nothing; the opposite one raises an error. By default the person is the one the
        question is for; all answers without a person count as one person's.
        """
        higher, confidence = split_answer(higher)
        name = checked_about(None, person, None).person
        fate, number = TOLD_YES if higher else TOLD_NO, self._scale.number
        self._repair()
        asked = self._asked.find(question, fate)
        if asked is None:
            return self
        return self._count(asked, name, number(asked.level) - 1, int(higher), confidence, fate)

    def _count(
        self, asked: ItemQuestion, name: str | None, cut: int, said: int, confidence: float, fate: int
    ) -> Self:  # fmt: skip
        name, placements = (asked.person if name is None else name) or "", self._placements
        try:
            with self._changing():
                answer = Answer(
                    asked.round, asked.item, cut, self._scale.number(asked.placement) - 1, asked.propensity, said,
                    PURPOSES.index(asked.purpose), self._asked.repeated_by(asked),
                    placements.number(Voice.of(name, confidence, self._informs(name))), confidence,
                )  # fmt: skip
                placements.count(answer)
                self._close(asked, fate)
        except Exception as error:
            self._repair()
            if placements.answers.of(asked.round) is not None:
                error.add_note(
                    "The answer counts. What it teaches about other items is tried again at the next answer."
                )
            raise
        return self

    def rate(self, item: Any, level: Any = None, person: str | None = None) -> Self:
        """Record whole ratings: the level that someone gives an item.

        Parameters
        ----------
        item : int, ItemQuestion or table
            The number of the item, or the open question about it that the rating answers. Or a table of many ratings,
            with the columns `item`, `level` and, if it is known who gave them, `person`.
        level : a level of the scale
        person : str, optional
            Who gave it. By default, the one the question is for.

        All that a person says about an item is one opinion, be it answers or ratings. A rating that nobody asked for
        counts once for an item, a level and a name; without a name each counts, as it may be somebody else's. If some
        are not valid, none of a table counts. Use `settle` if the level is known.
        """
        if isinstance(item, ItemQuestion):
            return self._rate_asked(item, level, person)
        if isinstance(item, (int, np.integer)):
            found = [(item, level, person)]
        elif level is not None or person is not None:
            raise TypeError(f"item must be the number of an item, or a question; got {item!r}")
        else:
            found = read_ratings(item)
        checked = [
            (self._number(one), self._scale.number(level) - 1, checked_about(None, name, None).person or "")
            for one, level, name in found
        ]
        self._repair()
        placements = self._placements
        given = placements.ratings_of_people() if len(checked) else set()
        for number, place, name in checked:
            if name and (number, place, name) in given:
                continue
            given.add((number, place, name))
            with self._changing():
                voice = placements.number(Voice.of(name, math.nan, self._informs(name)))
                now = int(posteriors.place_one(placements.items.belief(number)))
                placements.count(Answer(-1, number, place, now, 1.0, RATED, PLACE, -1, voice))
        return self

    def _rate_asked(self, question: ItemQuestion, level: Any, person: str | None) -> Self:
        place, name = self._scale.number(level) - 1, checked_about(None, person, None).person
        self._repair()
        asked = self._asked.find(question, TOLD_LEVEL)
        if asked is None:
            row = self._placements.answers.of(question.round)
            before = self._scale.names[int(self._placements.answers["cut"][row])] if row is not None else None
            if before != self._scale.names[place]:
                raise ValueError(f"question {question.id} was already answered with the level {before!r}")
            return self
        return self._count(asked, name, place, RATED, math.nan, TOLD_LEVEL)

    def run(
        self,
        answer: Callable[[int, Any], bool | float],
        *,
        person: str,
        budget: int,
        threads: int = 1,
        retries: int = 2,
        journal: str | os.PathLike[str] | None = None,
        until: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Progress:
        """Let a program answer questions, under its own name.

        Parameters
        ----------
        answer : callable
            `answer(item, level)` says whether the right level of the item, given by its number, is above the level:
            True, False, or a probability from 0.0 to 1.0. If it raises or returns anything else, it is called again.
        person : str
            The name of the program among the people.
        budget : int
            The most calls, including failed ones.
        threads : int, default=1
            How many calls run at once; use more if a call waits for something.
        retries : int, default=2
            How often a question is tried again before it is dropped and counted as failed.
        journal : path, optional
            A file to which every answer is written before it counts. After a crash, the same call on the same pool
            continues from there and makes no call whose answer is in it.
        until : float, optional
            Stop once it is shown that the levels are at most this far off on average, as `ask` does. This takes someone
            whose answers are what is right and may check levels: name them in `trusted` and `auditors`.
        on_progress : callable, optional
            Called with a `Progress` after each question.
        """
        if not checked_about(None, person, None).person:
            raise ValueError("a program that answers needs a name; pass one such as person='judge'")
        if not callable(answer):
            raise TypeError(f"answer must be a function of an item's number and a level; got {answer!r}")
        for name, value, least in (("budget", budget, 0), ("threads", threads, 1), ("retries", retries, 0)):
            is_whole = hasattr(value, "__index__")
            if not is_whole or operator.index(value) < least:
                kind = ValueError if is_whole else TypeError
                raise kind(f"{name} must be a whole number, {least} or more; got {value!r}")
        if person not in self.programs:
            self.programs.append(person)
        if until is not None:
            _check_target(until, "until")
            if not self._may_audit(person):
                raise ValueError(
                    f"what {person} says cannot show how far off levels are; if it is right by definition, name it in "
                    "both trusted and auditors"
                )
        progress = Progress(0, budget, 0, 0, "", 0.0)
        with open_journal(journal) as kept:
            for progress in Run(self, answer, person, budget, retries, until).go(threads, kept):
                if on_progress is not None:
                    on_progress(progress)
        if progress.failed:
            warnings.warn(
                f"{progress.failed} of {progress.answers + progress.failed} questions were not answered; the last "
                f"failure was {progress.problem or 'in an earlier run'}",
                stacklevel=2,
            )
        return progress

    def drop(self, question: ItemQuestion) -> Self:
        """Close a question without an answer, so that its item can be asked about again."""
        self._repair()
        asked = self._asked.find(question, DROPPED)
        if asked is not None:
            with self._changing():
                self._close(asked, DROPPED)
        return self

    def settle(self, item: int, low: Any, high: Any = None) -> Self:
        """Set the known level of an item, or the lowest and highest it can have."""
        first = self._scale.number(low) - 1
        last = first if high is None else self._scale.number(high) - 1
        if first > last:
            raise ValueError(f"{low!r} is above {high!r}; pass the lower level first")
        number = self._number(item)
        self._repair()
        with self._changing():
            self._placements.settle(number, first, last)
        return self

    def remove(self, item: int) -> Self:
        """Remove an item: it is no longer asked about, and counts in no figure."""
        self._placements.items.remove(self._number(item))
        return self

    def release(self) -> Self:
        """Let the audit's answers count for their items, at the end. The placements are then no longer audited."""
        self._repair()
        with self._changing():
            self._placements.release()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pool to a file that `dford.load` reads, atomically and without pickle."""
        self._repair()
        self._placements.recover()
        persistence.write(path, *saving.parts(self))

    def __reduce__(self) -> Any:
        """Copies and pickles are made from what a file holds."""
        self._repair()
        self._placements.recover()
        return _unpacked, (persistence.pack(*saving.parts(self)), type(self.learner))

    def __len__(self) -> int:
        return len(self._placements.items)

    @property
    def levels_(self) -> Any:
        return self._scale.array[self._placements.items.placements()[0]]

    @property
    def probabilities_(self) -> Floats:
        return self._placements.items.beliefs(np.arange(len(self)))

    @property
    def expected_error_(self) -> float:
        return self._placements.expected_error()

    @property
    def believed_error_(self) -> float:
        return self._placements.items.expected_error()

    @property
    def spent_(self) -> float:
        """What all answers have cost, by `costs`; one by anybody who is not in it costs 1."""
        costs = [self.costs.get(voice.name, 1.0) for voice in self._placements.voices]
        counts = np.bincount(self._placements.answers["person"], minlength=len(costs)).tolist()
        return float(sum(cost * count for cost, count in zip(costs, counts, strict=True)))

    @property
    def audited_error_(self) -> Estimate:
        return self._placements.verdict().error

    @property
    def audited_right_(self) -> Estimate:
        return self._placements.verdict().right

    @property
    def audited_within_one_(self) -> Estimate:
        return self._placements.verdict().within_one

    @property
    def mean_(self) -> Estimate:
        """The mean level: the mean of the levels, if they are numbers, or else of their places from 1 up."""
        return self.mean()

    def mean(self, where: Any = None, values: Sequence[float] | None = None) -> Estimate:
        """The mean level of all items, or of those that a mask selects, with a 95% interval.

        A level counts as its number, or as its place on the scale, from 1, if not all levels are numbers; or as the
        number that `values` gives it. The interval rests on the audit: if this figure is all you want,
        `Pool(audit=1)` asks about nothing but items drawn at random.
        """
        return self._mean(values, where)

    def difference(self, first: Any, second: Any, values: Sequence[float] | None = None) -> Estimate:
        """How much higher the mean level of the items in one mask is than that of those in another."""
        return self._mean(values, first, second)

    def _mean(self, values: Sequence[float] | None, *masks: Any) -> Estimate:
        if values is None:
            names = as_numbers(self._scale.names)
            is_numbers = all(is_number(name) for name in names)
            values = list(names) if is_numbers else list(range(1, len(self._scale) + 1))
        worth = np.asarray(values, dtype=np.float64)
        if worth.shape != (len(self._scale),) or not np.isfinite(worth).all():
            raise ValueError(f"values must be a number for each of the {len(self._scale)} levels; got {values!r}")
        kept, groups = ~self._placements.items.is_out, []
        for mask in masks:
            chosen = np.ones(len(self), np.bool_) if mask is None else np.asarray(mask)
            if chosen.shape != (len(self),) or chosen.dtype != np.bool_:
                raise ValueError(f"expected True or False for each of the {len(self)} items; got {mask!r}")
            groups.append(np.flatnonzero(chosen & kept))
            if not len(groups[-1]):
                raise ValueError("a mean needs at least one item, but the mask selects none")
        return mean(self._placements.items, self._placements.audit, worth, groups)

    @property
    def error_rate_(self) -> float:
        return self._placements.error_rate_of_answers()

    @property
    def people_(self) -> dict[str, Person]:
        """What is known about everyone who answered, by name; see `Person`.

        If items have features, error rates and strictness are based only on audits and repeated questions, never on a
        learner's predictions. `judged` says how many answers that is.
        """
        return self._placements.read_people()

    @property
    def answers_(self) -> Ints:
        """The number of answers about each item."""
        return np.bincount(self._placements.answers["item"], minlength=len(self)).astype(np.int64)

    @property
    def log_(self) -> FeedbackLog:
        """All answers in order, with their items, features and propensities, for learners.

        Ratings are no answers to questions, so they are not in it; see `ratings_`.
        """
        answers, names = self._placements.answers, self._scale.names
        log = FeedbackLog(names, self._names)
        names_of_columns = (
            "question", "item", "cut", "placement", "propensity", "said", "person", "confidence", "purpose",
        )  # fmt: skip
        columns = (answers[name][answers["said"] != RATED].tolist() for name in names_of_columns)
        for number, item, cut, placement, propensity, said, person, confidence, purpose in zip(*columns, strict=True):
            name = self._placements.voices[person].name or None
            why = PURPOSES[AUDIT if purpose == RELEASED else purpose]
            about = About(item, name, None, None if math.isnan(confidence) else confidence, purpose=why)
            answer = names[cut], names[placement], propensity, said == YES
            log._add(self._placements.X[item], *answer, about, question=self._asked.id_of(number), mark=OF_POOL)
        return log

    @property
    def ratings_(self) -> dict[str, list[Any]]:
        """All whole ratings in order, as a table that `rate` takes: their items, people and levels."""
        answers = self._placements.answers
        item, person, level = (answers[name][answers["said"] == RATED].tolist() for name in ("item", "person", "cut"))
        names, voices = self._scale.names, self._placements.voices
        return {"item": item, "person": [voices[p].name or None for p in person], "level": [names[k] for k in level]}

    def remaining(self, target: float, certified: bool = False) -> Estimate:
        """About how many more answers it takes to bring `expected_error_` down to the target.

        It simulates eight futures, drawing right levels and answers from what is known now; `low` and `high` are the
        lowest and highest of them. What answers will teach about other items cannot be known and is left out. None
        looks further ahead than a hundred answers per item.

        If the target is to be `certified`, it is about how many `ask(until=target)` takes: first to half the target,
        then the check; `low` is if the check finds no item wrong, and `high` if as many as are expected.
        """
        _check_target(target, "target")
        if not certified:
            return self._placements.forecast().remaining(target)
        return self._placements.certification(target).remaining(self._placements.forecast())

    def is_certified(self, target: float) -> bool:
        """Whether the audit shows, with 95% confidence, that the levels are at most this far off on average.

        This holds when you stop as soon as it is true: it looks only after so many checked items as would show it if
        all were right, and after every half as many again. It is no longer true once `audited_error_.high` is higher.
        """
        _check_target(target, "target")
        return self._placements.certification(target).is_shown

    def _at_hand(self, person: WhoIsAtHand) -> list[AtHand]:
        if person is None:
            person = list(self.costs)
        if isinstance(person, str):
            person = [person]
        if not isinstance(person, (Mapping, Sequence)):
            raise TypeError(f"person must be a name, a list of names or a mapping from names to items; got {person!r}")
        names = [checked_about(None, name, None).person or "" for name in person]
        some = list(person.values()) if isinstance(person, Mapping) else [None] * len(names)
        items = [None if own is None else self._numbers(name, own) for name, own in zip(names, some, strict=True)]
        return [
            AtHand(
                name, own, self.costs.get(name, 1.0), self._may_audit(name), name in self.programs, self._informs(name)
            )
            for name, own in zip(names, items, strict=True)
        ]

    def _may_audit(self, name: str) -> bool:
        if self.auditors is None:
            return not self._informs(name) and name not in self.programs
        return not self._informs(name) and name in self.auditors

    def _informs(self, name: str) -> bool:
        """Whether what they say does not decide."""
        return name in self.programs if self.trusted is None else name not in self.trusted

    def _ask_one(self, at_hand: list[AtHand], until: float | None) -> ItemQuestion | None:
        number, names = len(self._asked), self._scale.names
        auditing = {question.item for question in self._asked if question.purpose == PURPOSES[AUDIT]}
        now = None if until is None else self._placements.certification(until)
        if now is not None and now.is_shown:
            return None
        found = self._placements.propose(number, auditing, at_hand, 0.0 if now is None else now.audits)
        if found is None:
            return None
        self._placements.items.set_open(found.item, True)
        level, placement, purpose = names[found.cut], names[found.placement], PURPOSES[found.purpose]
        return self._asked.add(
            (found.item, level, placement, found.propensity, number, purpose, found.person), found.checks
        )

    def _close(self, question: ItemQuestion, fate: int) -> None:
        self._placements.items.set_open(question.item, False)
        self._asked.close(question, fate)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """An interrupt leaves nothing half done: an answer in the log counts, and any other question stays open.

        Questions that were just asked, and items that were just added, are forgotten.
        """
        placements = self._placements
        self._half = _Before(len(self._asked), self._asked.key, self._names, placements.X, placements.filling)
        try:
            yield
            self._half = None
        except BaseException:
            if self._half is not None:
                self._follow_log(self._half)
            raise  # `_repair` does what may have to be waited for

    def _repair(self) -> None:
        """Do what an interrupt came before, or came twice before."""
        if self._half is not None:
            self._follow_log(self._half)
            self._placements.recover()
            self._half = None

    def _follow_log(self, before: "_Before") -> None:
        """Forget the items and questions that came since, and work out from the answers what follows from them."""
        self._asked.forget(before.n_asked)
        self._asked.key, self._names = before.key, before.names
        self._placements.go_back(before.X, before.filling)
        answers, items = self._placements.answers, self._placements.items
        for question in list(self._asked):
            place = answers.of(question.round)
            if place is not None:
                self._asked.close(question, (TOLD_NO, TOLD_YES, TOLD_LEVEL)[answers["said"][place]])
        items.is_open = np.zeros(len(items), np.bool_)
        items.is_open[[question.item for question in self._asked]] = True
        self._placements.recall()

    def _numbers(self, person: str, items: Any) -> Ints:
        """The items that somebody can answer about."""
        try:
            given = list(items)
        except TypeError:
            raise TypeError(
                f"person must map each name to a list of the numbers of items; got {person!r}: {items!r:.80}"
            ) from None
        return np.unique(np.array([self._number(item) for item in given], np.int64))

    def _number(self, item: Any) -> int:
        if isinstance(item, (bool, np.bool_)):
            raise TypeError(f"an item is given by its number; got {item}; instead of a mask, pass np.flatnonzero(mask)")
        try:
            number = operator.index(item)
        except TypeError:
            raise TypeError(
                f"an item is given by its number, a whole one from 0 to {len(self) - 1}; got {item!r:.80}"
            ) from None
        if not 0 <= number < len(self):
            raise ValueError(f"there is no item {item}; the items are numbered 0 to {len(self) - 1}")
        return number


def _check_target(target: Any, name: str) -> None:
    if not is_number(target) or not 0 <= target <= 1e9:
        kind = ValueError if is_number(target) else TypeError
        raise kind(f"{name} must be an error in levels, a number that is 0 or more; got {target!r:.80}")


class _Before(NamedTuple):
    """What was there before a change."""

    n_asked: int
    key: str
    names: list[str] | None
    X: Rows
    filling: Filling


def unpacked(header: dict[str, Any], arrays: saving.Arrays, learner: type[OrdinalLearner] | None) -> Pool:
    """The pool of a file."""
    pool = Pool(
        saving.rows(arrays)[:0], header["levels"], learner=saving.learner(arrays, "learner", learner),
        error_rate=header["error_rate"], audit=header["audit"], auditors=header["auditors"],
        programs=header["programs"], trusted=header["trusted"], costs=header["costs"], random_state=header["seed"],
        ratings=None if len(arrays["prior"]) == 0 else [],  # those of a pool with items are in the file
    )  # fmt: skip
    saving.restore(pool, header, arrays, learner)
    return pool


def _unpacked(content: bytes, learner: type[OrdinalLearner]) -> Pool:
    return unpacked(*persistence.unpack(content, "the pool"), learner)
