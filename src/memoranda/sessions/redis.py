"""Short-term values in Redis: shared by processes and machines, on one server or a cluster.

The `redis` package is imported when a backend is made, so that this module can be imported without the extra.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn, Protocol, cast
from urllib.parse import urlsplit

from memoranda.display import shown
from memoranda.errors import Closed, Incompatible, InvalidInput, InvalidType, MemorandaError, MissingExtra, Unavailable
from memoranda.records import Closing
from memoranda.sessions.base import (
    DEFAULT_TTL,
    Namespace,
    Tenant,
    ValueScope,
    Workflow,
    parse_key,
    qualify_keys,
    with_plain_keys,
)
from memoranda.settings import get_settings, mask_password
from memoranda.types import JSON
from memoranda.validation import check_ttl, decode_json, encode_json

DEFAULT_URL: Final = "redis://localhost:6379/0"
_TIMEOUT: Final = 2.0
_BATCH: Final = 500
"""Values in one command: enough to save round trips, few enough not to block other clients."""


class RedisBackend(Closing):
    """A `ValueStore` in Redis, which expires the values itself.

    Raises `Unavailable` when no server answers. The server must not evict keys on its own (`maxmemory-policy
    noeviction`, the default of Redis).

    Args:
        url: One server (`redis://`, `rediss://`, `unix://`), some nodes of a cluster
            (`redis+cluster://host:port,host:port`, `rediss+cluster://`), or a client of redis-py for one server, whose
            address and password are used.
        prefix: What every key starts with; programs with the same prefix share their values.
        ttl: Seconds that a value is kept by default.
        timeout: Seconds to wait for the server.
    """

    def __init__(
        self,
        url: str | object = DEFAULT_URL,
        *,
        prefix: str = "memoranda:",
        ttl: float = DEFAULT_TTL,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._layout = KeyLayout(prefix)
        self._default_ttl = _to_milliseconds(ttl)
        self.client = RedisClient(url, timeout)

    def __repr__(self) -> str:
        return f"RedisBackend({self.client.safe_url!r})"

    @with_plain_keys
    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        milliseconds = self._default_ttl if ttl is None else _to_milliseconds(ttl)
        names = list(qualify_keys(namespace, values).values())
        texts = [encode_json(value, key) for key, value in values.items()]
        bucket = self._layout.bucket(namespace)
        for start in range(0, len(names), _BATCH):
            batch = slice(start, start + _BATCH)
            self.client.script(WRITE, bucket.script_keys(names[batch]), milliseconds, *texts[batch])

    @with_plain_keys
    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        names = qualify_keys(namespace, keys)
        texts = self._read(self._layout.bucket(namespace).keys(names.values()))
        return {key: decode_json(text, key) for key, text in zip(names, texts, strict=True) if text is not None}

    @with_plain_keys
    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        return self._remove(self._layout.bucket(namespace), list(qualify_keys(namespace, keys).values()))

    @with_plain_keys
    def keys(self, namespace: Namespace) -> list[str]:
        pages = self._list_names(self._layout.bucket(namespace), namespace)
        return sorted(parse_key(name) for page in pages for name in page)

    @with_plain_keys
    def clear(self, within: ValueScope) -> int:
        buckets = self._layout.buckets(within) if isinstance(within, Tenant) else [self._layout.bucket(within)]
        return sum(self._remove(bucket, page) for bucket in buckets for page in self._list_names(bucket, within))

    def count(self, within: ValueScope) -> int:
        if isinstance(within, Tenant):
            return self._count_tenant(within)
        return int(self.client.script(COUNT, self._layout.bucket(within).script_keys(), *_name_range(within)))

    def close(self) -> None:
        """Close the connections; calling it twice is allowed. The values stay in Redis."""
        self.client.close()

    def _read(self, keys: list[str]) -> list[bytes | None]:
        if len(keys) == 1:
            return [self.client.call("GET", keys[0])]
        texts: list[bytes | None] = []
        for start in range(0, len(keys), _BATCH):
            texts += self.client.call("MGET", *keys[start : start + _BATCH])
        return texts

    def _remove(self, bucket: Bucket, names: Sequence[str]) -> int:
        removed = 0
        for start in range(0, len(names), _BATCH):
            removed += int(self.client.script(REMOVE, bucket.script_keys(names[start : start + _BATCH])))
        return removed

    def _list_names(self, bucket: Bucket, within: ValueScope) -> Iterator[list[str]]:
        """Yield the names of live values in pages; the names of earlier pages may be removed in the meantime."""
        start, end = _name_range(within)
        while True:
            page = self.client.script(LIST, bucket.script_keys(), start, end, _BATCH)
            names = [name.decode() for name in page]
            if names:
                yield names
            if len(names) < _BATCH:
                return
            start = f"({names[-1]}"

    def _count_tenant(self, tenant: Tenant) -> int:
        seconds, micros = self.client.call("TIME")
        now = int(seconds) * 1000 + int(micros) // 1000
        return sum(self.client.calls([("ZCOUNT", bucket.due, now, "+inf") for bucket in self._layout.buckets(tenant)]))


def _to_milliseconds(ttl: float) -> int:
    # Rounded up: Redis refuses a time of 0.
    return math.ceil(1000 * check_ttl(ttl))


RETRY_AFTER: Final = 1.0
_SCHEMES: Final = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
_TEMPORARY: Final = ("BUSY", "MISCONF", "NOREPLICAS")
"""What the error of a server starts with when the same call may work later."""


class _RedisConnection(Protocol):
    """The methods of redis-py's two clients that are used here; their own types are too loose."""

    def execute_command(self, *command: str | int) -> Any: ...
    def pipeline(self, *, transaction: bool) -> Any: ...
    def close(self) -> None: ...


