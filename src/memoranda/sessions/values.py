"""Values that an agent saves under a key: short-term ones expire, long-term ones are memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from memoranda.errors import Unavailable
from memoranda.sessions.base import Namespace, ValueStore, is_short_term
from memoranda.settings import MemoryConfig
from memoranda.text import clean_text
from memoranda.types import JSON, Clock, MemoryType
from memoranda.validation import copy_json, make_scope

if TYPE_CHECKING:
    from memoranda.remember.memories import Memories
    from memoranda.sessions.inmemory import InMemoryBackend
    from memoranda.sessions.redis import RedisBackend


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
        from memoranda.remember.new_memory import check_options

        name, copy = clean_text(key, "key"), copy_json(value)
        scope = make_scope(self._tenant, clean_text(agent, "agent_id"), session=session)
        options = check_options(scope, self._clock(), self._short_term_ttl, type=kind, source="save")
        self._memories().save(options, name, copy, value_to_text(name, copy))
        return True

    def retrieve(self, agent: str, key: str, kind: MemoryType, *, session: str | None = None) -> JSON:
        """Return the value; None when there is none."""
        if is_short_term(kind):
            return self._short_term().get(Namespace(self._tenant, agent=agent), [key]).get(key)
        memory = self._memories().by_key(
            make_scope(self._tenant, clean_text(agent, "agent_id"), session=session), clean_text(key, "key")
        )
        return None if memory is None else memory.value


def value_to_text(key: str, value: JSON) -> str:
    """Return a value as words, so that a search finds it by its content."""
    return f"{key.replace('_', ' ')}: {_to_words(value)}"


def _to_words(value: JSON) -> str:
    if isinstance(value, dict):
        return "; ".join(value_to_text(key, item) for key, item in value.items()) or "nothing"
    if isinstance(value, list):
        return ", ".join(_to_words(item) for item in value) or "nothing"
    return str(value)


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
        return ShortTerm(store, store, shared=True)
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
    from memoranda.sessions.inmemory import InMemoryBackend

    values = InMemoryBackend(config.max_cache_size, config.short_term_ttl, clock=clock)
    # Separate stores: a full cache of values must not displace the messages of a session.
    sessions = InMemoryBackend(_SESSION_ENTRIES, config.short_term_ttl, clock=clock)
    return ShortTerm(values, sessions, problems, _opened=(values, sessions))
