"""The form of Auto: logits of several maps, trees, and a running comparison of them."""

from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Bools, Floats, Ints
from dford.engine import candidates, kernels, loops, newton, rounds
from dford.learners._forms.form import Form, Rows, whole
from dford.learners._forms.newton import GaussianForm, NewtonForm
from dford.learners._forms.sparse_newton import SparseNewtonForm, as_csr
from dford.learners._trees.grower import Growth
from dford.learners._trees.schedule import TreeSchedule
from dford.learners._trees.tree_learner import TreeForm

COSINES = 300
_LONGEST = 8.0  # for sparse rows: a long text weighs no more than a short one, and no row moves all weights at once


class AutoForm(TreeForm):
    """Logits of several maps, a schedule of trees, and a running comparison of them.

    If rows are sparse (`n_dense` is given), the first map sees all but the first `n_dense` columns. The others and the
    trees see these columns, and the first map's score of the rest, from before it learns the answer.
    """

    def __init__(self, n_features: int, n_dense: int | None = None) -> None:
        super().__init__(n_features)
        self.takes_sparse = n_dense is not None
        self.n_dense = n_features if n_dense is None else n_dense
        seen = self.n_dense + self.takes_sparse
        kinds = {"linear": newton.LINEAR, "poly": newton.POLY, "fourier": newton.FOURIER} if self.n_dense else {}
        if kernels.feature_count(seen, 2) > COSINES:
            kinds.pop("poly")
        self.sparse = SparseNewtonForm(0.0, n_features - self.n_dense, _LONGEST) if self.takes_sparse else None
        self.others = {name: NewtonForm(kind, "auto", COSINES, 0.0, seen) for name, kind in kinds.items()}
        self.maps: dict[str, GaussianForm] = dict(self.others)
        if self.sparse is not None:
            self.row_shape = ()
            self.maps = {"sparse": self.sparse, **self.others}

    def start(self, n_levels: int) -> None:
        super().start(n_levels)
        for one in self.maps.values():
            one.start(n_levels)
        self.schedule = TreeSchedule(Growth(), self.n_dense + len(self.maps), n_levels, len(self.maps))
        self.losses = np.zeros(len(self.maps) + 2)  # for each map, the trees, and the leading map with trees
        self.choice = 0
        self.against = candidates.no_powers()
        self._ahead: Floats | None = None  # the maps' cuts at the answer that is being judged

    @property
    def cuts(self) -> Floats:
        leader = self._leader()
        cuts: Floats = list(self.maps.values())[leader].cuts if self._ahead is None else self._ahead[leader]
        return cuts

    def scores(self, X: Rows) -> Floats:
        """The scores of the leading map."""
        scores: Floats = self._all_scores(X)[1][self._leader()]
        return scores

    def _all_scores(self, X: Rows) -> tuple[Floats, Floats]:
        """The columns that the other maps see, and the scores of all maps."""
        seen = self.dense(X)
        first = []
        if self.sparse is not None:
            first = [self.sparse.scores(self._rest(X))]
            seen = np.column_stack([seen, first[0]])
        return seen, np.stack([*first, *(one.scores(seen) for one in self.others.values())])

    def names(self) -> list[str]:
        names = list(self.maps)
        return [*names, "trees", f"{names[self._leader()]} + trees"]

    def check(self, X: Rows) -> Floats | None:
        return next(iter(self.maps.values())).check(X)

    def dense(self, X: Rows) -> Floats:
        if self.sparse is None:
            return np.asarray(X)
        return np.ascontiguousarray(as_csr(X)[:, : self.n_dense].toarray())

    def _rest(self, X: Rows) -> Rows:
        """The columns that the sparse map sees."""
        return as_csr(X)[:, self.n_dense :]

    def logits(self, X: Rows) -> Floats:
        seen, scores = self._all_scores(X)
        cuts = np.stack([np.tile(one.cuts, (len(seen), 1)) for one in self.maps.values()])
        out = np.empty((len(seen), self.n_levels - 1))
        trees = self._tree_logits(np.column_stack([seen[:, : self.n_dense], *scores]))
        candidates.logits(self.losses, self.choice, scores, cuts, trees, out)
        return out

    def above(self, X: Rows) -> Floats:
        if self.choice < len(self.maps):
            chosen = list(self.maps.values())[self.choice]
            return chosen.above(self._rest(X) if chosen is self.sparse else self._all_scores(X)[0])
        return loops.sigmoids(candidates.power(self.against) * self.logits(X))

    def learn(
        self, rule: loops.Rule, table: Floats, seed: int, X: Rows, squares: Floats | None, lo: Ints, hi: Ints
    ) -> bool:
        for r in range(X.shape[0]):
            self.schedule.prepare(live=False)
            x = X[r : r + 1] if self.takes_sparse else X[r]
            seen = self._look(x)
            prediction = candidates.level(self.losses, self.choice, *seen.candidates)
            asked, propensity, _ = loops.choose(self.state, table, seed, prediction)
            self._learn_answer(seen, x, prediction, asked, propensity, bool(lo[r] > asked), live=False)
            loops.note(self.state, prediction, asked, lo[r], hi[r])
        return True

    def ask(self, rule: loops.Rule, table: Floats, seed: int, x: Rows) -> tuple[int, int, float, int]:
        x = self._one(x)
        self.check(x if self.takes_sparse else x[None])
        prediction = candidates.level(self.losses, self.choice, *self._look(x).candidates)
        return prediction, *loops.choose(self.state, table, seed, prediction)

    def tell(self, rule: loops.Rule, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> int:
        x = self._one(x)  # it was checked before
        self.schedule.prepare()
        self._learn_answer(self._look(x), x, prediction, asked, propensity, higher, live=True)
        return int(self.state[rounds.ROUNDS])

    def _one(self, x: Rows) -> Rows:
        return as_csr(x) if self.takes_sparse else x.reshape(-1)

    def _weigh_one(self, x: Rows, prediction: int, asked: int, propensity: float, higher: bool) -> None:
        if self.takes_sparse:
            columns = [prediction], [asked], [propensity], [higher]
            self.weigh(x, *map(np.array, columns))
        else:
            loops.weigh(self.state, self.n_levels, x, prediction, asked, propensity, higher)

    def look_ahead(
        self, X: Rows, asked: Ints, higher: Bools, parts: Sequence[slice]
    ) -> Generator[tuple[Floats, Any], None, None]:
        dense, rest = self.dense(X), X if self.sparse is None else self._rest(X)
        forks = {name: one.fork() for name, one in self.maps.items()}
        pools = [ThreadPoolExecutor(1, "dford-maps") for _ in forks]  # one per map, so that its answers stay in order
        looks: dict[str, list[Future[tuple[Floats, Floats]]]] = {}

        def look(name: str, part: int) -> tuple[Floats, Floats]:
            rows = (rest if name == "sparse" else dense)[parts[part]]
            if name != "sparse" and self.sparse is not None:
                rows = np.column_stack([rows, looks["sparse"][part].result()[0]])
            return forks[name].learn_many(rows, asked[parts[part]], higher[parts[part]])

        try:
            for name, pool in zip(forks, pools, strict=True):
                looks[name] = [pool.submit(look, name, part) for part in range(len(parts))]
            for number, part in enumerate(parts):
                found = [look[number].result() for look in looks.values()]
                scores, cuts = np.stack([scores for scores, _ in found]), np.stack([cuts for _, cuts in found])
                yield np.column_stack([dense[part], *scores]), (scores, cuts)
            for name, one in self.maps.items():
                one.become(forks[name])
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

    def _look(self, x: Rows) -> "_Seen":
        columns, rest, first = x, x, []
        if self.sparse is not None:
            rest = self._rest(x)
            first = [self.sparse.score_one(rest)]
            columns = np.concatenate([self.dense(x)[0], first])
        scores = np.array([*first, *(one.score_one(columns) for one in self.others.values())])[:, None]
        Z = np.concatenate([columns[: self.n_dense], scores[:, 0]])[None]
        cuts = np.array([[one.cuts] for one in self.maps.values()])
        return _Seen(columns, rest, Z, (scores, cuts, self._tree_logits(Z)))

    def _learn_answer(
        self, seen: "_Seen", x: Rows, prediction: int, asked: int, propensity: float, higher: bool, live: bool
    ) -> None:
        """Learn an answer about the row that was last looked at."""
        losses, against = self.losses.copy(), self.against.copy()
        told = np.array([asked]), np.array([higher]), np.empty(1, np.int64)
        choice = candidates.judge(losses, against, self.choice, *seen.candidates, *told)
        judged, count = (losses, against, choice), self.schedule.count
        try:
            self._learn_judged(seen, x, prediction, asked, propensity, higher, live, judged)
        except BaseException:
            rest = partial(self._learn_judged, seen, x, prediction, asked, propensity, higher, live, judged, count)
            whole(lambda: rest() if self._is_ahead() else None)
            raise

    def _learn_judged(
        self, seen: "_Seen", x: Rows, prediction: int, asked: int, propensity: float, higher: bool, live: bool,
        judged: tuple[Floats, Floats, int], count: int | None = None,
    ) -> None:  # fmt: skip
        """Learn a whole answer, or, after an interrupt, what is left of it: given the number of answers before."""
        for one, score in zip(self.maps.values(), seen.candidates[0][:, 0].tolist(), strict=True):
            if count is None or not self._is_ahead(one):
                one.learn_scored(seen.rest if one is self.sparse else seen.columns, score, asked, higher)
        if count is None or self.schedule.count == count:
            self.schedule.add(seen.Z, np.array([[asked, higher]]), live)
        self.losses, self.against, self.choice = judged
        self._weigh_one(x, prediction, asked, propensity, higher)

    def _is_ahead(self, *maps: GaussianForm) -> bool:
        """Whether one of these maps, or of all, has learned an answer that is not counted yet."""
        return any(one.state[rounds.ROUNDS] > self.state[rounds.ROUNDS] for one in maps or self.maps.values())

    def adopt(self, other: Form, cuts: Ints, numbers: Ints) -> None:
        assert isinstance(other, AutoForm)
        self.state[: rounds.CUTS] = other.state[: rounds.CUTS]
        kept = [list(other.maps).index(name) for name in self.maps]  # there may be too many products by now
        for name, one in self.maps.items():
            one.adopt(other.maps[name], cuts, numbers)
        self.losses, self.against = other.losses[[*kept, -2, -1]], other.against
        chosen = other.names()[other.choice]
        self.choice = self.names().index(chosen) if chosen in self.names() else int(np.argmin(self.losses))
        theirs = [*range(other.n_dense), *(other.n_dense + k for k in kept)]
        mine = [*range(other.n_dense), *(self.n_dense + k for k in range(len(kept)))]
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
        against = arrays.get("against", self.against)  # missing in files of early versions
        shapes = (losses.shape, against.shape, choice.shape)
        if shapes != (self.losses.shape, self.against.shape, (1,)) or not 0 <= choice[0] < len(losses):
            raise ValueError("the comparison of candidates has an invalid shape")
        self.losses, self.against, self.choice = losses, against, int(choice[0])


class _Seen(NamedTuple):
    """What is seen of a row before its answer is learned."""

    columns: Floats
    """What the maps see, except the sparse one, and"""
    rest: Rows
    """what that one sees."""
    Z: Floats
    """What trees see."""
    candidates: tuple[Floats, Floats, Floats]
    """The scores and cuts of the maps, and the logits of the trees."""
