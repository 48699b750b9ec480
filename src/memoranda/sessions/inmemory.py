"""Short-term values in this process: bounded, least recently used out first, gone with the process."""

from __future__ import annotations

import heapq
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from memoranda.errors import Closed, InvalidInput
from memoranda.sessions.base import DEFAULT_TTL, Namespace, Within, check_ttl, key_of, named
from memoranda.types import JSON, Clock, utc_now
from memoranda.validation import decode_json, encode_json

DEFAULT_MAX_ENTRIES = 1000
_HEAP_SLACK = 64


@dataclass(slots=True)
class _Entry:
    text: str
    expires: datetime


class InMemoryBackend:
    """A `ValueStore` in a dictionary: fast, shared by threads, not by processes."""

    def __init__(
        self,
        max_entries: int = DEFAULT_MAX_ENTRIES,
        ttl: float = DEFAULT_TTL,
        *,
        clock: Clock = utc_now,
    ) -> None:
        if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
            raise InvalidInput(f"max_entries is {max_entries!r}: give a whole number of at least 1")
        self._max_entries = max_entries
        self._ttl = check_ttl(ttl)
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        # A path and a key name an entry; the least recently used one comes first.
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        # Which entries lie in a tenant, a workflow, a namespace, by path.
        self._members: dict[str, dict[str, None]] = {}
        # (when, name) of every entry, and of some that have gone or been renewed since.
        self._due: list[tuple[datetime, str]] = []

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        seconds = self._ttl if ttl is None else check_ttl(ttl)
        texts = {name: encode_json(values[key], key) for key, name in named(namespace, values).items()}
        with self._lock:
            expires = self._tidy() + timedelta(seconds=seconds)
            for name, text in texts.items():
                self._put(name, _Entry(text, expires))

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        names = named(namespace, keys)
        found: dict[str, str] = {}
        with self._lock:
            self._tidy()
            for key, name in names.items():
                entry = self._entries.get(name)
                if entry is not None:
                    self._entries.move_to_end(name)
                    found[key] = entry.text
        return {key: decode_json(text, key) for key, text in found.items()}

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        names = named(namespace, keys)
        with self._lock:
            self._tidy()
            return self._remove(names.values())

    def keys(self, namespace: Namespace) -> list[str]:
        with self._lock:
            self._tidy()
            return sorted(key_of(name) for name in self._members.get(namespace.path, ()))

    def clear(self, within: Within) -> int:
        with self._lock:
            self._tidy()
            return self._remove(list(self._members.get(within.path, ())))

    def count(self, within: Within) -> int:
        with self._lock:
            self._tidy()
            return len(self._members.get(within.path, ()))

    def close(self) -> None:
        """Forgets everything; may be called twice."""
        with self._lock:
            self._closed = True
            self._entries.clear()
            self._members.clear()
            self._due.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _tidy(self) -> datetime:
        """Drops what has expired, so that every other line sees live entries only; each costs O(log n), once."""
        if self._closed:
            raise Closed("this InMemoryBackend is closed: make a new one")
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            name = heapq.heappop(self._due)[1]
            entry = self._entries.get(name)
            if entry is not None and entry.expires <= now:
                self._remove([name])
        return now

    def _put(self, name: str, entry: _Entry) -> None:
        if name not in self._entries:
            for path in _paths(name):
                self._members.setdefault(path, {})[name] = None
        self._entries[name] = entry
        self._entries.move_to_end(name)
        heapq.heappush(self._due, (entry.expires, name))
        while len(self._entries) > self._max_entries:
            self._remove([next(iter(self._entries))])
        if len(self._due) > 2 * len(self._entries) + _HEAP_SLACK:
            self._due = [(entry.expires, name) for name, entry in self._entries.items()]
            heapq.heapify(self._due)

    def _remove(self, names: Iterable[str]) -> int:
        removed = 0
        for name in names:
            if self._entries.pop(name, None) is None:
                continue
            removed += 1
            for path in _paths(name):
                members = self._members[path]
                del members[name]
                if not members:
                    del self._members[path]
        return removed


def _paths(name: str) -> tuple[str, ...]:
    tenant = name.index("/") + 1
    workflow = name.index("/", tenant) + 1
    return name[:tenant], name[:workflow], name[: name.rindex("/") + 1]
