"""Auto: the learner to try first. It starts fast, grows, and uses what the answers show to be best."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dford.engine import kernels, loops, newton, rounds
from dford.engine._compiled import Floats, Ints
from dford.learners._forms import Form, Rows
from dford.learners._growing import GrowingForm, GrowingLearner
from dford.learners._newton_forms import NewtonForm
from dford.learners._orchard import Orchard
from dford.learners._trees import Growth
from dford.policies import Nearby, Policy

_COSINES = 300
_MEMORY = 0.999  # of past answers in the comparison, an answer: about the last thousand count
_MARGIN = 1.0  # in squared errors of probability: a lead that takes many answers, and no luck, to build up
_RULE: loops.Rule = True, True, np.inf, False, False


class Auto(GrowingLearner):
    """What to try first: no model to choose and nothing to tune.

    Three cumulative logits (`NewtonLogit` with linear features, products and random cosines) learn from the first
    answer on. Boosted trees, which also see their scores, grow on the log of answers: on the first 200, 250, 312, ...
    Each answer is first used to judge them all, and the mean of trees and best logit too: by the squared error of the
    probability that they gave it. The best over about the last thousand answers makes the predictions, once its lead
    is clear. No label is ever needed for this.

    Parameters
    ----------
    policy : Policy, optional
        How levels are asked; `Nearby()` where not given.
    levels, checkpoints, random_state
        As in `DFORD`.

    Attributes
    ----------
    classes_ : array
        The levels, lowest first.
    choice_ : str
        What makes the predictions now: "linear", "poly", "fourier", "trees" or a logit with trees, "linear + trees".

    Examples
    --------
    >>> from dford import Auto
    >>> from dford.datasets import make_synthetic
    >>> X, y = make_synthetic(2_000, random_state=0)
    >>> model = Auto(random_state=0).fit(X, y)
    >>> print(f"{model.trace_.mae[-1]:.1f}")
    0.2
    >>> print("{:.1f}, surely in [{:.1f}, {:.1f}]".format(*model.running_mae_))  # no label was used for this
    0.2, surely in [0.1, 0.3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GrowingLearner._parameter_constraints,
        "policy": [Policy, None],
    }

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        levels: Sequence[Any] | None = None,
        checkpoints: Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.policy = policy
        self.levels = levels
        self.checkpoints = checkpoints
        self.random_state = random_state

    @property
    def choice_(self) -> str:
        check_is_fitted(self)
        assert isinstance(self._form, AutoForm)
        return self._form.names()[self._form.choice]

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        return AutoForm(n_features)

    def _make_rule(self) -> loops.Rule:
        return _RULE

    def _policy(self) -> Policy:
        return Nearby() if self.policy is None else self.policy

    def _directional(self, y: Ints) -> bool:
        return True


