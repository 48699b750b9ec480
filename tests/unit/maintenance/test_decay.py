from __future__ import annotations

from datetime import timedelta

import pytest

from memoranda.maintenance.policies import faded, faded_importance, outlived, protection
from memoranda.types import MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, subject


def test_an_importance_halves_down_to_its_floor() -> None:
    left = [faded_importance(subject(1, days=days, importance=1.0), NOW, SETTINGS) for days in (0, 30, 60, 10_000)]
    assert left == pytest.approx([1.0, 0.65, 0.475, 0.3])


def test_use_slows_the_fading() -> None:
    unused = faded_importance(subject(1, days=60), NOW, SETTINGS)
    used = faded_importance(subject(1, days=60, accesses=3), NOW, SETTINGS)
    lately = faded_importance(subject(1, days=60, accesses=1, accessed_at=NOW), NOW, SETTINGS)
    assert unused < used < lately == 0.5


def test_a_clock_that_runs_backwards_fades_nothing() -> None:
    assert faded_importance(subject(1, days=-5), NOW, SETTINGS) == 0.5


def test_what_is_pinned_recent_or_important_is_protected() -> None:
    assert protection(subject(1, days=99, pinned=True), NOW, SETTINGS) == "pinned"
    assert protection(subject(1, days=6.9), NOW, SETTINGS) == "recent"
    assert protection(subject(1, days=99, importance=0.7), NOW, SETTINGS) == "importance 0.7"
    assert protection(subject(1, days=99, key="k"), NOW, SETTINGS) == "a saved value"
    assert protection(subject(1, days=99, type=MemoryType.SHARED), NOW, SETTINGS) == "shared knowledge"
    assert protection(subject(1, days=99, accessed_at=NOW - timedelta(days=1)), NOW, SETTINGS) == "recent"
    assert protection(subject(1, days=7.1), NOW, SETTINGS) is None


def test_short_term_memory_is_recent_for_an_hour() -> None:
    passing = [subject(1, days=hours / 24, type=MemoryType.WORKING) for hours in (0.9, 1.1)]
    assert [protection(each, NOW, SETTINGS) for each in passing] == ["recent", None]


def test_ordinary_importance_never_fades_away_and_little_importance_does() -> None:
    old = [subject(number, days=3_650, importance=number / 30) for number in range(1, 10)]
    assert [each.id for each in faded(old, NOW, SETTINGS)] == [1, 2]
    assert faded(old, NOW, SETTINGS)[0].reason == "importance 0.0333333 has faded to 0.01 in 3650.0 days without use"


def test_what_is_archived_or_has_ended_does_not_fade_again() -> None:
    gone = [subject(1, days=99, importance=0.1, archived_at=NOW), subject(2, days=99, importance=0.1, valid_to=NOW)]
    assert faded(gone, NOW, SETTINGS) == []


def test_an_archived_memory_is_removed_after_its_time_of_grace() -> None:
    def archived(number: int, days: float, **fields: object) -> object:
        return subject(number, days=400, archived_at=NOW - timedelta(days=days), **fields)

    subjects = [
        archived(1, 29.9),
        archived(2, 30),
        archived(3, 99, pinned=True),
        archived(4, 99, importance=0.9),
        archived(5, 99, importance=0.9, superseded_by=4),
        subject(6, days=400),
        archived(7, 99, consolidated=True),
    ]
    assert [each.id for each in outlived(subjects, NOW, SETTINGS)] == [2, 5]  # type: ignore[arg-type]
