"""What a model learned from: known by the model itself, so that a rosy figure is not taken for a true one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dford
import naive
import streams
from dford import DFORD, PRIL, Auto, DirectionalBoosting, FeedbackLog, NewtonLogit, PRank
from dford.cli import main
from dford.datasets import make_synthetic
from dford.engine import sketch, vectors
from dford.policies import Uniform
from dford.river import Ordinal

LEVELS = [1, 2, 3, 4, 5]


def laplacian(A: Any, B: Any) -> Any:
    """A custom kernel, without scikit-learn's checks of every row."""
    return np.exp(-np.abs(A[:, None] - B[None]).mean(axis=2))


LEARNERS: list[Any] = [
    DFORD(random_state=0),
    DFORD(kernel="poly", window=9, random_state=0),
    DFORD(kernel="rbf", random_state=0),
    DFORD(kernel=laplacian, window=9, random_state=0),
    DFORD(window=9, random_state=0),
    PRIL(random_state=0),
    NewtonLogit(random_state=0),
    NewtonLogit(features="fourier", n_components=9, random_state=0),
    DirectionalBoosting(max_iter=3, random_state=0),
    Auto(random_state=0),
]


def new(learner: Any) -> Any:
    return type(learner)(**{**learner.get_params(), "levels": LEVELS})


def sketch_of(model: Any) -> list[tuple[float, float]]:
    state = model._form.state
    keys, prints = state[sketch.KEYS : sketch.PRINTS], state[sketch.PRINTS : sketch.END]
    return [pair for pair in zip(keys.tolist(), prints.tolist(), strict=True) if pair[0] < 1]


def answered(learner: Any, X: Any, y: Any) -> tuple[Any, FeedbackLog]:
    model, log = new(learner), FeedbackLog(LEVELS)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        log.append(question, bool(label > question.level))
        model.tell(question, bool(label > question.level))
    return model, log


def square(model: Any, X: Any) -> Any:
    squares = model._form.check(X)
    return vectors.squares(X) if squares is None else squares


@settings(max_examples=15)
@given(
    stream=streams.streams(max_rounds=300),
    learner=st.sampled_from(LEARNERS[:7]),
    seed=streams.seeds,
)
def test_the_sketch_is_the_128_smallest_fingerprints(stream: Any, learner: Any, seed: int) -> None:
    X, y, K = stream
    model = type(learner)(**{**learner.get_params(), "levels": range(1, K + 1), "random_state": seed})
    expected = set()
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        higher = bool(label > question.level)
        model.tell(question, higher)
        norm = float(square(model, x[None])[0])
        expected.add(naive.fingerprint(x.tolist(), norm, question.level, higher))
    assert sketch_of(model) == sorted(expected)[: sketch.SIZE]


