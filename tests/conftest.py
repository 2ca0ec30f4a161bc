import csv
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from compiling import start_with_a_copy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

start_with_a_copy(os.environ.get("PYTEST_XDIST_WORKER", "alone"))

# Several test processes share few cores: threads of linear algebra would wait for each other longer than they work.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# Compilation of a first call takes seconds, so no deadline; the same examples every run, so no surprises in CI.
hypothesis.settings.register_profile(
    "dford", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("dford")

# Skips that say nothing about this machine's setup. With DFORD_SKIPS=expected any other skip is a failure: a missing
# browser or PostgreSQL must not look like success.
_EXPECTED_SKIPS = (
    "DFORD_DATA names no folder of real data",
    "systemd is not installed",
    "crowd-kit is not installed",
    "Caddy is not installed",
    "root can write everything here",
    "SCIPY_ARRAY_API is not set",
    "the oldest processor to compare with is an x86",
    *(["ray is not installed"] if sys.version_info >= (3, 14) else []),  # as in pyproject.toml
)
_unexpected: list[str] = []


_LONGEST = ("test_cluster", "test_gallery", "test_report", "test_ten_minutes", "test_container")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in _LONGEST)  # or some process would be left with one at the end


def pytest_collection_finish() -> None:
    gc.freeze()  # imports stay: garbage collection in tests need not look at them again


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    result = yield
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()  # likewise for what tests keep, or collections would slow down with every file
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    if not any(reason in report.longrepr[2] for reason in _EXPECTED_SKIPS):
        _unexpected.append(f"{report.nodeid}: {report.longrepr[2]}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("DFORD_SKIPS") == "expected" and _unexpected and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get("DFORD_SKIPS") == "expected" and _unexpected:
        terminalreporter.section("skipped, and not expected to be")
        for line in _unexpected:
            terminalreporter.line(line)


collect_ignore = ["wheel.py", "saved/make.py", "saved/make_service.py"]  # programs, not tests


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One for all tests of a process. Once it has started, an event loop runs in the main thread, where asyncio.run()
    then fails: tests call it in another thread."""
    from playwright.sync_api import expect, sync_playwright

    from browsing import CHROMIUM, FLAGS

    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    expect.set_options(timeout=600_000)  # on a busy machine
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """A PostgreSQL server, one for all tests of a process: each test makes databases of its own."""
    from postgres import temporary_cluster

    with temporary_cluster() as address:
        yield address


@pytest.fixture
def new_page(browser: "Browser", request: pytest.FixtureRequest) -> "Iterator[Callable[..., Page]]":
    """Pages that record their errors and the hosts they contact; without the service worker, which fetches every file
    again, except in modules that set WITH_WORKER."""
    worker = "allow" if getattr(request.module, "WITH_WORKER", False) else "block"
    contexts, troubles, hosts = [], [], set()

    def make(**options: Any) -> "Page":
        context = browser.new_context(**{"service_workers": worker, **options})
        context.set_default_timeout(120_000)
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
    """A file for the page: days whose level depends on the wind."""
    file = tmp_path / "Stormy days.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["day", "wind", "sky"])
        rows.writerows(
            [f"Day {n}, wind {wind},\nas it was", wind, ["dark", "clear"][n % 2]]
            for n, wind in enumerate((17 * n) % 112 for n in range(60))
        )
    return file
