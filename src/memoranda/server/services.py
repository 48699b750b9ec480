"""What all routes share: the manager, the keys, the open sessions."""

from __future__ import annotations

from memoranda.aio.manager import MemoryManager
from memoranda.embedding.base import Embedder
from memoranda.errors import Closed
from memoranda.server.auth import Authenticator
from memoranda.server.config import ServerConfig
from memoranda.server.keys import Keys
from memoranda.server.sessions import OpenSessions
from memoranda.settings import MemoryConfig, database_url
from memoranda.storage import open_store
from memoranda.types import DEFAULT_TENANT, Clock, utc_now


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
        self._memory = memory
        self._embedder = embedder
        self._clock = clock or utc_now
        self._managers: dict[str, MemoryManager] = {}
        self._authenticator: Authenticator | None = None
        self.sessions = OpenSessions()

    @property
    def authenticator(self) -> Authenticator:
        if self._authenticator is None:
            raise Closed("the server is not open")
        return self._authenticator

    async def open(self) -> None:
        # Conversations outlive the server: whoever calls it cannot know when it is started anew.
        root = MemoryManager(self._memory, embedder=self._embedder, clock=self._clock, retention_policy="persistent")
        await root.__aenter__()
        self._managers[DEFAULT_TENANT] = root
        self._key_store = open_store(database_url(self._memory))
        self._authenticator = Authenticator(Keys(self._key_store), self._clock, trusted=self._config.key_cache_seconds)

    async def manager(self, tenant: str) -> MemoryManager:
        """The manager of a tenant: the same one at each call."""
        if tenant not in self._managers:
            self._managers[tenant] = await self._managers[DEFAULT_TENANT].for_tenant(tenant)
        return self._managers[tenant]

    async def close(self) -> None:
        await self.sessions.end_all()
        root = self._managers.pop(DEFAULT_TENANT, None)
        for manager in self._managers.values():
            await manager.close()
        self._managers.clear()
        if root is not None:
            await root.close()
            self._key_store.close()
        self._authenticator = None
