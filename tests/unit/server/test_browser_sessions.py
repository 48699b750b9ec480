from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.server.auth import BrowserSessions
from memoranda.sessions.values import InMemoryBackend
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def values(clock: FakeClock) -> InMemoryBackend:
    return InMemoryBackend(clock=clock)


def test_session_is_found_by_its_token_only(values: InMemoryBackend) -> None:
    sessions = BrowserSessions(values)
    token, session = sessions.create("key")
    assert sessions.find(token) == session
    assert sessions.find(token + "x") is None
    assert sessions.find(None) is None


def test_other_process_finds_the_session_and_its_end(values: InMemoryBackend, clock: FakeClock) -> None:
    first, second = (BrowserSessions(values, clock=clock) for _ in range(2))
    token, session = first.create("key")
    assert second.find(token) == session
    second.end(token)
    assert not first.is_open(token)


def test_neither_the_token_nor_that_of_the_page_is_stored(clock: FakeClock) -> None:
    stored: list[object] = []

    class Watched(InMemoryBackend):
        def set(self, *arguments: object, **options: object) -> None:
            stored.append((arguments, options))
            super().set(*arguments, **options)  # type: ignore[arg-type]

    token, session = BrowserSessions(Watched(clock=clock), clock=clock).create("key")
    assert token not in str(stored)
    assert session.csrf_token not in str(stored)


def test_session_ends_after_a_time_without_use(values: InMemoryBackend, clock: FakeClock) -> None:
    sessions = BrowserSessions(values, idle=60, lifetime=1000, clock=clock)
    token, _ = sessions.create("key")
    for _ in range(3):
        clock.advance(seconds=50)
        assert sessions.find(token) is not None
    clock.advance(seconds=61)
    assert sessions.find(token) is None


def test_session_ends_at_its_lifetime_however_often_it_is_used(values: InMemoryBackend, clock: FakeClock) -> None:
    sessions = BrowserSessions(values, idle=60, lifetime=100, clock=clock)
    token, _ = sessions.create("key")
    for _ in range(2):
        clock.advance(seconds=49)
        assert sessions.find(token) is not None
    clock.advance(seconds=3)
    assert sessions.find(token) is None


def test_session_ends_on_request(values: InMemoryBackend) -> None:
    sessions = BrowserSessions(values)
    token, _ = sessions.create("key")
    sessions.end(token)
    sessions.end(token)
    assert sessions.find(token) is None


def test_only_what_changes_something_needs_the_token_of_the_page(values: InMemoryBackend) -> None:
    _, session = BrowserSessions(values).create("key")
    assert session.allows("GET", None)
    assert not session.allows("POST", None)
    assert not session.allows("POST", "guess")
    assert not session.allows("POST", "gu\xe9ss")
    assert session.allows("DELETE", session.csrf_token)


def test_asking_whether_a_session_is_open_does_not_prolong_it(values: InMemoryBackend, clock: FakeClock) -> None:
    sessions = BrowserSessions(values, idle=60, lifetime=1000, clock=clock)
    token, _ = sessions.create("key")
    clock.advance(seconds=50)
    assert sessions.is_open(token)
    clock.advance(seconds=11)
    assert not sessions.is_open(token)
    assert sessions.find(token) is None


def test_session_ends_when_a_page_fetches_by_itself(values: InMemoryBackend, clock: FakeClock) -> None:
    sessions = BrowserSessions(values, idle=60, lifetime=1000, clock=clock)
    token, _ = sessions.create("key")
    clock.advance(seconds=50)
    assert sessions.find(token, is_use=False) is not None
    clock.advance(seconds=11)
    assert sessions.find(token) is None
