"""Questions and answers: late, repeated, contradicting, foreign, given up."""

import copy
import itertools
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import dford
from dford import DFORD, PRIL, Auto, Boundary, DirectionalBoosting, NewtonLogit, PRank, Question, Uniform
from dford.engine import rounds
from dford.learners import LiveLearner, PythonForm, _auto_form, loads
from dford.learners._trees.grower import Growth
from test_pool import interrupted

LEVELS = ["poor", "fair", "good", "great"]


@pytest.fixture
def model() -> DFORD:
    return DFORD(levels=LEVELS, random_state=0)


def state(model: Any) -> bytes:
    return bytes(model._form.state)


def test_a_question_has_all_that_an_answer_needs(model: DFORD) -> None:
    question = model.ask([0.5, -1.0])
    assert question.level in LEVELS
    assert question.prediction in LEVELS
    p = model._policy().probabilities(LEVELS.index(question.prediction) + 1, 4)
    assert question.propensity == p[LEVELS.index(question.level)]
    assert question.round == 0
    assert question.x.tolist() == [0.5, -1.0]


def test_asking_learns_nothing(model: DFORD) -> None:
    model.tell(model.ask([1.0, 2.0]), True)
    before = np.delete(model._form.state, rounds.ASKED)
    model.ask([3.0, 4.0])
    assert (np.delete(model._form.state, rounds.ASKED) == before).all()


def test_the_open_question_is_safe_from_changes_to_the_callers_row(model: DFORD) -> None:
    x = np.array([1.0, 2.0])
    question = model.ask(x)
    x[:] = 100
    assert question.x.tolist() == [1.0, 2.0]


def test_answers_in_any_order_use_the_original_propensity_and_current_parameters() -> None:
    random = np.random.default_rng(0)
    model = DFORD(levels=range(1, 6), random_state=0)
    X, y = random.normal(size=(40, 3)), random.integers(1, 6, size=40)
    asked = [model.ask(x) for x in X]
    w, theta, t = np.zeros(3), np.zeros(4), 2
    for i in random.permutation(40):
        question, z = asked[i], 1 if y[i] > asked[i].level else -1
        if question.level < 5 and z * (w @ X[i] - theta[question.level - 1]) <= 0:
            w += z / question.propensity * X[i]
            theta[question.level - 1] -= z / question.propensity
        t += 1
        model.tell(question, z == 1)
        np.testing.assert_allclose(model.coef_, w / (t - 1), atol=1e-12)
        np.testing.assert_allclose(model.thresholds_, theta / (t - 1), atol=1e-12)
    assert not model.open_questions_


def test_late_answers_stay_unbiased() -> None:
    """The step of a question answered late, averaged over what might have been asked, is still the full one."""
    X = np.random.default_rng(0).normal(size=(3, 2))
    steps = []
    for level in range(1, 4):
        model = DFORD(levels=range(1, 5), policy=Uniform(), random_state=0)
        first = model.ask(X[0])
        for x in X[1:]:  # others are asked and answered in between
            other = model.ask(x)
            model.tell(other, other.level < 3)
        before = model._form.state.copy()
        model._form.tell(model._rule, X[0], first.prediction, level, first.propensity, level < 2)
        steps.append(model._form.state - before)
    full = PRank(levels=range(1, 5)).fit(X, [1, 1, 1])
    full._form.state[:] = before
    full.partial_fit(X[:1], [2])
    np.testing.assert_allclose(np.mean(steps, axis=0)[rounds.CUTS :], (full._form.state - before)[rounds.CUTS :])


def test_the_same_answer_again_changes_nothing_and_the_opposite_one_raises(model: DFORD) -> None:
    question = model.ask([1.0, 2.0])
    model.tell(question, True)
    before = state(model)
    model.tell(question, True)
    assert state(model) == before
    with pytest.raises(ValueError, match="already answered higher=True, and now higher=False"):
        model.tell(question, False)
    assert state(model) == before


