"""Sessions of browsers: a key is given once, and a cookie stands for it until the session ends.

Sessions are in the store of values that all processes of a server share. The cookie holds a random token, of which a
hash is kept, with the id of the key: neither the token nor the key can be read from there.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memoranda.sessions.base import Namespace, ValueStore
from memoranda.types import Clock, utc_now

COOKIE: Final = "memoranda_session"
CSRF_HEADER: Final = "x-csrf-token"
UNATTENDED_HEADER: Final = "x-unattended"
"""What a page sends with a request that nobody has caused: it shows changes as they happen."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BROWSERS: Final = Namespace("server", "browsers")
_RENEWALS: Final = 30
"""How often within the idle time a use of the session is noted: not at every request."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """One signed-in browser."""

    key_id: str
    """The key that was given: a revoked key ends the session at once."""
    csrf_token: str

    def allows(self, method: str, token: str | None) -> bool:
        """Whether a request may use this session: what changes something must carry the token of the page."""
        return method in SAFE_METHODS or hmac.compare_digest(self.csrf_token.encode(), (token or "").encode())


class BrowserSessions:
    """The signed-in browsers. A session ends after a time without use, and at the latest after `lifetime`."""

    def __init__(
        self, values: ValueStore, *, idle: float = 1800.0, lifetime: float = 43_200.0, clock: Clock = utc_now
    ) -> None:
        self._values = values
        self._idle = idle
        self.lifetime = lifetime
        self._clock = clock

    def create(self, key_id: str) -> tuple[str, BrowserSession]:
        """Return the token of a new session, for the cookie, and the session."""
        token, now = secrets.token_urlsafe(32), self._clock()
        self._put(token, key_id, created_at=now, used_at=now)
        return token, BrowserSession(key_id, _csrf_token(token))

    def find(self, token: str | None, *, is_use: bool = True) -> BrowserSession | None:
        """Return the session of a cookie; None when it never existed or has ended.

        What a page fetches by itself, while nobody is there, is no use: it does not keep the session from ending.
        """
        stored = self._get(token)
        if not token or stored is None:
            return None
        now, used_at = self._clock(), datetime.fromisoformat(stored["used_at"])
        if is_use and (now - used_at).total_seconds() > self._idle / _RENEWALS:
            self._put(token, stored["key_id"], created_at=datetime.fromisoformat(stored["created_at"]), used_at=now)
        return BrowserSession(stored["key_id"], _csrf_token(token))

    def is_open(self, token: str) -> bool:
        """Whether the session of a cookie has not ended. Asking is no use of it."""
        return self._get(token) is not None

    def end(self, token: str | None) -> None:
        """Forget a session."""
        if token:
            self._values.delete(_BROWSERS, [_hash(token)])

    def _get(self, token: str | None) -> dict[str, Any] | None:
        stored = self._values.get(_BROWSERS, [_hash(token)]).get(_hash(token)) if token else None
        if not isinstance(stored, dict):
            return None
        now = self._clock()
        ages = {name: (now - datetime.fromisoformat(str(stored[name]))).total_seconds() for name in _TIMES}
        return stored if ages["used_at"] <= self._idle and ages["created_at"] <= self.lifetime else None

    def _put(self, token: str, key_id: str, *, created_at: datetime, used_at: datetime) -> None:
        value = {"key_id": key_id, "created_at": created_at.isoformat(), "used_at": used_at.isoformat()}
        self._values.set(_BROWSERS, {_hash(token): dict(value)}, ttl=self._idle)


_TIMES: Final = ("created_at", "used_at")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _csrf_token(token: str) -> str:
    """Return the token of the page: whoever has the cookie can make it, and nobody else."""
    return hashlib.sha256(f"page of {token}".encode()).hexdigest()
