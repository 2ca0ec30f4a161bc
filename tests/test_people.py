"""People: what is said about them is true as often as promised, and answers weigh by who gave them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dford
import naive_people
from dford import FeedbackLog, NewtonLogit, People, Pool, Question
from dford.datasets import make_synthetic
from dford.engine.beliefs import people as engine
from streams import some

LEVELS = [1, 2, 3, 4, 5]
SIX = {"ann": 0.02, "ben": 0.02, "cat": 0.05, "dan": 0.05, "eve": 0.3, "fay": 0.5}  # how often each is wrong


def answered(log: FeedbackLog, item: int, level: int, higher: Any, person: str | None) -> None:
    log.append(Question("", np.empty(0), level, level, 1.0, 0), bool(higher), item=item, person=person)


@settings(max_examples=30)
@given(st.data())
def test_on_a_tree_of_answers_it_is_the_sum_over_all_combinations(data: Any) -> None:
    n_levels, n_people = data.draw(st.integers(2, 3)), 2
    answers = [(0, 0), (0, 1), (1, 1), (2, 0)]
    told = [(i, p, data.draw(st.integers(0, n_levels - 2)), data.draw(st.booleans())) for i, p in answers]
    rates = np.array(data.draw(st.lists(st.floats(0.01, 0.5), min_size=2, max_size=3, unique=True)))
    above = np.arange(1 - n_levels, n_levels) > 0
    chances = np.where(above, 1 - rates[:, None], rates[:, None])
    weights = np.full((n_people, len(rates)), 1 / len(rates))
    prior = np.array([[0.5, 0.3, 0.2][:n_levels]] * 3)
    prior /= prior.sum(axis=1, keepdims=True)
    columns: Any = [np.array(column) for column in zip(*told, strict=True)]
    levels, kinds = np.empty((3, n_levels)), np.empty((n_people, len(rates)))
    others, messages = np.empty((2, len(told), n_levels))
    says = np.ascontiguousarray(np.stack([1 - chances.T, chances.T]))
    engine.agree(
        columns[0], columns[1], columns[2], columns[3], np.arange(4), prior, says, weights, 8, levels, kinds, others,
        messages, np.empty((2, len(rates))),
    )  # fmt: skip
    slow = naive_people.combinations(told, prior.tolist(), chances.tolist(), weights[0].tolist(), n_people)
    np.testing.assert_allclose(levels, slow[0], rtol=1e-9)
    np.testing.assert_allclose(kinds, slow[1], rtol=1e-9)


def test_other_threads_run_while_people_are_judged() -> None:
    """It takes seconds where there are hundreds of thousands of answers, and a server has others to attend to."""
    compiled: Any = engine.agree
    assert compiled.targetoptions["nogil"]


def crowd(seed: int) -> tuple[FeedbackLog, dict[str, tuple[float, float]]]:
    """Eight people of different strictness and error rate, and 400 items; three are asked about each, at any cut."""
    random = np.random.default_rng(seed)
    rates = random.permutation([0, 0, 0.03, 0.05, 0.1, 0.1, 0.2, 0.4])
    strict = random.permutation([0, 0, 0, 0, -0.3, 0.3, 0.5, -0.5])
    log, place, wrong = FeedbackLog(LEVELS), 5 * random.random(400), {f"p{p}": [0, 0.0] for p in range(8)}
    for item in range(400):
        for p in random.choice(8, 3, replace=False).tolist():
            cut = int(random.integers(1, 5))
            sees, right = place[item] > cut + strict[p], place[item] > cut
            wrong[f"p{p}"][0] += 1
            wrong[f"p{p}"][1] += rates[p] if sees == right else 1 - rates[p]
            answered(log, item, cut, sees != (random.random() < rates[p]), f"p{p}")
    return log, {name: (total / n, strict[int(name[1])]) for name, (n, total) in wrong.items()}


def test_a_frame_has_a_row_per_person_with_all_figures() -> None:
    log = FeedbackLog(LEVELS)
    for item in range(40):
        for person in ("ann", "ben"):
            answered(log, item, 2, item % 5 > 1, person)
    people = People(log, gold={0: 1})
    frame = people.to_frame().set_index("person")
    assert frame.index.tolist() == ["ann", "ben"]
    for name, one in people.items():
        row = frame.loc[name]
        assert (row["answers"], row["judged"]) == (40, one.judged)
        for figure in ("error_rate", "strictness", "agreement", "gold"):
            found = getattr(one, figure)
            assert row[[figure, f"{figure}_low", f"{figure}_high"]].tolist() == pytest.approx(list(found))
    assert People(log).to_frame()["gold"].isna().all()


@pytest.mark.slow
def test_intervals_hold_the_error_rates_and_strictness_of_simulated_people() -> None:
    held = np.zeros(2)
    for seed in some(30):
        log, truth = crowd(seed)
        for name, person in People(log).items():
            for i, found in enumerate((person.error_rate, person.strictness)):
                held[i] += found.low - 1e-9 <= truth[name][i] <= found.high + 1e-9
    n = 8 * len(some(30))
    assert (held >= 0.93 * n - 2 * (n * 0.95 * 0.05) ** 0.5).all(), held / n


@pytest.mark.filterwarnings("ignore")  # theirs
def test_the_slow_dawid_and_skene_matches_crowd_kit() -> None:
    """So a comparison with it is one with theirs. Crowd-kit brings too much along to install for this alone."""
    if find_spec("crowdkit") is None:
        pytest.skip("crowd-kit is not installed")
    from crowdkit.aggregation import DawidSkene

    random = np.random.default_rng(0)
    right, rates = random.random(200) < 0.5, [0.02, 0.05, 0.1, 0.2, 0.3, 0.4]
    told = [
        (item, p, bool(right[item] != (random.random() < rates[p])))
        for item in range(200)
        for p in random.choice(6, 4, replace=False).tolist()
    ]
    names = [(item, p, "ny"[answer]) for item, p, answer in told]
    theirs = DawidSkene(n_iter=100, tol=0.0)
    theirs.fit(pd.DataFrame(names, columns=["task", "worker", "label"]))
    likely, confusion = naive_people.dawid_skene(told, 200, 6)
    np.testing.assert_allclose(theirs.probas_["y"].sort_index(), likely, atol=1e-6)
    for p in range(6):
        for answer in (False, True):
            given = theirs.errors_.loc[(p, "ny"[answer])]
            np.testing.assert_allclose(given[["n", "y"]], confusion[p, :, int(answer)], atol=1e-6)


@pytest.mark.slow
def test_on_two_levels_it_is_as_good_as_dawid_and_skene() -> None:
    """What both can express: one cut, and people who are wrong equally often about either level."""
    random, rates = np.random.default_rng(0), np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
    off = np.zeros(2)
    for _ in some(9):
        log, told, right = FeedbackLog(["no", "yes"]), [], random.random(300) < 0.5
        for item in range(300):
            for p in random.choice(6, 4, replace=False).tolist():
                higher = bool(right[item] != (random.random() < rates[p]))
                told.append((item, p, higher))
                answered(log, item, "no", higher, f"p{p}")  # type: ignore[arg-type]
        _, confusion = naive_people.dawid_skene(told, 300, 6)
        slow = (confusion[:, 0, 1] + confusion[:, 1, 0]) / 2
        found = np.array([person.error_rate.value for person in People(log).values()])
        off += np.abs(found - rates).mean(), np.abs(slow - rates).mean()
        np.testing.assert_allclose(found, slow, atol=0.08)
    assert off[0] <= off[1]


def test_three_answers_say_little_and_gold_says_much() -> None:
    log = FeedbackLog(LEVELS)
    for item in range(3):
        answered(log, item, 2, True, "new")
    with pytest.warns(UserWarning, match="this log does not show how often people are wrong"):
        new = People(log)["new"]
    assert new.error_rate.high > 0.25
    for item in range(3, 43):
        answered(log, item, 2, item % 10 != 0, "new")
    gold = People(log, gold=dict.fromkeys(range(43), 5))
    assert gold.identified_by == {"agreement": 0, "gold": 43, "repeats": 0}
    assert gold["new"].error_rate.low < 4 / 43 < gold["new"].error_rate.high < 0.25
    assert gold["new"].gold is not None
    assert gold["new"].gold.value == pytest.approx(39 / 43)


def test_gold_that_is_not_in_the_log_or_not_on_the_scale_is_refused() -> None:
    log = FeedbackLog([1, 2, 3])
    for item in range(4):
        log.append(Question("", np.zeros(0), 1, 1, 1.0, 0), True, item=item)
    with pytest.raises(ValueError, match="no answers about the gold items, such as '0'"):
        People(log, gold={"0": 2, "1": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="99 is not a level of this scale"):
        People(log, gold={0: 2, 7: 99})
    assert People(log, gold={0: 2, 7: 3}).identified_by["gold"] == 1


def test_a_log_without_people_is_one_persons_and_one_without_items_is_refused() -> None:
    log = FeedbackLog(LEVELS)
    for _ in range(2):
        answered(log, 0, 2, True, None)
    assert list(People(log)) == [""]
    assert People(log).identified_by["repeats"] == 1
    answered(log, 0, 2, True, "anybody")
    assert [(person.name, person.answers) for person in People(log).values()] == [("", 2), ("anybody", 1)]
    log = FeedbackLog(LEVELS)
    log.append(Question("", np.empty(0), 2, 2, 1.0, 0), True, person="ann")
    with pytest.raises(ValueError, match="the log does not say which items its answers are about"):
        People(log)


def test_somebody_who_is_often_wrong_is_flagged_within_30_gold_answers_and_hardly_anybody_else() -> None:
    random, flagged = np.random.default_rng(0), np.zeros((100, 2))
    for run in range(100):
        log = FeedbackLog([1, 2, 3, 4])
        for person, rate in (("bad", 0.3), ("fine", 0.05)):
            for item in range(30):
                level, asked = 1 + item % 4, int(random.integers(1, 4))
                answered(log, item, asked, (level > asked) != (random.random() < rate), person)
        found = People(log, gold={item: 1 + item % 4 for item in range(30)}).flagged(0.08)
        flagged[run] = "bad" in found, "fine" in found
    bad, fine = flagged.mean(axis=0)
    assert bad > 0.8, bad
    assert fine <= 0.05, fine


def play(pool: Pool, y: Any, n: int, people: dict[str, float], named: bool = True, seed: int = 0) -> None:
    random, names = np.random.default_rng(seed), list(people)
    for _ in range(n):
        name = names[random.integers(len(names))]
        question = pool.ask(person=name if named else None)
        higher = bool((y[question.item] > question.level) != (random.random() < people[name]))
        pool.tell(question, higher, name if named else None)


def test_answers_weigh_by_who_gave_them() -> None:
    off = np.zeros(2)
    for seed in range(6):
        X, y = make_synthetic(300, random_state=seed)
        for i, named in enumerate((True, False)):
            pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=seed)
            play(pool, y, 900, SIX, named, seed)
            off[i] += np.abs(pool.levels_ - y).mean()
            if named:
                assert sum(person.answers for person in pool.people_.values()) == 900
                assert set(pool.log_.person) == set(SIX)
    assert off[0] < 0.75 * off[1], off


def uneven(seed: int) -> tuple[Any, Any]:
    """Items whose features say little about levels, and mislead a line: a learner that is sure of them is wrong."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, (250, 2))
    return X, 1 + np.clip(np.floor(2.5 + 2 * np.sin(2 * X[:, 0]) + 0.7 * random.normal(size=250)), 0, 4).astype(int)


