"""What the tests in a browser share."""

import shutil
from typing import Any

from playwright.sync_api import Page, expect

# The shell first: it opens a page in a third of the processor time, as it draws no window around it.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def home(client: Any) -> str:
    """The address of the page."""
    return str(client.base_url).rstrip("/") + "/"


def asked_about(page: Page) -> str:
    """What the page shows of the item, once there is a question."""
    expect(page.locator(".buttons .yes")).to_be_enabled()
    return page.locator(".item").inner_text()


def asked_ahead(page: Page, count: int = 3) -> None:
    """The page has so many questions at hand that it can go on with them by itself."""
    key = "Object.keys(sessionStorage).find(key => key.startsWith('dford.ahead.'))"
    wait_for(page, f"count => JSON.parse(sessionStorage.getItem({key}) ?? '[]').length >= count", count)


def press(page: Page, key: str) -> None:
    """Press a key once the question is there, and see something else at once."""
    before = asked_about(page)
    page.keyboard.press(key)
    expect(page.locator(".item")).not_to_have_text(before, use_inner_text=True)


def wait_for(page: Page, condition: str, argument: Any = None) -> None:
    """Playwright's `wait_for_function` evaluates a string in the page, and the page's policy refuses that."""
    while not page.evaluate(condition, argument):
        page.wait_for_timeout(10)


def saved(page: Page) -> None:
    expect(page.locator("#network")).to_have_text("Everything is saved")


def online(page: Page) -> None:
    """Send what is waiting now, not after a pause."""
    page.evaluate("dispatchEvent(new Event('online'))")


def stored(page: Page, what: str) -> int:
    """How many entries of this kind are in the browser's storage."""
    keys = page.evaluate("Object.keys(localStorage)")
    return sum(str(key).startswith(f"dford.{what}.") for key in keys)
