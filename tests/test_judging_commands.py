"""`dford tune` and `dford evaluate`, as a user runs them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dford
from dford import FeedbackLog, NewtonLogit
from dford.cli import main
from dford.cli._shared import read_policy
from dford.datasets import make_synthetic

NAMES = ["calm", "mild", "strong", "severe", "dire"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    X, y = make_synthetic(250, random_state=0)
    model, answers = NewtonLogit(levels=NAMES, random_state=0), FeedbackLog(NAMES)
    for x, label in zip(X, y, strict=True):
        question = model.ask(x)
        higher = int(label) > 1 + NAMES.index(question.level)
        answers.append(question, higher)
        model.tell(question, higher)
    answers.write(tmp_path / "log.csv")
    model.save(tmp_path / "model")
    return tmp_path / "log.csv"


def test_tune_shows_the_candidates_and_saves_the_best_trained(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = log.with_name("new") / "best"  # in a folder that is not there yet
    assert main(["tune", str(log), "--levels", ",".join(NAMES), "--save", str(best)]) == 0
    out = capsys.readouterr().out
    assert "250 answers" in out
    assert "Auto()" in out
    assert "best" in out
    model = dford.load(best)
    assert model.rounds_ == 250
    assert model.classes_.tolist() == NAMES


def test_evaluate_shows_what_offpolicy_says(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(log), str(log.with_name("model"))]) == 0
    out = capsys.readouterr().out
    answers, model = FeedbackLog.read(log, NAMES), dford.load(log.with_name("model"))
    estimate = dford.evaluation.offpolicy.mae(answers, model.predict(answers.X))
    line = next(line for line in out.splitlines() if line.startswith("mean absolute error"))
    np.testing.assert_allclose([float(word) for word in line.replace("to", " ").split()[3:]], estimate, atol=0.0006)
    assert "doubly robust" in out
    assert "at most one level off" in out


def test_the_policy_is_given_as_a_word(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(log), str(log.with_name("model")), "--policy", "nearby:0.1"]) == 0
    answers, model = FeedbackLog.read(log, NAMES), dford.load(log.with_name("model"))
    estimate = dford.evaluation.offpolicy.mae(answers, model.predict(answers.X), policy=dford.Nearby(0.1))
    assert f"{estimate.low:.3f} to {estimate.high:.3f}" in capsys.readouterr().out
    for text, policy in {
        "": None,
        "uniform": dford.Uniform(),
        "boundary:0.2": dford.Boundary(0.2),
        "triangular:0.4": dford.Triangular(0.4),
    }.items():
        assert read_policy(text) == policy


def test_levels_that_are_numbers_are_read_as_the_file_has_them(tmp_path: Path) -> None:
    from dford.cli._shared import read_log

    for levels in ([1, 2, 3], ["1", "2", "3"]):
        model, answers = NewtonLogit(levels=levels, random_state=0), FeedbackLog(levels)
        for x in ([1.0], [2.0]):
            answers.append(model.ask(x), True)
        answers.write(tmp_path / "log.parquet")
        assert read_log(tmp_path / "log.parquet", "1, 2, 3").scale.names == levels


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tune", "nowhere.csv", "--levels", "a,b"], "no log nowhere.csv"),
        (["tune", "LOG", "--levels", "calm,mild"], "is not a level"),
        (["tune", "LOG"], "--levels"),
        (["tune", "LOG", "--levels", ",calm,mild"], "--levels: expected names with one comma between two of them"),
        (["evaluate", "LOG", "LOG"], "is not a dford file"),
        (["evaluate", "LOG", "nowhere"], "nowhere"),
        (["evaluate", "LOG", "MODEL", "--policy", "often"], "'often' is not a policy"),
        (["evaluate", "LOG", "MODEL", "--policy", "nearby:2"], "'nearby:2' is not a policy"),
        (
            ["tune", "LOG", "--levels", ",".join(NAMES), "--policy", "uniform"],
            "give the policy that chose the questions",
        ),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"LOG": str(log), "MODEL": str(log.with_name("model"))}
    assert main([files.get(word, word) for word in arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_a_model_that_has_not_learned_is_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NewtonLogit(levels=NAMES).save(log.with_name("new"))
    assert main(["evaluate", str(log), str(log.with_name("new"))]) == 2
    assert "has not learned anything yet" in capsys.readouterr().err


def shops(seed: int, kinds: str) -> pd.DataFrame:
    """Things with numbers in unlike units, and perhaps a text, whose level is known."""
    random = np.random.default_rng(seed)
    size, price = random.normal(50, 10, 500), random.normal(0.2, 0.02, 500)
    score = (size - 50) / 10 + (price - 0.2) / 0.02 + random.normal(0, 0.3, 500)
    table = pd.DataFrame({"size": size, "price": price, "kind": random.choice(list(kinds), 500)})
    table["rating"] = np.array(NAMES)[np.digitize(score, [-2, -0.7, 0.7, 2])]
    return table


@pytest.mark.parametrize(
    ("judged", "judging", "text"),
    [
        ("auto", "auto", True),
        ("auto", "newton", False),
        ("auto", "dford", True),
        ("dford", "auto", False),
        ("dford", "newton", True),
        ("dford", "dford", False),
    ],
)
def test_a_model_is_judged_by_any_learners_questions_about_the_same_columns(
    judged: str, judging: str, text: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some learners see their rows scaled; the rows of a log are as they are in the table."""
    tables = {name: shops(seed, "abc")[:250] for name, seed in (("old", 2), ("new", 3))}
    for name, table in tables.items():
        if text:
            table.insert(
                0, "note", [f"a thing of kind {kind}, rather worn, number {n}" for n, kind in enumerate(table.kind)]
            )
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    run = ["--target", "rating", "--levels", ",".join(NAMES)]
    files = {name: str(tmp_path / name) for name in ("old.csv", "new.csv", "model.dford", "log.csv", "placed.csv")}
    assert main(["run", files["old.csv"], *run, "--learner", judged, "--save", files["model.dford"]]) == 0
    assert main(["run", files["new.csv"], *run, "--learner", judging, "--log", files["log.csv"]]) == 0
    assert main(["predict", files["model.dford"], files["new.csv"], "--out", files["placed.csv"]]) == 0
    placed = pd.read_csv(files["placed.csv"])["level"].map(NAMES.index)
    truth = float((placed - tables["new"].rating.map(NAMES.index)).abs().mean())
    capsys.readouterr()
    assert main(["evaluate", files["log.csv"], files["model.dford"]]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mean absolute error"))
    _, low, high = (float(word) for word in line.replace("to", " ").split()[3:])
    assert low <= truth <= high


def test_a_learner_that_does_not_explore_asks_questions_that_judge_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = shops(0, "abc")
    table.to_csv(tmp_path / "old.csv", index=False)
    files = [str(tmp_path / name) for name in ("old.csv", "model.dford", "log.csv")]
    run = ["run", files[0], "--target", "rating", "--levels", ",".join(NAMES), "--learner", "pril"]
    assert main([*run, "--save", files[1], "--log", files[2]]) == 0
    assert main(["evaluate", files[2], files[1]]) == 2
    assert "questions were certain to be asked" in capsys.readouterr().err


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "texts"])
@pytest.mark.parametrize("learner", ["dford", "newton", "auto"])
def test_a_log_that_the_model_learned_from_is_reported_however_its_rows_were_scaled(
    learner: str, text: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = shops(0, "abc")[:120]
    if text:
        table["note"] = [f"a thing of kind {kind}, rather worn, number {n}" for n, kind in enumerate(table.kind)]
    table.to_csv(tmp_path / "old.csv", index=False)
    files = [str(tmp_path / name) for name in ("old.csv", "model.dford", "log.csv")]
    run = ["run", files[0], "--target", "rating", "--levels", ",".join(NAMES), "--learner", learner]
    assert main([*run, "--save", files[1], "--log", files[2]]) == 0
    assert main(["evaluate", files[2], files[1]]) == 0
    # scaled as it came, the first row of numbers is zeros, which cannot be looked up
    count = "about 100%" if learner == "dford" and not text else "120"
    assert f"dford: {count} of the log's 120 answers match" in capsys.readouterr().err
    model: Any = dford.load(files[1])
    log = FeedbackLog(NAMES, model.columns_.feature_names())
    for row in shops(1, "abc")[:20].assign(note="another of them").to_dict("records"):
        question = model.ask({name: row[name] for name in model.feature_names_in_})
        model.tell(question, False)
        log.append(question, False)
    assert model.learned_from(log).share == 1, "what it learned later, too"


def test_a_log_with_other_categories_is_refused_also_beside_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, kinds in (("old", "abc"), ("new", "abd")):
        table = shops(0, kinds)
        table["note"] = [f"a thing of kind {kind}, rather worn, number {n}" for n, kind in enumerate(table.kind)]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    run = ["--target", "rating", "--levels", ",".join(NAMES), "--learner", "newton"]
    model, log = str(tmp_path / "model.dford"), str(tmp_path / "log.csv")
    assert main(["run", str(tmp_path / "old.csv"), *run, "--save", model]) == 0
    assert main(["run", str(tmp_path / "new.csv"), *run, "--log", log]) == 0
    assert main(["evaluate", log, model]) == 2
    assert "the log's features do not match this model's columns" in capsys.readouterr().err
