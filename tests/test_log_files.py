"""Logs and other files: what is written is what is read, whatever things are called, and nothing else is touched."""

import os
import re
import threading
from pathlib import Path

import numpy as np
import polars
import pytest
from pyarrow import parquet

from dford import FeedbackLog, NewtonLogit, Pool, Question
from dford.cli import main
from dford.datasets import make_synthetic
from dford.files import atomic_write


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("names", [["x1", "x0"], ["x0", "x1"], ["x1", "x2"]])
def test_features_keep_their_order_whatever_they_are_called(names: list[str], suffix: str, tmp_path: Path) -> None:
    log, file = FeedbackLog([1, 2, 3], names), tmp_path / f"log.{suffix}"
    for n in range(3):
        log.append(Question("", np.array([n, 10.0 * n]), 1, 2, 0.5, n), n > 1)
    log.write(file)
    assert [x.tolist() for x in FeedbackLog.read(file, [1, 2, 3]).X] == [[0, 0], [1, 10], [2, 20]]
    model = NewtonLogit(levels=[1, 2, 3], random_state=0).fit_log(FeedbackLog.read(file, [1, 2, 3]))
    assert list(getattr(model, "feature_names_in_", names)) == names


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_log_says_why_each_question_was_asked(suffix: str, tmp_path: Path) -> None:
    X, y = make_synthetic(60, random_state=0)
    pool = Pool(X, [1, 2, 3, 4, 5], learner=NewtonLogit(), audit=0.3, random_state=0)
    asked = []
    for _ in range(80):
        question = pool.ask()
        asked.append(question.purpose)
        pool.tell(question, bool(y[question.item] > question.level))
    assert set(asked) == {"place", "check", "audit"}
    assert pool.log_.purpose.tolist() == asked
    pool.release()
    assert pool.log_.purpose.tolist() == asked, "an audit, whatever its answer counts for now"
    file = tmp_path / f"log.{suffix}"
    pool.log_.write(file)
    back = FeedbackLog.read(file, [1, 2, 3, 4, 5])
    assert back.purpose.tolist() == asked
    assert back.id.tolist() == pool.log_.id.tolist()
    frame = back.to_frame()
    frame["purpose"] = "fun"
    with pytest.raises(ValueError, match="row 1 of the log: a purpose must be one of place, check, audit, gold; got"):
        FeedbackLog.from_frame(frame, [1, 2, 3, 4, 5])
    assert FeedbackLog.from_frame(frame.drop(columns="purpose"), [1, 2, 3, 4, 5]).purpose.tolist() == [None] * 80


@pytest.mark.parametrize("text", ["a\rb", "a\nb", 'a"b', "a,b", " a", "NA", ""])
def test_any_name_of_a_person_level_or_feature_is_read_back_from_csv(text: str, tmp_path: Path) -> None:
    levels = ["low", f"not {text}", "high"]
    log = FeedbackLog(levels, [f"size {text}"])
    for n in range(3):
        log.append(Question("", np.array([n / 3]), levels[n % 2], levels[1], 0.5, n), n > 1, item=n, person=text)
    log.write(tmp_path / "log.csv")
    back = FeedbackLog.read(tmp_path / "log.csv", levels)
    assert back.to_frame().equals(log.to_frame())


