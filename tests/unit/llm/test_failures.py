from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from memoranda.errors import ExtractionFailed, Unavailable
from memoranda.llm.structured import CallPause, call_within, describe_failure, hide, safe_cause

NOW = datetime(2026, 3, 9, tzinfo=UTC)


def test_description_is_one_short_line_without_secrets() -> None:
    text = f"refused key sk-{'a1' * 20}\nsecond line " + "x" * 500
    described = describe_failure(RuntimeError(text))
    assert described == "RuntimeError: refused key [redacted]"
    assert len(describe_failure(ExtractionFailed("word " * 500))) <= 200


@pytest.mark.parametrize("error", [ValueError(), KeyError(), type("Odd", (Exception,), {})()])
def test_error_without_words_is_described_by_its_class(error: Exception) -> None:
    assert describe_failure(error) == type(error).__name__


def test_error_that_cannot_be_printed_is_described_by_its_class() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert describe_failure(Unprintable()) == "Unprintable"


def test_cause_with_a_secret_is_not_shown() -> None:
    outer, inner = ValueError("outer"), ValueError("the key is abc123")
    assert safe_cause(outer, ["abc123"]) is outer
    outer.__cause__ = inner
    assert safe_cause(outer, ["abc123"]) is None
    assert hide("abc123 is wrong", ["abc123"]) == "[redacted] is wrong"


def test_slow_call_is_left_after_its_time() -> None:
    done = threading.Event()
    started = time.monotonic()
    with pytest.raises(Unavailable, match=r"m did not answer within 0\.05 seconds"):
        call_within(0.05, lambda: done.wait(5), "m")
    assert time.monotonic() - started < 2
    done.set()


def test_result_and_error_of_a_call_are_passed_on() -> None:
    assert call_within(5, lambda: 7, "m") == 7

    def fail() -> int:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        call_within(5, fail, "m")


def test_pause_grows_with_each_failure_and_has_a_longest() -> None:
    pause, now, waits = CallPause(), NOW, []
    for _ in range(9):
        pause.record_failure(OSError("out"), now)
        start = now
        while pause.reason(now):
            now += timedelta(seconds=5)
        waits.append((now - start).total_seconds())
    assert waits == [0, 30, 60, 120, 300, 900, 900, 900, 900]


def test_pause_follows_retry_after_within_bounds_and_ends_with_success() -> None:
    pause = CallPause()
    pause.record_failure(Unavailable("busy", retry_after=20), NOW)
    assert "busy" in (pause.reason(NOW + timedelta(seconds=19)) or "")
    assert pause.reason(NOW + timedelta(seconds=20)) is None
    pause.record_failure(Unavailable("busy", retry_after=10**9), NOW)
    assert pause.reason(NOW + timedelta(minutes=15)) is None
    pause.record_success()
    assert pause.reason(NOW) is None
    assert pause.last_failure is None


def test_only_the_first_failure_in_a_row_is_reported() -> None:
    pause = CallPause()
    assert pause.record_failure(OSError("out"), NOW)
    assert not pause.record_failure(OSError("out"), NOW)
    assert not pause.record_unusable(ExtractionFailed("garbage"))
    assert pause.reason(NOW) is None
    pause.record_success()
    assert pause.record_unusable(ExtractionFailed("garbage"))
