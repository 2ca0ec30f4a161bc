"""Keys on the page: kept only once the server has accepted them, and never silently in place of another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from browsing import home, press, saved
from serving import ok, serving, set_up


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
