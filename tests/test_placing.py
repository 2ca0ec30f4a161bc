"""Items of a file, placed by a log: the same bits however it is done, and nothing taken for what it is not."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dford import FeedbackLog, NewtonLogit, Pool, PRank, Question
from dford.cli import main
from dford.datasets import make_synthetic
from dford.placing import place
from dford.pool.filling import Filling

LEVELS = ["a", "b", "c", "d", "e"]
NAMES = ["width", "height"]


def answered(X: Any, y: Any, n: int, wrong: float = 0.0) -> FeedbackLog:
    """The answers about the items of a pool."""
    pool = Pool(pd.DataFrame(X, columns=NAMES), LEVELS, learner=NewtonLogit(features="poly"), audit=0, random_state=0)
    random = np.random.default_rng(0)
    for _ in range(n):
        question = pool.ask()
        higher = y[question.item] > 1 + LEVELS.index(question.level)
        pool.tell(question, bool(higher != (random.random() < wrong)))
    return pool.log_


@pytest.fixture(scope="module")
def world() -> tuple[Any, Any, FeedbackLog]:
    X, y = make_synthetic(900, random_state=0)
    return X, y, answered(X[:150], y[:150], 250)


def write(X: Any, path: Path, height: int = 10**6, names: list[str] = NAMES) -> Path:
    pd.DataFrame(X, columns=names).assign(note="as it is").to_parquet(path, row_group_size=height)
    return path


def placed(X: Any, log: FeedbackLog, folder: Path, height: int = 10**6, **more: Any) -> Any:
    more = {"learner": NewtonLogit(features="poly"), **more}
    place(write(X, folder / "items.parquet", height), log, folder / "levels.parquet", **more)
    assert {path.name for path in folder.iterdir()} == {"items.parquet", "levels.parquet"}, (
        "nothing half-written is left"
    )
    return pd.read_parquet(folder / "levels.parquet")


def off(found: Any, y: Any) -> float:
    return float(np.abs([1 + LEVELS.index(level) for level in found["level"]] - y).mean())


def test_items_are_placed_by_their_answers_and_by_what_these_teach(world: Any, tmp_path: Path) -> None:
    X, y, log = world
    found = placed(X, log, tmp_path)
    assert list(found.columns) == ["item", "level", *(f"P({level})" for level in LEVELS), "error", "answers"]
    assert found["item"].tolist() == list(range(900))
    assert found["answers"].tolist() == np.bincount(log.item.astype(int), minlength=900).tolist()
    model = NewtonLogit(features="poly", levels=LEVELS, random_state=0)
    model.replay(log)
    frame = pd.DataFrame(X, columns=NAMES)
    alone = off({"level": model.predict(frame)[:150]}, y[:150])
    assert off(found[:150], y[:150]) < alone / 2, "those with answers, against the learner alone"
    assert abs(found["error"].mean() - off(found, y)) < 0.1


def test_row_groups_and_processes_change_no_bit(world: Any, tmp_path: Path) -> None:
    X, log = world[0][:150], world[2]
    found, files = [], []
    for name, height, jobs in (("one", 10**6, 1), ("some", 100, 1), ("many", 7, 1), ("two", 100, 2)):
        (folder := tmp_path / name).mkdir()
        found.append(placed(X, log, folder, height, jobs=jobs))
        files.append((folder / "levels.parquet").read_bytes())
    assert files[3] == files[1]
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0], other, check_exact=True)


def test_what_is_known_of_an_item_matches_the_slow_way(tmp_path: Path) -> None:
    """What is known of one with the same features and no answers, times the likelihood of the answers."""
    log = FeedbackLog(LEVELS, NAMES)
    for level, higher in (("b", True), ("d", False), ("c", True)):
        log.append(Question("", np.zeros(2), level, "c", 0.5, 0), higher, item=2)
    found = placed(np.array([[0.0, 0.0]] * 3), log, tmp_path, error_rate=0.2, learner=Uniform())
    likely = np.array([0.2 * 0.8 * 0.2, 0.2 * 0.8 * 0.2, 0.8 * 0.8 * 0.2, 0.8**3, 0.8 * 0.2 * 0.8])
    chances = found[[f"P({level})" for level in LEVELS]].to_numpy()
    expected = chances[0] * likely / (chances[0] * likely).sum()
    np.testing.assert_allclose(chances[2], expected, rtol=1e-9)
    assert found["level"].tolist() == ["c", "c", "d"]
    off = np.abs(np.arange(5) - 3)
    assert found["error"][2] == pytest.approx((expected * off).sum(), rel=1e-9)


class Uniform(NewtonLogit):
    """Says that all levels are equally likely."""

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(LEVELS)), 1 / len(LEVELS))


def test_what_is_missing_is_filled_in_and_marked(tmp_path: Path) -> None:
    X, y = make_synthetic(300, random_state=1)
    X[::3, 0] = np.nan
    log = answered(X[:100], y[:100], 150)
    found = placed(X, log, tmp_path)
    assert off(found[:100], y[:100]) < 0.3
    filling = Filling.of(X[:100])
    assert filling.fill(X).shape == (300, 3)
    assert filling.fill(X)[3].tolist() == pytest.approx([np.nanmean(X[:100, 0]), X[3, 1], 1.0], rel=1e-12)


def test_nothing_is_guessed_from_a_missing_feature_that_the_log_always_has(tmp_path: Path) -> None:
    X, y = make_synthetic(600, random_state=2)
    log = answered(X[:150], y[:150], 250)
    X[300:, 0] = np.nan
    found = placed(X, log, tmp_path)
    chances = found[[f"P({level})" for level in LEVELS]].to_numpy()
    assert (chances[300:] == chances[300]).all(), "the shares of the levels"
    assert abs(found["error"][300:].mean() - off(found[300:], y[300:])) < 0.2


def test_items_without_features_are_placed_by_their_answers_and_the_shares(tmp_path: Path) -> None:
    log = FeedbackLog(LEVELS)
    for item in range(4):
        log.append(Question("", np.empty(0), "d", "c", 0.5, 0), True, item=item)
    pd.DataFrame({"note": list("abcdefgh")}).to_parquet(tmp_path / "items.parquet")
    place(tmp_path / "items.parquet", log, tmp_path / "levels.parquet", learner=NewtonLogit(), error_rate=0.0)
    found = pd.read_parquet(tmp_path / "levels.parquet")
    assert found["level"].tolist()[:4] == ["e"] * 4
    assert found["P(e)"][7] == pytest.approx((2 + 4) / (10 + 4)), "four of the level that is known, and two of each"


@pytest.mark.parametrize("given", [0.1, None])
def test_an_answer_counts_as_much_as_its_confidence_says(given: float | None, tmp_path: Path) -> None:
    sure, log = (None, 1.0, 0.75, 0.5), FeedbackLog(LEVELS)
    for item, confidence in enumerate(sure):
        log.append(Question("", np.empty(0), "b", "c", 0.5, 0), True, item=item, confidence=confidence)
    pd.DataFrame({"note": list("abcd")}).to_parquet(tmp_path / "items.parquet")
    place(tmp_path / "items.parquet", log, tmp_path / "levels.parquet", learner=NewtonLogit(), error_rate=given)
    found = pd.read_parquet(tmp_path / "levels.parquet")
    above = found[["P(c)", "P(d)", "P(e)"]].sum(axis=1)
    assert above[1] > above[2] > above[3], "the surer, the higher"


def test_answers_about_no_item_teach_all_and_count_for_none(world: Any, tmp_path: Path) -> None:
    X, y, log = world
    bare = FeedbackLog(LEVELS, NAMES)
    for x, level, prediction, propensity, higher in log:
        bare.append(Question("", x, level, prediction, propensity, 0), higher)
    found = placed(X, bare, tmp_path)
    assert found["answers"].sum() == 0
    assert off(found, y) < 0.6, "the best constant is 1.1 off"


def test_how_often_answers_are_wrong_is_learned_from_repeated_questions(tmp_path: Path) -> None:
    X, y = make_synthetic(200, random_state=0)
    random, log = np.random.default_rng(0), FeedbackLog(LEVELS, NAMES)
    for n in range(1200):
        item, level = n % 200, LEVELS[n // 400 + 1]
        higher = (y[item] > n // 400 + 2) != (random.random() < 0.2)
        log.append(Question("", X[item], level, "c", 0.5, 0), bool(higher), item=item)
    found = place(write(X, tmp_path / "items.parquet"), log, tmp_path / "out.parquet", learner=NewtonLogit())
    assert found.error_rate == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"first": 1}, "about item 0, but the file has the items 1 to 900"),
        ({"error_rate": 0.5}, "error_rate must be a share below 0.5"),
        ({"learner": PRank()}, "a learner with ask, tell and predict_proba"),
        ({"out": "levels.csv"}, "levels are written to a .parquet file; got 'levels.csv'"),
        ({"out": "no/levels.parquet"}, "there is no folder"),
        ({"names": ["width", "weight"]}, "the log has a feature 'height', but items.parquet has 0 such columns"),
        ({"names": ["note", "height"]}, "the log has a feature 'width'"),
        ({"X": "shifted"}, "item 0 has different features in the file and in the log"),
        ({"X": "short"}, "the file has the items 0 to 4"),
        ({"log": "empty"}, "the log has no answers"),
        ({"out": "items.parquet"}, "items.parquet holds the items"),
        ({"X": "none"}, "items.parquet has no items"),
        ({"X": "infinite"}, "the column 'height' of item 899 is infinite"),
        ({"X": "large"}, "item 899 is too large to learn from; rescale the features"),
        ({"log": "guessed"}, "the log has no answers, except guesses"),
        ({"log": "unnamed"}, "the log does not name its features"),
        ({"random_state": None}, "NoneType"),
        ({"random_state": -1}, "random_state must be 0 or more"),
        ({"log": "mixed"}, "answers about the same item with different features"),
        ({"log": "sparse"}, "the log has sparse rows, as logs of texts do"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    world: Any, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    X, _, log = world
    change = dict(change)
    infinite, large = X.copy(), X.copy()
    infinite[-1, 1], large[-1, 1] = np.inf, 1e60
    rows = {"shifted": X[1:], "short": X[:5], "none": X[:0], "infinite": infinite, "large": large}.get(
        change.pop("X", ""), X
    )
    kind = change.pop("log", None)
    if kind == "sparse":
        log = FeedbackLog(LEVELS)
        log.append(Question("", sparse.csr_matrix(X[:1]), "b", "c", 0.5, 0), True, item=0)
    elif kind:
        log = FeedbackLog(LEVELS, None if kind == "unnamed" else NAMES)
        for n in range({"mixed": 2, "empty": 0}.get(kind, 1)):
            confidence = 0.5 if kind == "guessed" else None
            log.append(Question("", X[n], "b", "c", 0.5, 0), True, item=0, confidence=confidence)
    file = tmp_path / "items.parquet"
    pd.DataFrame(rows, columns=change.pop("names", NAMES)).to_parquet(file)
    out = tmp_path / change.pop("out", "levels.parquet")
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence):
        place(file, log, out, **{"learner": NewtonLogit(), **change})
    assert [path.name for path in tmp_path.iterdir()] == ["items.parquet"]


def test_a_column_of_text_or_a_file_that_is_not_parquet_is_refused(world: Any, tmp_path: Path) -> None:
    X, _, log = world
    file = tmp_path / "items.parquet"
    pd.DataFrame(X, columns=NAMES).assign(width="wide").to_parquet(file)
    with pytest.raises(ValueError, match="the column 'width' of items.parquet must have numbers"):
        place(file, log, tmp_path / "levels.parquet")
    file.write_text("width,height")
    with pytest.raises(ValueError, match="cannot be read as a Parquet file"):
        place(file, log, tmp_path / "levels.parquet")


def test_the_command_places_what_a_service_exports(
    world: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, _, log = world
    log.write(tmp_path / "log.csv")
    write(X, tmp_path / "items.parquet", 300)
    arguments = ["place", str(tmp_path / "items.parquet"), "--levels", ",".join(LEVELS), "--answers"]
    out = ["--out", str(tmp_path / "levels.parquet"), "--jobs", "1"]
    assert main([*arguments, str(tmp_path / "log.csv"), *out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("900 items placed by 250 answers about ")
    assert len(pd.read_parquet(tmp_path / "levels.parquet")) == 900
    (tmp_path / "levels.parquet").unlink()
    pd.read_csv(tmp_path / "log.csv").iloc[:100].to_csv(tmp_path / "early.csv", index=False)
    overlapping = [str(tmp_path / "early.csv"), "--answers", str(tmp_path / "log.csv")]
    assert main([*arguments, *overlapping, *out]) == 0
    assert said == " ".join(capsys.readouterr().out.split()), "an answer in both counts once"
    (tmp_path / "levels.parquet").unlink()
    bare = pd.read_csv(tmp_path / "log.csv").drop(columns=["item", "person", "time", "purpose"])
    bare.to_csv(tmp_path / "bare.csv", index=False)
    for log_file, more, sentence in (
        ("bare.csv", [], "does not say which items its answers are about"),
        ("log.csv", ["--first", "1"], "the log has an answer about item 0"),
        ("log.csv", ["--backend", "abacus"], "is not one of processes, dask, ray"),
        ("log.csv", ["--jobs", "0"], "0 processes would do nothing"),
        ("log.csv", ["--out", str(tmp_path / "log.csv")], "log.csv holds the answers"),
        ("none.csv", [], "there is no log"),
    ):
        assert main([*arguments, str(tmp_path / log_file), *out, *more]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "levels.parquet").exists()
