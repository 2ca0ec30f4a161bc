"""How people are asked: gold questions that nobody can spot, several answers per item, auditors, own figures."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from dford import Client
from dford.pool.answers import AUDIT, CHECK, GOLD, PLACE
from dford.service.store import schema
from dford.service.table_project import TableProject, fill_project
from dford.service.views import levels as overviews
from serving import LEVELS, learned, ok, problem, question_for, replayed, serving
from test_service_people import invited, locked, tell
from test_service_pool import COLUMNS, levels, new_project, things


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def with_gold(rows: list[dict[str, float]], right: list[int], n: int) -> list[dict[str, Any]]:
    """The first n of the rows have their levels in a column `truth`."""
    return [{**row, "truth": LEVELS[y] if i < n else None} for i, (row, y) in enumerate(zip(rows, right, strict=True))]


def asked_by(client: Any, purpose: int) -> list[Any]:
    query = sa.select(schema.questions).where(schema.questions.c.purpose == purpose)
    with client.service.database.reading() as connection:
        return list(connection.execute(query))


def says(right: list[int], wrong: float, random: np.random.Generator) -> Any:
    return lambda one: bool((right[one["item"] - 1] > LEVELS.index(one["level"])) != (random.random() < wrong))


def test_gold_questions_judge_people_and_nothing_else(file: Path) -> None:
    rows, right = things(60)
    random = np.random.default_rng(0)
    with serving(file, snapshot_every=30) as client:
        locked(client)
        project = new_project(client, with_gold(rows, right, 20), gold=0.4, gold_column="truth")
        assert learned(client, project)["sequence"] == 20
        assert [row["settled_by"] for row in levels(client, project)] == ["root"] * 20 + [""] * 40
        keys = invited(client, project, ["ann", "dan"])
        for _ in range(60):
            tell(client, project, keys["ann"], says(right, 0.0, random))
            tell(client, project, keys["dan"], says(right, 0.5, random))
            state = learned(client, project)  # once that is learned, nobody is asked about a gold item twice
        gold = asked_by(client, GOLD)
        assert 25 < len(gold) <= 40, "a share of 0.4 of 120, and nobody twice about one of twenty"
        assert {row.item for row in gold} <= set(range(1, 21))
        assert len({(row.person, row.item) for row in gold}) == len(gold)
        others = {row.item for purpose in (0, 1, 2) for row in asked_by(client, purpose)}
        assert others <= set(range(21, 61)), "settled items are not asked about to place them"
        people = {one["name"]: one for one in ok(client.get(f"{project}/people"))["people"]}
        assert people["ann"]["gold"]["value"] == 1.0
        assert people["dan"]["gold"]["high"] < 1.0
        assert people["ann"]["judged"] >= sum(row.person == "ann" for row in gold)
        log = list(csv.DictReader(io.StringIO(client.get(f"{project}/log.csv").text)))
        assert len(log) == state["answers"] - len(gold) == 120 - len(gold)
        assert {int(row["item"]) for row in log} <= set(range(21, 61))
        known = client.service.fold(client.service.project("things")).look(lambda model, _: model)
        assert known.learner.rounds_ == len(log), "the learner learns nothing from them"
        settled = [row["level"] for row in levels(client, project)[:20]]
        assert settled == [LEVELS[level] for level in right[:20]], "and the items stand where they were settled"
    assert replayed(file, "things") == state["digest"]
    with serving(file) as client:  # from a snapshot
        assert client.service.final(client.service.project("things")).digest()[1] == state["digest"]


def test_nobody_can_tell_a_gold_question_from_others(file: Path) -> None:
    rows, right = things(60)
    with serving(file) as client:
        locked(client)
        project = new_project(client, with_gold(rows, right, 30), gold=0.5, gold_column="truth")
        (ann,) = invited(client, project, ["ann"]).values()
        replies = {}
        random = np.random.default_rng(0)
        for _ in range(90):
            question = question_for(client, project, headers=ann)
            body = {"higher": says(right, 0.0, random)(question)}
            path = f"{project}/questions/{question['number']}"
            replies[question["number"]] = question, ok(client.post(f"{path}/answer", json=body, headers=ann))
        gold = {row.number for row in asked_by(client, GOLD)}
        assert 20 < len(gold) <= 30
        kinds: list[set[Any]] = [set(), set()]
        for number, (question, answer) in replies.items():
            assert "truth" not in question["shown"]
            place = LEVELS.index(question["prediction"]) - LEVELS.index(question["level"])
            kinds[number in gold].add((frozenset(question), frozenset(answer), question["propensity"], place))
        assert kinds[1] <= kinds[0], "all that is seen of a gold question is seen of others too"
        items = list(range(1, 61))
        own = ok(client.post(f"{project}/predictions", json={"items": items}, headers=ann))["predictions"]
        assert max(max(one["probabilities"].values()) for one in own[:30]) < 1.0
        told = ok(client.post(f"{project}/predictions", json={"items": items}))["predictions"]
        assert [one["level"] for one in told[:30]] == [LEVELS[y] for y in right[:30]]
        assert ok(client.get(f"{project}/items", headers=ann))[0]["shown"] == rows[0]
        for path in ("settings", "people", "contested", "levels.csv", "log.csv"):
            assert problem(client.get(f"{project}/{path}", headers=ann)) == (403, "not-allowed")


@pytest.mark.parametrize(
    ("more", "code", "sentence"),
    [
        ({"gold": 0.6}, "invalid", "gold must be at most 0.5; got 0.6"),
        ({"gold": 0.1, "choice": "turns"}, "bad-rules", "gold needs a project with the choice 'pool'"),
        ({"answers_per_item": 0}, "invalid", "answers_per_item must be at least 1; got 0"),
        ({"answers_per_item": True}, "invalid", "answers_per_item: it must be a whole number; got true"),
        (
            {"answers_per_item": 2, "choice": "turns"},
            "bad-rules",
            "answers_per_item needs a project with the choice 'pool'",
        ),
        ({"auditors": ["ann"], "learner": "DFORD"}, "bad-rules", "auditors needs a project with the choice 'pool'"),
        ({"gold_column": "a\0b"}, "invalid", "gold_column: it cannot contain a null character; got 'a\\x00b'"),
        ({"gold_column": "size"}, "bad-columns", "'size' is the column of known levels, which is not learned from"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused_in_one_sentence(
    file: Path, more: dict[str, Any], code: str, sentence: str
) -> None:
    with serving(file) as client:
        body = {"name": "things", "levels": LEVELS, "columns": COLUMNS, "learner": "NewtonLogit", **more}
        response = client.post("/projects", json=body)
        assert problem(response) == (422, code)
        assert sentence in response.json()["sentence"]
        assert ok(client.get("/projects")) == []


def test_an_invalid_known_level_is_refused_and_nothing_is_added(file: Path) -> None:
    rows, right = things(5)
    with serving(file) as client:
        project = new_project(client, with_gold(rows, right, 2), gold_column="truth")
        bad = [{**rows[0], "truth": "stormy"}]
        response = client.post(f"{project}/items", json={"items": bad})
        assert problem(response) == (422, "not-a-level")
        assert (
            "'stormy' in row 1 of the column 'truth' of known levels is not one of calm, mild"
            in response.json()["sentence"]
        )
        text = "size,weight,truth\n1,2,\n1,2, calm \n"
        ok(client.post(f"{project}/items.csv", content=text, headers={"Content-Type": "text/csv"}))
        assert [row["settled_by"] != "" for row in levels(client, project)] == [True] * 2 + [False] * 4 + [True]
        seen = ok(client.post(f"{project}/preview.csv", content=text, headers={"Content-Type": "text/csv"}))
        assert [column["name"] for column in seen["columns"]] == ["size", "weight"]


def test_a_table_may_have_known_levels_in_a_column(file: Path) -> None:
    rows, right = things(30)
    with serving(file) as client:
        table = TableProject("table", with_gold(rows, right, 10), LEVELS, "NewtonLogit", gold="truth", seed=5)
        project, count = fill_project(client.service, table)
        assert (count, [column.name for column in project.columns]) == (30, ["size", "weight"])
        assert [row["settled_by"] for row in levels(client, "/projects/table")] == ["local"] * 10 + [""] * 20
        assert fill_project(client.service, table._replace(gold=""))[1] == 0, "the project knows its column"
        with pytest.raises(ValueError, match="has the column 'truth' of known levels; choose another"):
            fill_project(client.service, table._replace(gold="size"))
        with pytest.raises(ValueError, match="the file has no column 'gold' of known levels; its columns are size"):
            fill_project(client.service, table._replace(name="other", gold="gold"))


def test_every_item_gets_answers_from_as_many_people_as_the_project_says(file: Path) -> None:
    rows, right = things(15)
    random = np.random.default_rng(0)
    with serving(file) as client:
        locked(client)
        project = new_project(client, rows, answers_per_item=2)
        keys = invited(client, project, ["ann", "ben"])
        n = 0
        while len({(row.item, row.person) for why in (PLACE, CHECK) for row in asked_by(client, why)}) < 30:
            tell(client, project, keys[("ann", "ben")[n % 2]], says(right, 0.0, random))
            learned(client, project)
            n += 1
            assert n <= 40, "thirty, and some that audit or are asked again"


def test_audits_go_only_to_auditors(file: Path) -> None:
    rows, right = things(40)
    random = np.random.default_rng(0)
    with serving(file) as client:
        root = locked(client)
        project = new_project(client, rows, auditors=["ann"])
        keys = invited(client, project, ["ann", "ben"])
        for n in range(160):
            tell(client, project, keys[("ann", "ben")[n // 2 % 2]], says(right, 0.0, random))
        assert {row.person for row in asked_by(client, AUDIT)} == {"ann"}
        with Client(str(client.base_url), "things", root) as own:
            assert own.settings()["auditors"] == ["ann"]
            sent: list[str] = []
            own._operations.http.event_hooks = {"request": [lambda request: sent.append(request.method)]}
            changed = own.settings({"auditors": ["ben"], "own_figures": True})
        assert "GET" not in sent, "what was read before would undo a change that somebody else makes meanwhile"
        assert changed == {
            "gold": 0.0, "answers_per_item": 1, "auditors": ["ben"], "own_figures": True, "ratings": False,
            "certify": False, "gold_column": None,
        }  # fmt: skip
        for n in range(160):
            tell(client, project, keys[("ann", "ben")[n // 2 % 2]], says(right, 0.0, random))
        assert {row.person for row in asked_by(client, AUDIT) if row.number > 160} == {"ben"}


def test_a_target_is_certified_by_whoever_may_audit(file: Path) -> None:
    rows, right = things(60)
    random = np.random.default_rng(0)
    with serving(file) as client:
        locked(client)
        project = new_project(client, rows, auditors=["ann"], certify=True, target=0.5)
        keys = invited(client, project, ["ann", "ben"])
        certified, left = False, list[float]()
        for n in range(600):
            tell(client, project, keys[("ann", "ben")[n % 2]], says(right, 0.0, random))
            if n % 10 == 9:
                learned(client, project)
                now = ok(client.get(f"{project}/remaining?target={0.5 + n / 1e12}"))  # a new one, computed now
                certified, left = now["certified"], [*left, now["answers"]["value"]]
                if certified:
                    break
        assert certified
        assert left[-1] == 0.0
        assert left[0] > 10.0
        audits = asked_by(client, AUDIT)
        assert len(audits) > 10, "of ann's questions, most since it was time to check"
        assert {row.person for row in audits} == {"ann"}
        found = [LEVELS.index(row["level"]) for row in levels(client, project)]
        assert np.abs(np.array(found) - right).mean() <= 0.5
        before = len(audits)
        for _ in range(20):
            tell(client, project, keys["ann"], says(right, 0.0, random))
        assert len(asked_by(client, AUDIT)) < before + 10, "the check is over"
        ok(client.put(f"{project}/settings", json={"certify": False}))
        assert ok(client.get(f"{project}/remaining"))["certified"] is None


def test_two_changes_of_the_rules_at_once_both_hold(file: Path) -> None:
    with serving(file) as client:
        project = new_project(client, things(20)[0])
        for n in range(1, 21):
            changes = [{"gold": n / 100}, {"answers_per_item": n}, {"own_figures": n % 2 == 0}, {"auditors": [str(n)]}]
            with ThreadPoolExecutor(len(changes)) as threads:
                for response in threads.map(lambda one: client.put(f"{project}/settings", json=one), changes):
                    ok(response)
            said = {
                "gold": n / 100,
                "answers_per_item": n,
                "own_figures": n % 2 == 0,
                "auditors": [str(n)],
                "ratings": False,
                "certify": False,
            }
            assert ok(client.get(f"{project}/settings")) == {**said, "gold_column": None}


def test_people_see_their_own_figures_if_the_project_says_so_and_nobody_elses(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overviews, "_REST", 0)
    rows, right = things(20)
    random = np.random.default_rng(0)
    with serving(file) as client:
        locked(client)
        project = new_project(client, rows)
        keys = invited(client, project, ["ann", "ben", "eve"])
        for n in range(20):
            tell(client, project, keys[("ann", "ben")[n % 2]], says(right, 0.0, random))
        learned(client, project)
        assert problem(client.get(f"{project}/people/mine", headers=keys["ann"])) == (403, "not-shown")
        ok(client.put(f"{project}/settings", json={"own_figures": True}))
        everybody = {one["name"]: one for one in ok(client.get(f"{project}/people"))["people"]}
        for name in ("ann", "ben"):
            assert ok(client.get(f"{project}/people/mine", headers=keys[name]))["figures"] == everybody[name]
        assert ok(client.get(f"{project}/people/mine", headers=keys["eve"]))["figures"] is None
        assert problem(client.get(f"{project}/people", headers=keys["ann"])) == (403, "not-allowed")
