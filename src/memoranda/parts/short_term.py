"""Where short-term values and the data of sessions lie: in this process, on Redis, or where the caller says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoranda.errors import Unavailable
from memoranda.session.base import ValueStore
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

if TYPE_CHECKING:
    from memoranda.session.inmemory import InMemoryBackend
    from memoranda.session.redis import RedisBackend

_SESSION_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class ShortTerm:
    """The stores of one manager."""

    values: ValueStore
    sessions: ValueStore
    problems: tuple[str, ...] = ()
    """What a person should know of, one sentence each."""
    shared: bool = False
    """Whether managers of other tenants can use the same stores."""
    _opened: tuple[InMemoryBackend | RedisBackend, ...] = field(default=(), repr=False)

    def for_tenant(self, config: MemoryConfig, clock: Clock) -> ShortTerm:
        """The stores of another tenant: the same ones on Redis, new ones in memory."""
        # Values kept in this process have a limit: one tenant must not push out those of another.
        if self.shared:
            return ShortTerm(self.values, self.sessions, self.problems, shared=True)
        return _in_memory(config, clock, self.problems)

    def close(self) -> None:
        """Closes what was opened here; a store that the caller gave is the caller's to close."""
        for store in self._opened:
            store.close()


def open_short_term(config: MemoryConfig, clock: Clock, given: ValueStore | None) -> ShortTerm:
    if given is not None:
        return ShortTerm(given, given, shared=True)
    if not config.use_redis:
        return _in_memory(config, clock)
    from memoranda.session.redis import RedisBackend

    try:
        store = RedisBackend(config.redis_url, ttl=config.short_term_ttl)
    except Unavailable as error:
        if not config.redis_fallback:
            raise
        return _in_memory(config, clock, (f"short-term values are in memory only, until the next start: {error}",))
    return ShortTerm(store, store, shared=True, _opened=(store,))


def _in_memory(config: MemoryConfig, clock: Clock, problems: tuple[str, ...] = ()) -> ShortTerm:
    from memoranda.session.inmemory import InMemoryBackend

    values = InMemoryBackend(config.max_cache_size, config.short_term_ttl, clock=clock)
    # Apart from the values: a full cache of those must not push a message out of a session.
    sessions = InMemoryBackend(_SESSION_ENTRIES, config.short_term_ttl, clock=clock)
    return ShortTerm(values, sessions, problems, _opened=(values, sessions))
