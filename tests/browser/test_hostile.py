from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, urlencode

import httpx2

from tests.browser.conftest import Watched
from tests.browser.stores import HOSTILE_NAMES, HOSTILE_USER

Look = Callable[..., Watched]
HOSTILE_PERSON = f"people/{quote(HOSTILE_USER, safe='')}"
HOSTILE_TALK = f"conversations/read?user={quote(HOSTILE_USER, safe='')}"
HOSTILE_TALKS = [
    f"conversations/read?{urlencode({'user': name, 'agent': name, 'session': name})}" for name in HOSTILE_NAMES
]
HOSTILE_PAGES = ("overview", "memories", "memories?q=script", "people", HOSTILE_PERSON, "ask?q=script", "graph",
                 "conversations", HOSTILE_TALK, *HOSTILE_TALKS, "activity", "upkeep")  # fmt: skip


def test_hostile_content_is_shown_as_text(look: Look, hostile: str) -> None:
    watched = look(hostile, viewport={"width": 390, "height": 800})
    for address in HOSTILE_PAGES:
        page = watched.open(address)
        assert page.locator(".notice.bad").count() == 0, address
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), address
        assert page.locator("main script, main img[src=x], main b b").count() == 0
        outside = (
            "[...document.querySelectorAll('main .badge')].filter((one) => one.getBoundingClientRect().right > 390)"
        )
        assert page.evaluate(f"{outside}.length") == 0, address
        assert "\u202e" not in page.locator("main").evaluate(
            "(main) => [...main.querySelectorAll('.badge, b, h1')].map((one) => one.textContent).join()"
        )
        watched.check()
    watched.open("people")
    assert "ze\ufffdro\u200dwi\ufffddth\ufffd" in watched.page.locator(".person b").all_inner_texts()


def test_hostile_memories_open_one_by_one(look: Look, hostile: str) -> None:
    watched = look(hostile, viewport={"width": 390, "height": 800})
    items = httpx2.post(f"{hostile}/ui/memories", json={"all_users": True}).json()["items"]
    # One memory of each text: each page takes a while.
    for memory in {each["content"]: each for each in items}.values():
        page = watched.open(f"memories/{memory['id']}")
        page.locator(".content").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), memory["content"][:60]
        watched.check()
