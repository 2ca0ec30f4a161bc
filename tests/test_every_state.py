"""Whatever was done to a learner, it can be saved and loaded: what could not be is refused when it is done."""

import copy
import datetime
import math
import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st
from scipy import sparse

from dford import DFORD, Auto, DirectionalBoosting, FeedbackLog, Greedy, Nearby, NewtonLogit, Question, Uniform
from dford.learners import LEARNERS, loads
from dford.scale import Scale

D = 2
NUMBERS = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, -999.0, 1e40, 1e49, 1e200, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324]),
)
ROWS = st.lists(NUMBERS, min_size=D, max_size=D)
LEVELS = st.sampled_from(
    [
        [1, 2, 3], ["low", "mid", "top"], [0.5, 1.5], [False, True], ["one", 1, 1.5], [2**70, 2**70 + 1],
        np.array([3, 1, 2]), [np.int64(1), np.float64(2.5), np.str_("a")], range(4),
        [(1, 2), (3, 4)], [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], [0.0, math.inf], [b"a", b"b"],
        np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]"),
    ]
)  # fmt: skip
PARAMETERS: dict[str, list[Any]] = {
    "levels": [None, ["a", "b"], [1, 2, 3, 4], [(1,), (2,)]],
    "checkpoints": [None, [1, 3, 5], np.array([2, 4]), range(1, 50), [3, 1]],
    "random_state": [None, 0, np.int64(5), np.random.RandomState(3), -1],
    "policy": [None, Uniform(), Nearby(0.3), Greedy(), "uniform"],
    "exploration": [0.0, 0.5, 1, 2.0, np.float32(0.25)],
    "kernel": ["linear", "poly", "rbf", "sigmoid"],
    "degree": [1, 3, 0],
    "gamma": [0.5, 1e300, 1e-300, math.inf],
    "coef0": [0.0, 2, -1.0],
    "window": [None, 1, 3, 0],
    "clip": [None, 1.0, 1e-300, 1e300],
    "always_rescale": [True, False],
    "regularization": [1.0, 1e-300, 1e300, 0.0],
    "ordered": [True, False, "yes"],
    "feedback": ["direction", "label", "both"],
    "features": ["linear", "poly", "fourier", "cubic"],
    "n_components": [1, 7],
    "covariance": ["auto", "full", "diagonal"],
    "forget": [0.0, 0.5, 1.0],
    "dense": [None, 0, 1, 9],
    "max_iter": [1, 3, 0],
    "learning_rate": [0.1, 1e300],
    "max_leaf_nodes": [None, 2, 1],
    "min_samples_leaf": [1, 20],
    "l2_regularization": [0.0, 1.0],
    "categorical_features": [None, [0], np.array([1]), [7]],
}
CALLS = [
    "fit", "fit many", "partial_fit", "ask", "ask", "ask", "tell", "tell", "drop", "learn", "learn_many", "replay",
    "change in place", "set_params", "set_params", "predict", "load", "pickle", "copy", "refit",
]  # fmt: skip
REFUSALS = ValueError, TypeError, AttributeError  # the last if a learner does not have it


class Played:
    """A learner, and the questions it has asked."""

    def __init__(self, model: Any) -> None:
        self.model, self.questions = model, list[Any]()

    def do(self, call: str, data: st.DataObject) -> None:
        model, higher = self.model, data.draw(st.booleans())
        names = model._scale.names if hasattr(model, "_scale") else ["low", "mid"]
        match call:
            case "fit" | "partial_fit":
                rows = data.draw(st.lists(ROWS, min_size=2, max_size=4))
                X = np.array(rows)
                is_sparse = data.draw(st.booleans())
                y = [names[n % len(names)] for n in range(len(X))]
                getattr(model, call)(sparse.csr_matrix(X) if is_sparse else X, y)
            case "fit many":
                random = np.random.default_rng(data.draw(st.integers(0, 9)))
                model.fit(random.normal(size=(210, D)), [names[n % len(names)] for n in range(210)])
            case "ask":
                self.questions.append(model.ask(data.draw(ROWS)))
            case "tell" | "drop" if self.questions:
                question = data.draw(st.sampled_from(self.questions))
                getattr(model, call)(question, *([higher] if call == "tell" else []))
            case "learn":
                level, prediction = (data.draw(st.sampled_from(names)) for _ in range(2))
                propensity = data.draw(st.sampled_from([1.0, 0.25, 1e-100, 1e-200]))
                model.learn(Question("", np.array(data.draw(ROWS)), level, prediction, propensity, 0), higher)
            case "learn_many":
                rows = data.draw(st.lists(ROWS, min_size=1, max_size=20))
                n = len(rows)
                model.learn_many(np.array(rows), names[:1] * n, names[-1:] * n, [0.5] * n, [higher] * n)
            case "replay":
                log = FeedbackLog(names)
                for x in data.draw(st.lists(ROWS, min_size=1, max_size=3)):
                    log.append(Question("", x, names[0], names[-1], 0.5, 0), higher)
                model.replay(log)
            case "change in place" if self.questions:
                data.draw(st.sampled_from(self.questions)).x[0] = data.draw(NUMBERS)
            case "set_params":
                name = data.draw(st.sampled_from(sorted(set(PARAMETERS) & set(model.get_params()))))
                model.set_params(**{name: data.draw(st.sampled_from(PARAMETERS[name]))})
            case "predict":
                model.predict([data.draw(ROWS)])
            case "load":
                self.model = loads(model.to_bytes(), "a file")
            case "pickle":
                self.model = pickle.loads(pickle.dumps(model))
            case "copy":
                self.model = copy.deepcopy(model)
            case "refit":
                model.refit()


