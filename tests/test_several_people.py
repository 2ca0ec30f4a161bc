"""The study of people who differ: simulated ones, real ones, and a cheap judge."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from dford.cli import main
from dford.datasets import make_synthetic
from dford.experiments.studies import cheap_judge, real_people, several_people
from dford.experiments.studies.running_error import Data, Dataset, gather
from dford.experiments.studies.several_people import Asked
from dford.pool.agreement import AnswerColumns
from naive_people import dawid_skene
from small_data import make_known, write

SIMULATED = Dataset(*make_synthetic(400, random_state=0))


def place(way: str, items: int = 120) -> list[dict[str, Any]]:
    with threadpool_limits(1):  # as studies do
        return several_people.place("synthetic", way, SIMULATED, items, 0, 0)


def test_every_way_sees_equally_many_answers_and_the_better_informed_place_better() -> None:
    ends = {}
    for way in several_people.WAYS:
        placed = [record for record in place(way) if record["part"] == "placed"]
        assert [record["answers"] for record in placed] == [n / 4 for n in range(1, 13)]
        ends[way] = placed[-1]["mae"]
    assert ends["people"] < ends["alike"] < ends["votes"]
    assert ends["known"] < ends["alike"]


def test_people_are_judged_and_their_table_counts_the_intervals_that_hold() -> None:
    records = place("people")
    people = {record["person"]: record for record in records if record["part"] == "person"}
    assert set(people) == set(several_people.WRONG)
    assert sum(record["answers"] for record in people.values()) == 360
    (_, table) = several_people.tables(records)
    held = sum(r["low"] <= r["true"] + 1e-9 <= r["high"] for r in people.values() if r["true"] == 0.05)
    assert table.rows[0][1].endswith(f"{held} of 4")


def test_a_pool_that_is_told_error_rates_keeps_to_them() -> None:
    X, y = SIMULATED.X[:60], SIMULATED.y[:60]
    asked = Asked(X, [1, 2, 3, 4, 5], 0, lambda item, level: 0, lambda item, level, person: bool(y[item] > level))
    pool = several_people.new_pool(asked, several_people.WRONG)
    for person in [*several_people.WRONG] * 20:  # nobody is ever wrong, and yet
        question = pool.ask(person=person)
        pool.tell(question, bool(y[question.item] > question.level), person)
    assert pool.error_rate_ == pytest.approx(np.mean(list(several_people.WRONG.values())))


def answers(wrong: list[float], n_items: int, n_levels: int, each: int) -> tuple[AnswerColumns, Any]:
    """By people who are wrong so often, each about every item at random levels."""
    random = np.random.default_rng(0)
    right = random.integers(0, n_levels, n_items)
    person, item = (grid.ravel() for grid in np.meshgrid(range(len(wrong)), np.repeat(range(n_items), each)))
    cut = random.integers(0, n_levels - 1, len(item))
    higher = (right[item] > cut) != (random.random(len(item)) < np.array(wrong)[person])
    return AnswerColumns(item, person, cut, higher), right


def test_dawid_and_skene_with_two_levels_match_the_slow_one() -> None:
    told, _ = answers([0.1, 0.2, 0.3, 0.4], 60, 2, 1)
    slow, _ = dawid_skene(list(zip(told.item, told.person, told.higher, strict=True)), 60, 4)
    fast = several_people.dawid_skene(told, 60, 2)
    sure = np.abs(slow - 0.5) > 0.4
    assert sure.sum() > 40
    np.testing.assert_array_equal(fast[sure], slow[sure] > 0.5)


def test_dawid_and_skene_tell_a_coin_from_a_person_and_votes_do_not() -> None:
    told, right = answers([0.05, 0.05, 0.5, 0.5, 0.5], 200, 5, 3)
    errors = {name: np.abs(read(told, 200, 5) - right).mean() for name, read in several_people.READINGS.items()}
    assert errors["dawid-skene"] < 0.7 * errors["votes"]


@given_any(st.integers(2, 8), st.integers(0, 7))
def test_asked_in_turns_the_truth_is_found_by_halving(n_levels: int, level: int) -> None:
    right = min(level, n_levels - 1)
    asked = Asked(
        np.empty((1, 0)), list(range(n_levels)), 0, lambda item, level: 0, lambda item, cut, person: right > cut
    )
    halvings = int(np.ceil(np.log2(n_levels)))
    (told,) = several_people.ask_in_turns(asked, [halvings])
    assert several_people.vote(told, 1, n_levels).tolist() == [right]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))
    return gather(["raters", "offensive", "tweets"])


def test_everyone_who_rated_an_item_answers_each_question_once_and_never_contradicts_their_rating(data: Data) -> None:
    drawn = real_people.draw(data["offensive"], 4, np.random.RandomState(0))
    opinions = real_people.Opinions(drawn.labels, 4, np.random.default_rng(0))
    ratings = {(item, person): level for item, person, level in drawn.labels.tolist()}
    for level in (1, 2):
        asked = []
        while (person := opinions.somebody(0, level)) is not None:
            assert opinions.told(0, level, person) == (ratings[0, person] > level)
            asked.append(person)
        assert sorted(asked) == [person for item, person in sorted(ratings) if item == 0]
    assert opinions.somebody(1, 1) is not None


def test_what_is_right_is_the_lower_median_of_all_ratings_or_what_is_known(data: Data) -> None:
    draws = {name: real_people.draw(given, 10_000, np.random.RandomState(0)) for name, given in data.items()}
    assert draws["offensive"].right.tolist() == data["offensive"].y.tolist()
    assert dict(zip(draws["raters"].judged.tolist(), draws["raters"].right.tolist(), strict=True)) == {7: 3, 6: 4}
    tweets = draws["tweets"]
    assert tweets.n_levels == 9
    assert [sorted(tweets.labels[tweets.labels[:, 0] == 0, 2].tolist()), tweets.right[0]] == [[1, 2, 2, 2, 3, 8], 2]
    assert len({(item, person) for item, person, _ in tweets.labels.tolist()}) == len(tweets.labels)
    assert len(np.unique(tweets.labels[:, 1])) == real_people.NAMES


@pytest.mark.parametrize("way", real_people.WAYS)
def test_real_people_are_asked_until_nobody_is_left(way: str, data: Data) -> None:
    with threadpool_limits(1):
        records = real_people.place("raters", way, data["raters"], 100, 0, 0)
    shares = [1, 1, 2, 2, 3, 3] if way == "rated" else [n / 4 for n in range(1, 17)]
    assert [record["answers"] for record in records] == shares
    if way != "dawid-skene":  # which needs more than ten items
        assert 0 <= records[-1]["mae"] <= 1, "two of three know the two gold items"


def test_texts_are_placed_with_and_without_their_features_and_the_table_compares_names_with_none(data: Data) -> None:
    tasks = real_people.tasks({"offensive": data["offensive"]}, ["named", "unnamed", "rated"], 6, 1)
    with threadpool_limits(1):
        records = [record for do, given in tasks for record in do(*given)]
    answered, rated = real_people.tables(records)
    assert [row[0] for row in answered.rows] == ["offensive", "offensive, no texts"] == [row[0] for row in rated.rows]
    assert answered.header[1:4] == ["named", "unnamed", "named worse by at most"]
    for row in answered.rows:
        named, unnamed = ([float(figure) for figure in cell.split(" / ")] for cell in row[1:3])
        assert float(row[3]) == pytest.approx(max(a - b for a, b in zip(named, unnamed, strict=True)), abs=0.0011)
    four_of_five_agree = rated.rows[0][rated.header.index("their median")].split(" / ")[-1]
    assert float(four_of_five_agree) == 0


def test_the_busiest_people_are_judged_by_others_and_by_gold(data: Data) -> None:
    assert data["raters"].labelled is not None
    records = real_people.judge_people("raters", data["raters"].labelled, 0)
    counts = {(r["person"], r["way"]): r["count"] for r in records}
    assert counts == {(p, way): n for way, n in (("people", 8), ("gold", 2)) for p in "57"} | {
        ("3", "people"): 9,
        ("3", "gold"): 2,
    }
    (table,) = real_people.tables(records)
    assert table.rows[0][:3] == ["3", "9", "2"]
    assert "meet for" in table.note


def test_a_judge_costs_a_hundredth_of_a_person_and_is_no_match_for_one() -> None:
    with threadpool_limits(1):
        ends = {mix: cheap_judge.place("synthetic", mix, SIMULATED, 60, 0, 0)[-1] for mix in ("people", "judge")}
    assert ends["people"]["cost"] == pytest.approx(ends["people"]["answers"])
    assert ends["judge"]["cost"] == pytest.approx(0.01 * ends["judge"]["answers"])
    assert ends["judge"]["answers"] <= 4, "of five levels, a program can be asked about four"
    assert ends["people"]["mae"] <= cheap_judge.TARGET < ends["judge"]["mae"]
    (table,) = cheap_judge.tables([*ends.values(), ends["people"] | {"way": "both", "cost": 0.1}])
    assert table.rows[0][-1] == f"{ends['people']['cost'] / 0.1:.1f}"


def test_the_command_writes_tables_figures_and_a_picture(data: Data, tmp_path: Path) -> None:
    words = ["compare", "--study", "people", "--rounds", "60", "--runs", "1", "--out", str(tmp_path / "out")]
    assert main([*words, "--datasets", "synthetic,raters", "--learners", "people,votes,named"]) == 0
    with open(tmp_path / "out/people.csv", encoding="utf-8") as file:
        parts = {(row["part"], row["dataset"], row["way"]) for row in csv.DictReader(file)}
    assert {("placed", "synthetic", "votes"), ("raters", "raters", "named"), ("strictness", "raters", "gold")} <= parts
    assert "six people" in (tmp_path / "out/people.md").read_text()
    assert (tmp_path / "out/people.png").read_bytes().startswith(b"\x89PNG")


def test_other_studies_say_that_raters_have_no_features(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--study", "pool", "--datasets", "raters"]) == 2
    assert "raters has no features" in capsys.readouterr().err