@pytest.mark.slow
def test_a_pools_intervals_hold_error_rates_whatever_its_learner_believes() -> None:
    rates = {"ann": 0.0, "ben": 0.05, "cat": 0.1, "dan": 0.2, "eve": 0.3}
    held, judged = [], 0
    for seed in some(18):
        X, y = uneven(seed)
        pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=seed)
        play(pool, y, 750, rates, seed=seed)
        people = pool.people_
        held += [people[name].error_rate.low <= rate <= people[name].error_rate.high for name, rate in rates.items()]
        judged += sum(person.judged for person in people.values())
    assert judged / len(held) < 60, "of 150 answers each, few were asked without knowing features"
    assert np.mean(held) >= 0.93 - 2 * (0.95 * 0.05 / len(held)) ** 0.5, np.mean(held)


def test_a_log_whose_questions_were_chosen_by_features_judges_people_by_gold_alone() -> None:
    """They are asked where the answer is in doubt: taken for random ones, all people would seem to flip coins."""
    held = []
    for seed in range(3):
        X, y = uneven(seed)
        pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=seed)
        play(pool, y, 750, {"ann": 0.05, "ben": 0.05}, seed=seed)
        with pytest.warns(UserWarning, match="its questions may have been chosen by features, and no item's level is"):
            blind = People(pool.log_)
        assert blind.identified_by == {"agreement": 0, "gold": 0, "repeats": 0}
        assert blind["ann"].judged == 0
        assert blind["ann"].error_rate.low == 0
        for person in People(pool.log_, gold={item: y[item] for item in range(100)}).values():
            assert 100 < person.judged < person.answers
            assert person.error_rate.high < 0.2
            held.append(person.error_rate.low <= 0.05 <= person.error_rate.high)
    assert sum(held) >= 5, "of six; 15 of 16 in eight such pools"


