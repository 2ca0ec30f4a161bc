"""Ratings on the page: columns of them in a new project, and whole ratings by key."""

from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browsing import asked_about, home, press, saved
from serving import learned, ok, serving
from test_service_pool import levels, new_project, things


def test_columns_of_ratings_are_shown_for_a_new_project_and_can_be_switched_off(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page, file = new_page(), tmp_path / "days.csv"
    lines = [f"{['low', 'high', 'middle'][n % 3]},{n % 3},{n % 3},{n / 7}\n" for n in range(30)]
    file.write_text("words,model,stars,size\n" + "".join(lines))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.set_input_files("#file", file)
        for name in ("words", "model", "stars"):
            expect(page.get_by_label(f"How {name} is read")).to_have_value("ratings")
        page.get_by_label("How stars is read").select_option("number")
        page.get_by_label("Level 1", exact=True).fill("lowest")
        page.get_by_label("Level 1", exact=True).blur()
        expect(page.get_by_label("How words is read")).to_have_value("category")
        page.get_by_label("Level 1", exact=True).fill("low")
        page.get_by_label("Level 1", exact=True).blur()
        expect(page.get_by_label("How words is read")).to_have_value("ratings")
        page.get_by_role("button", name="Create project").click()
        expect(page.locator(".question em")).to_be_visible(timeout=600_000)
        columns = {one["name"]: one["ratings"] for one in ok(client.get("/projects/days"))["columns"]}
        assert columns == {"words": [0, 1, 2], "model": [0, 1, 2], "stars": [], "size": []}
        page.goto(home(client) + "#/days/setup")
        about = page.get_by_text("Ratings, from which the levels start")
        expect(about.locator("..")).to_contain_text("words, model")


def test_a_key_or_a_button_gives_the_level_of_the_item_shown(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = new_project(client, things(20)[0])
        page.goto(home(client) + "#/things/answer")
        asked_about(page)
        expect(page.get_by_role("group", name="Or give its level")).to_have_count(0)
        page.keyboard.press("2")
        page.goto(home(client) + "#/things/setup")
        page.get_by_label("People can give an item's level").check()
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#notices")).to_contain_text("Saved")
        page.goto(home(client) + "#/things/answer")
        press(page, "2")
        expect(page.locator(".last")).to_have_text("Last: rated mild")
        rated = asked_about(page)
        page.get_by_role("group", name="Or give its level").get_by_role("button", name="severe").click()
        expect(page.locator(".last")).to_have_text("Last: rated severe")
        saved(page)
        rows = levels(client, project)
        assert sorted(row["lowest"] for row in rows if row["answers"] == "1") == ["mild", "severe"]
        page.keyboard.press("ArrowUp")  # undo
        expect(page.locator(".item")).to_have_text(rated, use_inner_text=True)
        expect(page.locator(".last")).to_have_text("Last: rated mild")
        saved(page)
        state = learned(client, project)
        assert (state["answers"], state["retractions"]) == (1, 1)
        press(page, "ArrowRight")
        saved(page)
        assert learned(client, project)["answers"] == 2
        found_by_axe = Axe().run(page)
        assert not found_by_axe.response["violations"], found_by_axe.generate_report()
