"""Programs inform and people decide, whole ratings, and columns of ratings: a project is a pool of the library."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dford import Client, FeedbackLog, NewtonLogit, Pool
from dford.cli import main
from dford.columns import Columns
from dford.service.client import ServiceError
from dford.service.core import Service
from dford.service.projects import keys, projects
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.table_project import TableProject, fill_project
from serving import LEVELS, caught_up, learned, ok, problem, question_for, replayed, serving
from test_service_keys import bearer
from test_service_people import invited, locked
from test_service_pool import levels, new_project, off, things


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def pool_of(rows: list[dict[str, float]], **more: Any) -> Pool:
    X = np.array([list(row.values()) for row in rows])
    pool = Pool(X, LEVELS, learner=NewtonLogit(), random_state=5, **more)
    pool.drop(pool.ask())  # a project counts its questions from 1
    return pool


def assert_same(mine: Any, theirs: dict[str, Any]) -> None:
    """The question of the pool and that of the project must be the same."""
    found = tuple(theirs[name] for name in ("item", "level", "prediction", "propensity"))
    assert (mine.item + 1, mine.level, mine.placement, mine.propensity) == found


def assert_same_levels(pool: Pool, found: list[dict[str, str]]) -> None:
    pool.release()  # what people see counts the audit's answers too
    assert [row["level"] for row in found] == pool.levels_.tolist()
    assert [[float(row[f"P({level})"]) for level in LEVELS] for row in found] == pool.probabilities_.tolist()


def test_a_program_informs_and_people_decide_as_in_the_library(file: Path) -> None:
    rows, right = things(30)
    judged = np.random.default_rng(1).integers(0, 4, 30).tolist()  # a program that says anything
    pool = pool_of(rows, programs=["judge"])
    with serving(file, snapshot_every=20) as client:
        locked(client)
        project = new_project(client, rows)
        keys = invited(client, project, ["judge", "anna"])
        for n in range(140):
            person, truth = ("judge", judged) if n < 50 or n % 10 == 0 else ("anna", right)
            mine = pool.ask(person=person)
            body = {"program": person == "judge"}
            theirs = question_for(client, project, json=body, headers=keys[person])
            assert_same(mine, theirs)
            higher = truth[mine.item] > LEVELS.index(mine.level)
            pool.tell(mine, higher)
            path = f"{project}/questions/{theirs['number']}/answer"
            ok(client.post(path, json={"higher": higher}, headers=keys[person]))
            learned(client, project)
        found, digest = levels(client, project), learned(client, project)["digest"]
    assert_same_levels(pool, found)
    assert off(found, right) < 0.2, "or the program would have decided"
    assert replayed(file, "things") == digest


def rated_things(n: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Items with what two models say of them: one in words, one in numbers, neither of everything."""
    rows, right = things(n)
    random = np.random.default_rng(2)
    said = np.clip(np.array(right) + random.integers(-1, 2, (2, n)), 0, 3)
    said[1, :4] = range(4)  # the first items decide how columns are read
    for i, row in enumerate(rows):
        row["words"] = None if i % 9 == 0 else LEVELS[said[0, i]]  # type: ignore[assignment]
        row["numbers"] = int(said[1, i]) + 1
    return rows, right


@pytest.mark.parametrize("parts", [[40], [20, 1, 1, 18]])
def test_columns_of_ratings_are_a_start_as_in_the_library_however_items_come(file: Path, parts: list[int]) -> None:
    rows, right = rated_things(40)
    pool = Pool(rows[: parts[0]], LEVELS, learner=NewtonLogit(), random_state=5)
    if len(parts) > 1:
        pool.add(rows[parts[0] :])
    pool.drop(pool.ask())
    with serving(file, snapshot_every=20) as client:
        body = {"name": "things", "levels": LEVELS, "learner": "NewtonLogit", "seed": 5}
        ok(client.post("/projects", json=body))
        project, first = "/projects/things", 0
        for n in parts:
            added = ok(client.post(f"{project}/items", json={"items": rows[first : first + n]}))
            first += n
        assert "numbers: ratings on this scale; levels start from them" in added["columns"]
        described = {column["name"]: column for column in ok(client.get(project))["columns"]}
        assert {name: one["ratings"] for name, one in described.items()} == {
            "size": [], "weight": [], "words": [0, 1, 2, 3], "numbers": [1, 2, 3, 4],
        }  # fmt: skip
        assert len({row["level"] for row in levels(client, project)}) > 2, "before anybody answers"
        for _ in range(60):
            mine, theirs = pool.ask(), question_for(client, project)
            assert_same(mine, theirs)
            higher = right[mine.item] > LEVELS.index(mine.level)
            pool.tell(mine, higher)
            ok(client.post(f"{project}/questions/{theirs['number']}/answer", json={"higher": higher}))
            learned(client, project)
        found, digest = levels(client, project), learned(client, project)["digest"]
    assert_same_levels(pool, found)
    assert replayed(file, "things") == digest
    with serving(file) as client:
        assert levels(client, project) == found


