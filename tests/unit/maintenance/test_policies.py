from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memoranda.errors import InvalidInput
from memoranda.maintenance.policies import (
    UpkeepItem,
    UpkeepSettings,
    faded_importance,
    find_beyond_window,
    find_deletable,
    find_expired,
    find_faded,
    find_repeats,
    protection_reason,
)
from memoranda.types import MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, make_item, make_turn


def test_expired_memories_are_archived_with_expiry_time_as_reason() -> None:
    past, future = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
    items = [make_item(1, expires_at=past), make_item(2, expires_at=future), make_item(3), make_item(4, expires_at=NOW)]
    assert [(decision.id, decision.action, decision.reason) for decision in find_expired(items, NOW)] == [
        (1, "archived", "expired at 2026-05-01 11:00 UTC"),
        (4, "archived", "expired at 2026-05-01 12:00 UTC"),
    ]


def test_expired_value_is_removed_and_archived_memory_stays_archived() -> None:
    items = [make_item(1, expires_at=NOW, key="k"), make_item(2, expires_at=NOW, archived_at=NOW)]
    assert [(decision.id, decision.action) for decision in find_expired(items, NOW)] == [(1, "removed")]


def test_pinned_memory_does_not_expire() -> None:
    assert find_expired([make_item(1, expires_at=NOW, pinned=True)], NOW) == []


def test_window_keeps_newest_of_each_agent_user_and_session() -> None:
    settings = UpkeepSettings(keep_short_term=2)
    short_term = [make_item(n, days=1 - n / 100, type=MemoryType.SHORT_TERM) for n in range(1, 5)]
    others = [
        make_item(10, days=1, type=MemoryType.WORKING, session="s"),
        make_item(11, days=1, type=MemoryType.SEMANTIC),
    ]
    decisions = find_beyond_window([*short_term, *others], NOW, settings)
    assert [(decision.id, decision.action) for decision in decisions] == [(1, "archived"), (2, "archived")]
    assert decisions[1].reason == "number 3 of a window of 2"


def test_window_never_archives_pinned_or_important_memories() -> None:
    settings = UpkeepSettings(keep_short_term=1)
    window = [
        make_item(1, days=3, type=MemoryType.SHORT_TERM, pinned=True),
        make_item(2, days=2, type=MemoryType.SHORT_TERM, importance=0.8),
        make_item(3, type=MemoryType.SHORT_TERM),
        make_item(4, type=MemoryType.SHORT_TERM),
    ]
    assert [decision.id for decision in find_beyond_window(window, NOW, settings)] == [3]
    assert find_beyond_window(window, NOW, SETTINGS) == []


@pytest.mark.parametrize(
    "wrong",
    [{"floor": 1.5}, {"recent": timedelta(0)}, {"keep_short_term": 0}, {"cluster_least": 2.5}, {"related": "x"}],
)
def test_invalid_settings_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        UpkeepSettings(**wrong)  # type: ignore[arg-type]


def test_importance_halves_down_to_its_floor() -> None:
    left = [faded_importance(make_item(1, days=days, importance=1.0), NOW, SETTINGS) for days in (0, 30, 60, 10_000)]
    assert left == pytest.approx([1.0, 0.65, 0.475, 0.3])


def test_use_slows_fading() -> None:
    unused = faded_importance(make_item(1, days=60), NOW, SETTINGS)
    used = faded_importance(make_item(1, days=60, accesses=3), NOW, SETTINGS)
    lately = faded_importance(make_item(1, days=60, accesses=1, accessed_at=NOW), NOW, SETTINGS)
    assert unused < used < lately == 0.5


def test_memory_from_the_future_does_not_fade() -> None:
    assert faded_importance(make_item(1, days=-5), NOW, SETTINGS) == 0.5


def test_pinned_recent_and_important_memories_are_protected() -> None:
    assert protection_reason(make_item(1, days=99, pinned=True), NOW, SETTINGS) == "pinned"
    assert protection_reason(make_item(1, days=6.9), NOW, SETTINGS) == "recent"
    assert protection_reason(make_item(1, days=99, importance=0.7), NOW, SETTINGS) == "importance 0.7"
    assert protection_reason(make_item(1, days=99, key="k"), NOW, SETTINGS) == "a saved value"
    assert protection_reason(make_item(1, days=99, type=MemoryType.SHARED), NOW, SETTINGS) == "shared knowledge"
    assert protection_reason(make_item(1, days=99, accessed_at=NOW - timedelta(days=1)), NOW, SETTINGS) == "recent"
    assert protection_reason(make_item(1, days=7.1), NOW, SETTINGS) is None


def test_short_term_memory_is_recent_for_an_hour() -> None:
    working = [make_item(1, days=hours / 24, type=MemoryType.WORKING) for hours in (0.9, 1.1)]
    assert [protection_reason(item, NOW, SETTINGS) for item in working] == ["recent", None]


def test_only_memories_of_low_importance_fade() -> None:
    old = [make_item(number, "Haha, so cool!", days=3_650, importance=number / 30) for number in range(1, 10)]
    assert [decision.id for decision in find_faded(old, NOW, SETTINGS)] == [1, 2]
    reason = find_faded(old, NOW, SETTINGS)[0].reason
    assert reason == "small talk: importance 0.0333333 has faded to 0.01 in 3650 days without use"


