"""The pages on 100,000 memories. Run by `make browser-large`, since filling the store takes minutes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Watched
from tests.browser.stores import fill_large
from tests.server.running import serving

COUNT = int(os.environ.get("MEMORANDA_LARGE", "0") or 0)
ADDRESSES = ("overview", "memories", "people", "people/user-0007", "graph", "conversations", "activity")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("large")
    fill_large(folder, COUNT)
    with serving(folder) as url:
        yield url


if COUNT:

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
        end = time.monotonic() + 60
        while page.locator(".row").count() < 300:
            assert time.monotonic() < end, (page.locator(".row").count(), page.url, page.inner_text("main")[-200:])
            page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
            page.wait_for_timeout(100)
        watched.check()

    def test_graph_of_5000_memories_stays_usable(look: Callable[..., Watched], large: str) -> None:
        watched = look(large)
        page = watched.open("graph")
        page.get_by_label("Up to").select_option("5000")
        watched.wait_until("document.querySelector('.canvas-card')?.innerText.includes('5,')", seconds=60)
        page.fill("[data-search]", "garden note 7")
        watched.wait_until("document.querySelectorAll('.graph-grid tbody tr').length > 0", seconds=30)
        watched.check()