def check(model: Any) -> None:
    """It can be saved and loaded, and goes on with the same bits."""
    try:
        model._validate_params()
    except ValueError:
        with pytest.raises(ValueError, match="parameter of"):
            model.to_bytes()
        return
    content = model.to_bytes()
    loaded = loads(content, "a file")
    assert loaded.to_bytes() == content
    assert dict(getattr(loaded, "open_questions_", {})) == dict(getattr(model, "open_questions_", {}))
    if hasattr(model, "_form"):
        X = np.random.default_rng(0).normal(size=(20, D))
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", LEARNERS)
@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink])
@given(LEVELS, st.lists(st.sampled_from(CALLS), min_size=1, max_size=10), st.data())
def test_after_any_calls_a_learner_is_saved_and_loaded(
    learner: str, levels: Any, calls: list[str], data: st.DataObject
) -> None:
    few: Any = {"max_iter": 3} if learner == "boosting" else {"n_components": 5} if learner == "newton" else {}
    played = Played(LEARNERS[learner](levels=levels, random_state=0, **few))
    try:
        Scale(levels)
    except ValueError:
        with pytest.raises(ValueError, match="levels must be text, numbers or booleans, and finite"):
            played.model.fit(np.eye(2), list(levels)[:2])
        return
    note(f"{calls}")
    for call in calls:
        with suppress(*REFUSALS):
            played.do(call, data)
        check(played.model)


@pytest.mark.parametrize("kind", [DFORD, NewtonLogit, DirectionalBoosting, Auto])
@pytest.mark.parametrize("number", [math.inf, math.nan, 1e200])
def test_a_stored_question_with_a_row_that_cannot_be_learned_is_refused(kind: Any, number: float) -> None:
    model = kind(levels=[1, 2, 3], random_state=0)
    question = model.question([0.5, 1.0], 0)
    before = model.to_bytes()
    if kind is DirectionalBoosting and not math.isinf(number):
        model.learn(question._replace(x=np.array([0.5, number])), True)  # it takes missing values, and any number
    else:
        with pytest.raises(ValueError, match="too large|contains"):
            model.learn(question._replace(x=np.array([0.5, number])), True)
        assert model.to_bytes() == before
    check(model)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_row_of_a_question_cannot_be_changed(is_sparse: bool) -> None:
    model = DFORD(levels=[1, 2, 3], random_state=0)
    x = np.array([[0.5, 1.0]])
    asked = model.ask(sparse.csr_matrix(x) if is_sparse else x[0])
    copies: list[Any] = [
        model,
        loads(model.to_bytes(), "a file"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    for one in copies:
        (question,) = one.open_questions_.values()
        row = question.x.data if is_sparse else question.x
        with pytest.raises(ValueError, match="read-only"):
            row[0] = math.nan
        one.tell(asked, True)
    assert len({one.to_bytes() for one in copies}) == 1


def test_parameters_that_were_set_later_are_kept_beside_those_in_effect() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = DFORD(random_state=0).fit(X, 1 + (X[:, 0] > 0))
    model.set_params(kernel="rbf", regularization=9.0, ordered=True)
    loaded = loads(model.to_bytes(), "a file")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict_projection(X), model.predict_projection(X))
    assert loaded.fit(X, 1 + (X[:, 0] > 0)).to_bytes() == model.fit(X, 1 + (X[:, 0] > 0)).to_bytes()
    model.set_params(exploration=7.0)
    with pytest.raises(ValueError, match="'exploration' parameter of DFORD must be"):
        model.to_bytes()
