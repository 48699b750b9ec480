"""Sessions of browsers: a key is given once, and a cookie stands for it until the session ends.

Sessions are kept in memory only: they end with the server. The cookie holds a random token, of which a hash is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

COOKIE: Final = "memoranda_session"
CSRF_HEADER: Final = "x-csrf-token"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_SESSIONS: Final = 10_000


@dataclass(slots=True)
class BrowserSession:
    """One signed-in browser."""

    authorization: str
    """The header that a program would send with each request: a revoked key ends the session at once."""
    csrf_token: str
    created_at: float
    used_at: float

    def allows(self, method: str, token: str | None) -> bool:
        """Whether a request may use this session: what changes something must carry the token of the page."""
        return method in SAFE_METHODS or hmac.compare_digest(self.csrf_token, token or "")


class BrowserSessions:
    """The signed-in browsers. A session ends after a time without use, and at the latest after `lifetime`."""

    def __init__(
        self, *, idle: float = 1800.0, lifetime: float = 43_200.0, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle = idle
        self.lifetime = lifetime
        self._timer = timer
        self._sessions: OrderedDict[bytes, BrowserSession] = OrderedDict()

    def create(self, authorization: str) -> tuple[str, BrowserSession]:
        """Return the token of a new session, for the cookie, and the session."""
        token, now = secrets.token_urlsafe(32), self._timer()
        session = BrowserSession(authorization, secrets.token_urlsafe(32), now, now)
        self._sessions[_hash(token)] = session
        while len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return token, session

    def find(self, token: str | None) -> BrowserSession | None:
        """Return the session of a cookie; None when it never existed or has ended."""
        if not token or not self.is_open(token):
            return None
        key = _hash(token)
        self._sessions[key].used_at = self._timer()
        self._sessions.move_to_end(key)
        return self._sessions[key]

    def is_open(self, token: str) -> bool:
        """Whether the session of a cookie has not ended. Asking is no use of it."""
        key, now = _hash(token), self._timer()
        session = self._sessions.get(key)
        if session is None:
            return False
        if now - session.used_at > self._idle or now - session.created_at > self.lifetime:
            del self._sessions[key]
            return False
        return True

    def end(self, token: str | None) -> None:
        """Forget a session."""
        if token:
            self._sessions.pop(_hash(token), None)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
