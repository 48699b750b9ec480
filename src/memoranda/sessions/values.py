"""Values that an agent saves under a key: short-term ones expire, long-term ones are memories.

Without Redis, short-term values are in this process: limited in number, the least recently used are dropped first.
What only long-term values or Redis need is imported at its first use.
"""

from __future__ import annotations

import hashlib
import heapq
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoranda.display import shown
from memoranda.errors import Closed, InvalidInput, Unavailable
from memoranda.items.base import KEY_PREFIX
from memoranda.records import Closing
from memoranda.sessions.base import (
    DEFAULT_TTL,
    Namespace,
    PlainKeyStore,
    ValueScope,
    ValueStore,
    is_short_term,
    parse_key,
    qualify_keys,
    takes_namespaces,
    with_plain_keys,
)
from memoranda.settings import MemoryConfig
from memoranda.text.checks import clean_text
from memoranda.types import JSON, Clock, MemoryType, utc_now
from memoranda.validation import check_component, check_ttl, copy_json, decode_json, encode_json, make_scope

if TYPE_CHECKING:
    from memoranda.remember.memories import Memories
    from memoranda.sessions.redis import RedisBackend


DEFAULT_MAX_ENTRIES = 1000
WORKFLOW = "workflow_id"
"""The key in the metadata of a long-term value for the workflow whose session saved it."""
_HEAP_SLACK = 64
_MAX_FIELD = 1000  # characters of JSON


@dataclass(slots=True)
class _StoredValue:
    text: str
    expires: datetime


class InMemoryBackend(Closing):
    """A `ValueStore` in a dictionary: fast, shared by threads but not by processes."""

    def __init__(
        self,
        max_entries: int = DEFAULT_MAX_ENTRIES,
        ttl: float = DEFAULT_TTL,
        *,
        clock: Clock = utc_now,
    ) -> None:
        if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
            raise InvalidInput(f"max_entries is {shown(max_entries)}: give a whole number of at least 1")
        self._max_entries = max_entries
        self._ttl = check_ttl(ttl)
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        # By full name, the least recently used first.
        self._entries: OrderedDict[str, _StoredValue] = OrderedDict()
        # The full names in each tenant, workflow and namespace, by path.
        self._names_by_path: dict[str, dict[str, None]] = {}
        # A heap with the expiry of every entry, and of some that have been removed or renewed since.
        self._expiries: list[tuple[datetime, str]] = []

    @with_plain_keys
    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        seconds = self._ttl if ttl is None else check_ttl(ttl)
        texts = {name: encode_json(values[key], key) for key, name in qualify_keys(namespace, values).items()}
        with self._lock:
            expires = self._drop_expired() + timedelta(seconds=seconds)
            for name, text in texts.items():
                self._put(name, _StoredValue(text, expires))

    @with_plain_keys
    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        names = qualify_keys(namespace, keys)
        texts: dict[str, str] = {}
        with self._lock:
            self._drop_expired()
            for key, name in names.items():
                entry = self._entries.get(name)
                if entry is not None:
                    self._entries.move_to_end(name)
                    texts[key] = entry.text
        return {key: decode_json(text, key) for key, text in texts.items()}

    @with_plain_keys
    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        names = qualify_keys(namespace, keys)
        with self._lock:
            self._drop_expired()
            return self._remove(names.values())

    @with_plain_keys
    def keys(self, namespace: Namespace) -> list[str]:
        with self._lock:
            self._drop_expired()
            return sorted(parse_key(name) for name in self._names_by_path.get(namespace.path, ()))

    @with_plain_keys
    def clear(self, within: ValueScope) -> int:
        with self._lock:
            self._drop_expired()
            return self._remove(list(self._names_by_path.get(within.path, ())))

    def count(self, within: ValueScope) -> int:
        with self._lock:
            self._drop_expired()
            return len(self._names_by_path.get(within.path, ()))

    def close(self) -> None:
        """Delete all values; calling it twice is allowed."""
        with self._lock:
            self._closed = True
            self._entries.clear()
            self._names_by_path.clear()
            self._expiries.clear()

    def _drop_expired(self) -> datetime:
        """Drop expired entries, at O(log n) each, so that other code sees live ones only; return the time."""
        if self._closed:
            raise Closed("this InMemoryBackend is closed: make a new one")
        now = self._clock()
        while self._expiries and self._expiries[0][0] <= now:
            name = heapq.heappop(self._expiries)[1]
            entry = self._entries.get(name)
            if entry is not None and entry.expires <= now:
                self._remove([name])
        return now

    def _put(self, name: str, entry: _StoredValue) -> None:
        if name not in self._entries:
            for path in _paths(name):
                self._names_by_path.setdefault(path, {})[name] = None
        self._entries[name] = entry
        self._entries.move_to_end(name)
        heapq.heappush(self._expiries, (entry.expires, name))
        while len(self._entries) > self._max_entries:
            self._remove([next(iter(self._entries))])
        if len(self._expiries) > 2 * len(self._entries) + _HEAP_SLACK:
            self._expiries = [(entry.expires, name) for name, entry in self._entries.items()]
            heapq.heapify(self._expiries)

    def _remove(self, names: Iterable[str]) -> int:
        removed = 0
        for name in names:
            if self._entries.pop(name, None) is None:
                continue
            removed += 1
            for path in _paths(name):
                siblings = self._names_by_path[path]
                del siblings[name]
                if not siblings:
                    del self._names_by_path[path]
        return removed


