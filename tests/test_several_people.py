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
from dford.datasets import load_raters, make_synthetic
from dford.experiments.studies import cheap_judge, real_people, several_people
from dford.experiments.studies.running_error import Dataset, Labelled
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
    asked = Asked(X, [1, 2, 3, 4, 5], 0, lambda item: 0, lambda item, level, person: bool(y[item] > level))
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
    asked = Asked(np.empty((1, 0)), list(range(n_levels)), 0, lambda item: 0, lambda item, cut, person: right > cut)
    halvings = int(np.ceil(np.log2(n_levels)))
    (told,) = several_people.ask_in_turns(asked, [halvings])
    assert several_people.vote(told, 1, n_levels).tolist() == [right]


@pytest.fixture
def raters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Labelled:
    make_known(monkeypatch)
    write(tmp_path)
    monkeypatch.setenv("DFORD_DATA", str(tmp_path))
    loaded = load_raters()
    return Labelled(loaded.labels, loaded.people, loaded.gold, 4)


def test_each_label_answers_one_question(raters: Labelled) -> None:
    left, taken = real_people.LabelsLeft(raters.labels, np.random.default_rng(0)), []
    while len(left):
        person = left.somebody()
        item = left.items(person)[0]
        assert left.rater(item) is not None
        taken.append((item, person, left.take(item, person)))
    assert sorted(taken) == sorted(map(tuple, raters.labels.tolist()))
    assert left.rater(0) is None


@pytest.mark.parametrize("way", real_people.WAYS)
def test_real_people_are_asked_until_nobody_is_left(way: str, raters: Labelled) -> None:
    records = real_people.place("raters", way, raters, 0, 0)
    assert [record["answers"] for record in records] == [n / 4 for n in range(1, 21)]
    if way != "dawid-skene":  # which needs more than ten items
        assert 0 <= records[-1]["mae"] <= 1, "two of three know the two gold items"


def test_the_busiest_people_are_judged_by_others_and_by_gold(raters: Labelled) -> None:
    records = real_people.judge_people("raters", raters, 0)
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


def test_the_command_writes_tables_figures_and_a_picture(raters: Labelled, tmp_path: Path) -> None:
    words = ["compare", "--study", "people", "--rounds", "60", "--runs", "1", "--out", str(tmp_path / "out")]
    assert main([*words, "--datasets", "synthetic,raters", "--learners", "people,votes"]) == 0
    with open(tmp_path / "out/people.csv", encoding="utf-8") as file:
        parts = {(row["part"], row["dataset"], row["way"]) for row in csv.DictReader(file)}
    assert {("placed", "synthetic", "votes"), ("raters", "raters", "people"), ("strictness", "raters", "gold")} <= parts
    assert "six people" in (tmp_path / "out/people.md").read_text()
    assert (tmp_path / "out/people.png").read_bytes().startswith(b"\x89PNG")


def test_other_studies_say_that_raters_have_no_features(raters: Labelled, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--study", "pool", "--datasets", "raters"]) == 2
    assert "raters has no features" in capsys.readouterr().err
