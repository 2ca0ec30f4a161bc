"""The page where the pool chooses: how far off the items are, when it is enough, and no opinion before the answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browsing import home, press, saved
from serving import answer_some, learned, ok, serving, set_up
from test_program import GOOD, go, labelled, wait_until


def test_the_page_says_how_far_off_the_items_are_and_when_it_is_enough(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit", target=0.2)
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".counts")).to_contain_text("more answers to reach 0.2")
        press(page, "ArrowRight")
        saved(page)
        answer_some(client, project, 150)
        learned(client, project)
        page.reload()
        expect(page.locator(".counts")).to_contain_text("enough for 0.2")
        bar = page.get_by_role("progressbar")
        expect(bar).to_have_attribute("aria-label", "Progress towards an error of 0.2 levels")
        assert bar.evaluate("bar => bar.value === bar.max")
        page.route("**/projects/**", lambda route: route.abort())
        page.reload()  # without a connection, it shows what it last knew, not other figures
        expect(page.locator("#network")).to_contain_text("No connection")
        expect(page.locator(".counts")).to_contain_text("enough for 0.2")
        assert "left" not in page.locator(".counts").inner_text()
        assert bar.evaluate("bar => bar.value === bar.max")
        page.unroute("**/projects/**")
        page.get_by_role("link", name="Watch").click()
        expected = ok(client.get(f"{project}/levels"))["expected_error"]
        expect(page.locator(".placed")).to_contain_text(f"{round(expected, 2):g} levels")
        expect(page.locator(".placed")).to_contain_text("enough answers for 0.2 levels")


@pytest.mark.parametrize("reveal", [False, True])
def test_the_place_of_an_item_is_shown_only_if_the_project_says_so(
    tmp_path: Path, new_page: Callable[..., Page], reveal: bool
) -> None:
    page, asked = new_page(), list[Any]()
    page.on("request", lambda request: asked.append(request.url))
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit", reveal=reveal)
        answer_some(client, project, 20)
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".buttons .yes")).to_be_enabled()
        if reveal:
            expect(page.locator(".scale .dot")).to_be_visible()
        else:
            press(page, "ArrowRight")
            saved(page)
            expect(page.locator(".scale .dot")).to_be_hidden()
            assert not any("predictions" in url for url in asked)
        colours = [
            page.locator(f".buttons .{name}").evaluate("b => getComputedStyle(b).backgroundColor")
            for name in ("no", "yes")
        ]
        assert colours[0] == colours[1]


def test_an_uncertain_item_is_a_link_to_its_question(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        answer_some(client, set_up(client, learner="NewtonLogit"), 20)
        page.goto(home(client) + "#/rain/watch")
        link = page.locator(".unsure a").first
        item = int(link.inner_text().removeprefix("Item "))
        link.click()
        expect(page.locator(".item")).to_contain_text(f"item-{item - 1}")
        expect(page.locator(".buttons .yes")).to_be_enabled()


def test_if_programs_answered_and_nobody_audited_enough_the_page_says_so(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    with labelled(tmp_path / "log.db") as (service, project):
        go(service, project, GOOD, 20)
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        path = "/projects/rain"
        learned(client, path)
        page.goto(home(client) + "#/rain/watch")
        expect(page.locator(".doubt")).to_contain_text("Programs gave 100% of the answers")
        assert ok(client.get(f"{path}/levels"))["programs"] == 1.0
        for _ in range(30):
            asked = ok(client.post(f"{path}/questions"))
            ok(client.post(f"{path}/questions/{asked['number']}/answer", json={"higher": True}))
        learned(client, path)
        wait_until(lambda: ok(client.get(f"{path}/levels"))["programs"] < 0.5)  # it may be some seconds old
        page.reload()
        expect(page.locator(".doubt")).to_contain_text("Programs gave 40% of the answers")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator("#main")).to_contain_text("off if the programs that answered are right")
        assert ok(client.get(f"{path}/remaining"))["unchecked"] == pytest.approx(0.4)