def _paths(name: str) -> tuple[str, ...]:
    tenant = name.index("/") + 1
    workflow = name.index("/", tenant) + 1
    return name[:tenant], name[:workflow], name[: name.rindex("/") + 1]


_SESSION_ENTRIES = 1_000_000


class Values:
    """`save` and `retrieve` for short-term and long-term values."""

    def __init__(
        self,
        tenant: str,
        short_term: Callable[[], ValueStore],
        memories: Callable[[], Memories],
        clock: Clock,
        short_term_ttl: timedelta,
    ) -> None:
        self._tenant = tenant
        self._short_term = short_term
        self._memories = memories
        self._clock = clock
        self._short_term_ttl = short_term_ttl

    def save(
        self, agent: str, key: str, value: JSON, kind: MemoryType, ttl: float | None, *, session: str | None = None
    ) -> bool:
        if is_short_term(kind, ttl):
            self._short_term().set(Namespace(self._tenant, agent=agent), {key: value}, ttl=ttl)
            return True
        from memoranda.remember.new_memory import check_options, value_to_text
        from memoranda.security.redaction import redact_value

        # Short-term values are what a running agent works with, and expire; these are kept and recalled.
        name = clean_text(key, "key")
        if name.startswith(KEY_PREFIX):
            raise InvalidInput("a key that begins with \\x1f is reserved for items: choose another")
        copy = redact_value(name, copy_json(value))
        scope = make_scope(self._tenant, clean_text(agent, "agent_id"), session=session)
        # As metadata, so that `search_similar(filter_metadata=…)` selects by it.
        kinds = {"type": str(kind), "memory_type": str(kind)}
        now = self._clock()
        own = {"key": name, "agent_id": scope.agent, **kinds, WORKFLOW: session}
        labels = {"timestamp": now.isoformat(), **_fields_of(copy), **own}
        metadata = {label: value for label, value in labels.items() if value is not None}
        options = check_options(scope, now, self._short_term_ttl, type=kind, source="save", metadata=metadata)
        self._memories().save(options, name, copy, value_to_text(name, copy))
        return True

    def retrieve(self, agent: str, key: str, kind: MemoryType, *, session: str | None = None) -> JSON:
        """Return the value; None when there is none."""
        if is_short_term(kind):
            return self._short_term().get(Namespace(self._tenant, agent=agent), [key]).get(key)
        memory = self._memories().find_by_key(
            make_scope(self._tenant, clean_text(agent, "agent_id"), session=session), clean_text(key, "key")
        )
        return None if memory is None else memory.value

    def delete(self, agent: str, key: str, kind: MemoryType) -> bool:
        """Delete the value and return whether there was one."""
        if is_short_term(kind):
            return self._short_term().delete(Namespace(self._tenant, agent=agent), [key]) > 0
        scope = make_scope(self._tenant, clean_text(agent, "agent_id"))
        return self._memories().delete_key(scope, clean_text(key, "key"))


