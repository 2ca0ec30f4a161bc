"""Learners and trees that each leave out a part of the items: none has learned from the items it predicts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import ExtraTreeClassifier

from dford import learners
from dford.arrays import Bools, Floats, Ints
from dford.engine import counter, loops
from dford.engine.beliefs import posteriors
from dford.learners import Auto, LiveLearner, NewtonLogit, Rows
from dford.learners._trees.forest import Trees
from dford.learners._trees.grower import Growth
from dford.learners._trees.schedule import TreeSchedule
from dford.pool.items import Items
from dford.scale import Scale

T = TypeVar("T")
PARTS = 10  # with five, the error was half as large again on some data after one answer per item
LEVEL_PARTS = 5
_LEAST, _MOST = 50, 5000  # items with levels to learn
_OTHERS = 25  # items that nobody spoke about
_LEAST_PER_LEVEL = 5  # with 3, and fifty levels, placements were 6.4 levels off instead of 5.7
_MOST_PRODUCTS = 12  # columns up to which a logit of levels has their products
_N_TREES, _LEAST_IN_LEAF, _DRAWS = 60, 5, 4
_UNSEEN = 0.01  # the probability that a forest leaves for levels it has not seen with such votes
_GROWTH = Growth(max_iter=50, learning_rate=0.2, max_leaf_nodes=16)


def _of_each(work: Callable[[int], T], parts: int) -> list[T]:
    """What this work makes of each part, in order; two parts at a time, as most of it needs no interpreter."""
    with ThreadPoolExecutor(2, "dford-parts") as threads:
        return list(threads.map(work, range(parts)))


class Lessons(NamedTuple):
    """Answers to learn, each with its row of features. Cuts and levels count from 0."""

    rows: Rows
    parts: Ints
    """The parts of their items, or -1 for an answer about no item, which every copy learns."""
    cuts: Ints
    placements: Ints
    propensities: Floats
    higher: Bools

    def but(self, part: int) -> "Lessons":
        """Those that do not touch this part."""
        of = self.parts != part
        return Lessons(*(column[of] for column in self))


class HeldOutLearners:
    """Copies of a learner, one per part of the items."""

    def __init__(self, learner: LiveLearner, scale: Scale, seed: int) -> None:
        self._scale, self._seed = scale, seed
        own_seed = counter.stream(seed, "learners") % 2**32
        self.models = [clone(learner).set_params(levels=scale.names, random_state=own_seed) for _ in range(PARTS)]

    def anew(self) -> "HeldOutLearners":
        """The same before they learned anything."""
        return HeldOutLearners(self.models[0], self._scale, self._seed)

    def check(self, row: Rows) -> None:
        """Refuse a learner that cannot learn from such a row, before there is anything to learn."""
        clone(self.models[0])._begin_live(row)

    def parts(self, items: Ints) -> Ints:
        """The parts that items are in, by a hash of their numbers."""
        return (PARTS * counter.uniforms(counter.stream(self._seed, "parts"), items)).astype(np.int64)

    def learn(self, lessons: Lessons) -> None:
        """Learn more answers: for each part, all except those about its own items."""
        _of_each(lambda part: self.learn_part(part, lessons), PARTS)

    def learn_part(self, part: int, lessons: Lessons) -> None:
        """The same for one part."""
        names, (rows, _, cuts, placements, propensities, higher) = self._scale.array, lessons.but(part)
        self.models[part].learn_many(rows, names[cuts], names[placements], propensities, higher)

    def chances(self, X: Rows) -> Floats:
        """How likely an answer is to be yes, for all items and cuts."""
        return self.chances_of(np.arange(X.shape[0]), X)

    def chances_of(self, items: Ints, X: Rows) -> Floats:
        """The same for items with these numbers and features."""
        yes, parts = np.empty((X.shape[0], len(self._scale) - 1)), self.parts(items)
        for part, model in enumerate(self.models):
            of = parts == part
            if model.__sklearn_is_fitted__() and of.any():
                yes[of] = 1.0 - model.predict_proba(X[of]).cumsum(axis=1)[:, :-1]
                if not np.isfinite(yes[of]).all():
                    raise ValueError(f"{type(model).__name__} predicted probabilities that are not finite")
            else:
                yes[of] = np.arange(len(self._scale) - 1, 0, -1) / len(self._scale)
        return yes

    def recall(self, lessons: Lessons) -> None:
        """Give back the answers that the models learned before they were packed without them, in the same order."""
        for part, model in enumerate(self.models):
            if model.__sklearn_is_fitted__() and model.missing_:
                own = lessons.but(part)
                model.recall(own.rows, self._scale.array[own.cuts], own.higher)


class Drawn(NamedTuple):
    """Some items about which something is known, and what that is; a level can be drawn for each."""

    items: Ints
    evidence: Floats
    bounds: Any
    draws: Floats

    @classmethod
    def of(cls, items: Items, learner: LiveLearner, seed: int, votes: bool = False) -> "Drawn | None":
        """Those that were answered about, for the audit too, or settled, evenly thinned out if there are many.

        If there are votes, there are as many others: where those are sure, nobody is asked, and models that had seen
        nothing of the kind would say anything there. None if there are too few, or if the learner is not `Auto`: who
        chose another wants nothing else.
        """
        known = np.flatnonzero((items.counts > 0) | (items.bounds[:, 1] - items.bounds[:, 0] < items.n_levels - 1))
        if len(known) < max(_LEAST, _LEAST_PER_LEVEL * items.n_levels) or not isinstance(learner, Auto):
            return None
        some = known[:: 1 + (len(known) - 1) // _MOST]
        if votes:
            others = np.setdiff1d(np.arange(len(items)), known)
            some = np.sort(np.concatenate([some, others[:: 1 + len(others) // _OTHERS]]))
        draws = counter.uniforms(counter.stream(seed, "levels"), some)
        return cls(some, items.evidence[some], items.bounds[some], draws)

    def levels(self, prior: Floats, n: int = 1) -> Ints:
        """A level of each, or n spread evenly, one row each, by what is known about it, its prior included."""
        beliefs = posteriors.beliefs(np.arange(len(self.items)), prior, self.evidence, self.bounds)
        draws = (self.draws + np.arange(n)[:, None] / n) % 1.0
        found: Ints = (beliefs.cumsum(axis=1)[:, :-1] <= draws[:, :, None]).sum(axis=2)
        return found


class Forest(NamedTuple):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) that learn levels."""

    trees: tuple[ExtraTreeClassifier, ...]

    @classmethod
    def grow(cls, X: Floats, levels: Ints) -> "Forest":
        """One that has learned these levels."""
        X = X.astype(np.float32)  # as each tree would make it
        trees = (ExtraTreeClassifier(min_samples_leaf=_LEAST_IN_LEAF, random_state=n) for n in range(_N_TREES))
        return cls(tuple(tree.fit(X, levels, check_input=False) for tree in trees))

    def above(self, X: Floats, n_levels: int) -> Floats:
        """How likely each row is to be above each cut."""
        X, levels = X.astype(np.float32), np.full((len(X), n_levels), _UNSEEN / n_levels)
        said = sum(tree.predict_proba(X, check_input=False) for tree in self.trees)
        levels[:, self.trees[0].classes_] += (1.0 - _UNSEEN) / len(self.trees) * said
        found: Floats = 1.0 - levels.cumsum(axis=1)[:, :-1]
        return found