def test_columns_of_ratings_can_be_columns_like_any_other(file: Path) -> None:
    rows, _ = rated_things(20)
    text = "size,numbers\n" + "".join(f"{row['size']},{row['numbers']}\n" for row in rows)
    csv = {"content": text, "headers": {"Content-Type": "text/csv"}}
    with serving(file) as client:
        plain, rated = (ok(client.post("/preview.csv", params={"level": some}, **csv)) for some in ([], LEVELS))
        assert [[one["ratings"] for one in seen["columns"]] for seen in (plain, rated)] == [
            [[], []], [[], [1, 2, 3, 4]],
        ]  # fmt: skip
        spread = {}
        for name, columns in ("plain", plain["columns"]), ("rated", rated["columns"]):
            ok(client.post("/projects", json={"name": name, "levels": LEVELS, "columns": columns}))
            ok(client.post(f"/projects/{name}/items.csv", **csv))
            spread[name] = len({row["level"] for row in levels(client, f"/projects/{name}")})
        assert spread["plain"] == 1 < spread["rated"]
        ratings = {**rated["columns"][1], "ratings": [1, 2]}
        response = client.post("/projects", json={"name": "x", "levels": LEVELS, "columns": [ratings]})
        assert problem(response) == (422, "bad-columns")
        assert "one number for each level" in response.json()["sentence"]


def test_levels_that_are_numbers_are_found_among_numbers(file: Path) -> None:
    with serving(file) as client:
        ok(client.post("/projects", json={"name": "stars", "levels": ["1", "2", "3", "4", "5"]}))
        text = "judge\n" + "2\n4\n5\n\n" * 10
        csv = {"content": text, "headers": {"Content-Type": "text/csv"}}
        ok(client.post("/projects/stars/items.csv", **csv))
        assert ok(client.get("/projects/stars"))["columns"][0]["ratings"] == [1, 2, 3, 4, 5]
        assert [row["level"] for row in levels(client, "/projects/stars")[:3]] == ["2", "4", "5"]


def test_whole_ratings_count_in_order_with_answers_as_in_the_library(file: Path) -> None:
    rows, right = things(30)
    pool = pool_of(rows, programs=["judge"])
    random = np.random.default_rng(3)
    with serving(file, snapshot_every=20) as client:
        locked(client)
        project = new_project(client, rows)
        keys = invited(client, project, ["anna", "ben", "judge"])
        for n in range(70):
            person = ("anna", "ben")[n % 2]
            if n % 5 == 2:  # of some items, by somebody who was not asked
                some = [(int(item), int(np.clip(right[item] + random.integers(-1, 2), 0, 3))) for item in range(n % 7)]
                by = "judge" if n % 10 == 2 else person
                for item, place in some:
                    pool.rate(item, LEVELS[place], by)
                sent = [{"item": item + 1, "level": LEVELS[place]} for item, place in some]
                body = {"ratings": sent, "program": by == "judge"}
                if sent:
                    ok(client.post(f"{project}/ratings", json=body, headers=keys[by]))
                learned(client, project)
            mine, theirs = pool.ask(person=person), question_for(client, project, headers=keys[person])
            assert_same(mine, theirs)
            answer: dict[str, Any] = {"higher": right[mine.item] > LEVELS.index(mine.level)}
            if n % 3 == 0:
                answer = {"rating": LEVELS[right[mine.item]]}
                pool.rate(mine, answer["rating"])
            else:
                pool.tell(mine, answer["higher"])
            ok(client.post(f"{project}/questions/{theirs['number']}/answer", json=answer, headers=keys[person]))
            learned(client, project)
        found, state = levels(client, project), learned(client, project)
        assert state["questions"] == 70 < state["answers"]
    assert_same_levels(pool, found)
    assert replayed(file, "things") == state["digest"]
    with serving(file) as client:
        client.headers.update(keys["anna"])
        assert caught_up(client, project)["answers"] == state["answers"]


