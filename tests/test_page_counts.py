"""What the page says is so: how much is done, who has which item, and what the server is still learning."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, expect

from browsing import home, press, saved
from serving import COLUMNS, LEVELS, ROWS, ok, serving, set_up

WITH_WORKER = True

# every request and every response takes its time, another one each
SLOW = """
  const plain = fetch;
  let draw = %d;
  const rest = () => new Promise((done) => setTimeout(done, (draw = (draw * 48271) %% 2147483647) %% 200));
  window.fetch = async (...request) => {
    await rest();
    const response = await plain(...request);
    await rest();
    return response;
  };
"""
# what the counter ever said
SEEN = """
  window.seen = [];
  const look = () => {
    const said = /^([\\d,]+) of/.exec(document.querySelector(".counts")?.textContent ?? "");
    if (said) seen.push(Number(said[1]));
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
"""


def done(page: Page) -> int:
    found = re.match(r"(\d+) of", page.locator(".counts").inner_text())
    assert found
    return int(found[1])


def without_repeats(numbers: list[int]) -> list[int]:
    return [number for number, _ in groupby(numbers)]


def test_the_counter_is_right_at_every_moment(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    """Answers, skips and undos at random, while requests and responses are under way; every item comes repeatedly."""
    page, chance = new_page(), random.Random(1)
    page.add_init_script(SLOW % 1)
    page.add_init_script(SEEN)
    with serving(tmp_path / "log.db") as client:
        body = {"name": "rain", "levels": LEVELS, "columns": COLUMNS, "learner": "DFORD", "seed": 1}
        ok(
            client.post(
                "/projects", json={**body, "parameters": {"policy": {"policy": "Boundary", "exploration": 0.1}}}
            )
        )
        ok(client.post("/projects/rain/items", json={"items": ROWS[:9]}))
        page.goto(home(client) + "#/rain/answer")
        turns: Counter[str] = Counter()
        acts: list[tuple[str, str]] = []
        truth = [0]
        for _ in range(30):
            expect(page.locator(".buttons .yes")).to_be_enabled()
            item = page.locator(".item .text").inner_text()
            key = chance.choices(["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"], [4, 4, 2, 4])[0]
            if key != "ArrowUp":
                press(page, key)
                turns[item] += 1
                acts.append((key, item))
            elif acts:
                undone, item = acts.pop()
                if undone == "ArrowDown":
                    saved(page)  # so that it is a skip that the server has, which counts for ever
                else:
                    turns[item] -= 1
                page.keyboard.press(key)
                expect(page.locator(".item .text")).to_have_text(item)
            truth.append(sum(count > 0 for count in turns.values()))
            assert done(page) == truth[-1]
            if truth[-1] < 9:
                expect(page.locator(".counts")).not_to_contain_text("Every item")
        saved(page)
        assert ok(client.get("/projects/rain/state"))["items_done"] == truth[-1]
        assert without_repeats(page.evaluate("seen")) == without_repeats(truth)
        while truth[-1] < 9:
            press(page, "ArrowRight")
            truth.append(done(page))
        expect(page.locator(".counts")).to_contain_text("Every item has been answered or skipped")


def test_a_state_that_comes_late_does_not_set_the_counter(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, held = new_page(), list[tuple[Route, Any]]()
    page.add_init_script(SEEN)
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()

        def hold(route: Route) -> None:
            """The first state that knows of an answer; one that was asked for before may come in between."""
            response = route.fetch()
            if held or response.json()["items_done"] != 1:
                route.fulfill(response=response)
            else:
                held.append((route, response))

        page.route("**/state", hold)
        press(page, "ArrowRight")
        while not held:
            page.wait_for_timeout(10)
        press(page, "ArrowLeft")  # the state under way does not know of this one
        saved(page)
        ((route, response),) = held
        with page.expect_response("**/state"):
            route.fulfill(response=response)
        with page.expect_response("**/state"):  # so another one is asked for
            expect(page.locator(".counts")).to_contain_text("2 of 30 done")
        assert without_repeats(page.evaluate("seen")) == [0, 1, 2]


def test_the_counter_is_the_same_in_two_windows(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.context.add_init_script(SLOW % 5)
    page.context.add_init_script(SEEN)
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        other = page.context.new_page()
        for window in (page, other):
            window.goto(home(client) + "#/rain/answer")
            expect(window.locator(".question em")).to_be_visible()
        for n in range(1, 9):
            window = (page, other)[n % 2]
            window.bring_to_front()
            press(window, "ArrowRight")
            for one in (page, other):
                expect(one.locator(".counts")).to_contain_text(f"{n} of 30 done")
        for window in (page, other):
            saved(window)
            assert without_repeats(window.evaluate("seen")) == list(range(9))
        assert ok(client.get(f"{project}/state"))["items_done"] == 8


def is_open(client: Any, count: int) -> None:
    """So many questions are open, or will be in a moment."""
    limit = time.monotonic() + 600
    while (found := ok(client.get("/projects/rain/state"))["open"]) != count and time.monotonic() < limit:
        time.sleep(0.05)
    assert found == count


def test_questions_of_a_page_that_was_left_are_released(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    asked, came = list[str](), list[str]()
    for event, seen in (("request", asked), ("requestfinished", came), ("requestfailed", came)):
        page.on(event, lambda request, seen=seen: seen.append(request.url))  # type: ignore[call-overload]

    def is_in_hand() -> None:
        """The page has the questions that it asked for: it cannot release one that is still on its way."""
        is_open(client, 3)
        limit = time.monotonic() + 600
        while sum(url.endswith("/questions") for url in asked) > sum(url.endswith("/questions") for url in came):
            assert time.monotonic() < limit
            page.wait_for_timeout(20)
        page.evaluate("() => new Promise((done) => setTimeout(done))")

    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        root = ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"]
        client.headers["Authorization"] = f"Bearer {root}"  # so the release must bring its key along
        address = f"{home(client)}#/rain/answer"
        page.goto(f"{address}?key={root}")
        press(page, "ArrowRight")
        saved(page)
        is_in_hand()
        shown = page.locator(".item .text").inner_text()
        page.reload()
        expect(page.locator(".item .text")).to_have_text(shown)  # asked about anew
        is_in_hand()
        assert ok(client.get("/projects/rain/state"))["questions"] >= 7
        page.get_by_role("link", name="Watch").click()
        is_open(client, 0)
        page.get_by_role("link", name="Answer").click()
        expect(page.locator(".item .text")).to_have_text(shown)
        is_in_hand()
        page.goto("about:blank")
        is_open(client, 0)
        page.go_back()
        expect(page.locator(".item .text")).to_have_text(shown)
        is_open(client, 3)
        press(page, "ArrowRight")
        saved(page)
        is_in_hand()
        page.close(run_before_unload=True)
        is_open(client, 0)


def test_a_wrong_clock_changes_nothing(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000;")
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        for _ in range(5):
            press(page, "ArrowRight")
        saved(page)
        is_open(client, 3)
        assert ok(client.get(f"{project}/state"))["questions"] == 8


def test_the_page_waits_for_a_server_that_is_catching_up_and_says_so(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    sentence = "project rain is catching up: 1,200 of 5,000 answers learned; try again in a moment"
    body = json.dumps({"code": "catching-up", "sentence": sentence, "field": None})

    def busy(route: Route) -> None:
        route.fulfill(status=503, content_type="application/json", headers={"Retry-After": "1"}, body=body)

    words = "The server is still learning from earlier answers (1,200 of 5,000 answers so far)."
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.route("**/state", busy)
        page.route("**/questions", busy)
        page.goto(home(client) + "#/rain/answer")  # nothing is known of the project yet
        expect(page.get_by_role("heading", name="One moment")).to_be_visible()
        expect(page.locator("main")).to_contain_text(words)
        page.unroute("**/state")
        expect(page.locator(".item")).to_contain_text(words)
        expect(page.locator("#network")).to_have_text(words.rstrip("."))
        expect(page.get_by_role("button", name="Yes")).to_be_disabled()
        page.unroute("**/questions")
        expect(page.locator(".question em")).to_be_visible()
        saved(page)
        page.get_by_role("link", name="Watch").click()
        expect(page.get_by_text("refreshes automatically")).to_be_visible()
        page.route("**/state", busy)
        expect(page.get_by_text(f"{words} This page tries again automatically.")).to_be_visible()
        page.unroute("**/state")
        expect(page.get_by_text("refreshes automatically")).to_be_visible()


def test_the_page_says_if_a_state_still_holds_an_undone_answer(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, is_stale = new_page(), True

    def stale(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "stale": is_stale})

    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        for pattern in ("**/state", "**/levels"):
            page.route(pattern, stale)
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".counts")).to_contain_text("an undone answer is still being removed from the estimates")
        page.get_by_role("link", name="Watch").click()
        note = page.get_by_text("An answer was undone. These figures still include it")
        expect(note).to_be_visible()
        is_stale = False
        expect(note).to_be_hidden()
        page.get_by_role("link", name="Answer").click()
        expect(page.locator(".question em")).to_be_visible()
        expect(page.locator(".counts")).not_to_contain_text("undone answer")
