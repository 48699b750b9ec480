"""The parts of a running server: managers, sessions, keys and upkeep; opaque ids for callers with a key.

With opaque ids a tenant cannot tell from them how much other tenants write. The ids of a store are shared by its
tenants. Here, at the boundary, they go through a secret permutation of the tenant: arguments on the way in, results,
errors and texts on the way out. They stay integers, and stay the same for ever.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MethodType
from typing import Any, Final, TypeAlias, TypeVar, cast

from memoranda.aio.manager import (
    MemoryManager,
    SessionContext,
    create_session,
    log_if_abandoned,
    share_session,
    summarize_open_sessions,
)
from memoranda.aio.threads import FairPool, in_thread
from memoranda.dashboard.browse import EntityNode, MemoryEdge, MemoryNode
from memoranda.dashboard.insight import Insight
from memoranda.dashboard.overview import Overview
from memoranda.embedding.base import Embedder
from memoranda.errors import Closed, Conflict, ExtractionFailed, Incompatible, MemorandaError, NotFound, Unavailable
from memoranda.manager import manager
from memoranda.results.maintenance import CleanedMemory, Derivation, ForgetReceipt, History, UpkeepDecision
from memoranda.results.recall import Context, ErasedHit, Fact, FactValue, WhyNot
from memoranda.results.workflows import SessionSummary
from memoranda.security.id_cipher import IdCipher, IdText, using_cipher
from memoranda.server.auth import (
    LOCAL,
    Authenticator,
    BrowserSessions,
    DatabaseBuckets,
    Principal,
    RateLimits,
    RedisBuckets,
)
from memoranda.server.config import ServerConfig
from memoranda.server.keys import Keys
from memoranda.server.observability import LOGGER
from memoranda.server.requests import OpenSessionRequest
from memoranda.server.streams import MAX_STREAMS, MAX_TENANT_STREAMS, Shares, max_connections
from memoranda.sessions.database import DatabaseBackend
from memoranda.sessions.redis import RedisBackend
from memoranda.settings import MemoryConfig, database_url, encryption_key
from memoranda.storage import open_store
from memoranda.storage.base import ScrubStore, Store
from memoranda.storage.claims import map_enders
from memoranda.storage.read import has_key
from memoranda.types import ANY, DEFAULT_TENANT, Association, Clock, Memory, Outcomes, Recall, Scope, utc_now

ID_ARGUMENTS: Final = frozenset({"memory_id", "related_memory_id", "ids", "memory_or_slot", "after"})
"""Arguments of the manager's methods that are ids of memories."""
ID_FIELDS: Final[dict[type, dict[str, str]]] = {
    Memory: {"id": "memory", "superseded_by": "memory"},
    Association: {"memory_id": "memory", "related_memory_id": "memory"},
    ErasedHit: {"id": "memory"},
    WhyNot: {"id": "memory"},
    CleanedMemory: {"id": "memory"},
    UpkeepDecision: {"id": "memory", "into": "memory"},
    Derivation: {"derived_id": "memory", "source_id": "memory"},
    History: {"supersedes": "memory"},
    Fact: {"memory_id": "memory"},
    FactValue: {"memory_id": "memory"},
    ForgetReceipt: {"ids": "memory"},
    Recall: {"head": "change"},
    Overview: {"head": "change"},
    MemoryNode: {"id": "memory"},
    MemoryEdge: {"source": "memory", "target": "memory"},
    EntityNode: {"memories": "memory"},
}
"""Fields of results that number rows of the whole store, and what they number."""
_Change: TypeAlias = Callable[[int, str], int]


def with_opaque_ids(memory: MemoryManager, cipher: IdCipher) -> MemoryManager:
    """Return the same manager for callers that see opaque ids."""
    other = copy(memory)
    other._inner = cast(manager.MemoryManager, OpaqueManager(memory._inner, cipher))
    return other


