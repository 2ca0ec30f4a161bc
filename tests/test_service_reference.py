"""The HTTP reference: nothing left out, no example untried, nothing from elsewhere."""

import ast
import doctest
import html.parser
import itertools
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page as BrowserPage

from browsing import home
from dford import document as pages
from dford.service.http import reference
from dford.service.http.server import configured
from dford.service.projects import keys
from dford.service.refusal import CODES
from dford.service.settings import Settings
from serving import learned, serving

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dford" / "service"
LEAVES_NO_ANSWER = "POST /projects/rain/questions/1/retract"


@pytest.fixture(scope="module")
def document() -> Any:
    service: Any = SimpleNamespace(settings=Settings())  # nothing is served
    app: Any = configured(service, "test").app
    return app.openapi()


def operations(document: Any) -> list[Any]:
    return [one for methods in document["paths"].values() for one in methods.values()]


class Page(html.parser.HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_docs_have_the_current_reference(document: Any) -> None:
    written = pages.markdown(list(reference.reference(document)))
    assert (ROOT / "docs" / "http.md").read_text() == written, "run: make docs/http.md"


def test_every_operation_says_what_it_does_for_whom_and_shows_it(document: Any) -> None:
    for one in operations(document):
        assert one["summary"].endswith((".", ":")), one["operationId"]
        binary = "application/octet-stream" in one.get("requestBody", {}).get("content", {})
        assert ("```\ncurl" if binary else "\n→ ") in one["description"], one["operationId"]
        assert "security" in one or one["operationId"].startswith("health"), one["operationId"]


def test_every_refusal_in_the_source_is_documented_and_no_other() -> None:
    found = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal":
                status, code = node.args[:2]
                if isinstance(code, ast.Constant):
                    assert isinstance(status, ast.Constant)
                    found.add((status.value, code.value))
                else:  # of HTTP itself, or one that is repeated with its place
                    assert ast.unparse(code) in {"f'http-{error.status_code}'", "refusal.code", "error.code"}
    # what columns cannot take, as the library says
    codes = re.compile("not-an?-[a-z]+|no-encoder|unknown-column")
    for file in (SOURCE.parent / "columns").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and codes.fullmatch(str(node.value)):
                found.add((422, node.value))
    assert set(CODES) == found
    assert list(CODES) == sorted(CODES)


def test_every_example_is_what_the_server_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the reference, as one story; `...` stands for anything."""
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with serving(tmp_path / "log.db") as client:
        made = client.service.write(None, lambda connection: keys.create(connection, None, "admin", "root"))
        ids = iter(["4f0c2a91b6d3", "4f0c2a91b6d4"])
        monkeypatch.setattr(secrets, "token_hex", lambda _: next(ids))
        client.headers["Authorization"] = f"Bearer {made[1]}"
        all_blocks = reference.reference(client.get("/openapi.json").json())
        examples = [block.text for block in all_blocks if isinstance(block, pages.Code) and "\n→ " in block.text]
        examples.sort(key=lambda text: text.startswith(LEAVES_NO_ANSWER))
        for example in examples:
            sent, _, expected = example.partition("\n→ ")
            line, *rest = sent.split("\n")
            headers = dict(one.split(": ") for one in rest if re.match(r"[A-Z][\w-]+: ", one))
            body = "\n".join(rest[len(headers) :])
            headers["Content-Type"] = "text/csv" if line.endswith(".csv") else "application/json"
            response = client.request(*line.split(), content=body.encode(), headers=headers)
            if line.endswith("/answer"):
                learned(client, "/projects/rain")
            status, _, shown = expected.partition("\n")
            assert response.status_code == int(status), (example, response.text)
            is_json = response.content.startswith((b"{", b"["))
            got = json.dumps(response.json()) if is_json else response.text
            assert not shown or checker.check_output(shown + "\n", got.rstrip("\n") + "\n", flags), (shown, got)


def test_the_page_is_complete_and_asks_nobody_else(tmp_path: Path, document: Any) -> None:
    with serving(tmp_path / "log.db") as client:
        response = client.get("/docs")
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        page = Page(response.text)
        style = client.get("/page/reference.css")
        assert style.headers["Content-Type"].startswith("text/css")
        assert client.get("/redoc").status_code == 404
    assert not {"script", "style", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert not {"style", "onclick", "src"} & {name for _, attributes in page.tags for name in attributes}
    assert not re.search(r"url\(|@import|http", style.text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for tag, attributes in page.tags:
        if tag == "a":
            assert (attributes["href"] or "")[1:] in ids
        elif "href" in attributes:
            assert attributes["href"] in {"/page/reference.css", "/page/icon.svg"}
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(later <= before + 1 for before, later in itertools.pairwise(levels))
    for path in document["paths"]:
        assert path in page.text
    for schema in document["components"]["schemas"].values():
        for name, field in schema["properties"].items():
            assert name in page.text
            assert field.get("description", name) in page.text


SCREENS = [("light", 360), ("dark", 1920)]  # no style depends on both


def test_the_page_is_accessible_on_a_phone_and_a_wide_screen(
    tmp_path: Path, new_page: Callable[..., BrowserPage]
) -> None:
    with serving(tmp_path / "log.db") as client:
        for scheme, width in SCREENS:
            page = new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(home(client) + "docs")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert Axe().run(page).response["violations"] == []
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            assert page.url.endswith("/docs#text")


@given(text=st.text())
def test_text_is_only_text(text: str) -> None:
    every = [pages.Heading(2, text), pages.Code(text), pages.Entries([(text, text)]), *pages.prose(text)]
    every += [pages.Table([text], [[text]])]
    page, empty = (Page(pages.page(some, text, "", contents=True)) for some in (every, []))
    own = {"h2", "pre", "code", "dl", "dt", "dd", "p", "a", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in empty.tags} | own


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_stands_out_from_its_background() -> None:
    """WCAG's AA: 4.5 to 1, in light and in dark."""
    themes = re.findall(r":root \{(.*?)\}", (SOURCE / "page" / "reference.css").read_text(), re.DOTALL)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--(\w+): (#\w{6})", theme))
        for ink in ("ink", "quiet", "link"):
            for ground in ("ground", "shade"):
                low, high = sorted(luminance(colours[name]) for name in (ink, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)
