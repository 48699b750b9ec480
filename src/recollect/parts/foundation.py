"""What a manager stands on: the parts, each opened when it is first needed, all closed together."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from recollect.embedding.base import Embedder
from recollect.errors import Closed
from recollect.parts.values import Values
from recollect.session.base import ValueStore
from recollect.settings import MemoryConfig
from recollect.types import Clock

if TYPE_CHECKING:
    from recollect.parts.engine import Engine
    from recollect.parts.memories import Memories
    from recollect.parts.recaller import Recaller


def utc_now() -> datetime:
    return datetime.now(UTC)


class Foundation:
    """The parts of one manager."""

    def __init__(
        self,
        config: MemoryConfig,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.config = config
        self.now = clock or utc_now
        self.short_term_ttl = timedelta(seconds=config.short_term_ttl)
        self._embedder = embedder
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closed = False
        self.short_term = short_term or open_short_term(config, self.now)
        self.values = Values(tenant, self)

    @property
    def memories(self) -> Memories:
        return self.open().memories

    @property
    def recaller(self) -> Recaller:
        return self.open().recaller

    @property
    def engine(self) -> Engine | None:
        """The long-term half, when it has been opened."""
        return self._engine

    def open(self) -> Engine:
        """The long-term half; the database is opened, and made if need be, at the first call."""
        if self._closed:
            raise Closed("this MemoryManager is closed: make a new one")
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    self._engine = self._make_engine()
        return self._engine

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._engine is not None:
                self._engine.close()

    def _make_engine(self) -> Engine:
        # SQLAlchemy and numpy come with the engine; a program that only imports the package never waits for them.
        from recollect.parts.engine import Engine

        return Engine(self.config, self._chosen_embedder(), self.now)

    def _chosen_embedder(self) -> Embedder | None:
        if not self.config.enable_vector_search:
            return None
        if self._embedder is not None:
            return self._embedder
        from recollect.embedding.model import EmbeddingModel

        size = self.config.max_cache_size if self.config.cache_enabled else 0
        return EmbeddingModel(self.config.embedding_model, use_gpu=self.config.use_gpu, cache_size=size)


def open_short_term(config: MemoryConfig, clock: Clock) -> ValueStore:
    """Short-term values where the settings say: in this process, or on Redis."""
    if config.use_redis:
        from recollect.session.redis import RedisBackend

        return RedisBackend(config.redis_url, ttl=config.short_term_ttl)
    from recollect.session.inmemory import InMemoryBackend

    return InMemoryBackend(config.max_cache_size, config.short_term_ttl, clock=clock)
