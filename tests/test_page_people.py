"""People on the page: in words that claim no more than the answers support, and only for admins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from browsing import home
from serving import learned, ok, serving
from test_service_people import answered, bearer, locked
from test_service_pool import levels, new_project, things


def estimate(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


VAGUE, NOBODY = estimate(0.15, 0.0, 0.44), estimate(0.0, -0.55, 0.55)
OTHERS = {"agreement": estimate(0.8, 0.5, 0.9)}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Any:
    """What the page says about figures."""
    with serving(tmp_path_factory.mktemp("words") / "log.db") as client:
        page = browser.new_page()
        page.goto(home(client))
        yield lambda **figures: page.evaluate(
            "async (figures) => (await import('/page/people.js')).inWords(figures)",
            {
                "agreement": None,
                "error_rate": VAGUE,
                "strictness": NOBODY,
                "gold": None,
                "judged": 3,
                "answers": 9,
                **figures,
            },
        )
        page.close()


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({}, "Too few answers to tell yet."),
        ({"agreement": estimate(1.0, 0.2, 1.0)}, "Too few answers to tell yet."),
        (
            {"answers": 400},
            "Too early to tell: only 3 of the 400 answers could be judged, and nobody else has answered about the same "
            "items.",
        ),
        (
            {"answers": 400, **OTHERS},
            "Too early to tell: only 3 of the 400 answers could be judged.",
        ),
        (
            {"answers": 400, **OTHERS, "judged": 0},
            "Too early to tell: none of the 400 answers could be judged.",
        ),
        (
            {"agreement": estimate(0.94, 0.88, 0.98)},
            "Agrees with the others in 94% of the cases asked about again, mostly difficult ones. Too early to tell "
            "how many are wrong: only 3 could be judged.",
        ),
        (
            {"error_rate": estimate(0.05, 0.01, 0.1), "strictness": estimate(0.25, 0.1, 0.4)},
            "About 5% of the answers are wrong.",
        ),
        (
            {"error_rate": estimate(0.05, 0.01, 0.1), "strictness": estimate(0.25, 0.1, 0.4), **OTHERS},
            "Differs from the others in about 5% of the answers; a little stricter than the others.",
        ),
        (
            {"error_rate": estimate(0.05, 0.01, 0.1), "strictness": estimate(-1.2, -1.5, -0.9), **OTHERS},
            "Differs from the others in about 5% of the answers; much more lenient than the others.",
        ),
        (
            {
                "gold": estimate(0.9, 0.8, 0.95),
                "error_rate": estimate(0.1, 0.0, 0.2),
                "strictness": estimate(0.0, -0.3, 0.3),
                **OTHERS,
            },
            "Right about 90% of the items whose level is known; about 10% of the answers are wrong; about as strict as "
            "the others.",
        ),
    ],
)
def test_no_more_is_said_than_the_answers_support(words: Any, figures: Any, said: str) -> None:
    assert words(**figures) == said


def flag_dan(route: Route) -> None:
    """So many answers are too few for a flag, so this adds one, with what it takes."""
    people, clear = route.fetch().json()["people"], {"error_rate": estimate(0.35, 0.28, 0.42)}
    flagged = [{**one, **(clear if FLAGS[one["name"]] else {}), "flag": FLAGS[one["name"]]} for one in people]
    route.fulfill(json={"sequence": 150, "stale": False, "people": flagged})


FLAGS = {"ann": None, "ben": None, "dan": "wrong"}


def test_admins_see_how_people_answer_and_others_how_much(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, guest, asked = new_page(), new_page(viewport={"width": 360, "height": 700}), list[str]()
    guest.on("request", lambda request: asked.append(request.url))
    rows, right = things(40)
    with serving(tmp_path / "log.db") as client:
        root = locked(client)
        project = new_project(client, rows)
        keys = answered(client, project, right, 150)
        learned(client, project)
        page.route("**/people", flag_dan)
        page.goto(home(client) + f"#/things/watch?key={root}")
        dan = page.locator(".people > li", has_text="dan")
        expect(dan.locator(".flag")).to_contain_text("Differs from the others")
        expect(dan).to_contain_text("50 answers")
        expect(page.locator(".people > li", has_text="ann").locator(".flag")).to_have_count(0)
        dan.get_by_text("Figures").click()
        expect(dan.locator("dl")).to_contain_text("are based on")
        assert Axe().run(page).response["violations"] == []
        ann = keys["ann"]["Authorization"].removeprefix("Bearer ")
        guest.goto(home(client) + f"#/things/watch?key={ann}")
        expect(guest.locator(".bars", has_text="dan")).to_contain_text("50")
        expect(guest.locator(".unsure")).to_be_visible()
        assert not any(url.endswith("/people") for url in asked)
        assert client.get(f"{project}/people", headers=bearer(ann)).status_code == 403


def make_nearly_certain(route: Route) -> None:
    response = route.fetch()
    found = response.json()
    for one in found["contested"]:
        one["probabilities"][one["level"]] = 0.9997
    route.fulfill(response=response, json=found)


def test_an_admin_settles_a_contested_item_and_undoes_it(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, rows, right = new_page(), *things(30)
    with serving(tmp_path / "log.db") as client:
        root = locked(client)
        project = new_project(client, rows)
        answered(client, project, right, 150)
        learned(client, project)
        found = ok(client.get(f"{project}/contested"))["contested"][0]
        page.route("**/contested", make_nearly_certain)
        page.goto(home(client) + f"#/things/watch?key={root}")
        row = page.locator(".contested > li").first
        expect(row).to_contain_text("over 99% certain")
        expect(row.locator(".said")).to_contain_text(f"{found['answers'][0]['person']}: ")
        assert row.locator(".said li").count() == len({one["person"] for one in found["answers"]})
        assert row.locator(".said").inner_text().count("above") == len(found["answers"])
        page.get_by_label(f"Right level of item {found['item']}").select_option("severe")
        page.get_by_label(f"Settle item {found['item']}").click()
        expect(row).to_contain_text("settled at severe by root")
        assert learned(client, project)["sequence"] == 151
        assert Axe().run(page).response["violations"] == []
        assert levels(client, project)[found["item"] - 1]["level"] == "severe"
        page.get_by_label(f"Undo settling item {found['item']}").click()
        # the row says so too, until the list is read again
        expect(page.locator("#spoken")).to_have_text(f"Item {found['item']} is no longer settled.")
        expect(page.locator(".contested > li:focus")).to_contain_text("no longer settled")
        assert levels(client, project)[found["item"] - 1]["settled_by"] == ""


def test_how_people_are_asked_is_set_on_the_page(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 360, "height": 700})
    with serving(tmp_path / "log.db") as client:
        project = new_project(client, things(20)[0], auditors=["ann"])
        page.goto(home(client) + "#/things/setup")
        expect(page.get_by_label("Who audits")).to_have_value("ann")
        page.get_by_label("Gold questions, % of all").fill("12.5")
        page.get_by_label("People per item").fill("3")
        page.get_by_label("Who audits").fill("ann\n o'neill, ben \n")
        page.get_by_label("People see their own figures").check()
        page.get_by_label("Show that the target is reached").check()
        assert Axe().run(page).response["violations"] == []
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#notices")).to_contain_text("from the next question on")
        said = {
            "gold": 0.125,
            "answers_per_item": 3,
            "auditors": ["ann", "o'neill, ben"],
            "own_figures": True,
            "ratings": False,
            "certify": True,
        }
        assert ok(client.get(f"{project}/settings")) == {**said, "gold_column": None}
        page.reload()
        expect(page.get_by_label("People see their own figures")).to_be_checked()
        expect(page.get_by_label("Gold questions, % of all")).to_have_value("12.5")
        page.get_by_label("Who audits").fill("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#notices")).to_contain_text("from the next question on")
        assert ok(client.get(f"{project}/settings"))["auditors"] is None


def test_saving_leaves_alone_what_was_not_changed_and_what_is_typed_meanwhile(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page, held = new_page(), list[Route]()
    with serving(tmp_path / "log.db") as client:
        project = new_project(client, things(20)[0], auditors=[], gold=0.12345678)
        page.goto(home(client) + "#/things/setup")
        page.get_by_label("People per item").fill("3")
        ok(client.put(f"{project}/settings", json={"own_figures": True}))  # by somebody else
        page.route("**/settings", lambda route: held.append(route))
        with page.expect_request("**/settings"):
            page.get_by_role("button", name="Save").click()
        page.get_by_label("Who audits").fill("ben")
        held[0].continue_()
        expect(page.locator("#notices")).to_contain_text("from the next question on")
        said = {"gold": 0.12345678, "answers_per_item": 3, "auditors": [], "own_figures": True}
        assert ok(client.get(f"{project}/settings")) == {
            **said, "ratings": False, "certify": False, "gold_column": None,
        }  # fmt: skip
        expect(page.get_by_label("Who audits")).to_have_value("ben")


def test_a_column_of_a_new_project_can_hold_known_levels(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, file, held = new_page(), tmp_path / "days.csv", list[Route]()
    lines = [f"{n % 7},{n % 3},{['low', 'high', ''][n % 3]}\n" for n in range(30)]
    file.write_text("size,weight,truth\n" + "".join(lines))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.route("**/preview.csv?level=*", lambda route: held.append(route))
        with page.expect_request("**/preview.csv?level=*"):  # which columns are ratings
            page.set_input_files("#file", file)
        page.get_by_label("How weight is read").select_option("gold")  # before it is known
        with page.expect_response("**/preview.csv?level=*"):
            held[0].continue_()
        page.unroute("**/preview.csv?level=*")
        page.get_by_label("How truth is read").select_option("gold")
        expect(page.get_by_label("How weight is read")).to_have_value("ratings")  # three numbers, three levels
        page.get_by_role("button", name="Create project").click()
        expect(page.locator(".question em")).to_be_visible(timeout=600_000)
        expect(page.locator(".item")).not_to_contain_text("truth")
        assert ok(client.get("/projects/days/settings"))["gold_column"] == "truth"
        assert ok(client.get("/projects/days/levels"))["settled"] == 20
        assert [one["name"] for one in ok(client.get("/projects/days"))["columns"]] == ["size", "weight"]


def test_people_see_their_own_figures_if_the_project_says_so(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    guest, rows, right = new_page(), *things(40)
    with serving(tmp_path / "log.db") as client:
        locked(client)
        project = new_project(client, rows, own_figures=True)
        keys = answered(client, project, right, 90)
        learned(client, project)
        ann = keys["ann"]["Authorization"].removeprefix("Bearer ")
        guest.goto(home(client) + f"#/things/watch?key={ann}")
        expect(guest.locator(".people > li")).to_have_count(1)
        expect(guest.locator(".people > li")).to_contain_text("ann")
        expect(guest.locator(".bars", has_text="dan")).to_contain_text("30")
        asked = list[str]()
        guest.on("request", lambda request: asked.append(request.url))
        guest.get_by_text("Figures").click()
        with guest.expect_response("**/state"), guest.expect_response("**/state"):
            pass
        assert not any(url.endswith("/mine") for url in asked), "nothing is new"
        answered(client, project, right, 3)
        with guest.expect_response("**/mine"):
            pass
        expect(guest.locator(".people dl")).to_be_visible()
        expect(guest.locator(".people > li")).to_contain_text("31 answers")
        expect(guest.locator(".people dl")).to_be_visible()
