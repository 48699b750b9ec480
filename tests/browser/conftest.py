"""A real server and a real browser. Without Chromium the tests are skipped."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.stores import fill_hostile, fill_small
from tests.server.running import serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCREENSHOTS = Path(__file__).resolve().parents[2] / ".bench" / "screenshots"
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium here: scripts/system-packages installs it")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield opened
        opened.close()


class Watched:
    """A page that notes everything that should not happen in it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.problems: list[str] = []
        self.expected: tuple[str, ...] = ()
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("requestfailed", self._note_failed)
        page.on("response", self._note_response)
        page.on("request", self._note_request)

    def open(self, address: str = "overview") -> Any:
        self.page.goto(f"{self.url}/#/{address}")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is loading."""
        self.page.wait_for_selector("main", state="attached")
        self.wait_until("document.querySelectorAll('.skeleton:not(.more *), .starting').length === 0")

    def wait_until(self, condition: str, seconds: float = 15.0) -> None:
        """Wait for a condition. `wait_for_function` cannot: the page's policy forbids evaluating a text."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not come true at {self.page.url}: {self.problems}"
            time.sleep(0.03)

    def scroll_until_rows(self, count: int, seconds: float = 60.0) -> None:
        """Scroll to the end of a list again and again until it has so many rows."""
        end = time.monotonic() + seconds
        while (rows := self.page.locator(".row").count()) < count:
            assert time.monotonic() < end, f"the list stopped at {rows} rows: {self.problems}"
            self.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
            self.page.wait_for_timeout(30)

    def check(self) -> None:
        assert self.problems == []
        assert self.page.evaluate("window.hacked") is None

    def _note_console(self, message: Any) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in self.expected):
            self.problems.append(f"console: {message.text}")

    def _note_failed(self, request: Any) -> None:
        # A search that a newer one replaces, and the stream of events that ends with the page, are aborted.
        if request.failure != "net::ERR_ABORTED" and request.failure not in self.expected:
            self.problems.append(f"failed: {request.url} {request.failure}")

    def _note_response(self, response: Any) -> None:
        if response.status >= 400 and not any(text in str(response.status) for text in self.expected):
            self.problems.append(f"{response.status}: {response.url}")

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.problems.append(f"request elsewhere: {request.url}")


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Open a watched page of a server; at the end nothing may have gone wrong in it."""
    opened: list[tuple[Any, Watched]] = []

    def open_page(url: str, **options: Any) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}} | options)
        context.set_default_timeout(15_000)
        watched = Watched(context.new_page(), url)
        opened.append((context, watched))
        return watched

    yield open_page
    for context, watched in opened:
        problems = list(watched.problems)
        context.close()
        assert problems == []


@pytest.fixture(scope="package")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    fill_small(folder)
    return folder


@pytest.fixture(scope="package")
def small(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a small store, which tests only read."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(small_store, folder, dirs_exist_ok=True)
    with serving(folder) as url:
        yield url


@pytest.fixture
def writable(small_store: Path, tmp_path: Path) -> Iterator[str]:
    """A server with a small store of its own."""
    shutil.copytree(small_store, tmp_path, dirs_exist_ok=True)
    with serving(tmp_path) as url:
        yield url


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as url:
        yield url


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    fill_hostile(folder)
    with serving(folder) as url:
        yield url
