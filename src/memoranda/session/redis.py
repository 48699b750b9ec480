"""Short-term values in Redis: shared by processes and machines, on one server or a cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from memoranda.jsonvalue import decode_json, encode_json
from memoranda.session.base import Namespace, Tenant, Within, key_of, named
from memoranda.session.redis_client import RedisClient
from memoranda.session.redis_layout import COUNT, LIST, REMOVE, WRITE, Bucket, Layout, name_range
from memoranda.session.ttl import DEFAULT_TTL, check_ttl
from memoranda.types import JSON

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
