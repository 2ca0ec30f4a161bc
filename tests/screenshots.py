"""The pictures of the page in docs/page: `make screenshots`, with a chromium on the machine."""

import io
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from browsing import CHROMIUM, FLAGS
from dford.service.demo_projects import LEVELS, add_demo_projects, severity
from serving import serving

FOLDER = Path(__file__).parent.parent / "docs" / "page"


def is_above(page: Page) -> bool:
    """The answer to the question that the page asks."""
    expect(page.locator(".item dd")).to_have_count(5)
    names, values = (page.locator(f".item {tag}").all_inner_texts() for tag in ("dt", "dd"))
    day = {name: value if name == "sky" else float(value) for name, value in zip(names, values, strict=True)}
    return severity(day) > LEVELS.index(page.locator(".question em").inner_text()) + 1


def answer(page: Page, count: int) -> None:
    for _ in range(count):
        before = page.locator(".item").inner_text()
        page.keyboard.press("ArrowRight" if is_above(page) else "ArrowLeft")
        expect(page.locator(".item")).not_to_have_text(before, use_inner_text=True)
        time.sleep(1.5)  # as fast as a person reads, for a true pace in the picture


def take(page: Page, name: str, whole: bool = False) -> None:
    time.sleep(2.0)  # until animations have ended
    page.screenshot(path=FOLDER / f"{name}.png", full_page=whole)


def film(page: Page, count: int) -> None:
    """The page in use: a question, the key that answers it, the next one; as an animated picture."""
    size, frames, times = (640, 467), [], []
    for _ in range(count):
        for seconds in (1.4, 0.3):  # to read, and to see the key go down
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(size, Image.Resampling.LANCZOS)
            frames.append(shot.quantize(64, dither=Image.Dither.NONE))
            times.append(int(1000 * seconds))
            if seconds > 1:
                page.locator(".buttons .yes").hover() if is_above(page) else page.locator(".buttons .no").hover()
        answer(page, 1)
    frames[0].save(
        FOLDER / "use.gif", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True
    )  # fmt: skip


def main() -> None:
    if CHROMIUM is None:
        raise SystemExit("there is no chromium on this machine")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "log.db"
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 960, "height": 700})
        page = context.new_page()
        with serving(file) as client:
            add_demo_projects(client.service)
            home = str(client.base_url).rstrip("/")
            page.goto(f"{home}/#/new")
            page.set_input_files("#file", _sheet(client, Path(folder)))
            expect(page.get_by_label("How wind is read")).to_be_visible()
            page.get_by_role("button", name="Add a level").click()
            for n, level in enumerate(LEVELS, 1):
                page.get_by_label(f"Level {n}", exact=True).fill(level)
            take(page, "setup", whole=True)
            page.goto(f"{home}/#/demo/answer")
            expect(page.locator(".question em")).to_be_visible()
            answer(page, 40)
            take(page, "answer")
            film(page, 8)
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": 360, "height": 640})
            take(page, "phone")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": 960, "height": 700})
            watch = context.new_page()
            watch.goto(f"{home}/#/demo-answered/watch")
            expect(watch.locator(".unsure")).to_be_visible()
            expect(watch.locator(".people details")).to_be_visible(timeout=600_000)  # these take a while to compute
            take(watch, "watch", whole=True)
            watch.close()
        answer(page, 2)
        take(page, "offline")
        browser.close()


def _sheet(client: Any, folder: Path) -> Path:
    file = folder / "weather.csv"
    rows = client.get("/projects/demo/items").json()
    names = list(rows[0]["shown"])
    lines = [",".join(names), *(",".join(f'"{row["shown"][name]}"' for name in names) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    return file


if __name__ == "__main__":
    main()
