"""The page for everybody: hostile items, invitations, keyboards, small and large and dark screens, no third party."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from browsing import asked_about, home, press, saved
from dford.service.http.routes.pages import FOLDER
from serving import learned, ok, question_for, serving, set_up


def test_a_hostile_item_is_shown_as_text(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    hostile = [
        "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">",
        "a" * 40_000 + " " + "é" * 20_000,
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
            "learner": "DFORD",  # which asks about the highest level too: no person is bothered with that
        }
        ok(client.post("/projects", json=body))
        rows = [{"<u>size</u>": n, "text": text} for n, text in enumerate(hostile)]
        ok(client.post("/projects/hostile/items", json={"items": rows}))
        page.goto(home(client) + "#/hostile/answer")
        seen = set[str | None]()
        while len(seen) < len(hostile):  # in any order: one that could not be sent at once comes later
            asked_about(page)
            seen.add(page.locator(".item .text").text_content())
            assert page.locator(".question em").inner_text() == "<i>low</i>"
            assert page.locator(".item dt").inner_text() == "<u>size</u>"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.locator(".buttons .yes").is_visible()
            press(page, "ArrowRight")
        assert seen == set(hostile)
        saved(page)
        page.get_by_role("link", name="Watch").click()
        expect(page.locator(".unsure")).to_contain_text("<script>document.title")
        assert page.locator(".unsure script, .unsure img, .unsure b").count() == 0
        assert page.title() == "Watch · hostile · dford"


def test_an_invitation_holds_a_key_and_the_answers_are_that_persons(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page, guest, stranger = new_page(), new_page(), new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        page.get_by_label("Person's name").fill("anna")
        page.get_by_role("button", name="Create link").click()
        link = page.get_by_label("Link for anna").input_value()
        root = page.get_by_label("Your own key").input_value()
        expect(page.get_by_role("button", name="Revoke the key for anna")).to_be_visible()
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
        expect(stranger.get_by_role("heading", name="Enter your access key")).to_be_visible()
        stranger.get_by_label("Access key").fill("wrong")
        stranger.get_by_role("button", name="Open").click()
        expect(stranger.get_by_text("This key is not valid")).to_be_visible()
        stranger.get_by_label("Access key").fill(root)
        stranger.get_by_role("button", name="Open").click()
        expect(stranger.get_by_role("heading", name="Projects")).to_be_visible()
        people = ok(client.get("/projects/rain/state", headers={"Authorization": f"Bearer {root}"}))["people"]
        assert people == {"anna": 2}
        with page.expect_response(lambda response: response.request.method == "DELETE"):
            page.get_by_role("button", name="Revoke the key for anna").click()
        expect(page.get_by_text("revoked")).to_be_visible()
        press(guest, "ArrowRight")
        expect(guest.locator("#network")).to_contain_text(
            "1 answer waits in this browser and will be sent again: Your access key is not valid"
        )


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_key_or_link_that_is_shown_once_is_shown_whatever_comes_next(
    tmp_path: Path, new_page: Callable[..., Page], is_stored: bool
) -> None:
    page = new_page()
    if not is_stored:
        page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full'); }")
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        page.get_by_label("Person's name").fill("anna")
        page.route("**/rain/keys", lambda route: route.abort(), times=1)
        page.get_by_role("button", name="Create link").click()
        root = page.get_by_label("Your own key").input_value()
        assert ok(client.get("/me", headers={"Authorization": f"Bearer {root}"}))["role"] == "admin"
        for name in ("anna", "ben"):
            page.get_by_label("Person's name").fill(name)
            page.get_by_role("button", name="Create link").click()
            expect(page.get_by_label(f"Link for {name}")).to_be_visible()
        expect(page.get_by_label("Link for anna")).to_be_visible()
        assert page.get_by_label("Your own key").input_value() == root


def test_a_project_called_new_is_not_the_form_for_a_new_one(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, "new", learner="NewtonLogit")
        page.goto(home(client))
        page.get_by_role("link", name="new", exact=True).click()
        expect(page.locator(".question em")).to_be_visible()
        page.goto(home(client) + "#/new")
        expect(page.get_by_role("heading", name="New project")).to_be_visible()
        page.goto(home(client) + "#/new/constructor")  # no view: the first one is shown
        expect(page.locator(".question em")).to_be_visible()


def test_watch_updates_while_people_answer(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit", choice="turns")
        page.goto(home(client) + "#/rain/watch")
        expect(page.locator(".figures")).to_contain_text("0 answers")
        expect(page.get_by_text("No answers yet.")).to_be_visible()
        for _ in range(12):
            number = question_for(client, project)["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": number % 3 == 0}))
        expect(page.locator(".figures")).to_contain_text("12 answers")
        expect(page.locator(".chart")).to_have_count(2)
        expect(page.locator(".bars").first).to_contain_text("severe")
        counts = [int(text) for text in page.locator(".bars").first.locator("td").all_inner_texts()]
        assert sum(counts) == 30
        state = learned(client, project)
        last = page.locator("details").nth(1).locator("tbody tr").last.locator("td")
        expect(last.first).to_have_text("12")
        page.get_by_text("Show as table").nth(1).click()
        cells = last.all_inner_texts()
        assert [float(cell) for cell in cells] == [12, *(round(cut, 3) for cut in state["thresholds"])]


def test_a_level_written_from_right_to_left_leaves_its_sentence_in_order(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit", levels=["ضعيف", "جيد", "ممتاز", "رائع"])
        page.goto(home(client) + "#/rain/watch")
        note = page.locator(".unsure .note").first
        link, level = note.locator("a").bounding_box(), note.locator("bdi").bounding_box()
        assert link is not None
        assert level is not None
        assert link["x"] + link["width"] <= level["x"]
        page.goto(home(client) + "#/rain/answer")
        asked_about(page)
        levels = page.locator(".buttons bdi").all_inner_texts()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".last bdi")).to_have_text(levels[0])


@pytest.mark.parametrize("width", [360, 1280])
def test_a_long_name_leaves_everybody_a_button_to_revoke(
    tmp_path: Path, new_page: Callable[..., Page], width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 700})
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        for name in ("ben", "a" * 200):
            page.get_by_label("Person's name").fill(name)
            page.get_by_role("button", name="Create link").click()
            button = page.get_by_role("button", name=f"Revoke the key for {name}")
            expect(button).to_be_visible()
        box = page.get_by_role("button", name="Revoke the key for ben").bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("ends", [range(19), [n // 5 for n in range(19)], [0] * 19, [0, 1, 1.1, 9]])
def test_each_name_in_a_chart_stands_beside_its_own_line(
    tmp_path: Path, new_page: Callable[..., Page], ends: Any
) -> None:
    """Or nowhere, if there is no room."""
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client))
        rows = [{"answers": answers, "values": list(ends)} for answers in (1, 10)]
        chart = {"label": "", "names": [f"level {n} | " for n in range(len(ends))], "rows": rows}
        page.evaluate(
            "async (chart) => (await import('/page/chart.js')).draw(document.querySelector('main'), chart)", chart
        )
        names = page.locator(".chart > text", has_text="level").evaluate_all(
            """found => found.map(one => [one.textContent, one.getBoundingClientRect().top,
                one.getBoundingClientRect().bottom])"""
        )
        lines = page.locator(".chart .line").evaluate_all("found => found.map(one => one.getBoundingClientRect().top)")
        box = page.locator(".chart").bounding_box()
        assert box is not None
        assert len(names) >= min(len(ends), 8)
        for name, top, bottom in names:
            assert box["y"] <= top
            assert bottom <= box["y"] + box["height"]
            middle, own = (top + bottom) / 2, lines[int(name.split()[1])]
            assert abs(middle - own) <= min(abs(middle - line) for line in lines) + 6
        edges = sorted(top for _, top, _ in names)
        assert all(below - above > 14 for above, below in pairwise(edges))


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1920)])  # no style depends on both
def test_every_view_is_accessible(
    tmp_path: Path, new_page: Callable[..., Page], items: Path, scheme: Any, width: int
) -> None:
    """Names, labels, order of headings, AA contrast and more, by axe; and nothing wider than the window."""
    page = new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        for _ in range(12):
            number = question_for(client, project)["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": number % 3 == 0}))
        views = {
            "": "h1",
            "new": "h1",
            "rain/answer": ".question em",
            "rain/watch": ".unsure",
            "rain/setup": "#who-answers",
            "nowhere/watch": "h1",
            "?": "#key",  # the admin key, which the invitation made, is forgotten
        }
        page.goto(home(client))
        refused = {"question": 1, "act": "answer", "about": "a" * 160, "level": "mild", "code": "not-yours"}
        page.evaluate("act => localStorage.setItem('dford.refused.rain/1', JSON.stringify(act))", refused)
        page.reload()
        for view, seen in views.items():
            if view == "?":
                page.get_by_role("button", name="Forget this key").click()
            page.goto(home(client) + f"#/{view}")
            expect(page.locator(seen)).to_be_visible()
            expect(page.locator("#refused")).to_be_visible()
            if view == "new":
                page.set_input_files("#file", items)
                expect(page.get_by_label("How wind is read")).to_be_visible()
            if view == "rain/setup":
                page.get_by_label("Person's name").fill("anna")
                page.get_by_role("button", name="Create link").click()
                expect(page.get_by_label("Link for anna")).to_be_visible()
            results = Axe().run(page)
            assert results.violations_count == 0, results.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


@pytest.mark.parametrize("late", ["keys", "settings"])
def test_nothing_can_be_typed_before_it_is_loaded(tmp_path: Path, new_page: Callable[..., Page], late: str) -> None:
    """What arrives later would replace what was typed; a refusal, the whole page, with a link that is shown once."""
    page, held = new_page(), list[Route]()
    page.route(f"**/rain/{late}", lambda route: held.append(route))
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        with page.expect_request(f"**/rain/{late}"):
            page.goto(home(client) + "#/rain/setup")
        assert page.locator("input").count() == 0
        held[0].continue_()
        expect(page.get_by_label("Person's name")).to_be_visible()
        expect(page.get_by_label("People per item")).to_have_value("1")


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
        page.keyboard.press("Shift+ArrowRight")  # not the page's keys
        page.keyboard.press("Control+ArrowLeft")
        asked_about(page)
        page.keyboard.down("ArrowLeft")
        page.keyboard.down("ArrowLeft")  # held down: it repeats, and answers once
        page.keyboard.up("ArrowLeft")
        expect(page.locator(".counts")).to_contain_text("2 of 30 done")
        saved(page)
        assert ok(client.get(f"{project}/state"))["answers"] == 2


def test_the_whole_page_is_kept_for_a_reload() -> None:
    worker = (FOLDER / "worker.js").read_text()
    listed = set(re.findall(r'"([a-z-]+\.(?:js|css|svg))"', worker.split("FILES =")[1].split("]")[0]))
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
