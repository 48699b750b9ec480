from __future__ import annotations

from datetime import timedelta

import pytest

from memoranda.errors import InvalidInput
from memoranda.maintenance.base import UpkeepSettings
from memoranda.maintenance.policies import beyond_window, expired
from memoranda.types import MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, subject


def test_what_has_expired_goes_and_says_when() -> None:
    past, future = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
    subjects = [subject(1, expires_at=past), subject(2, expires_at=future), subject(3), subject(4, expires_at=NOW)]
    assert [(each.id, each.reason) for each in expired(subjects, NOW)] == [
        (1, "expired at 2026-05-01 11:00"),
        (4, "expired at 2026-05-01 12:00"),
    ]


def test_a_pinned_memory_outlives_its_time() -> None:
    assert expired([subject(1, expires_at=NOW, pinned=True)], NOW) == []


def test_a_window_keeps_the_newest_of_each_agent_user_and_session() -> None:
    settings = UpkeepSettings(keep_short_term=2)
    mine = [subject(n, days=1 - n / 100, type=MemoryType.SHORT_TERM) for n in range(1, 5)]
    others = [subject(10, days=1, type=MemoryType.WORKING, session="s"), subject(11, days=1, type=MemoryType.SEMANTIC)]
    decided = beyond_window([*mine, *others], NOW, settings)
    assert [(each.id, each.action) for each in decided] == [(1, "archived"), (2, "archived")]
    assert decided[1].reason == "number 3 of a window of 2"


def test_a_window_keeps_what_is_pinned_or_important_beyond_it() -> None:
    settings = UpkeepSettings(keep_short_term=1)
    window = [
        subject(1, days=3, type=MemoryType.SHORT_TERM, pinned=True),
        subject(2, days=2, type=MemoryType.SHORT_TERM, importance=0.8),
        subject(3, type=MemoryType.SHORT_TERM),
        subject(4, type=MemoryType.SHORT_TERM),
    ]
    assert [each.id for each in beyond_window(window, NOW, settings)] == [3]
    assert beyond_window(window, NOW, SETTINGS) == []


@pytest.mark.parametrize(
    "wrong",
    [{"floor": 1.5}, {"recent": timedelta(0)}, {"keep_short_term": 0}, {"cluster_least": 2.5}, {"related": "x"}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        UpkeepSettings(**wrong)  # type: ignore[arg-type]
