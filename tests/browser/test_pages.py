from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest

from tests.browser.conftest import SCREENSHOTS, Watched

Look = Callable[..., Watched]
PAGES = ("overview", "memories", "people", "people/ana", "ask?q=Where does Ana live%3F", "graph", "conversations",
         "activity", "upkeep")  # fmt: skip
AXE = Path(__file__).resolve().parents[2] / ".bench" / "axe.min.js"


def memory_id(url: str, words: str) -> int:
    found = httpx2.post(f"{url}/ui/memories", json={"all_users": True, "limit": 200}).json()["items"]
    return next(int(memory["id"]) for memory in found if words in memory["content"])


def test_each_page_opens_on_an_empty_store(look: Look, empty: str) -> None:
    watched = look(empty)
    for address in PAGES:
        page = watched.open(address)
        assert page.locator("h1").inner_text(), address
        assert page.locator(".notice.bad").count() == 0, address
        for width in (320, 390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (address, width)
        watched.check()


def test_first_visit_says_what_to_do_and_loads_the_demo(look: Look, empty: str) -> None:
    page = look(empty).open()
    assert "Nothing is remembered yet" in page.inner_text("main")
    page.get_by_role("button", name="Load the demo conversation").click()
    page.get_by_text("By user").wait_for(timeout=60_000)
    assert "nora-and-theo" in page.inner_text("main")


def test_overview_shows_counts_health_and_recalls(look: Look, small: str) -> None:
    page = look(small, timezone_id="Pacific/Kiritimati").open()
    text = page.inner_text("main")
    assert "Everything works." in text
    assert "Answerable" in text
    assert "does not know your time zone" not in text
    page.locator(".chart canvas").first.wait_for()
    page.get_by_text("Table").first.click()
    rows = page.locator(".chart table").first.locator("tbody tr")
    assert rows.count() >= 12
    assert rows.first.locator("th").inner_text() == datetime.now(ZoneInfo("Pacific/Kiritimati")).date().isoformat()
    tile = page.locator(".tile").first.inner_text()
    assert int(tile.split()[0]) == httpx2.get(f"{small}/v1/stats").json()["long_term_entries"]


def test_search_finds_as_one_types_and_marks_the_words(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.keyboard.press("/")
    page.keyboard.type("green tea", delay=10)
    page.locator("mark", has_text="tea").first.wait_for()
    page.locator(".row", has_text="green tea").first.wait_for()
    assert "0." in page.locator(".row .score").first.inner_text()


def test_search_is_not_recorded_as_a_recall(look: Look, writable: str) -> None:
    count = sum(day["recalls"] for day in httpx2.get(f"{writable}/ui/overview").json()["recalls"])
    page = look(writable).open("memories")
    page.fill("[data-search]", "tea")
    page.locator("mark").first.wait_for()
    after = sum(day["recalls"] for day in httpx2.get(f"{writable}/ui/overview").json()["recalls"])
    assert after == count


def test_filters_narrow_the_list(look: Look, small: str) -> None:
    page = look(small).open("memories?state=quarantined")
    page.locator(".row").first.wait_for()
    assert {row.strip() for row in page.locator(".badge.quarantined").all_text_contents()} == {"quarantined"}
    page = look(small).open("memories?state=archived")
    page.locator(".row").first.wait_for()
    assert "cold in May" in page.locator(".list").inner_text()


def test_arrow_keys_move_in_the_list(look: Look, small: str) -> None:
    page = look(small).open("memories")
    page.locator(".row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.row')[1]")
    page.keyboard.press("Enter")
    page.get_by_text("Where it comes from").wait_for()


def test_memory_shows_its_message_and_its_recalls(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open(f"memories/{memory_id(small, 'green tea')}")
    page.locator(".message.here", has_text="green tea").wait_for()
    assert "What does Ana drink?" in page.inner_text("main")


def test_memory_is_edited_and_the_edit_is_undone(look: Look, writable: str) -> None:
    watched = look(writable)
    number = memory_id(writable, "cello")
    page = watched.open(f"memories/{number}")
    page.get_by_role("button", name="Edit").click()
    page.fill("dialog textarea", "Bo plays the viola on Mondays")
    page.get_by_role("button", name="Save").click()
    page.locator(".content", has_text="viola").wait_for()
    page.locator(".timeline", has_text="cello").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".content", has_text="cello").wait_for()


def test_memory_is_pinned_archived_and_restored(look: Look, writable: str) -> None:
    number = memory_id(writable, "cello")
    page = look(writable).open(f"memories/{number}")
    page.get_by_role("button", name="Pin", exact=True).click()
    page.locator(".badge.pinned").first.wait_for()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.locator(".badge.archived").first.wait_for()
    page.get_by_role("button", name="Restore", exact=True).click()
    page.get_by_role("button", name="Archive", exact=True).wait_for()
    stored = httpx2.get(f"{writable}/v1/memories/{number}", params={"all_users": True}).json()
    assert (stored["pinned"], stored["archived_at"]) == (True, None)


def test_forget_shows_what_goes_before_it_goes(look: Look, writable: str) -> None:
    number = memory_id(writable, "cello")
    page = look(writable).open(f"memories/{number}")
    page.get_by_role("button", name="Forget…").click()
    page.get_by_text("1 memory", exact=True).wait_for()
    assert httpx2.get(f"{writable}/v1/memories/{number}", params={"all_users": True}).status_code == 200
    page.get_by_role("button", name="Forget for ever").click()
    page.get_by_role("heading", name="Memories", exact=True).wait_for()
    assert httpx2.get(f"{writable}/v1/memories/{number}", params={"all_users": True}).status_code == 404


def test_memory_is_released_from_quarantine(look: Look, writable: str) -> None:
    number = memory_id(writable, "Ignore all previous")
    page = look(writable).open(f"memories/{number}")
    page.get_by_role("button", name="Release").click()
    page.get_by_text("takes part in recall").wait_for()
    assert httpx2.get(f"{writable}/v1/memories/{number}", params={"all_users": True}).json()["quarantined_at"] is None
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("In quarantine since").wait_for()


def test_person_shows_what_is_known_and_what_it_replaced(look: Look, small: str) -> None:
    page = look(small).open("people/ana")
    text = page.locator(".fact-table").inner_text()
    assert "Oslo" in text
    page.get_by_text("replaced 1 value").first.click()
    assert "Lisbon" in page.locator(".fact-table").inner_text()


def test_person_who_is_no_user_is_known_by_what_others_said(look: Look, writable: str) -> None:
    said = {"role": "user", "name": "Zoe", "content": "I live in Graz. My brother Max lives in Linz."}
    httpx2.post(f"{writable}/v1/remember", json={"content": [said], "user": "bo"}).raise_for_status()
    page = look(writable).open("people")
    page.locator(".person", has_text="Zoe").click()
    page.locator(".fact-table", has_text="Graz").wait_for()
    assert "no user; speaks in 1 memory" in page.inner_text("main")
    assert page.get_by_role("button", name="Forget…").count() == 0
    page.locator(".fact-table").get_by_role("link", name="bo", exact=True).first.click()
    page.get_by_role("button", name="Forget…").wait_for()
    page.locator(".fact-table").get_by_role("link", name="brother Max").first.click()
    page.locator("h1", has_text="Max").wait_for()
    page.locator(".fact-table", has_text="Linz").wait_for()
    assert "others speak about this person" in page.inner_text("main")


def test_ask_shows_hits_signals_and_the_prompt(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("ask?q=Where does Ana live%3F")
    page.locator(".hit").first.wait_for()
    assert page.locator(".signal").count() > 0
    assert "<memoranda-memory" in page.locator(".prompt").inner_text()
    text = page.inner_text("main")
    assert "token" in text
    found = re.search(r"the best 10 of (\d+) found", text)
    assert found is not None
    assert f"of the {found[1]} memories found as are relevant" in text
    page.get_by_role("button", name="side by side").click()
    watched.wait_until("document.querySelectorAll('.answer').length === 3")


def test_ask_answers_as_of_an_earlier_day(look: Look, small: str) -> None:
    asked = {"question": "Where does Ana live?", "user": "ana"}
    now = httpx2.post(f"{small}/ui/ask", json=asked).json()
    then = httpx2.post(f"{small}/ui/ask", json=asked | {"as_of": "2025-02-01T00:00:00Z"}).json()
    assert "Oslo" in json.dumps(now["hits"])
    assert "Oslo" not in json.dumps([hit["memory"]["content"] for hit in then["hits"]])


def test_graph_has_the_same_in_a_table(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("graph")
    page.locator("canvas.graph").wait_for()
    assert "updated by" in page.locator(".chips").inner_text()
    drawn = page.locator(".legend").inner_text().split(",")[0]
    assert drawn == page.locator(".graph-grid .card-head .muted").inner_text()
    page.locator(".graph-grid table", has_text="green tea").wait_for()
    page.fill("[data-search]", "cello")
    watched.wait_until("document.querySelectorAll('.graph-grid tbody tr').length === 1")


def test_conversation_has_its_memories_in_the_margin(look: Look, small: str) -> None:
    page = look(small).open("conversations")
    page.locator(".row", has_text="first talk").click()
    page.locator(".margin-note").first.wait_for()
    page.locator(".talk", has_text="green tea").wait_for()
    assert "Ana · favourite drink: green tea" in page.inner_text("main")


def test_activity_shows_executions_and_checks_the_chain(look: Look, small: str) -> None:
    page = look(small).open("activity")
    assert page.locator("tbody tr").count() == 6
    page.get_by_role("button", name="Check the chain").click()
    page.get_by_text("The chain is whole: 6 records.").wait_for()
    page.get_by_label("Agent").fill("nobody")
    page.keyboard.press("Tab")
    page.get_by_text("No record matches these fields.").wait_for()


def test_open_sessions_appear_while_the_page_is_open(look: Look, writable: str) -> None:
    page = look(writable).open("activity")
    page.get_by_text("No session is open on this server.").wait_for()
    httpx2.post(f"{writable}/v1/sessions", json={"workflow_id": "campaign-7"})
    page.get_by_text("campaign-7").wait_for(timeout=10_000)


def test_new_memories_appear_while_the_page_is_open(look: Look, writable: str) -> None:
    page = look(writable).open("memories")
    page.locator(".live.on").first.wait_for()
    httpx2.post(f"{writable}/v1/memories", json={"content": "A memory that came just now", "user": "bo"})
    page.get_by_text("A memory that came just now").wait_for(timeout=10_000)


def test_list_is_where_it_was_when_one_comes_back(look: Look, empty: str) -> None:
    contents = [f"Note {number} of a long list" for number in range(120)]
    httpx2.post(f"{empty}/v1/memories/batch", json={"contents": contents}).raise_for_status()
    watched = look(empty)
    page = watched.open("memories")
    watched.scroll_until_rows(101)
    page.locator(".row").nth(90).click()
    page.get_by_text("Where it comes from").wait_for()
    page.go_back()
    watched.wait_until("document.querySelectorAll('.row').length >= 101")
    watched.wait_until("window.scrollY > 3000")
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Memories", exact=True).click()
    watched.wait_until("document.querySelectorAll('.row').length === 50 && window.scrollY === 0")


def test_list_begins_with_the_oldest_on_request(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("memories")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Order").select_option("oldest")
    oldest = httpx2.post(f"{small}/ui/memories", json={"all_users": True, "order": "oldest", "limit": 1}).json()
    page.locator(".row").first.get_by_text(oldest["items"][0]["content"]).wait_for()


def test_keyboard_alone_asks_and_opens_a_hit(look: Look, small: str) -> None:
    page = look(small).open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.get_by_role("heading", name="Ask", exact=True).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("What does Ana drink?")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    while not page.evaluate("document.activeElement.matches('.hit')"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Where it comes from").wait_for()


def test_person_is_the_scope_that_the_chooser_shows(look: Look, small: str) -> None:
    page = look(small).open("people/ana")
    page.get_by_role("link", name="Memories").last.click()
    page.get_by_role("heading", name="Memories", exact=True).wait_for()
    assert page.locator("#scope").input_value() == "ana"
    page.locator(".row").first.wait_for()
    assert {text.strip() for text in page.locator(".row .badge.who").all_text_contents()} == {"ana"}


def test_forgetting_a_person_shows_everybody_else(look: Look, writable: str) -> None:
    page = look(writable).open("people/bo")
    page.get_by_role("button", name="Forget…").click()
    page.get_by_role("button", name="Forget for ever").click()
    page.locator(".person", has_text="ana").wait_for()
    assert page.locator(".person", has_text="bo").count() == 0
    assert page.locator("#scope").input_value() == ""
    left = httpx2.post(f"{writable}/ui/memories", json={"all_users": True, "limit": 200}).json()["items"]
    assert {memory["user"] for memory in left} == {"ana", "cleo"}


def test_api_page_sends_a_call_under_its_policy(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.page
    response = page.goto(f"{small}/docs")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    page.locator("details").first.wait_for()
    assert page.locator("details").count() == count_operations(httpx2.get(f"{small}/openapi.json").json())
    page.fill("#find", "recall")
    page.locator("details#recall summary").click()
    page.locator("details#recall textarea").fill('{"query": "Where does Ana live?", "user": "ana"}')
    page.locator("details#recall button").click()
    page.locator("details#recall pre", has_text="200 OK").wait_for()
    assert "Oslo" in page.locator("details#recall pre").inner_text()
    watched.check()


def count_operations(document: Any) -> int:
    return sum(
        method in ("get", "post", "put", "patch", "delete") for path in document["paths"].values() for method in path
    )


def test_upkeep_is_previewed_and_run(look: Look, writable: str) -> None:
    watched = look(writable)
    page = watched.open("upkeep")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("It would do this").wait_for()
    run = page.get_by_role("button", name="Run it…")
    if run.is_enabled():
        run.click()
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("It did this").wait_for()
    watched.check()


@pytest.mark.parametrize(("scheme", "other_width"), [("light", 390), ("dark", 1280)])
def test_pages_are_accessible_and_photographed(look: Look, small: str, scheme: str, other_width: int) -> None:
    width = 1280 if other_width == 390 else 390
    watched = look(small, viewport={"width": width, "height": 860}, color_scheme=scheme)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    talk = "conversations/read?user=ana&agent=helper&session=first%20talk"
    for address in (*PAGES, "people/Bea", talk, f"memories/{memory_id(small, 'green tea')}"):
        page = watched.open(address)
        name = address.partition("?")[0].replace("/", "-")
        page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}-{width}.png")
        assert serious_findings(page, only_colours=scheme == "dark") == [], address
        page.set_viewport_size({"width": other_width, "height": 860})
        page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}-{other_width}.png")
        assert serious_findings(page, only_colours=scheme == "dark") == [], f"{address} at {other_width}"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), address
        page.set_viewport_size({"width": width, "height": 860})
    page.goto(f"{small}/docs")
    page.locator("details summary").first.click()
    assert serious_findings(page) == []
    page.screenshot(path=SCREENSHOTS / f"docs-{scheme}-{width}.png")


def serious_findings(page: Any, *, only_colours: bool = False) -> list[str]:
    if not AXE.exists():
        pytest.skip("axe-core is not here: scripts/system-packages fetches it")
    if not page.evaluate("window.axe !== undefined"):
        page.evaluate(AXE.read_text("utf-8"))
    rules = ["color-contrast"] if only_colours else ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    options = {"resultTypes": ["violations"], "runOnly": rules}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def test_search_obeys_every_filter(look: Look, writable: str) -> None:
    httpx2.post(f"{writable}/v1/memories/{memory_id(writable, 'cello')}/pin", json={"all_users": True})
    watched = look(writable)
    for address, words in (
        ("memories?q=cold&state=archived", "cold in May"),
        ("memories?q=instructions&state=quarantined", "Ignore all previous"),
        ("memories?q=Mondays&state=pinned", "cello"),
    ):
        page = watched.open(address)
        page.locator(".row", has_text=words).wait_for()
        assert page.locator(".row").count() == 1, address
    watched.open("memories?q=Oslo&trust=tool")
    page.get_by_text("Nothing found").wait_for()
    watched.open("memories?q=item&order=oldest")
    page.locator(".row .score").first.wait_for()
    days = page.locator(".row time").evaluate_all("each => each.map((one) => one.dateTime)")
    assert len(days) > 5
    assert days == sorted(days)


def test_day_of_a_filter_is_a_day_of_the_reader(look: Look, writable: str) -> None:
    for content, at in (("Late on the first", "2026-03-01T15:30:00Z"), ("Early on the first", "2026-03-01T14:30:00Z")):
        body = {"content": content, "user": "zoe", "at": at}
        httpx2.post(f"{writable}/v1/memories", json=body).raise_for_status()
    # Midnight of 2 March in Tokyo is 15:00 of 1 March in UTC.
    watched = look(writable, timezone_id="Asia/Tokyo")
    page = watched.open("memories?after=2026-03-02&before=2026-03-03")
    page.get_by_text("1 memory, that is all.").wait_for()
    assert "Late on the first" in page.locator(".list").inner_text()


def test_skip_link_goes_to_the_content_and_stays_on_the_page(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("people")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("h1").inner_text() == "People"
    assert page.url.endswith("#/people")
    watched.check()


WRONG_ADDRESSES = (
    "people/%E0%A4%A", "memories/abc", "memories/-1", "memories/1e3", "memories/999999", "memories/999999999999999999",
    "graph?around=abc", "nothing", "memories?state=no&type=no&trust=no&order=no&after=no&importance=no",
)  # fmt: skip


def test_wrong_address_says_so_in_plain_words(look: Look, small: str) -> None:
    watched = look(small)
    watched.expected = ("404", "422")
    for address in WRONG_ADDRESSES:
        text = watched.open(address).inner_text("main")
        for raw in ("NaN", "undefined", "AnyUser", "user=", "Input should", "URIError"):
            assert raw not in text, address
        assert watched.page.locator("h1").inner_text(), address
        watched.check()


def test_conversations_are_listed_to_the_last(look: Look, empty: str) -> None:
    for number in range(5):
        said = [
            {"role": "user", "content": f"I bought item {number}.{each}", "session": f"talk {number}"}
            for each in (1, 2)
        ]
        httpx2.post(f"{empty}/v1/remember", json={"content": said, "user": "ann", "session": f"talk {number}"})
    pages = [
        httpx2.get(f"{empty}/ui/conversations", params={"user": "ann", "limit": 2, "after": n}).json()
        for n in (0, 2, 4)
    ]
    assert sorted(one["session"] for page in pages for one in page) == [f"talk {number}" for number in range(5)]


def test_slider_goes_by_minutes_and_hours_and_back_to_the_oldest_memory(look: Look, small: str) -> None:
    page = look(small).open("ask")
    page.locator("input[type=range]:enabled").focus()
    field, shown = page.locator("input[type=datetime-local]"), page.locator(".slider b")
    steps = []
    for _ in range(9):
        page.keyboard.press("ArrowLeft")
        steps.append(shown.inner_text())
    assert (steps[0], steps[2], steps[-1]) == ("1 minute ago", "5 minutes ago", "2 hours ago")
    page.keyboard.press("Home")
    assert shown.inner_text() in ("Jan 9, 2025", "Jan 10, 2025")
    page.keyboard.press("End")
    assert (shown.inner_text(), field.input_value()) == ("now", "")


def test_moment_is_chosen_exactly_and_the_answer_is_as_of_it(look: Look, small: str) -> None:
    watched = look(small, timezone_id="Asia/Tokyo")
    page = watched.open("ask?q=Where does Ana live?")
    page.locator(".hit", has_text="Oslo").first.wait_for()
    with page.expect_request("**/ui/ask") as asked:
        page.fill("input[type=datetime-local]", "2025-02-01T18:59")
    assert asked.value.post_data_json["as_of"] == "2025-02-01T09:59:00.000Z"
    assert asked.value.post_data_json["question"] == "Where does Ana live?"
    watched.wait_until(
        "![...document.querySelectorAll('.hit .row-text')].some((one) => one.innerText.includes('Oslo'))"
    )


def test_facts_without_a_value_and_turned_names_can_be_read(look: Look, small: str) -> None:
    watched = look(small)
    page = watched.open("people/ana")
    person = httpx2.get(f"{small}/ui/person", params={"name": "ana", "all_users": True}).json()
    names = {**person["facts"][0]["fact"], "replaced": [], "value": "", "subject": "gpj\u202egnp"}
    told = {**person, "facts": [{"user": "ana", "fact": names}]}
    page.route("**/ui/person*", lambda route: route.fulfill(json=told))
    page.reload()
    watched.settle()
    assert page.locator(".fact-table .value-link").inner_text() == "(no text)"
    assert "\u202e" not in page.inner_text("main")
    assert page.locator(".timeline a").inner_text() == "(no text)"


def test_arrow_down_goes_from_the_search_field_into_the_list(look: Look, small: str) -> None:
    page = look(small).open("memories")
    page.locator(".row").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement === document.querySelector('.row')")


def test_list_of_keys_names_every_page(look: Look, small: str) -> None:
    page = look(small).open()
    page.keyboard.press("?")
    text = page.locator("dialog").inner_text()
    assert all(name in text for name in page.locator(".nav li").all_inner_texts())
