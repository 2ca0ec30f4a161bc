"""The page in a real browser: set up, answer by keyboard, go on without a network."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from browsing import asked_about, asked_ahead, home, press, saved
from serving import LEVELS, ok, question_for, serving, set_up

WITH_WORKER = True


def above(wind: float, level: str) -> bool:
    return wind / 28 > LEVELS.index(level) + 1


def answer(page: Page, rightly: bool = True) -> None:
    wind = float(page.locator(".item dd").first.inner_text())
    higher = above(wind, page.locator(".question em").inner_text())
    press(page, "ArrowRight" if higher == rightly else "ArrowLeft")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def set_up_on_page(page: Page, client: Any, items: Path) -> None:
    page.goto(home(client) + "#/new")
    page.set_input_files("#file", items)
    expect(page.get_by_role("status").filter(has_text="60 items")).to_be_visible()
    expect(page.get_by_label("How day is read")).to_have_value("text")
    expect(page.get_by_label("How wind is read")).to_have_value("number")
    expect(page.get_by_label("Project name")).to_have_value("stormy-days")
    page.get_by_role("button", name="Add a level").click()
    # named out of order, and then put in order: one with the keyboard, one with the mouse
    for n, name in enumerate(["mild", "calm", "severe", "strong"], 1):
        page.get_by_label(f"Level {n}", exact=True).fill(name)
    page.get_by_label("Move level 1: drag").focus()
    page.keyboard.press("ArrowDown")
    last, third = (page.get_by_label(f"Move level {n}: drag").bounding_box() for n in (4, 3))
    assert last is not None
    assert third is not None
    page.mouse.move(last["x"] + 10, last["y"] + 10)
    page.mouse.down()
    page.mouse.move(third["x"] + 10, third["y"] + 4, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Create project").click()
    expect(page.locator(".question em")).to_be_visible()


def test_setup_answers_undo_no_network_and_reload_lose_nothing(
    tmp_path: Path, new_page: Callable[..., Page], items: Path
) -> None:
    page = new_page(accept_downloads=True)
    with serving(tmp_path / "log.db") as client:
        set_up_on_page(page, client, items)
        project = ok(client.get("/projects/stormy-days"))
        assert project["levels"] == LEVELS
        for _ in range(30):
            answer(page)
        slip = asked_about(page)
        answer(page, rightly=False)
        saved(page)
        page.keyboard.press("ArrowUp")
        expect(page.locator(".item")).to_have_text(slip, use_inner_text=True)
        answer(page)
        press(page, "ArrowDown")  # skipped
        saved(page)
        asked_ahead(page)
        state = ok(client.get("/projects/stormy-days/state"))
        assert (state["answers"], state["retractions"]) == (31, 1)
        port = client.base_url.port
    # the server is gone
    answer(page)
    answer(page)
    answer(page, rightly=False)
    page.keyboard.press("ArrowUp")  # a slip that never left the browser
    expect(page.locator("#network")).to_have_text("No connection: 2 answers are kept in this browser and will be sent")
    page.reload()
    expect(page.locator("#network")).to_have_text("No connection: 2 answers are kept in this browser and will be sent")
    answer(page)
    expect(page.locator("#network")).to_contain_text("3 answers are kept")
    with serving(tmp_path / "log.db", port=port) as client:
        saved(page)
        expect(page.locator(".counts")).to_contain_text("of 60 done")
        for _ in range(5):
            answer(page)
        saved(page)
        state = ok(client.get("/projects/stormy-days/state"))
        assert (state["answers"], state["retractions"]) == (39, 1)
        page.get_by_role("link", name="Set up").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="levels.csv").click()
        rows = read(Path(download.value.path()).read_text())
        log = read(client.get("/projects/stormy-days/log.csv").text)
    assert len(rows) == 60
    assert len(log) == 39
    # every answer that was kept is right: none is lost, none is there twice, and the slips are not among them
    for round_ in log:
        assert (round_["higher"] == "True") == above(float(round_["wind"]), round_["level"])
    told = [row for row in rows if (row["lowest"], row["highest"]) != ("calm", "severe")]
    assert {float(row["wind"]) for row in told} == {float(round_["wind"]) for round_ in log}
    assert sum(int(row["answers"]) for row in rows) == 39
    for row in told:
        right = sum(float(row["wind"]) / 28 > k for k in (1, 2, 3))
        assert LEVELS.index(row["lowest"]) <= right <= LEVELS.index(row["highest"])


def test_a_file_of_plain_text_is_set_up_to_learn_from_it(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    file, page = tmp_path / "reviews.csv", new_page()
    file.write_text("review\n" + "".join(f"number {n} was fine\n" for n in range(60)))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.set_input_files("#file", file)
        expect(page.get_by_label("How review is read")).to_have_value("text")
        for n, name in enumerate(["bad", "good", "great"], 1):
            page.get_by_label(f"Level {n}", exact=True).fill(name)
        page.get_by_role("button", name="Create project").click()
        expect(page.locator(".question em")).to_be_visible()
        assert [column["kind"] for column in ok(client.get("/projects/reviews"))["columns"]] == ["text"]


def test_an_answer_shows_at_once_and_is_sent_in_the_background(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
        held: list[Any] = []
        hold = True
        page.route("**/answer", lambda route: held.append(route) if hold else route.continue_())
        press(page, "ArrowRight")
        press(page, "ArrowLeft")
        expect(page.locator(".counts")).to_contain_text("2 of 30 done")
        assert ok(client.get(f"{project}/state"))["answers"] == 0
        hold = False
        (first,) = held
        first.continue_()
        saved(page)
        assert ok(client.get(f"{project}/state"))["answers"] == 2


def second_window(page: Page, client: Any) -> Page:
    """A window beside this one; both have a question of their own."""
    other = page.context.new_page()
    for window in (page, other):
        window.goto(home(client) + "#/rain/answer")
        expect(window.locator(".question em")).to_be_visible()
    return other


def test_two_windows_and_a_contradiction_lose_nothing(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        other = second_window(page, client)
        assert asked_about(page) != asked_about(other)
        for _ in range(5):
            for window in (page, other):
                window.bring_to_front()
                press(window, "ArrowRight")
        saved(page)
        saved(other)
        assert ok(client.get(f"{project}/state"))["answers"] == 10
        # somebody answers, in another way, what is on the page
        shown = asked_about(page)
        number = next(n for n in range(1, 99) if _note(client, project, n) in shown)
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": False}))
        page.bring_to_front()
        press(page, "ArrowRight")
        expect(page.locator("#refused")).to_contain_text("the first answer stands")
        page.get_by_role("button", name="Dismiss: item").click()
        saved(page)
        assert ok(client.get(f"{project}/state"))["answers"] == 11


def test_an_undo_while_another_window_sends_is_a_retraction(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        other = second_window(page, client)
        held: list[Any] = []
        hold = True
        page.route("**/answer", lambda route: held.append(route) if hold else route.continue_())
        page.bring_to_front()
        press(page, "ArrowRight")
        other.bring_to_front()
        press(other, "ArrowLeft")
        other.keyboard.press("ArrowUp")
        expect(other.locator(".last")).to_have_text("")
        hold = False
        held[0].continue_()
        saved(page)
        saved(other)
        state = ok(client.get(f"{project}/state"))
        assert (state["answers"], state["retractions"]) == (1, 1)


def _note(client: Any, project: str, number: int) -> str:
    question = ok(client.get(f"{project}/questions/{number}"))
    return str(question["shown"]["note"]) + "\n" if question["fate"] == "open" else "no such text"


def test_the_page_waits_for_a_busy_server_and_says_so(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db", open_questions=1) as client:
        project = set_up(client, learner="NewtonLogit")
        taken = question_for(client, project)["number"]
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".item")).to_contain_text("1 questions are open")
        expect(page.get_by_role("button", name="Yes")).to_be_disabled()
        ok(client.post(f"{project}/questions/{taken}/skip"))
        expect(page.locator(".question em")).to_be_visible()
        body = '{"code": "not-written", "sentence": "the database could not be written", "field": null}'
        page.route("**/answer", lambda route: route.fulfill(status=503, content_type="application/json", body=body))
        page.keyboard.press("ArrowRight")
        expect(page.locator("#network")).to_have_text(
            "1 answer waits in this browser and will be sent again: The database could not be written"
        )
        page.unroute("**/answer")
        saved(page)
        assert ok(client.get(f"{project}/state"))["answers"] == 1


def test_a_view_that_comes_too_late_is_not_shown(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client)
        held: list[Any] = []
        page.route("**/projects", lambda route: held.append(route))
        with page.expect_request("**/projects"):
            page.goto(home(client))
        page.goto(home(client) + "#/rain/watch")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        shown = page.get_by_role("heading", level=1).inner_text()
        with page.expect_response("**/projects"):
            held[0].continue_()
        page.evaluate("new Promise(requestAnimationFrame)")  # the response has been handled
        expect(page.get_by_role("heading", level=1)).to_have_text([shown])
