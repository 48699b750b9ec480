"""The pages on 100,000 memories. Run by `make browser-large`, which fills the store first: that takes minutes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Watched
from tests.server.running import serving

FOLDER = os.environ.get("MEMORANDA_LARGE")
"""The folder of the filled store."""
ADDRESSES = ("overview", "memories", "people", "people/user-0007", "graph", "conversations", "activity")


@pytest.fixture(scope="module")
def large() -> Iterator[str]:
    with serving(Path(str(FOLDER)).resolve()) as url:
        yield url


SLOWEST_FRAME = """new Promise(done => {
  let last = performance.now(), slowest = 0, frames = 0;
  const step = now => {
    slowest = Math.max(slowest, now - last);
    last = now;
    window.scrollBy(0, -400);
    frames++ < 60 ? requestAnimationFrame(step) : done(slowest);
  };
  requestAnimationFrame(step);
})"""
"""Scrolls a long list back for 60 frames; the milliseconds of the slowest."""

if FOLDER:

    def test_each_page_opens_on_a_large_store(look: Callable[..., Watched], large: str) -> None:
        watched = look(large)
        watched.page.context.set_default_timeout(60_000)
        for address in ADDRESSES:
            page = watched.open(address)
            assert page.locator(".notice.bad").count() == 0, address
            watched.check()

    def test_list_goes_on_while_one_scrolls(look: Callable[..., Watched], large: str) -> None:
        watched = look(large)
        page = watched.open("memories")
        started = time.monotonic()
        watched.scroll_until_rows(2000, seconds=120)
        print(f"2,000 rows scrolled in {time.monotonic() - started:.1f} s")
        assert page.evaluate(SLOWEST_FRAME) < 500
        page.locator(".row").nth(1990).click()
        page.get_by_text("Where it comes from").wait_for()
        page.go_back()
        watched.wait_until("document.querySelectorAll('.row').length >= 2000 && window.scrollY > 100000")
        watched.check()

    def test_list_jumps_to_its_end(look: Callable[..., Watched], large: str) -> None:
        watched = look(large)
        page = watched.open("memories?order=oldest")
        page.get_by_text("tea note 0 of person 0: tea").wait_for()
        watched.scroll_until_rows(200)
        watched.check()

    def test_graph_of_5000_memories_stays_usable(look: Callable[..., Watched], large: str) -> None:
        watched = look(large)
        page = watched.open("graph")
        page.get_by_label("Up to").select_option("5000")
        page.get_by_label("without a link").check()
        watched.wait_until("document.querySelector('.canvas-card')?.innerText.includes('5,')", seconds=60)
        page.fill("[data-search]", "garden note 7")
        watched.wait_until("document.querySelectorAll('.graph-grid tbody tr').length > 0", seconds=30)
        watched.check()
