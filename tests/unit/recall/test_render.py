from __future__ import annotations

from datetime import timedelta

from memoranda.fence import close_mark, open_mark
from memoranda.recall.render import rendered
from tests.unit.recall.samples import MARKER, NOW, hit


def test_entries_stand_under_their_day_with_speaker_and_source() -> None:
    text = rendered(
        [
            hit(3, "I moved to Berlin.", days_ago=1, speaker="Ann", source="conversation", session="s1"),
            hit(2, "Ann's favourite colour is blue", days_ago=30, source="user_input"),
            hit(1, "And I found a flat.", days_ago=1, speaker="Ann"),
        ],
        MARKER,
        NOW,
    )
    lines = text.splitlines()
    assert lines[0] == open_mark(MARKER)
    assert "data" in lines[1]
    assert lines[2:-1] == [
        "## 2024-04-20 (Saturday)",
        "- Ann's favourite colour is blue [#2, user_input]",
        "## 2024-05-19 (Sunday)",
        "- Ann: And I found a flat. [#1]",
        "- Ann: I moved to Berlin. [#3, conversation, session s1]",
    ]
    assert lines[-1] == close_mark(MARKER)


def test_what_no_longer_holds_is_marked() -> None:
    old = hit(1, "Ann lives in Lyon", days_ago=9, valid_to=NOW - timedelta(days=2))
    still = hit(2, "Ann works in Lyon", days_ago=9, valid_to=NOW + timedelta(days=2))
    text = rendered([old, still], MARKER, NOW)
    assert "- Ann lives in Lyon (no longer true since 2024-05-18) [#1]" in text
    assert "- Ann works in Lyon [#2]" in text


def test_further_lines_are_indented_under_the_first() -> None:
    text = rendered([hit(1, "first\n\n- second\r\nthird  ")], MARKER, NOW)
    assert "- first\n  \n  - second\n  third [#1]" in text


def test_a_long_name_is_cut() -> None:
    entry = rendered([hit(1, "hello", speaker="x" * 500)], MARKER, NOW).splitlines()[3]
    assert entry == f"- {'x' * 79}…: hello [#1]"


def test_nothing_is_no_text_at_all() -> None:
    assert rendered([], MARKER, NOW) == ""
