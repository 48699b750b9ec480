"""Authentication: API keys, the principals they identify, and their rate limits.

The rate of a key is shared by all processes of a server: a token bucket for each key, in Redis or in the database. A
bucket holds the requests of one second, at least one. A process that gets many requests takes several tokens at once, a
tenth of what it used in the last second, so that not every request asks the bucket. It can lose those it does not use
within a second, but no key ever gets more than its rate.

Browsers have sessions: a key is given once, and a cookie stands for it until the session ends. Sessions are in the
store of values that all processes of a server share. The cookie holds a random token, of which a hash is kept, with the
id of the key: neither the token nor the key can be read from there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from memoranda.aio.threads import in_thread
from memoranda.errors import Denied, Unavailable
from memoranda.server.keys import SCOPES, ApiKey, Keys, split_key, to_api_key
from memoranda.sessions.base import Namespace, ValueStore
from memoranda.sessions.redis import LuaScript, RedisBackend, make_script
from memoranda.storage.base import OwnedWork, Store, Transaction
from memoranda.storage.meta import decode, lock_value, put_values
from memoranda.types import DEFAULT_TENANT, Clock, utc_now

_CACHED_KEYS: Final = 10_000
_RECORD_USE_EVERY: Final = 60.0
_SCHEMES: Final = ("bearer", "token")
"""The second is what mem0's client sends."""
_INVALID_KEY: Final = "this key is not valid: it is wrong, revoked or expired"
_KEPT_SECONDS: Final = 60
"""How long a bucket is kept once it is full again."""
_SHARE: Final = 10
"""A process takes this part of the tokens that it used within a second."""
_MAX_BUCKETS: Final = 10_000


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
    secret_hash: bytes | None
    """A hash of the secret that was checked: the secret itself is not kept. None when none was given."""
    key: ApiKey
    checked_at: float
    use_recorded_at: float

    def has(self, secret: str | None) -> bool:
        """Whether this is the secret that was checked; with None, nothing is left to check."""
        return secret is None or hmac.compare_digest(self.secret_hash or b"", _hash(secret))


