"""What all routes share: a manager for each tenant, the keys, and the sessions that callers have open."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, TypeVar

from memoranda.aio.manager import (
    MemoryManager,
    SessionContext,
    create_session,
    log_if_abandoned,
    share_session,
    summarize_open_sessions,
)
from memoranda.aio.threads import FairPool, in_thread
from memoranda.dashboard.browser_sessions import BrowserSessions
from memoranda.dashboard.insight import Insight
from memoranda.embedding.base import Embedder
from memoranda.errors import Closed, Incompatible, MemorandaError, NotFound, Unavailable
from memoranda.results.workflows import SessionSummary
from memoranda.security.id_cipher import IdCipher
from memoranda.server.auth import LOCAL, Authenticator, DatabaseBuckets, Principal, RateLimits, RedisBuckets
from memoranda.server.config import ServerConfig
from memoranda.server.keys import Keys
from memoranda.server.observability import LOGGER
from memoranda.server.opaque_ids import with_opaque_ids
from memoranda.server.requests import OpenSessionRequest
from memoranda.sessions.database import DatabaseBackend
from memoranda.sessions.redis import RedisBackend
from memoranda.settings import MemoryConfig, database_url, encryption_key
from memoranda.storage import open_store
from memoranda.storage.base import ScrubStore, Store
from memoranda.types import ANY, DEFAULT_TENANT, Clock, Scope, utc_now

_T = TypeVar("_T")
_MAX_USED: Final = 100_000
_PREFIX: Final = "memoranda:server:"
"""What the names of the server's own values start with, apart from those of its callers."""
_SCRUBBED_ROWS: Final = 1_000
"""Rows that are checked for damage at once: a few milliseconds."""
_COMMIT_SIZE: Final = 32
"""Memories of one `remember` that are committed together: others can write in between."""


def _opened(part: _T | None) -> _T:
    """Return a part of the server that its lifespan has opened and not closed yet."""
    if part is None:
        raise Unavailable("the server is not open: an application that is mounted in another needs its lifespan run")
    return part


class OpenSessions:
    """The sessions that callers have open. A session is visible only to the tenant that opened it.

    They are in the store of short-term values, which all processes share, and go on when a process stops.
    """

    def __init__(self) -> None:
        self._used: OrderedDict[tuple[str, str], SessionContext] = OrderedDict()
        """The sessions that this process was asked for, the latest last."""

    async def open(self, memory: MemoryManager, request: OpenSessionRequest) -> SessionContext:
        session = create_session(request.workflow_id, memory, request.metadata, request.auto_cleanup)
        await session.get_session_summary()
        return session

    @asynccontextmanager
    async def use(self, tenant: str, memory: MemoryManager, session_id: str) -> AsyncIterator[SessionContext]:
        """Return the session for one call; raise `NotFound` when this tenant has no such open session."""
        key = (tenant, session_id)
        missing = NotFound(f"no open session {session_id}: it has ended, or never existed")
        session = self._used.get(key) or await share_session(session_id, memory)
        if session is None:
            raise missing
        self._used[key] = session
        self._used.move_to_end(key)
        if len(self._used) > _MAX_USED:
            self._used.popitem(last=False)
        try:
            yield session
        except Closed:
            self._used.pop(key, None)
            raise missing from None

    async def end(self, tenant: str, memory: MemoryManager, session_id: str) -> SessionSummary:
        async with self.use(tenant, memory, session_id) as session:
            await session.get_session_summary()  # raises when another process has ended it
            summary = await session.end_session()
            self._used.pop((tenant, session_id), None)
            return summary

    async def summaries(self, memory: MemoryManager, limit: int) -> list[SessionSummary]:
        """Return the open sessions of a tenant, the one opened last first."""
        return await summarize_open_sessions(memory, limit)

    async def log_abandoned(self) -> None:
        """Store the records of sessions that nobody has ended and that are over, so that they are listed as ended."""
        for key, session in list(self._used.items()):
            if await log_if_abandoned(session):
                self._used.pop(key, None)