class RedisClient:
    """Runs commands and scripts with redis-py; reconnects by itself when the server is back."""

    def __init__(self, url: str | object, timeout: float) -> None:
        pool = getattr(url, "connection_pool", None)
        if not isinstance(url, str) and not hasattr(pool, "connection_kwargs"):
            raise InvalidType(f"the Redis URL must be a string or a client of redis-py, not {type(url).__name__}")
        if not timeout > 0:
            raise InvalidInput(f"timeout is {timeout} seconds: give more than 0")
        self.safe_url = mask_password(url) if isinstance(url, str) else _describe(pool)
        self._cluster = isinstance(url, str) and "+cluster:" in url
        self._closed = False
        self._unknown_script, self._redis_errors = _import_errors()
        try:
            self._client = _open_client(url, timeout) if isinstance(url, str) else _open_like(pool)
            self._execute: Callable[..., Any] = self._client.execute_command
            self._execute("PING")
        except self._redis_errors as error:
            raise self._translate(error) from error
        except (ValueError, TypeError):
            # Without its cause, which would show the URL with its password.
            raise InvalidInput(f"{self.safe_url} is not a Redis URL: write redis://host:6379/0") from None

    def call(self, *command: str | int) -> Any:
        """Return the server's answer to one command."""
        try:
            return self._execute(*command)
        except self._redis_errors as error:
            raise self._translate(error) from error

    def script(self, script: LuaScript, keys: Sequence[str], *arguments: str | int) -> Any:
        """Return the result of a script. Its source is sent only when the server does not have it."""
        try:
            return self._execute("EVALSHA", script.digest, len(keys), *keys, *arguments)
        except self._unknown_script:
            return self.call("EVAL", script.source, len(keys), *keys, *arguments)
        except self._redis_errors as error:
            raise self._translate(error) from error

    def calls(self, commands: Sequence[Sequence[str | int]]) -> list[Any]:
        """Return the answers to several commands that are sent together."""
        if self._closed:
            self._raise_closed()
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                return list(pipeline.execute())
        except self._redis_errors as error:
            raise self._translate(error) from error

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._execute = self._raise_closed
            self._client.close()

    def _raise_closed(self, *_: str | int) -> NoReturn:
        raise Closed(f"this RedisBackend ({self.safe_url}) is closed: make a new one")

    def _translate(self, error: Exception) -> MemorandaError:
        from redis import exceptions

        if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError):
            return InvalidInput(f"Redis at {self.safe_url} refuses this user or password: {error}")
        if isinstance(error, exceptions.MovedError) and not self._cluster:
            return Incompatible(f"Redis at {self.safe_url} is a node of a cluster: write redis+cluster:// in the URL")
        if isinstance(error, exceptions.ResponseError) and not _is_temporary(error):
            return Incompatible(f"Redis at {self.safe_url} refuses the command: {error}")
        return Unavailable(
            f"Redis at {self.safe_url} does not answer ({type(error).__name__}: {error}): "
            "check that it runs and that the URL is right",
            retry_after=RETRY_AFTER,
        )


