"""What all routes share: a manager for each tenant, the keys, and the sessions that callers have open."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from memoranda.aio.manager import MemoryManager, SessionContext, create_session
from memoranda.aio.threads import FairPool, in_thread
from memoranda.dashboard.browser_sessions import BrowserSessions
from memoranda.dashboard.insight import Insight
from memoranda.embedding.base import Embedder
from memoranda.errors import Closed, MemorandaError, NotFound
from memoranda.results import SessionSummary
from memoranda.server.auth import LOCAL, Authenticator, Principal
from memoranda.server.config import ServerConfig
from memoranda.server.keys import Keys
from memoranda.server.observability import LOGGER
from memoranda.server.opaque_ids import with_opaque_ids
from memoranda.server.requests import OpenSessionRequest
from memoranda.settings import MemoryConfig, database_url, encryption_key
from memoranda.shown_ids import IdCipher
from memoranda.storage import open_store
from memoranda.storage.base import ScrubStore, Store
from memoranda.types import ANY, DEFAULT_TENANT, Clock, Scope, utc_now

_MAX_OPEN_SESSIONS: Final = 100_000
_SCRUBBED_ROWS: Final = 1_000
"""Rows that are checked for damage at once: a few milliseconds."""
_COMMIT_SIZE: Final = 32
"""Memories of one `remember` that are committed together: others can write in between."""


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
        self._key_store: Store | None = None
        self._keys: Keys | None = None
        self.sessions = OpenSessions()
        self.browsers = BrowserSessions()
        self._insights: dict[str, Insight] = {}
        self._parsers: FairPool | None = None
        self._scrubber: asyncio.Task[None] | None = None

    @property
    def authenticator(self) -> Authenticator:
        if self._authenticator is None:
            raise Closed("the server is not open")
        return self._authenticator

    @property
    def parsers(self) -> FairPool:
        """The thread that parses long requests."""
        if self._parsers is None:
            raise Closed("the server is not open")
        return self._parsers

    async def open(self) -> None:
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> None:
        self._parsers = FairPool(1, "memoranda-parse")
        # Conversations are persistent by default: a caller cannot know when the server restarts.
        root = MemoryManager(self._memory, embedder=self._embedder, clock=self._clock, retention_policy="persistent")
        await root.__aenter__()
        self._managers[DEFAULT_TENANT] = root
        self._key_store = open_store(database_url(self._memory), key=encryption_key(self._memory))
        keys = self._keys = Keys(self._key_store, self._memory.audit_key)
        await in_thread(keys.require_key_file)
        cache_seconds = self._config.key_cache_seconds
        self._authenticator = Authenticator(keys, self._clock, cache_seconds=cache_seconds)
        if isinstance(self._key_store, ScrubStore):
            self._scrubber = asyncio.create_task(self._scrub(self._key_store))

    async def _scrub(self, store: ScrubStore) -> None:
        """Check some rows after the others, again and again: SQLite does not notice pages that were exchanged."""
        while True:
            await asyncio.sleep(self._config.scrub_seconds)
            try:
                await in_thread(store.scrub, _SCRUBBED_ROWS)
            except MemorandaError as error:
                LOGGER.warning("rows could not be checked for damage: %s", error)

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
        if self._key_store is None:
            raise Closed("the server is not open")
        plain = ids if principal is LOCAL else map(self._cipher(principal.tenant).decode, ids)
        return None not in self._key_store.get(Scope(principal.tenant, user=ANY), sorted(plain))

    def _cipher(self, tenant: str) -> IdCipher:
        if self._keys is None:
            raise Closed("the server is not open")
        if tenant not in self._ciphers:
            self._ciphers[tenant] = IdCipher(self._keys.derive(f"ids of {tenant}"))
        return self._ciphers[tenant]

    async def close(self) -> None:
        if self._scrubber is not None:
            self._scrubber.cancel()
            await asyncio.wait([self._scrubber])
        await self.sessions.end_all()
        root = self._managers.pop(DEFAULT_TENANT, None)
        for manager in self._managers.values():
            await manager.close()
        self._managers.clear()
        self._opaque.clear()
        self._ciphers.clear()
        self._insights.clear()
        if root is not None:
            await root.close()
        if self._key_store is not None:
            self._key_store.close()
        if self._parsers is not None:
            await in_thread(self._parsers.shutdown)
        self._authenticator = None


class OpenSessions:
    """The sessions that remote callers have open. A session is visible only to the tenant that opened it."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str], SessionContext] = OrderedDict()

    async def open(self, tenant: str, memory: MemoryManager, request: OpenSessionRequest) -> SessionSummary:
        """Open a session; above the limit, end the one that was unused for longest."""
        session = create_session(request.workflow_id, memory, request.metadata, request.auto_cleanup)
        summary = await session.get_session_summary()
        self._open[tenant, summary.session_id] = session
        if len(self._open) > _MAX_OPEN_SESSIONS:
            _, oldest = self._open.popitem(last=False)
            await oldest.end_session()
        return summary

    @asynccontextmanager
    async def use(self, tenant: str, session_id: str) -> AsyncIterator[SessionContext]:
        """Return the session for one call; raise `NotFound` when this tenant has no such open session."""
        key = (tenant, session_id)
        missing = NotFound(f"no open session {session_id}: it has ended, or never existed")
        session = self._open.get(key)
        if session is None:
            raise missing
        self._open.move_to_end(key)
        try:
            yield session
        except Closed:
            self._open.pop(key, None)
            raise missing from None

    async def end(self, tenant: str, session_id: str) -> SessionSummary:
        async with self.use(tenant, session_id) as session:
            summary = await session.end_session()
            self._open.pop((tenant, session_id), None)
            return summary

    async def summaries(self, tenant: str, limit: int) -> list[SessionSummary]:
        """Return the open sessions of a tenant, the one used last first."""
        found: list[SessionSummary] = []
        newest = [session for (owner, _), session in reversed(self._open.items()) if owner == tenant]
        for session in newest[:limit]:
            with contextlib.suppress(Closed):  # it ended a moment ago
                found.append(await session.get_session_summary())
        return found

    async def end_all(self) -> None:
        """End every session when the server stops, so that their summaries are stored."""
        while self._open:
            _, session = self._open.popitem()
            await session.end_session()
