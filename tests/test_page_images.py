"""Images on the page: shown, fetched ahead, zoomed and uploaded. The server's two routes for them are faked here."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image, ImageDraw
from playwright.sync_api import Page, Route, expect

from browsing import home, saved, wait_for
from serving import ok, serving

FILES = [
    "trips/red_house-01.png",
    "blue.lake.png",
    "broken.png",
    "gone.png",
    *(f"more/field {n}.png" for n in range(8)),
]
COLOURS = [(200, 30, 30), (30, 30, 200)]
MIDDLE = """canvas => {
  const { width, height } = canvas;
  return [...canvas.getContext('2d').getImageData(width / 2, height / 2, 1, 1).data.slice(0, 3)];
}"""


def png(colour: tuple[int, ...], size: tuple[int, int] = (1600, 1000)) -> bytes:
    """A frame around a colour, so that cut edges would show."""
    image = Image.new("RGB", size, colour)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0] - 1, size[1] - 1), outline="white", width=40)
    for x in range(0, size[0], 100):
        draw.line((x, 0, size[0] - x, size[1]), fill="yellow", width=2)
    draw.rectangle((size[0] // 3, size[1] // 3, 2 * size[0] // 3, 2 * size[1] // 3), fill=colour)
    image.save(file := io.BytesIO(), "PNG")
    return file.getvalue()


@pytest.fixture
def photos(tmp_path: Path) -> Iterator[Any]:
    columns = [
        {"name": "image", "kind": "shown"},
        {"name": "name", "kind": "shown"},
        {"name": "size", "kind": "number"},
    ]
    with serving(tmp_path / "log.db") as client:
        body = {"name": "photos", "levels": ["dull", "fair", "vivid"], "columns": columns, "learner": "NewtonLogit"}
        ok(client.post("/projects", json={**body, "choice": "turns"}))
        items = [{"image": f"{n:064}.png", "name": name, "size": n} for n, name in enumerate(FILES)]
        ok(client.post("/projects/photos/items", json={"items": items}))
        yield client


def with_images(page: Page) -> list[int]:
    """Make the column one of images that the server has; returns the items asked for, a list that grows."""
    asked: list[int] = []

    def described(route: Route) -> None:
        reply = route.fetch()
        project = reply.json()
        project["columns"][0]["kind"] = "image"
        route.fulfill(response=reply, json=project)

    def image(route: Route) -> None:
        item = int(route.request.url.split("/")[-3])
        assert route.request.url.endswith("/images/image")
        asked.append(item)
        if FILES[item - 1] == "gone.png":
            problem = {"code": "no-image", "sentence": "the folder has no such file", "field": None}
            route.fulfill(status=404, json=problem)
        else:
            broken = FILES[item - 1] == "broken.png"
            route.fulfill(content_type="image/png", body=b"\x89PNG..." if broken else png(COLOURS[item % 2]))

    page.route(re.compile(r"/projects/photos$"), described)
    page.route(re.compile(r"/items/\d+/images/"), image)
    return asked


def open_item(page: Page, client: Any, number: int = 1) -> None:
    page.goto(f"{home(client)}#/photos/answer?item={number}")
    expect(page.locator(".buttons .yes")).to_be_enabled()


@pytest.mark.parametrize("size", [(360, 640), (1280, 800)])
def test_an_image_is_shown_in_full_above_the_rest_and_has_a_name(
    photos: Any, new_page: Callable[..., Page], size: tuple[int, int]
) -> None:
    page = new_page(viewport={"width": size[0], "height": size[1]})
    with_images(page)
    open_item(page, photos)
    image = page.get_by_role("img", name="red house 01", exact=True)
    expect(image).to_be_visible()
    assert image.evaluate(MIDDLE) == list(COLOURS[1])
    expect(page.locator(".item .text")).to_have_text("trips/red_house-01.png")
    expect(page.locator(".item")).not_to_contain_text("0000")  # its name on the server is nobody's concern
    box, frame = image.bounding_box(), page.locator(".item").bounding_box()
    assert box is not None
    assert frame is not None
    assert frame["x"] <= box["x"]
    assert frame["y"] <= box["y"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    assert box["width"] > 0.8 * frame["width"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_a_text_does_not_wait_for_its_image_and_nothing_moves_when_it_comes(
    photos: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    with_images(page)
    held: list[Route] = []
    page.route(re.compile(r"/items/1/images/"), lambda route: held.append(route))
    open_item(page, photos)
    expect(page.locator(".picture")).to_have_text("Loading the image…")
    text = page.locator(".item .text")
    before = text.bounding_box()
    held[0].fallback()
    expect(page.get_by_role("img", name="red house 01")).to_be_visible()
    assert text.bounding_box() == before


def test_the_next_image_is_there_before_the_answer(photos: Any, new_page: Callable[..., Page]) -> None:
    page = new_page()
    asked = with_images(page)
    with page.expect_response(re.compile("/items/2/images/image")):
        open_item(page, photos)
    expect(page.get_by_role("img", name="red house 01")).to_be_visible()
    wait_for(page, "performance.getEntriesByType('resource').some(one => one.name.includes('/items/3/images/'))")
    assert {1, 2, 3} <= set(asked)
    label, pixel = page.evaluate("""() => {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      const canvas = document.querySelector(".item canvas");
      const { data } = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
      return [canvas.getAttribute("aria-label"), [...data]];
    }""")
    assert label == "blue lake", "within the key press itself"
    assert pixel == [*COLOURS[0], 255]
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("img", name="red house 01")).to_be_visible()
    assert len(asked) == len(set(asked)), "none was fetched twice"


def test_no_more_images_are_kept_than_there_is_room_for(photos: Any, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with_images(page)
    page.goto(home(photos))
    kept = page.evaluate(
        """async (file) => {
      const { Images } = await import("/page/images.js");
      const content = await (await fetch(file)).blob();
      const made = [];
      const make = createImageBitmap;
      globalThis.createImageBitmap = async (...all) => { const one = await make(...all); made.push(one); return one; };
      const images = new Images({ send: async () => content });
      const open = () => made.filter(({ width }) => width).length;  // one that is closed has none
      for (let n = 0; n < 60; n += 3) await images.fetchAhead([n, n + 1, n + 2].map(String));
      const after = open();
      images.close();
      globalThis.createImageBitmap = make;
      return [made.length, after, open()];
    }""",
        "/projects/photos/items/1/images/image",
    )
    assert kept[0] == 60
    assert 3 <= kept[1] <= 20
    assert kept[2] == 0


@pytest.mark.parametrize(("item", "why"), [(3, "The file is damaged"), (4, "The folder has no such file.")])
def test_an_image_that_cannot_be_shown_says_so_and_can_be_skipped(
    photos: Any, new_page: Callable[..., Page], item: int, why: str
) -> None:
    page = new_page()
    with_images(page)
    open_item(page, photos, item)
    expect(page.locator(".picture")).to_contain_text(f"This image cannot be shown: {FILES[item - 1]}. {why}")
    expect(page.get_by_role("button", name="Zoom")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".last")).to_have_text("Last: skipped")
    expect(page.locator(".item canvas")).to_be_visible()
    saved(page)
    assert ok(photos.get("/projects/photos/state"))["items_done"] == 1


def test_an_image_lost_to_a_broken_connection_comes_later(photos: Any, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with_images(page)
    lost: list[str] = []

    def lose(route: Route) -> None:
        if lost:
            route.fallback()
        else:
            lost.append(route.request.url)
            route.abort("connectionreset")

    page.route(re.compile(r"/items/1/images/"), lose)
    open_item(page, photos)
    expect(page.locator(".picture")).to_contain_text("The server cannot be reached.")
    expect(page.get_by_role("img", name="red house 01")).to_be_visible()


def test_z_shows_actual_pixels_and_the_arrows_still_answer(photos: Any, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 800, "height": 700})
    with_images(page)
    open_item(page, photos)
    image = page.get_by_role("img", name="red house 01")
    expect(image).to_be_visible()
    button = page.get_by_role("button", name="Zoom")
    fitted = image.bounding_box()

    def place() -> list[float]:
        found: list[float] = page.locator(".item").evaluate("box => [box.scrollLeft, box.scrollTop]")
        return found

    page.keyboard.press("z")
    expect(button).to_have_attribute("aria-pressed", "true")
    box = image.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (1600, 1000)
    across, down = place()
    assert across > 0
    assert down > 0
    page.keyboard.press("Shift+ArrowLeft")
    assert place() == [across - 80, down]
    page.keyboard.press("Home")
    assert place()[1] == 0
    page.keyboard.press("Space")
    assert place()[1] > 0
    expect(page.locator(".last")).to_have_text("")
    page.mouse.move(400, 300)
    page.mouse.down()
    before = place()
    page.mouse.move(360, 280)
    page.mouse.up()
    assert place() == [before[0] + 40, before[1] + 20]
    expect(button).to_have_attribute("aria-pressed", "true")  # a drag is not a click
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert image.bounding_box() == fitted
    image.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    image.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".last")).to_contain_text("Last: above")
    expect(page.get_by_role("img", name="blue lake")).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "false")  # the next one is fitted


@pytest.mark.parametrize("width", [360, 1280])
def test_the_least_certain_items_have_small_pictures(photos: Any, new_page: Callable[..., Page], width: int) -> None:
    page = new_page(viewport={"width": width, "height": 800})
    with_images(page)
    page.goto(home(photos) + "#/photos/watch")
    image = page.locator(".unsure").get_by_role("img", name="red house 01")
    expect(image).to_be_visible()
    assert image.evaluate(MIDDLE) == pytest.approx(COLOURS[1], abs=2)
    assert image.evaluate("({ width, height }) => [width, height]") == [128, 80]
    expect(page.locator(".unsure li").filter(has_text="gone.png")).to_contain_text("This image cannot be shown")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


class Uploads:
    """The route that takes images: each Idempotency-Key once; the first response to every file may be lost."""

    def __init__(self, page: Page, project: str, lose: bool = False) -> None:
        self.lose = lose
        self.sent: list[str] = []
        self.added: dict[str, tuple[str, bytes]] = {}
        page.route(re.compile(rf"/projects/{project}/images\?"), self.take)

    def take(self, route: Route) -> None:
        request, key = route.request, route.request.headers["idempotency-key"]
        assert request.headers["content-type"] == "application/octet-stream"
        name = parse_qs(urlsplit(request.url).query)["name"][0]
        content = request.post_data_buffer or b""
        self.sent.append(name)
        if name == "bad.png":
            sentence = "'bad.png' was refused: it is cut off"
            route.fulfill(status=422, json={"code": "not-an-image", "sentence": sentence, "field": "body"})
            return
        is_new = key not in self.added
        self.added[key] = (name, content)
        if self.lose and is_new:
            route.abort("connectionreset")
        else:
            route.fulfill(status=201, json={"first": len(self.added), "count": 1, "columns": []})

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.added.values()]


@pytest.fixture
def chosen(tmp_path: Path) -> list[Path]:
    """Two images, and a file that is not one."""
    files = [tmp_path / "a & b.png", tmp_path / "notes.txt", tmp_path / "b.png"]
    for file, content in zip(files, [png((1, 2, 3), (40, 30)), b"size\n1\n", png((9, 9, 9), (30, 40))], strict=True):
        file.write_bytes(content)
    return files


def test_images_are_added_and_other_files_are_reported_by_name(
    photos: Any, new_page: Callable[..., Page], chosen: list[Path]
) -> None:
    page = new_page()
    with_images(page)
    uploads = Uploads(page, "photos")
    bad = chosen[0].parent / "bad.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    page.goto(home(photos) + "#/photos/setup")
    with page.expect_file_chooser() as chooser:
        page.locator("#file").click()
    chooser.value.set_files([bad, *chosen])
    expect(page.locator(".drop .note")).to_contain_text("3 files to send. Left out: notes.txt is not a PNG, JPEG")
    page.get_by_role("button", name="Add items").click()
    expect(page.locator("#notices")).to_contain_text("2 items were added.")
    expect(page.locator("#notices")).to_contain_text("bad.png was not added: 'bad.png' was refused: it is cut off.")
    assert list(uploads.added.values()) == [(file.name, file.read_bytes()) for file in (chosen[0], chosen[2])]
    expect(page.get_by_role("button", name="Add items")).to_be_disabled()


def test_images_whose_responses_were_lost_are_added_once_to_a_new_project(
    photos: Any, new_page: Callable[..., Page], chosen: list[Path]
) -> None:
    page = new_page()
    uploads = Uploads(page, "holiday", lose=True)
    page.goto(home(photos) + "#/new")
    page.set_input_files("#file", chosen)
    expect(page.get_by_label("Project name")).to_have_value("images")
    page.get_by_label("Project name").fill("holiday")
    button = page.get_by_role("button", name="Create project")
    for done in (0, 1):
        button.click()
        expect(page.locator("#notices")).to_contain_text("The server cannot be reached")
        expect(page.locator(".drop .note")).to_contain_text(f"Stopped: {done} of 2 files sent")
        page.get_by_role("button", name="Dismiss this message").click()
        with page.expect_file_chooser() as chooser:  # somebody chooses them again
            page.locator("#file").click()
        chooser.value.set_files(chosen)
        expect(page.locator(".drop .note")).to_contain_text("2 files to send.")
    button.click()
    expect(page).to_have_url(re.compile("#/holiday/answer"))
    assert uploads.names == ["a & b.png", "b.png"]
    assert uploads.sent == ["a & b.png", "a & b.png", "b.png", "b.png"], "what the server has is not sent again"
    assert ok(photos.get("/projects/holiday"))["columns"] is None  # the images decide


def test_a_new_project_whose_images_were_all_refused_is_reported(
    photos: Any, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page, bad = new_page(), tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    page.goto(home(photos) + "#/new")
    page.set_input_files("#file", bad)
    page.get_by_role("button", name="Create project").click()
    expect(page.locator("#notices")).to_contain_text(re.compile("^bad.png was not added: "))
    expect(page.locator("#notices")).to_contain_text("Project bad was created, but has no items.")
    expect(page.get_by_label("Project name")).to_have_value("bad-2")


def test_without_an_image_only_one_csv_file_is_taken(
    photos: Any, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for file in files:
        file.write_text("size\n1\n2\n")
    page = new_page()
    page.goto(home(photos) + "#/new")
    page.set_input_files("#file", files)
    expect(page.locator(".drop .note")).to_have_text("None of these files is an image. Choose one CSV file at a time.")
    expect(page.get_by_role("button", name="Create project")).to_be_disabled()
    page.set_input_files("#file", files[:1])
    expect(page.get_by_text("2 items in one.csv")).to_be_visible()


def test_images_need_no_looser_content_security_policy(photos: Any) -> None:
    policy = photos.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) == {"'self'", "'none'"}, "no blob:, no data:, nothing from elsewhere"
