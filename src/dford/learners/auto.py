"""Auto: the learner to try first. It starts fast, grows, and uses what the answers show to be best."""

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dford.engine import candidates, kernels, loops, newton, rounds
from dford.engine._compiled import Bools, Floats, Ints
from dford.learners._forms import Form, Rows
from dford.learners._newton_forms import NewtonForm
from dford.learners._trees.grower import Growth
from dford.learners._trees.schedule import TreeSchedule
from dford.learners._trees.tree_learner import TreeForm, TreeLearner
from dford.policies import Nearby, Policy

_COSINES = 300


class Auto(TreeLearner):
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
        **TreeLearner._parameter_constraints,
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

    def _policy(self) -> Policy:
        return Nearby() if self.policy is None else self.policy


class AutoForm(TreeForm):
    """Logits of several maps, a schedule of trees, and a running comparison of them."""

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
        self.schedule = TreeSchedule(Growth(), self.n_features + len(self.maps), n_levels, len(self.maps))
        self.losses = np.zeros(len(self.maps) + 2)  # of the maps, the trees, and the leading map with trees
        self.choice = 0
        self.against = candidates.no_powers()
        self._ahead: Floats | None = None  # the maps' cuts at the answer that is being judged

    @property
    def cuts(self) -> Floats:
        leader = self._leader()
        cuts: Floats = list(self.maps.values())[leader].cuts if self._ahead is None else self._ahead[leader]
        return cuts

    def scores(self, X: Rows) -> Floats:
        """Those of the leading map."""
        return list(self.maps.values())[self._leader()].scores(X)

    def names(self) -> list[str]:
        names = list(self.maps)
        return [*names, "trees", f"{names[self._leader()]} + trees"]

    def check(self, X: Rows) -> Floats | None:
        return self.maps["linear"].check(X)

    def logits(self, X: Rows) -> Floats:
        maps = list(self.maps.values())
        scores = np.stack([one.scores(X) for one in maps])
        cuts = np.stack([np.tile(one.cuts, (len(X), 1)) for one in maps])
        out = np.empty((len(X), self.n_levels - 1))
        trees = self._tree_logits(np.column_stack([X, *scores]))
        candidates.logits(self.losses, self.choice, scores, cuts, trees, out)
        return out

    def above(self, X: Rows) -> Floats:
        if self.choice < len(self.maps):
            return list(self.maps.values())[self.choice].above(X)
        return loops.sigmoids(candidates.power(self.against) * self.logits(X))

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        answer = np.empty((1, 2), np.int64)
        for r in range(len(X)):
            self.schedule.prepare(live=False)
            seen = self._look(X[r])
            prediction = np.array([candidates.level(self.losses, self.choice, *seen[1:])])
            loops.play_predicted(
                self.state,
                self.n_levels,
                True,
                table,
                seed,
                X[r : r + 1],
                prediction,
                lo[r : r + 1],
                hi[r : r + 1],
                answer,
            )
            self._learn_answer(X[r], seen, int(answer[0, 0]), bool(answer[0, 1]), live=False)
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        self.check(x.reshape(1, -1))
        prediction = candidates.level(self.losses, self.choice, *self._look(x)[1:])
        return prediction, *loops.choose(self.state, table, seed, prediction)

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        self.check(x.reshape(1, -1))
        self.schedule.prepare()
        self._learn_answer(x, self._look(x), asked, higher, live=True)
        return loops.weigh(self.state, self.n_levels, x.reshape(-1), prediction, asked, propensity, higher)

    def look_ahead(
        self, X: Floats, asked: Ints, higher: Bools, parts: Sequence[slice]
    ) -> Generator[tuple[Floats, Any], None, None]:
        forks = [one.fork() for one in self.maps.values()]
        pools = [ThreadPoolExecutor(1, "dford-maps") for _ in forks]  # one each, so that its answers stay in order
        try:
            looks = [
                deque(pool.submit(fork.learn_many, X[part], asked[part], higher[part]) for part in parts)
                for fork, pool in zip(forks, pools, strict=True)
            ]
            for part in parts:
                found = [look.popleft().result() for look in looks]
                scores, cuts = np.stack([scores for scores, _ in found]), np.stack([cuts for _, cuts in found])
                yield np.column_stack([X[part], *scores]), (scores, cuts)
            for one, fork in zip(self.maps.values(), forks, strict=True):
                one.become(fork)
        finally:
            self._ahead = None
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)

    def judge(self, Z: Floats, seen: tuple[Floats, Floats], asked: Ints, higher: Bools) -> Ints:
        scores, cuts = seen
        predictions = np.empty(len(Z), np.int64)
        self.choice = candidates.judge(
            self.losses, self.against, self.choice, scores, cuts, self._tree_logits(Z), asked, higher, predictions
        )
        self._ahead = cuts[:, -1]
        return predictions

    def judged(self) -> Any:
        return self.state.copy(), self.losses.copy(), self.against.copy(), self.choice

    def put_back(self, kept: Any) -> None:
        self.state, self.losses, self.against, self.choice = kept

    def _leader(self) -> int:
        return int(np.argmin(self.losses[: len(self.maps)]))

    def _tree_logits(self, Z: Floats) -> Floats:
        trees = self.schedule.trees
        return trees.logits(Z, self.n_levels) if self.schedule.grown_on else candidates.no_logits(self.n_levels)

    def _look(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """What trees see of a row; the scores and cuts of the maps, and the logits of the trees."""
        maps = list(self.maps.values())
        scores = np.array([[one.score_one(x)] for one in maps])
        Z = np.concatenate([x, scores[:, 0]])[None]
        return Z, scores, np.array([[one.cuts] for one in maps]), self._tree_logits(Z)

    def _learn_answer(
        self, x: Floats, seen: tuple[Floats, Floats, Floats, Floats], asked: int, higher: bool, live: bool
    ) -> None:
        """Learn an answer about the row that was last looked at."""
        Z, scores, cuts, trees = seen
        told = np.array([asked]), np.array([higher]), np.empty(1, np.int64)
        self.choice = candidates.judge(self.losses, self.against, self.choice, scores, cuts, trees, *told)
        for one, score in zip(self.maps.values(), scores[:, 0].tolist(), strict=True):
            one.learn_scored(x, score, asked, higher)
        self.schedule.add(Z, np.array([[asked, higher]]), live)

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        assert isinstance(other, AutoForm)
        self.state[: rounds.CUTS] = other.state[: rounds.CUTS]
        kept = [list(other.maps).index(name) for name in self.maps]  # products may have become too many
        for name, one in self.maps.items():
            one.adopt(other.maps[name], cuts, numbers)
        self.losses, self.against = other.losses[[*kept, -2, -1]], other.against
        chosen = other.names()[other.choice]
        self.choice = self.names().index(chosen) if chosen in self.names() else int(np.argmin(self.losses))
        theirs = [*range(other.n_features), *(other.n_features + k for k in kept)]
        mine = [*range(other.n_features), *(self.n_features + k for k in range(len(kept)))]
        self.schedule.adopt(other.schedule, theirs, mine, numbers)

    def arrays(self) -> dict[str, NDArray[Any]]:
        maps = {f"{name}_{key}": a for name, one in self.maps.items() for key, a in one.arrays().items()}
        own = {"losses": self.losses.copy(), "against": self.against.copy(), "choice": np.array([self.choice])}
        return super().arrays() | maps | self.schedule.arrays() | own

    def restore(self, n_levels: int, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(n_levels, arrays)
        for name, one in self.maps.items():
            own = {key.removeprefix(f"{name}_"): a for key, a in arrays.items() if key.startswith(f"{name}_")}
            one.restore(n_levels, own)
        self.schedule.restore(arrays)
        losses, choice = arrays["losses"], arrays["choice"]
        against = arrays.get("against", self.against)  # which files of the first days do not have
        shapes = (losses.shape, against.shape, choice.shape)
        if shapes != (self.losses.shape, self.against.shape, (1,)) or not 0 <= choice[0] < len(losses):
            raise ValueError("the comparison of candidates has a shape that no model could have")
        self.losses, self.against, self.choice = losses, against, int(choice[0])