def _is_temporary(error: Exception) -> bool:
    from redis.exceptions import AskError, ClusterError, OutOfMemoryError, ReadOnlyError, TryAgainError

    kinds = AskError | ClusterError | OutOfMemoryError | ReadOnlyError | TryAgainError
    return isinstance(error, kinds) or str(error).startswith(_TEMPORARY)


def _import_errors() -> tuple[type[Exception], tuple[type[Exception], ...]]:
    try:
        from redis.exceptions import NoScriptError, RedisClusterException, RedisError
    except ImportError as error:
        raise MissingExtra("RedisBackend", "redis") from error
    return NoScriptError, (RedisError, RedisClusterException)


def get_redis_client() -> Any | None:
    """Return a redis-py client for the server in the settings; None when `MEMORY_USE_REDIS` is off.

    None as well when the server does not answer and `MEMORY_REDIS_FALLBACK` is on; otherwise that raises `Unavailable`.
    """
    config = get_settings().memory
    if not config.use_redis:
        return None
    try:
        RedisBackend(config.redis_url).close()
    except Unavailable:
        if not config.redis_fallback:
            raise
        return None
    return _open_client(config.redis_url, _TIMEOUT, decode_responses=True)


def _open_client(url: str, timeout: float, *, decode_responses: bool = False) -> _RedisConnection:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.cluster import RedisCluster
    from redis.retry import Retry

    scheme = url.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        raise InvalidInput(f"{mask_password(url)} is not a Redis URL: it must start with one of {', '.join(_SCHEMES)}")
    # One retry at once: it replaces a pooled connection that was lost when the server restarted.
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 1),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "decode_responses": decode_responses,
    }
    try:
        nodes = _cluster_nodes(url) if scheme.endswith("+cluster") else None
        if nodes is None:
            return cast(_RedisConnection, Redis.from_url(url, **options))
    except ValueError:  # not shown: it can hold a part of the password
        raise InvalidInput(f"{mask_password(url)} is not a Redis URL: check its host and port") from None
    return cast(_RedisConnection, RedisCluster(**nodes, **options))


def _describe(pool: Any) -> str:
    settings = pool.connection_kwargs
    address = settings.get("path") or f"{settings.get('host', 'localhost')}:{settings.get('port', 6379)}"
    return f"redis://{address}/{settings.get('db', 0)}"


def _open_like(pool: Any) -> _RedisConnection:
    """Return a client of our own for the server of another one, which may decode what it receives."""
    from redis import ConnectionPool, Redis

    settings = {**pool.connection_kwargs, "decode_responses": False}
    return cast(_RedisConnection, Redis(connection_pool=ConnectionPool(pool.connection_class, **settings)))


def _cluster_nodes(url: str) -> dict[str, Any]:
    """Return the nodes to start from, of a URL such as `redis+cluster://user:password@host:7000,host:7001`."""
    from redis.cluster import ClusterNode

    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    first, *others = hosts.split(",")
    single = parts._replace(scheme=parts.scheme.removesuffix("+cluster"), netloc=f"{login}{at}{first}")
    addresses = [urlsplit(f"redis://{other}") for other in others]
    nodes = [ClusterNode(each.hostname, each.port or 6379) for each in addresses]  # type: ignore[no-untyped-call]
    return {"url": single.geturl(), "startup_nodes": nodes}


BUCKETS: Final = 64
"""Never change it: existing values would no longer be found."""


