"""A learner that is not part of the package: made as CONTRIBUTING says, in an empty folder."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from dford import Nearby, NewtonLogit, Pool
from dford.cli import main
from dford.datasets import make_synthetic
from dford.learners import Form, LiveLearner, OrdinalLearner, PythonForm
from dford.policies import Policy
from dford.river import Ordinal

ROOT = Path(__file__).parent.parent
LEARNER = "perceptron.py"


def follow(folder: Path) -> Path:
    """Do what the first three lines say."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a learner, in ten steps")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == 10
    form, learner, use = (textwrap.dedent(code) for code in re.findall(r"```python\n(.*?) *```", text, re.DOTALL))
    (folder / LEARNER).write_text(f"{form}\n\n{learner}")
    (folder / "try.py").write_text(use)
    return folder


@pytest.fixture(scope="module")
def perceptron(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(follow(tmp_path_factory.mktemp("own")))
        yield import_module("perceptron").Perceptron


def test_the_lines_of_contributing_lead_to_a_learner(tmp_path: Path) -> None:
    follow(tmp_path)
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run([sys.executable, "try.py"], cwd=tmp_path, env=here, capture_output=True, text=True)
    assert result.stderr == ""
    said = re.fullmatch(r"(.*) levels off, (.*) by the answers alone\n3001 answers\n", result.stdout)
    assert said, result.stdout
    y = np.digitize(np.random.default_rng(0).normal(size=(3_000, 3)) @ [1.0, -2.0, 0.5], [-2.0, 0.0, 2.0])
    assert float(said[1]) < np.abs(y - np.median(y)).mean() / 2  # half of a constant level's


@pytest.fixture
def command(shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The command line in the shop, which has not imported the learner: its status and what it says."""
    monkeypatch.chdir(shop)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place and not (Path(place) / LEARNER).exists()])

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.delitem(sys.modules, "perceptron", raising=False)
        return main(list(words)), *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the learner and a custom table."""
    folder = follow(tmp_path_factory.mktemp("shop"))
    (folder / "sub").mkdir()
    (folder / "sub" / "broken.py").write_text("import nothing_of_this_name\n")
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    names = np.array(["bad", "ok", "good"])[np.digitize(X @ [1.0, -2.0, 0.5], [-1.0, 1.0])]
    lines = [",".join([*(f"{x:.6f}" for x in row), name]) for row, name in zip(X, names, strict=True)]
    (folder / "things.csv").write_text("\n".join(["length,width,age,rating", *lines]) + "\n")
    return folder


TABLE = ("things.csv", "--target", "rating", "--levels", "bad,ok,good")


@pytest.mark.parametrize(
    ("learner", "jobs"), [("perceptron:Perceptron", "1"), ("./perceptron.py:Perceptron", "2")], ids=["module", "file"]
)
def test_a_custom_learner_and_table_are_compared_on_the_command_line(
    learner: str, jobs: str, shop: Path, command: Callable[..., Any]
) -> None:
    words = ("--learners", f"newton,{learner}", "--runs", "2", "--jobs", jobs, "--out", f"out-{jobs}")
    status, _, errors = command("compare", *TABLE, *words)
    assert (status, errors) == (0, "")
    table = (shop / f"out-{jobs}" / "pass.md").read_text()
    assert "| dataset | NewtonLogit | Perceptron |" in re.sub(" +", " ", table)
    errors = re.findall(r"^\| things \|(.*)\|$", table, re.MULTILINE)[0].split("|")
    constant = 0.75  # at least, with three levels of which none has half of the rows
    assert all(0 < float(one.split("±")[0]) < constant for one in errors)
    assert (shop / f"out-{jobs}" / "pass.png").stat().st_size > 0


def test_a_custom_learner_is_tuned_run_and_loaded_on_the_command_line(shop: Path, command: Callable[..., Any]) -> None:
    mine = "perceptron.py:Perceptron"
    status, said, errors = command("tune", *TABLE, "--learners", f"newton,{mine}")
    assert (status, errors) == (0, "")
    assert "Perceptron()" in said
    status, _, errors = command("run", *TABLE, "--learner", mine, "--save", "perceptron.py")
    assert (status, errors) == (2, "dford: --save: perceptron.py holds the learner Perceptron; write somewhere else\n")
    status, _, errors = command("run", *TABLE, "--learner", mine, "--save", "mine.dford", "--log", "log.csv")
    assert (status, errors) == (0, "")
    status, said, errors = command("evaluate", "log.csv", "mine.dford", "--learner", mine)
    assert status == 0, errors
    assert "mean absolute error" in said
    words = ("predict", "mine.dford", "things.csv", "--out", "levels.csv")
    assert command(*words)[0] == 2, "a file holds no class"
    # in a process that has seen none of this
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    alone = [sys.executable, "-m", "dford", *words, "--learner", mine]
    placed = subprocess.run(alone, cwd=shop, env=here, capture_output=True, text=True)
    assert (placed.returncode, placed.stderr) == (0, "")
    assert (shop / "levels.csv").read_text().startswith("length,width,age,rating,level\n")


NOT_A_NUMBER = """
import numpy as np

from dford import Nearby, NewtonLogit
from dford.learners import LiveLearner, PythonForm


class Steps(PythonForm):
    def score_rows(self, X):
        return X @ self.weights

    def update(self, x, asked, higher, propensity):
        self.weights[:] += x


class OddScore(Steps):
    def score_rows(self, X):
        return np.where(np.arange(len(X)) == len(X) - 1, np.nan, 0.0)


class OddWeight(Steps):
    def update(self, x, asked, higher, propensity):
        self.weights[:] = np.nan


class Scores(LiveLearner):
    form = OddScore

    def _make_form(self, n_features, is_sparse):
        return self.form(n_features)

    def _policy(self):
        return Nearby()


class Weights(Scores):
    form = OddWeight


class Predictions(NewtonLogit):
    def predict(self, X):
        return np.full(len(X), np.nan)
"""


@pytest.mark.parametrize(
    ("learner", "study", "about"),
    [
        ("Scores", "pass", "OddScore gave row 0 of X the score nan; it must be finite"),
        ("Weights", "pass", "an update of OddWeight left a weight or cut that is not finite"),
        ("Predictions", "split", "the error of odd.py:Predictions on things is nan: it predicts no levels"),
    ],
)
def test_a_learner_with_scores_that_are_not_numbers_is_never_ranked(
    learner: str, study: str, about: str, shop: Path, command: Callable[..., Any]
) -> None:
    (shop / "odd.py").write_text(NOT_A_NUMBER)
    words = ("--learners", f"newton,odd.py:{learner}", "--runs", "1", "--study", study, "--out", "out-odd")
    status, _, errors = command("compare", *TABLE, *words)
    assert (status, errors) == (2, f"dford: {about}\n")
    assert not list((shop / "out-odd").glob(f"{study}.*"))


@pytest.mark.parametrize(
    ("learner", "about"),
    [
        ("no_such_package.mine:Mine", "no_such_package.mine cannot be imported"),
        ("nowhere.py:Mine", "no file nowhere.py"),
        ("sub/broken.py:Mine", "No module named 'nothing_of_this_name'"),
        ("perceptron.py:Nothing", "Nothing is nothing in perceptron.py"),
        ("perceptron.py:Steps", "is not a learner"),
        ("oracle", "oracle"),
    ],
)
@pytest.mark.parametrize("command", ["compare", "tune"])
def test_what_is_not_a_learner_gets_one_sentence_on_the_command_line(
    command: str, learner: str, about: str, shop: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(shop)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main([command, *TABLE, "--learners", f"newton,{learner}"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"dford: [^\n]+\n", said)
    assert about in said


def test_a_custom_learner_passes_scikit_learns_checks(perceptron: Any) -> None:
    check_estimator(perceptron(), on_skip=None)


def test_labels_and_live_answers_teach_the_same_bits(perceptron: Any) -> None:
    X, y = make_synthetic(500, random_state=1)
    labels, live = perceptron(random_state=3).fit(X, y), perceptron(levels=range(1, 6), random_state=3)
    for x, level in zip(X, y, strict=True):
        question = live.ask(x)
        live.tell(question, bool(level > question.level))
    assert labels.thresholds_.tolist() == live.thresholds_.tolist()
    assert labels.running_mae_ == live.running_mae_
    assert labels.trace_.crossings[-1] == live.trace_.crossings[-1]
    assert labels.predict(X).tolist() == live.predict(X).tolist()


def test_it_takes_new_features_in_river(perceptron: Any) -> None:
    stream = Ordinal(perceptron(levels=["small", "big"], random_state=0))
    for length in (2.0, -1.0, 3.0, -2.0):
        stream.learn_one({"length": length}, "big" if length > 0 else "small")
    stream.learn_one({"length": 1.0, "fur": 1.0}, "big")
    assert stream.predict_one({"length": 3.0, "teeth": 1.0}) == "big"


class Failing(PythonForm):
    """Fails at the tenth answer, half done."""

    count = 0

    def score_rows(self, X: Any) -> Any:
        return X @ self.weights

    def update(self, x: Any, asked: int, higher: bool, propensity: float) -> None:
        self.count += 1
        self.cuts[asked - 1] += 1.0
        if self.count == 10:
            raise RuntimeError("too much")


class Bare(OrdinalLearner):
    pass


class WithForm(Bare):
    form: Any = Failing

    def _make_form(self, n_features: int, is_sparse: bool) -> Form:
        return self.form(n_features)  # type: ignore[no-any-return]


class WithPolicy(WithForm):
    def _policy(self) -> Policy:
        return Nearby()


class OfLabels(WithPolicy):
    def _directional(self, y: Any) -> bool:
        return False


class Live(WithPolicy, LiveLearner):
    def _directional(self, y: Any) -> bool:
        return True


class NoScore(Live):
    form = PythonForm


class NoUpdate(Live):
    class Scoring(PythonForm):
        def score_rows(self, X: Any) -> Any:
            return X @ self.weights

    form = Scoring


class NoLearn(Live):
    form = Form


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (Bare, "Bare must define _make_form(n_features, is_sparse), the form that holds its score"),
        (WithForm, "WithForm must define _policy(), the policy by which questions are chosen"),
        (WithPolicy, "WithPolicy must define _directional(y), which says whether labels are hidden behind questions"),
        (OfLabels, "Failing must define learn(...), as its learner does not hide labels behind questions"),
        (NoScore, "PythonForm must define score_rows(X), the score of every row"),
        (NoUpdate, "Scoring must define update(x, asked, higher, propensity), which learns from one answer"),
        (NoLearn, "Form must define learn(...), which plays a round for each row"),
    ],
)
def test_what_is_missing_is_named(learner: type[OrdinalLearner], sentence: str) -> None:
    with pytest.raises(NotImplementedError, match=re.escape(sentence)):
        learner(random_state=0).fit([[0.0], [1.0]], [1, 2])


def test_scores_of_another_shape_are_refused_in_one_sentence() -> None:
    class Columns(Failing):
        def score_rows(self, X: Any) -> Any:
            return X @ self.weights[:, None]

    class Wide(Live):
        form = Columns

    for act in (lambda: Wide().fit([[0.0], [1.0]], [1, 2]), lambda: Wide(levels=[1, 2]).ask([0.0])):
        with pytest.raises(ValueError, match=r"Columns gave scores of shape \(1, 1\) for 1 rows; expected one score"):
            act()


def test_probabilities_that_are_not_finite_are_refused_by_a_pool() -> None:
    class Unsure(NewtonLogit):
        def predict_proba(self, X: Any) -> Any:
            return np.full_like(super().predict_proba(X), np.nan)

    pool = Pool(np.arange(60.0)[:, None], [1, 2, 3], learner=Unsure(), random_state=0)

    def answer_all() -> None:
        for _ in range(60):
            question = pool.ask()
            pool.tell(question, bool(question.item > 20 * question.level))

    with pytest.raises(ValueError, match="Unsure predicted probabilities that are not finite"):
        answer_all()


def test_a_policy_without_probabilities_says_so() -> None:
    class Nothing(Policy):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must define probabilities"):
        Nothing().table(3)


def test_a_failure_in_an_update_leaves_the_model_as_it_was() -> None:
    X, y = make_synthetic(20, random_state=0)
    model = Live(levels=[1, 2, 3, 4, 5], random_state=0).partial_fit(X[:5], y[:5])
    before = model.to_bytes()
    with pytest.raises(RuntimeError, match="too much"):
        model.partial_fit(X, y)
    assert model.to_bytes() == before
    model._form.count = 9  # type: ignore[attr-defined]
    question = model.ask(X[0])
    before = model.to_bytes()
    with pytest.raises(RuntimeError, match="too much"):
        model.tell(question, True)
    assert model.to_bytes() == before
    assert model.tell(question, True).rounds_ == 6