def random_log(shares: list[float], n_items: int, seed: int) -> FeedbackLog:
    """Three of four people are asked about each item, each at any cut; all are 5% wrong, and none is strict."""
    random, log = np.random.default_rng(seed), FeedbackLog(LEVELS)
    for item, level in enumerate(random.choice(LEVELS, n_items, p=shares)):
        for person in random.permutation(4)[:3].tolist():
            cut = int(random.integers(1, 5))
            answered(log, item, cut, (level > cut) != (random.random() < 0.05), f"p{person}")
    return log


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[0.7, 0.15, 0.05, 0.05, 0.05], [0.05, 0.05, 0.05, 0.15, 0.7]])
def test_nobody_looks_strict_because_most_items_are_at_one_level(shares: list[float]) -> None:
    held = [
        (one.error_rate.low <= 0.05 <= one.error_rate.high, one.strictness.low <= 0 <= one.strictness.high)
        for seed in some(9)
        for one in People(random_log(shares, 300, seed)).values()
    ]
    assert (np.mean(held, axis=0) >= 0.95 - 2 * (0.95 * 0.05 / len(held)) ** 0.5).all(), held


def test_saying_the_same_about_an_item_at_every_cut_is_not_agreement() -> None:
    """One is always right, and another has a level of their own for each item, at both cuts."""
    random, log = np.random.default_rng(0), FeedbackLog([1, 2, 3])
    for item, (level, guess) in enumerate(random.integers(1, 4, (150, 2)).tolist()):
        cut = int(random.integers(1, 3))
        answered(log, item, cut, level > cut, "ann")
        for asked in (1, 2):
            answered(log, item, asked, guess > asked, "bot")
    people = People(log)
    bot = people["bot"]
    assert bot.agreement is None or bot.agreement.low < 0.8
    assert bot.error_rate.high > 0.2, "it is not sure of somebody who has only themselves to agree with"