@pytest.fixture
def rated(file: Path) -> Iterator[tuple[Any, str, dict[str, dict[str, str]]]]:
    """A project of six items with keys for Anna and Ben; an admin's are in use."""
    with serving(file) as client:
        locked(client)
        project = new_project(client, things(6)[0])
        yield client, project, invited(client, project, ["anna", "ben"])


def give(client: Any, project: str, *ratings: tuple[Any, ...], **more: Any) -> Any:
    named = [dict(zip(("item", "level", "person"), rating, strict=False)) for rating in ratings]
    return client.post(f"{project}/ratings", json={"ratings": named}, **more)


def test_ratings_count_once_and_can_be_taken_back(rated: Any, file: Path) -> None:
    client, project, keys = rated
    first = ok(give(client, project, (1, "mild"), (2, "calm"), (1, "mild"), headers=keys["anna"]))
    assert (first["count"], first["known"], first["ratings"]) == (2, 1, [1, 2, 1])
    assert ok(give(client, project, (1, "mild", "anna"), (1, "mild", "ben")))["ratings"] == [1, 3]
    key = {**keys["anna"], "Idempotency-Key": "once"}
    assert ok(give(client, project, (3, "severe"), headers=key))["ratings"] == [4]
    path = f"{project}/ratings/4"
    assert problem(client.delete(path, headers=keys["ben"])) == (403, "not-yours")
    taken = [ok(client.delete(path, headers=keys["anna"])) for _ in range(2)]
    assert taken == [{"rating": 4, "sequence": 5}] * 2
    assert ok(give(client, project, (3, "severe"), headers=key))["ratings"] == [4], "sent again late, it stays undone"
    assert ok(give(client, project, (3, "severe"), headers=keys["anna"]))["ratings"] == [6], "given again, it is new"
    assert problem(client.delete(f"{project}/ratings/99")) == (404, "no-rating")
    found = levels(client, project)
    assert [(row["lowest"], row["highest"], row["answers"]) for row in found[:4]] == [
        ("mild", "mild", "2"), ("calm", "calm", "1"), ("severe", "severe", "1"), ("calm", "severe", "0"),
    ]  # fmt: skip
    assert learned(client, project)["answers"] == 4
    assert replayed(file, "things") == learned(client, project)["digest"]


def test_a_question_answered_with_a_level_takes_no_other_answer_and_can_be_undone(rated: Any) -> None:
    client, project, keys = rated
    question = question_for(client, project, headers=keys["anna"])
    path = f"{project}/questions/{question['number']}"
    level = LEVELS[LEVELS.index(question["level"]) + 1]
    first = client.post(f"{path}/answer", json={"rating": level}, headers=keys["anna"])
    assert (ok(first)["higher"], ok(first)["sequence"]) == (True, 1)
    assert ok(client.post(f"{path}/answer", json={"rating": level}, headers=keys["anna"])) == ok(first)
    for other in {"higher": True}, {"rating": question["level"]}:
        said = client.post(f"{path}/answer", json=other, headers=keys["anna"])
        assert problem(said) == (409, "answered-otherwise")
    many = client.post(f"{project}/answers", json={"answers": [{"question": question["number"], "rating": level}]})
    assert ok(many)["outcomes"][0]["answer"] == ok(first)
    assert ok(client.post(f"{path}/retract", headers=keys["anna"]))["sequence"] == 2


@pytest.mark.parametrize(
    ("ratings", "by", "code", "sentence"),
    [
        ([(1, "stormy")], "anna", (422, "not-a-level"), "there is no level 'stormy'; the scale is calm, mild, strong"),
        ([(1, "mild"), (7, "mild")], "anna", (404, "no-item"), "there is no item 7 in this project"),
        ([(0, "mild")], "anna", (422, "invalid"), "ratings.0.item"),
        ([(1, "mild", "ben")], "anna", (403, "not-yours"), "only an admin can give ratings for another person"),
        ([(1, "mild", "\n")], "root", (422, "invalid"), "a person's name must have"),
        ([(1, "mild", "anna ")], "root", (422, "invalid"), "must not begin or end with white space; got 'anna '"),
        ([], "anna", (422, "invalid"), "ratings"),
    ],
)
def test_what_is_no_rating_is_refused_in_one_sentence_and_none_counts(
    rated: Any, ratings: list[Any], by: str, code: Any, sentence: str
) -> None:
    client, project, keys = rated
    response = give(client, project, *ratings, headers=keys.get(by, {}))
    assert problem(response) == code
    assert sentence in response.json()["sentence"] + str(response.json()["field"])
    assert learned(client, project)["sequence"] == 0


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({}, "send either higher or rating"),
        ({"higher": True, "rating": "mild"}, "send either higher or rating"),
        ({"rating": "mild", "confidence": 0.8}, "a rating has no confidence"),
        ({"rating": "stormy"}, "there is no level 'stormy'"),
    ],
)
def test_what_is_no_answer_is_refused_in_one_sentence(rated: Any, answer: Any, sentence: str) -> None:
    client, project, _ = rated
    number = question_for(client, project)["number"]
    response = client.post(f"{project}/questions/{number}/answer", json=answer)
    assert problem(response)[0] == 422
    assert sentence in response.json()["sentence"]


