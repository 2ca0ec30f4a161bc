"""No answer is lost in the browser: whatever the server, or something in its place, replies."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from browsing import home, online, press, saved, stored
from dford.service.refusal import CODES
from serving import ok, serving, set_up

WITH_WORKER = True

# sent again, none of these could ever be accepted; any other reply may be different the next time
FINAL = {
    "answered-otherwise": "the first answer stands",
    "retracted": "already been taken back",
    "skipped": "already been skipped",
    "answered": "already been answered",
    "not-answered": "no answer to take back",
    "no-question": "does not know this question",
    "not-yours": "belongs to another person",
}
ANSWER = "**/questions/*/answer"
HTML = "<!doctype html><title>Gateway</title>"


def refusal(code: str) -> str:
    return json.dumps({"code": code, "sentence": f"this is {code}", "field": None})


def fulfilled(status: int, body: str, kind: str = "application/json") -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, content_type=kind, body=body)


OTHERS: dict[str, Callable[[Route], None]] = {
    "400 by a proxy": fulfilled(400, HTML, "text/html"),
    "404 by a proxy": fulfilled(404, HTML, "text/html"),
    "502 by a proxy": fulfilled(502, HTML, "text/html"),
    "200 by a page to sign in": fulfilled(200, HTML, "text/html"),
    "200 that is not JSON": fulfilled(200, "fine", "text/plain"),
    "200 without an answer": fulfilled(200, "{}"),
    "200 about another question": fulfilled(200, '{"question": 999, "higher": true, "sequence": 1, "at": 0}'),
    "200 and null": fulfilled(200, "null"),
    "a code of a later version": fulfilled(409, refusal("unheard-of")),
    "409 without a code": fulfilled(409, '{"detail": "retracted"}'),
    "a line that breaks": lambda route: route.abort("connectionreset"),
    **{f"{status} {code}": fulfilled(status, refusal(code)) for status, code in CODES if code not in FINAL},
}


@pytest.fixture
def answering(tmp_path: Path, new_page: Callable[..., Page]) -> Any:
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page = new_page()
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
        yield page, client
        page.close()


def state(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = ok(client.get("/projects/rain/state"))
    return found


def test_what_is_refused_for_good_is_shown_until_it_is_dismissed(answering: Any) -> None:
    page, client = answering
    final = [(status, code) for status, code in CODES if code in FINAL]
    assert {code for _, code in final} == set(FINAL)
    for status, code in final:
        page.route(ANSWER, fulfilled(status, refusal(code)))
        item, level = page.locator(".item .text").inner_text(), page.locator(".question em").inner_text()
        press(page, "ArrowRight")
        row = page.locator("#refused li")
        expect(row).to_contain_text(item)
        expect(row).to_contain_text(f"Your answer: above {level}")
        expect(row).to_contain_text(FINAL[code])
        expect(page.locator("#network")).to_have_text("1 answer was not accepted")
        expect(page.get_by_role("button", name="Undo")).to_be_disabled()  # there is nothing to take back
        assert (stored(page, "out"), stored(page, "refused")) == (0, 1)
        page.unroute(ANSWER)
        if code == "retracted":
            page.reload()
            expect(page.locator(".question em")).to_be_visible()
        page.get_by_role("button", name=f"Dismiss: {item}").click()
        expect(page.locator("#refused")).to_be_hidden()
        saved(page)
    assert state(client)["answers"] == 0


@pytest.mark.parametrize("part", range(2))
def test_any_other_reply_keeps_the_answer_and_it_is_sent_again(answering: Any, part: int) -> None:
    page, client = answering
    cases = list(OTHERS.items())[part::2]
    for said, reply in cases:
        page.route(ANSWER, reply)
        press(page, "ArrowRight")
        expect(page.locator("#network"), said).to_contain_text("1 answer ")
        expect(page.locator("#network")).to_contain_text("in this browser and will be sent")
        assert (stored(page, "out"), stored(page, "refused")) == (1, 0), said
        with page.expect_request(ANSWER):
            online(page)
        expect(page.locator("#network")).to_contain_text("in this browser and will be sent")
        page.unroute(ANSWER)
        online(page)
        saved(page)
    assert state(client)["answers"] == len(cases)


def test_answers_that_are_stuck_do_not_hold_up_the_others(answering: Any) -> None:
    page, client = answering
    stuck: set[str] = set()

    def some(route: Route) -> None:
        if len(stuck) < 2:
            stuck.add(route.request.url)
        if route.request.url in stuck:
            fulfilled(500, refusal("defect"))(route)
        else:
            route.continue_()

    page.route(ANSWER, some)
    for _ in range(6):
        press(page, "ArrowRight")
    expect(page.locator("#network")).to_have_text(
        "2 answers wait in this browser and will be sent again: This is defect"
    )
    expect(page.locator(".counts")).to_contain_text("6 of 30 done")
    assert state(client)["answers"] == 4
    page.reload()
    expect(page.locator(".counts")).to_contain_text("6 of 30 done")
    page.unroute(ANSWER)
    online(page)
    saved(page)
    assert state(client)["answers"] == 6


def test_an_undone_answer_whose_response_was_lost_is_retracted(answering: Any) -> None:
    page, client = answering
    broken = True

    def lose(route: Route) -> None:
        if not broken:
            route.continue_()
            return
        route.fetch()
        route.abort("connectionreset")

    page.route(ANSWER, lose)
    item = page.locator(".item .text").inner_text()
    press(page, "ArrowRight")
    expect(page.locator("#network")).to_contain_text("No connection: 1 answer is kept")
    assert state(client)["answers"] == 1  # it arrived, but the page cannot know
    page.keyboard.press("ArrowUp")
    expect(page.locator(".last")).to_have_text("")
    expect(page.locator(".counts")).to_contain_text("0 of 30 done")
    broken = False
    online(page)
    saved(page)
    expect(page.locator(".item .text")).to_have_text(item)
    found = state(client)
    assert (found["answers"], found["retractions"]) == (0, 1)


@pytest.mark.parametrize("does", ["Send as mine", "Discard"])
def test_what_was_answered_without_keys_is_sent_with_nobodys_key_unasked(answering: Any, does: str) -> None:
    page, client = answering
    page.on("dialog", lambda box: box.accept())
    page.route(ANSWER, lambda route: route.abort())
    for _ in range(2):
        press(page, "ArrowRight")
    expect(page.locator("#network")).to_contain_text("No connection: 2 answers")
    root = ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"]
    client.headers["Authorization"] = f"Bearer {root}"
    anna = ok(client.post("/projects/rain/keys", json={"role": "answer", "name": "anna"}))["key"]
    page.unroute(ANSWER)
    waiting = "2 answers from before there were keys are waiting in this browser"
    page.goto(f"{home(client)}#/rain/answer?key={anna}")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    online(page)
    expect(page.locator("#others")).to_contain_text(f"{waiting}; an admin who opens the project here can send them.")
    expect(page.get_by_role("button", name="Send as mine")).to_be_hidden()
    press(page, "ArrowRight")
    expect(page.locator("#network")).to_have_text("Your answers are saved")
    assert state(client)["people"] == {"anna": 1}
    page.goto(f"{home(client)}#/rain/answer?key={root}")
    expect(page.locator("#who")).to_contain_text("Signed in as root")
    expect(page.locator("#others")).to_contain_text(f"{waiting}; send them if you gave them.")
    page.get_by_role("button", name=does).click()
    expect(page.locator("#others")).to_be_hidden()
    saved(page)
    assert stored(page, "out") == stored(page, "refused") == 0
    assert state(client)["people"] == {"anna": 1, **({"root": 2} if does == "Send as mine" else {})}


def test_answers_of_a_project_that_nobody_looks_at_are_sent(answering: Any) -> None:
    page, client = answering
    set_up(client, "snow", learner="NewtonLogit")
    page.route(ANSWER, fulfilled(503, refusal("busy")))
    press(page, "ArrowRight")
    expect(page.locator("#network")).to_contain_text("1 answer waits")
    page.goto(home(client) + "#/snow/watch")
    expect(page.locator(".figures")).to_be_visible()
    expect(page.locator("#network")).to_contain_text("1 answer waits")
    page.reload()
    expect(page.locator("#network")).to_contain_text("1 answer waits")
    page.unroute(ANSWER)
    online(page)
    saved(page)
    assert state(client)["answers"] == 1


def test_damaged_storage_is_reported_and_breaks_nothing(answering: Any) -> None:
    page, client = answering
    press(page, "ArrowRight")
    saved(page)
    page.goto("about:blank")
    page.goto(home(client))
    page.evaluate(
        """() => {
          for (const shelf of [localStorage, sessionStorage])
            for (const key of Object.keys(shelf)) shelf.setItem(key, '{"half": ');
          for (const key of ["seen", "me", "count"]) localStorage.setItem(`dford.${key}.rain`, "[7]");
          for (const key of ["ahead", "done", "asking"])
            sessionStorage.setItem(`dford.${key}.rain`, '[null, 7, {"a": 1}]');
          localStorage.setItem("dford.untried", "[]");
          localStorage.setItem("dford.key.rain", "a key with “quotes”");
          localStorage.setItem("dford.out.rain/1", '{"question": 1, "act": "ans');
        }"""
    )
    page.goto(home(client) + "#/rain/answer")
    page.reload()
    expect(page.locator(".question em")).to_be_visible()
    expect(page.locator("#refused")).to_contain_text("damaged and cannot be sent")
    press(page, "ArrowRight")
    expect(page.locator(".counts")).to_contain_text("2 of 30 done")
    page.get_by_role("button", name="Dismiss").click()
    saved(page)
    assert state(client)["answers"] == 2


class Gateway(BaseHTTPRequestHandler):
    """A proxy whose server is gone."""

    def do_GET(self) -> None:
        self.send_response(502)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(HTML)))
        self.end_headers()
        self.wfile.write(HTML.encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


def test_a_proxy_without_its_server_is_like_no_network(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
        page.evaluate("navigator.serviceWorker.ready.then(() => undefined)")
        port = client.base_url.port
    with ThreadingHTTPServer(("127.0.0.1", port), Gateway) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        page.reload()
        press(page, "ArrowRight")
        expect(page.locator("#network")).to_contain_text(
            "1 answer waits in this browser and will be sent again: A proxy"
        )
        proxy.shutdown()
    with serving(tmp_path / "log.db", port=port) as client:
        online(page)
        saved(page)
        assert state(client)["answers"] == 1


def test_storage_that_is_switched_off_takes_no_answer_and_says_so(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    for name in ("localStorage", "sessionStorage"):
        page.add_init_script(
            f"Object.defineProperty(window, '{name}', {{ get() {{ throw new DOMException('no'); }} }})"
        )
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#notices")).to_contain_text("switched off, so this could not be saved")
        expect(page.locator(".counts")).to_contain_text("0 of 30 done")


def test_full_storage_takes_no_answer_and_says_so(answering: Any) -> None:
    page, client = answering
    page.evaluate(
        """() => {
          for (let size = 4_000_000; size >= 1; size = Math.floor(size / 2))
            try { for (let n = 0; ; n++) localStorage.setItem(`fill ${size} ${n}`, "x".repeat(size)); } catch {}
        }"""
    )
    shown = page.locator(".item .text").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#notices")).to_contain_text("could not be saved")
    assert page.locator(".item .text").inner_text() == shown
    page.evaluate(
        "for (const key of Object.keys(localStorage)) if (key.startsWith('fill')) localStorage.removeItem(key)"
    )
    press(page, "ArrowRight")
    saved(page)
    assert state(client)["answers"] == 1