@pytest.mark.parametrize(
    "text", ["I can't have dairy.", "I use a wheelchair.", "I need subtitles.", "My sister Ann lives in Oslo.", "plain"]
)
def test_statement_never_fades_or_is_deleted_whatever_its_importance(text: str) -> None:
    old = make_item(1, text, days=3_650, importance=0.01)
    archived = make_item(2, text, days=3_650, importance=0.01, archived_at=NOW - timedelta(days=99))
    assert find_faded([old], NOW, SETTINGS) == find_deletable([archived], NOW, SETTINGS) == []
    by_importance = UpkeepSettings(small_talk_only=False)
    assert len(find_faded([old], NOW, by_importance)) == len(find_deletable([archived], NOW, by_importance)) == 1


def test_archived_and_ended_memories_do_not_fade() -> None:
    items = [
        make_item(1, "Wow, cool!", days=999, importance=0.05, archived_at=NOW),
        make_item(2, "Wow, cool!", days=999, importance=0.05, valid_to=NOW),
    ]
    assert find_faded(items, NOW, SETTINGS) == []


def test_archived_small_talk_is_removed_after_grace_period() -> None:
    def archived(number: int, days: float, text: str = "Haha, so cool!", **fields: Any) -> UpkeepItem:
        return make_item(number, text, days=400, archived_at=NOW - timedelta(days=days), **fields)

    items = [
        archived(1, 29.9),
        archived(2, 30),
        archived(3, 99, pinned=True),
        archived(4, 99, importance=0.9),
        archived(5, 99, "I moved to Oslo.", importance=0.9, superseded_by=6, merged=True),
        make_item(6, "I moved to Oslo.", days=400),
        archived(7, 99, consolidated=True),
        archived(8, 99, "I moved to Rome.", superseded_by=6),
        archived(9, 99, "I moved to Bonn.", superseded_by=99, merged=True),
        archived(10, 99, "The kettle is on.", expires_at=NOW),
    ]
    assert [decision.id for decision in find_deletable(items, NOW, SETTINGS)] == [2, 5, 10]


def merge(*items: UpkeepItem) -> list[tuple[int | None, int | None]]:
    return [(decision.id, decision.into) for decision in find_repeats(items, NOW, SETTINGS)]


def test_same_words_with_other_case_and_punctuation_are_merged() -> None:
    first, second = make_item(1, "I really love green tea!"), make_item(2, "i really love  green tea")
    assert merge(first, second) == [(2, 1)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My sister Ann has 2 cats at home", "My sister Ann has 3 cats at home"),
        ("My sister Ann has 2 cats at home", "My sister Eva has 2 cats at home"),
        ("I really like green tea", "I really don't like green tea"),
        ("Take the pill before meals", "Take the pill after meals"),
        ("The light is on", "The light is off"),
        ("I have a car", "I had a car"),
        ("I prefer tea over coffee", "I prefer coffee over tea"),
        ("All my friends came", "Some of my friends came"),
        ("He owes me money", "I owe him money"),
        ("Green tea is my favourite hot drink", "Green tea is my favourite hot morning drink"),
    ],
)
def test_any_other_word_or_order_prevents_merge(one: str, other: str) -> None:
    assert merge(make_item(1, one), make_item(2, other)) == merge(make_item(1, other), make_item(2, one)) == []


def test_merge_keeps_most_important_trusted_and_used_memory() -> None:
    words = "The meeting room is upstairs"
    assert merge(make_item(1, words), make_item(2, words, importance=0.9), make_item(3, words, trust="tool")) == [
        (1, 2),
        (3, 2),
    ]
    assert merge(make_item(1, words, trust="tool", importance=0.9), make_item(2, words)) == [(1, 2)]
    assert merge(make_item(1, words, trust="tool"), make_item(2, words, trust="assistant")) == [(1, 2)]
    assert merge(make_item(1, words), make_item(2, words, accesses=4)) == [(1, 2)]
    assert merge(make_item(1, words), make_item(2, words)) == [(2, 1)]


def test_pinned_memories_are_never_merged() -> None:
    words = "The key hangs behind the door"
    assert merge(make_item(1, words, pinned=True), make_item(2, words, pinned=True), make_item(3, words)) == [(3, 1)]


def test_memories_of_different_owners_types_or_speakers_are_never_merged() -> None:
    words = "The garden needs water"
    kinds: list[dict[str, Any]] = [
        {"user": "ada"},
        {"agent": "a"},
        {"type": MemoryType.PROCEDURAL},
        {"speaker": "Ben"},
        {"tenant": "t"},
    ]
    assert merge(*(make_item(n, words, **fields) for n, fields in enumerate([{}, *kinds], 1))) == []


def test_turns_are_merged_only_within_one_session_and_day() -> None:
    words = "The garden needs water again"
    assert merge(make_turn(1, words, days=3), make_turn(2, words, days=2.9)) == [(2, 1)]
    assert merge(make_turn(1, words, days=3), make_turn(2, words, days=1.5)) == []
    assert merge(make_turn(1, words), make_turn(2, words, session="s2")) == []


def test_archived_expired_derived_and_saved_memories_are_not_merged() -> None:
    words = "The roof is new"
    odd: list[dict[str, Any]] = [
        {"archived_at": NOW},
        {"valid_to": NOW},
        {"expires_at": NOW},
        {"derived": "summary"},
        {"key": "k"},
    ]
    assert merge(*(make_item(n, words, **fields) for n, fields in enumerate([{}, *odd], 1))) == []


def test_texts_without_content_words_are_not_merged() -> None:
    assert merge(make_item(1, "…"), make_item(2, "…")) == []
