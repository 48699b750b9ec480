"""Short-term values in Redis: shared by processes and machines, on one server or a cluster."""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, Self, cast
from urllib.parse import urlsplit

from memoranda.errors import Closed, Incompatible, InvalidInput, InvalidType, MemorandaError, MissingExtra, Unavailable
from memoranda.sessions.base import DEFAULT_TTL, Namespace, Tenant, Within, Workflow, check_ttl, key_of, named
from memoranda.types import JSON
from memoranda.validation import decode_json, encode_json

DEFAULT_URL: Final = "redis://localhost:6379/0"
_BATCH: Final = 500
"""Values in one command: enough to save round trips, few enough to hold nobody up."""


class RedisBackend:
    """A `ValueStore` in Redis; values go by Redis' own expiry.

    `redis://`, `rediss://` and `unix://` name one server, `redis+cluster://host:port,host:port` (or
    `rediss+cluster://`) some nodes of a cluster. Raises `Unavailable` when nothing answers there. The
    server must not evict keys on its own (`maxmemory-policy noeviction`, Redis' default).
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        prefix: str = "memoranda:",
        ttl: float = DEFAULT_TTL,
        timeout: float = 2.0,
    ) -> None:
        self._layout = Layout(prefix)
        self._lifetime = _milliseconds(ttl)
        self._redis = RedisClient(url, timeout)

    def __repr__(self) -> str:
        return f"RedisBackend({self._redis.shown!r})"

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        lifetime = self._lifetime if ttl is None else _milliseconds(ttl)
        names = list(named(namespace, values).values())
        texts = [encode_json(value, key) for key, value in values.items()]
        bucket = self._layout.bucket(namespace)
        for start in range(0, len(names), _BATCH):
            batch = slice(start, start + _BATCH)
            self._redis.script(WRITE, bucket.script_keys(names[batch]), lifetime, *texts[batch])

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        names = named(namespace, keys)
        places = self._layout.bucket(namespace).keys(names.values())
        return {
            key: decode_json(text, key) for key, text in zip(names, self._read(places), strict=True) if text is not None
        }

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        return self._remove(self._layout.bucket(namespace), list(named(namespace, keys).values()))

    def keys(self, namespace: Namespace) -> list[str]:
        pages = self._pages(self._layout.bucket(namespace), namespace)
        return sorted(key_of(name) for page in pages for name in page)

    def clear(self, within: Within) -> int:
        buckets = self._layout.buckets(within) if isinstance(within, Tenant) else [self._layout.bucket(within)]
        return sum(self._remove(bucket, page) for bucket in buckets for page in self._pages(bucket, within))

    def count(self, within: Within) -> int:
        if isinstance(within, Tenant):
            return self._count_all(within)
        return int(self._redis.script(COUNT, self._layout.bucket(within).script_keys(), *name_range(within)))

    def close(self) -> None:
        """Gives the connections back; may be called twice. The values stay in Redis."""
        self._redis.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, keys: list[str]) -> list[bytes | None]:
        if len(keys) == 1:
            return [self._redis.call("GET", keys[0])]
        texts: list[bytes | None] = []
        for start in range(0, len(keys), _BATCH):
            texts += self._redis.call("MGET", *keys[start : start + _BATCH])
        return texts

    def _remove(self, bucket: Bucket, names: Sequence[str]) -> int:
        removed = 0
        for start in range(0, len(names), _BATCH):
            removed += int(self._redis.script(REMOVE, bucket.script_keys(names[start : start + _BATCH])))
        return removed

    def _pages(self, bucket: Bucket, within: Within) -> Iterator[list[str]]:
        """The live names in it, page by page; what was read before may be removed meanwhile."""
        start, end = name_range(within)
        while True:
            page = self._redis.script(LIST, bucket.script_keys(), start, end, _BATCH)
            names = [name.decode() for name in page]
            if names:
                yield names
            if len(names) < _BATCH:
                return
            start = f"({names[-1]}"

    def _count_all(self, tenant: Tenant) -> int:
        seconds, micros = self._redis.call("TIME")
        now = int(seconds) * 1000 + int(micros) // 1000
        return sum(self._redis.calls([("ZCOUNT", bucket.due, now, "+inf") for bucket in self._layout.buckets(tenant)]))


def _milliseconds(ttl: float) -> int:
    # Rounded up: no time at all is not a lifetime that Redis takes.
    return math.ceil(1000 * check_ttl(ttl))


RETRY_AFTER: Final = 1.0
_SCHEMES: Final = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
_PASSING: Final = ("BUSY", "MISCONF", "NOREPLICAS")
"""What a server begins its refusal with when another time it would not refuse."""


class _Connection(Protocol):
    """What we use of redis-py's two clients, whose own types leave much open."""

    def execute_command(self, *command: str | int) -> Any: ...
    def pipeline(self, *, transaction: bool) -> Any: ...
    def close(self) -> None: ...


