"""Keys on the page: kept only once the server has accepted them, and never silently in place of another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from browsing import home, online, press, saved, stored
from serving import ok, serving, set_up

ANSWER = "**/questions/*/answer"


@pytest.fixture
def guarded(tmp_path: Path, new_page: Callable[..., Page]) -> Any:
    """A server with keys; a page that has the admin's; and keys of others, by name."""
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        set_up(client, "snow", learner="NewtonLogit")
        keys = {"root": ok(client.post("/keys", json={"role": "admin", "name": "root"}))["key"]}
        client.headers["Authorization"] = f"Bearer {keys['root']}"
        for name, project in {"anna": "rain", "ben": "rain", "cleo": "snow"}.items():
            keys[name] = ok(client.post(f"/projects/{project}/keys", json={"role": "answer", "name": name}))["key"]
        keys["dora"] = ok(client.post("/keys", json={"role": "answer", "name": "dora"}))["key"]
        page = new_page()
        page.goto(f"{home(client)}#/?key={keys['root']}")
        expect(page.get_by_role("heading", name="Projects")).to_be_visible()
        yield page, client, keys
        page.close()


def kept(page: Page) -> dict[str, str]:
    found = page.evaluate(
        "Object.fromEntries(Object.entries(localStorage).filter(([name]) => /key|untried/.test(name)))"
    )
    return {name.removeprefix("dford."): value for name, value in found.items()}


def test_a_wrong_key_in_a_link_leaves_the_one_that_works(guarded: Any) -> None:
    page, client, keys = guarded
    for wrong in ("wrong", "%E2%80%9Cquoted%E2%80%9D", keys["root"][:-1], ""):
        page.goto(f"{home(client)}#/rain/answer?key={wrong}")
        expect(page.locator("#notices")).to_contain_text("The key in the link was not accepted. This key is not valid")
        expect(page.locator(".question em")).to_be_visible()
        expect(page.locator("#who")).to_contain_text("Signed in as root")
        assert "key" not in page.evaluate("location.href")
        page.get_by_role("button", name="Dismiss this message").click()
        page.goto(f"{home(client)}#/?key={wrong}")
        expect(page.locator("#notices")).to_contain_text("was not accepted")
        expect(page.get_by_role("heading", name="Projects")).to_be_visible()
        page.get_by_role("button", name="Dismiss this message").click()
    assert kept(page) == {"key": keys["root"]}


def test_a_key_is_kept_for_what_it_opens_and_no_more(guarded: Any) -> None:
    page, client, keys = guarded
    page.goto(f"{home(client)}#/?key={keys['anna']}")  # a project's key, without its name
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    expect(page.locator(".question em")).to_be_visible()
    assert kept(page) == {"key": keys["root"], "key.rain": keys["anna"]}
    page.goto(f"{home(client)}#/rain/answer?key={keys['cleo']}")  # another project's
    expect(page.locator("#notices")).to_contain_text("It is a key for the project snow")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    page.goto(f"{home(client)}#/snow/answer?key={keys['dora']}")  # for the whole server, but in a link to one project
    expect(page.locator("#who")).to_contain_text("Signed in as dora")
    assert kept(page) == {"key": keys["root"], "key.rain": keys["anna"], "key.snow": keys["dora"]}
    expect(page.locator(".question em")).to_be_visible()
    page.get_by_role("button", name="Forget this key").click()
    expect(page.locator("#who")).to_contain_text("Signed in as root")
    expect(page.get_by_role("link", name="Set up")).to_be_visible()
    assert kept(page) == {"key": keys["root"], "key.rain": keys["anna"]}