@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_model_knows_the_log_that_it_learned_from_however_it_did(learner: Any, n: int, tmp_path: Path) -> None:
    X, y = make_synthetic(n, random_state=0)
    live, log = answered(learner, X, y)
    other = answered(learner, *make_synthetic(n, random_state=1))[1]
    live.save(tmp_path / "model")
    replayed, kept = new(learner), new(learner)
    replayed.replay(log)
    for number, (x, label) in enumerate(zip(X, y, strict=True)):
        question = kept.question(x, number)
        kept.learn(question, bool(label > question.level))
    function = learner.kernel if callable(getattr(learner, "kernel", None)) else None
    models = [live, dford.load(tmp_path / "model", function), replayed, new(learner).fit_log(log), kept]
    models.append(new(learner).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]))
    for model in models:
        found = model.learned_from(log)
        assert found.share == 1
        assert found.checked == (n if n < sketch.SIZE else sketch.SIZE)
        assert found.answers == n
        assert model.learned_from(other).found == 0
        assert sketch_of(model) == sketch_of(live)
    half = answered(learner, X[: n // 2], y[: n // 2])[0]
    assert 0.3 < half.learned_from(log).share < 0.7
    assert half.learned_from(FeedbackLog(LEVELS)) == (0, 0, 0)


def test_answers_are_known_again_whoever_asked_for_them() -> None:
    """Another policy asks about the same levels with other probabilities."""
    X, y = make_synthetic(100, random_state=0)
    learner, other = NewtonLogit(random_state=0), NewtonLogit(policy=Uniform(), random_state=0)
    (model, log), (_, theirs) = answered(learner, X, y), answered(other, X, y)
    same = int(((log.level == theirs.level) & (log.higher == theirs.higher)).sum())
    assert 0 < same < len(log)
    assert model.learned_from(theirs) == (same, len(log), len(log))


@pytest.mark.parametrize(
    "learner", [PRank(), NewtonLogit(feedback="label"), DirectionalBoosting(feedback="label", max_iter=3)], ids=repr
)
def test_labels_count_as_answers_to_every_question(learner: Any) -> None:
    X, y = make_synthetic(300, random_state=0)
    _, log = answered(LEARNERS[0], X, y)
    assert new(learner).fit(X, y).learned_from(log).share == 1
    assert new(learner).fit(*make_synthetic(300, random_state=1)).learned_from(log).found == 0


@pytest.mark.parametrize(
    "learner", [DFORD(random_state=0), NewtonLogit(covariance="diagonal", random_state=0)], ids=repr
)
def test_sparse_rows_are_recognised_in_a_log(learner: Any) -> None:
    random = np.random.default_rng(0)
    X = np.where(random.random((400, 30)) < 0.2, random.normal(size=(400, 30)), 0.0)
    y = random.integers(1, 6, size=400)
    rows = sparse.csr_matrix(X)
    model, log = answered(learner, [rows[n] for n in range(400)], y)
    assert log.X.toarray().tolist() == X.tolist()
    assert model.learned_from(log).share == 1
    assert new(learner).partial_fit(rows, y).learned_from(log).share == 1


def test_rows_of_the_same_length_are_told_apart() -> None:
    """Unit rows, and rows of zeros and ones: their squares alone are the same."""
    random = np.random.default_rng(0)
    unit = random.normal(size=(800, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    ones = np.eye(30)[random.integers(30, size=(800, 4))].transpose(0, 2, 1).reshape(800, 120)
    for X in (unit, ones):
        y = random.integers(1, 6, size=800)
        model, log = answered(LEARNERS[0], X[:400], y[:400])
        assert model.learned_from(log).share == 1
        other = answered(LEARNERS[0], X[400:], y[400:])[0].learned_from(log)
        assert other.found == 0


def test_the_share_is_right_on_average() -> None:
    """A tenth of a log, a third of it, and a log that is a small part of what was learned."""
    X, y = make_synthetic(6000, random_state=0)
    _, log = answered(LEARNERS[0], X, y)

    def part(begin: int, end: int) -> FeedbackLog:
        some = FeedbackLog(LEVELS)
        some._rows, some._answers = log._rows[begin:end], log._answers[begin:end]
        return some

    model = new(LEARNERS[0])
    model.replay(part(0, 3000))
    for begin, end in ((0, 3000), (2700, 5700), (2000, 5000), (2000, 3000), (3000, 6000)):
        found, true = model.learned_from(part(begin, end)), (3000 - begin) / (end - begin)
        error = np.sqrt(true * (1 - true) / found.checked)
        assert found.checked == pytest.approx(128 * (end - begin) / 3000, rel=0.5)
        assert abs(found.share - true) <= 4 * error
    assert np.isnan(model.learned_from(part(0, 0)).share)


def test_growing_with_new_features_forgets_nothing() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 12)), random.integers(1, 6, size=60)
    X[:30, 4:] = 0
    stream: Any = Ordinal(new(PRank()))
    for row, label in zip(X, y, strict=True):
        stream.learn_one({f"x{j:02}": value for j, value in enumerate(row) if value}, int(label))
    log = FeedbackLog(LEVELS)
    for row in X:
        log._add(np.pad(row, (0, stream._model.n_features_in_ - 12)), 1, 1, 0.5, True)
    assert stream._model.learned_from(log) == (60, 60, 60)


def test_a_log_of_another_scale_or_shape_is_refused() -> None:
    X, y = make_synthetic(30, random_state=0)
    _, log = answered(LEARNERS[0], X, y)
    with pytest.raises(ValueError, match="the model has the levels"):
        DFORD(levels=["a", "b", "c", "d", "e"]).partial_fit(X[:1], ["a"]).learned_from(log)
    with pytest.raises(ValueError, match="with 1 features, but the log has 2"):
        new(LEARNERS[0]).partial_fit(X[:, :1], y).learned_from(log)


def test_evaluate_says_first_that_the_model_learned_from_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / name for name in ("few.csv", "many.parquet", "new.csv")]
    streams_ = [make_synthetic(n, random_state=seed) for seed, n in enumerate((100, 400, 100))]
    few, many, _ = logs = [answered(NewtonLogit(random_state=0), X, y)[1] for X, y in streams_]
    for path, log in zip(paths, logs, strict=True):
        log.write(path)
    model = NewtonLogit().fit_log(few)
    model.save(tmp_path / "model")
    sentence = (
        "answers match, in features, level and answer, ones that model learned from, so the figures look better than "
        "they are"
    )
    assert main(["evaluate", str(paths[0]), str(tmp_path / "model")]) == 0
    assert capsys.readouterr().err == f"dford: 100 of the log's 100 {sentence}\n"
    model.replay(many)
    model.save(tmp_path / "model")
    assert main(["evaluate", str(paths[1]), str(tmp_path / "model")]) == 0
    assert capsys.readouterr().err == f"dford: about 100% of the log's 400 {sentence}\n"
    assert main(["evaluate", str(paths[2]), str(tmp_path / "model")]) == 0
    assert capsys.readouterr().err == ""


def test_rows_that_cannot_be_told_apart_show_nothing() -> None:
    """A row of zeros is like any other, so it is not looked up."""
    model, log = answered(NewtonLogit(random_state=0), np.zeros((20, 2)), np.ones(20))
    assert model.learned_from(log) == (0, 0, 20)


def test_a_log_of_other_rows_is_not_taken_for_one_that_was_learned(tmp_path: Path) -> None:
    """Scaled as they come, the first row of every log is zeros; and one column alone becomes 1 or -1."""
    for width in (1, 3):
        files = []
        for part in range(2):
            X, random = np.random.default_rng(part).normal(size=(60, width)), np.random.default_rng(7)
            rating = np.digitize(X.sum(axis=1) + random.normal(size=60), [-1.0, 0.0, 1.0])
            names = [f"c{j}" for j in range(width)]
            files.append(tmp_path / f"{width}-{part}.csv")
            pd.DataFrame(X, columns=names).assign(rating=rating).to_csv(files[-1], index=False)
        words = ["--target", "rating", "--levels", "0,1,2,3", "--learner", "dford"]
        assert main(["run", str(files[0]), *words, "--save", str(tmp_path / "model.dford")]) == 0
        for seed in range(4):
            log = tmp_path / "other.csv"
            assert main(["run", str(files[1]), *words, "--shuffle", "--seed", str(seed), "--log", str(log)]) == 0
            found = dford.load(tmp_path / "model.dford").learned_from(FeedbackLog.read(log, [0, 1, 2, 3]))
            assert (found.found, found.checked) == (0, 0)


def test_a_model_of_labels_that_cannot_show_what_it_learned_says_so() -> None:
    X, y = make_synthetic(20_000, random_state=0)
    model = PRank(levels=LEVELS).fit(X, y)
    random = np.random.default_rng(0)
    for _ in range(100):
        some = random.choice(20_000, 100, replace=False)
        found = model.learned_from(answered(DFORD(random_state=0), X[some], y[some])[1])
        assert found.found or not found.checked, "all were learned, so whatever is looked up must be found"


def test_rows_of_one_length_show_only_what_was_learned() -> None:
    """The model keeps answers of one kind, so a log in which all others were learned cannot be told from a new one."""
    X, y = np.random.default_rng(0).normal(size=(4_000, 3)), np.tile(LEVELS, 800)
    X /= np.linalg.norm(X, axis=1)[:, None]
    model, learned = answered(DFORD(policy=Uniform(), random_state=0), X[:2_000], y[:2_000])
    fresh = answered(DFORD(policy=Uniform(), random_state=1), X[2_000:], y[2_000:])[1]
    found = model.learned_from(learned)
    assert found.found == found.checked > 0
    assert model.learned_from(fresh) == (0, 0, 2_000)
