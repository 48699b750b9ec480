"""Authentication: API keys, the principals they identify, and their rate limits."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memoranda.aio.threads import in_thread
from memoranda.errors import Denied, Unavailable
from memoranda.server.keys import SCOPES, ApiKey, Keys, split_key, to_api_key
from memoranda.server.limits import RateLimit
from memoranda.types import DEFAULT_TENANT, Clock

_CACHED_KEYS: Final = 10_000
_RECORD_USE_EVERY: Final = 60.0
_SCHEMES: Final = ("bearer", "token")
"""The second is what mem0's client sends."""
_INVALID_KEY: Final = "this key is not valid: it is wrong, revoked or expired"


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller that a key identifies."""

    key_id: str
    tenant: str
    scopes: frozenset[str]

    def require(self, scope: str) -> None:
        """Raise `Denied` unless the key has this scope."""
        if scope not in self.scopes:
            raise Denied(f"this key has no {scope!r} scope: use one that has")


LOCAL: Final = Principal("local", DEFAULT_TENANT, frozenset(SCOPES))
"""A caller on this machine, of a server that never had a key and allows callers without one."""


@dataclass(slots=True)
class _CachedKey:
    secret_hash: bytes
    """A hash of the secret that was checked: the secret itself is not kept."""
    key: ApiKey
    checked_at: float
    use_recorded_at: float


class Authenticator:
    """Checks keys. A checked key is cached for a moment, so that not every request reads the store."""

    def __init__(
        self, keys: Keys, clock: Clock, *, cache_seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._timer = timer
        self._cache: OrderedDict[str, _CachedKey] = OrderedDict()
        self._rate_limits: dict[str, RateLimit] = {}
        self._had_key = False

    async def authenticate(self, header: str | None, *, local: bool) -> Principal:
        """Return the principal behind an `Authorization` header; raise `Denied` when it is missing or not valid.

        Without a header, a local caller is accepted as `LOCAL` until the first key is created. A key that was revoked
        or has expired still counts: its owner has decided that callers need one.
        """
        if header is None:
            if local and not await self._ever_had_key():
                return LOCAL
            raise Denied("no key: send it as 'Authorization: Bearer <key>'", status=401)
        scheme, _, text = header.partition(" ")
        parts = split_key(text.strip()) if scheme.lower() in _SCHEMES else None
        if parts is None:
            raise Denied(_INVALID_KEY, status=401)
        key = await self._check(*parts)
        self._check_rate(key)
        return Principal(key.id, key.tenant, frozenset(key.scopes))

    async def _ever_had_key(self) -> bool:
        # Only "yes" is cached: "no" must end with the commit that creates the first key.
        self._had_key = self._had_key or await in_thread(self._keys.any_created)
        return self._had_key

    async def _check(self, key_id: str, secret: str) -> ApiKey:
        cached = self._cache.get(key_id)
        now = self._clock()
        if cached is None or self._timer() - cached.checked_at >= self._cache_seconds:
            cached = await in_thread(self._look_up, key_id, secret, cached)
        if not hmac.compare_digest(cached.secret_hash, _hash(secret)) or not cached.key.is_valid(now):
            self._cache.pop(key_id, None)
            raise Denied(_INVALID_KEY, status=401)
        return cached.key

    def _look_up(self, key_id: str, secret: str, previous: _CachedKey | None) -> _CachedKey:
        row = self._keys.find(key_id)
        # An unknown id takes the same time as a wrong secret, so that a caller cannot tell them apart.
        expected = row.digest if row is not None else bytes(32)
        if not hmac.compare_digest(self._keys.digest(key_id, secret), expected) or row is None:
            raise Denied(_INVALID_KEY, status=401)
        now = self._timer()
        cached = _CachedKey(
            _hash(secret), to_api_key(row), now, previous.use_recorded_at if previous else float("-inf")
        )
        if cached.key.is_valid(self._clock()) and now - cached.use_recorded_at >= _RECORD_USE_EVERY:
            self._keys.record_use(key_id)
            cached.use_recorded_at = now
        self._cache[key_id] = cached
        while len(self._cache) > _CACHED_KEYS:
            self._cache.popitem(last=False)
        return cached

    def _check_rate(self, key: ApiKey) -> None:
        if key.rate is None:
            return
        limit = self._rate_limits.get(key.id)
        if limit is None or limit.rate != key.rate:
            limit = self._rate_limits[key.id] = RateLimit(key.rate, self._timer())
        wait = limit.acquire(self._timer())
        if wait:
            raise Unavailable("this key has exceeded its rate limit: wait a moment", retry_after=wait, status=429)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
