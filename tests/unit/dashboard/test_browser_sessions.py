from __future__ import annotations

from memoranda.dashboard.browser_sessions import BrowserSessions


class Timer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_session_is_found_by_its_token_only() -> None:
    sessions = BrowserSessions()
    token, session = sessions.create("Bearer key")
    assert sessions.find(token) is session
    assert sessions.find(token + "x") is None
    assert sessions.find(None) is None


def test_session_ends_after_a_time_without_use() -> None:
    timer = Timer()
    sessions = BrowserSessions(idle=60, lifetime=1000, timer=timer)
    token, _ = sessions.create("Bearer key")
    for timer.now in (50, 100, 150):
        assert sessions.find(token) is not None
    timer.now = 211
    assert sessions.find(token) is None


def test_session_ends_at_its_lifetime_however_often_it_is_used() -> None:
    timer = Timer()
    sessions = BrowserSessions(idle=60, lifetime=100, timer=timer)
    token, _ = sessions.create("Bearer key")
    for timer.now in (50, 99):
        assert sessions.find(token) is not None
    timer.now = 101
    assert sessions.find(token) is None


def test_session_ends_on_request() -> None:
    sessions = BrowserSessions()
    token, _ = sessions.create("Bearer key")
    sessions.end(token)
    sessions.end(token)
    assert sessions.find(token) is None


def test_only_what_changes_something_needs_the_token_of_the_page() -> None:
    _, session = BrowserSessions().create("Bearer key")
    assert session.allows("GET", None)
    assert not session.allows("POST", None)
    assert not session.allows("POST", "guess")
    assert session.allows("DELETE", session.csrf_token)


def test_asking_whether_a_session_is_open_does_not_prolong_it() -> None:
    timer = Timer()
    sessions = BrowserSessions(idle=60, lifetime=1000, timer=timer)
    token, _ = sessions.create("Bearer key")
    timer.now = 50
    assert sessions.is_open(token)
    timer.now = 61
    assert not sessions.is_open(token)
    assert sessions.find(token) is None
