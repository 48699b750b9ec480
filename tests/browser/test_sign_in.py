from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memoranda import MemoryManager
from memoranda.server.keys import open_keys
from memoranda.testing.fakes import HashEmbedder
from tests.browser.conftest import SCREENSHOTS, Watched
from tests.browser.stores import open_manager
from tests.browser.test_pages import serious_findings
from tests.server.running import serving

Look = Callable[..., Watched]


def make_key(folder: Path, scopes: tuple[str, ...], tenant: str = "default") -> str:
    with open_keys(f"sqlite:///{folder}/server.db") as keys:
        return keys.create("test", tenant=tenant, scopes=scopes).key


def fill(folder: Path) -> None:
    with open_manager(folder) as memory:
        memory.add_memory("Ana drinks tea", user="ana")
        memory.for_tenant("other").add_memory("A secret of another tenant", user="ana")


def sign_in(watched: Watched, key: str) -> None:
    page = watched.open()
    page.fill("#key", key)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".nav").wait_for()
    watched.settle()


def test_wrong_key_is_refused_and_a_right_one_opens_the_dashboard(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    key = make_key(tmp_path, ("read", "write", "admin"))
    with serving(tmp_path) as url:
        watched = look(url)
        watched.expected = ("401",)
        page = watched.open()
        page.screenshot(path=SCREENSHOTS / "login-light-1280.png")
        assert serious_findings(page) == []
        page.fill("#key", key + "x")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("this key is not valid").wait_for()
        page.fill("#key", key)
        page.get_by_role("button", name="Sign in").click()
        page.locator(".nav").wait_for()
        watched.open("memories")
        page.locator(".list", has_text="Ana drinks tea").wait_for()
        assert "another tenant" not in page.inner_text("main")


def test_session_is_a_cookie_that_scripts_cannot_read_and_ends_on_sign_out(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    key = make_key(tmp_path, ("read", "write", "admin"))
    with serving(tmp_path) as url:
        watched = look(url)
        sign_in(watched, key)
        page = watched.page
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert key not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        page.get_by_role("button", name="Sign out").click()
        page.locator("#key").wait_for()
        assert page.context.cookies() == []


def test_read_only_key_sees_no_buttons_that_change_anything(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    key = make_key(tmp_path, ("read", "admin"))
    with serving(tmp_path) as url:
        watched = look(url)
        sign_in(watched, key)
        page = watched.open("memories")
        page.locator(".row").first.click()
        page.get_by_text("Where it comes from").wait_for()
        names = page.get_by_role("button").all_inner_texts()
        assert not {"Edit", "Pin", "Archive", "Forget…"}.intersection(name.strip() for name in names)
        page = watched.open("upkeep")
        assert "Your key can only read" in page.inner_text("main")


def test_key_without_admin_names_a_user_to_look_at(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    key = make_key(tmp_path, ("read",))
    with serving(tmp_path) as url:
        watched = look(url)
        sign_in(watched, key)
        for address in ("overview", "memories", "ask?q=tea", "graph", "conversations", "upkeep"):
            text = watched.open(address).inner_text("main")
            assert "Name a user at the top" in text, address
            assert "verybody’s memories" not in text, address
        page = watched.open("memories")
        assert "Ana drinks tea" not in page.inner_text("main")
        page.fill("#scope", "ana")
        page.keyboard.press("Enter")
        page.get_by_text("Ana drinks tea").wait_for()


def test_store_with_vectors_of_another_model_is_shown_with_what_to_do(look: Look, tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/server.db", embedder=HashEmbedder(16)) as memory:
        memory.add_memory("Ana drinks tea", user="ana")
    with serving(tmp_path) as url:
        watched = look(url)
        watched.expected = ("409",)
        page = watched.open()
        page.locator(".notice.bad", has_text="memoranda reembed").wait_for()
        assert "1 problem" in page.inner_text("main")
        watched.open("memories")
        page.locator(".list", has_text="Ana drinks tea").wait_for()
        for address in ("ask?q=tea", "memories?q=tea"):
            watched.open(address)
            page.locator(".notice.bad", has_text="in a shell `memoranda reembed`").wait_for()
        page.goto("about:blank")


def test_key_with_a_low_rate_waits_and_then_shows_the_page(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        key = keys.create("slow", scopes=("read", "write", "admin"), rate=2).key
    with serving(tmp_path) as url:
        watched = look(url)
        watched.expected = ("429", "401")
        page = watched.open()
        page.fill("#key", key)
        page.get_by_role("button", name="Sign in").click()
        page.locator(".tile").first.wait_for(timeout=30_000)
        watched.wait_until("document.querySelectorAll('main .skeleton').length === 0", seconds=40)
        assert page.locator(".notice.bad").count() == 0
        assert "Everything works." in page.inner_text("main")
        page.locator(".live.on").first.wait_for(timeout=30_000)
        page.goto("about:blank")


def test_overview_says_why_there_is_no_health_and_when_upkeep_ran(look: Look, tmp_path: Path) -> None:
    fill(tmp_path)
    key = make_key(tmp_path, ("read",))
    with serving(tmp_path) as url:
        watched = look(url)
        watched.expected = ("401",)
        sign_in(watched, key)
        assert "Name a user at the top" in watched.page.inner_text("main")
        watched.open("memories")
        assert "Name a user at the top" in watched.page.inner_text("main")
        watched.open("people/nobody-here")
        assert "Nothing is known about anybody called nobody-here" in watched.page.inner_text("main")
        watched.open("overview")
        watched.page.fill("#scope", "ana")
        watched.page.press("#scope", "Enter")
        watched.page.locator(".tile").first.wait_for()
        watched.settle()
        text = watched.page.inner_text("main")
        assert "shown to a key with the admin scope" in text
        assert "Upkeep has not run yet." in text
        with open_manager(tmp_path) as memory:
            memory.upkeep()
        watched.page.reload()
        watched.settle()
        watched.page.get_by_text("Upkeep ran").wait_for()
        assert "examined" not in watched.page.inner_text("main")
        watched.page.goto("about:blank")