def test_ratings_need_a_learner_with_probabilities(file: Path) -> None:
    with serving(file) as client:
        project = new_project(client, things(3)[0], learner="DFORD")
        assert problem(give(client, project, (1, "mild"))) == (409, "no-placements")
        number = question_for(client, project)["number"]  # but a question can be answered with a level
        ok(client.post(f"{project}/questions/{number}/answer", json={"rating": "mild"}))
        assert learned(client, project)["mae"] is not None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_log_with_ratings_moves_with_its_project(rated: Any, file: Path, tmp_path: Path, suffix: str) -> None:
    client, project, keys = rated
    give(client, project, (1, "mild"), (4, "severe"), headers=keys["anna"])
    for said in {"rating": "strong"}, {"higher": False}:
        body = {"program": "higher" in said}
        number = question_for(client, project, json=body, headers=keys["ben"])["number"]
        ok(client.post(f"{project}/questions/{number}/answer", json=said, headers=keys["ben"]))
    content = client.get(f"{project}/log{suffix}").content
    type_ = {"Content-Type": "text/csv" if suffix == ".csv" else "application/octet-stream"}
    (tmp_path / f"log{suffix}").write_bytes(content)
    log = FeedbackLog.read(tmp_path / f"log{suffix}", LEVELS)
    assert log.rating.tolist() == ["mild", "severe", "strong", None]
    assert log.person.tolist() == ["anna", "anna", "ben", "ben"]
    assert log.program.tolist() == [False, False, False, True]
    again = ok(client.post(f"{project}/log{suffix}", content=content, headers=type_))
    assert (again["count"], again["known"]) == (0, 4)
    with serving(tmp_path / "other.db") as other:
        new_project(other, things(6)[0])
        for count in (4, 0):
            added = ok(other.post(f"{project}/log{suffix}", content=content, headers=type_))
            assert (added["count"], added["about_items"]) == (count, count)
        copy = other.get(f"{project}/log{suffix}").content
        (tmp_path / f"copy{suffix}").write_bytes(copy)
        copied = FeedbackLog.read(tmp_path / f"copy{suffix}", LEVELS)
        for name in ("rating", "program", "id"):
            assert getattr(copied, name).tolist() == getattr(log, name).tolist()
        ranges = [[(row["lowest"], row["highest"]) for row in levels(one, project)] for one in (client, other)]
        assert ranges[0] == ranges[1]


def test_a_table_of_ratings_is_imported_once(rated: Any) -> None:
    client, project, _ = rated
    table = {"content": "item,level,person\n2,mild,anna\n3,calm,\n", "headers": {"Content-Type": "text/csv"}}
    for count in (2, 0):
        assert ok(client.post(f"{project}/ratings.csv", **table))["count"] == count
    assert caught_up(client, project)["people"] == {"anna": 1, "root": 1}
    for content, sentence in (
        ("item,grade\n1,mild\n", "a table of ratings has the columns item, level"),
        ("item,level\none,mild\n", "row 1: an item must be a whole number"),
    ):
        response = client.post(f"{project}/ratings.csv", content=content, headers={"Content-Type": "text/csv"})
        assert problem(response) == (422, "bad-log")
        assert sentence in response.json()["sentence"]


CSV = {"Content-Type": "text/csv"}


def test_names_mean_the_same_however_they_are_sent(rated: Any) -> None:
    """White space around a level does not count, and is not part of a person's name."""
    client, project, _ = rated
    many, table = (
        client.post(f"{project}/ratings", json={"ratings": [{"item": 1, "level": " mild\n", "person": "anna"}]}),
        client.post(f"{project}/ratings.csv", content='item,level,person\n1," mild\n",anna\n', headers=CSV),
    )
    assert [ok(one)["ratings"] for one in (many, table)] == [[1], [1]]
    number = question_for(client, project)["number"]
    ok(client.post(f"{project}/questions/{number}/answer", json={"rating": "mild "}))
    assert ok(client.put(f"{project}/settled/2", json={"level": " mild"}))["lowest"] == "mild"
    wrong = client.post(f"{project}/ratings.csv", content="item,level,person\n1,mild,anna \n", headers=CSV)
    sentence = "a person's name must not begin or end with white space; got 'anna '"
    assert (problem(wrong), wrong.json()["sentence"]) == ((422, "invalid"), sentence)
    for names in (["low", " high"], ["low\n", "high"]):
        response = client.post("/projects", json={"name": "other", "levels": names})
        assert problem(response) == (422, "invalid")
        assert "the name of a level must not begin or end with white space; got" in response.json()["sentence"]