def test_a_key_that_works_is_replaced_by_another_persons_only_on_consent(guarded: Any) -> None:
    page, client, keys = guarded
    asked: list[str] = []

    def reply(box: Dialog) -> None:
        asked.append(box.message)
        if len(asked) == 1:
            box.dismiss()
        else:
            box.accept()

    page.on("dialog", reply)
    page.goto(f"{home(client)}#/rain/answer?key={keys['anna']}")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    for name in ("anna", "ben"):  # no, and then yes
        page.goto(f"{home(client)}#/rain/watch?key={keys['ben']}")
        expect(page.get_by_role("heading", name="Watch")).to_be_visible()
        expect(page.locator("#who")).to_contain_text(f"Signed in as {name}")
        page.goto(f"{home(client)}#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
    assert len(asked) == 2
    assert "a key for anna (answer)" in asked[0]
    # one that is revoked is replaced without asking, and so is another key of the same person
    ids = {key["name"]: key["id"] for key in ok(client.get("/projects/rain/keys"))}
    assert client.delete(f"/projects/rain/keys/{ids['ben']}").status_code == 204
    again = ok(client.post("/projects/rain/keys", json={"role": "answer", "name": "anna"}))["key"]
    for key in (keys["anna"], again):
        page.goto(f"{home(client)}#/rain/watch?key={key}")
        expect(page.locator("#who")).to_contain_text("Signed in as anna")
        page.goto(f"{home(client)}#/rain/answer")
        expect(page.locator(".question em")).to_be_visible()
    assert kept(page) == {"key": keys["root"], "key.rain": again}


def test_without_a_network_a_key_waits_until_it_can_be_tried(guarded: Any) -> None:
    page, client, keys = guarded
    page.goto(f"{home(client)}#/rain/answer")
    expect(page.locator(".question em")).to_be_visible()
    page.route("**/me", lambda route: route.abort())
    page.goto(f"{home(client)}#/rain/answer?key={keys['anna']}")
    expect(page.locator(".question em")).to_be_visible()
    assert kept(page)["key"] == keys["root"]
    page.reload()
    expect(page.locator(".question em")).to_be_visible()
    page.unroute("**/me")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    assert kept(page) == {"key": keys["root"], "key.rain": keys["anna"]}
    press(page, "ArrowRight")
    saved(page)
    assert ok(client.get("/projects/rain/state"))["people"] == {"anna": 1}


def answered_offline(page: Page, client: Any, key: str, count: int) -> None:
    """The person signs in and answers, and no answer that is sent with this key reaches the server."""

    def lose(route: Route) -> None:
        if route.request.headers["authorization"] == f"Bearer {key}":
            route.abort()
        else:
            route.continue_()

    page.goto(f"{home(client)}#/rain/answer?key={key}")
    page.context.route(ANSWER, lose)
    for _ in range(count):
        press(page, "ArrowRight")
    expect(page.locator("#network")).to_contain_text(f"No connection: {count} answers are kept in this browser")


def people(client: Any) -> dict[str, int]:
    found: dict[str, int] = ok(client.get("/projects/rain/state"))["people"]
    return found


def test_answers_that_wait_are_sent_with_the_key_of_the_person_who_gave_them(guarded: Any) -> None:
    page, client, keys = guarded
    page.on("dialog", lambda box: box.accept())
    answered_offline(page, client, keys["anna"], 3)
    page.goto(f"{home(client)}#/rain/answer?key={keys['root']}")  # who may answer anybody's questions
    expect(page.locator("#who")).to_contain_text("Signed in as root")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    online(page)
    waiting = "3 answers by anna are waiting in this browser; open anna's link here to send them."
    expect(page.locator("#others")).to_contain_text(waiting)
    expect(page.locator("#network")).to_have_text("Your answers are saved")
    press(page, "ArrowRight")
    expect(page.locator("#network")).to_have_text("Your answers are saved")
    assert people(client) == {"root": 1}
    page.reload()
    expect(page.locator(".question em")).to_be_visible()
    expect(page.locator("#others")).to_contain_text(waiting)
    page.context.unroute(ANSWER)
    page.goto(f"{home(client)}#/rain/answer?key={keys['anna']}")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    saved(page)
    expect(page.locator("#others")).to_be_hidden()
    assert people(client) == {"root": 1, "anna": 3}


def test_signing_out_or_in_elsewhere_sends_nobodys_answers_as_another_person(guarded: Any) -> None:
    """The key of the whole server comes into use, and a second window changes the key of the first."""
    page, client, keys = guarded
    page.on("dialog", lambda box: box.accept())
    answered_offline(page, client, keys["anna"], 2)
    page.get_by_role("button", name="Forget this key").click()
    expect(page.locator("#who")).to_contain_text("Signed in as root")
    online(page)
    expect(page.locator("#others")).to_contain_text("2 answers by anna are waiting")
    other = page.context.new_page()
    other.goto(f"{home(client)}#/rain/answer?key={keys['ben']}")
    for window in (other, page):
        expect(window.locator("#who")).to_contain_text("Signed in as ben")
        expect(window.locator("#others")).to_contain_text("2 answers by anna are waiting")
    press(page, "ArrowLeft")
    expect(page.locator("#network")).to_have_text("Your answers are saved")
    assert people(client) == {"ben": 1}
    page.get_by_role("button", name="Discard").click()
    for window in (other, page):
        expect(window.locator("#others")).to_be_hidden()
        saved(window)
    assert stored(page, "out") == 0
    assert people(client) == {"ben": 1}


def test_answers_under_a_key_that_was_revoked_wait_for_the_next_key_of_that_person(guarded: Any) -> None:
    page, client, keys = guarded
    answered_offline(page, client, keys["anna"], 2)
    ids = {key["name"]: key["id"] for key in ok(client.get("/projects/rain/keys"))}
    assert client.delete(f"/projects/rain/keys/{ids['anna']}").status_code == 204
    page.context.unroute(ANSWER)
    online(page)
    expect(page.locator("#network")).to_contain_text("2 answers wait in this browser")
    assert people(client) == {}
    again = ok(client.post("/projects/rain/keys", json={"role": "answer", "name": "anna"}))["key"]
    page.goto(f"{home(client)}#/rain/answer?key={again}")
    expect(page.locator("#who")).to_contain_text("Signed in as anna")
    saved(page)
    assert people(client) == {"anna": 2}
