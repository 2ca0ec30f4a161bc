"""Unusual items on the page: longer than the window, or empty."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browsing import home, saved, wait_for
from serving import ok, serving

LONG = "\n\n".join(f"Paragraph {n}. " + "The walls are thin, and we heard everything. " * 20 for n in range(10))
ITEMS: list[dict[str, Any]] = [
    {"id": "A-1", "text": LONG, "stars": 1.0},
    {"id": "A-2", "text": LONG[::-1], "stars": 2.0},
    {"id": "A-3", "text": "Short.", "stars": 3.0},
    {"id": None, "text": "", "stars": None},
    {"id": None, "text": " \n", "stars": 5.0},
]
TOP = "document.querySelector('.item').scrollTop"
LEFT = "(box => box.scrollHeight - box.clientHeight - box.scrollTop)(document.querySelector('.item'))"


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[Any]:
    columns = [{"name": "id", "kind": "text"}, {"name": "text", "kind": "words"}, {"name": "stars", "kind": "number"}]
    with serving(tmp_path / "log.db") as client:
        body = {"name": "reviews", "levels": ["bad", "ok", "good"], "columns": columns, "learner": "NewtonLogit"}
        ok(client.post("/projects", json={**body, "choice": "turns"}))
        ok(client.post("/projects/reviews/items", json={"items": ITEMS}))
        yield client


def open_item(page: Page, client: Any, number: int = 1) -> None:
    page.goto(f"{home(client)}#/reviews/answer?item={number}")
    expect(page.locator(".buttons .yes")).to_be_enabled()


def scroll(page: Page, key: str) -> float:
    """Press a key, and return where the text is once it has moved."""
    before = page.evaluate(TOP)
    page.keyboard.press(key)
    wait_for(page, f"before => {TOP} !== before", before)
    return float(page.evaluate(TOP))


@pytest.mark.parametrize("size", [(360, 640), (1280, 800)])
def test_a_long_text_is_read_by_keys_wherever_the_focus_is(
    reviews: Any, new_page: Callable[..., Page], size: tuple[int, int]
) -> None:
    page = new_page(viewport={"width": size[0], "height": size[1]})
    open_item(page, reviews)
    assert page.evaluate("!document.querySelector('.item').contains(document.activeElement)")
    hint = page.locator(".more")
    expect(hint).to_be_visible()
    height = page.evaluate("document.querySelector('.item').clientHeight")
    for forth, back in [("Space", "Shift+Space"), ("PageDown", "PageUp"), ("End", "Home")]:
        assert scroll(page, forth) > 0
        assert scroll(page, back) == 0
    expect(hint).to_be_visible()
    covered = page.evaluate("document.querySelector('.more').offsetHeight")
    assert 0 < scroll(page, "Space") <= height - covered, "no line is skipped, nor one that the hint covers"
    page.locator(".item").focus()
    assert scroll(page, "End") > height
    expect(hint).to_be_hidden()
    scroll(page, "Home")
    expect(hint).to_be_visible()
    page.get_by_role("button", name="Yes").focus()
    page.keyboard.press("Space")  # on a button it presses the button
    expect(page.locator(".last")).to_contain_text("Last: above")
    assert page.evaluate(TOP) == 0


def test_the_key_that_skips_scrolls_while_there_is_more(reviews: Any, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    open_item(page, reviews)
    key = page.locator(".skip kbd")
    expect(key).to_be_hidden()
    expect(page.locator(".more")).to_contain_text("More below ↓ Space")
    for _ in range(2):
        scroll(page, "ArrowDown")
    expect(page.locator(".item")).to_contain_text("Paragraph 0.")
    expect(page.locator(".last")).to_have_text("")
    page.keyboard.down("ArrowDown")
    while page.evaluate(LEFT) > 1:
        page.keyboard.down("ArrowDown")  # held down, it repeats to the end
    page.keyboard.down("ArrowDown")
    page.keyboard.up("ArrowDown")
    expect(page.locator(".more")).to_be_hidden()
    expect(key).to_be_visible()
    expect(page.locator(".last")).to_have_text("")  # and skips nothing there
    page.keyboard.press("ArrowDown")
    expect(page.locator(".last")).to_have_text("Last: skipped")
    saved(page)
    assert ok(reviews.get("/projects/reviews/state"))["items_done"] == 1


@pytest.mark.parametrize("key", ["ArrowLeft", "ArrowRight"])
def test_an_answer_does_not_wait_for_the_end_of_a_text(reviews: Any, new_page: Callable[..., Page], key: str) -> None:
    page = new_page(viewport={"width": 360, "height": 640})
    open_item(page, reviews)
    scroll(page, "Space")
    page.keyboard.press(key)
    expect(page.locator(".last")).to_contain_text("above" if key == "ArrowRight" else "not above")
    expect(page.locator(".item")).not_to_contain_text("Paragraph 0.")
    assert page.evaluate(TOP) == 0, "the next text begins at the top"
    page.keyboard.press("ArrowUp")
    expect(page.locator(".item")).to_contain_text("Paragraph 0.")
    saved(page)
    assert ok(reviews.get("/projects/reviews/state"))["answers"] == 0


def test_what_needs_no_scrolling_leaves_the_keys_to_the_page(reviews: Any, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 800, "height": 360})  # so low that the page itself scrolls
    open_item(page, reviews, 4)
    expect(page.locator(".more")).to_be_hidden()
    page.keyboard.press("End")
    wait_for(page, "scrollY > 0")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".last")).to_have_text("Last: skipped")


def test_an_empty_item_says_so(reviews: Any, new_page: Callable[..., Page]) -> None:
    page = new_page()
    open_item(page, reviews, 4)
    expect(page.locator(".item")).to_have_text("This item is empty: it has no text and no values.")
    expect(page.locator("#spoken")).to_contain_text("Empty item Is it above")
    page = new_page()
    open_item(page, reviews, 5)
    expect(page.locator(".item dd")).to_have_text("5")
    expect(page.locator(".item")).not_to_contain_text("empty")
    assert page.locator(".item .text").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_the_least_certain_items_are_shown_by_their_text(
    reviews: Any, new_page: Callable[..., Page], width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 800}, color_scheme="dark")
    page.goto(home(reviews) + "#/reviews/watch")
    entries = page.locator(".unsure li")
    expect(entries).to_have_count(5)
    shown = {one.get_by_role("link").inner_text(): one.locator(".shown").inner_text() for one in entries.all()}
    long = shown["Item 1"]
    assert long.startswith("A-1 · Paragraph 0. The walls are thin, and we heard everything. The walls")
    assert long.removesuffix("…") in f"A-1 · {LONG}"
    assert 100 < len(long) <= 161
    assert long[-2].isalpha(), "cut between words"
    assert (shown["Item 3"], shown["Item 4"], shown["Item 5"]) == ("A-3 · Short.", "Empty item", "stars 5")
    box, card = page.locator(".unsure .shown").first.bounding_box(), page.locator(".unsure").bounding_box()
    assert box is not None
    assert card is not None
    assert box["width"] > 0.6 * card["width"], "the text has the room, not what is said about it"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for _ in range(2):  # this view, and a long text
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        open_item(page, reviews)