def test_settled_questions_are_remembered_after_loading_and_pickling(model: DFORD, tmp_path: Path) -> None:
    questions = [model.ask([float(i), 1.0]) for i in range(20)]
    for i, question in enumerate(questions[:10]):
        model.tell(question, i % 3 == 0)
    model.save(tmp_path / "model")
    for copy_ in (dford.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert list(copy_.open_questions_) == [q.id for q in questions[10:]]
        assert list(copy_.open_questions_.values()) == questions[10:]
        before = state(copy_)
        for i, question in enumerate(questions[:10]):
            copy_.tell(question, i % 3 == 0)
            with pytest.raises(ValueError, match="already answered .*, and now"):
                copy_.tell(question, i % 3 != 0)
        assert state(copy_) == before


def test_a_question_may_be_dropped_and_then_takes_no_answer(model: DFORD) -> None:
    question = model.ask([1.0, 2.0])
    before = state(model)
    assert model.drop(question).drop(question) is model
    assert not model.open_questions_
    with pytest.raises(ValueError, match="was dropped"):
        model.tell(question, True)
    assert state(model) == before
    told = model.ask([1.0, 2.0])
    model.tell(told, True)
    with pytest.raises(ValueError, match="already answered"):
        model.drop(told)


@pytest.mark.parametrize("told", [False, True])
def test_a_question_of_another_model_is_refused(model: DFORD, told: bool) -> None:
    other = DFORD(levels=LEVELS, random_state=1)
    mine, theirs = model.ask([1.0, 2.0]), other.ask([1.0, 2.0])
    if told:
        model.tell(mine, True)
    before = state(model)
    with pytest.raises(ValueError, match="was not asked by this model"):
        model.tell(theirs, True)
    with pytest.raises(ValueError, match="was not asked by this model"):
        DFORD(levels=LEVELS, random_state=0).tell(mine, True)
    assert state(model) == before


def test_a_changed_question_is_refused(model: DFORD) -> None:
    question = model.ask([1.0, 2.0])
    for changed in (
        question._replace(propensity=0.01),
        question._replace(level="great" if question.level != "great" else "good"),
        question._replace(x=np.array([1.0, 3.0])),
        question._replace(round=7),
    ):
        with pytest.raises(ValueError, match="was not asked by this model"):
            model.tell(changed, True)
    model.tell(Question(*question), True)  # an equal one will do: questions may travel


@pytest.mark.parametrize("answer", [1, 0, None, "yes", 1.0, np.array([True])])
def test_an_answer_that_is_not_a_bool_is_refused(model: DFORD, answer: Any) -> None:
    question = model.ask([1.0, 2.0])
    with pytest.raises(TypeError, match="higher must be True or False"):
        model.tell(question, answer)
    with pytest.raises(TypeError, match="expected a Question"):
        model.tell(question.id, True)  # type: ignore[arg-type]
    model.tell(question, np.True_)
    assert model.rounds_ == 1


def test_asking_needs_levels() -> None:
    with pytest.raises(ValueError, match=r"pass levels=\[...\]"):
        DFORD().ask([1.0])
    X, y = np.eye(3), [1, 2, 3]
    assert DFORD().fit(X, y).ask(X[0]).level in y


def test_pril_asks_about_its_prediction() -> None:
    model = PRIL(levels=LEVELS)
    for x in np.random.default_rng(0).normal(size=(20, 2)):
        question = model.ask(x)
        assert question.level == question.prediction
        assert question.propensity == 1.0
        model.tell(question, bool(x[0] > 0))


def test_live_rounds_are_traced_without_labels() -> None:
    model = DFORD(levels=range(1, 9), policy=Boundary(0.5), checkpoints=[10, 30], random_state=0)
    crossings = []
    for x in np.random.default_rng(0).normal(size=(40, 2)):
        question = model.ask(x)
        crossings.append(model.crossings_)
        model.tell(question, bool(x[0] * 4 + 4 > question.level))
    trace = model.trace_
    assert trace.round.tolist() == [10, 30, 40]
    assert trace.crossings.tolist() == [np.mean(crossings[:n]) for n in (10, 30, 40)]
    assert np.isnan([trace.mae, trace.mae_asked, trace.regret]).all()


@pytest.mark.parametrize("learner", [DFORD(regularization=3.0), NewtonLogit(), Auto(), DirectionalBoosting()])
def test_thresholds_are_traced_as_they_were(learner: Any, tmp_path: Path) -> None:
    model = clone(learner).set_params(levels=[1, 2, 3, 4], checkpoints=[2, 5, 11], random_state=0)
    seen = []
    for x in np.random.default_rng(0).normal(size=(15, 2)):
        question = model.ask(x)
        model.tell(question, bool(x[0] + 2 > question.level))
        if model.rounds_ in {2, 5, 11, 15}:
            seen.append(getattr(model, "thresholds_", np.full(3, np.nan)))
    assert model.trace_.round.tolist() == [2, 5, 11, 15]
    np.testing.assert_array_equal(model.thresholds_trace_, seen)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(dford.load(tmp_path / "model").thresholds_trace_, seen)


@pytest.mark.parametrize(
    ("other", "row"),
    [
        (NewtonLogit(levels=LEVELS, forget=0.1, random_state=0), [0.5, 1.0]),
        (NewtonLogit(levels=["a", "b", "c"], random_state=0), [0.5, 1.0]),
        (NewtonLogit(levels=LEVELS, random_state=1), [0.5, 1.0]),
        (NewtonLogit(levels=LEVELS, random_state=0), [0.5, 1.5]),
        (DFORD(levels=LEVELS, random_state=0), [0.5, 1.0]),
        (NewtonLogit(levels=LEVELS, random_state=0), sparse.csr_matrix([[0.5, 1.0]])),
    ],
)
def test_a_question_of_another_model_or_about_another_row_is_refused(other: Any, row: Any) -> None:
    model = NewtonLogit(levels=LEVELS, random_state=0)
    own, foreign = model.ask([0.5, 1.0]), other.ask(row)
    assert own.id != foreign.id
    for is_closed in (False, True):
        if is_closed:
            model.tell(own, True)
        with pytest.raises(ValueError, match="was not asked by this model"):
            model.tell(foreign, True)
        with pytest.raises(ValueError, match="was not asked by this model"):
            model.drop(foreign)
    loaded = loads(model.to_bytes(), "a file")
    assert isinstance(loaded, NewtonLogit)
    with pytest.raises(ValueError, match="was not asked by this model"):
        loaded.tell(foreign, True)
    assert loaded.tell(own, True).to_bytes() == model.to_bytes()  # its own, again


def test_a_question_has_the_same_id_wherever_it_is_asked_again() -> None:
    model, again = (NewtonLogit(levels=LEVELS, random_state=0) for _ in range(2))
    for n, x in enumerate(np.random.default_rng(0).normal(size=(20, 2))):
        stored = again.question(x, n)
        asked = model.ask(x)
        assert asked == stored
        model.tell(asked, n % 2 > 0)
        again.learn(stored, n % 2 > 0)
        model.set_params(forget=0.5)  # takes effect with the next fit
        model = cast(NewtonLogit, loads(model.to_bytes(), "a file"))


def similar(A: Any, B: Any) -> Any:
    return (1.0 + A @ B.T) ** 2


class Steps(PythonForm):
    def score_rows(self, X: Any) -> Any:
        return X @ self.weights

    def update(self, x: Any, asked: int, higher: bool, propensity: float) -> None:
        self.weights[:] += x if higher else -x


class Own(LiveLearner):
    def _make_form(self, n_features: int, is_sparse: bool) -> Steps:
        return Steps(n_features)

    def _policy(self) -> Uniform:
        return Uniform()


def is_full(model: Any) -> bool:
    """Whether the next answer needs more room than the window has."""
    return bool(model._form.state[[rounds.START, rounds.COUNT]].sum() == model._form.stamps.size)


def after(n: int) -> Callable[[Any], bool]:
    return lambda model: model.rounds_ == n


@pytest.mark.parametrize(
    ("learner", "is_time", "is_sparse"),
    [
        (NewtonLogit(), after(7), False),
        (NewtonLogit(), after(9), True),  # the next one is recorded
        (DFORD(), after(9), False),
        (DFORD(), after(9), True),
        (DFORD(kernel="poly"), after(9), False),
        (DFORD(kernel="poly", window=20), is_full, False),
        (DFORD(kernel="rbf", window=20), is_full, False),
        (DFORD(kernel=similar, window=20), after(40), False),  # the next one leaves the window
        (Own(), after(9), False),
        (PRIL(), after(9), False),
        (PRIL(kernel="rbf", window=20), after(9), False),
        (DirectionalBoosting(max_iter=1), after(0), False),
        (DirectionalBoosting(max_iter=1), after(199), False),  # trees begin to grow
        (DirectionalBoosting(max_iter=1), after(203), False),  # and are used
        (Auto(), after(0), False),
        (Auto(), after(99), False),
        (Auto(), after(199), False),
        (Auto(), after(203), False),
        (Auto(dense=1), after(99), True),
        (Auto(dense=1), after(203), True),
    ],
)
def test_an_answer_that_is_told_again_after_an_interrupt_counts_once(
    learner: Any, is_time: Callable[[Any], bool], is_sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever line the interrupt comes, and to the bit."""
    monkeypatch.setattr(_auto_form, "Growth", partial(Growth, max_iter=1))
    whole = clone(learner).set_params(levels=LEVELS, random_state=0)

    def tell_next(model: Any) -> None:
        x = np.random.default_rng(model.rounds_ if hasattr(model, "_form") else 0).normal(size=3)
        question = model.ask(sparse.csr_matrix(x) if is_sparse else x)
        model.tell(question, bool(x[0] + x[1] > LEVELS.index(question.level) - 1))

    whole.ask(sparse.csr_matrix([[1.0, 2.0, 3.0]]) if is_sparse else np.array([1.0, 2.0, 3.0]))
    while not is_time(whole):
        tell_next(whole)
    at_first, n = pickle.dumps(whole), whole.rounds_
    [question] = whole.open_questions_.values()
    n_steps = interrupted(partial(whole.tell, question, True), -1)
    told = whole.to_bytes()
    for _ in range(6):
        tell_next(whole)
    for step in itertools.count():
        model = pickle.loads(at_first)
        n_steps = interrupted(partial(model.tell, question, True), step)
        assert model.rounds_ == n + (not model.open_questions_), step
        model.tell(question, True)
        assert model.to_bytes() == told, f"{step} of {n_steps} steps"
        for _ in range(6):
            tell_next(model)
        assert model.to_bytes() == whole.to_bytes(), f"{step} of {n_steps} steps"
        if n_steps <= step:  # it came too late
            break
    assert step > 10


def test_an_interrupted_ask_leaves_no_question_whose_answer_is_forgotten(model: DFORD) -> None:
    model.ask([1.0, 1.0])
    for step in range(interrupted(partial(copy.deepcopy(model).ask, [1.0, 2.0]), -1)):
        one = copy.deepcopy(model)
        interrupted(partial(one.ask, [1.0, 2.0]), step)
        for question in list(one.open_questions_.values()):
            one.ask([3.0, 4.0])
            n = one.rounds_
            assert one.tell(question, True).tell(question, True).rounds_ == n + 1