def test_settling_what_is_contested_makes_nobody_look_worse() -> None:
    X, y = uneven(1)
    pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=1)
    play(pool, y, 750, dict.fromkeys("abcd", 0.05))
    before = pool.people_
    told = pool._placements.answers.told()
    wrong = np.unique(told.item[(y[told.item] - 1 > told.cut) != told.higher])
    for item in wrong[:30].tolist():
        pool.settle(item, y[item])
    assert {name: person.error_rate for name, person in pool.people_.items()} == {
        name: person.error_rate for name, person in before.items()
    }


@pytest.mark.parametrize(("features", "seed"), [(True, 2), (False, 0), (False, 1), (False, 3)])
def test_somebody_who_always_says_yes_is_found_out(features: bool, seed: int) -> None:
    X, y = uneven(seed)
    pool = Pool(X if features else X[:, :0], LEVELS, learner=NewtonLogit(), random_state=seed)
    random, always = np.random.default_rng(seed), []
    for n in range(1000):
        name = "abcy"[n % 4]
        question = pool.ask(person=name)
        right = bool(y[question.item] > question.level)
        always += [not right] if name == "y" else []
        pool.tell(question, name == "y" or right != (random.random() < 0.03))
    found = pool.people_["y"].error_rate
    assert found.high > 0.4
    assert features or (found.low > 0.15 and found.value > 0.4)
    assert features or found.low <= np.mean(always) <= found.high  # with features, by few answers alone
    assert pool.error_rate_ > 0.08, "a quarter of all answers tell nothing"
    sure = pool._placements.reliability.sureness()[1:5]
    worth = (sure / sure.max()) ** 2
    assert worth[3] < 0.3 * worth[:3].min()