@pytest.mark.parametrize(
    ("column", "cell", "sentence"),
    [
        ("higher", "maybe", "row 2 of the log: higher must be True or False; got 'maybe'"),
        ("higher", "", "row 2 of the log: higher must be True or False; got nan"),
        ("propensity", "abc", "row 2 of the log: propensity must be a number; got 'abc'"),
        ("propensity", "0", "row 2 of the log: a propensity must be a probability greater than 0"),
        ("level", "9", "row 2 of the log: 9.0 is not a level of this scale"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_with_its_row(
    column: str, cell: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, model = FeedbackLog([1, 2, 3]), NewtonLogit(levels=[1, 2, 3], random_state=0)
    for n in range(4):
        question = model.ask(np.array([n / 3]))
        log.append(question, n > 1)
        model.tell(question, n > 1)
    log.write(tmp_path / "log.csv")
    model.save(tmp_path / "model")
    lines = [line.split(",") for line in (tmp_path / "log.csv").read_text().splitlines()]
    lines[2][lines[0].index(column)] = cell
    (tmp_path / "log.csv").write_text("\n".join(",".join(line) for line in lines))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        FeedbackLog.read(tmp_path / "log.csv", [1, 2, 3])
    assert main(["evaluate", str(tmp_path / "log.csv"), str(tmp_path / "model")]) == 2
    assert sentence in capsys.readouterr().err


def test_a_damaged_parquet_file_is_one_sentence(tmp_path: Path) -> None:
    log, file = FeedbackLog([1, 2, 3]), tmp_path / "log.parquet"
    for n in range(4):
        log.append(Question("", np.array([n / 3]), 1, 2, 0.5, n), n > 1)
    log.write(file)
    table = parquet.read_table(file)
    says = table.schema.metadata[b"pandas"].replace(b"pandas_type", b"pandas_tyqe")
    parquet.write_table(table.replace_schema_metadata({b"pandas": says}), file)
    with pytest.raises(ValueError, match="log.parquet cannot be read as Parquet"):
        FeedbackLog.read(file, [1, 2, 3])


def test_a_named_index_of_a_parquet_file_is_a_column_of_the_log(tmp_path: Path) -> None:
    log, file = FeedbackLog([1, 2, 3], ["size", "age"]), tmp_path / "log.parquet"
    for n in range(4):
        log.append(Question("", np.array([n / 3, 40.0 - n]), 1, 2, 0.5, n), n > 1)
    log.to_frame().set_index("age").to_parquet(file)
    assert FeedbackLog.read(file, [1, 2, 3]).to_frame().equals(log.to_frame())
    table = parquet.read_table(file)
    parquet.write_table(table.append_column("size", table["size"]), file)
    with pytest.raises(ValueError, match="log.parquet has the column 'size' twice; remove or rename one"):
        FeedbackLog.read(file, [1, 2, 3])


def test_many_threads_can_save_to_one_file(tmp_path: Path) -> None:
    X, y = make_synthetic(50, random_state=0)
    model, errors = NewtonLogit(random_state=0).fit(X, y), list[BaseException]()

    def save() -> None:
        try:
            for _ in range(20):
                model.save(tmp_path / "model")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to("target")
    os.mkfifo(pipe)
    with atomic_write(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    said = list[str]()
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    with atomic_write(pipe) as draft:
        draft.write_text("through")
    reader.join()
    assert (said, pipe.is_fifo()) == (["through"], True)
    with atomic_write(tmp_path / ("n" * 250)) as draft:
        draft.write_text("a long name")


def test_a_file_that_may_have_been_cut_is_read_with_a_warning(tmp_path: Path) -> None:
    """A number without its last digits is still a number."""
    log, file = FeedbackLog([1, 2, 3]), tmp_path / "log.csv"
    log.append(Question("", np.array([12.75]), 1, 2, 0.5, 0), True)
    log.write(file)
    assert FeedbackLog.read(file, [1, 2, 3]).X.tolist() == [[12.75]]
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.warns(UserWarning, match="the last line of log.csv does not end, as if the file had been cut"):
        assert FeedbackLog.read(file, [1, 2, 3]).X.tolist() == [[12.0]]


def about_items(numbers: list[int | None]) -> FeedbackLog:
    log = FeedbackLog([1, 2, 3])
    for number in numbers:
        log.append(Question("", np.array([1.0]), 1, 2, 0.5, 0), True, item=number, person="ann")
    return log


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_large_numbers_of_items_stay_apart(suffix: str, tmp_path: Path) -> None:
    """One item that is unknown must not turn all the others into floats."""
    numbers = [2**60, 2**60 + 1, None, 2**63 - 1, 0]
    file = tmp_path / f"log.{suffix}"
    about_items(numbers).write(file)
    assert FeedbackLog.read(file, [1, 2, 3]).item.tolist() == numbers
    frame = about_items(numbers).to_frame()
    assert FeedbackLog.from_frame(polars.from_pandas(frame), [1, 2, 3]).item.tolist() == numbers
    columns = frame.to_dict("list")
    assert FeedbackLog.from_frame(columns, [1, 2, 3]).item.tolist() == numbers
    with pytest.raises(ValueError, match="all columns must be equally long, but '.*' has 5 values and 'higher' 0"):
        FeedbackLog.from_frame(columns | {"higher": []}, [1, 2, 3])
    with pytest.raises(TypeError, match=r"a LazyFrame has no rows yet; pass what its .collect\(\) returns"):
        FeedbackLog.from_frame(polars.from_pandas(frame).lazy(), [1, 2, 3])
    with pytest.raises(ValueError, match=r"row 1 of the log: an item from 2\*\*53 on must be written without a "):
        FeedbackLog.from_frame(frame.assign(item=frame["item"].astype(float)), [1, 2, 3])


PLAIN = "level,prediction,propensity,higher,x0,x1\n1,2,0.5,True,0.125,7.25\n"
ABOUT = "level,prediction,propensity,higher,item,person,time,confidence,x0\n1,2,0.5,True,1,ann,2026-11-16,0.8,1\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PLAIN + "1,2,0.5,False,3.5\n", "row 2 of the log has 5 values, but the header has 6; was the file cut?"),
        (PLAIN + "1,2,0.5,False,3.5,1,2\n", "row 2 of the log has 7 values, but the header has 6"),
        (PLAIN + "1,2,0.5,False,abc,1\n", "row 2 of the log: x0 must be a number; got 'abc'"),
        (PLAIN + "1,2,0.5,False,1_000,1\n", "row 2 of the log: x0 must be a number; got '1_000'"),
        (PLAIN.replace("0.5", "1.5"), "a probability greater than 0 and at most 1; got 1.5"),
        ("", "the file is empty; a log begins with the names of its columns: level,prediction,propensity,higher,"),
        (re.sub("^", ",", PLAIN, count=1), "the first column has no name, as if it were an index; remove it, or write"),
        ("abc\n", "a log needs the columns level, prediction, propensity, higher and features"),
        (PLAIN.replace("0.5", "True"), "row 1 of the log: propensity must be a number; got True"),
        (ABOUT + "1,2,0.5,True,a7,ann,,0.8,1\n", "row 2 of the log: an item must be a whole number, 0 or more; got a7"),
        (ABOUT + "1,2,0.5,True,1.5,ann,,0.8,1\n", "row 2 of the log: an item must be a whole number"),
        (ABOUT + "1,2,0.5,True,2,ann,,high,1\n", "row 2 of the log: confidence must be a number; got 'high'"),
        (ABOUT + "1,2,0.5,True,2,ann,16.11.2026,0.8,1\n", "row 2 of the log: a time in a file must be a date such as"),
        (
            "level,prediction,propensity,higher,a,features[5]\n1,2,0.5,True,1,0:1.0\n1,2,0.5,True,1,7:1\n",
            "row 2 of the log has features whose places do not increase",
        ),
    ],
)
def test_a_bad_cell_is_named(text: str, sentence: str, tmp_path: Path) -> None:
    (file := tmp_path / "log.csv").write_text(text)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        FeedbackLog.read(file, [1, 2, 3])


@pytest.mark.parametrize("text", [b"\x89PNG\r\n\x1a\n\xff", PLAIN.encode() + b"1,2,0.5,False,\xff,1\n"])
def test_a_command_names_the_log_that_is_not_text(
    text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "log.csv").write_bytes(text)
    arguments = ["--levels", "1,2,3", "--answers", str(file), "--out", str(tmp_path / "levels.parquet")]
    assert main(["place", str(tmp_path / "items.parquet"), *arguments]) == 2
    assert capsys.readouterr().err == "dford: log.csv: the file is not UTF-8 text; save it as UTF-8\n"


@pytest.mark.parametrize("names", [["NA", "b"], ["", "b"], ["nan", "NA"]])
def test_names_that_mean_nothing_to_pandas_come_back(names: list[str], tmp_path: Path) -> None:
    log, file = FeedbackLog([1, 2, 3], names), tmp_path / "log.csv"
    log.append(Question("", np.array([1.0, 2.0]), 1, 2, 0.5, 0), True)
    log.write(file)
    assert FeedbackLog.read(file, [1, 2, 3]).feature_names == names