def test_names_of_earlier_versions_keep_their_white_space(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, rows = [" low", "b\n"], [{"size": n} for n in range(4)]
    made = partial(
        projects.create, name="old", levels=names, learner="NewtonLogit", parameters={}, seed=1, choice="turns"
    )
    with serving(file) as client:
        client.service.write(None, made)
        ok(client.put("/projects/old/columns", json={"columns": [{"name": "size", "kind": "number"}]}))
        ok(client.post("/projects/old/items", json={"items": rows}))
        monkeypatch.setattr(keys, "name_problem", lambda name: None)
        client.headers.update(
            bearer(client.service.write(None, partial(keys.create, project=None, role="admin", name="ann "))[1])
        )
        monkeypatch.undo()
        client.service.keys.forget()
        ratings = [{"item": 1, "level": " low"}, {"item": 2, "level": "b\n"}]
        assert ok(client.post("/projects/old/ratings", json={"ratings": ratings}))["count"] == 2
        table = 'item,level\n1," low"\n2,"b\n"\n'
        assert ok(client.post("/projects/old/ratings.csv", content=table, headers=CSV))["known"] == 2
        question = question_for(client, "/projects/old", json={"item": 3})
        ok(client.post(f"/projects/old/questions/{question['number']}/answer", json={"rating": " low"}))
        assert ok(client.put("/projects/old/settled/4", json={"level": "b\n"}))["lowest"] == "b\n"
        log = client.get("/projects/old/log.csv").content
        told = ok(client.post("/projects/old/log.csv", content=log, headers=CSV))
        assert (told["count"], told["known"]) == (0, 3)
        assert caught_up(client, "/projects/old")["people"] == {"ann ": 3}


def test_the_commands_take_ratings_and_say_which_columns_are_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "log.db"
    (tmp_path / "ratings.csv").write_text("item,level\n2,mild\n3,calm\n")
    rows, _ = rated_things(12)
    service = Service(Settings(database=str(database)))
    try:
        kinds = {"words": "category"}
        project, _ = fill_project(service, TableProject("things", rows, LEVELS, kinds=kinds))
        said = [one.sentence for one in Columns.of(project.columns).describe()]
        assert said[2] == "words: one of 3 categories; missing values are learned from, too"
        assert said[3] == "numbers: ratings on this scale; levels start from them"
        with pytest.raises(Refusal, match="reads the column 'numbers' as ratings"):
            fill_project(service, TableProject("things", rows, kinds={"numbers": "number"}))
    finally:
        service.close()
    for count, known in (2, 0), (0, 2):
        assert main(["import", "things", str(tmp_path / "ratings.csv"), "--database", str(database)]) == 0
        assert f"2 ratings: {count} new, {known} already there" in capsys.readouterr().out


def test_ratings_contest_an_item_like_answers(rated: Any) -> None:
    client, project, _ = rated
    give(client, project, (1, "calm", "anna"), (1, "severe", "ben"), (1, "severe", "dan"))
    learned(client, project)
    contested = ok(client.get(f"{project}/contested"))["contested"][0]
    assert [(one["person"], one["question"], one["rating"]) for one in contested["answers"]] == [
        ("anna", None, "calm"), ("ben", None, "severe"), ("dan", None, "severe"),
    ]  # fmt: skip


def test_the_client_gives_ratings(rated: Any) -> None:
    http, _, keys = rated
    address, key = str(http.base_url), keys["anna"]["Authorization"].removeprefix("Bearer ")
    with Client(address, "things", key=key) as client:
        number = client.rate(3, "mild")
        assert client.rate([{"item": 3, "level": "mild"}, {"item": 4, "level": "calm"}]) == [number, number + 1]
        assert client.unrate(number) == number + 2
        question = client.ask()
        assert client.rate(question, question.level) == number + 3
        with pytest.raises(ServiceError, match="there is no level 'stormy'"):
            client.rate(3, "stormy")
        assert client.state()["answers"] == 2
