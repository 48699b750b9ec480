from __future__ import annotations

from collections.abc import Callable

import httpx2

from tests.browser.conftest import Watched
from tests.browser.test_pages import memory_id

Look = Callable[..., Watched]


def test_going_back_shows_the_search_and_the_filters_again(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.fill("[data-search]", "item")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Trust").select_option("user")
    page.locator(".row", has_text="Item").first.click()
    page.get_by_text("Where it comes from").wait_for()
    page.go_back()
    page.get_by_role("button", name="Filters (1)").wait_for()
    assert (page.locator("[data-search]").input_value(), "trust=user" in page.url) == ("item", True)
    page.locator(".row .score").first.wait_for()


def test_focus_goes_to_the_heading_of_a_page_and_comes_back_from_a_dialog(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.locator(".row").first.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Where it comes from").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    watched.wait_until("document.activeElement.tagName === 'TEXTAREA'")
    page.keyboard.press("Escape")
    watched.wait_until("document.activeElement.innerText.trim() === 'Edit'")
    page.go_back()
    watched.wait_until("document.activeElement === document.querySelector('.row')")


def test_half_a_name_is_no_user_and_a_user_is_in_the_address(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.locator("#users option").first.wait_for(state="attached")
    page.fill("#scope", "an")
    page.keyboard.press("Enter")
    page.get_by_text("Nobody is called “an”.").wait_for()
    assert page.locator(".row").count() > 20
    page.get_by_role("button", name="ana", exact=True).click()
    watched.wait_until("document.querySelectorAll('.row').length === 5 && location.hash.includes('user=ana')")
    page.fill("#scope", "b")
    page.keyboard.press("Enter")
    page.get_by_text("Nobody is called “b”.").wait_for()
    watched.open("people")
    watched.wait_until("!document.querySelector('.scope-unknown') && document.querySelector('#scope').value === 'ana'")
    page = look(small).open("ask?q=cello&user=bo")
    page.locator(".hit", has_text="cello").first.wait_for()
    assert page.locator("#scope").input_value() == "bo"


def test_labels_of_the_graph_do_not_meet_and_unlinked_memories_are_not_drawn(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("graph")
    page.get_by_text("25 without a link not drawn").wait_for()
    page.get_by_label("without a link (25)").check()
    page.get_by_text("30 nodes, 5 links").wait_for()
    page.fill("[data-search]", "item")
    page.wait_for_timeout(300)
    meeting = """(() => { const all = document.querySelector('canvas.graph').labels();
      return [all.length, all.filter((a, n) => all.slice(n + 1).some((b) =>
        Math.abs(a.x - b.x) < a.half + b.half && Math.abs(a.y - b.y) < 15)).length]; })()"""
    drawn, crossed = page.evaluate(meeting)
    assert drawn > 3
    assert crossed == 0


def test_search_that_is_typed_before_the_graph_is_drawn_marks_it(look: Look, small: str) -> None:
    watched = look(small)
    watched.page.route("**/vendor/d3-*.js", lambda route: (watched.page.wait_for_timeout(300), route.continue_()))
    page = watched.open("graph")
    page.fill("[data-search]", "Oslo")
    labels = "(document.querySelector('canvas.graph').labels?.() || []).map((one) => one.text.includes('Oslo'))"
    watched.wait_until(f"{labels}.length > 0 && !{labels}.includes(false)")


def test_dates_are_in_the_language_of_the_page(look: Look, small: str) -> None:
    text = look(small, locale="de-DE").open("people/ana").inner_text("main")
    assert "26 May 2025" in text
    assert "Mai" not in text


def test_wrong_fact_is_corrected_and_a_dispute_settled_where_they_are_seen(look: Look, writable: str) -> None:
    said = {"content": "I moved to Paris.", "user": "ana", "source": "https://web.example/page"}
    httpx2.post(f"{writable}/v1/remember", json=said).raise_for_status()
    watched = look(writable)
    page = watched.open("people/ana")
    page.locator(".settle", has_text="Oslo").get_by_role("button", name="This one is right").click()
    page.get_by_text("Settled: city is Oslo").wait_for()
    watched.wait_until("document.querySelectorAll('.settle').length === 0")
    page.get_by_role("button", name="Correct employer of Ana").click()
    page.fill("dialog textarea", "I work at Globex.")
    page.get_by_role("button", name="Save").click()
    page.locator(".fact-table", has_text="Globex").wait_for()
    assert "Acme" not in page.locator(".fact-table").inner_text()
    page.get_by_role("button", name="Undo").last.click()
    page.locator(".fact-table", has_text="Acme").wait_for()
    page.get_by_role("button", name="Correct favourite drink of Ana").click()
    page.get_by_role("button", name="Withdraw it").click()
    watched.wait_until("!document.querySelector('.fact-table').innerText.includes('green tea')")


def test_notices_name_their_memory_and_end_with_it(look: Look, writable: str) -> None:
    number = memory_id(writable, "cello")
    page = look(writable).open(f"memories/{number}")
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text(f"Memory {number}: archived").wait_for()
    page.get_by_role("button", name="Restore", exact=True).click()
    page.get_by_text(f"Memory {number}: restored").wait_for()
    assert page.locator(".toast").count() == 1
    page.get_by_role("button", name="Forget…").click()
    page.get_by_role("button", name="Forget for ever").click()
    page.get_by_text("Forgotten: 1 memory").wait_for()
    assert page.get_by_role("button", name="Undo").count() == 0


def test_question_asked_again_is_one_line_and_a_masked_message_says_so(look: Look, writable: str) -> None:
    for _ in range(2):
        httpx2.post(f"{writable}/v1/recall", json={"query": "Who plays in a cellar?", "user": "bo"}).raise_for_status()
    watched = look(writable)
    page = watched.open(f"memories/{memory_id(writable, 'cello')}")
    page.get_by_text("2 times lately").wait_for()
    assert page.get_by_text("Who plays in a cellar?").count() == 1
    said = [{"role": "user", "content": "My password for the bank is Tr0mb0ne!87x."}]
    httpx2.post(f"{writable}/v1/remember", json={"content": said, "user": "bo"}).raise_for_status()
    page = watched.open("conversations/read?user=bo")
    page.get_by_text("Its words are not kept: they hold a secret.").wait_for()


def test_history_names_what_was_done_to_a_memory(look: Look, writable: str) -> None:
    number = memory_id(writable, "cello")
    watched = look(writable)
    page = watched.open(f"memories/{number}")
    assert "cello" in page.title()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.locator(".timeline", has_text="Archived").wait_for()
    page.get_by_role("button", name="Restore", exact=True).click()
    page.locator(".timeline", has_text="Restored to recall").wait_for()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.fill("dialog textarea", "I play the viola.")
    page.get_by_role("button", name="Save").click()
    page.locator(".timeline", has_text="Changed its text: it was").wait_for()
    assert page.locator(".timeline li").last.inner_text().endswith("Stored")
    watched.check()


def test_released_memory_says_so_in_its_history(look: Look, writable: str) -> None:
    query = {"state": "quarantined", "all_users": True, "limit": 10}
    number = httpx2.post(f"{writable}/ui/memories", json=query).json()["items"][0]["id"]
    page = look(writable).open(f"memories/{number}")
    page.get_by_role("button", name="Release", exact=True).click()
    page.locator(".timeline", has_text="Released from quarantine").wait_for()
    assert "Changed its" not in page.locator(".timeline").inner_text()


def test_dialog_closes_when_another_page_is_opened(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.locator("dialog[open]").wait_for()
    watched.open("people")
    watched.wait_until("!document.querySelector('dialog[open]')")


def test_memory_of_somebody_else_is_found_among_everybodys(look: Look, small: str) -> None:
    number = memory_id(small, "cello")
    watched = look(small)
    watched.expected = ("404",)
    page = watched.open(f"memories/{number}?user=ana")
    page.get_by_role("button", name="Look among everybody’s").click()
    page.locator(".content", has_text="cello").wait_for()


def test_lost_connection_is_said_once_and_the_icons_stay(look: Look, small: str) -> None:
    watched = look(small)
    watched.expected = ("net::ERR_INTERNET_DISCONNECTED",)
    page = watched.open("memories")
    page.context.set_offline(True)
    page.evaluate("location.hash = '#/activity'")
    page.get_by_text("The server does not answer.").wait_for()
    watched.wait_until("document.querySelectorAll('.not-loaded').length >= 2")
    assert page.locator("[role=alert]").count() == 1
    assert page.locator(".top .live").inner_text() == "Offline"
    assert page.evaluate("document.querySelectorAll('.sprite symbol').length") > 20
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    watched.wait_until("!document.querySelector('[role=alert], .not-loaded, .skeleton')")