class Authenticator:
    """Checks keys. A checked key is cached for a moment, so that not every request reads the store."""

    def __init__(
        self,
        keys: Keys,
        clock: Clock,
        rate_limits: RateLimits,
        *,
        cache_seconds: float,
        local_owner: bool = False,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._rate_limits = rate_limits
        self._cache_seconds = cache_seconds
        self._local_owner = local_owner
        self._timer = timer
        self._cache: OrderedDict[str, _CachedKey] = OrderedDict()
        self._had_key = False

    async def authenticate(self, header: str | None, *, local: bool) -> Principal:
        """Return the principal behind an `Authorization` header; raise `Denied` when it is missing or not valid.

        Without a header, a local caller is accepted as `LOCAL` until the first key is created. A key that was revoked
        or has expired still counts: its owner has decided that callers need one. A server that the owner of the
        database runs to look at it (`local_owner`) needs no key at any time.
        """
        if header is None:
            if local and (self._local_owner or not await self._ever_had_key()):
                return LOCAL
            raise Denied("no key: send it as 'Authorization: Bearer <key>'", status=401)
        scheme, _, text = header.partition(" ")
        parts = split_key(text.strip()) if scheme.lower() in _SCHEMES else None
        if parts is None:
            raise Denied(_INVALID_KEY, status=401)
        return await self._admit(await self._check(*parts))

    async def authenticate_browser(self, key_id: str) -> Principal:
        """Return the principal of a key that a browser has signed in with; raise `Denied` when it is not valid now."""
        return await self._admit(await self._check(key_id, None))

    async def is_valid(self, principal: Principal) -> bool:
        """Return whether a caller that was accepted would be now. This is no request: it takes nothing of a rate."""
        if principal is LOCAL:
            return self._local_owner or not await self._ever_had_key()
        try:
            await self._check(principal.key_id, None)
        except Denied:
            return False
        return True

    async def _admit(self, key: ApiKey) -> Principal:
        wait = await self._rate_limits.acquire(key)
        if wait:
            raise Unavailable("this key has exceeded its rate limit: wait a moment", retry_after=wait, status=429)
        return Principal(key.id, key.tenant, frozenset(key.scopes))

    async def _ever_had_key(self) -> bool:
        # Only "yes" is cached: "no" must end with the commit that creates the first key.
        self._had_key = self._had_key or await in_thread(self._keys.any_created)
        return self._had_key

    async def _check(self, key_id: str, secret: str | None) -> ApiKey:
        """Return a valid key. Without a secret the caller vouches that the key was given."""
        cached = self._cache.get(key_id)
        # A wrong secret takes the same path as an unknown id, so that the time does not show which keys are in use.
        if cached is None or not cached.has(secret) or self._timer() - cached.checked_at >= self._cache_seconds:
            cached = await in_thread(self._look_up, key_id, secret, cached)
        if not cached.key.is_valid(self._clock()):
            self._cache.pop(key_id, None)
            raise Denied(_INVALID_KEY, status=401)
        return cached.key

    def _look_up(self, key_id: str, secret: str | None, previous: _CachedKey | None) -> _CachedKey:
        row = self._keys.find(key_id)
        # An unknown id takes the same time as a wrong secret, so that a caller cannot tell them apart.
        expected = row.digest if row is not None else bytes(32)
        matches = secret is None or hmac.compare_digest(self._keys.digest(key_id, secret), expected)
        if not matches or row is None:
            raise Denied(_INVALID_KEY, status=401)
        now = self._timer()
        secret_hash = None if secret is None else _hash(secret)
        used_at = previous.use_recorded_at if previous else float("-inf")
        cached = _CachedKey(secret_hash, to_api_key(row), now, used_at)
        if cached.key.is_valid(self._clock()) and now - cached.use_recorded_at >= _RECORD_USE_EVERY:
            self._keys.record_use(key_id)
            cached.use_recorded_at = now
        self._cache[key_id] = cached
        while len(self._cache) > _CACHED_KEYS:
            self._cache.popitem(last=False)
        return cached


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class Grant(NamedTuple):
    """What a bucket gave: some tokens, or the seconds until it has one."""

    tokens: int
    wait: float


class Buckets(Protocol):
    """The buckets of all keys."""

    def take(self, key: ApiKey, rate: float, most: int) -> Grant:
        """Take up to so many tokens of a key."""
        ...


@dataclass(slots=True)
class _Allowance:
    """The tokens that this process has taken and not used, and how many it used within the present second."""

    tokens: int = 0
    used: int = 0
    until: float = 0.0


class RateLimits:
    """Decides whether a request of a key may run now."""

    def __init__(self, buckets: Buckets, timer: Callable[[], float] = time.monotonic) -> None:
        self._buckets = buckets
        self._timer = timer
        self._allowances: dict[str, _Allowance] = {}

    async def acquire(self, key: ApiKey) -> float:
        """Take one request. Return 0 when it may run, else the seconds to wait until one may."""
        if key.rate is None:
            return 0.0
        allowance = self._current(key.id)
        if allowance.tokens == 0:
            grant = await in_thread(self._buckets.take, key, key.rate, 1 + allowance.used // _SHARE)
            if not grant.tokens:
                return grant.wait
            allowance.tokens += grant.tokens
        allowance.tokens -= 1
        allowance.used += 1
        return 0.0

    def _current(self, key_id: str) -> _Allowance:
        now = self._timer()
        allowance = self._allowances.get(key_id)
        if allowance is None or now >= allowance.until:
            if len(self._allowances) > _MAX_BUCKETS:
                self._allowances.clear()
            used = 0 if allowance is None or now >= allowance.until + 1 else allowance.used
            allowance = self._allowances[key_id] = _Allowance(0, used // 2, now + 1)
        return allowance


class DatabaseBuckets:
    """Buckets in the database of the server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, key: ApiKey, rate: float, most: int) -> Grant:
        # Locked by its own row, so that buckets of two keys do not wait for each other.
        return self._store.write(OwnedWork(lambda tx: _take(tx, key, rate, most)), tenant=key.tenant)


def _take(tx: Transaction, key: ApiKey, rate: float, most: int) -> Grant:
    name, capacity = f"rate:{key.id}", max(1.0, rate)
    stored = lock_value(tx, key.tenant, name)
    tokens, filled_at = (capacity, tx.at) if stored is None else decode(stored, _to_bucket)
    # The clocks of two machines differ a little: time never runs back here.
    now = max(tx.at, filled_at)
    tokens = min(capacity, tokens + (now - filled_at) / 1e6 * rate)
    granted = min(int(tokens), most)
    left = tokens - granted
    expires_at = now + int((capacity / rate + _KEPT_SECONDS) * 1e6)
    put_values(tx, key.tenant, {name: json.dumps([left, now])}, expires_at)
    return Grant(granted, 0.0 if granted else (1 - left) / rate)


def _to_bucket(stored: str) -> tuple[float, int]:
    tokens, filled_at = json.loads(stored)
    return float(tokens), int(filled_at)


_TAKE: Final[LuaScript] = make_script("""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local rate, capacity, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'filled_at')
local tokens, filled_at = tonumber(stored[1]) or capacity, tonumber(stored[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - filled_at) * rate)
local granted = math.min(math.floor(tokens), most)
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens - granted), 'filled_at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / rate) + tonumber(ARGV[4]))
return {granted, string.format('%.9f', tokens - granted)}
""")


class RedisBuckets:
    """Buckets in Redis."""

    def __init__(self, backend: RedisBackend, prefix: str) -> None:
        self._redis = backend.client
        self._prefix = prefix

    def take(self, key: ApiKey, rate: float, most: int) -> Grant:
        arguments: tuple[Any, ...] = (repr(rate), repr(max(1.0, rate)), most, _KEPT_SECONDS)
        granted, left = self._redis.script(_TAKE, [f"{self._prefix}rate:{key.id}"], *arguments)
        return Grant(int(granted), 0.0 if int(granted) else (1 - float(left)) / rate)


COOKIE: Final = "memoranda_session"
CSRF_HEADER: Final = "x-csrf-token"
UNATTENDED_HEADER: Final = "x-unattended"
"""What a page sends with a request that it makes by itself, to show changes as they happen."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BROWSERS: Final = Namespace("server", "browsers")
_RENEWALS: Final = 30
"""How often within the idle time a use of the session is recorded: not at every request."""


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

        What a page fetches by itself does not count as a use, so an abandoned page does not keep its session open.
        """
        stored = self._get(token)
        if not token or stored is None:
            return None
        now, used_at = self._clock(), datetime.fromisoformat(stored["used_at"])
        if is_use and (now - used_at).total_seconds() > self._idle / _RENEWALS:
            self._put(token, stored["key_id"], created_at=datetime.fromisoformat(stored["created_at"]), used_at=now)
        return BrowserSession(stored["key_id"], _csrf_token(token))

    def is_open(self, token: str) -> bool:
        """Whether the session of a cookie has not ended. Asking does not count as a use."""
        return self._get(token) is not None

    def end(self, token: str | None) -> None:
        """Forget a session."""
        if token:
            self._values.delete(_BROWSERS, [_hash_token(token)])

    def _get(self, token: str | None) -> dict[str, Any] | None:
        stored = self._values.get(_BROWSERS, [_hash_token(token)]).get(_hash_token(token)) if token else None
        if not isinstance(stored, dict):
            return None
        now = self._clock()
        ages = {name: (now - datetime.fromisoformat(str(stored[name]))).total_seconds() for name in _TIMES}
        return stored if ages["used_at"] <= self._idle and ages["created_at"] <= self.lifetime else None

    def _put(self, token: str, key_id: str, *, created_at: datetime, used_at: datetime) -> None:
        value = {"key_id": key_id, "created_at": created_at.isoformat(), "used_at": used_at.isoformat()}
        self._values.set(_BROWSERS, {_hash_token(token): dict(value)}, ttl=self._idle)


_TIMES: Final = ("created_at", "used_at")


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _csrf_token(token: str) -> str:
    """Return the token of the page: whoever has the cookie can make it, and nobody else."""
    return hashlib.sha256(f"page of {token}".encode()).hexdigest()