class RedisClient:
    """Commands and scripts over redis-py; comes back by itself once the server does."""

    def __init__(self, url: str, timeout: float) -> None:
        if not isinstance(url, str):
            raise InvalidType(f"the Redis URL must be a string, not {type(url).__name__}")
        if not timeout > 0:
            raise InvalidInput(f"timeout is {timeout} seconds: give more than 0")
        self.shown = masked(url)
        self._cluster = "+cluster:" in url
        self._closed = False
        self._unknown_script, self._errors = _load_errors()
        try:
            self._client = _connect(url, timeout)
            self._execute: Callable[..., Any] = self._client.execute_command
            self._execute("PING")
        except self._errors as error:
            raise self._translated(error) from error
        except (ValueError, TypeError):
            # The cause would show the URL as it is, password and all.
            raise InvalidInput(f"{self.shown} is no Redis URL: write redis://host:6379/0") from None

    def call(self, *command: str | int) -> Any:
        """The server's answer to one command."""
        try:
            return self._execute(*command)
        except self._errors as error:
            raise self._translated(error) from error

    def script(self, script: Script, keys: Sequence[str], *arguments: str | int) -> Any:
        """What a script answers; the server gets its text only when it does not know it yet."""
        try:
            return self._execute("EVALSHA", script.digest, len(keys), *keys, *arguments)
        except self._unknown_script:
            return self.call("EVAL", script.source, len(keys), *keys, *arguments)
        except self._errors as error:
            raise self._translated(error) from error

    def calls(self, commands: Sequence[Sequence[str | int]]) -> list[Any]:
        """The answers to several commands that are sent together."""
        if self._closed:
            self._refuse()
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                return list(pipeline.execute())
        except self._errors as error:
            raise self._translated(error) from error

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._execute = self._refuse
            self._client.close()

    def _refuse(self, *_: str | int) -> NoReturn:
        raise Closed(f"this RedisBackend ({self.shown}) is closed: make a new one")

    def _translated(self, error: Exception) -> MemorandaError:
        from redis import exceptions as known

        if isinstance(error, known.AuthenticationError | known.NoPermissionError):
            return InvalidInput(f"Redis at {self.shown} refuses this user or password: {error}")
        if isinstance(error, known.MovedError) and not self._cluster:
            return Incompatible(f"Redis at {self.shown} is a node of a cluster: write redis+cluster:// in the URL")
        if isinstance(error, known.ResponseError) and not _is_passing(error):
            return Incompatible(f"Redis at {self.shown} does not do what it is asked: {error}")
        return Unavailable(
            f"Redis at {self.shown} does not answer ({type(error).__name__}: {error}): "
            "see that it runs and that the URL is right",
            retry_after=RETRY_AFTER,
        )


def _is_passing(error: Exception) -> bool:
    from redis.exceptions import AskError, ClusterError, OutOfMemoryError, ReadOnlyError, TryAgainError

    kinds = AskError | ClusterError | OutOfMemoryError | ReadOnlyError | TryAgainError
    return isinstance(error, kinds) or str(error).startswith(_PASSING)


def masked(url: str) -> str:
    """The URL without its password, as it may be shown."""
    scheme, separator, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    if ":" in login:
        login = f"{login.partition(':')[0]}:***"
    return re.sub(r"(password=)[^&]*", r"\1***", f"{scheme}{separator}{login}{at}{place}")


def _load_errors() -> tuple[type[Exception], tuple[type[Exception], ...]]:
    try:
        from redis.exceptions import NoScriptError, RedisClusterException, RedisError
    except ImportError as error:
        raise MissingExtra("RedisBackend", "redis") from error
    return NoScriptError, (RedisError, RedisClusterException)


def _connect(url: str, timeout: float) -> _Connection:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.cluster import RedisCluster
    from redis.retry import Retry

    scheme = urlsplit(url).scheme
    if scheme not in _SCHEMES:
        raise InvalidInput(f"{masked(url)} is no Redis URL: it begins with one of {', '.join(_SCHEMES)}")
    # One more try at once: a pooled connection that died with a restarted server is replaced unnoticed.
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 1),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
    }
    if scheme.endswith("+cluster"):
        return cast(_Connection, RedisCluster(**_cluster_nodes(url), **options))
    return cast(_Connection, Redis.from_url(url, **options))


def _cluster_nodes(url: str) -> dict[str, Any]:
    """Where a cluster begins, the first node as a URL: `redis+cluster://user:password@host:7000,host:7001`."""
    from redis.cluster import ClusterNode

    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    first, *others = hosts.split(",")
    single = parts._replace(scheme=parts.scheme.removesuffix("+cluster"), netloc=f"{login}{at}{first}")
    places = [urlsplit(f"redis://{other}") for other in others]
    nodes = [ClusterNode(place.hostname, place.port or 6379) for place in places]  # type: ignore[no-untyped-call]
    return {"url": single.geturl(), "startup_nodes": nodes}


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