def _fields_of(value: JSON, prefix: str = "") -> dict[str, JSON]:
    """Return the fields of a value that can be filtered by; a field in another one has a name with dots.

    Of a long one there is only a digest: a copy would make the memory larger.
    """
    if not isinstance(value, dict):
        return {}
    found: dict[str, JSON] = {}
    for name, part in value.items():
        if isinstance(part, dict):
            found |= _fields_of(part, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = _digest(part) or part
    return found


def match_long_fields(wanted: Any) -> Any:
    """Return a condition on a field that is also met by the digest of a long value; others as they are."""
    if isinstance(wanted, Mapping):
        given = {str(name).removeprefix("$"): operand for name, operand in wanted.items()}
        several = given["in"] if set(given) == {"in"} else [given["eq"]] if set(given) == {"eq"} else []
    else:
        several = [wanted]
    digests = [digest for each in several if (digest := _digest(each))] if isinstance(several, list | tuple) else []
    return {"in": [*several, *digests]} if digests else wanted


def _digest(part: JSON) -> str | None:
    """Return what is kept of a long field; None for a short one."""
    if not isinstance(part, str | list):
        return None
    text = encode_json(part, "a field")
    return None if len(text) <= _MAX_FIELD else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ShortTerm:
    """The value stores of one manager."""

    values: ValueStore
    sessions: ValueStore
    problems: tuple[str, ...] = ()
    """Problems to report to the operator, one sentence each."""
    shared: bool = False
    """Whether managers of other tenants can use the same stores."""
    _opened: tuple[InMemoryBackend | RedisBackend, ...] = field(default=(), repr=False)

    def for_tenant(self, config: MemoryConfig, clock: Clock) -> ShortTerm:
        """Return the stores of another tenant: the same ones on Redis, new ones in memory."""
        # Values in this process are limited in number: one tenant must not displace those of another.
        if self.shared:
            return ShortTerm(self.values, self.sessions, self.problems, shared=True)
        return _in_memory(config, clock, self.problems)

    def close(self) -> None:
        """Close the stores that were opened here; the caller closes one that it passed."""
        for store in self._opened:
            store.close()


def open_short_term(config: MemoryConfig, clock: Clock, store: ValueStore | None) -> ShortTerm:
    """Return the stores that the settings ask for, or the one that the caller passed."""
    if store is not None:
        known = store if takes_namespaces(store) else PlainKeyStore(store)
        check_component(known, "short_term", "set", "get", "delete", "keys", "clear", "count")
        return ShortTerm(known, known, shared=True)
    if not config.use_redis:
        return _in_memory(config, clock)
    from memoranda.sessions.redis import RedisBackend

    try:
        backend = RedisBackend(config.redis_url, ttl=config.short_term_ttl)
    except Unavailable as error:
        if not config.redis_fallback:
            raise
        return _in_memory(config, clock, (f"short-term values are in memory only, until the next start: {error}",))
    return ShortTerm(backend, backend, shared=True, _opened=(backend,))


def _in_memory(config: MemoryConfig, clock: Clock, problems: tuple[str, ...] = ()) -> ShortTerm:
    values = InMemoryBackend(config.max_cache_size, config.short_term_ttl, clock=clock)
    # Separate stores: a full cache of values must not displace the messages of a session.
    sessions = InMemoryBackend(_SESSION_ENTRIES, config.short_term_ttl, clock=clock)
    return ShortTerm(values, sessions, problems, _opened=(values, sessions))