class Services:
    """Opened when the server starts, closed when its last request is answered."""

    def __init__(
        self,
        config: ServerConfig,
        memory: MemoryConfig,
        *,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._config = config
        self._memory = replace(memory, commit_size=memory.commit_size or _COMMIT_SIZE)
        self._embedder = embedder
        self._clock = clock or utc_now
        self._managers: dict[str, MemoryManager] = {}
        self._opaque: dict[str, MemoryManager] = {}
        self._ciphers: dict[str, IdCipher] = {}
        """The same managers for callers with a key, who see opaque ids."""
        self._authenticator: Authenticator | None = None
        self._state: Store | None = None
        self._redis: RedisBackend | None = None
        self._keys: Keys | None = None
        self.sessions = OpenSessions()
        self.streams: Counter[str] = Counter()
        """How many streams of events each key has open in this process."""
        self._browsers: BrowserSessions | None = None
        self._insights: dict[str, Insight] = {}
        self._parsers: FairPool | None = None
        self._upkeep: asyncio.Task[None] | None = None

    @property
    def state(self) -> Store:
        """The database, for what all processes of the server share. A power cut may lose its last writes."""
        return _opened(self._state)

    @property
    def browsers(self) -> BrowserSessions:
        return _opened(self._browsers)

    @property
    def authenticator(self) -> Authenticator:
        return _opened(self._authenticator)

    @property
    def parsers(self) -> FairPool:
        """The thread that parses long requests."""
        return _opened(self._parsers)

    async def open(self) -> None:
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> None:
        self._parsers = FairPool(1, "memoranda-parse")
        self._state = await in_thread(self._open_state)
        ttl = self._memory.short_term_ttl
        short_term = None if self._memory.use_redis else DatabaseBackend(self._state, ttl=ttl, clock=self._clock)
        # Conversations are persistent by default: a caller cannot know when the server restarts.
        root = MemoryManager(
            self._memory,
            embedder=self._embedder,
            short_term=short_term,
            clock=self._clock,
            retention_policy="persistent",
        )
        await root.__aenter__()
        self._managers[DEFAULT_TENANT] = root
        keys = self._keys = Keys(self._state, self._memory.audit_key)
        await in_thread(keys.require_key_file)
        self._redis = await in_thread(self._open_redis)
        values = self._redis or DatabaseBackend(self._state, prefix=_PREFIX, clock=self._clock)
        self._browsers = BrowserSessions(values, clock=self._clock)
        limits = RateLimits(DatabaseBuckets(self._state) if self._redis is None else RedisBuckets(self._redis, _PREFIX))
        config = self._config
        self._authenticator = Authenticator(
            keys, self._clock, limits, cache_seconds=config.key_cache_seconds, local_owner=config.local_owner
        )
        self._upkeep = asyncio.create_task(self._keep_up(self._state))

    def _open_state(self) -> Store:
        url, key = database_url(self._memory), encryption_key(self._memory)
        store = open_store(url, durability="normal", clock=self._clock, key=key)
        if (unbound := store.status().unbound) is not None:
            store.close()
            raise Incompatible(unbound)
        return store

    def _open_redis(self) -> RedisBackend | None:
        if not self._memory.use_redis:
            return None
        try:
            return RedisBackend(self._memory.redis_url, prefix=_PREFIX)
        except Unavailable:
            if not self._memory.redis_fallback:
                raise
            return None

    async def _keep_up(self, store: Store) -> None:
        """Do what is to be done every minute, until cancelled."""
        while True:
            await asyncio.sleep(self._config.scrub_seconds)
            try:
                # Some rows after the others, again and again: SQLite does not notice pages that were exchanged.
                if isinstance(store, ScrubStore):
                    await in_thread(store.scrub, _SCRUBBED_ROWS)
                await self.sessions.log_abandoned()
            except MemorandaError as error:
                LOGGER.warning("the server's own upkeep failed, and is tried again: %s", error)

    async def get_manager(self, tenant: str) -> MemoryManager:
        """Return the manager of a tenant: the same object at each call."""
        if tenant not in self._managers:
            self._managers[tenant] = await self._managers[DEFAULT_TENANT].for_tenant(tenant)
        return self._managers[tenant]

    async def get_manager_for(self, principal: Principal) -> MemoryManager:
        """Return the manager of a caller's tenant. A caller with a key sees opaque ids."""
        tenant = principal.tenant
        if principal is LOCAL:
            return await self.get_manager(tenant)
        if tenant not in self._opaque:
            cipher = await in_thread(self._cipher, tenant)
            self._opaque[tenant] = with_opaque_ids(await self.get_manager(tenant), cipher)
        return self._opaque[tenant]

    async def get_insight(self, tenant: str) -> Insight:
        """Return what the dashboard reads of a tenant: the same object at each call."""
        if tenant not in self._insights:
            manager = await self.get_manager(tenant)
            self._insights[tenant] = Insight(manager._inner, tenant)
        return self._insights[tenant]

    async def get_cipher(self, principal: Principal) -> IdCipher | None:
        """Return how ids are shown to a caller; None when they are shown as they are."""
        return None if principal is LOCAL else await in_thread(self._cipher, principal.tenant)

    async def are_stored(self, principal: Principal, ids: set[int]) -> bool:
        """Return whether a caller's tenant still has all of these memories."""
        return await in_thread(self._are_stored, principal, ids) if ids else True

    def _are_stored(self, principal: Principal, ids: set[int]) -> bool:
        plain = ids if principal is LOCAL else map(self._cipher(principal.tenant).decode, ids)
        return None not in self.state.get(Scope(principal.tenant, user=ANY), sorted(plain))

    def _cipher(self, tenant: str) -> IdCipher:
        if tenant not in self._ciphers:
            self._ciphers[tenant] = IdCipher(_opened(self._keys).derive(f"ids of {tenant}"))
        return self._ciphers[tenant]

    async def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])
        root = self._managers.pop(DEFAULT_TENANT, None)
        for manager in self._managers.values():
            await manager.close()
        self._managers.clear()
        self._opaque.clear()
        self._ciphers.clear()
        self._insights.clear()
        if root is not None:
            await root.close()
        if self._redis is not None:
            self._redis.close()
        if self._state is not None:
            self._state.close()
            self._state = None
        if self._parsers is not None:
            await in_thread(self._parsers.shutdown)
        self._authenticator = None