class AutoForm(GrowingForm):
    """Logits of several maps, an orchard, and a running comparison of them."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        kinds = {"linear": newton.LINEAR, "poly": newton.POLY, "fourier": newton.FOURIER}
        if kernels.feature_count(n_features, 2) > _COSINES:
            del kinds["poly"]
        self.maps = {name: NewtonForm(kind, "auto", _COSINES, 0.0, n_features) for name, kind in kinds.items()}

    def start(self, n_levels: int) -> None:
        super().start(n_levels)
        for one in self.maps.values():
            one.start(n_levels)
        self.orchard = Orchard(Growth(), self.n_features + len(self.maps), n_levels)
        self.losses = np.zeros(len(self.maps) + 2)  # of the maps, the trees, and the leading map with trees
        self.choice = 0

    @property
    def cuts(self) -> Floats:
        return list(self.maps.values())[self._leader()].cuts

    def scores(self, X: Rows) -> Floats:
        """Those of the leading map."""
        return list(self.maps.values())[self._leader()].scores(X)

    def names(self) -> list[str]:
        names = list(self.maps)
        return [*names, "trees", f"{names[self._leader()]} + trees"]

    def check(self, X: Rows) -> Floats | None:
        return self.maps["linear"].check(X)

    def logits(self, X: Rows) -> Floats:
        logits: Floats = self._all_logits(X)[0][self.choice]
        return logits

    def above(self, X: Rows) -> Floats:
        if self.choice < len(self.maps):
            return list(self.maps.values())[self.choice].above(X)
        return super().above(X)

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        answer = np.empty((1, 2), np.int64)
        for r in range(len(X)):
            row = X[r : r + 1]
            logits, Z = self._all_logits(row)
            prediction = 1 + (logits[self.choice] > 0).sum(axis=1)
            loops.play_predicted(
                self.state, self.n_levels, True, table, seed, row, prediction, lo[r : r + 1], hi[r : r + 1], answer
            )
            self._learn_answer(row, logits, Z, answer, live=False)
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        prediction = int(self.levels(x.reshape(1, -1), False)[0])
        return prediction, *loops.choose(self.state, table, seed, prediction)

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        X = x.reshape(1, -1)
        logits, Z = self._all_logits(X)
        self._learn_answer(X, logits, Z, np.array([[asked, higher]]), live=True)
        return loops.weigh(self.state, self.n_levels, X[0], prediction, asked, propensity, higher)

    def _leader(self) -> int:
        return int(np.argmin(self.losses[: len(self.maps)]))

    def _all_logits(self, X: Rows) -> tuple[Floats, Floats]:
        """The logits of all candidates, shape (candidates, rows, K - 1), and what the trees see of the rows."""
        maps = list(self.maps.values())
        scores = [one.scores(X) for one in maps]
        logits = np.empty((len(self.losses), len(X), self.n_levels - 1))
        for k, one in enumerate(maps):
            logits[k] = scores[k][:, None] - one.cuts
        Z = np.column_stack([X, *scores])
        lead = logits[self._leader()]
        logits[-2] = self.orchard.trees.logits(Z, self.n_levels) if self.orchard.grown_on else lead
        logits[-1] = 0.5 * (lead + logits[-2])
        return logits, Z

    def _learn_answer(self, X: Rows, logits: Floats, Z: Floats, answer: Ints, live: bool) -> None:
        asked, higher = int(answer[0, 0]), bool(answer[0, 1])
        if asked < self.n_levels:
            given = loops.sigmoids(logits[:, 0, asked - 1 : asked])[:, 0]
            self.losses = _MEMORY * self.losses + (given - higher) ** 2
        if not self.orchard.grown_on:  # until there are trees, they would be as good as the leader
            self.losses[-2:] = self.losses[self._leader()]
        best = int(np.argmin(self.losses))
        if self.losses[best] < self.losses[self.choice] - _MARGIN:
            self.choice = best
        for one in self.maps.values():
            one.tell(_RULE, X[0], asked, asked, 1.0, higher)
        self.orchard.add(Z, answer, live)

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        assert isinstance(other, AutoForm)
        self.state[: rounds.CUTS] = other.state[: rounds.CUTS]
        kept = [list(other.maps).index(name) for name in self.maps]  # products may have become too many
        for name, one in self.maps.items():
            one.adopt(other.maps[name], cuts, numbers)
        self.losses = other.losses[[*kept, -2, -1]]
        chosen = other.names()[other.choice]
        self.choice = self.names().index(chosen) if chosen in self.names() else int(np.argmin(self.losses))
        theirs = [*range(other.n_features), *(other.n_features + k for k in kept)]
        mine = [*range(other.n_features), *(self.n_features + k for k in range(len(kept)))]
        self.orchard.adopt(other.orchard, theirs, mine, numbers)

    def arrays(self) -> dict[str, NDArray[Any]]:
        maps = {f"{name}_{key}": a for name, one in self.maps.items() for key, a in one.arrays().items()}
        own = {"losses": self.losses.copy(), "choice": np.array([self.choice])}
        return super().arrays() | maps | self.orchard.arrays() | own

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        for name, one in self.maps.items():
            own = {key.removeprefix(f"{name}_"): a for key, a in arrays.items() if key.startswith(f"{name}_")}
            one.restore(n_levels, own)
        self.orchard.restore(arrays)
        losses, choice = arrays["losses"], arrays["choice"]
        if losses.shape != self.losses.shape or choice.shape != (1,) or not 0 <= choice[0] < len(losses):
            raise ValueError("the comparison of candidates has a shape that no model could have")
        self.losses, self.choice = losses, int(choice[0])