def test_strictness_beyond_what_is_tried_is_left_open() -> None:
    log = FeedbackLog([1, 2, 3, 4, 5, 6])
    for item in range(60):
        level, asked = 1 + item % 6, 1 + item // 12
        answered(log, item, asked, level > asked, "usual")
        answered(log, item, asked, level > asked + 3, "strict")
    found = People(log, gold={item: 1 + item % 6 for item in range(60)})
    assert found["usual"].strictness.high < 1
    assert found["strict"].strictness.low > 1
    assert found["strict"].strictness.high >= 3


def test_a_pool_with_people_repeats_its_bits_and_continues_from_a_file(tmp_path: Path) -> None:
    X, y = make_synthetic(150, random_state=0)
    pools = [Pool(X, LEVELS, learner=NewtonLogit(), random_state=0) for _ in range(2)]
    for pool in pools:
        play(pool, y, 200, SIX)
    pools[0].save(tmp_path / "pool")
    pools[0] = dford.load(tmp_path / "pool")
    for pool in pools:
        play(pool, y, 200, SIX, seed=1)
    files = []
    for pool in pools:
        pool.save(tmp_path / "pool")
        files.append((tmp_path / "pool").read_bytes())
    assert files[0] == files[1]
    assert pools[0].people_ == pools[1].people_


def test_nobody_is_asked_again_what_they_answered_while_there_is_more() -> None:
    X, y = make_synthetic(100, random_state=0)
    pool = Pool(X, LEVELS, learner=NewtonLogit(), audit=0, random_state=0)
    random, seen, chosen = np.random.default_rng(0), set(), 0
    for n in range(400):
        name = "ab"[n % 2]
        question = pool.ask(person=name)
        if question.purpose == "place" and question.propensity > 0.5:
            assert (question.item, question.level, name) not in seen
            chosen += 1
        seen.add((question.item, question.level, name))
        pool.tell(question, bool((y[question.item] > question.level) != (random.random() < 0.1)), name)
    assert chosen > 200


def test_a_person_is_a_name() -> None:
    pool = Pool(np.empty((3, 0)), LEVELS)
    question = pool.ask()
    with pytest.raises(TypeError, match="a person must be a name; got 5"):
        pool.tell(question, True, person=5)  # type: ignore[arg-type]
    pool.tell(question, True, person="ann")
    assert list(pool.people_) == ["ann"]


def test_people_who_know_only_some_items_are_asked_about_those() -> None:
    X, y = make_synthetic(100, random_state=0)
    pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=0)
    play(pool, y, 100, SIX)
    asked = 0
    while (question := pool.ask(person={"ann": [3, 5, 8]})) is not None:
        assert question.item in {3, 5, 8}
        assert question.purpose == "place"
        pool.tell(question, bool(y[question.item] > question.level), "ann")
        asked += 1
    assert 3 <= asked <= 40, "and no more, once they have said all that they can"
    with pytest.raises(ValueError, match="there is no item 100"):
        pool.ask(person={"ann": [100]})
