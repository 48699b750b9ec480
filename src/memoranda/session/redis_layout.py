"""Where values lie in Redis, and the scripts that keep them and their index together.

A tenant has 64 buckets; a workflow, or an agent outside of any, always falls into the same one. The
bucket is the hash tag, so on a cluster one script can touch everything a call needs. Each bucket has

    <prefix>{<bucket>}:<name>   the JSON text, with Redis' own expiry
    <prefix>{<bucket>}names     every name, in order, so that a namespace is a range of it
    <prefix>{<bucket>}due       every name with the millisecond it expires at
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.session.base import Namespace, Tenant, Within, Workflow

BUCKETS: Final = 64
"""Never change it: values written before would no longer be found."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script and the digest that Redis knows it by."""

    source: str
    digest: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """The keys of one bucket."""

    names: str
    due: str
    values: str
    """What the key of every value begins with."""

    def keys(self, names: Iterable[str]) -> list[str]:
        return [self.values + name for name in names]

    def script_keys(self, names: Iterable[str] = ()) -> list[str]:
        return [self.names, self.due, *[self.values + name for name in names]]


class Layout:
    """The keys under one prefix."""

    def __init__(self, prefix: str) -> None:
        if not prefix or "{" in prefix or "}" in prefix:
            raise InvalidInput(f"prefix is {prefix!r}: give some text without braces")
        self._prefix = prefix

    def bucket(self, within: Namespace | Workflow) -> Bucket:
        """The one bucket that holds all of it."""
        return _bucket_of(self._prefix, within.path)

    def buckets(self, tenant: Tenant) -> list[Bucket]:
        return [_bucket(self._prefix, tenant.path, number) for number in range(BUCKETS)]


@lru_cache(maxsize=16_384)
def _bucket_of(prefix: str, path: str) -> Bucket:
    tenant, workflow, *_ = path.split("/")
    group = path if workflow == "-" else f"{tenant}/{workflow}/"
    return _bucket(prefix, f"{tenant}/", zlib.crc32(group.encode()) % BUCKETS)


def _bucket(prefix: str, tenant: str, number: int) -> Bucket:
    stem = f"{prefix}{{{tenant}{number:02x}}}"
    return Bucket(f"{stem}names", f"{stem}due", f"{stem}:")


def name_range(within: Within) -> tuple[str, str]:
    """The first name that may lie in it, and the first after it, as Redis compares them."""
    # Every path ends in "/", and "0" is the character after it.
    return f"[{within.path}", f"({within.path[:-1]}0"


def _script(source: str) -> Script:
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
# Where a name begins in a key, behind "<prefix>{<bucket>}:"; KEYS[1] is "<prefix>{<bucket>}names".
_NAME = """
local skip = #KEYS[1] - 3
"""
# Names leave the index some time after their value has gone by itself.
_TIDY = """
local function tidy(most)
  local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - 1, 'LIMIT', 0, most)
  if #gone > 0 then
    redis.call('ZREM', KEYS[1], unpack(gone))
    redis.call('ZREM', KEYS[2], unpack(gone))
  end
  return #gone
end
"""

WRITE: Final = _script(
    _NOW
    + _NAME
    + """
local ttl = tonumber(ARGV[1])
for i = 3, #KEYS do
  local name = string.sub(KEYS[i], skip)
  redis.call('SET', KEYS[i], ARGV[i - 1], 'PX', ttl)
  if redis.call('ZADD', KEYS[2], now + ttl, name) == 1 then
    redis.call('ZADD', KEYS[1], 0, name)
  end
end
-- The index outlives its last value by a second, then goes too; renewed at most once a second.
if redis.call('PTTL', KEYS[1]) < ttl then
  redis.call('PEXPIRE', KEYS[1], ttl + 1000)
  redis.call('PEXPIRE', KEYS[2], ttl + 1000)
end
-- One write in eight tidies up, and more than eight bring in: a bucket in use collects no expired names.
if time[2] % 8 == 0 then
"""
    + _TIDY
    + """
  tidy(math.min(16 * (#KEYS - 2), 1000))
end
"""
)
"""KEYS: names, due, values…; ARGV: milliseconds, texts…"""

REMOVE: Final = _script(
    _NAME
    + """
local removed = 0
for i = 3, #KEYS do
  local name = string.sub(KEYS[i], skip)
  removed = removed + redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[1], name)
  redis.call('ZREM', KEYS[2], name)
end
return removed
"""
)
"""KEYS: names, due, values…"""

LIST: Final = _script(
    _NOW
    + _TIDY
    + """
while tidy(1000) == 1000 do end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, tonumber(ARGV[3]))
"""
)
"""KEYS: names, due; ARGV: range from, range to, how many."""

COUNT: Final = _script(
    _NOW
    + _TIDY
    + """
while tidy(1000) == 1000 do end
return redis.call('ZLEXCOUNT', KEYS[1], ARGV[1], ARGV[2])
"""
)
"""KEYS: names, due; ARGV: range from, range to."""
