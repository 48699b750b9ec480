"""Rate limits of keys, shared by all processes of a server: a token bucket for each key, in Redis or in the database.

A bucket holds the requests of one second, at least one. A process that gets many requests takes several tokens at once,
a tenth of what it used in the last second, so that not every request asks the bucket. It can lose those it does not
use within a second, but no key ever gets more than its rate.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from memoranda.aio.threads import in_thread
from memoranda.server.keys import ApiKey
from memoranda.sessions.redis import LuaScript, RedisBackend, make_script
from memoranda.storage.base import OwnedWork, Store, Transaction
from memoranda.storage.short_lived import lock_value, put_values

_KEPT_SECONDS: Final = 60
"""How long a bucket is kept once it is full again."""
_SHARE: Final = 10
"""A process takes this part of the tokens that it used within a second."""
_MAX_BUCKETS: Final = 10_000


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
    tokens, filled_at = (capacity, tx.at) if stored is None else json.loads(stored)
    # The clocks of two machines differ a little: time never runs back here.
    now = max(tx.at, filled_at)
    tokens = min(capacity, tokens + (now - filled_at) / 1e6 * rate)
    granted = min(int(tokens), most)
    left = tokens - granted
    expires_at = now + int((capacity / rate + _KEPT_SECONDS) * 1e6)
    put_values(tx, key.tenant, {name: json.dumps([left, now])}, expires_at)
    return Grant(granted, 0.0 if granted else (1 - left) / rate)


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