class LevelModels(NamedTuple):
    """Logits and trees that learn where items stand, from all that is known about each.

    To a learner, every answer is a row of its own. But the second question about an item depends on the answer to the
    first, so that nearly every question is answered yes about half the time, whatever the features. An item's answers
    together, with its prior, are free of this. So each item gets a level, drawn by how likely it is, and these levels
    are learned like labels. Each model leaves out a part of the items.
    """

    logits: tuple[NewtonLogit, ...]
    trees: tuple[Trees, ...]
    """Empty if rows are sparse, or if there are forests."""
    forests: tuple[Forest, ...] = ()
    """Only if there are votes: of many opinions that are much alike they learn more from few answers than trees."""

    @classmethod
    def learn(cls, X: Rows, votes: Floats | None, parts: Ints, drawn: Drawn, prior: Floats) -> "LevelModels":
        """From items whose levels can be drawn, with these features and votes, in these parts, if these are priors."""
        n_levels, levels, some = prior.shape[1], drawn.levels(prior, _DRAWS), drawn.items
        X, parts, votes = X[some], parts[some], None if votes is None else votes[some]
        features = "poly" if not sparse.issparse(X) and X.shape[1] <= _MOST_PRODUCTS else "linear"

        def learn(part: int) -> tuple[NewtonLogit, Trees | Forest | None]:
            of = parts % LEVEL_PARTS != part
            rows, own = X[of], levels[0, of]
            logit = NewtonLogit(features=features, feedback="label", levels=range(n_levels), random_state=0)
            logit.fit(rows, own)
            if votes is not None:
                return logit, Forest.grow(np.tile(votes[of], (_DRAWS, 1)), levels[:, of].ravel())
            if sparse.issparse(X):
                return logit, None
            schedule = TreeSchedule(_GROWTH, X.shape[1], n_levels)
            schedule.log.append(rows, np.column_stack([np.zeros_like(own), own + 1]))
            schedule.grow_now()
            return logit, schedule.trees

        logits, others = zip(*_of_each(learn, LEVEL_PARTS), strict=True)
        if votes is not None:
            return cls(logits, (), others)
        return cls(logits, () if sparse.issparse(X) else others)

    def above(self, X: Rows, votes: Floats | None, parts: Ints, n_levels: int) -> Floats:
        """How likely each item is to be above each cut, by kind of model."""
        out = np.empty((1 + bool(self.trees or self.forests), X.shape[0], n_levels - 1))
        for part, logit in enumerate(self.logits):
            of = parts % LEVEL_PARTS == part
            if of.any():
                out[0, of] = 1.0 - logit.predict_proba(X[of]).cumsum(axis=1)[:, :-1]
        for part, trees in enumerate(self.trees):
            of = parts % LEVEL_PARTS == part
            out[1, of] = loops.sigmoids(trees.logits(X[of], n_levels))
        for part, forest in enumerate(self.forests):
            of = parts % LEVEL_PARTS == part
            if votes is not None and of.any():
                out[1, of] = forest.above(votes[of], n_levels)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        fields = ((part, field) for part in range(len(self.trees)) for field in Trees._fields)
        trees = {f"trees{part}_{field}": getattr(self.trees[part], field) for part, field in fields}
        return trees | {f"logit{part}": np.frombuffer(one.to_bytes(), np.uint8) for part, one in enumerate(self.logits)}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> "LevelModels | None":
        """Those with these arrays, if there are any."""
        if "logit0" not in arrays:
            return None
        parts = range(LEVEL_PARTS)
        logits = tuple(learners.loads(arrays[f"logit{part}"].tobytes(), "a logit", NewtonLogit) for part in parts)
        some = parts if "trees0_base" in arrays else ()
        return cls(logits, tuple(Trees(*(arrays[f"trees{part}_{field}"] for field in Trees._fields)) for part in some))
