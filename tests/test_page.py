"""The page in a real browser: set up, answer by keyboard, without a network, with hostile items, for everybody."""

import csv
import io
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dford.service.pages import FOLDER
from serving import LEVELS, ok, serving, set_up

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WINDS = [(17 * n) % 112 for n in range(60)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Pages that note what goes wrong in them, and whom they ask."""
    contexts, troubles, hosts = [], [], set()

    def make(**options: Any) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if "Content Security" in said.text else None)
        page.on("request", lambda request: hosts.add(re.sub(r"^(\w+://[^/]*).*", r"\1", request.url)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+|blob:.*|data:.*", host) for host in hosts), hosts


@pytest.fixture
def items(tmp_path: Path) -> Path:
    file = tmp_path / "Stormy days.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["day", "wind", "sky"])
        rows.writerows(
            [f"Day {n}, wind {wind},\nas it was", wind, ["dark", "clear"][n % 2]] for n, wind in enumerate(WINDS)
        )
    return file


def above(wind: float, level: str) -> bool:
    return wind / 28 > LEVELS.index(level) + 1


def press(page: Page, key: str) -> None:
    """Press a key at the question, and see the next one at once."""
    before = page.locator(".item").inner_text()
    page.keyboard.press(key)
    expect(page.locator(".item")).not_to_have_text(before, use_inner_text=True)


def answer(page: Page, rightly: bool = True) -> None:
    wind = float(page.locator(".item dd").first.inner_text())
    higher = above(wind, page.locator(".question em").inner_text())
    press(page, "ArrowRight" if higher == rightly else "ArrowLeft")


def saved(page: Page) -> None:
    expect(page.locator("#network")).to_have_text("Everything is saved")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def home(client: Any) -> str:
    return str(client.base_url).rstrip("/") + "/"


def set_up_on_page(page: Page, client: Any, items: Path) -> None:
    page.goto(home(client) + "#/new")
    page.set_input_files("#file", items)
    expect(page.get_by_role("status").filter(has_text="60 items")).to_be_visible()
    expect(page.get_by_label("How day is read")).to_have_value("text")
    expect(page.get_by_label("How wind is read")).to_have_value("number")
    expect(page.get_by_label("Name of the project")).to_have_value("stormy-days")
    page.get_by_role("button", name="Add a level").click()
    # named in another order than they shall have, and put in order: one by the keyboard, one by hand
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
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".question em")).to_be_visible()


@needs_browser
def test_set_up_answer_undo_lose_the_network_reload_come_back(
    tmp_path: Path, new_page: Callable[..., Page], items: Path
) -> None:
    page = new_page(accept_downloads=True)
    with serving(tmp_path / "log.db") as client:
        set_up_on_page(page, client, items)
        project = ok(client.get("/projects/stormy-days"))
        assert project["levels"] == LEVELS
        for _ in range(30):
            answer(page)
        answer(page, rightly=False)  # a slip
        saved(page)
        page.keyboard.press("ArrowUp")
        expect(page.locator(".item")).to_contain_text("Day 30,")
        answer(page)
        press(page, "ArrowDown")  # skipped
        saved(page)
        state = ok(client.get("/projects/stormy-days/state"))
        assert (state["answers"], state["retractions"], state["items_done"]) == (31, 1, 32)
        port = client.base_url.port
    # the server is gone
    answer(page)
    answer(page)
    answer(page, rightly=False)
    page.keyboard.press("ArrowUp")  # a slip that never left the browser
    expect(page.locator("#network")).to_have_text("No connection: 2 answers wait in this browser, and will be sent")
    page.reload()
    expect(page.locator("#network")).to_have_text("No connection: 2 answers wait in this browser, and will be sent")
    answer(page)
    expect(page.locator("#network")).to_contain_text("3 answers wait")
    with serving(tmp_path / "log.db", port=port) as client:
        saved(page)
        expect(page.locator(".counts")).to_contain_text("35 of 60 done · 25 left")
        for _ in range(5):
            answer(page)
        saved(page)
        state = ok(client.get("/projects/stormy-days/state"))
        assert (state["answers"], state["retractions"], state["items_done"]) == (39, 1, 40)
        page.get_by_role("link", name="Set up").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="levels.csv").click()
        rows = read(Path(download.value.path()).read_text())
        log = read(client.get("/projects/stormy-days/log.csv").text)
    assert len(rows) == 60
    assert len(log) == 39
    # every answer that is kept is the right one: none is lost, none is twice, and the slips are not among them
    for round_ in log:
        assert (round_["higher"] == "True") == above(float(round_["wind"]), round_["level"])
    told = [row for row in rows if (row["lowest"], row["highest"]) != ("calm", "severe")]
    assert sorted(float(row["wind"]) for row in told) == sorted(float(round_["wind"]) for round_ in log)
    for row in told:
        right = sum(float(row["wind"]) / 28 > k for k in (1, 2, 3))
        assert LEVELS.index(row["lowest"]) <= right <= LEVELS.index(row["highest"])


@needs_browser
def test_a_file_of_plain_text_is_set_up_to_learn_from_its_words(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    file, page = tmp_path / "reviews.csv", new_page()
    file.write_text("review\n" + "".join(f"number {n} was fine\n" for n in range(60)))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.set_input_files("#file", file)
        expect(page.get_by_label("How review is read")).to_have_value("words")
        for n, name in enumerate(["bad", "good", "great"], 1):
            page.get_by_label(f"Level {n}", exact=True).fill(name)
        page.get_by_role("button", name="Begin").click()
        expect(page.locator(".question em")).to_be_visible()
        assert [column["kind"] for column in ok(client.get("/projects/reviews"))["columns"]] == ["words"]


@needs_browser
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


@needs_browser
def test_two_windows_and_a_contradiction_lose_nothing(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        other = page.context.new_page()
        for window in (page, other):
            window.goto(home(client) + "#/rain/answer")
            expect(window.locator(".question em")).to_be_visible()
        assert page.locator(".item").inner_text() != other.locator(".item").inner_text()
        for _ in range(5):
            for window in (page, other):
                window.bring_to_front()
                press(window, "ArrowRight")
        saved(page)
        saved(other)
        assert ok(client.get(f"{project}/state"))["answers"] == 10
        # somebody answers, by another way, what is on the page
        shown = page.locator(".item").inner_text()
        number = next(n for n in range(1, 99) if _note(client, project, n) in shown)
        ok(client.post(f"{project}/questions/{number}/answer", json={"higher": False}))
        page.bring_to_front()
        press(page, "ArrowRight")
        expect(page.locator("#notices")).to_contain_text("the first answer stands")
        saved(page)
        assert ok(client.get(f"{project}/state"))["answers"] == 11


def _note(client: Any, project: str, number: int) -> str:
    question = ok(client.get(f"{project}/questions/{number}"))
    return str(question["shown"]["note"]) + "\n" if question["fate"] == "open" else "no such text"


@needs_browser
def test_a_hostile_item_is_text(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    hostile = [
        "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">",
        "a" * 50_000 + " " + "é" * 50_000,
        "\u202eمرحبا بالعالم\u202c שלום",
        "👩‍👩‍👧‍👦🏳️‍🌈 <b>bold</b> &amp; \"quoted\" 'too' {{7*7}} javascript:alert(1)",
        '=HYPERLINK("http://evil.example")',
    ]
    page = new_page(viewport={"width": 360, "height": 640})
    with serving(tmp_path / "log.db") as client:
        body = {
            "name": "hostile",
            "levels": ["<i>low</i>", "high"],
            "columns": [{"name": "<u>size</u>", "kind": "number"}, {"name": "text", "kind": "text"}],
            "learner": "DFORD",  # which asks about the highest level too: no person is troubled with that
        }
        ok(client.post("/projects", json=body))
        rows = [{"<u>size</u>": n, "text": text} for n, text in enumerate(hostile)]
        ok(client.post("/projects/hostile/items", json={"items": rows}))
        page.goto(home(client) + "#/hostile/answer")
        for text in hostile:
            expect(page.locator(".item .text")).to_have_text(text)
            assert page.locator(".question em").inner_text() == "<i>low</i>"
            assert page.locator(".item dt").inner_text() == "<u>size</u>"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.locator(".buttons .yes").is_visible()
            page.keyboard.press("ArrowRight")
        saved(page)
        page.get_by_role("link", name="Watch").click()
        expect(page.locator(".unsure")).to_contain_text("<script>document.title")
        assert page.locator(".unsure script, .unsure img, .unsure b").count() == 0
        assert page.title() == "Watch · hostile · dford"


@needs_browser
def test_an_invitation_holds_a_key_and_the_answers_are_that_persons(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page, guest, stranger = new_page(), new_page(), new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        page.get_by_label("Name of the person").fill("anna")
        page.get_by_role("button", name="Make a link").click()
        link = page.get_by_label("Link for anna").input_value()
        root = page.get_by_label("Your own key").input_value()
        expect(page.get_by_role("button", name="Revoke the key of anna")).to_be_visible()
        guest.goto(link)
        expect(guest.locator(".question em")).to_be_visible()
        assert "key" not in guest.evaluate("location.href")
        assert guest.get_by_role("link", name="Set up").count() == 0
        press(guest, "ArrowRight")
        press(guest, "ArrowRight")
        saved(guest)
        guest.reload()
        expect(guest.locator(".question em")).to_be_visible()
        stranger.goto(home(client))
        expect(stranger.get_by_role("heading", name="A key, please")).to_be_visible()
        stranger.get_by_label("Key", exact=True).fill("wrong")
        stranger.get_by_role("button", name="Open").click()
        expect(stranger.get_by_text("send a key that is valid")).to_be_visible()
        stranger.get_by_label("Key", exact=True).fill(root)
        stranger.get_by_role("button", name="Open").click()
        expect(stranger.get_by_role("heading", name="Projects")).to_be_visible()
        people = ok(client.get("/projects/rain/state", headers={"Authorization": f"Bearer {root}"}))["people"]
        assert people == {"anna": 2}
        page.get_by_role("button", name="Revoke the key of anna").click()
        expect(page.get_by_text("revoked")).to_be_visible()
        guest.keyboard.press("ArrowRight")
        expect(guest.locator("#network")).to_contain_text("1 answer waits in this browser: send a key that is valid")


@needs_browser
def test_watch_moves_while_people_answer(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/watch")
        expect(page.locator(".figures")).to_contain_text("0 answers")
        expect(page.get_by_text("Nobody has answered yet")).to_be_visible()
        for _ in range(12):
            number = ok(client.post(f"{project}/questions"))["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": number % 3 == 0}))
        expect(page.locator(".figures")).to_contain_text("12 answers")
        expect(page.locator(".chart")).to_have_count(2)
        expect(page.locator(".bars").first).to_contain_text("severe")
        counts = [int(text) for text in page.locator(".bars").first.locator("td").all_inner_texts()]
        assert sum(counts) == 30
        state = ok(client.get(f"{project}/state"))
        page.get_by_text("As a table").nth(1).click()
        cells = page.locator("details").nth(1).locator("tbody tr").last.locator("td").all_inner_texts()
        assert [float(cell) for cell in cells] == [12, *(round(cut, 3) for cut in state["thresholds"])]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1920])
def test_every_view_is_for_everybody(
    tmp_path: Path, new_page: Callable[..., Page], items: Path, scheme: Any, width: int
) -> None:
    """Names, labels, order of headings, AA contrast and more, by axe; and nothing wider than the window."""
    page = new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        for _ in range(12):
            number = ok(client.post(f"{project}/questions"))["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": number % 3 == 0}))
        views = {
            "": "h1",
            "new": "h1",
            "rain/answer": ".question em",
            "rain/watch": ".unsure",
            "rain/setup": "#who",
            "nowhere/watch": "h1",
        }
        for view, seen in views.items():
            page.goto(home(client) + f"#/{view}")
            expect(page.locator(seen)).to_be_visible()
            if view == "new":
                page.set_input_files("#file", items)
                expect(page.get_by_label("How wind is read")).to_be_visible()
            if view == "rain/setup":
                page.get_by_label("Name of the person").fill("anna")
                page.get_by_role("button", name="Make a link").click()
                expect(page.get_by_label("Link for anna")).to_be_visible()
            results = Axe().run(page)
            assert results.violations_count == 0, results.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


@needs_browser
def test_everything_can_be_reached_by_tab_and_pressed(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
        page.locator("#skip-link").focus()
        found = []
        for _ in range(8):
            page.keyboard.press("Tab")
            found.append(page.evaluate("document.activeElement.innerText.split('\\n')[0].trim()"))
        assert found[:4] == ["dford", "Answer", "Watch", "Set up"]
        assert found[5:] == ["No", "Yes", "Skip"]  # after the item; there is nothing to undo yet
        page.get_by_role("button", name="Yes").focus()
        page.keyboard.press("Enter")
        saved(page)
        page.keyboard.press("Shift+ArrowRight")  # somebody else's keys
        page.keyboard.press("Control+ArrowLeft")
        page.keyboard.down("ArrowLeft")
        page.keyboard.down("ArrowLeft")  # held down: it repeats, and answers once
        page.keyboard.up("ArrowLeft")
        expect(page.locator(".counts")).to_contain_text("2 of 30 done")
        saved(page)
        time.sleep(0.2)
        assert ok(client.get(f"{project}/state"))["answers"] == 2


def test_what_is_kept_for_a_reload_is_the_whole_page() -> None:
    worker = (FOLDER / "worker.js").read_text()
    listed = set(re.findall(r'"([a-z]+\.(?:js|css|svg))"', worker.split("FILES =")[1].split("]")[0]))
    page = {"index.html", "worker.js", "reference.css"}
    assert listed == {file.name for file in FOLDER.iterdir()} - page


def test_the_page_has_no_inline_script_and_asks_no_third_party(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        response = client.get("/")
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for file in FOLDER.iterdir():
            text = file.read_text()
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), file.name
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), file.name
            assert not re.search(r"<[^>]*\b(style|on\w+)=", text), file.name
            served = client.get(f"/page/{file.name}")
            assert (served.status_code, served.headers["cache-control"]) == (200, "no-cache")
        for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/nothing.js", "/page/"):
            assert client.get(path).status_code == 404