@dataclass(frozen=True, slots=True)
class OpaqueManager:
    """A manager whose methods take and return opaque ids. What it calls inside sees plain ones."""

    _inner: manager.MemoryManager
    _cipher: IdCipher

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name.startswith("_") or not inspect.ismethod(attribute):
            return attribute
        return functools.partial(self._call, attribute)

    def _call(self, method: MethodType, *args: Any, **kwargs: Any) -> Any:
        given = _signature(method.__func__).bind(self._inner, *args, **kwargs)
        for name, value in given.arguments.items():
            given.arguments[name] = self._decode_argument(name, value)
        with using_cipher(self._cipher):
            try:
                return change_ids(method.__func__(*given.args, **given.kwargs), self._cipher.encode)
            except MemorandaError as error:
                _show_in_error(error, self._cipher.encode)
                raise

    def _decode_argument(self, name: str, value: Any) -> Any:
        if name in ID_ARGUMENTS:
            return _change_number(value, "memory", self._cipher.decode)
        return change_ids(value, self._cipher.decode) if is_dataclass(value) else value


_signature = functools.cache(inspect.signature)


def change_ids(value: Any, change: _Change) -> Any:
    """Return a result, or an argument, with every id in it changed; everything else stays the same object."""
    if isinstance(value, Context):
        hits = change_ids(value.hits, change)
        kept = {name: getattr(value, name) for name in Context.__slots__ if name != "hits"}
        return Context(str(value), hits=hits, **kept)
    if isinstance(value, Outcomes):
        return Outcomes([change_ids(item, change) for item in value], value.usage, value.failure)
    if isinstance(value, IdText):
        return value.shown(lambda number: change(number, "memory"))
    if is_dataclass(value) and not isinstance(value, type):
        return _change_fields(value, change)
    if isinstance(value, list | tuple) and _holds_results(value):
        return type(value)(change_ids(item, change) for item in value)
    return value


def _holds_results(values: Sequence[object]) -> bool:
    return any(is_dataclass(value) or isinstance(value, IdText) for value in values)


def _change_fields(value: Any, change: _Change) -> Any:
    numbers = ID_FIELDS.get(type(value), {})
    changed: dict[str, Any] = {}
    for field in fields(value):
        old = getattr(value, field.name)
        kind = numbers.get(field.name)
        new = change_ids(old, change) if kind is None else _change_number(old, kind, change)
        if new is not old:
            changed[field.name] = new
    if isinstance(value, Memory):
        changed["notes"] = map_enders(value.notes, lambda number: change(number, "memory"))
    return replace(value, **changed) if changed else value


def _change_number(value: Any, kind: str, change: _Change) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return change(value, kind)
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str | bytes | Mapping):
        return type(value)(_change_number(item, kind, change) for item in value)  # type: ignore[call-arg]
    return value


def _show_in_error(error: MemorandaError, encode: _Change) -> None:
    error.args = change_ids(error.args, encode)
    if isinstance(error, Conflict):
        error.current = change_ids(error.current, encode)
    elif isinstance(error, ExtractionFailed):
        error.outcomes = change_ids(list(error.outcomes), encode)


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
        """Store the records of sessions that are over although nobody ended them, so that they are listed as ended."""
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
        self.streams = Shares("streams of events", MAX_STREAMS, MAX_TENANT_STREAMS)
        connections = max_connections()
        self.requests = Shares("requests", connections // 2, connections * 3 // 4)
        """What each key has open: never all connections of this process."""
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
        """Check some rows and log abandoned sessions, every `scrub_seconds`."""
        while True:
            await asyncio.sleep(self._config.scrub_seconds)
            try:
                # Some rows at a time, in endless rounds: SQLite does not notice pages that were exchanged.
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

    async def are_stored(self, principal: Principal, ids: set[int], items: set[tuple[str, str]]) -> bool:
        """Return whether a caller's tenant still has all of these memories, and items by user and stored key."""
        return await in_thread(self._are_stored, principal, ids, items) if ids or items else True

    def _are_stored(self, principal: Principal, ids: set[int], items: set[tuple[str, str]]) -> bool:
        plain = ids if principal is LOCAL else map(self._cipher(principal.tenant).decode, ids)
        if None in self.state.get(Scope(principal.tenant, user=ANY), sorted(plain)):
            return False
        tenant = principal.tenant
        return self.state.read(lambda tx: all(has_key(tx, tenant, *item) for item in items), tenant=tenant)

    def _cipher(self, tenant: str) -> IdCipher:
        if tenant not in self._ciphers:
            self._ciphers[tenant] = IdCipher(_opened(self._keys).derive(f"ids of {tenant}"))
        return self._ciphers[tenant]

    async def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])
        root = self._managers.pop(DEFAULT_TENANT, None)
        for opened in self._managers.values():
            await opened.close()
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