@dataclass(frozen=True, slots=True)
class LuaScript:
    """A Lua script and the digest by which Redis finds it."""

    source: str
    digest: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """The keys of one bucket."""

    names: str
    due: str
    values: str
    """What the key of every value starts with."""

    def keys(self, names: Iterable[str]) -> list[str]:
        return [self.values + name for name in names]

    def script_keys(self, names: Iterable[str] = ()) -> list[str]:
        return [self.names, self.due, *[self.values + name for name in names]]


class KeyLayout:
    """The Redis keys under one prefix."""

    def __init__(self, prefix: str) -> None:
        if not prefix or "{" in prefix or "}" in prefix:
            raise InvalidInput(f"prefix is {shown(prefix)}: give some text without braces")
        self._prefix = prefix

    def bucket(self, within: Namespace | Workflow) -> Bucket:
        """Return the bucket that holds all of these values."""
        return _find_bucket(self._prefix, within.path)

    def buckets(self, tenant: Tenant) -> list[Bucket]:
        return [_make_bucket(self._prefix, tenant.path, number) for number in range(BUCKETS)]


@lru_cache(maxsize=16_384)
def _find_bucket(prefix: str, path: str) -> Bucket:
    tenant, workflow, *_ = path.split("/")
    group = path if workflow == "-" else f"{tenant}/{workflow}/"
    return _make_bucket(prefix, f"{tenant}/", zlib.crc32(group.encode()) % BUCKETS)


def _make_bucket(prefix: str, tenant: str, number: int) -> Bucket:
    stem = f"{prefix}{{{tenant}{number:02x}}}"
    return Bucket(f"{stem}names", f"{stem}due", f"{stem}:")


def _name_range(within: ValueScope) -> tuple[str, str]:
    """Return the bounds of the names in a scope, in the syntax of Redis: from the first, up to the end."""
    # Every path ends in "/", and "0" is the character after it.
    return f"[{within.path}", f"({within.path[:-1]}0"


def make_script(source: str) -> LuaScript:
    """Return a script with its digest."""
    return LuaScript(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
# Where a name starts in a key, after "<prefix>{<bucket>}:"; KEYS[1] is "<prefix>{<bucket>}names".
_NAME_OFFSET = """
local skip = #KEYS[1] - 3
"""
# Removes names from the index whose values have expired.
_DROP_EXPIRED = """
local function drop_expired(limit)
  local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - 1, 'LIMIT', 0, limit)
  if #expired > 0 then
    redis.call('ZREM', KEYS[1], unpack(expired))
    redis.call('ZREM', KEYS[2], unpack(expired))
  end
  return #expired
end
"""

WRITE: Final = make_script(
    _NOW
    + _NAME_OFFSET
    + """
local ttl = tonumber(ARGV[1])
for i = 3, #KEYS do
  local name = string.sub(KEYS[i], skip)
  redis.call('SET', KEYS[i], ARGV[i - 1], 'PX', ttl)
  if redis.call('ZADD', KEYS[2], now + ttl, name) == 1 then
    redis.call('ZADD', KEYS[1], 0, name)
  end
end
-- The index expires a second after its last value; its time is renewed at most once a second.
if redis.call('PTTL', KEYS[1]) < ttl then
  redis.call('PEXPIRE', KEYS[1], ttl + 1000)
  redis.call('PEXPIRE', KEYS[2], ttl + 1000)
end
-- One write in eight drops expired names, up to twice as many as eight writes add, so that they do not pile up.
if time[2] % 8 == 0 then
"""
    + _DROP_EXPIRED
    + """
  drop_expired(math.min(16 * (#KEYS - 2), 1000))
end
"""
)
"""KEYS: names, due, values…; ARGV: milliseconds, texts…"""

REMOVE: Final = make_script(
    _NAME_OFFSET
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

LIST: Final = make_script(
    _NOW
    + _DROP_EXPIRED
    + """
while drop_expired(1000) == 1000 do end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, tonumber(ARGV[3]))
"""
)
"""KEYS: names, due; ARGV: range from, range to, limit."""

COUNT: Final = make_script(
    _NOW
    + _DROP_EXPIRED
    + """
while drop_expired(1000) == 1000 do end
return redis.call('ZLEXCOUNT', KEYS[1], ARGV[1], ARGV[2])
"""
)
"""KEYS: names, due; ARGV: range from, range to."""
